//! The registry's store in an SQLite file.

mod awareness;
mod change;
mod import;
mod list;
mod rows;
#[cfg(test)]
mod tests;
mod upkeep;

use std::collections::{BTreeMap, BTreeSet};

use confab_model::id::{AgentId, SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::session::{Label, Session};
use confab_store::StoreError;
use confab_store::sqlite::{Database, Migration};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{QueryBuilder, Row as _, Sqlite};

use self::list::statement::Query;
use self::rows::{or_pass_over, read_session, read_to_rewrite};
use crate::activity::Activity;
use crate::create::child_depth;
use crate::store::{
    Batch, Creation, Filter, Found, Listed, Lookup, Position, Recorded, RegistryStore, Retention,
    Row,
};

/// The steps of the registry's schema.
pub const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        description: "sessions",
        sql: include_str!("../../migrations/0001_sessions.sql"),
    },
    Migration {
        version: 2,
        description: "listing",
        sql: include_str!("../../migrations/0002_listing.sql"),
    },
    Migration {
        version: 3,
        description: "awareness",
        sql: include_str!("../../migrations/0003_awareness.sql"),
    },
    Migration {
        version: 4,
        description: "changes",
        sql: include_str!("../../migrations/0004_changes.sql"),
    },
];

const BY_KEY: &str = "SELECT packed, state_version FROM sessions WHERE tenant = $1 AND key = $2";

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

/// Walks over the sessions that spawned, and then takes what they spawned. `UNION` and not
/// `UNION ALL`: a ring of spawns, however it came about, ends the walk.
const DESCENDANTS: &str = "
    WITH RECURSIVE parents (key) AS (
        SELECT $2
        UNION
        SELECT member.key FROM parents
        CROSS JOIN sessions AS member INDEXED BY sessions_spawning
            ON member.tenant = $1 AND member.spawned_by = parents.key AND member.spawner = 1
    )
    SELECT child.key FROM parents
    CROSS JOIN sessions AS child INDEXED BY sessions_by_spawner
        ON child.tenant = $1 AND child.spawned_by = parents.key
    WHERE child.key <> $2 LIMIT $3";

/// Walks from the candidates up: as many steps as there are spawns above them, however many sessions
/// the ancestor has spawned. `UNION` ends a ring of spawns.
const DESCENDING: &str = "
    WITH RECURSIVE above (candidate, key) AS (
        SELECT value, value FROM json_each($3)
        UNION
        SELECT above.candidate, sessions.spawned_by FROM above
        JOIN sessions ON sessions.tenant = $1 AND sessions.key = above.key
        WHERE above.key <> $2 AND sessions.spawned_by IS NOT NULL
    )
    SELECT DISTINCT candidate FROM above WHERE key = $2 AND candidate <> $2";

/// The registry's store in an SQLite file; clones share it.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    database: Database,
    retention: Retention,
}

impl SqliteStore {
    /// The store in `database`, which was opened with [`MIGRATIONS`].
    pub fn new(database: Database) -> Self {
        Self {
            database,
            retention: Retention::default(),
        }
    }

    /// The same store with other bounds on what it keeps.
    #[must_use]
    pub const fn keeping(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    async fn rows_by_key(
        &self,
        tenant: &TenantId,
        keys: &[SessionKey],
    ) -> Result<BTreeMap<SessionKey, Session>, StoreError> {
        if keys.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut query =
            QueryBuilder::new("SELECT key, packed, state_version FROM sessions WHERE tenant = ");
        query.push_bind(tenant.as_str()).push(" AND key IN ");
        push_list(&mut query, keys.iter().map(SessionKey::as_str));
        let rows = query.build().fetch_all(self.database.reader()).await?;
        Ok(rows
            .iter()
            .filter_map(|row| or_pass_over(row, read_session(row)))
            .map(|session| (session.key.clone(), session))
            .collect())
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
            "SELECT session_ids.session_id, key, packed, state_version \
             FROM session_ids JOIN sessions USING (tenant, key) \
             WHERE session_ids.retired_at IS NULL AND session_ids.tenant = ",
        );
        query
            .push_bind(tenant.as_str())
            .push(" AND session_ids.session_id IN ");
        push_list(&mut query, session_ids.iter().map(String::as_str));
        let rows = query.build().fetch_all(self.database.reader()).await?;
        Ok(rows
            .iter()
            .filter_map(|row| or_pass_over(row, read_generation(row)))
            .collect())
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
            "SELECT label, key, packed, state_version FROM sessions WHERE archived_at IS NULL AND tenant = ",
        );
        query.push_bind(tenant.as_str()).push(" AND label IN ");
        push_list(&mut query, lookup.labels.iter().map(Label::as_str));
        let mut found: BTreeMap<String, Vec<Session>> = BTreeMap::new();
        for row in query.build().fetch_all(self.database.reader()).await? {
            let Some(session) = or_pass_over(&row, read_session(&row)) else {
                continue;
            };
            found
                .entry(row.try_get("label")?)
                .or_default()
                .push(session);
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

    async fn descending(
        &self,
        tenant: &TenantId,
        ancestor: &SessionKey,
        candidates: &[SessionKey],
    ) -> Result<BTreeSet<SessionKey>, StoreError> {
        if candidates.is_empty() {
            return Ok(BTreeSet::new());
        }
        let candidates: serde_json::Value = candidates.iter().map(SessionKey::as_str).collect();
        let keys: Vec<String> = sqlx::query_scalar(DESCENDING)
            .bind(tenant.as_str())
            .bind(ancestor.as_str())
            .bind(candidates.to_string())
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
    ) -> Result<Vec<Listed>, StoreError> {
        let query = Query::new(tenant, filter, after, limit);
        let mut connection = self.database.reader().acquire().await?;
        list::page(&mut connection, &query, tenant).await
    }

    async fn create(&self, tenant: &TenantId, session: Session) -> Result<Creation, StoreError> {
        let tenant = tenant.clone();
        self.database
            .write(move |connection| {
                Box::pin(async move { create(connection, &tenant, session).await })
            })
            .await
    }

    async fn record(&self, batch: Batch) -> Result<Recorded, StoreError> {
        if batch.activities.is_empty() && batch.events.is_empty() {
            return Ok(Recorded::default());
        }
        let retention = self.retention;
        self.database
            .write(move |connection| {
                Box::pin(async move {
                    let unknown = record(connection, batch.activities).await?;
                    let events =
                        awareness::record(connection, batch.events, &retention, batch.now).await?;
                    Ok(Recorded { unknown, events })
                })
            })
            .await
    }
}

async fn create(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    mut session: Session,
) -> Result<Creation, StoreError> {
    if let Some(known) = find(connection, tenant, &session.key).await? {
        return Ok(Creation::Exists(known));
    }
    if let Some(spawner) = &session.spawned_by {
        match find(connection, tenant, spawner).await? {
            Some(spawner) => session.spawn.depth = child_depth(&session, &spawner),
            None => return Ok(Creation::SpawnerMissing(spawner.clone())),
        }
    }
    if let Some(label) = &session.label
        && label_is_taken(connection, tenant, &session).await?
    {
        return Ok(Creation::LabelInUse(label.clone()));
    }
    if let Some(epoch) = change::epoch_of_deleted(connection, tenant, &session.key).await? {
        session.work_epoch = epoch;
    }
    let mut row = Row::new(session);
    rows::put(connection, &[(tenant, &row)]).await?;
    change::add_session_id(connection, tenant, &row.session).await?;
    let now = row.session.created_at;
    let version = awareness::spawned(connection, tenant, &row.session, now).await?;
    row.session.state_version = version;
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
        .bind(rows::agent_of(&session.key).to_string())
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
        let mut query = QueryBuilder::new("SELECT ");
        query
            .push(rows::COLUMNS)
            .push(" FROM sessions WHERE tenant = ");
        query.push_bind(tenant.as_str()).push(" AND key IN ");
        push_list(&mut query, keys.into_iter());
        for row in query.build().fetch_all(&mut *connection).await? {
            let Some(row) = or_pass_over(&row, read_to_rewrite(&row)) else {
                continue;
            };
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
