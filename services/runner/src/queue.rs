//! The queue's loop: whenever a session may have something to do, its next run is claimed and
//! carried out. And the life of leases: kept while a run is at work, recovered when one was lost.

use std::sync::Arc;
use std::time::Duration;

use confab_model::limits::RUNS_ACTIVE_MAX;
use confab_store::StoreError;

use crate::context::Context;
use crate::driver::Drivers;
use crate::execute;
use crate::lifecycle;
use crate::store::{Claimed, Lease, QueuedSession, RunnerStore};

/// Most sessions that one claim looks at.
const SESSIONS_PER_CLAIM: usize = 256;
/// The pause after a claim that failed.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(200);
const SECOND_MILLIS: i64 = 1000;

/// Settles what an earlier life of the process left, before anything new is accepted.
///
/// The process owns its database alone, so whatever is marked as running has no owner (D70): it is
/// put back into the queue, since every driver here may repeat a run (D48). A run that has ended but
/// holds its session still owes its reply to the transcript. A change of a session's life that was
/// under way is undone, or gone through with.
///
/// # Errors
/// When the store fails.
pub async fn recover<S: RunnerStore>(context: &Arc<Context<S>>) -> Result<(), StoreError> {
    let store = &context.store;
    // In this order: a write of the earlier life that comes through late is seen by what is read
    // after the leases were taken from it, or finds its lease lost.
    let spent = store
        .requeue(None, context.settings().runs.attempts_max)
        .await?;
    for stored in store.unfinished().await? {
        context
            .wakeups
            .run_unfinished(&stored.run.id, &stored.run.flow_id);
        context
            .tasks
            .spawn(execute::finish_ended(Arc::clone(context), stored));
    }
    for stored in spent {
        context
            .tasks
            .spawn(execute::give_up(Arc::clone(context), stored));
    }
    store.reset_attempts(context.now()).await?;
    store.forget_keys(context.now()).await?;
    lifecycle::recover(context).await?;
    for session in store.queued_sessions().await? {
        context.wakeups.queue_changed(session);
    }
    context.wakeups.activity_added();
    Ok(())
}

/// Claims and carries out runs until the process stops.
pub async fn serve<S: RunnerStore>(context: Arc<Context<S>>, drivers: Arc<Drivers>) {
    loop {
        tokio::select! {
            () = context.stop.cancelled() => return,
            () = context.wakeups.queue() => {},
        }
        while !context.stop.is_cancelled() && claim(&context, &drivers).await {}
    }
}

/// Claims what the sessions on the list have; whether there may be more.
async fn claim<S: RunnerStore>(context: &Arc<Context<S>>, drivers: &Arc<Drivers>) -> bool {
    let room = RUNS_ACTIVE_MAX
        .saturating_sub(context.runs.count())
        .min(SESSIONS_PER_CLAIM);
    let sessions = context.wakeups.take_sessions(room);
    if sessions.is_empty() {
        return false;
    }
    let now = context.now();
    let lease_millis =
        i64::from(context.settings().runs.lease_seconds).saturating_mul(SECOND_MILLIS);
    let lease = Lease {
        now,
        until: now.plus_millis(lease_millis),
    };
    match context.store.claim(sessions.clone(), lease).await {
        Ok(claimed) => carry_out(context, drivers, claimed),
        Err(error) => {
            tracing::error!(%error, "claiming runs failed; trying each session alone");
            claim_each(context, drivers, sessions, lease).await;
        },
    }
    true
}

/// Claims session by session, so that one that cannot be claimed from holds up no other.
async fn claim_each<S: RunnerStore>(
    context: &Arc<Context<S>>,
    drivers: &Arc<Drivers>,
    sessions: Vec<QueuedSession>,
    lease: Lease,
) {
    let mut failed = false;
    for session in sessions {
        match context.store.claim(vec![session.clone()], lease).await {
            Ok(claimed) => carry_out(context, drivers, claimed),
            Err(error) => {
                let key = &session.session_key;
                tracing::error!(%error, session.key = %key, "claiming failed; trying again");
                context.wakeups.queue_changed(session);
                failed = true;
            },
        }
    }
    if failed {
        tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
    }
}

fn carry_out<S: RunnerStore>(
    context: &Arc<Context<S>>,
    drivers: &Arc<Drivers>,
    claimed: Vec<Claimed>,
) {
    for run in claimed {
        let carried_out = execute::execute(Arc::clone(context), Arc::clone(drivers), run);
        context.tasks.spawn(carried_out);
    }
}

/// Keeps the leases of the runs at work, and recovers those that were lost, until the process
/// stops.
pub async fn keep_leases<S: RunnerStore>(context: Arc<Context<S>>) {
    loop {
        let runs = context.settings().runs.clone();
        let beat = Duration::from_secs(runs.heartbeat_seconds.into());
        tokio::select! {
            () = context.stop.cancelled() => return,
            () = tokio::time::sleep(beat) => {},
        }
        if let Err(error) = beat_once(&context, runs.lease_seconds, runs.attempts_max).await {
            tracing::warn!(%error, "leases could not be kept; trying again at the next heartbeat");
        }
    }
}

async fn beat_once<S: RunnerStore>(
    context: &Arc<Context<S>>,
    lease_seconds: u32,
    attempts_max: u32,
) -> Result<(), StoreError> {
    let now = context.now();
    let until = now.plus_millis(i64::from(lease_seconds).saturating_mul(SECOND_MILLIS));
    let leases = context.runs.leases();
    if !leases.is_empty() {
        context.store.renew_leases(leases, until).await?;
    }
    for stored in context.store.requeue(Some(now), attempts_max).await? {
        context
            .tasks
            .spawn(execute::give_up(Arc::clone(context), stored));
    }
    Ok(())
}
