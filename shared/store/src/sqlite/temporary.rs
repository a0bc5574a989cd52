//! Databases that go away with their test.

use std::ops::Deref;
use std::path::Path;

use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::sqlite::{Database, Migration, OpenError};

/// A database in a directory of its own, which is removed when this value is dropped. It is a real
/// file with the settings of production, because an in-memory database has neither a write-ahead
/// log nor readers beside the writer.
#[derive(Debug)]
pub struct TemporaryDatabase {
    database: Database,
    directory: TempDir,
}

impl Database {
    /// A fresh database for a test, with the `migrations` applied.
    ///
    /// # Errors
    /// As [`Database::open`].
    pub async fn temporary(migrations: &[Migration]) -> Result<TemporaryDatabase, OpenError> {
        let directory = tempfile::tempdir().map_err(|source| OpenError::File {
            path: std::env::temp_dir(),
            source,
        })?;
        let path = directory.path().join("test.db");
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let database = Self::open(&path, migrations, &tracker, &stop).await?;
        Ok(TemporaryDatabase {
            database,
            directory,
        })
    }
}

impl TemporaryDatabase {
    /// The directory, for a test that closes the database and opens it again.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }
}

impl Deref for TemporaryDatabase {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.database
    }
}
