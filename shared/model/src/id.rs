//! Identifiers: opaque, non-empty text of at most [`ID_BYTES_MAX`] bytes without control characters.
//!
//! Identifiers that confab makes are UUIDs, made by an [`Ids`], so that tests and replays can choose them.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::limits::{AGENT_ID_CHARS_MAX, ID_BYTES_MAX};

#[cfg(test)]
mod tests;

/// The agent that blank or unusable ids become (reg:K5).
const AGENT_FALLBACK: &str = "main";
/// The account that blank or unusable ids become (reg:K6).
const ACCOUNT_FALLBACK: &str = "default";

/// Where new identifiers come from.
pub trait Ids: fmt::Debug + Send + Sync + 'static {
    /// A UUID that was never handed out before and sorts after the earlier ones (version 7).
    fn next(&self) -> Uuid;

    /// A UUID that cannot be guessed (version 4), for secrets such as run tokens.
    fn unguessable(&self) -> Uuid;
}

/// Why a text is no identifier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} must be 1 to {ID_BYTES_MAX} bytes without control characters")]
pub struct IdError {
    /// The kind of identifier, as a person would name it.
    pub what: &'static str,
}

macro_rules! opaque_id {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks and keeps `raw`.
            ///
            /// # Errors
            /// When `raw` is empty, longer than [`ID_BYTES_MAX`] or holds a control character.
            pub fn parse(raw: impl Into<String>) -> Result<Self, IdError> {
                let raw = raw.into();
                let fits = !raw.trim().is_empty()
                    && raw.len() <= ID_BYTES_MAX
                    && !raw.chars().any(char::is_control);
                if fits { Ok(Self(raw)) } else { Err(IdError { what: $what }) }
            }

            /// The identifier made of a UUID.
            pub fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid.to_string())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(raw: String) -> Result<Self, IdError> {
                Self::parse(raw)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    };
}

opaque_id!(
    /// The outermost scope of every row, key, token and event.
    TenantId, "a tenant"
);
opaque_id!(
    /// One generation of a session's transcript; a reset makes a new one under the same key.
    SessionId, "a sessionId"
);
opaque_id!(
    /// One agent turn in one session.
    RunId, "a runId"
);
opaque_id!(
    /// One durable conversation around a send, a spawn or a person's message.
    FlowId, "a flowId"
);
opaque_id!(
    /// One message owed to an outside channel.
    DeliveryId, "a deliveryId"
);
opaque_id!(
    /// A chain of sends that caused one another (D34).
    ChainId, "a chainId"
);
opaque_id!(
    /// One stored message.
    MessageId, "a messageId"
);
opaque_id!(
    /// A caller's own name for a mutating call, so that a repetition meets the first answer (D36).
    IdempotencyKey, "an idempotency key"
);

impl Default for TenantId {
    /// The tenant of callers that name none.
    fn default() -> Self {
        Self("default".to_owned())
    }
}

/// Which agent: 1 to 64 characters `[a-z0-9_-]`.
///
/// Source: reg:K5.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct AgentId(pub(crate) String);

/// Why a text is not accepted as the agent of a new session.
///
/// Source: run:P6.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Invalid agentId \"{given}\". Agent IDs must match [a-z0-9][a-z0-9_-]{{0,63}}. \
     Use agents_list to discover valid targets."
)]
pub struct AgentIdError {
    /// The text as given.
    pub given: String,
}

impl AgentId {
    /// The agent that `raw` means; never fails.
    ///
    /// Source: reg:K5.
    pub fn normalise(raw: &str) -> Self {
        Self(normalise(raw, AGENT_FALLBACK))
    }

    /// Folds `raw`, and refuses what [`AgentId::normalise`] would have to repair.
    ///
    /// # Errors
    /// When `raw` does not match `[a-z0-9][a-z0-9_-]{0,63}` in either case.
    ///
    /// Source: run:P6.
    pub fn parse_strict(raw: &str) -> Result<Self, AgentIdError> {
        let folded = raw.to_ascii_lowercase();
        if is_plain(&folded) {
            Ok(Self(folded))
        } else {
            Err(AgentIdError {
                given: raw.to_owned(),
            })
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<String> for AgentId {
    fn from(raw: String) -> Self {
        Self::normalise(&raw)
    }
}

impl From<AgentId> for String {
    fn from(id: AgentId) -> Self {
        id.0
    }
}

/// The account of a channel that `raw` means; `default` where it means none.
///
/// Source: reg:K6.
pub fn normalise_account_id(raw: &str) -> String {
    normalise(raw, ACCOUNT_FALLBACK)
}

/// Folds `raw`, puts one dash for each run of foreign characters, strips outer dashes and cuts.
fn normalise(raw: &str, fallback: &str) -> String {
    let folded = raw.trim().to_lowercase();
    if is_plain(&folded) {
        return folded;
    }
    let mut dashed = String::new();
    let mut in_foreign_run = false;
    for character in folded.chars() {
        let foreign = !is_id_character(character);
        if !foreign {
            dashed.push(character);
        } else if !in_foreign_run {
            dashed.push('-');
        }
        in_foreign_run = foreign;
    }
    let cut: String = dashed
        .trim_matches('-')
        .chars()
        .take(AGENT_ID_CHARS_MAX)
        .collect();
    // An id that begins with `_` is repaired every time: a dash that the cut bared must go at once.
    let stable = if is_plain(&cut) {
        cut.as_str()
    } else {
        cut.trim_end_matches('-')
    };
    if stable.is_empty() {
        fallback.to_owned()
    } else {
        stable.to_owned()
    }
}

/// Whether `folded` is an id that needs no repair.
fn is_plain(folded: &str) -> bool {
    folded.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit())
        && folded.len() <= AGENT_ID_CHARS_MAX
        && folded.chars().all(is_id_character)
}

fn is_id_character(character: char) -> bool {
    matches!(character, 'a'..='z' | '0'..='9' | '_' | '-')
}
