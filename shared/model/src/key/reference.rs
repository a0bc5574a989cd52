//! From what a caller wrote to a key: aliases, short forms and the configuration's say.

use uuid::Uuid;

use super::{
    AGENT_PREFIX, GLOBAL, KeyError, MAIN, Scope, SessionKey, checked, fold, reserved,
    strip_agent_prefix,
};
use crate::id::AgentId;

/// The alias of the requester's own session.
const CURRENT: &str = "current";
/// How the short form of a key begins, or what it holds, that is taken for a key unseen (reg:R1).
const KEY_BEGINNINGS: [&str; 6] = [AGENT_PREFIX, "acp:", "cron:", "hook:", "node-", "node:"];
const KEY_MIDDLES: [&str; 2] = [":group:", ":channel:"];
/// Length of a UUID as people write it, in bytes.
const UUID_BYTES: usize = 36;

/// What the configuration says about keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRules {
    /// Every configured agent.
    pub agents: Vec<AgentId>,
    /// The agent of short forms and of callers that are no agents.
    pub default_agent: AgentId,
    /// Whether senders have sessions of their own.
    pub scope: Scope,
}

impl KeyRules {
    /// Whether the configuration knows `agent`.
    pub fn knows(&self, agent: &AgentId) -> bool {
        self.agents.contains(agent)
    }

    /// The canonical key that `raw` means, coming from `requester`, with `agent_id` given beside it.
    ///
    /// `main` is the main session of `agent_id`, else of the requester's agent, else of the default
    /// agent; any other short form belongs to `agent_id`, else to the default agent. The word
    /// `current` has no meaning here: [`Reference::parse`] knows it.
    ///
    /// # Errors
    /// When `raw` is malformed or reserved, or a full key of another agent than `agent_id`.
    ///
    /// Source: D1, D3, D4, D52, reg:K14, reg:K15, reg:K17.
    pub fn canonicalise(
        &self,
        raw: &str,
        requester: Option<&SessionKey>,
        agent_id: Option<&AgentId>,
    ) -> Result<SessionKey, KeyError> {
        let trimmed = checked(raw)?;
        if let Some(word) = reserved(trimmed) {
            return self.reserved_key(word);
        }
        if trimmed.eq_ignore_ascii_case(MAIN) {
            return Ok(self.main_for(requester, agent_id));
        }
        if strip_agent_prefix(trimmed).is_some() {
            return self.full(trimmed, agent_id);
        }
        SessionKey::scoped(agent_id.unwrap_or(&self.default_agent), trimmed)
    }

    fn reserved_key(&self, word: &'static str) -> Result<SessionKey, KeyError> {
        let allowed = word == GLOBAL && self.scope == Scope::Global;
        if allowed {
            Ok(SessionKey::global())
        } else {
            Err(KeyError::Reserved { word })
        }
    }

    fn main_for(&self, requester: Option<&SessionKey>, agent_id: Option<&AgentId>) -> SessionKey {
        let of_requester = || requester.and_then(SessionKey::agent_id);
        match self.scope {
            Scope::Global => SessionKey::global(),
            Scope::PerSender => {
                let agent = agent_id.cloned().or_else(of_requester);
                SessionKey::main_of(agent.as_ref().unwrap_or(&self.default_agent))
            },
        }
    }

    /// Reads a full key, checks the agent beside it, and folds the main sessions that are one.
    fn full(&self, trimmed: &str, agent_id: Option<&AgentId>) -> Result<SessionKey, KeyError> {
        let given = SessionKey::parse(trimmed)?;
        let meant = self.remap_main(given.clone());
        let agrees = |agent_id: &AgentId| {
            [given.agent_id(), meant.agent_id()]
                .into_iter()
                .flatten()
                .any(|own| own == *agent_id)
        };
        match agent_id {
            Some(agent_id) if !agrees(agent_id) => Err(KeyError::OtherAgent {
                key: given.to_string(),
                agent_id: agent_id.clone(),
            }),
            Some(_) | None => Ok(meant),
        }
    }

    /// Under a global scope every main session is the one session; otherwise the main session of an
    /// agent called `main` that is not configured is the default agent's.
    fn remap_main(&self, key: SessionKey) -> SessionKey {
        if !key.is_main() {
            return key;
        }
        let unconfigured = key
            .agent_id()
            .is_some_and(|agent| agent.as_str() == MAIN && !self.knows(&agent));
        match self.scope {
            Scope::Global => SessionKey::global(),
            Scope::PerSender if unconfigured => SessionKey::main_of(&self.default_agent),
            Scope::PerSender => key,
        }
    }
}

/// What a caller may write where one session is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The requester's own session.
    Current,
    /// A key, taken as it is.
    Key(SessionKey),
    /// Something that may be either: to be looked up as `key` first, then as a sessionId.
    Unsure {
        /// The key it would be; `None` where it can be no key.
        key: Option<SessionKey>,
        /// The text as given, trimmed.
        session_id: String,
    },
}

impl Reference {
    /// Tells what `raw` may mean; looks nothing up.
    ///
    /// # Errors
    /// When `raw` is empty, or looks like a key and is none that may be used.
    ///
    /// Source: reg:R1, reg:R2, D52.
    pub fn parse(
        raw: &str,
        rules: &KeyRules,
        requester: Option<&SessionKey>,
        agent_id: Option<&AgentId>,
    ) -> Result<Self, KeyError> {
        let trimmed = raw.trim();
        let folded = fold(trimmed);
        if folded == CURRENT {
            return Ok(Self::Current);
        }
        let certain = looks_like_a_key(&folded);
        match rules.canonicalise(trimmed, requester, agent_id) {
            Ok(key) if certain => Ok(Self::Key(key)),
            Ok(key) => Ok(Self::Unsure {
                key: Some(key),
                session_id: trimmed.to_owned(),
            }),
            // A sessionId may hold colons in any place.
            Err(KeyError::EmptyPart { .. }) if !certain => Ok(Self::Unsure {
                key: None,
                session_id: trimmed.to_owned(),
            }),
            Err(error) => Err(error),
        }
    }
}

fn looks_like_a_key(folded: &str) -> bool {
    !is_uuid(folded)
        && (folded == MAIN
            || reserved(folded).is_some()
            || KEY_BEGINNINGS
                .iter()
                .any(|beginning| folded.starts_with(beginning))
            || KEY_MIDDLES.iter().any(|middle| folded.contains(middle)))
}

fn is_uuid(text: &str) -> bool {
    text.len() == UUID_BYTES && Uuid::try_parse(text).is_ok()
}
