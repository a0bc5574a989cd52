//! The bounds of this crate.

/// Most records in one `RecordActivity` (proto).
pub const RECORDS_MAX: usize = 1_000;

/// Longest text to search for, in bytes: as long as a key.
pub const SEARCH_BYTES_MAX: usize = 512;

/// Most rows in one statement: each has 19 columns, and SQLite binds at most 32,766 values.
pub const ROWS_PER_STATEMENT_MAX: usize = 1_000;
