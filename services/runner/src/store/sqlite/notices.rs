//! Notices of watched sessions, from their arrival until the registry has been told that a run has
//! them.

use confab_model::clock::Timestamp;
use confab_model::id::{Ids, TenantId};
use confab_model::key::SessionKey;
use confab_store::StoreError;
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqlitePool};

use super::flows;
use crate::plan::Plan;
use crate::store::{NewFlow, Notice, OpenError, Opened, QueuedSession, StoredRun, Unwoken};

/// How long what the registry was told is remembered: longer than anything that is still under way
/// on a stream, which would otherwise be kept and shown again.
const REMEMBERED_MILLIS: i64 = 3_600_000;

/// Keeps a notice until a run takes it, in place of an older one about the same session. Of one that
/// is known only the wording can be new, and only while it waits.
pub(super) async fn keep(
    connection: &mut SqliteConnection,
    notice: &Notice,
) -> Result<(), StoreError> {
    let known = sqlx::query(
        "UPDATE notices SET text = CASE WHEN run_id IS NULL THEN $2 ELSE text END \
         WHERE notice_id = $1",
    )
    .bind(&notice.id)
    .bind(&notice.text)
    .execute(&mut *connection)
    .await?;
    if known.rows_affected() > 0 {
        return Ok(());
    }
    sqlx::query(
        "DELETE FROM notices WHERE tenant = $1 AND watcher = $2 AND target = $3 \
         AND run_id IS NULL",
    )
    .bind(notice.tenant.as_str())
    .bind(notice.watcher.as_str())
    .bind(notice.target.as_str())
    .execute(&mut *connection)
    .await?;
    sqlx::query(
        "INSERT INTO notices (notice_id, tenant, watcher, target, text, wakes) \
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(&notice.id)
    .bind(notice.tenant.as_str())
    .bind(notice.watcher.as_str())
    .bind(notice.target.as_str())
    .bind(&notice.text)
    .bind(notice.wakes)
    .execute(connection)
    .await?;
    Ok(())
}

/// Drops what waits for a session that watches nobody any more.
pub(super) async fn forget_waiting(
    connection: &mut SqliteConnection,
    session: &QueuedSession,
) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM notices WHERE tenant = $1 AND watcher = $2 AND run_id IS NULL")
        .bind(session.tenant.as_str())
        .bind(session.session_key.as_str())
        .execute(connection)
        .await?;
    Ok(())
}

const FORGET_ABOUT: &str =
    "DELETE FROM notices WHERE tenant = $1 AND target = $2 AND run_id IS NULL";

/// Drops what others are still to be told of a session that is gone.
pub(super) async fn forget_about(
    connection: &mut SqliteConnection,
    session: &QueuedSession,
) -> Result<(), StoreError> {
    sqlx::query(FORGET_ABOUT)
        .bind(session.tenant.as_str())
        .bind(session.session_key.as_str())
        .execute(connection)
        .await?;
    Ok(())
}

const ATTACH: &str = "UPDATE notices SET run_id = $3 WHERE tenant = $1 AND watcher = $2 \
     AND run_id IS NULL RETURNING notice_seq, text";

/// Gives a run all notices that wait for its session when it first begins; a repeated attempt keeps
/// what the first was given, and no more.
///
/// Source: D57.
pub(super) async fn attach(
    connection: &mut SqliteConnection,
    stored: &mut StoredRun,
) -> Result<(), StoreError> {
    let run = &mut stored.run;
    if run.attempts > 1 {
        return Ok(());
    }
    let rows = sqlx::query(ATTACH)
        .bind(stored.tenant.as_str())
        .bind(run.session_key.as_str())
        .bind(run.id.as_str())
        .fetch_all(&mut *connection)
        .await?;
    if rows.is_empty() {
        return Ok(());
    }
    let mut lines = Vec::with_capacity(rows.len());
    for row in rows {
        let line: (i64, String) = (row.try_get("notice_seq")?, row.try_get("text")?);
        lines.push(line);
    }
    lines.sort_unstable();
    run.notices = lines.into_iter().map(|(_, text)| text).collect();
    let packed = serde_json::to_string(&run.notices).map_err(StoreError::corrupt)?;
    sqlx::query("UPDATE runs SET notices = $2 WHERE run_id = $1")
        .bind(run.id.as_str())
        .bind(packed)
        .execute(connection)
        .await?;
    Ok(())
}

/// Reads the lines that a run was given.
pub(super) fn unpack(packed: Option<String>) -> Result<Vec<String>, StoreError> {
    packed.map_or_else(
        || Ok(Vec::new()),
        |text| serde_json::from_str(&text).map_err(StoreError::corrupt),
    )
}

/// A queued run takes the notices of its session when it begins, unless it has begun before.
const UNWOKEN: &str = "SELECT MIN(notice_seq), notice_id, tenant, watcher FROM notices \
     WHERE run_id IS NULL AND wakes = 1 AND NOT EXISTS (SELECT 1 FROM runs \
     WHERE runs.tenant = notices.tenant AND runs.session_key = notices.watcher \
     AND runs.state = 'queued' AND runs.attempts = 0) GROUP BY tenant, watcher LIMIT $1";

/// The oldest notice of each watcher that must be woken.
pub(super) async fn unwoken(reader: &SqlitePool, limit: u32) -> Result<Vec<Unwoken>, StoreError> {
    let rows = sqlx::query(UNWOKEN).bind(limit).fetch_all(reader).await?;
    let mut watchers = Vec::with_capacity(rows.len());
    for row in rows {
        let (tenant, watcher): (String, String) = (row.try_get("tenant")?, row.try_get("watcher")?);
        watchers.push(Unwoken {
            notice_id: row.try_get("notice_id")?,
            tenant: TenantId::parse(tenant).map_err(StoreError::corrupt)?,
            watcher: SessionKey::parse(&watcher).map_err(StoreError::corrupt)?,
        });
    }
    Ok(watchers)
}

const WAITS: &str = "SELECT 1 FROM notices WHERE notice_id = $1 AND run_id IS NULL \
     AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.tenant = notices.tenant \
     AND runs.session_key = notices.watcher AND runs.state = 'queued' AND runs.attempts = 0)";

/// Accepts the flow that wakes a watcher, unless a run has the notice or will take it.
pub(super) async fn wake(
    connection: &mut SqliteConnection,
    notice_id: &str,
    new: &NewFlow,
    ids: &dyn Ids,
) -> Result<Option<(Opened, Option<Plan>)>, OpenError> {
    let waits = sqlx::query(WAITS)
        .bind(notice_id)
        .fetch_optional(&mut *connection)
        .await
        .map_err(StoreError::from)?;
    match waits {
        Some(_) => flows::open(connection, new, ids).await.map(Some),
        None => Ok(None),
    }
}

/// Leaves a notice to the watcher's next run, whatever starts it.
pub(super) async fn let_wait(
    connection: &mut SqliteConnection,
    notice_id: &str,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE notices SET wakes = 0 WHERE notice_id = $1")
        .bind(notice_id)
        .execute(connection)
        .await?;
    Ok(())
}

const OWED: &str = "SELECT notice_id FROM notices WHERE run_id IS NOT NULL \
     AND acknowledged_at IS NULL ORDER BY notice_seq LIMIT $1";

/// Notices that a run has and that the registry must still be told of.
pub(super) async fn owed(reader: &SqlitePool, limit: u32) -> Result<Vec<String>, StoreError> {
    let rows = sqlx::query(OWED).bind(limit).fetch_all(reader).await?;
    rows.iter()
        .map(|row| Ok(row.try_get("notice_id")?))
        .collect()
}

const FORGET: &str = "DELETE FROM notices WHERE acknowledged_at <= $1";

/// The registry was told of these notices; those that it was told of long ago go.
pub(super) async fn acknowledged(
    connection: &mut SqliteConnection,
    notice_ids: &[String],
    now: Timestamp,
) -> Result<(), StoreError> {
    for id in notice_ids {
        sqlx::query(
            "UPDATE notices SET acknowledged_at = $2 WHERE notice_id = $1 AND run_id IS NOT NULL",
        )
        .bind(id)
        .bind(now.millis())
        .execute(&mut *connection)
        .await?;
    }
    sqlx::query(FORGET)
        .bind(now.plus_millis(-REMEMBERED_MILLIS).millis())
        .execute(connection)
        .await?;
    Ok(())
}

/// The statements whose cost must not grow with what is stored.
#[cfg(test)]
pub(super) fn statements() -> Vec<String> {
    [ATTACH, FORGET_ABOUT, UNWOKEN, WAITS, OWED, FORGET]
        .map(str::to_owned)
        .to_vec()
}
