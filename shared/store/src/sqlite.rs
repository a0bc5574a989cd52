//! A service's database in one file of the embedded engine: one writer that groups commits, a pool of readers.
//!
//! Source: D47, B069.

mod creation;
mod job;
mod migration;
#[cfg(any(test, feature = "testing"))]
mod temporary;
mod writer;

#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use sqlx::ConnectOptions;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteSynchronous,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::error::StoreError;
use crate::limits::{
    JOBS_WAITING_MAX, LOCK_WAIT, READER_WAIT, READERS_MAX, ROWS_AHEAD_MAX, STATEMENTS_KEPT_MAX,
};
use crate::private_files;
use crate::sqlite::creation::Creation;
use crate::sqlite::job::{Job, QueuedJob};
use crate::sqlite::writer::{Ports, Writer};

pub use crate::sqlite::migration::{Migration, OpenError};
#[cfg(any(test, feature = "testing"))]
pub use crate::sqlite::temporary::TemporaryDatabase;

/// A service's database. Clones share the writer and the readers.
#[derive(Clone)]
pub struct Database {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    jobs: mpsc::Sender<Box<dyn Job>>,
    writers: SqlitePool,
    readers: SqlitePool,
    commits: watch::Receiver<u64>,
    /// Asks the writer to end.
    stop: CancellationToken,
    /// Says that the writer has ended.
    stopped: CancellationToken,
}

impl Database {
    /// Opens the database file `path`, `<data>/<service>.db`, made when absent in a directory of
    /// mode 0700 with files of mode 0600 whatever the umask, and applies the `migrations` that it
    /// lacks. The writer's task belongs to `tracker`. When `stop` is cancelled the writer takes no
    /// further job, finishes those that wait and ends: so `stop` is cancelled after everything that
    /// writes has ended, or [`Database::close`] is called.
    ///
    /// The caller holds the service's [`OwnerLock`](crate::lock::OwnerLock).
    ///
    /// # Errors
    /// When the file cannot be made or opened, is no database or was emptied, was written by a later version of
    /// the program, or a migration was changed after it had been applied.
    pub async fn open(
        path: &Path,
        migrations: &[Migration],
        tracker: &TaskTracker,
        stop: &CancellationToken,
    ) -> Result<Self, OpenError> {
        let creation = Creation::begin(path)?;
        tighten_side_files(path).map_err(|source| OpenError::File {
            path: path.to_owned(),
            source,
        })?;

        let writers = open_writers(path)
            .await
            .map_err(|error| OpenError::open(path, error))?;
        migration::apply(path, migrations, &writers).await?;
        creation.end()?;
        let readers = open_readers(path)
            .await
            .map_err(|error| OpenError::open(path, error))?;

        let (jobs, queue) = mpsc::channel(JOBS_WAITING_MAX);
        let (commit_count, commits) = watch::channel(0);
        let stop = stop.child_token();
        let stopped = CancellationToken::new();
        let ports = Ports {
            queue,
            commits: commit_count,
            stop: stop.clone(),
        };
        let writer = Writer::new(&name_of(path), writers.clone(), ports);
        let ended = stopped.clone().drop_guard();
        tracker.spawn(async move {
            writer.run().await;
            drop(ended);
        });
        tracing::info!(database = %path.display(), "database opened");
        let path = path.to_owned();
        let shared = Shared {
            path,
            jobs,
            writers,
            readers,
            commits,
            stop,
            stopped,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// The connections for reading. A statement here sees every write that was answered before it
    /// began; several statements that must see the same state belong in one transaction.
    pub fn reader(&self) -> &SqlitePool {
        &self.shared.readers
    }

    /// Runs `job` in a transaction and answers after its commit. Jobs that wait at the same time
    /// share one commit, yet each stands or falls alone: what a failed job wrote is undone, and its
    /// neighbours keep theirs. A job runs whole even when its caller has gone away. An idle writer
    /// commits a lone job at once.
    ///
    /// A job holds nothing but statements on the connection it is given: it waits for nothing else,
    /// because the other jobs wait for it, and neither begins with `BEGIN` nor ends with `COMMIT`.
    ///
    /// # Errors
    /// The job's own error, or a [`StoreError`] when its transaction could not begin or commit, the
    /// job panicked ([`StoreError::Panicked`]) or the database is closed ([`StoreError::Closed`]);
    /// then nothing of the job was kept.
    pub async fn write<T, E, J>(&self, job: J) -> Result<T, E>
    where
        J: for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.write_then(job, |_| ()).await
    }

    /// Like [`Database::write`]; and after the commit the writer itself calls `committed` with the
    /// result, even when the caller has gone away. This is the place to wake whoever waits for the
    /// change. `committed` is short and does not block, because the writer waits for it.
    ///
    /// # Errors
    /// As [`Database::write`]; `committed` is not called then.
    pub async fn write_then<T, E, J, C>(&self, job: J, committed: C) -> Result<T, E>
    where
        J: for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, E>> + Send + 'static,
        C: FnOnce(&T) + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let queued = Box::new(QueuedJob::new(job, committed, reply));
        if self.shared.jobs.send(queued).await.is_err() {
            return Err(StoreError::Closed.into());
        }
        answer
            .await
            .unwrap_or_else(|_| Err(StoreError::Closed.into()))
    }

    /// The number of commits so far. A waiter is woken by each one, without polling.
    pub fn commits(&self) -> watch::Receiver<u64> {
        self.shared.commits.clone()
    }

    /// Whether the database can be read.
    ///
    /// # Errors
    /// When it cannot, as it would fail any other statement.
    pub async fn answers(&self) -> Result<(), StoreError> {
        sqlx::query("SELECT 1").fetch_one(self.reader()).await?;
        Ok(())
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Refuses further jobs, finishes those that wait, and closes every connection, which also
    /// folds the write-ahead log into the file. Returns when that is done; a second call finds it
    /// done.
    pub async fn close(&self) {
        self.shared.stop.cancel();
        self.shared.stopped.cancelled().await;
        // The last connection to go folds the log, and only the writer's may write.
        self.shared.readers.close().await;
        self.shared.writers.close().await;
        tracing::info!(database = %self.shared.path.display(), "database closed");
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Database")
            .field("path", &self.shared.path)
            .finish_non_exhaustive()
    }
}

/// The engine gives the log and its index the mode of the database file, where it makes them.
fn tighten_side_files(path: &Path) -> io::Result<()> {
    for suffix in ["-wal", "-shm"] {
        let mut side = path.as_os_str().to_owned();
        side.push(suffix);
        private_files::tighten_file(Path::new(&side))?;
    }
    Ok(())
}

/// The service's name in crash points: the file's name without its extension.
fn name_of(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

async fn open_writers(path: &Path) -> Result<SqlitePool, sqlx::Error> {
    let options = connect_options(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        // After a burst the log shrinks to this size at its next restart: 64 MiB.
        .pragma("journal_size_limit", "67108864");
    pool_options()
        .max_connections(1)
        .connect_with(options)
        .await
}

async fn open_readers(path: &Path) -> Result<SqlitePool, sqlx::Error> {
    let options = connect_options(path)
        .read_only(true)
        .row_buffer_size(ROWS_AHEAD_MAX);
    pool_options()
        .max_connections(READERS_MAX)
        .connect_with(options)
        .await
}

/// A local file's connections do not age, and a returned one is tested by the pool, so they are
/// neither replaced nor tested when they are taken.
fn pool_options() -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .acquire_timeout(READER_WAIT)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
}

fn connect_options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .busy_timeout(LOCK_WAIT)
        .statement_cache_capacity(STATEMENTS_KEPT_MAX)
        // A temporary file would be one more place where messages lie.
        .pragma("temp_store", "memory")
        // Negative means KiB: 16 MiB a connection.
        .pragma("cache_size", "-16384")
        // 256 MiB of the file are read without copying.
        .pragma("mmap_size", "268435456")
        // Statements are the program's own; the traces of the callers tell how long they took.
        .disable_statement_logging()
}
