//! The one task that writes: it puts the jobs that wait into one transaction.
//!
//! A commit costs a flush of the disk whatever is in it, so the jobs that arrive during one commit
//! share the next. Nobody waits for company: a lone job is committed at once.

use sqlx::pool::PoolConnection;
use sqlx::sqlite::{SqliteConnection, SqlitePool};
use sqlx::{Connection, Sqlite};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::error::StoreError;
use crate::failpoint::crash_point;
use crate::limits::JOBS_PER_COMMIT_MAX;
use crate::sqlite::job::Job;

pub(crate) struct Writer {
    pool: SqlitePool,
    /// Kept from batch to batch, and replaced after a batch that failed.
    connection: Option<PoolConnection<Sqlite>>,
    ports: Ports,
    before_commit: String,
    after_commit: String,
}

/// What connects the writer with the rest of the program.
pub(crate) struct Ports {
    pub(crate) queue: mpsc::Receiver<Box<dyn Job>>,
    pub(crate) commits: watch::Sender<u64>,
    pub(crate) stop: CancellationToken,
}

impl Writer {
    pub(crate) fn new(name: &str, pool: SqlitePool, ports: Ports) -> Self {
        let before_commit = format!("{name}.commit.before");
        let after_commit = format!("{name}.commit.after");
        Self {
            pool,
            connection: None,
            ports,
            before_commit,
            after_commit,
        }
    }

    /// Writes until it is asked to stop and the queue is empty.
    pub(crate) async fn run(mut self) {
        let mut jobs = Vec::with_capacity(JOBS_PER_COMMIT_MAX);
        loop {
            let Ports { queue, stop, .. } = &mut self.ports;
            let is_open = !queue.is_closed();
            tokio::select! {
                biased;
                () = stop.cancelled(), if is_open => queue.close(),
                received = queue.recv_many(&mut jobs, JOBS_PER_COMMIT_MAX) => {
                    if received == 0 {
                        return;
                    }
                    self.write(&mut jobs).await;
                },
            }
        }
    }

    /// Answers only after the transaction has ended, one way or the other.
    async fn write(&mut self, jobs: &mut Vec<Box<dyn Job>>) {
        let transaction = self.write_together(jobs).await;
        if transaction.is_err() {
            self.drop_connection().await;
        }
        for job in jobs.drain(..) {
            job.answer(&transaction);
        }
    }

    /// After a failed batch nobody knows for certain what state the connection is in, and closing
    /// it undoes whatever is left of the transaction.
    async fn drop_connection(&mut self) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        if let Err(error) = connection.close().await {
            tracing::warn!(%error, "the connection of a failed write did not close cleanly");
        }
    }

    async fn write_together(&mut self, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            vacant @ None => vacant.insert(self.pool.acquire().await?),
        };
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        let something_written = match jobs {
            [lone] => lone.run(&mut transaction).await,
            many => run_each(many, &mut transaction).await?,
        };
        if !something_written {
            return Ok(transaction.rollback().await?);
        }
        crash_point(&self.before_commit);
        transaction.commit().await?;
        crash_point(&self.after_commit);
        self.ports
            .commits
            .send_modify(|count| *count = count.saturating_add(1));
        Ok(())
    }
}

/// Runs each job in a savepoint of its own and undoes those that fail. Answers whether any
/// succeeded. A savepoint that cannot be ended means that the database has dropped the whole
/// transaction (a full disk does that), so it fails the whole batch.
async fn run_each(
    jobs: &mut [Box<dyn Job>],
    transaction: &mut SqliteConnection,
) -> Result<bool, StoreError> {
    let mut something_written = false;
    for job in jobs {
        let mut savepoint = transaction.begin().await?;
        if job.run(&mut savepoint).await {
            savepoint.commit().await?;
            something_written = true;
        } else {
            savepoint.rollback().await?;
        }
    }
    Ok(something_written)
}
