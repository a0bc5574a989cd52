//! Deliveries: attempts, ends, lists.

use confab_flow::exchange::Event;
use confab_model::clock::Timestamp;
use confab_model::delivery::{Delivery, DeliveryState};
use confab_model::id::{DeliveryId, FlowId, Ids, TenantId};
use confab_rpc::wire;
use confab_store::StoreError;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{QueryBuilder, Row as _, Sqlite};

use super::flows::push_flows;
use super::journal;
use crate::plan::{Cause, Plan};
use crate::store::{DeliveryFilter, Page, PageRequest, RecordCursor};

/// How a delivery ended.
pub(super) struct End {
    /// The state it ended in.
    pub(super) state: DeliveryState,
    /// What the last attempt met.
    pub(super) error: Option<String>,
    /// When.
    pub(super) now: Timestamp,
}

/// Records that an attempt begins.
pub(super) async fn begin(
    connection: &mut SqliteConnection,
    id: &DeliveryId,
    now: Timestamp,
) -> Result<Option<Delivery>, StoreError> {
    let Some(mut delivery) = read(connection, id).await? else {
        return Ok(None);
    };
    if delivery.state != DeliveryState::Pending || delivery.next_attempt_at > Some(now) {
        return Ok(None);
    }
    delivery.state = DeliveryState::Sending;
    delivery.attempts = delivery.attempts.saturating_add(1);
    delivery.next_attempt_at = None;
    write(connection, &delivery).await?;
    Ok(Some(delivery))
}

/// Ends a delivery; its flow goes on.
pub(super) async fn settle(
    connection: &mut SqliteConnection,
    id: &DeliveryId,
    end: End,
    ids: &dyn Ids,
) -> Result<Option<(TenantId, Plan)>, StoreError> {
    let Some(mut delivery) = read(connection, id).await? else {
        return Ok(None);
    };
    if delivery.ended_at.is_some() {
        return Ok(None);
    }
    delivery.state = end.state;
    delivery.last_error = end.error;
    delivery.next_attempt_at = None;
    delivery.ended_at = Some(end.now);
    write(connection, &delivery).await?;
    let cause = Cause {
        run_id: Some(&delivery.run_id),
        trace_parent: None,
        now: end.now,
        ids,
    };
    let event = Event::DeliverySettled { state: end.state };
    journal::advance(connection, &delivery.flow_id, &event, &cause).await
}

/// Leaves a pending delivery alone.
pub(super) async fn park(
    connection: &mut SqliteConnection,
    id: &DeliveryId,
) -> Result<(), StoreError> {
    let Some(mut delivery) = read(connection, id).await? else {
        return Ok(());
    };
    if delivery.state == DeliveryState::Pending {
        delivery.next_attempt_at = None;
        write(connection, &delivery).await?;
    }
    Ok(())
}

const OPEN: &str = "SELECT packed FROM deliveries WHERE state IN ('pending', 'sending')";

/// Makes every delivery due whose attempt was cut off, or that was left alone.
pub(super) async fn reset(
    connection: &mut SqliteConnection,
    now: Timestamp,
) -> Result<(), StoreError> {
    let rows = sqlx::query(OPEN).fetch_all(&mut *connection).await?;
    for row in rows {
        let mut delivery = unpack(&row)?;
        delivery.state = DeliveryState::Pending;
        delivery.next_attempt_at = Some(now);
        write(connection, &delivery).await?;
    }
    Ok(())
}

/// Makes every delivery due that was left alone. One whose attempt is under way has no next attempt
/// either, and is none of them.
pub(super) async fn unpark(
    connection: &mut SqliteConnection,
    now: Timestamp,
) -> Result<(), StoreError> {
    let rows = sqlx::query(OPEN).fetch_all(&mut *connection).await?;
    for row in rows {
        let mut delivery = unpack(&row)?;
        if delivery.state == DeliveryState::Pending && delivery.next_attempt_at.is_none() {
            delivery.next_attempt_at = Some(now);
            write(connection, &delivery).await?;
        }
    }
    Ok(())
}

const DUE: &str = "SELECT tenant, packed FROM deliveries WHERE next_attempt_at <= $1 \
     ORDER BY next_attempt_at LIMIT $2";

/// Deliveries whose next attempt is due.
pub(super) async fn due(
    reader: &SqlitePool,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<(TenantId, Delivery)>, StoreError> {
    let rows = sqlx::query(DUE)
        .bind(now.millis())
        .bind(limit)
        .fetch_all(reader)
        .await?;
    let mut due = Vec::with_capacity(rows.len());
    for row in rows {
        let tenant: String = row.try_get("tenant")?;
        due.push((
            TenantId::parse(tenant).map_err(StoreError::corrupt)?,
            unpack(&row)?,
        ));
    }
    Ok(due)
}

/// The deliveries of flows, in the order they were owed.
pub(super) async fn of_flows(
    connection: &mut SqliteConnection,
    flows: &[FlowId],
) -> Result<Vec<Delivery>, StoreError> {
    let mut query = QueryBuilder::<Sqlite>::new("SELECT packed FROM deliveries WHERE flow_id IN");
    push_flows(&mut query, flows);
    query.push(" ORDER BY created_at, delivery_id");
    let rows = query.build().fetch_all(connection).await?;
    rows.iter().map(unpack).collect()
}

/// Lists deliveries, newest first.
pub(super) async fn list(
    reader: &SqlitePool,
    tenant: &TenantId,
    filter: &DeliveryFilter,
    page: &PageRequest,
) -> Result<Page<Delivery>, StoreError> {
    let rows = list_query(tenant, filter, page)
        .build()
        .fetch_all(reader)
        .await?;
    let deliveries = rows.iter().map(unpack).collect::<Result<Vec<_>, _>>()?;
    let (rows, next) = super::cut_page(deliveries, page.limit, |delivery| {
        RecordCursor::from(delivery)
    });
    Ok(Page { rows, next })
}

fn list_query(
    tenant: &TenantId,
    filter: &DeliveryFilter,
    page: &PageRequest,
) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new("SELECT packed FROM deliveries WHERE tenant = ");
    query.push_bind(tenant.as_str());
    if let Some(channel) = &filter.channel {
        query.push(" AND channel = ").push_bind(channel);
    }
    if !filter.states.is_empty() {
        query.push(" AND state IN (");
        let mut states = query.separated(", ");
        for state in &filter.states {
            states.push_bind(state.as_str());
        }
        query.push(")");
    }
    if let Some(after) = &page.after {
        query
            .push(" AND (created_at, delivery_id) < (")
            .push_bind(after.created_at);
        query.push(", ").push_bind(&after.id).push(")");
    }
    query.push(" ORDER BY created_at DESC, delivery_id DESC LIMIT ");
    query.push_bind(page.limit.saturating_add(1));
    query
}

async fn read(
    connection: &mut SqliteConnection,
    id: &DeliveryId,
) -> Result<Option<Delivery>, StoreError> {
    let row = sqlx::query("SELECT packed FROM deliveries WHERE delivery_id = $1")
        .bind(id.as_str())
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(unpack).transpose()
}

async fn write(connection: &mut SqliteConnection, delivery: &Delivery) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE deliveries SET state = $2, next_attempt_at = $3, packed = $4 \
         WHERE delivery_id = $1",
    )
    .bind(delivery.id.as_str())
    .bind(delivery.state.as_str())
    .bind(delivery.next_attempt_at.map(Timestamp::millis))
    .bind(wire::delivery::pack(delivery))
    .execute(connection)
    .await?;
    Ok(())
}

fn unpack(row: &SqliteRow) -> Result<Delivery, StoreError> {
    let packed: Vec<u8> = row.try_get("packed")?;
    wire::delivery::unpack(&packed).map_err(StoreError::corrupt)
}

/// The statements whose cost must not grow with what is stored.
#[cfg(test)]
pub(super) fn statements() -> Vec<String> {
    let filter = DeliveryFilter {
        states: DeliveryState::ALL.to_vec(),
        channel: Some(String::new()),
    };
    let page = PageRequest {
        limit: 1,
        after: None,
    };
    let list = list_query(&TenantId::default(), &filter, &page).into_string();
    vec![OPEN.to_owned(), DUE.to_owned(), list]
}
