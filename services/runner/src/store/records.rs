//! The values that go into and come out of the runner's store.

use confab_flow::exchange::{StepId, Terms};
use confab_model::channel::Route;
use confab_model::clock::Timestamp;
use confab_model::delivery::Delivery;
use confab_model::flow::Flow;
use confab_model::id::{DeliveryId, IdempotencyKey, RunId, SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::message::Usage;
use confab_model::run::{Outcome, Run, RunState};
use confab_store::StoreError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::state_events::StateEvent;

/// A caller's own name for a mutating call (D36).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUse {
    /// Whose name it is: the session for agents, the token's subject for others.
    pub owner: String,
    /// The name.
    pub key: IdempotencyKey,
    /// What the call says, without the name and the deadline.
    pub fingerprint: String,
    /// When the name is forgotten.
    pub expires_at: Timestamp,
}

/// What an idempotency key was used for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedKey {
    /// What the call said.
    pub fingerprint: String,
    /// What came of it.
    pub first: FirstUse,
}

/// What the first call with a key did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstUse {
    /// It started a run.
    Run(RunId),
    /// It changed a session's lifecycle.
    Change {
        /// The session.
        session_key: SessionKey,
        /// What it was answered with; absent while the change is under way.
        answer: Option<Vec<u8>>,
    },
}

/// A flow to accept.
#[derive(Clone, Debug)]
pub struct NewFlow {
    /// The tenant.
    pub tenant: TenantId,
    /// The caller's name for the call.
    pub key: Option<KeyUse>,
    /// The record, before its first event.
    pub flow: Flow,
    /// What the exchange is about.
    pub terms: Terms,
    /// The target's generation.
    pub session_id: SessionId,
    /// The target's own model, where it has one; its run is asked for that one.
    pub model: Option<String>,
    /// The target's epoch when the call was admitted.
    pub work_epoch: u64,
    /// The run that makes the call.
    pub parent_run_id: Option<RunId>,
    /// Whether a person is waiting, who goes first (D50).
    pub urgent: bool,
    /// Runs that may wait in one session (D78).
    pub queue_max: u32,
    /// The run's identifier.
    pub run_id: RunId,
    /// A person's route, which becomes the session's.
    pub inbound_route: Option<Route>,
    /// The span that the work belongs to.
    pub trace_parent: Option<String>,
}

/// What came of accepting a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Opened {
    /// It is accepted; this is its first run.
    Fresh(RunId),
    /// The same call was accepted before; this was its first run.
    Repeated(RunId),
}

/// Why a flow was not accepted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OpenError {
    /// The key names another call (D36).
    #[error("idempotency key {key:?} was used for a call with other content")]
    KeyReused {
        /// The key.
        key: String,
    },
    /// Too many runs wait in the session already (D78).
    #[error("{waiting} runs wait in session {session_key} already, which is the limit")]
    QueueFull {
        /// The session.
        session_key: SessionKey,
        /// How many wait.
        waiting: u32,
    },
    /// The session's lifecycle is about to change; nothing new begins meanwhile.
    #[error("session {session_key} is being changed")]
    Fenced {
        /// The session.
        session_key: SessionKey,
    },
    /// The session's lifecycle changed after the call was admitted.
    #[error("session {session_key} changed after the call was admitted")]
    Outdated {
        /// The session.
        session_key: SessionKey,
    },
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] StoreError),
}

/// A session whose queue may have something to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueuedSession {
    /// The tenant.
    pub tenant: TenantId,
    /// The session.
    pub session_key: SessionKey,
}

impl QueuedSession {
    /// The session with this key.
    pub fn new(tenant: &TenantId, session_key: &SessionKey) -> Self {
        Self {
            tenant: tenant.clone(),
            session_key: session_key.clone(),
        }
    }
}

/// The terms of a claim.
#[derive(Clone, Copy, Debug)]
pub struct Lease {
    /// When the claim happens.
    pub now: Timestamp,
    /// When the lease ends unless it is renewed.
    pub until: Timestamp,
}

/// A run with what only the runner needs to know.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRun {
    /// The tenant.
    pub tenant: TenantId,
    /// The run.
    pub run: Run,
    /// Its step in its flow.
    pub step_id: StepId,
    /// Whether its input is stored in the session as a user message (D74).
    pub store_input: bool,
    /// The lease it was last given.
    pub lease_epoch: i64,
    /// The tools it called; empty until it ended.
    pub trace: Vec<ToolTrace>,
    /// The span that the work belongs to.
    pub trace_parent: Option<String>,
}

/// A run that was given to this process.
#[derive(Clone, Debug, PartialEq)]
pub struct Claimed(pub StoredRun);

/// A tool call of a run and its answer, as the transcript holds them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolTrace {
    /// Identifies the call within the session.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// Its answer.
    pub result: Value,
    /// Whether it refused or failed.
    pub is_error: bool,
}

/// How a run ended, with all that the transcript must get.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// How it ended.
    pub outcome: Outcome,
    /// The tools it called, in order.
    pub trace: Vec<ToolTrace>,
}

/// A flow with its runs and deliveries, in the order they were made.
#[derive(Clone, Debug)]
pub struct FlowDetail {
    /// The record.
    pub flow: Flow,
    /// Its runs.
    pub runs: Vec<Run>,
    /// Its deliveries.
    pub deliveries: Vec<Delivery>,
}

impl FlowDetail {
    /// The identifiers of its deliveries.
    pub fn delivery_ids(&self) -> impl Iterator<Item = &DeliveryId> {
        self.deliveries.iter().map(|delivery| &delivery.id)
    }
}

/// What the registry is told of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    /// The tenant.
    pub tenant: TenantId,
    /// The session.
    pub session_key: SessionKey,
    /// The run.
    pub run_id: RunId,
    /// Where the run is in its life.
    pub state: RunState,
    /// When that happened.
    pub occurred_at: Timestamp,
    /// When the run began.
    pub started_at: Option<Timestamp>,
    /// When the run ended.
    pub ended_at: Option<Timestamp>,
    /// The model that answered.
    pub model: Option<String>,
    /// Tokens of the last call.
    pub total_tokens: Option<u64>,
    /// The same, by what was read and written; absent in rows of an earlier version.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// Where a person's message came from.
    pub inbound_route: Option<Route>,
    /// What those who watch the session may need to know of it; absent in rows of an earlier
    /// version.
    #[serde(default)]
    pub event: Option<StateEvent>,
}

/// A line for a session that watches another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Identifies the notice: the registry's name for it.
    pub id: String,
    /// The tenant.
    pub tenant: TenantId,
    /// The session that watches.
    pub watcher: SessionKey,
    /// The session that changed.
    pub target: SessionKey,
    /// The line.
    pub text: String,
    /// Whether the watcher is woken for it.
    pub wakes: bool,
}

/// A watcher that has a notice and no run that would take it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwoken {
    /// Its oldest notice.
    pub notice_id: String,
    /// The tenant.
    pub tenant: TenantId,
    /// The watcher.
    pub watcher: SessionKey,
}
