//! Rows as the table holds them.

use confab_model::clock::Timestamp;
use confab_model::id::{AgentId, RunId, TenantId};
use confab_model::session::Session;
use confab_rpc::wire;
use confab_store::StoreError;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{QueryBuilder, Row as _, Sqlite};

use super::list::Shelf;
use crate::limits::ROWS_PER_STATEMENT_MAX;
use crate::store::{Position, Routed, Row};

const INSERT: &str = "INSERT INTO sessions (tenant, key, session_id, agent_id, kind, shelf, label, \
     spawned_by, pinned_at, archived_at, created_at, updated_at, row_version, work_epoch, \
     last_run_at, routed_at, routed_by, search, packed) ";

/// Everything but the key can change.
const REPLACE: &str = " ON CONFLICT (tenant, key) DO UPDATE SET \
     session_id = excluded.session_id, agent_id = excluded.agent_id, kind = excluded.kind, \
     shelf = excluded.shelf, label = excluded.label, spawned_by = excluded.spawned_by, \
     pinned_at = excluded.pinned_at, archived_at = excluded.archived_at, \
     created_at = excluded.created_at, updated_at = excluded.updated_at, \
     row_version = excluded.row_version, work_epoch = excluded.work_epoch, \
     last_run_at = excluded.last_run_at, routed_at = excluded.routed_at, \
     routed_by = excluded.routed_by, search = excluded.search, packed = excluded.packed";

/// The session in column `packed`.
pub(super) fn read_session(row: &SqliteRow) -> Result<Session, StoreError> {
    let packed: &[u8] = row.try_get("packed")?;
    wire::session::unpack(packed).map_err(StoreError::corrupt)
}

/// The whole row.
pub(super) fn read_row(row: &SqliteRow) -> Result<Row, StoreError> {
    let last_run_at: Option<i64> = row.try_get("last_run_at")?;
    Ok(Row {
        session: read_session(row)?,
        last_run_at: last_run_at.map(Timestamp::from_millis),
        routed: read_routed(row)?,
    })
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

/// Writes rows whole: new ones, and those that replace what is stored.
pub(super) async fn put(
    connection: &mut SqliteConnection,
    rows: &[(&TenantId, &Row)],
) -> Result<(), StoreError> {
    for some in rows.chunks(ROWS_PER_STATEMENT_MAX) {
        let mut query: QueryBuilder<Sqlite> = QueryBuilder::new(INSERT);
        query.push_values(some, |mut values, (tenant, row)| {
            let session = &row.session;
            let position = Position::of(session);
            values
                .push_bind(tenant.to_string())
                .push_bind(position.key)
                .push_bind(session.session_id.to_string())
                .push_bind(agent_of(session).to_string())
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
                .push_bind(searched(session))
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
pub(super) fn agent_of(session: &Session) -> AgentId {
    session
        .key
        .agent_id()
        .unwrap_or_else(|| AgentId::normalise("main"))
}

/// What a search looks through, a line each.
fn searched(session: &Session) -> String {
    let label = session.label.as_ref().map_or("", |label| label.as_str());
    format!("{}\n{label}\n{}", session.key, session.session_id).to_lowercase()
}

/// A counter as the database holds it; none comes near the end of the range.
fn integer(counter: u64) -> i64 {
    i64::try_from(counter).unwrap_or(i64::MAX)
}
