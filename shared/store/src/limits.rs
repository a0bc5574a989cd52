//! The bounds of this crate.

use std::time::Duration;

/// Jobs that may wait for the writer; a further caller waits for a place.
pub const JOBS_WAITING_MAX: usize = 1_024;

/// Jobs that share one commit.
pub const JOBS_PER_COMMIT_MAX: usize = 256;

/// Connections that read at the same time.
pub const READERS_MAX: u32 = 8;

/// How long a reader waits for a connection before it is told that the store is unavailable.
pub const READER_WAIT: Duration = Duration::from_secs(10);

/// How long a statement waits for a lock of another process, such as a backup tool.
pub const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Prepared statements kept by each connection.
pub const STATEMENTS_KEPT_MAX: usize = 256;

/// Bytes of a page token as a client sends it.
pub const PAGE_TOKEN_BYTES_MAX: usize = 4_096;

/// Rows that a statement of a reader may be ahead of whoever takes them: a page, so that the engine
/// carries it out in one go.
pub const ROWS_AHEAD_MAX: usize = 1_024;
