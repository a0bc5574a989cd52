//! The log of events, and the head of a session's part of it.

use confab_model::clock::Timestamp;
use confab_model::id::{SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_store::StoreError;
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::super::count;
use super::super::rows::{counter, integer};
use crate::awareness::{NewEvent, Outcome, StateEvent};

const HEAD: &str = "SELECT session_id, spawned_by, state_version, pruned_sequence FROM sessions \
     WHERE tenant = $1 AND key = $2";

pub(super) const REPEATED: &str = "SELECT sequence FROM state_events \
     WHERE tenant = $1 AND session_key = $2 AND dedupe_key = $3";

const APPEND: &str = "INSERT INTO state_events (tenant, session_key, session_id, kind, actor_type, \
     actor_id, run_id, occurred_at, recorded_at, summary, outcome, dedupe_key) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING sequence";

pub(super) const AFTER: &str = "SELECT sequence, session_key, session_id, kind, actor_type, actor_id, run_id, \
     occurred_at, summary, outcome FROM state_events \
     WHERE tenant = $1 AND session_key = $2 AND sequence > $3 ORDER BY sequence LIMIT $4";

pub(super) const EARLIEST: &str = "SELECT sequence FROM state_events \
     WHERE tenant = $1 AND session_key = $2 ORDER BY sequence LIMIT 1";

const CLEAR: &str = "DELETE FROM state_events WHERE tenant = $1 AND session_key = $2";

/// What a session's row says of its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The present generation.
    pub(super) session_id: String,
    /// The session that spawned it.
    pub(super) spawned_by: Option<SessionKey>,
    /// The sequence of the newest event; 0 without any.
    pub(super) version: u64,
    /// The highest sequence that was pruned; 0 where none was.
    pub(super) pruned: u64,
}

impl Head {
    /// From where on events would be kept if one came; 0 where none ever did.
    ///
    /// Source: reg:W29.
    pub(super) const fn next_sequence(&self) -> u64 {
        match self.version {
            0 => 0,
            version => version.saturating_add(1),
        }
    }
}

/// The head of a session's log; `None` where the session does not exist.
pub(super) async fn head(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    key: &SessionKey,
) -> Result<Option<Head>, StoreError> {
    let row = sqlx::query(HEAD)
        .bind(tenant.as_str())
        .bind(key.as_str())
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let spawned_by: Option<String> = row.try_get("spawned_by")?;
    let spawned_by = spawned_by.map(|key| SessionKey::parse(&key)).transpose();
    Ok(Some(Head {
        session_id: row.try_get("session_id")?,
        spawned_by: spawned_by.map_err(StoreError::corrupt)?,
        version: counter(&row, "state_version")?,
        pruned: counter(&row, "pruned_sequence")?,
    }))
}

/// The sequence of an earlier event with the same key.
///
/// Source: reg:W5.
pub(super) async fn repeated(
    connection: &mut SqliteConnection,
    event: &NewEvent,
) -> Result<Option<u64>, StoreError> {
    let Some(dedupe_key) = &event.dedupe_key else {
        return Ok(None);
    };
    let row = sqlx::query(REPEATED)
        .bind(event.tenant.as_str())
        .bind(event.session_key.as_str())
        .bind(dedupe_key)
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(|row| counter(row, "sequence")).transpose()
}

/// Writes an event down; answers with its sequence.
pub(super) async fn append(
    connection: &mut SqliteConnection,
    event: &NewEvent,
    head: &Head,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let row = sqlx::query(APPEND)
        .bind(event.tenant.as_str())
        .bind(event.session_key.as_str())
        .bind(&head.session_id)
        .bind(event.kind.as_str())
        .bind(event.actor.as_str())
        .bind(event.actor.session().map(SessionKey::as_str))
        .bind(event.run_id.as_ref().map(ToString::to_string))
        .bind(event.moment(now).millis())
        .bind(now.millis())
        .bind(&event.account.summary)
        .bind(event.account.outcome.map(Outcome::as_str))
        .bind(&event.dedupe_key)
        .fetch_one(connection)
        .await?;
    counter(&row, "sequence")
}

/// The events of a session behind `after`, at most `limit`, and whether more follow.
///
/// Source: reg:W27.
pub(super) async fn after(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    key: &SessionKey,
    after: u64,
    limit: usize,
) -> Result<(Vec<StateEvent>, bool), StoreError> {
    let rows = sqlx::query(AFTER)
        .bind(tenant.as_str())
        .bind(key.as_str())
        .bind(integer(after))
        .bind(count(limit.saturating_add(1)))
        .fetch_all(connection)
        .await?;
    let events: Result<Vec<StateEvent>, StoreError> =
        rows.iter().take(limit).map(read_event).collect();
    Ok((events?, rows.len() > limit))
}

fn read_event(row: &SqliteRow) -> Result<StateEvent, StoreError> {
    let session_key: String = row.try_get("session_key")?;
    let session_id: String = row.try_get("session_id")?;
    let occurred_at: i64 = row.try_get("occurred_at")?;
    Ok(StateEvent {
        sequence: counter(row, "sequence")?,
        session_key: SessionKey::parse(&session_key).map_err(StoreError::corrupt)?,
        session_id: SessionId::parse(session_id).map_err(StoreError::corrupt)?,
        kind: row.try_get("kind")?,
        actor_type: row.try_get("actor_type")?,
        actor_id: row.try_get("actor_id")?,
        run_id: row.try_get("run_id")?,
        occurred_at: Timestamp::from_millis(occurred_at),
        summary: row.try_get("summary")?,
        outcome: row.try_get("outcome")?,
    })
}

/// The lowest sequence that is kept of a session.
pub(super) async fn earliest(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    key: &SessionKey,
) -> Result<Option<u64>, StoreError> {
    let row = sqlx::query(EARLIEST)
        .bind(tenant.as_str())
        .bind(key.as_str())
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(|row| counter(row, "sequence")).transpose()
}

/// Forgets what happened to a session.
pub(super) async fn clear(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    key: &SessionKey,
) -> Result<(), StoreError> {
    let clear = sqlx::query(CLEAR).bind(tenant.as_str()).bind(key.as_str());
    clear.execute(connection).await?;
    Ok(())
}
