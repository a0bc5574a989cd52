//! Sessions: the rows of the registry.

use serde::{Deserialize, Serialize};

use crate::channel::{ChatType, Route};
use crate::clock::Timestamp;
use crate::id::{RunId, SessionId};
use crate::key::SessionKey;
use crate::limits::LABEL_UNITS_MAX;
use crate::run::RunState;

/// A session's label: trimmed, not empty, at most [`LABEL_UNITS_MAX`] UTF-16 units, case kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Label(String);

/// Why a text is no label. The texts are those of reg:M12.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// Nothing but blanks.
    #[error("invalid label: empty")]
    Empty,
    /// Over the limit.
    #[error("invalid label: too long (max {LABEL_UNITS_MAX})")]
    TooLong,
}

impl Label {
    /// Trims and checks `raw`.
    ///
    /// # Errors
    /// When nothing is left, or too much.
    pub fn parse(raw: &str) -> Result<Self, LabelError> {
        let trimmed = raw.trim();
        if trimmed.is_empty() {
            Err(LabelError::Empty)
        } else if trimmed.encode_utf16().count() > LABEL_UNITS_MAX {
            Err(LabelError::TooLong)
        } else {
            Ok(Self(trimmed.to_owned()))
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Label {
    type Error = LabelError;

    fn try_from(raw: String) -> Result<Self, LabelError> {
        Self::parse(&raw)
    }
}

impl From<Label> for String {
    fn from(label: Label) -> Self {
        label.0
    }
}

/// Where a session came from, as first seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The channel that first spoke to it.
    pub provider: Option<String>,
    /// The account of ours it spoke to.
    pub account_id: Option<String>,
}

/// What a rule or an override of the send policy does with a message.
///
/// Source: reg:P1, reg:P2, reg:M23.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SendAction {
    /// The message passes.
    Allow,
    /// The message is refused.
    Deny,
}

impl SendAction {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Allow, Self::Deny];

    /// The lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }

    /// The action a word names; blanks around it and case do not matter.
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.trim();
        Self::ALL
            .into_iter()
            .find(|action| action.as_str().eq_ignore_ascii_case(word))
    }
}

/// What the registry shows of a session's last run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastRun {
    /// The run.
    pub run_id: RunId,
    /// Where it is in its life.
    pub state: RunState,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The model that answered.
    pub model: Option<String>,
    /// Tokens of the last call.
    pub total_tokens: Option<u64>,
}

/// A session's row.
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    /// The canonical key.
    pub key: SessionKey,
    /// The present generation.
    pub session_id: SessionId,
    /// How often the row was written, from 1.
    pub row_version: u64,
    /// How often its lifecycle changed (reset, archive, restore), from 0; work authorised under an
    /// older epoch is refused.
    pub work_epoch: u64,
    /// The name people gave it.
    pub label: Option<Label>,
    /// The session that spawned it.
    pub spawned_by: Option<SessionKey>,
    /// Whether its agent runs in a sandbox.
    pub sandboxed: bool,
    /// What kind of chat it belongs to, where told at creation.
    pub chat_type: Option<ChatType>,
    /// Where it came from.
    pub origin: Origin,
    /// Where its answers go, whole.
    pub delivery_context: Option<Route>,
    /// Whether it is archived, and since when.
    pub archived_at: Option<Timestamp>,
    /// Whether it is pinned, and since when.
    pub pinned_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When a message or a run last moved it.
    pub updated_at: Timestamp,
    /// What its last run did.
    pub last_run: Option<LastRun>,
}

impl Session {
    /// A row as it is when its session is made: version 1, epoch 0, nothing told beyond the key.
    pub fn fresh(key: SessionKey, session_id: SessionId, now: Timestamp) -> Self {
        Self {
            key,
            session_id,
            row_version: 1,
            work_epoch: 0,
            label: None,
            spawned_by: None,
            sandboxed: false,
            chat_type: None,
            origin: Origin::default(),
            delivery_context: None,
            archived_at: None,
            pinned_at: None,
            created_at: now,
            updated_at: now,
            last_run: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_trimmed_and_keeps_its_case() {
        assert_eq!(
            Label::parse("  Release Plan \n").unwrap().as_str(),
            "Release Plan"
        );
    }

    #[test]
    fn a_blank_label_is_refused() {
        assert_eq!(Label::parse(" \t"), Err(LabelError::Empty));
        assert_eq!(LabelError::Empty.to_string(), "invalid label: empty");
    }

    #[test]
    fn a_label_is_measured_in_utf_16_units() {
        let longest = "🦀".repeat(LABEL_UNITS_MAX / 2);
        assert_eq!(Label::parse(&longest).unwrap().as_str(), longest);
        assert_eq!(
            Label::parse(&format!("{longest}x")),
            Err(LabelError::TooLong)
        );
        assert_eq!(
            LabelError::TooLong.to_string(),
            "invalid label: too long (max 512)"
        );
    }

    #[test]
    fn a_label_is_checked_when_it_is_read_from_json() {
        assert_eq!(
            String::from(serde_json::from_str::<Label>("\" A \"").unwrap()),
            "A"
        );
        assert!(serde_json::from_str::<Label>("\" \"").is_err());
    }
}
