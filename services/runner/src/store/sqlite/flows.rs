//! Flows: acceptance, reading, listing.

use confab_flow::exchange::Event;
use confab_model::flow::Flow;
use confab_model::id::{FlowId, Ids, RunId, TenantId};
use confab_model::key::SessionKey;
use confab_rpc::wire;
use confab_store::StoreError;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{QueryBuilder, Row as _, Sqlite};

use super::{activity, deliveries, fences, journal, keys, runs};
use crate::plan::{self, Cause, Plan};
use crate::store::{
    FirstUse, FlowDetail, KeyUse, NewFlow, OpenError, Opened, Page, PageRequest, QueuedSession,
    RecordCursor, Standing,
};

/// Accepts a flow, or finds the one that the same key was used for.
pub(super) async fn open(
    connection: &mut SqliteConnection,
    new: &NewFlow,
    ids: &dyn Ids,
) -> Result<(Opened, Option<Plan>), OpenError> {
    if let Some(key) = &new.key
        && let Some(run) = used_key(connection, &new.tenant, key, new).await?
    {
        return Ok((Opened::Repeated(run), None));
    }
    check_standing(connection, new).await?;
    check_queue(connection, new).await?;
    let cause = Cause {
        run_id: new.parent_run_id.as_ref(),
        trace_parent: new.trace_parent.as_deref(),
        now: new.flow.created_at,
        ids,
    };
    let plan =
        plan::start(new, &cause).map_err(|error| OpenError::Store(StoreError::corrupt(error)))?;
    insert(connection, new, &plan.flow).await?;
    journal::append(connection, &new.flow.id, &Event::Started, &cause).await?;
    journal::write_actions(connection, &new.tenant, &plan).await?;
    activity::note_accepted(connection, new).await?;
    Ok((Opened::Fresh(new.run_id.clone()), Some(plan)))
}

/// Looks up or takes an idempotency key.
async fn used_key(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    key: &KeyUse,
    new: &NewFlow,
) -> Result<Option<RunId>, OpenError> {
    let now = new.flow.created_at;
    let Some(used) = keys::read(connection, tenant, &key.owner, &key.key, now).await? else {
        let first = FirstUse::Run(new.run_id.clone());
        keys::insert(connection, tenant, key, &first).await?;
        return Ok(None);
    };
    match used.first {
        FirstUse::Run(run) if used.fingerprint == key.fingerprint => Ok(Some(run)),
        FirstUse::Run(_) | FirstUse::Change { .. } => Err(OpenError::KeyReused {
            key: key.key.to_string(),
        }),
    }
}

const COUNT_WAITING: &str = "SELECT COUNT(*) AS waiting FROM runs \
     WHERE tenant = $1 AND session_key = $2 AND state = 'queued'";

/// Nothing begins for a session that is fenced, or that changed after the call was admitted (B224).
async fn check_standing(connection: &mut SqliteConnection, new: &NewFlow) -> Result<(), OpenError> {
    let session = QueuedSession::new(&new.tenant, &new.flow.target);
    let admitted_epoch = wire::numbers::to_i64(new.work_epoch);
    let session_key = new.flow.target.clone();
    match fences::standing(connection, &session, admitted_epoch).await? {
        Standing::Open => Ok(()),
        Standing::Fenced => Err(OpenError::Fenced { session_key }),
        Standing::Outdated => Err(OpenError::Outdated { session_key }),
    }
}

async fn check_queue(connection: &mut SqliteConnection, new: &NewFlow) -> Result<(), OpenError> {
    let row = sqlx::query(COUNT_WAITING)
        .bind(new.tenant.as_str())
        .bind(new.flow.target.as_str())
        .fetch_one(connection)
        .await
        .map_err(StoreError::from)?;
    let waiting: u32 = row.try_get("waiting").map_err(StoreError::from)?;
    if waiting >= new.queue_max {
        return Err(OpenError::QueueFull {
            session_key: new.flow.target.clone(),
            waiting,
        });
    }
    Ok(())
}

async fn insert(
    connection: &mut SqliteConnection,
    new: &NewFlow,
    flow: &Flow,
) -> Result<(), StoreError> {
    let terms = serde_json::to_string(&new.terms).map_err(StoreError::corrupt)?;
    sqlx::query(
        "INSERT INTO flows (flow_id, tenant, requester, target, terms, packed, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .bind(flow.id.as_str())
    .bind(new.tenant.as_str())
    .bind(flow.requester.as_ref().map(SessionKey::as_str))
    .bind(flow.target.as_str())
    .bind(terms)
    .bind(wire::flow::pack(flow))
    .bind(flow.created_at.millis())
    .execute(connection)
    .await?;
    Ok(())
}

/// Reads a flow's record.
pub(super) async fn read(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    flow: &FlowId,
) -> Result<Option<Flow>, StoreError> {
    let row = sqlx::query("SELECT packed FROM flows WHERE flow_id = $1 AND tenant = $2")
        .bind(flow.as_str())
        .bind(tenant.as_str())
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(unpack).transpose()
}

/// Reads the records of several flows.
pub(super) async fn records(
    reader: &SqlitePool,
    tenant: &TenantId,
    flows: &[FlowId],
) -> Result<Vec<Flow>, StoreError> {
    if flows.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = QueryBuilder::<Sqlite>::new("SELECT packed FROM flows WHERE tenant = ");
    query.push_bind(tenant.as_str()).push(" AND flow_id IN");
    push_flows(&mut query, flows);
    let rows = query.build().fetch_all(reader).await?;
    rows.iter().map(unpack).collect()
}

/// Flows with their runs and deliveries, in two statements however many they are.
pub(super) async fn details(
    connection: &mut SqliteConnection,
    flows: Vec<Flow>,
) -> Result<Vec<FlowDetail>, StoreError> {
    let ids: Vec<FlowId> = flows.iter().map(|flow| flow.id.clone()).collect();
    let mut runs = runs::of_flows(connection, &ids).await?;
    let mut deliveries = deliveries::of_flows(connection, &ids).await?;
    let with_its_own = |flow: Flow| FlowDetail {
        runs: runs.extract_if(.., |run| run.flow_id == flow.id).collect(),
        deliveries: deliveries
            .extract_if(.., |one| one.flow_id == flow.id)
            .collect(),
        flow,
    };
    Ok(flows.into_iter().map(with_its_own).collect())
}

/// Adds the list of flows to a statement that ends with `IN`.
pub(super) fn push_flows(query: &mut QueryBuilder<Sqlite>, flows: &[FlowId]) {
    query.push(" (");
    let mut ids = query.separated(", ");
    for flow in flows {
        ids.push_bind(flow.as_str());
    }
    query.push(")");
}

/// Lists flows, newest first.
pub(super) async fn list(
    reader: &SqlitePool,
    tenant: &TenantId,
    session: Option<&SessionKey>,
    page: &PageRequest,
) -> Result<Page<FlowDetail>, StoreError> {
    let mut connection = reader.acquire().await?;
    let rows = list_query(tenant, session, page)
        .build()
        .fetch_all(&mut *connection)
        .await?;
    let flows = rows.iter().map(unpack).collect::<Result<Vec<_>, _>>()?;
    let (flows, next) = super::cut_page(flows, page.limit, |flow| RecordCursor::from(flow));
    Ok(Page {
        rows: details(&mut connection, flows).await?,
        next,
    })
}

/// The flows of one session are read from two indexes, a page from each: no index holds both roles
/// in order, and a session's flows have no bound. `UNION` shows a flow with itself once.
fn list_query(
    tenant: &TenantId,
    session: Option<&SessionKey>,
    page: &PageRequest,
) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new("");
    match session {
        None => push_page(&mut query, tenant, None, page),
        Some(session) => {
            query.push("SELECT packed, created_at, flow_id FROM (");
            push_page(&mut query, tenant, Some(("target", session)), page);
            query.push(") UNION SELECT packed, created_at, flow_id FROM (");
            push_page(&mut query, tenant, Some(("requester", session)), page);
            query
                .push(")")
                .push(NEWEST_FIRST)
                .push_bind(page.limit.saturating_add(1));
        },
    }
    query
}

const NEWEST_FIRST: &str = " ORDER BY created_at DESC, flow_id DESC LIMIT ";

/// One page of the flows in which a session has one role, or of all.
fn push_page(
    query: &mut QueryBuilder<Sqlite>,
    tenant: &TenantId,
    role: Option<(&'static str, &SessionKey)>,
    page: &PageRequest,
) {
    query.push("SELECT packed, created_at, flow_id FROM flows WHERE tenant = ");
    query.push_bind(tenant.as_str());
    if let Some((column, session)) = role {
        query
            .push(" AND ")
            .push(column)
            .push(" = ")
            .push_bind(session.as_str());
    }
    if let Some(after) = &page.after {
        query
            .push(" AND (created_at, flow_id) < (")
            .push_bind(after.created_at);
        query.push(", ").push_bind(&after.id).push(")");
    }
    query
        .push(NEWEST_FIRST)
        .push_bind(page.limit.saturating_add(1));
}

fn unpack(row: &SqliteRow) -> Result<Flow, StoreError> {
    let packed: Vec<u8> = row.try_get("packed")?;
    wire::flow::unpack(&packed).map_err(StoreError::corrupt)
}

/// The statements whose cost must not grow with what is stored.
#[cfg(test)]
pub(super) fn statements() -> Vec<String> {
    let (tenant, session) = (TenantId::default(), SessionKey::parse("agent:a:main").ok());
    let after = Some(RecordCursor {
        created_at: 0,
        id: String::new(),
    });
    let page = PageRequest { limit: 1, after };
    let all = list_query(&tenant, None, &page).into_string();
    let one = list_query(&tenant, session.as_ref(), &page).into_string();
    vec![COUNT_WAITING.to_owned(), all, one]
}
