//! What a fork asks of a database.

use std::future::Future;
use std::sync::Arc;

use confab_model::clock::Timestamp;
use confab_model::id::{Ids, SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_store::StoreError;

/// What names a call, so that a repetition meets the first answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkKey {
    /// Who called.
    pub owner: String,
    /// The key that the call was given.
    pub key: String,
    /// What was asked for.
    pub fingerprint: String,
}

/// What to copy where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    /// The generation to copy from.
    pub source: SessionId,
    /// The generation to copy to.
    pub into: SessionId,
    /// Its session.
    pub into_key: SessionKey,
    /// Names the call.
    pub key: Option<ForkKey>,
    /// The present moment.
    pub at: Timestamp,
    /// Calls before this moment are forgotten.
    pub kept_since: Timestamp,
}

/// What became of a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forked {
    /// So many messages were copied, at this call or the first one of its key.
    Copied(u64),
    /// The key names another call; nothing was copied.
    KeyReused,
    /// The transcript to copy to has messages; nothing was copied.
    NotEmpty,
    /// There are more messages than one fork copies; nothing was copied.
    TooMany {
        /// Messages of the active view, at least.
        messages: u64,
    },
    /// The messages are larger than one fork copies; nothing was copied.
    TooLarge {
        /// Their size as they are stored, in bytes.
        bytes: u64,
    },
}

/// The part of the transcript's database that copies.
pub trait ForkStore: Clone + std::fmt::Debug + Send + Sync + 'static {
    /// What the first call of this key came to, where there was one since the given moment.
    fn forked(
        &self,
        tenant: &TenantId,
        key: &ForkKey,
        since: Timestamp,
    ) -> impl Future<Output = Result<Option<Forked>, StoreError>> + Send;

    /// Copies the active view of one transcript into an empty one, all or nothing: from the first
    /// message that the last compaction kept, with its marker and without those before it. Copies
    /// have identifiers and places of their own, and everything else of the originals.
    fn fork(
        &self,
        tenant: &TenantId,
        fork: Fork,
        ids: Arc<dyn Ids>,
    ) -> impl Future<Output = Result<Forked, StoreError>> + Send;
}
