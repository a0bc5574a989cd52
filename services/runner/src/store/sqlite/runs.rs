//! Runs: the queue, claims with leases, ends, lists.

use confab_flow::exchange::Event;
use confab_model::clock::Timestamp;
use confab_model::id::{FlowId, Ids, RunId, SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::run::{Run, RunState};
use confab_rpc::wire;
use confab_store::StoreError;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};
use sqlx::{QueryBuilder, Row as _, Sqlite};

use super::flows::push_flows;
use super::{activity, journal, notices};
use crate::plan::{Cause, Plan, PlannedRun};
use crate::store::{
    Claimed, Lease, Page, PageRequest, QueuedSession, RecordCursor, RunResult, StoredRun,
    apply_outcome,
};

/// The columns a run is read from.
macro_rules! columns {
    () => {
        "tenant, step_id, store_input, packed, state, session_id, attempts, ordinal, started_at, \
         ended_at, lease_epoch, result, trace_parent, notices, model"
    };
}

/// Puts a run into the queue.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    planned: &PlannedRun,
) -> Result<(), StoreError> {
    let run = &planned.run;
    sqlx::query(
        "INSERT INTO runs (run_id, tenant, session_key, agent_id, flow_id, step_id, priority, \
         store_input, packed, created_at, state, session_id, trace_parent) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
    )
    .bind(run.id.as_str())
    .bind(tenant.as_str())
    .bind(run.session_key.as_str())
    .bind(run.agent_id.as_str())
    .bind(run.flow_id.as_str())
    .bind(planned.step_id.to_string())
    .bind(planned.priority.rank())
    .bind(planned.store_input)
    .bind(wire::run::pack(run))
    .bind(run.created_at.millis())
    .bind(run.state.as_str())
    .bind(run.session_id.as_ref().map(SessionId::as_str))
    .bind(planned.trace_parent.as_deref())
    .execute(connection)
    .await?;
    Ok(())
}

/// Gives each session its next run.
///
/// A person's run goes first, then the order of acceptance; a session that is held or fenced gets
/// none. The ordinal counts the runs of the session that have begun, so a repeated attempt keeps
/// its own.
///
/// Source: D48, D50.
const CLAIM: &str = concat!(
    "UPDATE runs SET state = 'running', holds_session = 1, lease_epoch = lease_epoch + 1, ",
    "lease_until = $3, attempts = attempts + 1, started_at = COALESCE(started_at, $4), ",
    "ordinal = CASE WHEN ordinal > 0 THEN ordinal ELSE 1 + COALESCE((SELECT MAX(ordinal) ",
    "FROM runs WHERE tenant = $1 AND session_key = $2), 0) END ",
    "WHERE queue_seq = (SELECT queue_seq FROM runs WHERE tenant = $1 AND session_key = $2 ",
    "AND state = 'queued' ORDER BY priority, queue_seq LIMIT 1) ",
    "AND NOT EXISTS (SELECT 1 FROM runs WHERE tenant = $1 AND session_key = $2 ",
    "AND holds_session = 1) AND NOT EXISTS (SELECT 1 FROM fences ",
    "WHERE tenant = $1 AND session_key = $2) RETURNING ",
    columns!(),
);

/// Gives each of the sessions its next run.
pub(super) async fn claim(
    connection: &mut SqliteConnection,
    sessions: &[QueuedSession],
    lease: Lease,
) -> Result<Vec<Claimed>, StoreError> {
    let mut claimed = Vec::new();
    for session in sessions {
        let row = sqlx::query(CLAIM)
            .bind(session.tenant.as_str())
            .bind(session.session_key.as_str())
            .bind(lease.until.millis())
            .bind(lease.now.millis())
            .fetch_optional(&mut *connection)
            .await?;
        let Some(row) = row else { continue };
        let mut stored = unpack(&row)?;
        notices::attach(connection, &mut stored).await?;
        activity::note_run(connection, &stored, lease.now).await?;
        claimed.push(Claimed(stored));
    }
    Ok(claimed)
}

/// What came of ending a run.
pub(super) enum Ended {
    /// The lease was lost; nothing was written.
    LeaseLost,
    /// The run ended, which was no news to its flow.
    Alone,
    /// The run ended and its flow went on.
    Advanced(TenantId, Box<Plan>),
}

impl Ended {
    /// Whether the run ended by this.
    pub(super) const fn was_written(&self) -> bool {
        match self {
            Self::LeaseLost => false,
            Self::Alone | Self::Advanced(..) => true,
        }
    }
}

/// Ends a run; its flow goes on.
pub(super) async fn end(
    connection: &mut SqliteConnection,
    run: &RunId,
    lease_epoch: i64,
    result: &RunResult,
    now: Timestamp,
    ids: &dyn Ids,
) -> Result<Ended, StoreError> {
    let text = serde_json::to_string(result).map_err(StoreError::corrupt)?;
    let row = sqlx::query(concat!(
        "UPDATE runs SET state = $3, ended_at = $4, result = $5, lease_until = NULL ",
        "WHERE run_id = $1 AND lease_epoch = $2 AND state IN ('queued', 'running') RETURNING ",
        columns!(),
    ))
    .bind(run.as_str())
    .bind(lease_epoch)
    .bind(result.outcome.state().as_str())
    .bind(now.millis())
    .bind(text)
    .fetch_optional(&mut *connection)
    .await?;
    let Some(row) = row else {
        return Ok(Ended::LeaseLost);
    };
    let stored = unpack(&row)?;
    activity::note_run(connection, &stored, now).await?;
    let event = Event::RunEnded {
        step: stored.step_id,
        outcome: result.outcome.clone(),
    };
    let trace_parent = stored.trace_parent.as_deref();
    let cause = Cause {
        run_id: Some(run),
        trace_parent,
        now,
        ids,
    };
    let advanced = journal::advance(connection, &stored.run.flow_id, &event, &cause).await?;
    Ok(advanced.map_or(Ended::Alone, |(tenant, plan)| {
        Ended::Advanced(tenant, Box::new(plan))
    }))
}

/// Frees the session that a run holds.
pub(super) async fn release(
    connection: &mut SqliteConnection,
    run: &RunId,
    lease_epoch: i64,
) -> Result<Option<QueuedSession>, StoreError> {
    let row = sqlx::query(
        "UPDATE runs SET holds_session = 0 WHERE run_id = $1 AND lease_epoch = $2 \
         AND holds_session = 1 RETURNING tenant, session_key",
    )
    .bind(run.as_str())
    .bind(lease_epoch)
    .fetch_optional(connection)
    .await?;
    row.as_ref().map(queued_session).transpose()
}

/// Keeps leases.
pub(super) async fn renew(
    connection: &mut SqliteConnection,
    leases: &[(RunId, i64)],
    until: Timestamp,
) -> Result<(), StoreError> {
    for (run, epoch) in leases {
        sqlx::query(
            "UPDATE runs SET lease_until = $3 \
             WHERE run_id = $1 AND lease_epoch = $2 AND state = 'running'",
        )
        .bind(run.as_str())
        .bind(epoch)
        .bind(until.millis())
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

const REQUEUE: &str = "UPDATE runs SET state = 'queued', holds_session = 0, lease_until = NULL, \
     lease_epoch = lease_epoch + 1 \
     WHERE holds_session = 1 AND state = 'running' AND attempts < $2 \
     AND ($1 IS NULL OR lease_until < $1) RETURNING tenant, session_key";

const TAKE_SPENT: &str = concat!(
    "UPDATE runs SET lease_epoch = lease_epoch + 1 WHERE holds_session = 1 ",
    "AND state = 'running' AND attempts >= $2 AND ($1 IS NULL OR lease_until < $1) RETURNING ",
    columns!(),
);

/// Puts running runs back into the queue; returns the sessions that have work again, and the runs
/// that were begun too often. A running run holds its session, which is the index that finds it.
pub(super) async fn requeue(
    connection: &mut SqliteConnection,
    lease_ended_before: Option<Timestamp>,
    attempts_max: u32,
) -> Result<(Vec<QueuedSession>, Vec<StoredRun>), StoreError> {
    let rows = sqlx::query(REQUEUE)
        .bind(lease_ended_before.map(Timestamp::millis))
        .bind(attempts_max)
        .fetch_all(&mut *connection)
        .await?;
    let queued = rows.iter().map(queued_session).collect::<Result<_, _>>()?;
    let rows = sqlx::query(TAKE_SPENT)
        .bind(lease_ended_before.map(Timestamp::millis))
        .bind(attempts_max)
        .fetch_all(&mut *connection)
        .await?;
    let spent = rows.iter().map(unpack).collect::<Result<_, _>>()?;
    Ok((queued, spent))
}

/// Notes the generation a flow's own run found, and the model that it is asked for.
pub(super) async fn bind(
    connection: &mut SqliteConnection,
    run: &RunId,
    session_id: &SessionId,
    model: Option<&str>,
) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE runs SET session_id = $2, model = $3 WHERE run_id = $1 AND session_id IS NULL",
    )
    .bind(run.as_str())
    .bind(session_id.as_str())
    .bind(model)
    .execute(connection)
    .await?;
    Ok(())
}

/// The first rule that is not used up, remembered for the run.
pub(super) async fn hit_rule(
    connection: &mut SqliteConnection,
    run: &RunId,
    rules: &[(u32, Option<u32>)],
) -> Result<Option<u32>, StoreError> {
    let row = sqlx::query("SELECT tenant, agent_id, script_rule FROM runs WHERE run_id = $1")
        .bind(run.as_str())
        .fetch_one(&mut *connection)
        .await?;
    let remembered: Option<u32> = row.try_get("script_rule")?;
    if let Some(rule) = remembered.filter(|rule| rules.iter().any(|(one, _)| one == rule)) {
        return Ok(Some(rule));
    }
    let (tenant, agent): (String, String) = (row.try_get("tenant")?, row.try_get("agent_id")?);
    for (rule, times) in rules {
        if let Some(times) = times
            && hits(connection, &tenant, &agent, *rule).await? >= i64::from(*times)
        {
            continue;
        }
        sqlx::query("UPDATE runs SET script_rule = $2 WHERE run_id = $1")
            .bind(run.as_str())
            .bind(rule)
            .execute(&mut *connection)
            .await?;
        return Ok(Some(*rule));
    }
    Ok(None)
}

const HITS: &str = "SELECT COUNT(*) AS hits FROM runs \
     WHERE tenant = $1 AND agent_id = $2 AND script_rule = $3";

async fn hits(
    connection: &mut SqliteConnection,
    tenant: &str,
    agent: &str,
    rule: u32,
) -> Result<i64, StoreError> {
    let row = sqlx::query(HITS)
        .bind(tenant)
        .bind(agent)
        .bind(rule)
        .fetch_one(connection)
        .await?;
    Ok(row.try_get("hits")?)
}

/// Reads a run.
pub(super) async fn read(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    run: &RunId,
) -> Result<Option<StoredRun>, StoreError> {
    let row = sqlx::query(concat!(
        "SELECT ",
        columns!(),
        " FROM runs WHERE run_id = $1 AND tenant = $2"
    ))
    .bind(run.as_str())
    .bind(tenant.as_str())
    .fetch_optional(connection)
    .await?;
    row.as_ref().map(unpack).transpose()
}

/// The runs of flows, in the order they were started.
pub(super) async fn of_flows(
    connection: &mut SqliteConnection,
    flows: &[FlowId],
) -> Result<Vec<Run>, StoreError> {
    let mut query = QueryBuilder::<Sqlite>::new(concat!(
        "SELECT ",
        columns!(),
        " FROM runs WHERE flow_id IN"
    ));
    push_flows(&mut query, flows);
    query.push(" ORDER BY queue_seq");
    let rows = query.build().fetch_all(connection).await?;
    rows.iter().map(|row| Ok(unpack(row)?.run)).collect()
}

/// Lists runs, newest first.
pub(super) async fn list(
    reader: &SqlitePool,
    tenant: &TenantId,
    session: Option<&SessionKey>,
    states: &[RunState],
    page: &PageRequest,
) -> Result<Page<StoredRun>, StoreError> {
    let rows = list_query(tenant, session, states, page)
        .build()
        .fetch_all(reader)
        .await?;
    let runs = rows.iter().map(unpack).collect::<Result<Vec<_>, _>>()?;
    let (rows, next) = super::cut_page(runs, page.limit, |stored| RecordCursor::from(&stored.run));
    Ok(Page { rows, next })
}

fn list_query(
    tenant: &TenantId,
    session: Option<&SessionKey>,
    states: &[RunState],
    page: &PageRequest,
) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new(concat!("SELECT ", columns!(), " FROM runs"));
    query.push(" WHERE tenant = ").push_bind(tenant.as_str());
    if let Some(session) = session {
        query
            .push(" AND session_key = ")
            .push_bind(session.as_str());
    }
    if !states.is_empty() {
        query.push(" AND state IN (");
        let mut words = query.separated(", ");
        for state in states {
            words.push_bind(state.as_str());
        }
        query.push(")");
    }
    if let Some(after) = &page.after {
        query
            .push(" AND (created_at, run_id) < (")
            .push_bind(after.created_at);
        query.push(", ").push_bind(&after.id).push(")");
    }
    query.push(" ORDER BY created_at DESC, run_id DESC LIMIT ");
    query.push_bind(page.limit.saturating_add(1));
    query
}

const UNFINISHED: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM runs INDEXED BY runs_holder WHERE holds_session = 1 AND state <> 'running'"
);

/// Runs that have ended but still hold their session.
pub(super) async fn unfinished(reader: &SqlitePool) -> Result<Vec<StoredRun>, StoreError> {
    let rows = sqlx::query(UNFINISHED).fetch_all(reader).await?;
    rows.iter().map(unpack).collect()
}

const LIVE: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM runs WHERE tenant = $1 AND session_key = $2 AND state = 'queued' UNION ALL SELECT ",
    columns!(),
    " FROM runs WHERE tenant = $1 AND session_key = $2 AND holds_session = 1",
);

/// A session's queued runs, and the one that holds it.
pub(super) async fn live(
    connection: &mut SqliteConnection,
    session: &QueuedSession,
) -> Result<Vec<StoredRun>, StoreError> {
    let rows = sqlx::query(LIVE)
        .bind(session.tenant.as_str())
        .bind(session.session_key.as_str())
        .fetch_all(connection)
        .await?;
    rows.iter().map(unpack).collect()
}

const QUEUED_SESSIONS: &str =
    "SELECT DISTINCT tenant, session_key FROM runs WHERE state = 'queued'";

/// Queued runs that were accepted before a moment.
pub(super) async fn overdue(
    reader: &SqlitePool,
    accepted_before: Timestamp,
    limit: u32,
) -> Result<Vec<StoredRun>, StoreError> {
    let rows = sqlx::query(concat!(
        "SELECT ",
        columns!(),
        " FROM runs WHERE state = 'queued' AND created_at < $1 ORDER BY created_at LIMIT $2"
    ))
    .bind(accepted_before.millis())
    .bind(limit)
    .fetch_all(reader)
    .await?;
    rows.iter().map(unpack).collect()
}

/// Sessions with queued runs.
pub(super) async fn queued_sessions(reader: &SqlitePool) -> Result<Vec<QueuedSession>, StoreError> {
    let rows = sqlx::query(QUEUED_SESSIONS).fetch_all(reader).await?;
    rows.iter().map(queued_session).collect()
}

/// The record as it is: what was accepted, with what happened since.
fn unpack(row: &SqliteRow) -> Result<StoredRun, StoreError> {
    let packed: Vec<u8> = row.try_get("packed")?;
    let mut run = wire::run::unpack(&packed).map_err(StoreError::corrupt)?;
    let state: String = row.try_get("state")?;
    run.state = RunState::parse(&state)
        .ok_or_else(|| StoreError::corrupt(format!("run state {state:?} is unknown")))?;
    let session_id: Option<String> = row.try_get("session_id")?;
    run.session_id = session_id
        .map(SessionId::parse)
        .transpose()
        .map_err(StoreError::corrupt)?;
    run.attempts = row.try_get("attempts")?;
    let ordinal: i64 = row.try_get("ordinal")?;
    run.ordinal = u64::try_from(ordinal).map_err(StoreError::corrupt)?;
    run.notices = notices::unpack(row.try_get("notices")?)?;
    run.model = row.try_get::<Option<String>, _>("model")?.or(run.model);
    run.started_at = moment(row, "started_at")?;
    run.ended_at = moment(row, "ended_at")?;
    let result: Option<String> = row.try_get("result")?;
    let result: Option<RunResult> = result
        .map(|text| serde_json::from_str(&text))
        .transpose()
        .map_err(StoreError::corrupt)?;
    let trace = result.map_or_else(Vec::new, |result| {
        apply_outcome(&mut run, &result.outcome);
        result.trace
    });
    let (tenant, step_id): (String, String) = (row.try_get("tenant")?, row.try_get("step_id")?);
    Ok(StoredRun {
        tenant: TenantId::parse(tenant).map_err(StoreError::corrupt)?,
        run,
        step_id: step_id.parse().map_err(StoreError::corrupt)?,
        store_input: row.try_get("store_input")?,
        lease_epoch: row.try_get("lease_epoch")?,
        trace,
        trace_parent: row.try_get("trace_parent")?,
    })
}

fn moment(row: &SqliteRow, column: &str) -> Result<Option<Timestamp>, StoreError> {
    let millis: Option<i64> = row.try_get(column)?;
    Ok(millis.map(Timestamp::from_millis))
}

pub(super) fn queued_session(row: &SqliteRow) -> Result<QueuedSession, StoreError> {
    let (tenant, key): (String, String) = (row.try_get("tenant")?, row.try_get("session_key")?);
    Ok(QueuedSession {
        tenant: TenantId::parse(tenant).map_err(StoreError::corrupt)?,
        session_key: SessionKey::parse(&key).map_err(StoreError::corrupt)?,
    })
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
    let all = list_query(&tenant, None, &RunState::ALL, &page).into_string();
    let one = list_query(&tenant, session.as_ref(), &[], &page).into_string();
    let fixed = [
        CLAIM,
        LIVE,
        REQUEUE,
        TAKE_SPENT,
        UNFINISHED,
        QUEUED_SESSIONS,
        HITS,
    ];
    fixed
        .map(str::to_owned)
        .into_iter()
        .chain([all, one])
        .collect()
}
