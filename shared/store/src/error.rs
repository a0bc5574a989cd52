//! What can go wrong in a store, said without the words of one driver.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Why a store could not do its work. It can be cloned, because one failed commit is the answer to
/// every job in it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Somebody else holds a lock; the same call can succeed a moment later.
    #[error("the database is busy")]
    Busy {
        /// The driver's error.
        source: Arc<sqlx::Error>,
    },

    /// The database cannot be reached, read or written: no connection, no space, no permission.
    #[error("the database is unavailable")]
    Unavailable {
        /// The driver's error.
        source: Arc<sqlx::Error>,
    },

    /// A constraint of the schema refused a row.
    #[error("a {kind} constraint refused the row")]
    Constraint {
        /// Which sort of constraint.
        kind: ConstraintKind,
        /// The driver's error.
        source: Arc<sqlx::Error>,
    },

    /// What is stored cannot be understood.
    #[error("stored data cannot be understood")]
    Corrupt {
        /// What was wrong with it.
        source: Arc<dyn Error + Send + Sync>,
    },

    /// The database was closed before the job was taken.
    #[error("the database is closed")]
    Closed,

    /// The job panicked; nothing of it was kept.
    #[error("a write job panicked, and nothing of it was kept")]
    Panicked,

    /// Anything else: a fault of the program, such as a statement that does not parse.
    #[error("the database refused a statement")]
    Other {
        /// The driver's error.
        source: Arc<sqlx::Error>,
    },
}

/// The sorts of constraints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintKind {
    /// A row with this key exists.
    Unique,
    /// The row refers to one that does not exist, or is referred to.
    ForeignKey,
    /// A column that must have a value has none.
    NotNull,
    /// A condition of the schema does not hold.
    Check,
}

impl fmt::Display for ConstraintKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Unique => "unique",
            Self::ForeignKey => "foreign key",
            Self::NotNull => "not null",
            Self::Check => "check",
        })
    }
}

impl StoreError {
    /// A stored value that its reader cannot understand, such as a packed column that does not
    /// decode.
    pub fn corrupt(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Corrupt {
            source: Arc::from(source.into()),
        }
    }

    /// Whether a row with the same key exists.
    pub const fn is_unique_violation(&self) -> bool {
        matches!(
            self,
            Self::Constraint {
                kind: ConstraintKind::Unique,
                ..
            }
        )
    }

    /// Whether the same call can succeed later without any change to it.
    pub const fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::Busy { .. } | Self::Unavailable { .. } | Self::Closed
        )
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        translate(error)
    }
}

/// The one place that knows the driver's errors.
fn translate(error: sqlx::Error) -> StoreError {
    let cause = cause_of(&error);
    let source = Arc::new(error);
    match cause {
        Cause::Busy => StoreError::Busy { source },
        Cause::Unavailable => StoreError::Unavailable { source },
        Cause::Constraint(kind) => StoreError::Constraint { kind, source },
        Cause::Corrupt => StoreError::Corrupt { source },
        Cause::Closed => StoreError::Closed,
        Cause::Other => StoreError::Other { source },
    }
}

enum Cause {
    Busy,
    Unavailable,
    Constraint(ConstraintKind),
    Corrupt,
    Closed,
    Other,
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the driver may add errors at any time"
)]
fn cause_of(error: &sqlx::Error) -> Cause {
    if let Some(refusal) = error.as_database_error() {
        return constraint_of(refusal).map_or_else(|| cause_of_code(refusal), Cause::Constraint);
    }
    match error {
        sqlx::Error::PoolClosed => Cause::Closed,
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::WorkerCrashed => Cause::Unavailable,
        sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. } => Cause::Corrupt,
        _ => Cause::Other,
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the driver may add kinds at any time"
)]
fn constraint_of(refusal: &dyn sqlx::error::DatabaseError) -> Option<ConstraintKind> {
    use sqlx::error::ErrorKind;
    match refusal.kind() {
        ErrorKind::UniqueViolation => Some(ConstraintKind::Unique),
        ErrorKind::ForeignKeyViolation => Some(ConstraintKind::ForeignKey),
        ErrorKind::NotNullViolation => Some(ConstraintKind::NotNull),
        ErrorKind::CheckViolation => Some(ConstraintKind::Check),
        _ => None,
    }
}

/// The low byte of a code is the primary code, the others tell its sub-cases apart.
fn cause_of_code(refusal: &dyn sqlx::error::DatabaseError) -> Cause {
    let code = refusal.code().and_then(|code| code.parse::<u32>().ok());
    match code.map(|code| code & 0xff) {
        // BUSY, LOCKED.
        Some(5 | 6) => Cause::Busy,
        // PERM, READONLY, IOERR, FULL, CANTOPEN, PROTOCOL, AUTH.
        Some(3 | 8 | 10 | 13 | 14 | 15 | 23) => Cause::Unavailable,
        // CORRUPT, NOTADB.
        Some(11 | 26) => Cause::Corrupt,
        _ => Cause::Other,
    }
}
