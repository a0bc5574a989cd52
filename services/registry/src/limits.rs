//! The bounds of this crate.

use std::time::Duration;

/// Most records in one `RecordActivity` (proto).
pub const RECORDS_MAX: usize = 1_000;

/// Most children named in a row (contract of `childSessions`).
pub const CHILDREN_SHOWN_MAX: usize = 50;

/// Longest text to search for, in bytes: as long as a key.
pub const SEARCH_BYTES_MAX: usize = 512;

/// Most sessions in one answer of `ListOverdueSessions` (proto).
pub const OVERDUE_MAX: u32 = 1_000;

/// Rows that maintenance looks at with one statement.
pub const UPKEEP_PAGE: usize = 1_000;

/// Most rows in one statement: each has 23 columns, and SQLite binds at most 32,766 values.
pub const ROWS_PER_STATEMENT_MAX: usize = 1_000;

/// Most events in one `RecordActivity` (proto).
pub const EVENTS_MAX: usize = 1_000;

/// Longest detail of an event, in bytes (proto).
pub const DETAIL_BYTES_MAX: usize = 64;

/// How long ago an event may say it happened, in milliseconds: a day (reg:W4).
pub const EVENT_AGE_MILLIS_MAX: i64 = 24 * 60 * 60 * 1_000;

/// Most state events in one answer, as a caller may ask for them (reg:W27).
pub const STATE_EVENTS_LIMIT_MAX: u32 = 200;

/// Most state events in one answer (reg:W27).
pub const STATE_EVENTS_MAX: usize = 200;

/// Most state events kept, of all sessions together (reg:W26).
pub const EVENTS_KEPT_MAX: u64 = 50_000;

/// Most deletions kept for those who follow changes, of all tenants together.
pub const DELETIONS_KEPT_MAX: u64 = 50_000;

/// How long events, cursors and deletions are kept, in milliseconds: 30 days (reg:W16, reg:W26).
pub const RECORD_AGE_MILLIS_MAX: i64 = 30 * 24 * 60 * 60 * 1_000;

/// How often at most old records are looked for, in milliseconds: an hour (reg:W26).
pub const PRUNE_INTERVAL_MILLIS: i64 = 60 * 60 * 1_000;

/// Most sessions that watch one session: each is told in the transaction that records an event.
pub const WATCHERS_MAX: u64 = 1_000;

/// Most notices in one acknowledgement (proto).
pub const NOTICES_MAX: usize = 1_000;

/// Notices read at a time for a stream.
pub const NOTICES_PAGE: usize = 200;

/// How often a stream of notices looks at the store, should nothing wake it.
pub const NOTICES_POLL: Duration = Duration::from_secs(5);

/// Changes of sessions read at a time for a stream.
pub const CHANGES_PAGE: usize = 200;

/// How often a stream of changes is admitted again.
pub const ADMISSION_INTERVAL: Duration = Duration::from_mins(1);

/// Most earlier generations in one `ImportSession` (proto).
pub const EARLIER_GENERATIONS_MAX: usize = 1_000;

/// The last moment that an import may give, in milliseconds: the end of the year 9999, which is the
/// last that a `Timestamp` of the protos can hold.
pub const IMPORTED_MILLIS_MAX: i64 = 253_402_300_799_999;
