//! What is done now and then: what waited too long is given up, what is old enough is forgotten,
//! sessions whose time is over are swept.

use std::sync::Arc;
use std::time::Duration;

use confab_store::StoreError;

use crate::context::Context;
use crate::execute;
use crate::lifecycle::sweep::Sweeps;
use crate::store::RunnerStore;

/// How often.
const PAUSE: Duration = Duration::from_mins(1);
/// Most runs given up at a time.
const BATCH: u32 = 256;
const SECOND_MILLIS: i64 = 1000;

/// Tidies up until the process stops.
pub async fn serve<S: RunnerStore>(context: Arc<Context<S>>) {
    let sweeps = Sweeps::new(Arc::clone(&context));
    loop {
        tokio::select! {
            () = context.stop.cancelled() => return,
            () = tokio::time::sleep(PAUSE) => {},
        }
        if let Err(error) = once(&context).await {
            tracing::warn!(%error, "tidying up failed; trying again later");
        }
        sweeps.maintain().await;
    }
}

/// Ends runs that waited in the queue for too long (D78), and forgets idempotency keys that are old
/// enough (D36).
///
/// # Errors
/// When the store fails.
pub async fn once<S: RunnerStore>(context: &Arc<Context<S>>) -> Result<(), StoreError> {
    let now = context.now();
    context.store.forget_keys(now).await?;
    let age = context.settings().runs.queue_age_seconds;
    let before = now.plus_millis(-i64::from(age).saturating_mul(SECOND_MILLIS));
    for stored in context.store.overdue(before, BATCH).await? {
        let message = format!(
            "the run waited in the queue for more than {age} seconds (confab.runs.queueAgeSeconds)"
        );
        execute::interrupt(Arc::clone(context), stored, "queue_expired", message).await;
    }
    Ok(())
}
