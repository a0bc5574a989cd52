//! Waiting until a session's fence is lifted.

use std::time::Duration;

use confab_rpc::error::RpcError;
use tokio::time::Instant;

use crate::context::Context;
use crate::store::{QueuedSession, RunnerStore};

/// How often somebody who waits looks at the store although nothing woke them.
const NET: Duration = Duration::from_secs(1);

/// Waits until no change of a session is under way, the deadline, or the process stops.
///
/// # Errors
/// When the store fails.
pub(crate) async fn until_open<S: RunnerStore>(
    context: &Context<S>,
    session: &QueuedSession,
    deadline: Instant,
) -> Result<(), RpcError> {
    let mut watcher = context.wakeups.watch_session(session);
    loop {
        let fence = context.store.fence_of(session).await;
        let open = fence.map_err(RpcError::internal)?.is_none();
        if open || context.stop.is_cancelled() || Instant::now() >= deadline {
            return Ok(());
        }
        tokio::select! {
            () = watcher.notified() => {},
            () = tokio::time::sleep_until(deadline.min(Instant::now() + NET)) => {},
            () = context.stop.cancelled() => {},
        }
    }
}
