//! Changes of rows that exist: patches, and the registry's half of lifecycle changes.

use std::future::Future;

use confab_model::clock::Timestamp;
use confab_model::id::{IdempotencyKey, SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::session::patch::{Fault, Patch};
use confab_model::session::{Label, Session};
use confab_policy::lifecycle::{Change, Refusal};
use confab_store::StoreError;

use crate::store::Creation;

/// The row that a change was decided on; a row that is another by now is not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The generation.
    pub session_id: SessionId,
    /// The epoch.
    pub work_epoch: u64,
    /// The version of the row; absent: whatever is stored.
    pub row_version: Option<u64>,
}

/// A caller's own name for a call, to be kept with its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUse {
    /// Whose name it is.
    pub owner: String,
    /// The name.
    pub key: IdempotencyKey,
    /// What the call says.
    pub fingerprint: String,
    /// When it is forgotten.
    pub expires_at: Timestamp,
}

/// A patch to apply.
#[derive(Clone, Debug, PartialEq)]
pub struct Patching {
    /// The session.
    pub key: SessionKey,
    /// The row it was decided on.
    pub expected: Expected,
    /// The changes.
    pub patch: Patch,
    /// What is wrong with them beside what the row forbids; told together with that.
    pub faults: Vec<Fault>,
    /// The caller's name for the call.
    pub key_use: Option<KeyUse>,
    /// The present moment.
    pub now: Timestamp,
}

/// A row after a change, and whether anything differs from before.
#[derive(Clone, Debug, PartialEq)]
pub struct Patched {
    /// The row.
    pub session: Session,
    /// Whether anything differs.
    pub changed: bool,
}

/// What a caller's name for a call was used for.
#[derive(Clone, Debug, PartialEq)]
pub struct UsedKey {
    /// What the call said.
    pub fingerprint: String,
    /// What it was answered with.
    pub answer: Patched,
}

/// A lifecycle change to commit.
#[derive(Clone, Debug, PartialEq)]
pub struct Commit {
    /// The session.
    pub key: SessionKey,
    /// The change.
    pub change: Change,
    /// Names it; a repetition meets its first answer.
    pub change_id: IdempotencyKey,
    /// The row it was decided on.
    pub expected: Expected,
    /// Further fields to set in the same commit; empty but for archive and restore.
    pub patch: Patch,
    /// What is wrong with them beside what the row forbids; told together with that.
    pub faults: Vec<Fault>,
    /// Delete only where the session is archived.
    pub archived_only: bool,
    /// The next generation, should the change be a reset.
    pub next_session_id: SessionId,
    /// When the record of the change is forgotten.
    pub expires_at: Timestamp,
    /// The present moment.
    pub now: Timestamp,
}

/// A lifecycle change that is committed.
#[derive(Clone, Debug, PartialEq)]
pub struct Committed {
    /// The row after it; absent after a delete.
    pub session: Option<Session>,
    /// Whether anything differs from before.
    pub changed: bool,
}

impl From<Patched> for Committed {
    fn from(patched: Patched) -> Self {
        Self {
            session: Some(patched.session),
            changed: patched.changed,
        }
    }
}

/// Why a change was not made; then nothing of it was.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// There is no such session.
    #[error("No session found: {0}")]
    Missing(SessionKey),
    /// The row is not the one that the change was decided on.
    #[error("Session {key} changed before {change}. Retry.")]
    Stale {
        /// The session.
        key: SessionKey,
        /// What was to be done.
        change: &'static str,
    },
    /// The row is not of the version that the caller read.
    #[error(
        "session {key} is at row version {stored}, and the change is based on {expected}: read the \
         session again and decide anew"
    )]
    OtherVersion {
        /// The session.
        key: SessionKey,
        /// The version that is stored.
        stored: u64,
        /// The version that the caller read.
        expected: u64,
    },
    /// The row forbids fields of the patch.
    #[error("the row forbids the patch")]
    Forbidden(Vec<Fault>),
    /// Another session of the agent has the label.
    #[error("label already in use: {}", .0.as_str())]
    LabelInUse(Label),
    /// The session that is to have spawned this one does not exist.
    #[error("No session found: {0}")]
    SpawnerMissing(SessionKey),
    /// The session that is to have spawned this one descends from it.
    #[error(
        "spawnedBy cannot be {spawner}: that session descends from {key}, and a ring of spawns has \
         no head"
    )]
    SpawnRing {
        /// The session.
        key: SessionKey,
        /// The session that is to have spawned it.
        spawner: SessionKey,
    },
    /// The lifecycle of the session forbids it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Only archived sessions were to be deleted.
    #[error("Session {0} is not archived. Archive it first, then delete it.")]
    NotArchived(SessionKey),
    /// The name was used for a call with other content.
    #[error(
        "idempotency key {0:?} was used for a call with other content; repeat that call unchanged, \
         or give a new key"
    )]
    KeyReused(String),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The part of the database that changes rows.
pub trait ChangeStore {
    /// What a caller's name for a call was used for, if it is still remembered at `now`.
    fn used_key(
        &self,
        tenant: &TenantId,
        owner: &str,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> impl Future<Output = Result<Option<UsedKey>, StoreError>> + Send;

    /// Makes a session as [`RegistryStore::create`](crate::store::RegistryStore::create) does, for a
    /// call that its caller named: where it is made, the name is kept in the same commit, and a
    /// repetition is answered with the session as it was made.
    ///
    /// Source: D36.
    fn create_named(
        &self,
        tenant: &TenantId,
        session: Session,
        key_use: KeyUse,
    ) -> impl Future<Output = Result<Creation, ChangeError>> + Send;

    /// Applies a patch to the row as it is, unless it is another row than the patch was decided on.
    /// The caller's name for the call is kept in the same commit.
    ///
    /// Source: D36, reg:M9.
    fn patch(
        &self,
        tenant: &TenantId,
        patching: Patching,
    ) -> impl Future<Output = Result<Patched, ChangeError>> + Send;

    /// Commits a lifecycle change, judged once more on the row as it is.
    ///
    /// Source: D26, reg:C5, reg:C10, reg:C11, reg:M13.
    fn commit(
        &self,
        tenant: &TenantId,
        commit: Commit,
    ) -> impl Future<Output = Result<Committed, ChangeError>> + Send;
}
