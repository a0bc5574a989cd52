//! What the registry must be told of runs, noted in the transaction that makes it true.

use confab_model::clock::Timestamp;
use confab_model::message::Usage;
use confab_model::run::RunState;
use confab_store::StoreError;
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqlitePool};

use crate::state_events::StateEvent;
use crate::store::{Activity, NewFlow, StoredRun};

/// A flow was accepted: the message itself moves the session, before its run has begun.
pub(super) async fn note_accepted(
    connection: &mut SqliteConnection,
    new: &NewFlow,
) -> Result<(), StoreError> {
    let activity = Activity {
        tenant: new.tenant.clone(),
        session_key: new.flow.target.clone(),
        run_id: new.run_id.clone(),
        state: RunState::Queued,
        occurred_at: new.flow.created_at,
        started_at: None,
        ended_at: None,
        model: None,
        total_tokens: None,
        usage: None,
        inbound_route: new.inbound_route.clone(),
        event: StateEvent::of_accepted(&new.terms),
    };
    note(connection, &activity).await
}

/// A run has begun or ended.
pub(super) async fn note_run(
    connection: &mut SqliteConnection,
    stored: &StoredRun,
    now: Timestamp,
) -> Result<(), StoreError> {
    let run = &stored.run;
    let activity = Activity {
        tenant: stored.tenant.clone(),
        session_key: run.session_key.clone(),
        run_id: run.id.clone(),
        state: run.state,
        occurred_at: now,
        started_at: run.started_at,
        ended_at: run.ended_at,
        model: run.model.clone(),
        total_tokens: run.usage.map(Usage::total),
        usage: run.usage,
        inbound_route: None,
        event: StateEvent::of_run(run),
    };
    note(connection, &activity).await
}

async fn note(connection: &mut SqliteConnection, activity: &Activity) -> Result<(), StoreError> {
    let packed = serde_json::to_vec(activity).map_err(StoreError::corrupt)?;
    sqlx::query("INSERT INTO activity (packed) VALUES ($1)")
        .bind(packed)
        .execute(connection)
        .await?;
    Ok(())
}

/// What must still be told, in order.
pub(super) async fn list(
    reader: &SqlitePool,
    limit: u32,
) -> Result<Vec<(i64, Activity)>, StoreError> {
    let rows = sqlx::query("SELECT seq, packed FROM activity ORDER BY seq LIMIT $1")
        .bind(limit)
        .fetch_all(reader)
        .await?;
    let mut records = Vec::with_capacity(rows.len());
    for row in rows {
        let packed: Vec<u8> = row.try_get("packed")?;
        let record = serde_json::from_slice(&packed).map_err(StoreError::corrupt)?;
        records.push((row.try_get("seq")?, record));
    }
    Ok(records)
}

/// Forgets what has been told, up to this place.
pub(super) async fn forget(
    connection: &mut SqliteConnection,
    up_to: i64,
) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM activity WHERE seq <= $1")
        .bind(up_to)
        .execute(connection)
        .await?;
    Ok(())
}
