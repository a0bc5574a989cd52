//! What is too old or too much goes, and what it leaves behind says so exactly.

use confab_model::clock::Timestamp;
use confab_store::StoreError;
use sqlx::sqlite::SqliteConnection;

use super::super::rows::integer;
use crate::store::awareness::Retention;

const LAST_PRUNED: &str = "SELECT value FROM counters WHERE name = 'pruned_at'";

const SET_LAST_PRUNED: &str = "UPDATE counters SET value = $1 WHERE name = 'pruned_at'";

/// The highest sequence that is too old, or too far behind the newest; 0 where none is.
const LAST_EVENT_TO_GO: &str = "SELECT max(\
     ifnull((SELECT max(sequence) FROM state_events WHERE recorded_at < $1), 0), \
     ifnull((SELECT sequence FROM state_events ORDER BY sequence DESC LIMIT 1 OFFSET $2), 0))";

/// Each session keeps the highest sequence it lost.
const NOTE_PRUNED: &str = "UPDATE sessions SET pruned_sequence = gone.last FROM (\
     SELECT tenant, session_key, max(sequence) AS last FROM state_events \
     WHERE sequence <= $1 GROUP BY tenant, session_key) AS gone \
     WHERE sessions.tenant = gone.tenant AND sessions.key = gone.session_key";

const PRUNE_EVENTS: &str = "DELETE FROM state_events WHERE sequence <= $1";

const PRUNE_CURSORS: &str = "DELETE FROM watch_cursors WHERE updated_at < $1";

/// The highest change of a deletion that is too old, or too far behind the newest of all tenants.
const LAST_DELETION_TO_GO: &str = "SELECT max(\
     ifnull((SELECT max(change_seq) FROM deleted_sessions WHERE deleted_at < $1), 0), \
     ifnull((SELECT change_seq FROM deleted_sessions ORDER BY change_seq DESC LIMIT 1 OFFSET $2), 0))";

/// Whoever has followed to the last deletion that goes, or further, misses none.
const RAISE_FLOORS: &str = "INSERT INTO change_floors (tenant, floor) \
     SELECT tenant, max(change_seq) FROM deleted_sessions WHERE change_seq <= $1 GROUP BY tenant \
     ON CONFLICT (tenant) DO UPDATE SET floor = excluded.floor";

const PRUNE_DELETIONS: &str = "DELETE FROM deleted_sessions WHERE change_seq <= $1";

/// Prunes, unless that was done a short while ago.
///
/// Source: reg:W26.
pub(super) async fn prune_when_due(
    connection: &mut SqliteConnection,
    retention: &Retention,
    now: Timestamp,
) -> Result<(), StoreError> {
    let last: i64 = sqlx::query_scalar(LAST_PRUNED)
        .fetch_one(&mut *connection)
        .await?;
    let since = now.millis_since(Timestamp::from_millis(last));
    // A clock that was put back does not keep the past for ever.
    if (0..retention.interval_millis).contains(&since) {
        return Ok(());
    }
    prune(connection, retention, now).await
}

/// Prunes events, cursors and deletions.
///
/// Source: reg:W16, reg:W26, reg:W28.
pub(super) async fn prune(
    connection: &mut SqliteConnection,
    retention: &Retention,
    now: Timestamp,
) -> Result<(), StoreError> {
    let oldest = now.plus_millis(-retention.age_millis).millis();
    let last: i64 = sqlx::query_scalar(LAST_EVENT_TO_GO)
        .bind(oldest)
        .bind(integer(retention.events_max))
        .fetch_one(&mut *connection)
        .await?;
    if last > 0 {
        run(connection, NOTE_PRUNED, last).await?;
        run(connection, PRUNE_EVENTS, last).await?;
    }
    run(connection, PRUNE_CURSORS, oldest).await?;
    let last: i64 = sqlx::query_scalar(LAST_DELETION_TO_GO)
        .bind(oldest)
        .bind(integer(retention.deletions_max))
        .fetch_one(&mut *connection)
        .await?;
    if last > 0 {
        run(connection, RAISE_FLOORS, last).await?;
        run(connection, PRUNE_DELETIONS, last).await?;
    }
    run(connection, SET_LAST_PRUNED, now.millis()).await
}

async fn run(
    connection: &mut SqliteConnection,
    statement: &'static str,
    value: i64,
) -> Result<(), StoreError> {
    sqlx::query(statement)
        .bind(value)
        .execute(connection)
        .await?;
    Ok(())
}
