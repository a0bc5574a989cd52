//! Sessions of other systems: what is known of them, and what is written.

use confab_model::id::{SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::session::patch::Change;
use confab_store::StoreError;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Connection as _, QueryBuilder, Row as _, Sqlite};

use super::{LABEL_HOLDER, SqliteStore, awareness, change, find, push_list, rows};
use crate::commands::ImportSession;
use crate::import::{Facts, Holder, ImportOutcome, Imported, Importing};
use crate::store::Row;
use crate::store::import::ImportStore;

impl ImportStore for SqliteStore {
    async fn import(
        &self,
        tenant: &TenantId,
        importing: Importing,
    ) -> Result<Imported, StoreError> {
        let tenant = tenant.clone();
        self.database
            .write(move |connection| {
                Box::pin(async move { import(connection, &tenant, importing).await })
            })
            .await
    }
}

/// A dry run is the same import, undone: so it cannot answer otherwise.
async fn import(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    importing: Importing,
) -> Result<Imported, StoreError> {
    let dry_run = importing.request.dry_run;
    let mut savepoint = connection.begin().await?;
    let imported = carry_out(&mut savepoint, tenant, importing).await?;
    if dry_run {
        savepoint.rollback().await?;
    } else {
        savepoint.commit().await?;
    }
    Ok(imported)
}

async fn carry_out(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    importing: Importing,
) -> Result<Imported, StoreError> {
    let facts = facts(connection, tenant, &importing.request).await?;
    let now = importing.now;
    let ids = generations(&importing.request);
    let before = facts
        .stored
        .as_ref()
        .map(|row| row.session.session_id.clone());
    let mut judged = importing.judge(facts);
    let Some(mut row) = judged.row.take() else {
        return Ok(judged.answer(None));
    };
    match judged.outcome {
        ImportOutcome::Unchanged | ImportOutcome::Differs => {},
        ImportOutcome::Created => {
            let epoch = change::epoch_of_deleted(connection, tenant, &row.session.key).await?;
            row.session.work_epoch = epoch.unwrap_or(row.session.work_epoch);
            write(connection, tenant, &row, &ids).await?;
            let version = awareness::spawned(connection, tenant, &row.session, now).await?;
            row.session.state_version = version;
        },
        ImportOutcome::Replaced => {
            write(connection, tenant, &row, &ids).await?;
            if before.as_ref() != Some(&row.session.session_id) {
                awareness::on_reset(connection, tenant, &row.session.key).await?;
            }
        },
    }
    Ok(judged.answer(Some(row.session)))
}

async fn write(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    row: &Row,
    ids: &[SessionId],
) -> Result<(), StoreError> {
    rows::put(connection, &[(tenant, row)]).await?;
    let mut query: QueryBuilder<Sqlite> =
        QueryBuilder::new("INSERT INTO session_ids (tenant, session_id, key) ");
    query.push_values(ids, |mut values, session_id| {
        values
            .push_bind(tenant.to_string())
            .push_bind(session_id.to_string())
            .push_bind(row.session.key.to_string());
    });
    // Those that are stored are of this session; a judgement on all of them said so.
    query.push(" ON CONFLICT (tenant, session_id) DO NOTHING");
    query.build().execute(connection).await?;
    Ok(())
}

/// Every generation that is given, oldest first.
fn generations(request: &ImportSession) -> Vec<SessionId> {
    let mut ids = request.earlier.clone();
    ids.push(request.session_id.clone());
    ids
}

async fn facts(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    request: &ImportSession,
) -> Result<Facts, StoreError> {
    let mut facts = Facts {
        stored: rows::find_to_rewrite(connection, tenant, &request.key).await?,
        label_taken: label_is_of_another(connection, tenant, request).await?,
        holders: holders(connection, tenant, &generations(request)).await?,
        ..Facts::default()
    };
    if let Some(spawner) = &request.fields.spawned_by {
        facts.spawner = find(connection, tenant, spawner).await?;
        facts.spawner_descends =
            change::descends(connection, tenant, &request.key, spawner).await?;
    }
    Ok(facts)
}

async fn label_is_of_another(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    request: &ImportSession,
) -> Result<bool, StoreError> {
    let Some(Change::Set(label)) = &request.fields.patch.label else {
        return Ok(false);
    };
    let holder: Option<String> = sqlx::query_scalar(LABEL_HOLDER)
        .bind(tenant.as_str())
        .bind(label.as_str())
        .bind(rows::agent_of(&request.key).to_string())
        .fetch_optional(connection)
        .await?;
    Ok(holder.is_some_and(|key| key != request.key.as_str()))
}

async fn holders(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    ids: &[SessionId],
) -> Result<Vec<Holder>, StoreError> {
    let mut query: QueryBuilder<Sqlite> =
        QueryBuilder::new("SELECT session_id, key, retired_at FROM session_ids WHERE tenant = ");
    query.push_bind(tenant.as_str()).push(" AND session_id IN ");
    push_list(&mut query, ids.iter().map(SessionId::as_str));
    query.push(" ORDER BY session_id");
    let rows = query.build().fetch_all(connection).await?;
    rows.iter().map(read_holder).collect()
}

fn read_holder(row: &SqliteRow) -> Result<Holder, StoreError> {
    let session_id: String = row.try_get("session_id")?;
    let key: String = row.try_get("key")?;
    let retired_at: Option<i64> = row.try_get("retired_at")?;
    Ok(Holder {
        session_id: SessionId::parse(session_id).map_err(StoreError::corrupt)?,
        key: SessionKey::parse(&key).map_err(StoreError::corrupt)?,
        deleted: retired_at.is_some(),
    })
}
