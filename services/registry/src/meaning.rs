//! What a caller's reference to a session may mean, before anything is looked up.

use confab_model::id::AgentId;
use confab_model::key::{KeyError, KeyRules, Reference, SessionKey};
use confab_model::limits::AGENT_ID_CHARS_MAX;
use confab_model::session::Label;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::Target;
use uuid::Uuid;

use crate::store::Lookup;

/// A reference that was read: at least one of the two is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// What `sessionKey`, or `agentId` alone, means.
    pub(crate) key: Option<KeyMeaning>,
    /// What `label` means.
    pub(crate) label: Option<Label>,
    /// The agent that the session must belong to.
    pub(crate) agent_id: Option<AgentId>,
}

/// What a `sessionKey` means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyMeaning {
    /// A key.
    Key {
        /// The key.
        key: SessionKey,
        /// The text as given.
        given: String,
    },
    /// Perhaps a key, perhaps a sessionId.
    Unsure {
        /// The key it would be.
        key: Option<SessionKey>,
        /// The text as given, trimmed.
        given: String,
    },
}

impl KeyMeaning {
    /// The text as given.
    pub(crate) fn given(&self) -> &str {
        match self {
            Self::Key { given, .. } | Self::Unsure { given, .. } => given,
        }
    }

    /// The key that a first use may create: a text that can only be a sessionId is none.
    pub(crate) fn creatable(&self) -> Option<&SessionKey> {
        match self {
            Self::Key { key, .. } => Some(key),
            Self::Unsure { key, given } => key.as_ref().filter(|_| Uuid::try_parse(given).is_err()),
        }
    }
}

/// The one name of the session that a full key names; a key that has none stays as it is.
///
/// Source: D4.
pub(crate) fn canonical(rules: &KeyRules, key: &SessionKey) -> SessionKey {
    let canonical = rules.canonicalise(key.as_str(), None, None);
    canonical.unwrap_or_else(|_| key.clone())
}

/// Who reads a reference, and by which rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    /// What the configuration says about keys.
    pub(crate) rules: &'a KeyRules,
    /// The session that asks; an operator has none.
    pub(crate) requester: Option<&'a SessionKey>,
}

impl Reader<'_> {
    /// Reads `target`; blank fields are absent already.
    ///
    /// # Errors
    /// When a field is malformed, `current` is asked of nobody's session, the agent of `agentId`
    /// alone is not configured, or nothing is named.
    ///
    /// Source: D1, D3, D7, D52, reg:R1, reg:R2, reg:R16.
    pub(crate) fn read(&self, target: &Target) -> Result<Meaning, RpcError> {
        let agent_id = target.agent_id.as_deref().map(read_agent_id).transpose()?;
        let label = target.label.as_deref().map(read_label).transpose()?;
        let key = match (&target.session_key, &label, &agent_id) {
            (Some(given), ..) => Some(self.read_key(given, agent_id.as_ref())?),
            (None, None, Some(agent)) => Some(self.main_session(agent)?),
            (None, Some(_), _) => None,
            (None, None, None) => return Err(nothing_named()),
        };
        Ok(Meaning {
            key,
            label,
            agent_id,
        })
    }

    fn read_key(&self, given: &str, agent_id: Option<&AgentId>) -> Result<KeyMeaning, RpcError> {
        let reference = Reference::parse(given, self.rules, self.requester, agent_id)
            .map_err(|error| RpcError::invalid_field("sessionKey", error.to_string()))?;
        let given = given.trim().to_owned();
        match reference {
            Reference::Current => {
                let key = self.own_session(agent_id)?;
                Ok(KeyMeaning::Key { key, given })
            },
            Reference::Key(key) => Ok(KeyMeaning::Key { key, given }),
            Reference::Unsure { key, session_id } => Ok(KeyMeaning::Unsure {
                key,
                given: session_id,
            }),
        }
    }

    /// The session of whoever asks, which must be of the agent given beside it.
    fn own_session(&self, agent_id: Option<&AgentId>) -> Result<SessionKey, RpcError> {
        let Some(key) = self.requester else {
            return Err(no_current());
        };
        match agent_id {
            Some(agent_id) if key.agent_id().as_ref() != Some(agent_id) => {
                let error = KeyError::OtherAgent {
                    key: key.to_string(),
                    agent_id: agent_id.clone(),
                };
                Err(RpcError::invalid_field("sessionKey", error.to_string()))
            },
            Some(_) | None => Ok(key.clone()),
        }
    }

    /// `agentId` alone is that agent's main session.
    fn main_session(&self, agent: &AgentId) -> Result<KeyMeaning, RpcError> {
        if !self.rules.knows(agent) {
            return Err(RpcError::new(
                Reason::SessionNotFound,
                format!("agent not found: {agent}"),
            ));
        }
        let key = self
            .rules
            .canonicalise("main", None, Some(agent))
            .map_err(|error| RpcError::invalid_field("agentId", error.to_string()))?;
        let given = key.to_string();
        Ok(KeyMeaning::Key { key, given })
    }
}

fn read_agent_id(raw: &str) -> Result<AgentId, RpcError> {
    let characters = raw.trim().chars().count();
    if characters > AGENT_ID_CHARS_MAX {
        let text = format!(
            "agentId has {characters} characters: at most {AGENT_ID_CHARS_MAX} are allowed"
        );
        return Err(RpcError::invalid_field("agentId", text));
    }
    Ok(AgentId::normalise(raw))
}

fn read_label(raw: &str) -> Result<Label, RpcError> {
    Label::parse(raw).map_err(|error| RpcError::invalid_field("label", error.to_string()))
}

fn no_current() -> RpcError {
    RpcError::invalid_field(
        "sessionKey",
        "sessionKey `current` means the caller's own session, and this caller has none: name a \
         session as agent:<agentId>:<rest>",
    )
}

fn nothing_named() -> RpcError {
    RpcError::invalid_field(
        "sessionKey",
        "no session is named: give sessionKey, label or agentId",
    )
}

impl Lookup {
    /// Everything that `meanings` may mean.
    pub(crate) fn of<'a>(meanings: impl Iterator<Item = &'a Meaning>) -> Self {
        let mut lookup = Self::default();
        for meaning in meanings {
            lookup.labels.extend(meaning.label.clone());
            match &meaning.key {
                Some(KeyMeaning::Key { key, .. }) => lookup.keys.push(key.clone()),
                Some(KeyMeaning::Unsure { key, given }) => {
                    lookup.keys.extend(key.clone());
                    lookup.session_ids.push(given.clone());
                },
                None => {},
            }
        }
        lookup
    }
}
