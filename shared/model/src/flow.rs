//! Flows: the durable conversation around a send, a spawn or a person's message.

use serde::{Deserialize, Serialize};

use crate::channel::Route;
use crate::clock::Timestamp;
use crate::id::{ChainId, FlowId};
use crate::key::SessionKey;

/// What a flow carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlowKind {
    /// One session writes to another.
    Send,
    /// A session spawns a child.
    Spawn,
    /// A person writes to a session, or a backend starts a run.
    Human,
}

/// Where a flow is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowState {
    /// The primary run is queued or at work.
    Primary,
    /// The two sides answer one another.
    ReplyLoop,
    /// The target decides what its channel hears.
    Announce,
    /// A delivery is on its way.
    Delivering,
    /// Nothing more will happen.
    Done,
}

/// Why a reply loop ended (D31).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// A side answered `REPLY_SKIP` or `NO_REPLY`.
    ReplySkip,
    /// The cap of turns was reached.
    MaxTurns,
    /// A side answered nothing.
    Empty,
    /// A turn failed.
    Error,
}

/// One side of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Party {
    /// The session that asked.
    Requester,
    /// The session that was asked.
    Target,
}

impl Party {
    /// The lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requester => "requester",
            Self::Target => "target",
        }
    }
}

/// How an answer is meant to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryMode {
    /// The target's announce step speaks to its own channel.
    Announce,
    /// The reply goes back to the route the message came from.
    Reply,
    /// Nothing is meant to leave.
    None,
}

/// What became of a flow's outbound message (D79).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryStatus {
    /// Not decided yet.
    Pending,
    /// The sink accepted it.
    Delivered,
    /// The agent chose silence, or there was nothing to say.
    Skipped,
    /// The send policy forbids it.
    Blocked,
    /// There is no route, or none was wanted.
    None,
    /// It could not be delivered.
    Failed,
}

macro_rules! words {
    ($($name:ident { $($variant:ident => $word:literal),+ $(,)? })+) => {
        $(impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word that JSON shows.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        })+
    };
}

words! {
    FlowKind { Send => "send", Spawn => "spawn", Human => "human" }
    FlowState {
        Primary => "primary", ReplyLoop => "reply_loop", Announce => "announce",
        Delivering => "delivering", Done => "done",
    }
    StopReason {
        ReplySkip => "reply_skip", MaxTurns => "max_turns", Empty => "empty", Error => "error",
    }
    DeliveryMode { Announce => "announce", Reply => "reply", None => "none" }
    DeliveryStatus {
        Pending => "pending", Delivered => "delivered", Skipped => "skipped",
        Blocked => "blocked", None => "none", Failed => "failed",
    }
}

/// The record of a flow: who talks to whom about what, and how far they are.
///
/// The progress fields (`state` and below) are a view of the flow's journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Identifies the flow.
    pub id: FlowId,
    /// What it carries.
    pub kind: FlowKind,
    /// The session that asked; absent for a person, an operator or a backend.
    pub requester: Option<SessionKey>,
    /// The session that was asked.
    pub target: SessionKey,
    /// Where the answer leaves: the target's own route for a send, the message's for a person.
    pub route: Option<Route>,
    /// How the answer is meant to leave.
    pub mode: DeliveryMode,
    /// The chain of sends it belongs to.
    pub chain_id: ChainId,
    /// Sends between a person and this flow.
    pub hop: u32,
    /// The channel whose adapter started it; absent where anybody else did.
    pub started_by_channel: Option<String>,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// Where it is in its life.
    pub state: FlowState,
    /// Reply-loop runs that ended, the one that stopped the loop included.
    pub turns: u32,
    /// Why the loop ended; absent while it runs and where there was none.
    pub stop_reason: Option<StopReason>,
    /// Whose loop run ended last.
    pub last_speaker: Option<Party>,
    /// What became of the outbound message.
    pub delivery: DeliveryStatus,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}
