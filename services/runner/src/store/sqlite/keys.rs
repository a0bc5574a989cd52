//! Idempotency keys: what each was used for, and what it was answered with (D36).

use confab_model::clock::Timestamp;
use confab_model::id::{IdempotencyKey, RunId, TenantId};
use confab_model::key::SessionKey;
use confab_store::StoreError;
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::store::{FirstUse, KeyUse, QueuedSession, UsedKey};

/// What a key was used for, if it is still remembered.
pub(super) async fn read(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    owner: &str,
    key: &IdempotencyKey,
    now: Timestamp,
) -> Result<Option<UsedKey>, StoreError> {
    let row = sqlx::query(
        "SELECT fingerprint, run_id, session_key, answer FROM idempotency \
         WHERE tenant = $1 AND owner = $2 AND key = $3 AND expires_at > $4",
    )
    .bind(tenant.as_str())
    .bind(owner)
    .bind(key.as_str())
    .bind(now.millis())
    .fetch_optional(connection)
    .await?;
    row.as_ref().map(unpack).transpose()
}

fn unpack(row: &SqliteRow) -> Result<UsedKey, StoreError> {
    let run: Option<String> = row.try_get("run_id")?;
    let first = if let Some(run) = run {
        FirstUse::Run(RunId::parse(run).map_err(StoreError::corrupt)?)
    } else {
        let session_key: String = row.try_get("session_key")?;
        FirstUse::Change {
            session_key: SessionKey::parse(&session_key).map_err(StoreError::corrupt)?,
            answer: row.try_get("answer")?,
        }
    };
    Ok(UsedKey {
        fingerprint: row.try_get("fingerprint")?,
        first,
    })
}

/// Takes a key, over one that is no longer remembered.
pub(super) async fn insert(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    key: &KeyUse,
    first: &FirstUse,
) -> Result<(), StoreError> {
    let (run_id, session_key, answer) = match first {
        FirstUse::Run(run) => (Some(run.as_str()), None, None),
        FirstUse::Change {
            session_key,
            answer,
        } => (None, Some(session_key.as_str()), answer.as_deref()),
    };
    sqlx::query(
        "INSERT INTO idempotency (tenant, owner, key, fingerprint, run_id, session_key, answer, \
         expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
         ON CONFLICT (tenant, owner, key) DO UPDATE SET fingerprint = excluded.fingerprint, \
         run_id = excluded.run_id, session_key = excluded.session_key, \
         answer = excluded.answer, expires_at = excluded.expires_at",
    )
    .bind(tenant.as_str())
    .bind(&key.owner)
    .bind(key.key.as_str())
    .bind(&key.fingerprint)
    .bind(run_id)
    .bind(session_key)
    .bind(answer)
    .bind(key.expires_at.millis())
    .execute(connection)
    .await?;
    Ok(())
}

/// Writes what the change of a session is answered with. A fence has at most one key, so that is the
/// session's only one without an answer.
pub(super) async fn answer(
    connection: &mut SqliteConnection,
    session: &QueuedSession,
    answer: &[u8],
) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE idempotency SET answer = $3 \
         WHERE tenant = $1 AND session_key = $2 AND answer IS NULL",
    )
    .bind(session.tenant.as_str())
    .bind(session.session_key.as_str())
    .bind(answer)
    .execute(connection)
    .await?;
    Ok(())
}

/// Forgets the key of a change that did not happen: the call may be made again.
pub(super) async fn give_back(
    connection: &mut SqliteConnection,
    session: &QueuedSession,
) -> Result<(), StoreError> {
    sqlx::query(
        "DELETE FROM idempotency WHERE tenant = $1 AND session_key = $2 AND answer IS NULL",
    )
    .bind(session.tenant.as_str())
    .bind(session.session_key.as_str())
    .execute(connection)
    .await?;
    Ok(())
}

/// Forgets keys that are old enough.
pub(super) async fn forget(
    connection: &mut SqliteConnection,
    now: Timestamp,
) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM idempotency WHERE expires_at <= $1")
        .bind(now.millis())
        .execute(connection)
        .await?;
    Ok(())
}
