//! The values of lifecycle changes under way.

use confab_model::clock::Timestamp;
use confab_model::id::RunId;
use confab_model::key::SessionKey;
use confab_proto::registry::v1::CommitLifecycleRequest;
use confab_store::StoreError;

use super::{KeyUse, QueuedSession};

/// How far a change has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Nothing of the session begins; the registry was not asked.
    Fenced,
    /// The registry was asked, or is about to be.
    Committing,
}

impl Stage {
    /// The lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fenced => "fenced",
            Self::Committing => "committing",
        }
    }

    /// The stage a word names.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Fenced, Self::Committing]
            .into_iter()
            .find(|stage| stage.as_str() == word)
    }
}

/// A session that is fenced.
#[derive(Clone, Debug, PartialEq)]
pub struct Fence {
    /// The session.
    pub session: QueuedSession,
    /// How far the change has come.
    pub stage: Stage,
    /// What the registry is asked, word for word.
    pub commit: CommitLifecycleRequest,
}

/// What a change does to the session's live work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveWork {
    /// The change waits for a better moment (D56).
    Refuses,
    /// The same, and it waits for what the session owes to channels too (B178).
    RefusesOwed,
    /// It is aborted first (D56).
    Aborted,
    /// It does not matter: no work is lost.
    Ignored,
}

/// A fence to raise.
#[derive(Clone, Debug)]
pub struct NewFence {
    /// The session.
    pub session: QueuedSession,
    /// What the registry will be asked.
    pub commit: CommitLifecycleRequest,
    /// What the change does to live work.
    pub live_work: LiveWork,
    /// The caller's name for the call.
    pub key: Option<KeyUse>,
    /// When.
    pub now: Timestamp,
}

/// What came of raising a fence.
#[derive(Clone, Debug, PartialEq)]
pub enum Fenced {
    /// It stands; these runs, queued or running, are to be ended first.
    Fresh(Vec<RunId>),
    /// The same call was answered before, with this.
    Repeated(Vec<u8>),
}

/// Why a fence was not raised.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FenceError {
    /// The key names another call (D36).
    #[error("idempotency key {key:?} was used for a call with other content")]
    KeyReused {
        /// The key.
        key: String,
    },
    /// Another change of the session is under way.
    #[error("another change of session {session_key} is under way")]
    UnderWay {
        /// The session.
        session_key: SessionKey,
    },
    /// The session changed after the call was admitted.
    #[error("session {session_key} changed after the call was admitted")]
    Outdated {
        /// The session.
        session_key: SessionKey,
    },
    /// The session has live work (D56).
    #[error("{runs} runs of session {session_key} have not ended")]
    Busy {
        /// The session.
        session_key: SessionKey,
        /// Runs that wait, are at work, or owe their reply to the transcript.
        runs: u32,
    },
    /// The session owes something to a channel (B178).
    #[error("{deliveries} deliveries of session {session_key} have not ended")]
    Owing {
        /// The session.
        session_key: SessionKey,
        /// How many.
        deliveries: u32,
    },
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] StoreError),
}

/// How a change ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lift {
    /// Nothing was changed: the caller's key is unused again.
    Undone,
    /// The registry committed it.
    Done {
        /// The session's epoch from here on.
        work_epoch: i64,
        /// What the call is answered with, now and when it is repeated.
        answer: Vec<u8>,
    },
}

/// What stands in the way of new work for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing.
    Open,
    /// A change is under way.
    Fenced,
    /// It changed after the work was admitted.
    Outdated,
}
