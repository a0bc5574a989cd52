//! Rows as the table holds them.

use confab_model::clock::Timestamp;
use confab_model::id::{AgentId, RunId, TenantId};
use confab_model::key::SessionKey;
use confab_model::session::Session;
use confab_rpc::wire;
use confab_store::StoreError;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{QueryBuilder, Row as _, Sqlite};

use super::awareness::changes::{Counter, advance};
use super::count;
use super::list::Shelf;
use crate::limits::ROWS_PER_STATEMENT_MAX;
use crate::store::{Position, Routed, Row, fold};

/// What [`read_row`] reads.
pub(super) const COLUMNS: &str =
    "key, packed, state_version, last_run_at, routed_at, routed_by, reopened_at";

const INSERT: &str = "INSERT INTO sessions (tenant, key, session_id, agent_id, kind, shelf, label, \
     spawned_by, pinned_at, archived_at, created_at, updated_at, row_version, work_epoch, \
     last_run_at, routed_at, routed_by, reopened_at, done_at, removable, search, change_seq, \
     packed) ";

/// Everything but the key can change.
const REPLACE: &str = " ON CONFLICT (tenant, key) DO UPDATE SET \
     session_id = excluded.session_id, agent_id = excluded.agent_id, kind = excluded.kind, \
     shelf = excluded.shelf, label = excluded.label, spawned_by = excluded.spawned_by, \
     pinned_at = excluded.pinned_at, archived_at = excluded.archived_at, \
     created_at = excluded.created_at, updated_at = excluded.updated_at, \
     row_version = excluded.row_version, work_epoch = excluded.work_epoch, \
     last_run_at = excluded.last_run_at, routed_at = excluded.routed_at, \
     routed_by = excluded.routed_by, reopened_at = excluded.reopened_at, \
     done_at = excluded.done_at, removable = excluded.removable, search = excluded.search, \
     change_seq = excluded.change_seq, packed = excluded.packed";

/// The session in the columns `packed` and `state_version`.
pub(super) fn read_session(row: &SqliteRow) -> Result<Session, StoreError> {
    let packed: &[u8] = row.try_get("packed")?;
    let unpacked = wire::session::unpack(packed).map_err(StoreError::corrupt)?;
    Ok(Session {
        state_version: counter(row, "state_version")?,
        ..unpacked.session
    })
}

/// The whole row.
pub(super) fn read_row(row: &SqliteRow) -> Result<Row, StoreError> {
    let last_run_at: Option<i64> = row.try_get("last_run_at")?;
    let reopened_at: Option<i64> = row.try_get("reopened_at")?;
    Ok(Row {
        session: read_session(row)?,
        last_run_at: last_run_at.map(Timestamp::from_millis),
        routed: read_routed(row)?,
        reopened_at: reopened_at.map(Timestamp::from_millis),
    })
}

/// The whole row, to be written again. One that holds what this version does not know is refused:
/// writing it would lose that.
pub(super) fn read_to_rewrite(row: &SqliteRow) -> Result<Row, StoreError> {
    let packed: &[u8] = row.try_get("packed")?;
    match wire::session::unpack(packed).map(|unpacked| unpacked.fault) {
        Ok(Some(fault)) => Err(StoreError::corrupt(fault)),
        Ok(None) | Err(_) => read_row(row),
    }
}

/// What was read of a row among others; a row that cannot be read is told to the log and passed over,
/// so that it harms none but itself. The statement selects `key`.
///
/// Source: B136.
pub(super) fn or_pass_over<T>(row: &SqliteRow, read: Result<T, StoreError>) -> Option<T> {
    read.inspect_err(|error| {
        let key = row.try_get::<&str, _>("key").unwrap_or_default();
        tracing::warn!(session.key = key, %error, "a row that cannot be read is passed over");
    })
    .ok()
}

/// The row of a key, to be written again.
pub(super) async fn find_to_rewrite(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    key: &SessionKey,
) -> Result<Option<Row>, StoreError> {
    let mut query: QueryBuilder<Sqlite> = QueryBuilder::new("SELECT ");
    query.push(COLUMNS).push(" FROM sessions WHERE tenant = ");
    query.push_bind(tenant.as_str()).push(" AND key = ");
    query.push_bind(key.as_str());
    let row = query.build().fetch_optional(connection).await?;
    row.as_ref().map(read_to_rewrite).transpose()
}

fn read_routed(row: &SqliteRow) -> Result<Option<Routed>, StoreError> {
    let at: Option<i64> = row.try_get("routed_at")?;
    let by: Option<String> = row.try_get("routed_by")?;
    let (Some(at), Some(by)) = (at, by) else {
        return Ok(None);
    };
    let run_id = RunId::parse(by).map_err(StoreError::corrupt)?;
    Ok(Some(Routed {
        at: Timestamp::from_millis(at),
        run_id,
    }))
}

/// Writes rows whole: new ones, and those that replace what is stored. Each write is the latest
/// change of all rows. The heads of logs stand in columns that this does not write.
pub(super) async fn put(
    connection: &mut SqliteConnection,
    rows: &[(&TenantId, &Row)],
) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let last = advance(connection, Counter::Change, rows.len()).await?;
    let mut change = integer(last).saturating_sub(count(rows.len()));
    for some in rows.chunks(ROWS_PER_STATEMENT_MAX) {
        let mut query: QueryBuilder<Sqlite> = QueryBuilder::new(INSERT);
        query.push_values(some, |mut values, (tenant, row)| {
            let session = &row.session;
            let position = Position::of(session);
            change = change.saturating_add(1);
            values
                .push_bind(tenant.to_string())
                .push_bind(position.key)
                .push_bind(session.session_id.to_string())
                .push_bind(agent_of(&session.key).to_string())
                .push_bind(session.key.kind().as_str())
                .push_bind(Shelf::of(session).code())
                .push_bind(
                    session
                        .label
                        .as_ref()
                        .map(|label| label.as_str().to_owned()),
                )
                .push_bind(session.spawned_by.as_ref().map(ToString::to_string))
                .push_bind(position.pinned_at)
                .push_bind(session.archived_at.map(Timestamp::millis))
                .push_bind(position.created_at)
                .push_bind(position.updated_at)
                .push_bind(integer(session.row_version))
                .push_bind(integer(session.work_epoch))
                .push_bind(row.last_run_at.map(Timestamp::millis))
                .push_bind(row.routed.as_ref().map(|routed| routed.at.millis()))
                .push_bind(row.routed.as_ref().map(|routed| routed.run_id.to_string()))
                .push_bind(row.reopened_at.map(Timestamp::millis))
                .push_bind(row.done_at().map(Timestamp::millis))
                .push_bind(row.is_removable())
                .push_bind(searched(session))
                .push_bind(change)
                .push_bind(wire::session::pack(session));
        });
        query.push(REPLACE);
        query.build().execute(&mut *connection).await?;
    }
    Ok(())
}

/// Whose session it is; the one that serves all counts as agent `main`'s.
///
/// Source: reg:K7.
pub(super) fn agent_of(key: &SessionKey) -> AgentId {
    key.agent_id().unwrap_or_else(|| AgentId::normalise("main"))
}

/// What a search looks through, a line each; the name a row displays is its label.
///
/// Source: reg:L14.
fn searched(session: &Session) -> String {
    let label = session.label.as_ref().map_or("", |label| label.as_str());
    let last_model = session
        .last_run
        .as_ref()
        .and_then(|run| run.model.as_deref());
    let own_model = session.tuning.model.as_deref();
    let lines = [
        session.key.as_str(),
        label,
        session.session_id.as_str(),
        last_model.unwrap_or_default(),
        own_model.unwrap_or_default(),
    ];
    fold(&lines.join("\n"))
}

/// The counter in a column.
pub(super) fn counter(row: &SqliteRow, column: &str) -> Result<u64, StoreError> {
    let number: i64 = row.try_get(column)?;
    u64::try_from(number).map_err(StoreError::corrupt)
}

/// A counter as the database holds it; none comes near the end of the range.
pub(super) fn integer(counter: u64) -> i64 {
    i64::try_from(counter).unwrap_or(i64::MAX)
}
