//! What the runner keeps, and the trait behind which it is kept.
//!
//! Every mutating method is one transaction that begins and ends inside it. Whatever follows from
//! an event (the journal's entry, the next run, a delivery, the record that people see) commits
//! with the event, so a crash finds either all of it or none.

#[cfg(test)]
pub(crate) mod conformance;
pub mod fences;
pub mod records;
pub mod sqlite;

use std::future::Future;

use confab_model::clock::Timestamp;
use confab_model::delivery::{Delivery, DeliveryState};
use confab_model::flow::Flow;
use confab_model::id::{DeliveryId, FlowId, IdempotencyKey, RunId, SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::run::{Outcome, Run, RunState};
use confab_store::StoreError;
use serde::{Deserialize, Serialize};

pub use fences::{Fence, FenceError, Fenced, Lift, LiveWork, NewFence, Stage, Standing};
pub use records::{
    Activity, Claimed, FirstUse, FlowDetail, KeyUse, Lease, NewFlow, Notice, OpenError, Opened,
    QueuedSession, RunResult, StoredRun, ToolTrace, Unwoken, UsedKey,
};

/// Where a list of runs, flows or deliveries goes on: the last row shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordCursor {
    /// When the last row was made.
    pub created_at: i64,
    /// Its identifier.
    pub id: String,
}

impl From<&Run> for RecordCursor {
    fn from(run: &Run) -> Self {
        Self {
            created_at: run.created_at.millis(),
            id: run.id.to_string(),
        }
    }
}

impl From<&Flow> for RecordCursor {
    fn from(flow: &Flow) -> Self {
        Self {
            created_at: flow.created_at.millis(),
            id: flow.id.to_string(),
        }
    }
}

impl From<&FlowDetail> for RecordCursor {
    fn from(detail: &FlowDetail) -> Self {
        Self::from(&detail.flow)
    }
}

impl From<&Delivery> for RecordCursor {
    fn from(delivery: &Delivery) -> Self {
        Self {
            created_at: delivery.created_at.millis(),
            id: delivery.id.to_string(),
        }
    }
}

/// One page of a list.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// Newest first.
    pub rows: Vec<T>,
    /// Where the next page begins; absent on the last one.
    pub next: Option<RecordCursor>,
}

/// Which page of a list.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// Most rows, from 1.
    pub limit: u32,
    /// Where the last page ended.
    pub after: Option<RecordCursor>,
}

/// Which deliveries to list.
#[derive(Clone, Debug, Default)]
pub struct DeliveryFilter {
    /// Only these states; empty: all.
    pub states: Vec<DeliveryState>,
    /// Only this channel.
    pub channel: Option<String>,
}

/// The runner's store.
pub trait RunnerStore: Clone + Send + Sync + 'static {
    /// Accepts a flow: its idempotency key, its record, its journal's first entry and its first
    /// run. A key that was used for the same content answers what it answered then (D36, D66).
    fn open_flow(&self, flow: NewFlow) -> impl Future<Output = Result<Opened, OpenError>> + Send;

    /// What a caller's idempotency key was used for, if it is still remembered.
    fn used_key(
        &self,
        tenant: &TenantId,
        owner: &str,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> impl Future<Output = Result<Option<UsedKey>, StoreError>> + Send;

    /// Gives each of these sessions its next queued run, where it has one and holds none: people's
    /// messages first, then in order of acceptance (D50). A run that begins for the first time takes
    /// all notices that wait for its session; a repeated attempt keeps exactly its own (D57).
    fn claim(
        &self,
        sessions: Vec<QueuedSession>,
        lease: Lease,
    ) -> impl Future<Output = Result<Vec<Claimed>, StoreError>> + Send;

    /// Ends a run and lets its flow go on; false where the lease was lost and nothing was written.
    fn end_run(
        &self,
        run: &RunId,
        lease_epoch: i64,
        result: RunResult,
        now: Timestamp,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Frees the session that an ended run holds.
    fn release_session(
        &self,
        run: &RunId,
        lease_epoch: i64,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Keeps the leases of these runs until then.
    fn renew_leases(
        &self,
        runs: Vec<(RunId, i64)>,
        until: Timestamp,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Puts running runs back into the queue: all of them, or those whose lease ended before a
    /// moment. A run begun `attempts_max` times is not put back but returned, to be ended.
    fn requeue(
        &self,
        lease_ended_before: Option<Timestamp>,
        attempts_max: u32,
    ) -> impl Future<Output = Result<Vec<StoredRun>, StoreError>> + Send;

    /// Queued runs that were accepted before a moment, the oldest first.
    fn overdue(
        &self,
        accepted_before: Timestamp,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<StoredRun>, StoreError>> + Send;

    /// Notes which generation of its session a flow's own run found, and the session's own model;
    /// what was noted first stands.
    fn bind_session(
        &self,
        run: &RunId,
        session_id: &SessionId,
        model: Option<&str>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Lets a run hit the first of these script rules that is not used up, and remembers it: the
    /// same run asked again gets the same rule. Each rule comes with how often it may be hit.
    fn hit_rule(
        &self,
        run: &RunId,
        rules: Vec<(u32, Option<u32>)>,
    ) -> impl Future<Output = Result<Option<u32>, StoreError>> + Send;

    /// Reads a run.
    fn run(
        &self,
        tenant: &TenantId,
        run: &RunId,
    ) -> impl Future<Output = Result<Option<StoredRun>, StoreError>> + Send;

    /// Lists runs, newest first.
    fn runs(
        &self,
        tenant: &TenantId,
        session: Option<&SessionKey>,
        states: &[RunState],
        page: &PageRequest,
    ) -> impl Future<Output = Result<Page<StoredRun>, StoreError>> + Send;

    /// Runs that have ended but still hold their session.
    fn unfinished(&self) -> impl Future<Output = Result<Vec<StoredRun>, StoreError>> + Send;

    /// Sessions with queued runs.
    fn queued_sessions(
        &self,
    ) -> impl Future<Output = Result<Vec<QueuedSession>, StoreError>> + Send;

    /// Reads a flow's record.
    fn flow(
        &self,
        tenant: &TenantId,
        flow: &FlowId,
    ) -> impl Future<Output = Result<Option<Flow>, StoreError>> + Send;

    /// Reads the records of several flows; those that do not exist are left out.
    fn flow_records(
        &self,
        tenant: &TenantId,
        flows: &[FlowId],
    ) -> impl Future<Output = Result<Vec<Flow>, StoreError>> + Send;

    /// Reads a flow with its runs and deliveries.
    fn flow_detail(
        &self,
        tenant: &TenantId,
        flow: &FlowId,
    ) -> impl Future<Output = Result<Option<FlowDetail>, StoreError>> + Send;

    /// Lists flows, newest first; of one session as requester or target, or all.
    fn flows(
        &self,
        tenant: &TenantId,
        session: Option<&SessionKey>,
        page: &PageRequest,
    ) -> impl Future<Output = Result<Page<FlowDetail>, StoreError>> + Send;

    /// Lists deliveries, newest first.
    fn deliveries(
        &self,
        tenant: &TenantId,
        filter: &DeliveryFilter,
        page: &PageRequest,
    ) -> impl Future<Output = Result<Page<Delivery>, StoreError>> + Send;

    /// Deliveries whose next attempt is due, oldest first, each with its tenant.
    fn due_deliveries(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<(TenantId, Delivery)>, StoreError>> + Send;

    /// Records that an attempt begins; `None` where the delivery is not pending.
    fn begin_attempt(
        &self,
        delivery: &DeliveryId,
        now: Timestamp,
    ) -> impl Future<Output = Result<Option<Delivery>, StoreError>> + Send;

    /// Leaves a pending delivery alone until the next start, until [`Self::unpark`], or until
    /// somebody takes it.
    fn park_delivery(
        &self,
        delivery: &DeliveryId,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Makes every delivery due that was left alone.
    fn unpark(&self, now: Timestamp) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Ends a delivery and lets its flow go on.
    fn settle_delivery(
        &self,
        delivery: &DeliveryId,
        state: DeliveryState,
        error: Option<String>,
        now: Timestamp,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Makes every delivery due whose attempt was cut off, or that was left alone.
    fn reset_attempts(&self, now: Timestamp)
    -> impl Future<Output = Result<(), StoreError>> + Send;

    /// What the registry must still be told, in order.
    fn activity(
        &self,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<(i64, Activity)>, StoreError>> + Send;

    /// Forgets what the registry has been told, up to this place.
    fn forget_activity(&self, up_to: i64) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Keeps a notice until a run takes it, in place of an older one that waits about the same
    /// session. Of one that is known only the wording can be new, and only while it waits (D57).
    fn keep_notice(&self, notice: Notice) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Watchers to be woken: they have a notice that wakes, and no queued run that will take it.
    fn unwoken(&self, limit: u32) -> impl Future<Output = Result<Vec<Unwoken>, StoreError>> + Send;

    /// Accepts the flow that wakes a watcher, like [`Self::open_flow`]; `None` where a run has the
    /// notice by now or will take it.
    fn wake(
        &self,
        notice_id: &str,
        flow: NewFlow,
    ) -> impl Future<Output = Result<Option<Opened>, OpenError>> + Send;

    /// Leaves a notice to the watcher's next run, whatever starts it.
    fn let_wait(&self, notice_id: &str) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Notices that are part of a run and that the registry must still be told of, oldest first.
    fn unacknowledged(
        &self,
        limit: u32,
    ) -> impl Future<Output = Result<Vec<String>, StoreError>> + Send;

    /// The registry has been told of these notices.
    fn acknowledged(
        &self,
        notice_ids: Vec<String>,
        now: Timestamp,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Fences a session for a lifecycle change: from here on nothing of it is claimed or accepted.
    /// Refused while another change is under way, after a change that the caller has not seen, and
    /// while there is live work that the change must wait for.
    fn fence(&self, fence: NewFence) -> impl Future<Output = Result<Fenced, FenceError>> + Send;

    /// Notes that the registry is about to be asked to commit a change.
    fn begin_commit(
        &self,
        session: &QueuedSession,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Lifts a fence. The session's epoch and the answer to a repeated call commit with it.
    fn lift(
        &self,
        session: &QueuedSession,
        lift: Lift,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Every fence.
    fn fences(&self) -> impl Future<Output = Result<Vec<Fence>, StoreError>> + Send;

    /// The fence of a session.
    fn fence_of(
        &self,
        session: &QueuedSession,
    ) -> impl Future<Output = Result<Option<Fence>, StoreError>> + Send;

    /// A session's queued runs, and the one that holds it, ended or not.
    fn live_runs(
        &self,
        session: &QueuedSession,
    ) -> impl Future<Output = Result<Vec<StoredRun>, StoreError>> + Send;

    /// Forgets idempotency keys that are old enough.
    fn forget_keys(&self, now: Timestamp) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// What a run's outcome makes of its record.
pub fn apply_outcome(run: &mut Run, outcome: &Outcome) {
    run.state = outcome.state();
    match outcome {
        Outcome::Replied { text, model, usage } => {
            run.reply = Some(text.clone());
            if model.is_some() {
                run.model.clone_from(model);
            }
            run.usage = *usage;
        },
        Outcome::Failed { error, .. } => run.error = Some(error.clone()),
    }
}
