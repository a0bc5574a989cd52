//! Changing rows that exist, all or nothing.

use confab_model::clock::Timestamp;
use confab_model::id::{IdempotencyKey, TenantId};
use confab_model::key::SessionKey;
use confab_model::session::Session;
use confab_model::session::patch::{Change as PatchChange, Fault, FaultKind, Patch};
use confab_policy::lifecycle::{self, Change};
use confab_rpc::wire;
use confab_store::StoreError;
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::{DESCENDING, INSERT_SESSION_ID, SqliteStore, awareness, find, label_is_taken, rows};
use crate::create::child_depth;
use crate::store::change::{
    ChangeError, ChangeStore, Commit, Committed, Expected, KeyUse, Patched, Patching, UsedKey,
};
use crate::store::{Creation, Row};

const USED_KEY: &str = "SELECT fingerprint, changed, packed, state_version FROM idempotency \
     WHERE tenant = $1 AND owner = $2 AND key = $3 AND expires_at > $4";

const FORGET_KEYS: &str = "DELETE FROM idempotency WHERE expires_at <= $1";

const REMEMBER_KEY: &str = "INSERT INTO idempotency \
     (tenant, owner, key, fingerprint, changed, packed, state_version, expires_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

/// Whether a key has a newer change. Its newest one is remembered however old it is: a runner that was away
/// for long may still ask what became of it.
macro_rules! is_older {
    () => {
        "EXISTS (SELECT 1 FROM lifecycle_changes AS newer \
         WHERE newer.tenant = lifecycle_changes.tenant AND newer.key = lifecycle_changes.key \
         AND newer.expires_at > lifecycle_changes.expires_at)"
    };
}

const COMMITTED: &str = concat!(
    "SELECT change, changed, packed, state_version FROM lifecycle_changes ",
    "WHERE tenant = $1 AND key = $2 AND change_id = $3 AND (expires_at > $4 OR NOT ",
    is_older!(),
    ")"
);

const FORGET_CHANGES: &str = concat!(
    "DELETE FROM lifecycle_changes WHERE expires_at <= $1 AND ",
    is_older!()
);

const REMEMBER_CHANGE: &str = "INSERT INTO lifecycle_changes \
     (tenant, key, change_id, change, changed, packed, state_version, expires_at) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";

const DELETE: &str = "DELETE FROM sessions WHERE tenant = $1 AND key = $2";

const RETIRE_SESSION_IDS: &str = "UPDATE session_ids SET retired_at = $3 \
     WHERE tenant = $1 AND key = $2 AND retired_at IS NULL";

const RETIRE: &str = "INSERT INTO retired (tenant, key, work_epoch) VALUES ($1, $2, $3) \
     ON CONFLICT (tenant, key) DO UPDATE SET work_epoch = excluded.work_epoch";

const UNRETIRE: &str = "DELETE FROM retired WHERE tenant = $1 AND key = $2 RETURNING work_epoch";

impl ChangeStore for SqliteStore {
    async fn used_key(
        &self,
        tenant: &TenantId,
        owner: &str,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<UsedKey>, StoreError> {
        let row = sqlx::query(USED_KEY)
            .bind(tenant.as_str())
            .bind(owner)
            .bind(key.as_str())
            .bind(now.millis())
            .fetch_optional(self.database.reader())
            .await?;
        row.as_ref().map(read_used_key).transpose()
    }

    async fn create_named(
        &self,
        tenant: &TenantId,
        session: Session,
        key_use: KeyUse,
    ) -> Result<Creation, ChangeError> {
        let tenant = tenant.clone();
        self.database
            .write(move |connection| {
                Box::pin(async move { create(connection, &tenant, session, key_use).await })
            })
            .await
    }

    async fn patch(&self, tenant: &TenantId, patching: Patching) -> Result<Patched, ChangeError> {
        let tenant = tenant.clone();
        self.database
            .write(move |connection| {
                Box::pin(async move { patch(connection, &tenant, patching).await })
            })
            .await
    }

    async fn commit(&self, tenant: &TenantId, change: Commit) -> Result<Committed, ChangeError> {
        let tenant = tenant.clone();
        self.database
            .write(move |connection| {
                Box::pin(async move { commit(connection, &tenant, change).await })
            })
            .await
    }
}

async fn create(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    session: Session,
    key_use: KeyUse,
) -> Result<Creation, ChangeError> {
    let now = session.created_at;
    if let Some(answer) = repeated(connection, tenant, &key_use, now).await? {
        return Ok(Creation::Created(answer.session));
    }
    let creation = super::create(connection, tenant, session).await?;
    if let Creation::Created(session) = &creation {
        let answer = Patched {
            session: session.clone(),
            changed: true,
        };
        remember_key(connection, tenant, &key_use, &answer, now).await?;
    }
    Ok(creation)
}

async fn patch(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    patching: Patching,
) -> Result<Patched, ChangeError> {
    let Patching {
        key,
        expected,
        patch,
        faults,
        key_use,
        now,
    } = patching;
    if let Some(key_use) = &key_use
        && let Some(answer) = repeated(connection, tenant, key_use, now).await?
    {
        return Ok(answer);
    }
    let before = stored(connection, tenant, &key).await?;
    check_expected(&before.session, &expected, "patch")?;
    let session = match patched(&before.session, &patch, faults, now) {
        Err(ChangeError::Forbidden(faults)) => {
            let taken = taken_label(connection, tenant, &before.session, &patch).await?;
            return Err(ChangeError::Forbidden(
                faults.into_iter().chain(taken).collect(),
            ));
        },
        judged => judged?,
    };
    let after = Row {
        session,
        ..before.clone()
    };
    let patched = replace(connection, tenant, &before, after).await?;
    if let Some(key_use) = &key_use {
        remember_key(connection, tenant, key_use, &patched, now).await?;
    }
    Ok(patched)
}

/// The answer to the same call, made before; a reader may have looked for it before it was there.
async fn repeated(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    key_use: &KeyUse,
    now: Timestamp,
) -> Result<Option<Patched>, ChangeError> {
    let row = sqlx::query(USED_KEY)
        .bind(tenant.as_str())
        .bind(&key_use.owner)
        .bind(key_use.key.as_str())
        .bind(now.millis())
        .fetch_optional(connection)
        .await
        .map_err(StoreError::from)?;
    match row.as_ref().map(read_used_key).transpose()? {
        Some(used) if used.fingerprint == key_use.fingerprint => Ok(Some(used.answer)),
        Some(_) => Err(ChangeError::KeyReused(key_use.key.to_string())),
        None => Ok(None),
    }
}

async fn remember_key(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    key_use: &KeyUse,
    answer: &Patched,
    now: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query(FORGET_KEYS)
        .bind(now.millis())
        .execute(&mut *connection)
        .await?;
    sqlx::query(REMEMBER_KEY)
        .bind(tenant.as_str())
        .bind(&key_use.owner)
        .bind(key_use.key.as_str())
        .bind(&key_use.fingerprint)
        .bind(answer.changed)
        .bind(wire::session::pack(&answer.session))
        .bind(rows::integer(answer.session.state_version))
        .bind(key_use.expires_at.millis())
        .execute(connection)
        .await?;
    Ok(())
}

fn read_used_key(row: &SqliteRow) -> Result<UsedKey, StoreError> {
    let answer = Patched {
        session: rows::read_session(row)?,
        changed: row.try_get("changed")?,
    };
    Ok(UsedKey {
        fingerprint: row.try_get("fingerprint")?,
        answer,
    })
}

async fn stored(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    key: &SessionKey,
) -> Result<Row, ChangeError> {
    let row = rows::find_to_rewrite(connection, tenant, key).await?;
    row.ok_or_else(|| ChangeError::Missing(key.clone()))
}

fn check_expected(
    stored: &Session,
    expected: &Expected,
    change: &'static str,
) -> Result<(), ChangeError> {
    if stored.session_id != expected.session_id || stored.work_epoch != expected.work_epoch {
        return Err(ChangeError::Stale {
            key: stored.key.clone(),
            change,
        });
    }
    match expected.row_version {
        Some(version) if version != stored.row_version => Err(ChangeError::OtherVersion {
            key: stored.key.clone(),
            stored: stored.row_version,
            expected: version,
        }),
        Some(_) | None => Ok(()),
    }
}

/// The row as patched, or all that is wrong: the faults that are known, and what the row forbids.
fn patched(
    session: &Session,
    patch: &Patch,
    mut faults: Vec<Fault>,
    now: Timestamp,
) -> Result<Session, ChangeError> {
    match session.patched(patch, now) {
        Ok(patched) if faults.is_empty() => Ok(patched),
        Ok(_) => Err(ChangeError::Forbidden(faults)),
        Err(forbidden) => {
            faults.extend(forbidden);
            Err(ChangeError::Forbidden(faults))
        },
    }
}

/// That the label of a patch is taken, to be told beside what else is wrong with it.
async fn taken_label(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    before: &Session,
    patch: &Patch,
) -> Result<Option<Fault>, StoreError> {
    let Some(PatchChange::Set(label)) = &patch.label else {
        return Ok(None);
    };
    let labelled = Session {
        label: Some(label.clone()),
        ..before.clone()
    };
    let taken = before.label.as_ref() != Some(label)
        && label_is_taken(connection, tenant, &labelled).await?;
    Ok(taken.then(|| Fault {
        field: "label".to_owned(),
        message: ChangeError::LabelInUse(label.clone()).to_string(),
        kind: FaultKind::Invalid,
    }))
}

/// Writes `after` in the place of `before`, unless they say the same.
async fn replace(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    before: &Row,
    mut after: Row,
) -> Result<Patched, ChangeError> {
    if after == *before {
        return Ok(Patched {
            session: after.session,
            changed: false,
        });
    }
    check_label(connection, tenant, &before.session, &after.session).await?;
    let spawner = new_spawner(connection, tenant, &before.session, &after.session).await?;
    if let Some(spawner) = spawner {
        after.session.spawn.depth = child_depth(&after.session, &spawner);
    }
    after.session.row_version = before.session.row_version.saturating_add(1);
    rows::put(connection, &[(tenant, &after)]).await?;
    Ok(Patched {
        session: after.session,
        changed: true,
    })
}

/// Source: reg:M9.
async fn check_label(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    before: &Session,
    after: &Session,
) -> Result<(), ChangeError> {
    let Some(label) = &after.label else {
        return Ok(());
    };
    if before.label.as_ref() == Some(label) {
        return Ok(());
    }
    if label_is_taken(connection, tenant, after).await? {
        return Err(ChangeError::LabelInUse(label.clone()));
    }
    Ok(())
}

/// The session that is to have spawned another from here on: it exists, and does not descend from that
/// one, because a ring of spawns has no head.
async fn new_spawner(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    before: &Session,
    after: &Session,
) -> Result<Option<Session>, ChangeError> {
    let Some(spawner) = &after.spawned_by else {
        return Ok(None);
    };
    if before.spawned_by.as_ref() == Some(spawner) {
        return Ok(None);
    }
    let Some(row) = find(connection, tenant, spawner).await? else {
        return Err(ChangeError::SpawnerMissing(spawner.clone()));
    };
    if descends(connection, tenant, &after.key, spawner).await? {
        return Err(ChangeError::SpawnRing {
            key: after.key.clone(),
            spawner: spawner.clone(),
        });
    }
    Ok(Some(row))
}

/// Whether `candidate` descends from `ancestor` by spawns.
pub(super) async fn descends(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    ancestor: &SessionKey,
    candidate: &SessionKey,
) -> Result<bool, StoreError> {
    let candidates = serde_json::Value::from(vec![candidate.as_str()]);
    let found: Option<String> = sqlx::query_scalar(DESCENDING)
        .bind(tenant.as_str())
        .bind(ancestor.as_str())
        .bind(candidates.to_string())
        .fetch_optional(connection)
        .await?;
    Ok(found.is_some())
}

async fn commit(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    commit: Commit,
) -> Result<Committed, ChangeError> {
    if let Some(answer) = committed(connection, tenant, &commit).await? {
        return Ok(answer);
    }
    let before = stored(connection, tenant, &commit.key).await?;
    judge(&before.session, &commit)?;
    let done = match commit.change {
        Change::Reset => reset(connection, tenant, &before, &commit).await?,
        Change::Archive | Change::Restore => shelve(connection, tenant, &before, &commit).await?,
        Change::Delete => delete(connection, tenant, &before.session, commit.now).await?,
    };
    remember_change(connection, tenant, &commit, &done).await?;
    Ok(done)
}

/// The answer to the same change, committed before.
async fn committed(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    commit: &Commit,
) -> Result<Option<Committed>, ChangeError> {
    let row = sqlx::query(COMMITTED)
        .bind(tenant.as_str())
        .bind(commit.key.as_str())
        .bind(commit.change_id.as_str())
        .bind(commit.now.millis())
        .fetch_optional(connection)
        .await
        .map_err(StoreError::from)?;
    let Some(row) = row else {
        return Ok(None);
    };
    let change: &str = row.try_get("change").map_err(StoreError::from)?;
    if change != commit.change.as_str() {
        return Err(ChangeError::KeyReused(commit.change_id.to_string()));
    }
    Ok(Some(read_committed(&row)?))
}

fn read_committed(row: &SqliteRow) -> Result<Committed, StoreError> {
    let packed: Option<&[u8]> = row.try_get("packed")?;
    let session = packed.map(|_| rows::read_session(row)).transpose()?;
    Ok(Committed {
        session,
        changed: row.try_get("changed")?,
    })
}

async fn remember_change(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    commit: &Commit,
    done: &Committed,
) -> Result<(), StoreError> {
    sqlx::query(FORGET_CHANGES)
        .bind(commit.now.millis())
        .execute(&mut *connection)
        .await?;
    sqlx::query(REMEMBER_CHANGE)
        .bind(tenant.as_str())
        .bind(commit.key.as_str())
        .bind(commit.change_id.as_str())
        .bind(commit.change.as_str())
        .bind(done.changed)
        .bind(done.session.as_ref().map(wire::session::pack))
        .bind(rows::integer(
            done.session.as_ref().map_or(0, |row| row.state_version),
        ))
        .bind(commit.expires_at.millis())
        .execute(connection)
        .await?;
    Ok(())
}

/// Whoever decided the change judged it too, on a row that may be another by now.
fn judge(session: &Session, commit: &Commit) -> Result<(), ChangeError> {
    let expected = &commit.expected;
    lifecycle::check(session, commit.change, Some(&expected.session_id))?;
    check_expected(session, expected, commit.change.noun())?;
    let unarchived = commit.archived_only && session.archived_at.is_none();
    match commit.change {
        Change::Delete if unarchived => Err(ChangeError::NotArchived(session.key.clone())),
        Change::Reset | Change::Archive | Change::Restore | Change::Delete => Ok(()),
    }
}

/// The old generation's sessionId stays, and leads to its transcript as before (D26).
async fn reset(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    before: &Row,
    commit: &Commit,
) -> Result<Committed, ChangeError> {
    let old = before.session.clone();
    let after = Row {
        session: old.next_generation(commit.next_session_id.clone(), commit.now),
        last_run_at: None,
        ..before.clone()
    };
    let done = replace(connection, tenant, before, after).await?;
    add_session_id(connection, tenant, &done.session).await?;
    awareness::on_reset(connection, tenant, &done.session.key).await?;
    Ok(Committed::from(done))
}

async fn shelve(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    before: &Row,
    commit: &Commit,
) -> Result<Committed, ChangeError> {
    let old = before.session.clone();
    let archived = matches!(commit.change, Change::Archive);
    let reopened = !archived && old.archived_at.is_some();
    let shelved = if archived {
        old.archive(commit.now)
    } else {
        old.restore()
    };
    let after = Row {
        session: patched(&shelved, &commit.patch, commit.faults.clone(), commit.now)?,
        reopened_at: if reopened {
            Some(commit.now)
        } else {
            before.reopened_at
        },
        ..before.clone()
    };
    let done = replace(connection, tenant, before, after).await?;
    Ok(Committed::from(done))
}

async fn delete(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    session: &Session,
    now: Timestamp,
) -> Result<Committed, ChangeError> {
    let key = session.key.as_str();
    let statement = sqlx::query(DELETE).bind(tenant.as_str()).bind(key);
    run(connection, statement).await?;
    let statement = sqlx::query(RETIRE_SESSION_IDS)
        .bind(tenant.as_str())
        .bind(key)
        .bind(now.millis());
    run(connection, statement).await?;
    let statement = sqlx::query(RETIRE)
        .bind(tenant.as_str())
        .bind(key)
        .bind(rows::integer(session.work_epoch.saturating_add(1)));
    run(connection, statement).await?;
    awareness::on_delete(connection, tenant, &session.key, now).await?;
    Ok(Committed {
        session: None,
        changed: true,
    })
}

type Statement<'a> = sqlx::query::Query<'a, sqlx::Sqlite, sqlx::sqlite::SqliteArguments>;

async fn run(
    connection: &mut SqliteConnection,
    statement: Statement<'_>,
) -> Result<(), StoreError> {
    statement.execute(connection).await?;
    Ok(())
}

/// Makes the sessionId of a row's generation lead to it.
pub(super) async fn add_session_id(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    session: &Session,
) -> Result<(), StoreError> {
    let statement = sqlx::query(INSERT_SESSION_ID)
        .bind(tenant.as_str())
        .bind(session.session_id.as_str())
        .bind(session.key.as_str());
    run(connection, statement).await
}

/// The epoch at which a new session under `key` begins, where another one was deleted under it.
pub(super) async fn epoch_of_deleted(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    key: &SessionKey,
) -> Result<Option<u64>, StoreError> {
    let epoch: Option<i64> = sqlx::query_scalar(UNRETIRE)
        .bind(tenant.as_str())
        .bind(key.as_str())
        .fetch_optional(connection)
        .await?;
    let epoch = epoch.map(u64::try_from).transpose();
    epoch.map_err(StoreError::corrupt)
}
