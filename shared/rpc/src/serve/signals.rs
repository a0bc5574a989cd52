//! The signals that stop a server.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Cancels `stop` at the first SIGTERM or SIGINT. The task ends with `stop`.
///
/// # Errors
/// When the system lets nobody listen to signals.
pub fn stop_on_signals(tasks: &TaskTracker, stop: CancellationToken) -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tasks.spawn(async move {
        tokio::select! {
            _ = terminate.recv() => stop.cancel(),
            _ = interrupt.recv() => stop.cancel(),
            () = stop.cancelled() => {},
        }
    });
    Ok(())
}
