//! Messages: what a transcript holds, with the provenance of every word.

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{MessageId, RunId};
use crate::key::SessionKey;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// A person, another session, or the system on their behalf: see [`Provenance`].
    User,
    /// The session's own agent.
    Assistant,
    /// The result of a tool call.
    ToolResult,
}

impl Role {
    /// The word that JSON shows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::ToolResult => "toolResult",
        }
    }
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// Visible text.
    Text(String),
    /// The agent's private reasoning; never shown to another session (D60).
    Thinking(String),
    /// A tool call the agent made.
    ToolCall {
        /// Identifies the call within the session.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments, a JSON object.
        arguments: serde_json::Map<String, serde_json::Value>,
    },
    /// A picture, kept elsewhere and named by reference.
    Image {
        /// Media type, for example `image/png`.
        mime_type: String,
        /// Where the bytes are.
        reference: String,
        /// Size of the bytes.
        bytes: u64,
    },
}

/// Where a user message came from (D25, run:T18).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProvenanceKind {
    /// A person, through a channel or the command line.
    ExternalUser,
    /// Another session.
    InterSession,
    /// confab itself.
    InternalSystem,
}

impl ProvenanceKind {
    /// The word that JSON shows.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ExternalUser => "external_user",
            Self::InterSession => "inter_session",
            Self::InternalSystem => "internal_system",
        }
    }
}

/// The origin of a message, as fields and never as text in the body (D25).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// Person, session or system.
    pub kind: ProvenanceKind,
    /// The session that sent it, for `inter_session`.
    pub source_session_key: Option<SessionKey>,
    /// The channel it came through.
    pub source_channel: Option<String>,
    /// The tool that sent it, for example `sessions_send`.
    pub source_tool: Option<String>,
    /// The person who wrote it, as their channel names them.
    pub sender: Option<String>,
}

impl Provenance {
    /// Another session's message, sent with `tool`.
    pub fn inter_session(source: SessionKey, channel: Option<String>, tool: &str) -> Self {
        Self {
            kind: ProvenanceKind::InterSession,
            source_session_key: Some(source),
            source_channel: channel,
            source_tool: Some(tool.to_owned()),
            sender: None,
        }
    }
}

/// Tokens a model read and wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
}

impl Usage {
    /// Tokens read and written.
    pub const fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// What stands, for the agent, in the place of all messages before the first kept one; the messages
/// themselves stay where they are (run:T15).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compaction {
    /// What was said before, in short.
    pub summary: String,
    /// The first message that the agent still reads itself; absent: the one after the marker.
    pub first_kept_seq: Option<u64>,
    /// Tokens of what the summary stands for.
    pub tokens_before: Option<u64>,
}

/// The bytes of a picture, kept beside the messages that name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// What [`Block::Image`] names it by; it follows from the bytes alone.
    pub reference: String,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Blob {
    /// The name of the bytes with this SHA-256 digest.
    pub fn reference_of(digest: [u8; 32]) -> String {
        let digits = digest.iter().map(|byte| format!("{byte:02x}"));
        format!("sha256:{}", digits.collect::<String>())
    }
}

/// A message on its way into a transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct NewMessage {
    /// Names the message within its session: the same key again is the same message.
    pub key: String,
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub blocks: Vec<Block>,
    /// Where a user message came from.
    pub provenance: Option<Provenance>,
    /// The run that wrote it, or that it started.
    pub run_id: Option<RunId>,
    /// The model that wrote it.
    pub model: Option<String>,
    /// Tokens it took.
    pub usage: Option<Usage>,
    /// Why the agent stopped: `stop`, `length`, `toolUse`, `error`, `aborted`.
    pub stop_reason: Option<String>,
    /// For a tool result: the call it answers.
    pub tool_call_id: Option<String>,
    /// For a tool result: the tool's name.
    pub tool_name: Option<String>,
    /// For a tool result: whether the tool failed.
    pub is_error: bool,
    /// When it was said; the moment of the append where nothing is given.
    pub at: Option<Timestamp>,
    /// Makes it the marker of a compaction: an assistant's message without blocks, which no history
    /// shows.
    pub compaction: Option<Compaction>,
}

impl NewMessage {
    /// A message of one text block and nothing else.
    pub fn text(key: impl Into<String>, role: Role, text: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            role,
            blocks: vec![Block::Text(text.into())],
            provenance: None,
            run_id: None,
            model: None,
            usage: None,
            stop_reason: None,
            tool_call_id: None,
            tool_name: None,
            is_error: false,
            at: None,
            compaction: None,
        }
    }
}

/// A stored message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Identifies the message everywhere.
    pub id: MessageId,
    /// Place in its session, from 1, without gaps.
    pub seq: u64,
    /// When it was said.
    pub at: Timestamp,
    /// What was appended.
    pub body: NewMessage,
}

/// The words by which an agent says that nothing shall be said (D33).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SkipWord {
    /// `REPLY_SKIP`: end the reply loop.
    Reply,
    /// `ANNOUNCE_SKIP`: announce nothing.
    Announce,
    /// `NO_REPLY`: say nothing.
    NoReply,
}

impl SkipWord {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Reply, Self::Announce, Self::NoReply];

    /// The word itself.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reply => "REPLY_SKIP",
            Self::Announce => "ANNOUNCE_SKIP",
            Self::NoReply => "NO_REPLY",
        }
    }

    /// The skip word that `text` is, trimmed, exact and case-sensitive.
    ///
    /// Source: D31, D32, D33, run:S69, run:S75.
    pub fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        Self::ALL.into_iter().find(|word| word.as_str() == text)
    }

    /// Whether it stops the reply loop; `ANNOUNCE_SKIP` there is an empty reply instead. In an
    /// announce step or a completion, each of the three is silence.
    ///
    /// Source: D33.
    pub const fn stops_the_loop(self) -> bool {
        match self {
            Self::Reply | Self::NoReply => true,
            Self::Announce => false,
        }
    }
}
