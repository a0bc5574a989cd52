//! Reading one transcript: its end, a stretch of it, one message.

use confab_model::clock::Timestamp;
use confab_model::id::{SessionId, TenantId};
use confab_store::StoreError;
use sqlx::Row as _;
use sqlx::sqlite::{SqlitePool, SqliteRow};

use super::rows::{integer, natural, optional_natural, read_row};
use crate::store::{Mark, Row, Stretch, View};

pub(super) const HEAD: &str = "SELECT last_seq, count_all, count_plain, compaction_seq FROM heads \
     WHERE tenant = $1 AND session_id = $2";

/// The counts at a sequence are those of the message there.
pub(super) const HEAD_AT: &str = "SELECT seq AS last_seq, count_all, count_plain, compaction_seq FROM messages \
     WHERE tenant = $1 AND session_id = $2 AND seq = $3";

pub(super) const ROW: &str = "SELECT message_id, seq, said_at, packed FROM messages \
     WHERE tenant = $1 AND session_id = $2 AND seq = $3";

pub(super) const SEQ_ALL: &str = "SELECT seq FROM messages \
     WHERE tenant = $1 AND session_id = $2 AND in_all = 1 AND count_all = $3";

pub(super) const SEQ_PLAIN: &str = "SELECT seq FROM messages \
     WHERE tenant = $1 AND session_id = $2 AND in_plain = 1 AND count_plain = $3";

pub(super) const BLOB: &str = "SELECT bytes FROM blobs WHERE tenant = $1 AND reference = $2";

/// A stretch is a range of the index of its view; the moments are looked at row by row.
macro_rules! stretch {
    ($shown:literal, $count:literal, $order:literal) => {
        concat!(
            "SELECT message_id, seq, said_at, packed FROM messages \
             WHERE tenant = $1 AND session_id = $2 AND ",
            $shown,
            " = 1 AND ",
            $count,
            " BETWEEN $3 AND $4 AND said_at >= $5 AND said_at < $6 ORDER BY ",
            $count,
            $order
        )
    };
}

pub(super) const UP_ALL: &str = stretch!("in_all", "count_all", " ASC");
pub(super) const DOWN_ALL: &str = stretch!("in_all", "count_all", " DESC");
pub(super) const UP_PLAIN: &str = stretch!("in_plain", "count_plain", " ASC");
pub(super) const DOWN_PLAIN: &str = stretch!("in_plain", "count_plain", " DESC");

/// Whose transcript, and which generation.
type Place<'p> = (&'p TenantId, &'p SessionId);

pub(super) async fn live_end(
    reader: &SqlitePool,
    (tenant, session_id): Place<'_>,
) -> Result<Mark, StoreError> {
    let row = sqlx::query(HEAD)
        .bind(tenant.as_str())
        .bind(session_id.as_str())
        .fetch_optional(reader)
        .await?;
    Ok(row.as_ref().map(read_mark).transpose()?.unwrap_or_default())
}

pub(super) async fn end_at(
    reader: &SqlitePool,
    (tenant, session_id): Place<'_>,
    seq: u64,
) -> Result<Mark, StoreError> {
    let row = sqlx::query(HEAD_AT)
        .bind(tenant.as_str())
        .bind(session_id.as_str())
        .bind(integer(seq))
        .fetch_one(reader)
        .await?;
    read_mark(&row)
}

pub(super) async fn rows(
    reader: &SqlitePool,
    (tenant, session_id): Place<'_>,
    stretch: Stretch,
) -> Result<Vec<Row>, StoreError> {
    let statement = match (stretch.view, stretch.newest_first) {
        (View::All, false) => UP_ALL,
        (View::All, true) => DOWN_ALL,
        (View::Plain, false) => UP_PLAIN,
        (View::Plain, true) => DOWN_PLAIN,
    };
    let rows = sqlx::query(statement)
        .bind(tenant.as_str())
        .bind(session_id.as_str())
        .bind(integer(stretch.first))
        .bind(integer(stretch.last))
        .bind(stretch.after.map_or(i64::MIN, Timestamp::millis))
        .bind(stretch.before.map_or(i64::MAX, Timestamp::millis))
        .fetch_all(reader)
        .await?;
    rows.iter().map(read_row).collect()
}

pub(super) async fn seq_of(
    reader: &SqlitePool,
    (tenant, session_id): Place<'_>,
    view: View,
    ordinal: u64,
) -> Result<Option<u64>, StoreError> {
    let statement = match view {
        View::All => SEQ_ALL,
        View::Plain => SEQ_PLAIN,
    };
    let row = sqlx::query(statement)
        .bind(tenant.as_str())
        .bind(session_id.as_str())
        .bind(integer(ordinal))
        .fetch_optional(reader)
        .await?;
    row.map(|row| natural(row.try_get("seq")?)).transpose()
}

pub(super) async fn row(
    reader: &SqlitePool,
    (tenant, session_id): Place<'_>,
    seq: u64,
) -> Result<Option<Row>, StoreError> {
    let row = sqlx::query(ROW)
        .bind(tenant.as_str())
        .bind(session_id.as_str())
        .bind(integer(seq))
        .fetch_optional(reader)
        .await?;
    row.as_ref().map(read_row).transpose()
}

pub(super) async fn blob(
    reader: &SqlitePool,
    tenant: &TenantId,
    reference: &str,
) -> Result<Option<Vec<u8>>, StoreError> {
    let bytes = sqlx::query_scalar(BLOB)
        .bind(tenant.as_str())
        .bind(reference)
        .fetch_optional(reader)
        .await?;
    Ok(bytes)
}

fn read_mark(row: &SqliteRow) -> Result<Mark, StoreError> {
    Ok(Mark {
        seq: natural(row.try_get("last_seq")?)?,
        all: natural(row.try_get("count_all")?)?,
        plain: natural(row.try_get("count_plain")?)?,
        compaction_seq: optional_natural(row.try_get("compaction_seq")?)?,
    })
}
