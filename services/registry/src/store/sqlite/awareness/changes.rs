//! Which rows changed, in the order of their last change.

use confab_model::clock::Timestamp;
use confab_model::id::TenantId;
use confab_model::key::SessionKey;
use confab_store::StoreError;
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::super::count;
use super::super::rows::{counter, integer, read_session};
use crate::store::awareness::{ChangedState, Present, SessionChange};

/// The counters of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Counter {
    /// The last change of any row.
    Change,
    /// The last notice that came to be owed.
    Notice,
}

impl Counter {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Change => "change",
            Self::Notice => "notice",
        }
    }
}

const ADVANCE: &str = "UPDATE counters SET value = value + $2 WHERE name = $1 RETURNING value";

const RAISE_VERSION: &str = "UPDATE sessions SET state_version = $3, change_seq = $4 \
     WHERE tenant = $1 AND key = $2";

const NOTE_DELETION: &str = "INSERT INTO deleted_sessions (tenant, key, change_seq, deleted_at) \
     VALUES ($1, $2, $3, $4) ON CONFLICT (tenant, key) DO UPDATE SET \
     change_seq = excluded.change_seq, deleted_at = excluded.deleted_at";

const PRESENT: &str = "SELECT database_identity.id, counters.value AS head, \
     ifnull((SELECT floor FROM change_floors WHERE tenant = $1), 0) AS floor \
     FROM database_identity, counters WHERE counters.name = 'change'";

/// The last change of a row and of a deletion, merged. Each arm stops at the limit by itself.
pub(super) const AFTER: &str = "
    SELECT * FROM (SELECT change_seq, key, packed, state_version, 0 AS deleted FROM sessions
                   WHERE tenant = $1 AND change_seq > $2 ORDER BY change_seq LIMIT $3)
    UNION ALL
    SELECT * FROM (SELECT change_seq, key, NULL, 0, 1 FROM deleted_sessions
                   WHERE tenant = $1 AND change_seq > $2 ORDER BY change_seq LIMIT $3)
    ORDER BY 1 LIMIT $3";

/// Takes the next `number` values of a counter; answers with the last of them.
pub(in super::super) async fn advance(
    connection: &mut SqliteConnection,
    which: Counter,
    number: usize,
) -> Result<u64, StoreError> {
    let row = sqlx::query(ADVANCE)
        .bind(which.as_str())
        .bind(count(number))
        .fetch_one(connection)
        .await?;
    counter(&row, "value")
}

/// An event is the session's newest: its version says so, and its row has changed.
pub(super) async fn raise_version(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    key: &SessionKey,
    sequence: u64,
) -> Result<(), StoreError> {
    let change = advance(connection, Counter::Change, 1).await?;
    sqlx::query(RAISE_VERSION)
        .bind(tenant.as_str())
        .bind(key.as_str())
        .bind(integer(sequence))
        .bind(integer(change))
        .execute(connection)
        .await?;
    Ok(())
}

/// A row is gone.
pub(super) async fn note_deletion(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    key: &SessionKey,
    now: Timestamp,
) -> Result<(), StoreError> {
    let change = advance(connection, Counter::Change, 1).await?;
    sqlx::query(NOTE_DELETION)
        .bind(tenant.as_str())
        .bind(key.as_str())
        .bind(integer(change))
        .bind(now.millis())
        .execute(connection)
        .await?;
    Ok(())
}

/// Where the changes of a tenant stand.
pub(super) async fn present(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
) -> Result<Present, StoreError> {
    let row = sqlx::query(PRESENT)
        .bind(tenant.as_str())
        .fetch_one(connection)
        .await?;
    Ok(Present {
        database: row.try_get("id")?,
        head: counter(&row, "head")?,
        floor: counter(&row, "floor")?,
    })
}

/// What changed behind `after`, at most `limit`.
pub(super) async fn after(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    after: u64,
    limit: usize,
) -> Result<Vec<SessionChange>, StoreError> {
    let rows = sqlx::query(AFTER)
        .bind(tenant.as_str())
        .bind(integer(after))
        .bind(count(limit))
        .fetch_all(connection)
        .await?;
    rows.iter().map(read_change).collect()
}

fn read_change(row: &SqliteRow) -> Result<SessionChange, StoreError> {
    let key: String = row.try_get("key")?;
    let key = SessionKey::parse(&key).map_err(StoreError::corrupt)?;
    let deleted: bool = row.try_get("deleted")?;
    let state = if deleted {
        ChangedState::Deleted(key)
    } else {
        // One row that cannot be read must not keep the others from those who follow.
        read_session(row).map_or(ChangedState::Unreadable(key), |session| {
            ChangedState::Present(Box::new(session))
        })
    };
    Ok(SessionChange {
        sequence: counter(row, "change_seq")?,
        state,
    })
}
