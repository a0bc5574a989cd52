//! Waiting for runs and flows: a row's state and a signal, no polling.
//!
//! A wait ends on the stored outcome. The run's own signal is raised when its outcome and its reply
//! are both durable; a slow look at the store is the net under lost signals.

use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use confab_model::flow::{Flow, FlowState};
use confab_model::id::{FlowId, RunId, TenantId};
use confab_rpc::error::RpcError;
use confab_store::StoreError;
use confab_store::signal::Watcher;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::context::Context;
use crate::store::{FlowDetail, RunnerStore, StoredRun};

/// How often a waiting call looks at the store although nothing woke it.
const NET: Duration = Duration::from_secs(5);

/// What a wait found.
#[derive(Clone, Debug)]
pub struct Waited<T> {
    /// The record, as it was when the wait ended.
    pub record: T,
    /// Whether the time was over first, or the process stopped.
    pub timed_out: bool,
}

/// Waits for runs and flows.
#[derive(Debug)]
pub struct Waits<S> {
    context: Arc<Context<S>>,
}

impl<S: RunnerStore> Waits<S> {
    /// Over the runner's context.
    pub const fn new(context: Arc<Context<S>>) -> Self {
        Self { context }
    }

    /// Waits until a run has ended and its reply is in the transcript, or until `stop`. On expiry
    /// the record is read once more (D28). `None` where there is no such run.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn run(
        &self,
        tenant: &TenantId,
        run: &RunId,
        timeout: Duration,
        stop: &CancellationToken,
    ) -> Result<Option<Waited<StoredRun>>, RpcError> {
        let context = &self.context;
        let watcher = context.wakeups.watch_run(run);
        let look = || async {
            let stored = context.store.run(tenant, run).await?;
            let unfinished = context.wakeups.is_unfinished(run);
            Ok(stored.map(|stored| {
                let ended = stored.run.state.is_ended() && !unfinished;
                (stored, ended)
            }))
        };
        until(timeout, stop, watcher, look).await
    }

    /// Waits until a flow is done. `None` where there is no such flow.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn flow(
        &self,
        tenant: &TenantId,
        flow: &FlowId,
        timeout: Duration,
    ) -> Result<Option<Waited<FlowDetail>>, RpcError> {
        let context = &self.context;
        let watcher = context.wakeups.watch_flow(flow);
        // Its runs and deliveries hold whole texts: they are read once, when the wait has ended.
        let look = || async {
            let record = context.store.flow(tenant, flow).await?;
            Ok(record.map(|record| {
                let done = self.is_done(&record);
                (record, done)
            }))
        };
        let waited = until(timeout, &context.stop, watcher, look).await?;
        let Some(Waited { timed_out, .. }) = waited else {
            return Ok(None);
        };
        let detail = context.store.flow_detail(tenant, flow).await;
        Ok(detail.map_err(RpcError::internal)?.map(|record| Waited {
            // It can have been done since the last look.
            timed_out: timed_out && !self.is_done(&record.flow),
            record,
        }))
    }

    fn is_done(&self, flow: &Flow) -> bool {
        flow.state == FlowState::Done && !self.context.wakeups.is_flow_unfinished(&flow.id)
    }
}

/// Looks, and looks again after each wake-up, until the record is over or the time is. A process
/// that stops waits for nothing more: who waits learns what is known by then.
async fn until<T, K, L, F>(
    timeout: Duration,
    stop: &CancellationToken,
    mut watcher: Watcher<K>,
    look: L,
) -> Result<Option<Waited<T>>, RpcError>
where
    K: Eq + Hash,
    L: Fn() -> F,
    F: Future<Output = Result<Option<(T, bool)>, StoreError>>,
{
    let deadline = Instant::now() + timeout;
    loop {
        let last_look = stop.is_cancelled() || Instant::now() >= deadline;
        let Some((record, over)) = look().await.map_err(RpcError::internal)? else {
            return Ok(None);
        };
        if over || last_look {
            return Ok(Some(Waited {
                record,
                timed_out: !over,
            }));
        }
        let net = deadline.min(Instant::now() + NET);
        tokio::select! {
            () = watcher.notified() => {},
            () = tokio::time::sleep_until(net) => {},
            () = stop.cancelled() => {},
        }
    }
}
