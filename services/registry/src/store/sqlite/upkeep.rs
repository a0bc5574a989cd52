//! Finding rows whose time is over, in the order of their indices.

use confab_model::clock::Timestamp;
use confab_model::id::TenantId;
use confab_store::StoreError;
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row as _, Sqlite};

use super::{SqliteStore, count, rows};
use crate::store::upkeep::{Kept, Place, UpkeepStore};

/// An index alone answers it.
pub(super) const ROW_COUNTS: &str = "SELECT tenant, COUNT(*) AS rows FROM sessions GROUP BY tenant";

impl UpkeepStore for SqliteStore {
    async fn done_since(
        &self,
        tenant: Option<&TenantId>,
        moment: Timestamp,
        limit: usize,
    ) -> Result<Vec<Kept>, StoreError> {
        let mut query = done_since(tenant, moment, limit);
        let found = query.build().fetch_all(self.database.reader()).await?;
        Ok(readable(&found))
    }

    async fn unmoved_before(
        &self,
        tenant: Option<&TenantId>,
        moment: Timestamp,
        after: Option<&Place>,
        limit: usize,
    ) -> Result<Vec<Kept>, StoreError> {
        let mut query = unmoved_before(tenant, moment, after, limit);
        let found = query.build().fetch_all(self.database.reader()).await?;
        Ok(readable(&found))
    }

    async fn row_counts(&self) -> Result<Vec<(TenantId, u64)>, StoreError> {
        let counts = sqlx::query(ROW_COUNTS)
            .fetch_all(self.database.reader())
            .await?;
        counts.iter().map(read_count).collect()
    }
}

fn select() -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new("SELECT tenant, ");
    query.push(rows::COLUMNS).push(" FROM sessions WHERE ");
    query
}

pub(super) fn done_since(
    tenant: Option<&TenantId>,
    moment: Timestamp,
    limit: usize,
) -> QueryBuilder<Sqlite> {
    let mut query = select();
    query
        .push("done_at IS NOT NULL AND done_at <= ")
        .push_bind(moment.millis());
    if let Some(tenant) = tenant {
        query.push(" AND tenant = ").push_bind(tenant.to_string());
    }
    query
        .push(" ORDER BY done_at, tenant, key LIMIT ")
        .push_bind(count(limit));
    query
}

pub(super) fn unmoved_before(
    tenant: Option<&TenantId>,
    moment: Timestamp,
    after: Option<&Place>,
    limit: usize,
) -> QueryBuilder<Sqlite> {
    let mut query = select();
    // A session with open children keeps the place for their results: it goes after them.
    query.push(
        "removable = 1 AND NOT EXISTS (SELECT 1 FROM sessions AS child \
         WHERE child.tenant = sessions.tenant AND child.spawned_by = sessions.key \
         AND child.archived_at IS NULL) AND updated_at < ",
    );
    query.push_bind(moment.millis());
    if let Some(tenant) = tenant {
        query.push(" AND tenant = ").push_bind(tenant.to_string());
    }
    if let Some(place) = after {
        query.push(" AND (updated_at, tenant, key) > (");
        query
            .push_bind(place.updated_at.millis())
            .push(", ")
            .push_bind(place.tenant.to_string())
            .push(", ")
            .push_bind(place.key.clone())
            .push(")");
    }
    query
        .push(" ORDER BY updated_at, tenant, key LIMIT ")
        .push_bind(count(limit));
    query
}

/// A row that cannot be read is nobody's to remove, and keeps nobody from removing others.
fn readable(found: &[SqliteRow]) -> Vec<Kept> {
    let read = |row| rows::or_pass_over(row, read_kept(row));
    found.iter().filter_map(read).collect()
}

fn read_kept(row: &SqliteRow) -> Result<Kept, StoreError> {
    Ok(Kept {
        tenant: read_tenant(row)?,
        row: rows::read_row(row)?,
    })
}

fn read_count(row: &SqliteRow) -> Result<(TenantId, u64), StoreError> {
    let rows: i64 = row.try_get("rows")?;
    let rows = u64::try_from(rows).map_err(StoreError::corrupt)?;
    Ok((read_tenant(row)?, rows))
}

fn read_tenant(row: &SqliteRow) -> Result<TenantId, StoreError> {
    let tenant: String = row.try_get("tenant")?;
    TenantId::parse(tenant).map_err(StoreError::corrupt)
}
