//! The registry's store in an SQLite file.

mod list;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use confab_model::id::{AgentId, SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::session::{Label, Session};
use confab_store::StoreError;
use confab_store::sqlite::{Database, Migration};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{QueryBuilder, Row as _, Sqlite};

use self::rows::{read_row, read_session};
use crate::activity::Activity;
use crate::store::{Creation, Filter, Found, Lookup, Position, RegistryStore, Row};

/// The steps of the registry's schema.
pub const MIGRATIONS: &[Migration] = &[Migration {
    version: 1,
    description: "sessions",
    sql: include_str!("../../migrations/0001_sessions.sql"),
}];

const BY_KEY: &str = "SELECT packed FROM sessions WHERE tenant = $1 AND key = $2";

const LABEL_HOLDER: &str =
    "SELECT key FROM sessions WHERE tenant = $1 AND label = $2 AND agent_id = $3";

const INSERT_SESSION_ID: &str =
    "INSERT INTO session_ids (tenant, session_id, key) VALUES ($1, $2, $3)";

/// Walks from agent to agent on the index instead of over every session.
const AGENTS: &str = "
    WITH RECURSIVE agents (agent_id) AS (
        SELECT min(agent_id) FROM sessions WHERE tenant = $1
        UNION ALL
        SELECT (SELECT min(agent_id) FROM sessions
                WHERE tenant = $1 AND agent_id > agents.agent_id)
        FROM agents WHERE agents.agent_id IS NOT NULL
    )
    SELECT agent_id FROM agents WHERE agent_id IS NOT NULL";

/// `UNION` and not `UNION ALL`: a ring of spawns, however it came about, ends the walk.
const DESCENDANTS: &str = "
    WITH RECURSIVE family (key) AS (
        SELECT $2
        UNION
        SELECT sessions.key FROM family
        JOIN sessions ON sessions.tenant = $1 AND sessions.spawned_by = family.key
    )
    SELECT key FROM family WHERE key <> $2 LIMIT $3";

/// The registry's store in an SQLite file; clones share it.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    database: Database,
}

impl SqliteStore {
    /// The store in `database`, which was opened with [`MIGRATIONS`].
    pub const fn new(database: Database) -> Self {
        Self { database }
    }

    async fn rows_by_key(
        &self,
        tenant: &TenantId,
        keys: &[SessionKey],
    ) -> Result<BTreeMap<SessionKey, Session>, StoreError> {
        if keys.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut query = QueryBuilder::new("SELECT packed FROM sessions WHERE tenant = ");
        query.push_bind(tenant.as_str()).push(" AND key IN ");
        push_list(&mut query, keys.iter().map(SessionKey::as_str));
        let rows = query.build().fetch_all(self.database.reader()).await?;
        let sessions = rows.iter().map(read_session);
        sessions
            .map(|session| session.map(|session| (session.key.clone(), session)))
            .collect()
    }

    async fn rows_by_session_id(
        &self,
        tenant: &TenantId,
        session_ids: &[String],
    ) -> Result<BTreeMap<String, (SessionId, Session)>, StoreError> {
        if session_ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut query = QueryBuilder::new(
            "SELECT session_ids.session_id, packed FROM session_ids JOIN sessions USING (tenant, key) \
             WHERE session_ids.tenant = ",
        );
        query
            .push_bind(tenant.as_str())
            .push(" AND session_ids.session_id IN ");
        push_list(&mut query, session_ids.iter().map(String::as_str));
        let rows = query.build().fetch_all(self.database.reader()).await?;
        rows.iter().map(read_generation).collect()
    }

    async fn rows_by_label(
        &self,
        tenant: &TenantId,
        lookup: &Lookup,
    ) -> Result<BTreeMap<String, Vec<Session>>, StoreError> {
        if lookup.labels.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut query = QueryBuilder::new(
            "SELECT label, packed FROM sessions WHERE archived_at IS NULL AND tenant = ",
        );
        query.push_bind(tenant.as_str()).push(" AND label IN ");
        push_list(&mut query, lookup.labels.iter().map(Label::as_str));
        let mut found: BTreeMap<String, Vec<Session>> = BTreeMap::new();
        for row in query.build().fetch_all(self.database.reader()).await? {
            found
                .entry(row.try_get("label")?)
                .or_default()
                .push(read_session(&row)?);
        }
        for sessions in found.values_mut() {
            sessions.sort_by(|one, other| one.key.cmp(&other.key));
        }
        Ok(found)
    }
}

impl RegistryStore for SqliteStore {
    async fn look_up(&self, tenant: &TenantId, lookup: &Lookup) -> Result<Found, StoreError> {
        Ok(Found {
            by_key: self.rows_by_key(tenant, &lookup.keys).await?,
            by_session_id: self.rows_by_session_id(tenant, &lookup.session_ids).await?,
            by_label: self.rows_by_label(tenant, lookup).await?,
        })
    }

    async fn descendants(
        &self,
        tenant: &TenantId,
        ancestor: &SessionKey,
        limit: usize,
    ) -> Result<Vec<SessionKey>, StoreError> {
        let keys: Vec<String> = sqlx::query_scalar(DESCENDANTS)
            .bind(tenant.as_str())
            .bind(ancestor.as_str())
            .bind(count(limit))
            .fetch_all(self.database.reader())
            .await?;
        keys.iter()
            .map(|key| SessionKey::parse(key).map_err(StoreError::corrupt))
            .collect()
    }

    async fn agents(&self, tenant: &TenantId) -> Result<Vec<AgentId>, StoreError> {
        let agents: Vec<String> = sqlx::query_scalar(AGENTS)
            .bind(tenant.as_str())
            .fetch_all(self.database.reader())
            .await?;
        Ok(agents
            .iter()
            .map(|agent| AgentId::normalise(agent))
            .collect())
    }

    async fn list(
        &self,
        tenant: &TenantId,
        filter: &Filter,
        after: Option<&Position>,
        limit: usize,
    ) -> Result<Vec<Session>, StoreError> {
        let mut query = list::statement(tenant, filter, after, count(limit));
        let rows = query.build().fetch_all(self.database.reader()).await?;
        rows.iter().map(read_session).collect()
    }

    async fn create(&self, tenant: &TenantId, session: Session) -> Result<Creation, StoreError> {
        let tenant = tenant.clone();
        self.database
            .write(move |connection| {
                Box::pin(async move { create(connection, &tenant, session).await })
            })
            .await
    }

    async fn record(&self, activities: Vec<Activity>) -> Result<Vec<Activity>, StoreError> {
        if activities.is_empty() {
            return Ok(Vec::new());
        }
        self.database
            .write(move |connection| Box::pin(async move { record(connection, activities).await }))
            .await
    }
}

async fn create(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    session: Session,
) -> Result<Creation, StoreError> {
    if let Some(known) = find(connection, tenant, &session.key).await? {
        return Ok(Creation::Exists(known));
    }
    if let Some(spawner) = &session.spawned_by
        && find(connection, tenant, spawner).await?.is_none()
    {
        return Ok(Creation::SpawnerMissing(spawner.clone()));
    }
    if let Some(label) = &session.label
        && label_is_taken(connection, tenant, &session).await?
    {
        return Ok(Creation::LabelInUse(label.clone()));
    }
    let row = Row::new(session);
    rows::put(connection, &[(tenant, &row)]).await?;
    sqlx::query(INSERT_SESSION_ID)
        .bind(tenant.as_str())
        .bind(row.session.session_id.as_str())
        .bind(row.session.key.as_str())
        .execute(&mut *connection)
        .await?;
    Ok(Creation::Created(row.session))
}

async fn find(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    key: &SessionKey,
) -> Result<Option<Session>, StoreError> {
    let row = sqlx::query(BY_KEY)
        .bind(tenant.as_str())
        .bind(key.as_str())
        .fetch_optional(connection)
        .await?;
    row.as_ref().map(read_session).transpose()
}

async fn label_is_taken(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    session: &Session,
) -> Result<bool, StoreError> {
    let holder: Option<String> = sqlx::query_scalar(LABEL_HOLDER)
        .bind(tenant.as_str())
        .bind(session.label.as_ref().map(Label::as_str))
        .bind(rows::agent_of(session).to_string())
        .fetch_optional(connection)
        .await?;
    Ok(holder.is_some())
}

/// Loads every row that is spoken of once, applies the records in their order, and writes the rows
/// that changed.
async fn record(
    connection: &mut SqliteConnection,
    activities: Vec<Activity>,
) -> Result<Vec<Activity>, StoreError> {
    let mut known = load(connection, &activities).await?;
    let mut changed = BTreeSet::new();
    let mut unknown = Vec::new();
    for activity in activities {
        let place = (activity.tenant.clone(), activity.session_key.clone());
        let Some(row) = known.get_mut(&place) else {
            unknown.push(activity);
            continue;
        };
        if row.take(&activity) {
            changed.insert(place);
        }
    }
    let written: Vec<(&TenantId, &Row)> = changed
        .iter()
        .filter_map(|place| known.get(place).map(|row| (&place.0, row)))
        .collect();
    rows::put(connection, &written).await?;
    Ok(unknown)
}

/// A session of a tenant.
type Place = (TenantId, SessionKey);

async fn load(
    connection: &mut SqliteConnection,
    activities: &[Activity],
) -> Result<BTreeMap<Place, Row>, StoreError> {
    let mut wanted: BTreeMap<&TenantId, BTreeSet<&str>> = BTreeMap::new();
    for activity in activities {
        wanted
            .entry(&activity.tenant)
            .or_default()
            .insert(activity.session_key.as_str());
    }
    let mut known = BTreeMap::new();
    for (tenant, keys) in wanted {
        let mut query = QueryBuilder::new(
            "SELECT packed, last_run_at, routed_at, routed_by FROM sessions WHERE tenant = ",
        );
        query.push_bind(tenant.as_str()).push(" AND key IN ");
        push_list(&mut query, keys.into_iter());
        for row in query.build().fetch_all(&mut *connection).await? {
            let row = read_row(&row)?;
            known.insert((tenant.clone(), row.session.key.clone()), row);
        }
    }
    Ok(known)
}

fn read_generation(row: &SqliteRow) -> Result<(String, (SessionId, Session)), StoreError> {
    let text: String = row.try_get("session_id")?;
    let session_id = SessionId::parse(text.clone()).map_err(StoreError::corrupt)?;
    Ok((text, (session_id, read_session(row)?)))
}

/// Pushes `(…, …)`; every value is bound.
fn push_list<'a>(query: &mut QueryBuilder<Sqlite>, values: impl Iterator<Item = &'a str>) {
    query.push("(");
    let mut list = query.separated(", ");
    for value in values {
        list.push_bind(value.to_owned());
    }
    query.push(")");
}

/// A limit as the database counts; limits are far below where this could saturate.
fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}
