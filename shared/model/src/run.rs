//! Runs: one agent turn in one session, from queue to outcome.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{AgentId, ChainId, FlowId, RunId, SessionId};
use crate::key::SessionKey;
use crate::message::{Provenance, Usage};

/// Why a run was started; the script driver's `step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A person's message, or a run started with the API.
    Human,
    /// Round 1 of a send.
    Send,
    /// A turn of the reply loop.
    Reply,
    /// The announce step.
    Announce,
    /// A spawned child's work.
    Task,
    /// A child's result arriving at its requester.
    Completion,
    /// Woken by a watched session.
    Notice,
    /// After a steer.
    Resume,
}

impl Step {
    /// All of them, in the order of the contract.
    pub const ALL: [Self; 8] = [
        Self::Human,
        Self::Send,
        Self::Reply,
        Self::Announce,
        Self::Task,
        Self::Completion,
        Self::Notice,
        Self::Resume,
    ];

    /// The lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Send => "send",
            Self::Reply => "reply",
            Self::Announce => "announce",
            Self::Task => "task",
            Self::Completion => "completion",
            Self::Notice => "notice",
            Self::Resume => "resume",
        }
    }

    /// The step a word names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.as_str() == word)
    }
}

/// Which share of the machine a run draws on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lane {
    /// People's messages and API runs.
    Main,
    /// Sends between sessions.
    Nested,
    /// Spawned children.
    Subagent,
}

impl Lane {
    /// The lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Nested => "nested",
            Self::Subagent => "subagent",
        }
    }
}

/// Where a run is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Waits for its session to be free.
    Queued,
    /// The agent is at work.
    Running,
    /// Yielded: waits for its children.
    Waiting,
    /// Ended with an answer, possibly empty.
    Succeeded,
    /// Ended with an error.
    Failed,
    /// Ended because its time was over.
    TimedOut,
    /// Ended because somebody cancelled it.
    Cancelled,
    /// Ended because somebody killed it.
    Killed,
    /// Ended because its process went away and it could not be repeated.
    Interrupted,
}

impl RunState {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Queued,
        Self::Running,
        Self::Waiting,
        Self::Succeeded,
        Self::Failed,
        Self::TimedOut,
        Self::Cancelled,
        Self::Killed,
        Self::Interrupted,
    ];

    /// The lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Killed => "killed",
            Self::Interrupted => "interrupted",
        }
    }

    /// The state a word names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether the run is over.
    pub const fn is_ended(self) -> bool {
        match self {
            Self::Queued | Self::Running | Self::Waiting => false,
            Self::Succeeded
            | Self::Failed
            | Self::TimedOut
            | Self::Cancelled
            | Self::Killed
            | Self::Interrupted => true,
        }
    }
}

/// What went wrong in a run: a class a program can test and a message a person can read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunError {
    /// Machine-readable class, for example `rate_limited`.
    pub class: String,
    /// One sentence for people.
    pub message: String,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The agent answered; the final visible text may be empty.
    Replied {
        /// The run's own final text (D30).
        text: String,
        /// The model that answered.
        model: Option<String>,
        /// Tokens it took.
        usage: Option<Usage>,
    },
    /// The run ended badly.
    Failed {
        /// The state it ended in: any ended state but `succeeded`.
        state: RunState,
        /// What went wrong.
        error: RunError,
    },
}

impl Outcome {
    /// The state a run with this outcome is in.
    pub const fn state(&self) -> RunState {
        match self {
            Self::Replied { .. } => RunState::Succeeded,
            Self::Failed { state, .. } => *state,
        }
    }
}

/// What happened to the message that started a run (D29).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageState {
    /// Durable, not yet begun.
    Stored,
    /// The agent has begun.
    Started,
    /// The agent has answered.
    Replied,
}

impl MessageState {
    /// The lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Started => "started",
            Self::Replied => "replied",
        }
    }
}

/// The record of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Identifies the run.
    pub id: RunId,
    /// The session it runs in.
    pub session_key: SessionKey,
    /// That session's generation; absent until a flow's own run has found its session.
    pub session_id: Option<SessionId>,
    /// The agent that runs.
    pub agent_id: AgentId,
    /// Why it was started.
    pub step: Step,
    /// The reply-loop turn, from 1; 0 elsewhere.
    pub turn: u32,
    /// Which share of the machine it draws on.
    pub lane: Lane,
    /// Where it is in its life.
    pub state: RunState,
    /// The stored body, or the step's text (D62).
    pub input: String,
    /// The step's text for the agent; [`Self::whole_prompt`] is all that it is handed (D62).
    pub prompt: String,
    /// What happened in watched sessions, a line each: part of the run from its first attempt on,
    /// and empty before (D57).
    pub notices: Vec<String>,
    /// Where the input came from; absent where the input is not stored as a message.
    pub provenance: Option<Provenance>,
    /// The final visible text.
    pub reply: Option<String>,
    /// What went wrong.
    pub error: Option<RunError>,
    /// The conversation it belongs to.
    pub flow_id: FlowId,
    /// The run that caused it.
    pub parent_run_id: Option<RunId>,
    /// The chain of sends it belongs to (D34).
    pub chain_id: ChainId,
    /// Sends between a person and this run (D65).
    pub hop: u32,
    /// How often it was begun.
    pub attempts: u32,
    /// Which run of its session this is, from 1; 0 until it has begun once.
    pub ordinal: u64,
    /// The model that answered, or that was asked for.
    pub model: Option<String>,
    /// Tokens it took.
    pub usage: Option<Usage>,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When the first attempt began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

impl Run {
    /// All that the agent is handed: a line for each notice, a blank line, the step's text.
    ///
    /// Source: D57, D62.
    pub fn whole_prompt(&self) -> Cow<'_, str> {
        if self.notices.is_empty() {
            Cow::Borrowed(&self.prompt)
        } else {
            Cow::Owned(format!("{}\n\n{}", self.notices.join("\n"), self.prompt))
        }
    }

    /// What happened to the message that started it (D29).
    pub fn message_state(&self) -> MessageState {
        if self
            .reply
            .as_deref()
            .is_some_and(|reply| !reply.trim().is_empty())
        {
            MessageState::Replied
        } else if self.started_at.is_some() {
            MessageState::Started
        } else {
            MessageState::Stored
        }
    }

    /// Milliseconds from the first attempt to the end.
    pub fn runtime_millis(&self) -> Option<i64> {
        Some(self.ended_at?.millis_since(self.started_at?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_handed_the_notices_first_and_then_the_steps_text() {
        // D57, D62
        let id = "r".to_owned();
        let mut run = Run {
            id: RunId::parse(id.clone()).unwrap(),
            session_key: SessionKey::global(),
            session_id: None,
            agent_id: AgentId::normalise("main"),
            step: Step::Human,
            turn: 0,
            lane: Lane::Main,
            state: RunState::Running,
            input: "hello".to_owned(),
            prompt: "hello\n\nthere".to_owned(),
            notices: Vec::new(),
            provenance: None,
            reply: None,
            error: None,
            flow_id: FlowId::parse(id.clone()).unwrap(),
            parent_run_id: None,
            chain_id: ChainId::parse(id).unwrap(),
            hop: 0,
            attempts: 1,
            ordinal: 1,
            model: None,
            usage: None,
            created_at: Timestamp::default(),
            started_at: None,
            ended_at: None,
        };
        assert_eq!(run.whole_prompt(), "hello\n\nthere");
        run.notices = vec!["one".to_owned(), "two".to_owned()];
        assert_eq!(run.whole_prompt(), "one\ntwo\n\nhello\n\nthere");
    }
}
