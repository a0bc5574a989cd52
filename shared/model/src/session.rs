//! Sessions: the rows of the registry.

pub mod levels;
mod lifecycle;
pub mod patch;

use serde::{Deserialize, Serialize};

use crate::channel::{ChatType, Route};
use crate::clock::Timestamp;
use crate::id::{RunId, SessionId};
use crate::key::SessionKey;
use crate::limits::LABEL_UNITS_MAX;
use crate::run::RunState;
use levels::{
    ElevatedLevel, ExecAsk, ExecHost, ExecSecurity, FastMode, GroupActivation, ReasoningLevel,
    ResponseUsage, SpawnMode, SubagentControlScope, SubagentRole, ThinkingLevel, TraceLevel,
    VerboseLevel,
};

/// A session's label: trimmed, not empty, one line without control characters, at most
/// [`LABEL_UNITS_MAX`] UTF-16 units, case kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Label(String);

/// Why a text is no label.
///
/// Source: reg:M12.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// Nothing but blanks.
    #[error("invalid label: empty")]
    Empty,
    /// Over the limit.
    #[error("invalid label: too long (max {LABEL_UNITS_MAX})")]
    TooLong,
    /// A line break, an escape or the like.
    #[error("invalid label: control characters are not allowed")]
    ControlCharacter,
}

impl Label {
    /// Trims and checks `raw`.
    ///
    /// # Errors
    /// When nothing is left, or too much, or more than a line of plain text.
    pub fn parse(raw: &str) -> Result<Self, LabelError> {
        let trimmed = raw.trim();
        if trimmed.is_empty() {
            Err(LabelError::Empty)
        } else if trimmed.encode_utf16().count() > LABEL_UNITS_MAX {
            Err(LabelError::TooLong)
        } else if trimmed.contains(is_control) {
            Err(LabelError::ControlCharacter)
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

/// Whether a character controls a terminal or breaks a line.
fn is_control(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

/// Where a session came from, as first seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The channel that first spoke to it.
    pub provider: Option<String>,
    /// The account of ours it spoke to.
    pub account_id: Option<String>,
    /// The thread it spoke in.
    pub thread_id: Option<String>,
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
    /// Tokens the run read.
    pub input_tokens: Option<u64>,
    /// Tokens the run wrote.
    pub output_tokens: Option<u64>,
}

/// What people set for one session, and what outranks the configuration there; absent: as
/// configured.
///
/// Source: reg:M18, reg:M19, reg:M20, reg:M21, reg:M22, reg:M23.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// Its own model.
    pub model: Option<String>,
    /// How hard the model thinks.
    pub thinking_level: Option<ThinkingLevel>,
    /// How much of its work it tells.
    pub verbose_level: Option<VerboseLevel>,
    /// How much of its work it traces.
    pub trace_level: Option<TraceLevel>,
    /// Whether its reasoning is shown.
    pub reasoning_level: Option<ReasoningLevel>,
    /// How usage is reported with a reply.
    pub response_usage: Option<ResponseUsage>,
    /// Whether commands run with more rights than usual.
    pub elevated_level: Option<ElevatedLevel>,
    /// Whether speed goes before thoroughness.
    pub fast_mode: Option<FastMode>,
    /// Where commands run.
    pub exec_host: Option<ExecHost>,
    /// Which commands may run.
    pub exec_security: Option<ExecSecurity>,
    /// When a command needs a person's consent.
    pub exec_ask: Option<ExecAsk>,
    /// The device commands run on.
    pub exec_node: Option<String>,
    /// Whether messages may be sent; outranks the configured rules.
    pub send_policy: Option<SendAction>,
    /// When a group message reaches the agent.
    pub group_activation: Option<GroupActivation>,
}

/// How a session was spawned, beside by whom.
///
/// Source: reg:M6, reg:M7, reg:M8, reg:V20.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spawn {
    /// Spawns between it and a session that nobody spawned, from 0.
    pub depth: Option<u32>,
    /// What it was spawned for.
    pub mode: Option<SpawnMode>,
    /// Its part among spawned sessions.
    pub role: Option<SubagentRole>,
    /// What it may control.
    pub control_scope: Option<SubagentControlScope>,
    /// The workspace it was spawned with.
    pub workspace_dir: Option<String>,
    /// The working directory it was spawned with.
    pub cwd: Option<String>,
    /// Tools it inherits a permission for; empty: no narrowing.
    pub inherited_tool_allow: Vec<String>,
    /// Tools it inherits a refusal of.
    pub inherited_tool_deny: Vec<String>,
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
    /// What people set for it.
    pub tuning: Tuning,
    /// How it was spawned.
    pub spawn: Spawn,
    /// The group people filed it under.
    pub category: Option<String>,
    /// Since when somebody's mark says that it is unread.
    pub marked_unread_at: Option<Timestamp>,
    /// When somebody last marked it read.
    pub last_read_at: Option<Timestamp>,
    /// When the present generation began.
    pub session_started_at: Timestamp,
    /// When a person last wrote to it.
    pub last_interaction_at: Option<Timestamp>,
    /// The sequence of its newest state event, 0 without any; filled in by whoever reads the row.
    pub state_version: u64,
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
    fn a_label_is_one_line_of_plain_text() {
        for raw in [
            "a\nb",
            "a\r\nb",
            "a\tb",
            "\u{1b}[2J",
            "a\u{0}",
            "a\u{85}b",
            "a\u{2028}b",
        ] {
            assert_eq!(
                Label::parse(raw),
                Err(LabelError::ControlCharacter),
                "{raw:?}"
            );
        }
        assert_eq!(
            LabelError::ControlCharacter.to_string(),
            "invalid label: control characters are not allowed"
        );
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
