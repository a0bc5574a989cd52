//! A piece of work for the writer, and how it is answered.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use futures::future::BoxFuture;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::oneshot;

use crate::error::StoreError;

/// A job as the writer sees it: it is run once, and answered once its transaction has ended.
pub(crate) trait Job: Send {
    /// Runs the job and keeps its result. Answers whether it succeeded, so that what it wrote may
    /// stay. A panic is a failure.
    fn run<'c>(&'c mut self, connection: &'c mut SqliteConnection) -> BoxFuture<'c, bool>;

    /// Tells the caller how the job ended, given how the transaction ended.
    fn answer(self: Box<Self>, transaction: &Result<(), StoreError>);
}

/// A job of one type, on its way through the queue.
pub(crate) struct QueuedJob<T, E, J, C> {
    work: Option<J>,
    result: Option<Result<T, E>>,
    committed: C,
    reply: oneshot::Sender<Result<T, E>>,
}

impl<T, E, J, C> QueuedJob<T, E, J, C> {
    pub(crate) const fn new(work: J, committed: C, reply: oneshot::Sender<Result<T, E>>) -> Self {
        Self {
            work: Some(work),
            result: None,
            committed,
            reply,
        }
    }
}

impl<T, E, J, C> Job for QueuedJob<T, E, J, C>
where
    J: for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, E>> + Send,
    C: FnOnce(&T) + Send,
    T: Send,
    E: From<StoreError> + Send,
{
    fn run<'c>(&'c mut self, connection: &'c mut SqliteConnection) -> BoxFuture<'c, bool> {
        Box::pin(async move {
            let Some(work) = self.work.take() else {
                return false;
            };
            // Whatever a panic leaves half done is undone with the transaction.
            let run = AssertUnwindSafe(async { work(connection).await })
                .catch_unwind()
                .await;
            let result = run.unwrap_or_else(|_| Err(StoreError::Panicked.into()));
            let succeeded = result.is_ok();
            self.result = Some(result);
            succeeded
        })
    }

    fn answer(self: Box<Self>, transaction: &Result<(), StoreError>) {
        let answer = match (self.result, transaction) {
            (Some(Ok(value)), Ok(())) => {
                announce(self.committed, &value);
                Ok(value)
            },
            (Some(Err(own)), _) => Err(own),
            (Some(Ok(_)) | None, Err(error)) => Err(error.clone().into()),
            (None, Ok(())) => Err(StoreError::Closed.into()),
        };
        if self.reply.send(answer).is_err() {
            tracing::debug!("the caller of a write went away before its answer");
        }
    }
}

/// The commit stands whatever the listener does, so its panic is reported and goes no further.
fn announce<T>(committed: impl FnOnce(&T), value: &T) {
    if std::panic::catch_unwind(AssertUnwindSafe(|| committed(value))).is_err() {
        tracing::error!("the listener of a commit panicked");
    }
}
