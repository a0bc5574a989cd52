//! Opening a database, migrations, the batching writer, signals, test databases.
//!
//! Each service declares a trait for its store and implements it with [`sqlite::Database`]; a use
//! case never sees a connection, a pool or a statement. Statement texts use `$1` placeholders, which
//! every supported database reads alike.
//!
//! This crate must never know a table, decide anything about the domain, or answer a write before
//! its commit.
//!
//! Source: D47.

pub mod clock;
pub mod error;
mod failpoint;
pub mod ids;
pub mod limits;
pub mod lock;
pub mod page;
mod private_files;
pub mod signal;
pub mod sqlite;

pub use error::{ConstraintKind, StoreError};
pub use failpoint::{activate_failpoints, crash_point};
