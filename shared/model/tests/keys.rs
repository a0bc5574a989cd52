//! Every vector of `keys.json`, and the laws that hold for all keys.

use confab_model::channel::{ChatType, row_channel};
use confab_model::id::AgentId;
use confab_model::key::{KeyError, KeyRules, Reference, Scope, SessionKey, SessionKind};
use confab_vectors::{Case, KEYS};
use proptest::prelude::*;
use serde_json::{Value, json};

fn rules(config: &Value) -> KeyRules {
    let listed = config["agents"]
        .as_array()
        .cloned()
        .unwrap_or_else(|| vec![json!("main")]);
    let agents: Vec<AgentId> = listed
        .iter()
        .filter_map(Value::as_str)
        .map(AgentId::normalise)
        .collect();
    let scope = if config["scope"] == "global" {
        Scope::Global
    } else {
        Scope::PerSender
    };
    KeyRules {
        default_agent: agents.first().expect("an agent").clone(),
        agents,
        scope,
    }
}

fn canonicalise(input: &Value) -> Result<(SessionKey, Option<SessionKey>), KeyError> {
    let rules = rules(&input["config"]);
    let requester = input["requester"]
        .as_str()
        .map(SessionKey::parse)
        .transpose()?;
    let agent_id = input["agentId"].as_str().map(AgentId::normalise);
    let raw = input["key"].as_str().expect("a key");
    let key = rules.canonicalise(raw, requester.as_ref(), agent_id.as_ref())?;
    Ok((key, requester))
}

fn describe(input: &Value) -> Value {
    let Ok((key, requester)) = canonicalise(input) else {
        return json!({"error": "INVALID_ARGUMENT"});
    };
    let shape = key.shape();
    let thread = key.thread();
    json!({
        "canonical": key.as_str(),
        "agentId": key.agent_id(),
        "kind": key.kind().as_str(),
        "channel": row_channel(key.kind(), None, None, None, key.group_channel()),
        "display": key.display_for(requester.as_ref()),
        "threadId": thread.as_ref().map(|thread| thread.thread_id.as_str()),
        "parent": thread.as_ref().map(|thread| thread.parent.as_str()),
        "depth": key.depth(),
        "subagent": key.is_subagent(),
        "cronRun": key.is_cron_run(),
        "chatType": shape.chat_type.map(ChatType::as_str),
        "policyChannel": shape.channel,
        "ambiguous": shape.ambiguous,
    })
}

#[test]
fn every_case_of_the_key_vectors_holds() {
    let cases: Vec<Case> = KEYS.cases().unwrap();
    let failures: Vec<String> = cases
        .iter()
        .flat_map(|case| case.differences(&describe(&case.given)))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn two_agents(scope: Scope) -> KeyRules {
    let [main, ops] = ["main", "ops"].map(AgentId::normalise);
    KeyRules {
        agents: vec![main.clone(), ops],
        default_agent: main,
        scope,
    }
}

/// Texts that come close to keys, so that most of them get past the first check.
fn near_keys() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => prop::sample::select(vec![
            "agent", "main", "ops", "global", "unknown", "current", "discord", "signal", "matrix",
            "group", "channel", "direct", "dm", "thread", "subagent", "cron", "run", "hook",
            "node", "acp", "x@g.us", "guild-1", "channel-2", "", " ", "İ", "ΑΣ", "🦀",
        ]).prop_map(str::to_owned),
        1 => "[ -~]{0,6}",
        1 => "\\PC{0,4}",
    ];
    (
        prop::bool::ANY,
        prop::collection::vec(part, 1..8),
        any::<u64>(),
    )
        .prop_map(|(full, parts, cases)| {
            let prefix = if full { "agent:ops:" } else { "" };
            vary_case(&format!("{prefix}{}", parts.join(":")), cases)
        })
}

/// Turns the case of the ASCII letters whose bit is set.
fn vary_case(text: &str, bits: u64) -> String {
    let turn = |(at, character): (usize, char)| match (bits >> (at % 64)) & 1 {
        0 => character,
        _ if character.is_ascii_lowercase() => character.to_ascii_uppercase(),
        _ => character.to_ascii_lowercase(),
    };
    text.chars().enumerate().map(turn).collect()
}

fn holds_an_opaque_peer(key: &SessionKey) -> bool {
    ["signal:group:", "matrix:group:", "matrix:channel:"]
        .iter()
        .any(|start| key.rest().starts_with(start))
}

proptest! {
    #[test]
    fn canonicalising_twice_changes_nothing(raw in near_keys(), global in any::<bool>()) {
        let rules = two_agents(if global { Scope::Global } else { Scope::PerSender });
        if let Ok(key) = rules.canonicalise(&raw, None, None) {
            prop_assert_eq!(rules.canonicalise(key.as_str(), None, None), Ok(key));
        }
    }

    #[test]
    fn a_key_round_trips_through_its_text_and_through_json(raw in near_keys()) {
        if let Ok(key) = two_agents(Scope::PerSender).canonicalise(&raw, None, None) {
            prop_assert_eq!(&SessionKey::parse(&key.to_string()), &Ok(key.clone()));
            let written = serde_json::to_string(&key).expect("a string");
            prop_assert_eq!(serde_json::from_str::<SessionKey>(&written).expect("a key"), key);
        }
    }

    #[test]
    fn the_case_of_a_key_matters_in_opaque_peer_ids_alone(raw in near_keys(), bits in any::<u64>()) {
        let rules = two_agents(Scope::PerSender);
        let varied = vary_case(&raw, bits);
        match (rules.canonicalise(&raw, None, None), rules.canonicalise(&varied, None, None)) {
            (Ok(key), Ok(other)) if holds_an_opaque_peer(&key) => prop_assert_eq!(
                key.as_str().to_lowercase(), other.as_str().to_lowercase()
            ),
            (Ok(key), Ok(other)) => prop_assert_eq!(key, other),
            (first, second) => prop_assert_eq!(first.is_err(), second.is_err()),
        }
    }

    #[test]
    fn no_text_makes_a_key_function_panic(raw in prop_oneof![near_keys(), any::<String>()]) {
        let rules = two_agents(Scope::PerSender);
        let reference = Reference::parse(&raw, &rules, None, None);
        let looked_up = match reference {
            Ok(Reference::Key(key) | Reference::Unsure { key: Some(key), .. }) => Some(key),
            Ok(Reference::Current | Reference::Unsure { key: None, .. }) | Err(_) => None,
        };
        if let Some(key) = looked_up {
            prop_assert!(SessionKind::ALL.contains(&key.kind()));
            prop_assert!(key.shape().channel.is_none_or(|channel| !channel.is_empty()));
            prop_assert!(key.as_str().ends_with(key.rest()));
            if let Some(thread) = key.thread() {
                prop_assert_eq!(SessionKey::parse(thread.parent.as_str()), Ok(thread.parent));
                prop_assert!(key.as_str().ends_with(&thread.thread_id));
            }
            prop_assert!(!key.is_cron_run() || key.kind() == SessionKind::Cron);
        }
    }
}
