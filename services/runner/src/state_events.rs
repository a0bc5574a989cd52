//! What happens to sessions by what runs do, as far as those who watch them may need to know. Pure;
//! the registry keeps the events, decides who hears of them, and words them.

#[cfg(test)]
mod tests;

use confab_flow::exchange::{ExchangeKind, Terms};
use confab_model::message::{Provenance, ProvenanceKind};
use confab_model::run::{Run, RunState, Step};
use confab_proto::registry::v1::{ActorType, StateEventKind, StateEventRecord};
use confab_rpc::wire;
use serde::{Deserialize, Serialize};

use crate::store::Activity;

/// Longest detail of an event, in bytes.
const DETAIL_BYTES_MAX: usize = 64;

/// Something that happened to a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum StateEvent {
    /// A person wrote to it.
    HumanMessage {
        /// The channel it came through, where it came through one.
        channel: Option<String>,
    },
    /// The work that it was spawned for is done.
    TaskCompleted,
    /// The work that it was spawned for ended badly.
    TaskFailed {
        /// How.
        failure: TaskFailure,
    },
}

/// How a child's work ended badly (reg:W10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskFailure {
    /// By itself.
    Error,
    /// Its time was over.
    Timeout,
    /// Somebody ended it.
    Cancelled,
}

impl TaskFailure {
    /// The word that the registry knows it by.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
        }
    }
}

impl StateEvent {
    /// The event that accepting a flow is, if a person caused it.
    ///
    /// Source: reg:W7, reg:W8.
    pub fn of_accepted(terms: &Terms) -> Option<Self> {
        match terms.kind {
            ExchangeKind::Human if is_by_a_person(terms.provenance.as_ref()) => {
                let source = terms.provenance.as_ref();
                Some(Self::HumanMessage {
                    channel: source.and_then(|source| source.source_channel.clone()),
                })
            },
            ExchangeKind::Human | ExchangeKind::Send | ExchangeKind::Notice => None,
        }
    }

    /// The event that the end of a run is, if it was a child's work.
    ///
    /// Source: reg:W10.
    pub fn of_run(run: &Run) -> Option<Self> {
        if run.step != Step::Task {
            return None;
        }
        let failure = match run.state {
            RunState::Queued | RunState::Running | RunState::Waiting => return None,
            RunState::Succeeded => return Some(Self::TaskCompleted),
            RunState::Failed | RunState::Interrupted => TaskFailure::Error,
            RunState::TimedOut => TaskFailure::Timeout,
            RunState::Cancelled | RunState::Killed => TaskFailure::Cancelled,
        };
        Some(Self::TaskFailed { failure })
    }

    /// Whether a person acted.
    pub const fn is_by_a_person(&self) -> bool {
        match self {
            Self::HumanMessage { .. } => true,
            Self::TaskCompleted | Self::TaskFailed { .. } => false,
        }
    }
}

/// Source: reg:W8.
fn is_by_a_person(provenance: Option<&Provenance>) -> bool {
    provenance.is_none_or(|source| match source.kind {
        ProvenanceKind::ExternalUser => true,
        ProvenanceKind::InterSession | ProvenanceKind::InternalSystem => false,
    })
}

/// The event of a record, as the registry is told it; a repetition is the same event (reg:W5).
pub fn to_proto(record: &Activity) -> Option<StateEventRecord> {
    let event = record.event.as_ref()?;
    let (kind, actor, occasion, detail) = match event {
        StateEvent::HumanMessage { channel } => (
            StateEventKind::HumanDirectMessage,
            ActorType::Human,
            "human-message",
            channel.clone(),
        ),
        StateEvent::TaskCompleted => (
            StateEventKind::RunCompleted,
            ActorType::System,
            "run-terminal",
            None,
        ),
        StateEvent::TaskFailed { failure } => (
            StateEventKind::RunFailed,
            ActorType::System,
            "run-terminal",
            Some(failure.as_str().to_owned()),
        ),
    };
    Some(StateEventRecord {
        tenant: record.tenant.to_string(),
        session_key: record.session_key.to_string(),
        kind: kind.into(),
        actor_type: actor.into(),
        actor_id: None,
        run_id: Some(record.run_id.to_string()),
        occurred_at: Some(wire::time::to_proto(record.occurred_at)),
        dedupe_key: Some(format!("{occasion}:{}", record.run_id)),
        // A channel's name may be longer than a summary may be; then it is left unsaid.
        detail: detail.filter(|text| (1..=DETAIL_BYTES_MAX).contains(&text.len())),
    })
}
