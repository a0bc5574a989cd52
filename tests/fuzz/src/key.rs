//! Session keys: what is read is canonical, and what is refused is refused readably.

use confab_model::id::AgentId;
use confab_model::key::{KeyError, KeyRules, Scope, SessionKey};
use confab_model::limits::KEY_BYTES_MAX;

use crate::{Target, text};

/// Reading, folding and resolving keys.
pub const TARGET: Target = Target { name: "key", check };

fn check(bytes: &[u8]) {
    let raw = text(bytes);
    match SessionKey::parse(&raw) {
        Ok(key) => canonical(&key),
        Err(error) => refused(&error),
    }
    for scope in [Scope::PerSender, Scope::Global] {
        let rules = rules(scope);
        match rules.canonicalise(&raw, None, None) {
            Ok(key) => resolved(&rules, &key),
            Err(error) => refused(&error),
        }
    }
}

/// Reading a key again changes nothing, and everything it is taken apart into fits together.
fn canonical(key: &SessionKey) {
    let text = key.as_str();
    assert_eq!(SessionKey::parse(text).as_ref(), Ok(key));
    assert_eq!(key.to_string(), text);
    let json = serde_json::to_string(key).expect("a text");
    assert_eq!(
        serde_json::from_str::<SessionKey>(&json).ok().as_ref(),
        Some(key)
    );
    assert!(text.len() <= KEY_BYTES_MAX, "{} bytes", text.len());
    assert!(!text.chars().any(char::is_control), "{text:?}");
    assert!(
        text.split(':').all(|part| !part.trim().is_empty()),
        "{text:?}"
    );
    if let Some(agent) = key.agent_id() {
        assert_eq!(text, format!("agent:{agent}:{}", key.rest()));
        assert_eq!(AgentId::normalise(agent.as_str()), agent);
    }
    if let Some(thread) = key.thread() {
        assert!(!thread.thread_id.is_empty());
        assert_eq!(
            SessionKey::parse(thread.parent.as_str()).as_ref(),
            Ok(&thread.parent)
        );
        assert_eq!(thread.parent.agent_id(), key.agent_id());
    }
    assert_eq!(key.display_for(None) == "main", text == "global");
    // These walk the parts of the key, each in its own way.
    let parts = u32::try_from(text.split(':').count()).expect("few");
    assert!(key.depth() < parts);
    assert!(!key.is_subagent() || key.bears_lineage());
}

/// What a short form means, it also means as a full key.
fn resolved(rules: &KeyRules, key: &SessionKey) {
    canonical(key);
    assert_eq!(
        rules.canonicalise(key.as_str(), None, None).as_ref(),
        Ok(key)
    );
}

/// A refusal is one printable line of bounded length.
fn refused(error: &KeyError) {
    let told = error.to_string();
    assert!(!told.chars().any(char::is_control), "{told:?}");
    // The key, perhaps its agent once more, and a sentence.
    assert!(
        told.len() <= 2 * KEY_BYTES_MAX + 512,
        "{} bytes",
        told.len()
    );
}

fn rules(scope: Scope) -> KeyRules {
    let agent = AgentId::normalise("writer");
    KeyRules {
        agents: vec![agent.clone()],
        default_agent: agent,
        scope,
    }
}
