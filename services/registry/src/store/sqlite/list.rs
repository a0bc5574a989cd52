//! Lists of sessions.

pub(super) mod statement;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use confab_model::clock::Timestamp;
use confab_model::id::{SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::session::{Label, Session};
use confab_rpc::wire::session::{Perspective, StoredRow, to_proto, unpack_row};
use confab_store::StoreError;
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use self::statement::Query;
use crate::store::{Filter, Listed};

/// What a row tells in its columns, for rows whose packed form cannot be read.
const COLUMNS: &str = "
    SELECT rowid AS id, key, session_id, label, spawned_by, pinned_at, archived_at, created_at,
        updated_at, row_version, work_epoch, state_version
    FROM sessions WHERE tenant = $1 AND +rowid IN (SELECT value FROM json_each($2))";

/// Which list a session stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shelf {
    /// The list of open sessions.
    Open,
    /// The list of archived sessions.
    Archived,
    /// No list: the session of a single run of a scheduled job, or one that a part of the system made
    /// for itself (reg:K24, reg:K27).
    Unlisted,
}

impl Shelf {
    pub(super) fn of(session: &Session) -> Self {
        if session.key.is_cron_run() || session.key.is_internal() {
            Self::Unlisted
        } else if session.archived_at.is_some() {
            Self::Archived
        } else {
            Self::Open
        }
    }

    /// The one a list shows.
    ///
    /// Source: reg:L13.
    const fn asked(filter: &Filter) -> Self {
        if filter.archived {
            Self::Archived
        } else {
            Self::Open
        }
    }

    pub(super) const fn code(self) -> i64 {
        match self {
            Self::Open => 0,
            Self::Archived => 1,
            Self::Unlisted => 2,
        }
    }
}

/// A row whose packed form cannot be read.
struct Unreadable {
    id: i64,
    fault: String,
    children: Vec<String>,
}

/// One page of a list. A row that cannot be read is shown by its columns, and marked.
///
/// Source: B136.
pub(super) async fn page(
    connection: &mut SqliteConnection,
    query: &Query<'_>,
    tenant: &TenantId,
) -> Result<Vec<Listed>, StoreError> {
    if query.is_empty() {
        return Ok(Vec::new());
    }
    let rows = query.fetch(connection).await?;
    let mut page = Vec::with_capacity(rows.len());
    for row in &rows {
        page.push(read(row)?);
    }
    let bad: Vec<i64> = page
        .iter()
        .filter_map(|row| row.as_ref().err().map(|row| row.id))
        .collect();
    let mut salvaged = salvage(connection, tenant, &bad).await?;
    let shown = page.into_iter().filter_map(|row| match row {
        Ok(listed) => Some(listed),
        Err(row) => salvaged.remove(&row.id).map(|session| Listed {
            session: Box::new(to_proto(&session, &Perspective::default())),
            fault: Some(row.fault),
            children: row.children,
        }),
    });
    Ok(shown.collect())
}

/// The inner error is the row's own, the outer one the database's.
fn read(row: &SqliteRow) -> Result<Result<Listed, Unreadable>, StoreError> {
    let children = children(row)?;
    let packed: &[u8] = row.try_get("packed")?;
    Ok(match unpack_row(packed) {
        Ok(StoredRow {
            row: mut session,
            fault,
        }) => {
            session.state_version = row.try_get("state_version")?;
            Ok(Listed {
                session,
                fault,
                children,
            })
        },
        Err(error) => Err(Unreadable {
            id: row.try_get("id")?,
            fault: format!("its stored form cannot be read: {error}"),
            children,
        }),
    })
}

/// A key that is none is a row that no call could name, so it is left out.
fn children(row: &SqliteRow) -> Result<Vec<String>, StoreError> {
    let Some(keys) = row.try_get::<Option<&str>, _>("children")? else {
        return Ok(Vec::new());
    };
    let mut keys: Vec<String> = serde_json::from_str(keys).map_err(StoreError::corrupt)?;
    keys.retain(|key| SessionKey::parse(key).is_ok());
    Ok(keys)
}

/// The rows as their columns tell them; one that went meanwhile, or that has no key, is left out.
async fn salvage(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    ids: &[i64],
) -> Result<BTreeMap<i64, Session>, StoreError> {
    let mut salvaged = BTreeMap::new();
    if ids.is_empty() {
        return Ok(salvaged);
    }
    let rows = sqlx::query(COLUMNS)
        .bind(tenant.as_str())
        .bind(serde_json::Value::from(ids).to_string())
        .fetch_all(connection)
        .await?;
    for row in rows {
        let id: i64 = row.try_get("id")?;
        let key: String = row.try_get("key")?;
        match from_columns(&row) {
            Ok(session) => drop(salvaged.insert(id, session)),
            Err(error) => tracing::warn!(
                session.key = key,
                %error,
                "a row that cannot be read is left out of a list"
            ),
        }
    }
    Ok(salvaged)
}

fn from_columns(row: &SqliteRow) -> Result<Session, StoreError> {
    let time = |name| row.try_get(name).map(Timestamp::from_millis);
    let key = SessionKey::parse(row.try_get("key")?).map_err(StoreError::corrupt)?;
    let session_id: String = row.try_get("session_id")?;
    let session_id = SessionId::parse(session_id).map_err(StoreError::corrupt)?;
    let label: Option<&str> = row.try_get("label")?;
    let spawned_by: Option<&str> = row.try_get("spawned_by")?;
    let archived_at: Option<i64> = row.try_get("archived_at")?;
    let pinned_at: i64 = row.try_get("pinned_at")?;
    Ok(Session {
        label: label.and_then(|text| Label::parse(text).ok()),
        spawned_by: spawned_by.and_then(|text| SessionKey::parse(text).ok()),
        archived_at: archived_at.map(Timestamp::from_millis),
        pinned_at: (pinned_at != 0).then(|| Timestamp::from_millis(pinned_at)),
        updated_at: time("updated_at")?,
        row_version: counter(row, "row_version")?,
        work_epoch: counter(row, "work_epoch")?,
        state_version: counter(row, "state_version")?,
        ..Session::fresh(key, session_id, time("created_at")?)
    })
}

fn counter(row: &SqliteRow, name: &str) -> Result<u64, StoreError> {
    let counter: i64 = row.try_get(name)?;
    Ok(u64::try_from(counter).unwrap_or_default())
}
