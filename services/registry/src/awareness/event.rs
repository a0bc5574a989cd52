//! Events: what can happen to a session that others may need to know of.

use confab_model::clock::Timestamp;
use confab_model::id::{RunId, SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_proto::registry::v1 as proto;
use confab_rpc::wire::enums::Numbered;

use crate::limits::EVENT_AGE_MILLIS_MAX;

/// What happened.
///
/// Source: reg:W3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A person wrote to the session.
    HumanDirectMessage,
    /// What it depends on is gone.
    UpstreamMissing,
    /// Its goal changed.
    GoalChanged,
    /// Its task is done.
    RunCompleted,
    /// Its task ended badly.
    RunFailed,
    /// Its transcript was compacted.
    Compacted,
    /// Another session took it over.
    Adopted,
    /// It was spawned.
    ChildSpawned,
}

/// What an event does to those who watch its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// They are told.
    Notifies,
    /// Whoever caused it watches from there on.
    Seeds,
    /// Nothing: it stands in the log.
    Logs,
}

impl EventKind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::HumanDirectMessage,
        Self::UpstreamMissing,
        Self::GoalChanged,
        Self::RunCompleted,
        Self::RunFailed,
        Self::Compacted,
        Self::Adopted,
        Self::ChildSpawned,
    ];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HumanDirectMessage => "human_direct_message",
            Self::UpstreamMissing => "upstream_missing",
            Self::GoalChanged => "goal_changed",
            Self::RunCompleted => "run_completed",
            Self::RunFailed => "run_failed",
            Self::Compacted => "compacted",
            Self::Adopted => "adopted",
            Self::ChildSpawned => "child_spawned",
        }
    }

    /// What it does to watchers.
    ///
    /// Source: reg:W3, reg:W14, reg:W24.
    pub const fn effect(self) -> Effect {
        match self {
            Self::HumanDirectMessage | Self::UpstreamMissing | Self::GoalChanged => {
                Effect::Notifies
            },
            Self::ChildSpawned => Effect::Seeds,
            Self::RunCompleted | Self::RunFailed | Self::Compacted | Self::Adopted => Effect::Logs,
        }
    }
}

impl Numbered for EventKind {
    const NAMES: &'static [&'static str] = &[
        "STATE_EVENT_KIND_HUMAN_DIRECT_MESSAGE",
        "STATE_EVENT_KIND_UPSTREAM_MISSING",
        "STATE_EVENT_KIND_GOAL_CHANGED",
        "STATE_EVENT_KIND_RUN_COMPLETED",
        "STATE_EVENT_KIND_RUN_FAILED",
        "STATE_EVENT_KIND_COMPACTED",
        "STATE_EVENT_KIND_ADOPTED",
        "STATE_EVENT_KIND_CHILD_SPAWNED",
    ];

    fn number(self) -> i32 {
        i32::from(match self {
            Self::HumanDirectMessage => proto::StateEventKind::HumanDirectMessage,
            Self::UpstreamMissing => proto::StateEventKind::UpstreamMissing,
            Self::GoalChanged => proto::StateEventKind::GoalChanged,
            Self::RunCompleted => proto::StateEventKind::RunCompleted,
            Self::RunFailed => proto::StateEventKind::RunFailed,
            Self::Compacted => proto::StateEventKind::Compacted,
            Self::Adopted => proto::StateEventKind::Adopted,
            Self::ChildSpawned => proto::StateEventKind::ChildSpawned,
        })
    }

    fn of(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }
}

/// Who made it happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A person.
    Human,
    /// The agent of a session.
    Agent(SessionKey),
    /// A part of the system.
    System,
}

impl Actor {
    /// The word.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Agent(_) => "agent",
            Self::System => "system",
        }
    }

    /// The session that did it, for an agent.
    pub const fn session(&self) -> Option<&SessionKey> {
        match self {
            Self::Agent(key) => Some(key),
            Self::Human | Self::System => None,
        }
    }
}

/// How the run of a child ended, where it failed.
///
/// Source: reg:W10.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// By an error.
    Error,
    /// Over time.
    Timeout,
    /// Cancelled.
    Cancelled,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Error, Self::Timeout, Self::Cancelled];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
        }
    }

    /// The outcome a word names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|outcome| outcome.as_str() == word)
    }

    const fn summary(self) -> &'static str {
        match self {
            Self::Error => "child run failed",
            Self::Timeout => "child run timed out",
            Self::Cancelled => "child run cancelled",
        }
    }
}

/// What is told of an event: one line that never holds message text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The line.
    pub summary: String,
    /// How a child's run ended, where it failed.
    pub outcome: Option<Outcome>,
}

/// Tells an event of `kind` with the help of its `detail`, a short word; `None` where a failed run
/// does not say how it ended, which is not recorded.
///
/// Source: reg:W7, reg:W9, reg:W10, reg:W11.
pub fn account(kind: EventKind, detail: Option<&str>) -> Option<Account> {
    let outcome = match kind {
        EventKind::RunFailed => Some(Outcome::parse(detail?)?),
        EventKind::HumanDirectMessage
        | EventKind::UpstreamMissing
        | EventKind::GoalChanged
        | EventKind::RunCompleted
        | EventKind::Compacted
        | EventKind::Adopted
        | EventKind::ChildSpawned => None,
    };
    let summary = match kind {
        EventKind::HumanDirectMessage => {
            format!("human message via {}", detail.unwrap_or("unknown"))
        },
        EventKind::GoalChanged => goal_summary(detail),
        EventKind::RunFailed => outcome.map_or("", Outcome::summary).to_owned(),
        EventKind::UpstreamMissing => "upstream missing".to_owned(),
        EventKind::RunCompleted => "child run completed".to_owned(),
        EventKind::Compacted => "session compacted".to_owned(),
        EventKind::Adopted => "session adopted".to_owned(),
        EventKind::ChildSpawned => "child session spawned".to_owned(),
    };
    Some(Account { summary, outcome })
}

/// `created`, `objective` and `cleared` say what was done; any other word is the goal's status.
fn goal_summary(detail: Option<&str>) -> String {
    match detail {
        Some("created") => "goal created".to_owned(),
        Some("objective") => "goal objective changed".to_owned(),
        Some("cleared") => "goal cleared".to_owned(),
        Some(status) => format!("goal status changed to {status}"),
        None => "goal changed".to_owned(),
    }
}

/// An event that is to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// The tenant the session belongs to.
    pub tenant: TenantId,
    /// The session it happened to.
    pub session_key: SessionKey,
    /// What happened.
    pub kind: EventKind,
    /// Who made it happen.
    pub actor: Actor,
    /// The run it belongs to.
    pub run_id: Option<RunId>,
    /// When it happened, as told; absent: as it is recorded.
    pub occurred_at: Option<Timestamp>,
    /// Makes a repetition the same event.
    pub dedupe_key: Option<String>,
    /// What is told of it.
    pub account: Account,
}

impl NewEvent {
    /// Whether it is recorded in a session that was `spawned` or is `watched`: a person's message
    /// only where somebody may need to know of it.
    ///
    /// Source: reg:W7.
    pub fn is_wanted(&self, spawned: bool, watched: bool) -> bool {
        match self.kind {
            EventKind::HumanDirectMessage => self.actor == Actor::Human && (spawned || watched),
            EventKind::UpstreamMissing
            | EventKind::GoalChanged
            | EventKind::RunCompleted
            | EventKind::RunFailed
            | EventKind::Compacted
            | EventKind::Adopted
            | EventKind::ChildSpawned => true,
        }
    }

    /// Whether the session that spawned this one watches it from here on.
    ///
    /// Source: D57, reg:W9, reg:W17.
    pub fn adds_parent(&self) -> bool {
        self.kind == EventKind::GoalChanged
    }

    /// When it happened, within the last day.
    ///
    /// Source: reg:W4.
    pub fn moment(&self, now: Timestamp) -> Timestamp {
        self.occurred_at.map_or(now, |told| {
            told.clamp(now.plus_millis(-EVENT_AGE_MILLIS_MAX), now)
        })
    }
}

/// An event as it stands in the log.
///
/// Source: reg:W2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateEvent {
    /// Its place in the log of all sessions, from 1.
    pub sequence: u64,
    /// The session.
    pub session_key: SessionKey,
    /// The generation it happened to.
    pub session_id: SessionId,
    /// The word for what happened.
    pub kind: String,
    /// The word for who made it happen.
    pub actor_type: String,
    /// The session that did, for an agent.
    pub actor_id: Option<String>,
    /// The run it belongs to.
    pub run_id: Option<String>,
    /// When it happened.
    pub occurred_at: Timestamp,
    /// One line.
    pub summary: String,
    /// How a child's run ended, where it failed.
    pub outcome: Option<String>,
}

/// The events of a session behind a sequence, and what is missing among them.
///
/// Source: reg:S14, reg:W27, reg:W28, reg:W29.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateChanges {
    /// Ascending.
    pub events: Vec<StateEvent>,
    /// Whether more follow.
    pub truncated: bool,
    /// The lowest sequence that is kept; one above the version where none is, 0 without events.
    pub earliest_available_sequence: u64,
    /// Whether events behind the asked sequence are gone.
    pub history_gap: bool,
}

#[cfg(test)]
mod tests;
