//! Ending a session's live work, for a change that is forced (D56).

use std::collections::BTreeMap;
use std::time::Duration;

use confab_model::id::RunId;
use confab_model::run::RunState;
use confab_policy::lifecycle::Change;
use confab_rpc::error::RpcError;
use tokio::time::Instant;

use super::busy;
use crate::context::Context;
use crate::execute;
use crate::store::{QueuedSession, RunnerStore, StoredRun};
use crate::tokens::Aborted;

/// How often the session is looked at although nothing woke anybody.
const NET: Duration = Duration::from_secs(1);

/// Ends these runs of a fenced session, and waits until nothing holds it. What flows add meanwhile
/// stays queued behind the fence.
///
/// # Errors
/// When the session is not free in time; the process stops; the store fails.
pub(super) async fn until_free<S: RunnerStore>(
    context: &Context<S>,
    session: &QueuedSession,
    doomed: &[RunId],
    change: Change,
    patience: Duration,
) -> Result<(), RpcError> {
    let why = why(change);
    let mut watcher = context.wakeups.watch_session(session);
    let deadline = Instant::now() + patience;
    let mut aborted = BTreeMap::new();
    loop {
        for run in left(context, session, doomed).await? {
            end(context, run, why, &mut aborted).await;
        }
        if left(context, session, doomed).await?.is_empty() {
            return Ok(());
        }
        if context.stop.is_cancelled() || Instant::now() >= deadline {
            let more = "Its work was told to end and has not ended yet.";
            return Err(busy(session, change, more));
        }
        tokio::select! {
            () = watcher.notified() => {},
            () = tokio::time::sleep_until(deadline.min(Instant::now() + NET)) => {},
            () = context.stop.cancelled() => {},
        }
    }
}

const fn why(change: Change) -> &'static str {
    match change {
        Change::Reset => "the session was reset",
        Change::Archive => "the session was archived",
        Change::Restore => "the session was restored",
        Change::Delete => "the session was deleted",
    }
}

/// The run that holds the session, and those to be ended that have not.
async fn left<S: RunnerStore>(
    context: &Context<S>,
    session: &QueuedSession,
    doomed: &[RunId],
) -> Result<Vec<StoredRun>, RpcError> {
    let live = context.store.live_runs(session).await;
    let mut live = live.map_err(RpcError::internal)?;
    live.retain(|one| one.run.state != RunState::Queued || doomed.contains(&one.run.id));
    Ok(live)
}

/// Ends a run that waits, and tells one at work to end. One that has ended only owes its reply to
/// the transcript.
async fn end<S: RunnerStore>(
    context: &Context<S>,
    stored: StoredRun,
    why: &str,
    aborted: &mut BTreeMap<RunId, Aborted>,
) {
    match stored.run.state {
        RunState::Queued => execute::cancel(context, stored, why.to_owned()).await,
        RunState::Running | RunState::Waiting => {
            let run = &stored.run.id;
            aborted
                .entry(run.clone())
                .or_insert_with(|| context.runs.abort(run, why));
        },
        RunState::Succeeded
        | RunState::Failed
        | RunState::TimedOut
        | RunState::Cancelled
        | RunState::Killed
        | RunState::Interrupted => {},
    }
}
