//! Rows as the table holds them.

use confab_model::clock::Timestamp;
use confab_model::id::MessageId;
use confab_model::message::{Message, NewMessage};
use confab_rpc::wire;
use confab_store::StoreError;
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row as _, Sqlite};

use crate::store::Row;

/// The message of a row with `message_id`, `seq`, `said_at` and `packed`, as far as it can be read.
pub(super) fn read_row(row: &SqliteRow) -> Result<Row, StoreError> {
    let id: String = row.try_get("message_id")?;
    Ok(Row {
        id: MessageId::parse(id).map_err(StoreError::corrupt)?,
        seq: natural(row.try_get("seq")?)?,
        at: Timestamp::from_millis(row.try_get("said_at")?),
        // A damaged message costs its own content and not the page that it stands on (B146).
        body: read_body(row).ok(),
    })
}

/// The message of a row whose content has to be known.
pub(super) fn read_message(row: &SqliteRow) -> Result<Message, StoreError> {
    let body = read_body(row)?;
    let Row { id, seq, at, .. } = read_row(row)?;
    Ok(Message { id, seq, at, body })
}

pub(super) fn read_body(row: &SqliteRow) -> Result<NewMessage, StoreError> {
    let packed: &[u8] = row.try_get("packed")?;
    wire::message::unpack(packed).map_err(StoreError::corrupt)
}

/// Pushes `(…, …)`; every value is bound.
pub(super) fn push_list<'a>(
    query: &mut QueryBuilder<Sqlite>,
    values: impl Iterator<Item = &'a str>,
) {
    query.push("(");
    let mut list = query.separated(", ");
    for value in values {
        list.push_bind(value.to_owned());
    }
    query.push(")");
}

/// A count as the database holds it; none comes near the end of the range.
pub(super) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A count that the database holds; it never writes a negative one.
pub(super) fn natural(integer: i64) -> Result<u64, StoreError> {
    u64::try_from(integer).map_err(StoreError::corrupt)
}

/// A count that may be absent.
pub(super) fn optional_natural(integer: Option<i64>) -> Result<Option<u64>, StoreError> {
    integer.map(natural).transpose()
}
