//! The cursors of watchers, and the notices they are owed.

use confab_model::clock::Timestamp;
use confab_model::id::TenantId;
use confab_model::key::SessionKey;
use confab_store::StoreError;
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::super::count;
use super::super::rows::{counter, integer};
use super::changes::{Counter, advance};
use crate::awareness::{Cursor, Notice};
use crate::store::awareness::Watch;

const FIND: &str = "SELECT last_seen, notified, material FROM watch_cursors \
     WHERE tenant = $1 AND watcher = $2 AND target = $3";

pub(super) const OF_TARGET: &str = "SELECT watcher, last_seen, notified, material FROM watch_cursors \
     WHERE tenant = $1 AND target = $2 ORDER BY watcher";

const COUNT_OF_TARGET: &str =
    "SELECT COUNT(*) AS watchers FROM watch_cursors WHERE tenant = $1 AND target = $2";

/// Without a number the notice keeps its own.
const PUT: &str = "INSERT INTO watch_cursors \
     (tenant, watcher, target, last_seen, notified, material, notice, updated_at) \
     VALUES ($1, $2, $3, $4, $5, $6, ifnull($7, 0), $8) \
     ON CONFLICT (tenant, watcher, target) DO UPDATE SET \
     last_seen = excluded.last_seen, notified = excluded.notified, material = excluded.material, \
     notice = ifnull($7, notice), updated_at = excluded.updated_at";

pub(super) const OWED: &str = "SELECT notice, tenant, watcher, target, last_seen, notified, material \
     FROM watch_cursors WHERE notice > 0 AND notice > $1 ORDER BY notice LIMIT $2";

/// What [`Cursor::sweep`] says, for all at once.
const SWEEP: &str =
    "UPDATE watch_cursors SET notified = material WHERE notice > 0 AND notified < material";

const CLEAR_WATCHER: &str = "DELETE FROM watch_cursors WHERE tenant = $1 AND watcher = $2";

const CLEAR_TARGET: &str = "DELETE FROM watch_cursors WHERE tenant = $1 AND target = $2";

/// The cursor of a watcher.
pub(super) async fn find(
    connection: &mut SqliteConnection,
    watch: &Watch,
) -> Result<Option<Cursor>, StoreError> {
    let row = sqlx::query(FIND)
        .bind(watch.tenant.as_str())
        .bind(watch.watcher.as_str())
        .bind(watch.target.as_str())
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(read_cursor).transpose()
}

/// Everybody who watches a session.
pub(super) async fn of_target(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    target: &SessionKey,
) -> Result<Vec<(SessionKey, Option<Cursor>)>, StoreError> {
    let rows = sqlx::query(OF_TARGET)
        .bind(tenant.as_str())
        .bind(target.as_str())
        .fetch_all(connection)
        .await?;
    let watchers = rows.iter().map(|row| {
        let cursor = read_cursor(row)?;
        Ok((read_key(row, "watcher")?, Some(cursor)))
    });
    watchers.collect()
}

/// How many sessions watch a session.
pub(super) async fn watchers(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    target: &SessionKey,
) -> Result<u64, StoreError> {
    let row = sqlx::query(COUNT_OF_TARGET)
        .bind(tenant.as_str())
        .bind(target.as_str())
        .fetch_one(connection)
        .await?;
    counter(&row, "watchers")
}

/// Writes a cursor. A notice that comes to be owed gets the next number; one that was owed `before`
/// keeps its own.
pub(super) async fn put(
    connection: &mut SqliteConnection,
    watch: &Watch,
    before: Option<Cursor>,
    after: Cursor,
    now: Timestamp,
) -> Result<(), StoreError> {
    let notice = if after.owes_anew(before) {
        Some(advance(connection, Counter::Notice, 1).await?)
    } else if after.is_owed() {
        None
    } else {
        Some(0)
    };
    sqlx::query(PUT)
        .bind(watch.tenant.as_str())
        .bind(watch.watcher.as_str())
        .bind(watch.target.as_str())
        .bind(integer(after.last_seen()))
        .bind(integer(after.notified()))
        .bind(integer(after.material()))
        .bind(notice.map(integer))
        .bind(now.millis())
        .execute(connection)
        .await?;
    Ok(())
}

/// The notices owed whose number is above `after`, in order.
pub(super) async fn owed(
    connection: &mut SqliteConnection,
    after: u64,
    limit: usize,
) -> Result<Vec<Notice>, StoreError> {
    let rows = sqlx::query(OWED)
        .bind(integer(after))
        .bind(count(limit))
        .fetch_all(connection)
        .await?;
    rows.iter().map(read_notice).collect()
}

/// After a restart every notice owed is about all that happened.
///
/// Source: reg:W23.
pub(super) async fn sweep(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    sqlx::query(SWEEP).execute(connection).await?;
    Ok(())
}

/// Whom a session watches is forgotten.
pub(super) async fn clear_watcher(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    key: &SessionKey,
) -> Result<(), StoreError> {
    let clear = sqlx::query(CLEAR_WATCHER).bind(tenant.as_str());
    clear.bind(key.as_str()).execute(connection).await?;
    Ok(())
}

/// Who watches a session is forgotten.
pub(super) async fn clear_target(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    key: &SessionKey,
) -> Result<(), StoreError> {
    let clear = sqlx::query(CLEAR_TARGET).bind(tenant.as_str());
    clear.bind(key.as_str()).execute(connection).await?;
    Ok(())
}

fn read_cursor(row: &SqliteRow) -> Result<Cursor, StoreError> {
    let last_seen = counter(row, "last_seen")?;
    let notified = counter(row, "notified")?;
    let material = counter(row, "material")?;
    Cursor::stored(last_seen, notified, material).ok_or_else(|| {
        StoreError::corrupt(format!(
            "a cursor has seen {last_seen}, was notified of {notified}, and {material} happened"
        ))
    })
}

fn read_notice(row: &SqliteRow) -> Result<Notice, StoreError> {
    let tenant: String = row.try_get("tenant")?;
    let tenant = TenantId::parse(tenant).map_err(StoreError::corrupt)?;
    let watcher = read_key(row, "watcher")?;
    let target = read_key(row, "target")?;
    let number = counter(row, "notice")?;
    Ok(Notice::owed(
        number,
        tenant,
        watcher,
        target,
        read_cursor(row)?,
    ))
}

fn read_key(row: &SqliteRow, column: &str) -> Result<SessionKey, StoreError> {
    let key: String = row.try_get(column)?;
    SessionKey::parse(&key).map_err(StoreError::corrupt)
}
