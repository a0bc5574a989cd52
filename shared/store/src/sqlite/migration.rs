//! The steps that lead an older database to this version's schema.

use std::io;
use std::path::{Path, PathBuf};

use sqlx::SqlSafeStr;
use sqlx::migrate::{MigrateError, MigrationType, Migrator};
use sqlx::sqlite::SqlitePool;

use crate::error::StoreError;

/// One step of the schema. Steps are only ever added: a database remembers the text of each step it
/// has taken and refuses a program in which it reads differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    /// Its place in the order, from 1.
    pub version: i64,
    /// What it is for.
    pub description: &'static str,
    /// Its statements, usually `include_str!` of a file. They run in one transaction.
    pub sql: &'static str,
}

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory or a file cannot be made or made private.
    #[error("cannot prepare {path}: check that its directory may be written by this user")]
    File {
        /// The database file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },

    /// The file is there and empty, though nobody was making it.
    #[error(
        "{path} is empty, and it was a database once: put a backup in its place, or remove the file \
         (with its -wal and -shm) to begin with nothing"
    )]
    Emptied {
        /// The database file.
        path: PathBuf,
    },

    /// The file is there and is no usable database.
    #[error("cannot open {path}: check that it is a database of this service and may be written")]
    Open {
        /// The database file.
        path: PathBuf,
        /// What the database said.
        source: StoreError,
    },

    /// The database has taken a step that this program does not know.
    #[error(
        "{path} was written by a later version of the program (its schema has step {version}): run \
         that version, or restore a backup of this one"
    )]
    WrittenByLaterVersion {
        /// The database file.
        path: PathBuf,
        /// The unknown step.
        version: i64,
    },

    /// A step reads differently from when it was taken.
    #[error(
        "step {version} of the schema of {path} was taken with another text than this program has: \
         steps are never changed, so put the old text back and add a new step"
    )]
    MigrationChanged {
        /// The database file.
        path: PathBuf,
        /// The changed step.
        version: i64,
    },

    /// A step could not be taken.
    #[error("cannot bring {path} to the schema of this version")]
    Migrate {
        /// The database file.
        path: PathBuf,
        /// What the driver said.
        source: Box<MigrateError>,
    },
}

impl OpenError {
    pub(crate) fn open(path: &Path, error: sqlx::Error) -> Self {
        Self::Open {
            path: path.to_owned(),
            source: error.into(),
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the driver may add errors at any time"
    )]
    fn migrate(path: &Path, error: MigrateError) -> Self {
        let path = path.to_owned();
        match error {
            MigrateError::VersionMissing(version) => Self::WrittenByLaterVersion { path, version },
            MigrateError::VersionMismatch(version) => Self::MigrationChanged { path, version },
            other => Self::Migrate {
                path,
                source: Box::new(other),
            },
        }
    }
}

/// Takes the steps that the database lacks.
pub(crate) async fn apply(
    path: &Path,
    migrations: &[Migration],
    pool: &SqlitePool,
) -> Result<(), OpenError> {
    let steps = migrations.iter().map(to_driver).collect();
    let migrator = Migrator::with_migrations(steps);
    migrator
        .run(pool)
        .await
        .map_err(|error| OpenError::migrate(path, error))
}

fn to_driver(migration: &Migration) -> sqlx::migrate::Migration {
    let runs_outside_transaction = false;
    sqlx::migrate::Migration::new(
        migration.version,
        migration.description.into(),
        MigrationType::Simple,
        migration.sql.into_sql_str(),
        runs_outside_transaction,
    )
}
