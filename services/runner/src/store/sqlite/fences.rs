//! Fences: raised for a lifecycle change, lifted when it is over.

use confab_model::id::RunId;
use confab_proto::registry::v1::{CommitLifecycleRequest, LifecycleChange};
use confab_store::StoreError;
use prost::Message as _;
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};

use super::{keys, notices, runs};
use crate::store::{
    Fence, FenceError, Fenced, FirstUse, KeyUse, Lift, LiveWork, NewFence, QueuedSession, Stage,
    Standing,
};

const STANDING: &str = "SELECT EXISTS (SELECT 1 FROM fences WHERE tenant = $1 \
     AND session_key = $2) AS fenced, COALESCE((SELECT work_epoch FROM session_epochs \
     WHERE tenant = $1 AND session_key = $2), 0) AS work_epoch";

/// What stands in the way of work that was admitted under an epoch.
pub(super) async fn standing(
    connection: &mut SqliteConnection,
    session: &QueuedSession,
    admitted_epoch: i64,
) -> Result<Standing, StoreError> {
    let row = sqlx::query(STANDING)
        .bind(session.tenant.as_str())
        .bind(session.session_key.as_str())
        .fetch_one(connection)
        .await?;
    let (fenced, known): (bool, i64) = (row.try_get("fenced")?, row.try_get("work_epoch")?);
    Ok(if fenced {
        Standing::Fenced
    } else if admitted_epoch < known {
        Standing::Outdated
    } else {
        Standing::Open
    })
}

/// Raises a fence, or tells why not.
pub(super) async fn raise(
    connection: &mut SqliteConnection,
    new: &NewFence,
) -> Result<Fenced, FenceError> {
    if let Some(key) = &new.key
        && let Some(answer) = first_answer(connection, new, key).await?
    {
        return Ok(Fenced::Repeated(answer));
    }
    let (session, epoch) = (&new.session, new.commit.expected_work_epoch);
    let session_key = session.session_key.clone();
    match standing(connection, session, epoch).await? {
        Standing::Fenced => return Err(FenceError::UnderWay { session_key }),
        Standing::Outdated => return Err(FenceError::Outdated { session_key }),
        Standing::Open => {},
    }
    check_live_work(connection, new).await?;
    insert(connection, new).await?;
    if let Some(key) = &new.key {
        let first = FirstUse::Change {
            session_key,
            answer: None,
        };
        keys::insert(connection, &session.tenant, key, &first).await?;
    }
    Ok(Fenced::Fresh(match new.live_work {
        LiveWork::Aborted => doomed(connection, session).await?,
        LiveWork::Refuses | LiveWork::RefusesOwed | LiveWork::Ignored => Vec::new(),
    }))
}

/// The runs that a forced change ends.
async fn doomed(
    connection: &mut SqliteConnection,
    session: &QueuedSession,
) -> Result<Vec<RunId>, StoreError> {
    let live = runs::live(connection, session).await?;
    let unended = live.into_iter().filter(|one| !one.run.state.is_ended());
    Ok(unended.map(|one| one.run.id).collect())
}

/// What the same call was answered with, if it was made before.
async fn first_answer(
    connection: &mut SqliteConnection,
    new: &NewFence,
    key: &KeyUse,
) -> Result<Option<Vec<u8>>, FenceError> {
    let tenant = &new.session.tenant;
    let used = keys::read(connection, tenant, &key.owner, &key.key, new.now).await?;
    let Some(used) = used else { return Ok(None) };
    match used.first {
        FirstUse::Change {
            session_key,
            answer,
        } if used.fingerprint == key.fingerprint => match answer {
            Some(answer) => Ok(Some(answer)),
            None => Err(FenceError::UnderWay { session_key }),
        },
        FirstUse::Change { .. } | FirstUse::Run(_) => Err(FenceError::KeyReused {
            key: key.key.to_string(),
        }),
    }
}

async fn check_live_work(
    connection: &mut SqliteConnection,
    new: &NewFence,
) -> Result<(), FenceError> {
    let (runs_count, owed_count) = match new.live_work {
        LiveWork::Aborted | LiveWork::Ignored => return Ok(()),
        LiveWork::Refuses => (count(connection, LIVE, &new.session).await?, 0),
        LiveWork::RefusesOwed => (
            count(connection, LIVE, &new.session).await?,
            count(connection, OWED, &new.session).await?,
        ),
    };
    let session_key = new.session.session_key.clone();
    if runs_count > 0 {
        return Err(FenceError::Busy {
            session_key,
            runs: runs_count,
        });
    }
    if owed_count > 0 {
        return Err(FenceError::Owing {
            session_key,
            deliveries: owed_count,
        });
    }
    Ok(())
}

const LIVE: &str = "SELECT (SELECT COUNT(*) FROM runs WHERE tenant = $1 AND session_key = $2 \
     AND state = 'queued') + (SELECT COUNT(*) FROM runs WHERE tenant = $1 AND session_key = $2 \
     AND holds_session = 1) AS count";

const OWED: &str = "SELECT COUNT(*) AS count FROM deliveries WHERE tenant = $1 \
     AND session_key = $2 AND state IN ('pending', 'sending')";

async fn count(
    connection: &mut SqliteConnection,
    statement: &'static str,
    session: &QueuedSession,
) -> Result<u32, StoreError> {
    let row = sqlx::query(statement)
        .bind(session.tenant.as_str())
        .bind(session.session_key.as_str())
        .fetch_one(connection)
        .await?;
    Ok(row.try_get("count")?)
}

async fn insert(connection: &mut SqliteConnection, new: &NewFence) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO fences (tenant, session_key, stage, packed, began_at) \
         VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(new.session.tenant.as_str())
    .bind(new.session.session_key.as_str())
    .bind(Stage::Fenced.as_str())
    .bind(new.commit.encode_to_vec())
    .bind(new.now.millis())
    .execute(connection)
    .await?;
    Ok(())
}

/// Notes that the registry is about to be asked.
pub(super) async fn begin_commit(
    connection: &mut SqliteConnection,
    session: &QueuedSession,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE fences SET stage = $3 WHERE tenant = $1 AND session_key = $2")
        .bind(session.tenant.as_str())
        .bind(session.session_key.as_str())
        .bind(Stage::Committing.as_str())
        .execute(connection)
        .await?;
    Ok(())
}

/// Lifts a fence: the epoch and the answer commit with it.
pub(super) async fn lift(
    connection: &mut SqliteConnection,
    session: &QueuedSession,
    lift: &Lift,
) -> Result<(), StoreError> {
    let row = sqlx::query(
        "DELETE FROM fences WHERE tenant = $1 AND session_key = $2 \
         RETURNING tenant, session_key, stage, packed",
    )
    .bind(session.tenant.as_str())
    .bind(session.session_key.as_str())
    .fetch_optional(&mut *connection)
    .await?;
    let fence = row.as_ref().map(unpack).transpose()?;
    match lift {
        Lift::Undone => keys::give_back(connection, session).await,
        Lift::Done { work_epoch, answer } => {
            if let Some(fence) = fence {
                forget_notices(connection, session, fence.commit.change()).await?;
            }
            raise_epoch(connection, session, *work_epoch).await?;
            keys::answer(connection, session, answer).await
        },
    }
}

/// A change that ends watches ends what is still to be told because of them: a reset those of the
/// session, a deletion those on either side (reg:W16).
async fn forget_notices(
    connection: &mut SqliteConnection,
    session: &QueuedSession,
    change: LifecycleChange,
) -> Result<(), StoreError> {
    match change {
        LifecycleChange::Reset => notices::forget_waiting(connection, session).await,
        LifecycleChange::Delete => {
            notices::forget_waiting(connection, session).await?;
            notices::forget_about(connection, session).await
        },
        LifecycleChange::Unspecified | LifecycleChange::Archive | LifecycleChange::Restore => {
            Ok(())
        },
    }
}

async fn raise_epoch(
    connection: &mut SqliteConnection,
    session: &QueuedSession,
    work_epoch: i64,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO session_epochs (tenant, session_key, work_epoch) VALUES ($1, $2, $3) \
         ON CONFLICT (tenant, session_key) DO UPDATE SET \
         work_epoch = MAX(work_epoch, excluded.work_epoch)",
    )
    .bind(session.tenant.as_str())
    .bind(session.session_key.as_str())
    .bind(work_epoch)
    .execute(connection)
    .await?;
    Ok(())
}

macro_rules! columns {
    () => {
        "SELECT tenant, session_key, stage, packed FROM fences"
    };
}

/// Every fence.
pub(super) async fn all(reader: &SqlitePool) -> Result<Vec<Fence>, StoreError> {
    let rows = sqlx::query(columns!()).fetch_all(reader).await?;
    rows.iter().map(unpack).collect()
}

/// The fence of a session.
pub(super) async fn read(
    reader: &SqlitePool,
    session: &QueuedSession,
) -> Result<Option<Fence>, StoreError> {
    let row = sqlx::query(concat!(
        columns!(),
        " WHERE tenant = $1 AND session_key = $2"
    ))
    .bind(session.tenant.as_str())
    .bind(session.session_key.as_str())
    .fetch_optional(reader)
    .await?;
    row.as_ref().map(unpack).transpose()
}

fn unpack(row: &SqliteRow) -> Result<Fence, StoreError> {
    let (stage, packed): (String, Vec<u8>) = (row.try_get("stage")?, row.try_get("packed")?);
    let commit = CommitLifecycleRequest::decode(packed.as_slice()).map_err(StoreError::corrupt)?;
    Ok(Fence {
        session: runs::queued_session(row)?,
        stage: Stage::parse(&stage)
            .ok_or_else(|| StoreError::corrupt(format!("fence stage {stage:?} is unknown")))?,
        commit,
    })
}

/// The statements whose cost must not grow with what is stored.
#[cfg(test)]
pub(super) fn statements() -> Vec<String> {
    [STANDING, LIVE, OWED].map(str::to_owned).to_vec()
}
