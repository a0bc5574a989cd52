//! The journal of flows: an event and all that follows from it, in one transaction.

use confab_flow::exchange::{Event, Exchange, Terms};
use confab_model::clock::Timestamp;
use confab_model::delivery::Delivery;
use confab_model::flow::Flow;
use confab_model::id::{FlowId, TenantId};
use confab_rpc::wire;
use confab_store::StoreError;
use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use super::runs;
use crate::plan::{self, Cause, Plan};

/// Takes an event into a flow. `None` where the flow is gone or the event is no news.
pub(super) async fn advance(
    connection: &mut SqliteConnection,
    flow_id: &FlowId,
    event: &Event,
    cause: &Cause<'_>,
) -> Result<Option<(TenantId, Plan)>, StoreError> {
    let Some((tenant, flow, terms)) = read_terms(connection, flow_id).await? else {
        return Ok(None);
    };
    let events = read_events(connection, flow_id).await?;
    let mut exchange = Exchange::replay(terms, &events).map_err(StoreError::corrupt)?;
    let planned = plan::advance(flow, &mut exchange, event, cause).map_err(StoreError::corrupt)?;
    let Some(plan) = planned else { return Ok(None) };
    append(connection, flow_id, event, cause).await?;
    sqlx::query("UPDATE flows SET packed = $2 WHERE flow_id = $1")
        .bind(flow_id.as_str())
        .bind(wire::flow::pack(&plan.flow))
        .execute(&mut *connection)
        .await?;
    write_actions(connection, &tenant, &plan).await?;
    Ok(Some((tenant, plan)))
}

/// Writes the next entry of a journal.
pub(super) async fn append(
    connection: &mut SqliteConnection,
    flow_id: &FlowId,
    event: &Event,
    cause: &Cause<'_>,
) -> Result<(), StoreError> {
    let text = serde_json::to_string(event).map_err(StoreError::corrupt)?;
    sqlx::query(
        "INSERT INTO flow_events (flow_id, seq, event, happened_at) \
         SELECT $1, COALESCE(MAX(seq), 0) + 1, $2, $3 FROM flow_events WHERE flow_id = $1",
    )
    .bind(flow_id.as_str())
    .bind(text)
    .bind(cause.now.millis())
    .execute(connection)
    .await?;
    Ok(())
}

/// Queues the runs and owes the deliveries of a plan.
pub(super) async fn write_actions(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    plan: &Plan,
) -> Result<(), StoreError> {
    for planned in &plan.runs {
        runs::insert(connection, tenant, planned).await?;
    }
    for delivery in &plan.deliveries {
        insert_delivery(connection, tenant, delivery).await?;
    }
    Ok(())
}

async fn insert_delivery(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    delivery: &Delivery,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO deliveries (delivery_id, tenant, flow_id, session_key, channel, state, \
         next_attempt_at, packed, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(delivery.id.as_str())
    .bind(tenant.as_str())
    .bind(delivery.flow_id.as_str())
    .bind(delivery.session_key.as_str())
    .bind(&delivery.route.channel)
    .bind(delivery.state.as_str())
    .bind(delivery.next_attempt_at.map(Timestamp::millis))
    .bind(wire::delivery::pack(delivery))
    .bind(delivery.created_at.millis())
    .execute(connection)
    .await?;
    Ok(())
}

async fn read_terms(
    connection: &mut SqliteConnection,
    flow_id: &FlowId,
) -> Result<Option<(TenantId, Flow, Terms)>, StoreError> {
    let row = sqlx::query("SELECT tenant, packed, terms FROM flows WHERE flow_id = $1")
        .bind(flow_id.as_str())
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let tenant: String = row.try_get("tenant")?;
    let packed: Vec<u8> = row.try_get("packed")?;
    let terms: String = row.try_get("terms")?;
    Ok(Some((
        TenantId::parse(tenant).map_err(StoreError::corrupt)?,
        wire::flow::unpack(&packed).map_err(StoreError::corrupt)?,
        serde_json::from_str(&terms).map_err(StoreError::corrupt)?,
    )))
}

async fn read_events(
    connection: &mut SqliteConnection,
    flow_id: &FlowId,
) -> Result<Vec<Event>, StoreError> {
    let rows = sqlx::query("SELECT event FROM flow_events WHERE flow_id = $1 ORDER BY seq")
        .bind(flow_id.as_str())
        .fetch_all(connection)
        .await?;
    let mut events = Vec::with_capacity(rows.len());
    for row in rows {
        let text: String = row.try_get("event")?;
        events.push(serde_json::from_str(&text).map_err(StoreError::corrupt)?);
    }
    Ok(events)
}
