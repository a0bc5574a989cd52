//! Following the appends, so that the first search after a great many of them need not catch up with
//! all.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::Messages;
use crate::store::TranscriptStore;
use crate::store::search::SearchStore;

/// Keeps the index less than a piece behind, until `stop`: looks at it after every commit, and
/// whenever other settings come into force. Its own last commit finds nothing left to do.
pub async fn follow<S: TranscriptStore + SearchStore>(
    messages: Arc<Messages<S>>,
    mut commits: watch::Receiver<u64>,
    stop: CancellationToken,
) {
    let mut settings = messages.settings.subscribe();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            caught_up = messages.catch_up_far() => {
                if let Err(error) = caught_up {
                    let cause = error.source_chain();
                    tracing::warn!(cause, "the search index falls behind; searches catch it up");
                }
            },
        }
        let changed = tokio::select! {
            () = stop.cancelled() => return,
            changed = commits.changed() => changed,
            changed = settings.changed() => changed,
        };
        if changed.is_err() {
            // The database is closed.
            return;
        }
    }
}
