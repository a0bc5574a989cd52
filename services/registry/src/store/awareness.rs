//! What state awareness and the followers of changes ask of a database.

use std::future::Future;

use confab_model::clock::Timestamp;
use confab_model::id::TenantId;
use confab_model::key::SessionKey;
use confab_model::session::Session;
use confab_store::StoreError;
use tokio::sync::watch;

use crate::activity::Activity;
use crate::awareness::{NewEvent, Notice, NoticeId, StateChanges};
use crate::limits::{
    DELETIONS_KEPT_MAX, EVENTS_KEPT_MAX, PRUNE_INTERVAL_MILLIS, RECORD_AGE_MILLIS_MAX,
};

/// What is recorded together, in one transaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// What runs did, in the order it happened.
    pub activities: Vec<Activity>,
    /// What happened to sessions, in order.
    pub events: Vec<NewEvent>,
    /// The present moment.
    pub now: Timestamp,
}

/// What became of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// The activities whose session does not exist.
    pub unknown: Vec<Activity>,
    /// What became of each event, in order.
    pub events: Vec<Registered>,
}

/// What became of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registered {
    /// It got this sequence.
    New(u64),
    /// An earlier event with the same key has this sequence.
    Repeated(u64),
    /// Nobody needs to know of it, so it is not in the log.
    Unwanted,
    /// Its session does not exist.
    NoSession,
    /// The store could not take it; nothing of it was kept. The reason, for the log.
    Failed(String),
}

/// How long and how much is kept.
///
/// Source: reg:W26.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Most events, of all sessions together.
    pub events_max: u64,
    /// Most deletions, of all tenants together.
    pub deletions_max: u64,
    /// How long an event, a cursor and a deletion are kept, in milliseconds.
    pub age_millis: i64,
    /// How often at most what is too old is looked for, in milliseconds.
    pub interval_millis: i64,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            events_max: EVENTS_KEPT_MAX,
            deletions_max: DELETIONS_KEPT_MAX,
            age_millis: RECORD_AGE_MILLIS_MAX,
            interval_millis: PRUNE_INTERVAL_MILLIS,
        }
    }
}

/// Who begins to watch whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The tenant of both.
    pub tenant: TenantId,
    /// The session that watches.
    pub watcher: SessionKey,
    /// The session it watches.
    pub target: SessionKey,
}

/// Where the changes of a tenant stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Present {
    /// The database, of all there are.
    pub database: String,
    /// The last change of any row.
    pub head: u64,
    /// Deletions are known behind this change.
    pub floor: u64,
}

/// A session that changed.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionChange {
    /// The place of its last change.
    pub sequence: u64,
    /// What it is.
    pub state: ChangedState,
}

/// What a session is after its last change.
#[derive(Clone, Debug, PartialEq)]
pub enum ChangedState {
    /// There, as it is.
    Present(Box<Session>),
    /// Gone.
    Deleted(SessionKey),
    /// There, and its row cannot be read.
    Unreadable(SessionKey),
}

/// The changes behind a place, as of one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangePage {
    /// Where the changes stood at that moment.
    pub present: Present,
    /// In the order of their last change.
    pub changes: Vec<SessionChange>,
}

/// The part of the registry's database that knows what happened to sessions.
pub trait AwarenessStore {
    /// The events of a session behind `after`, at most `limit`, and what is missing among them.
    fn state_changes(
        &self,
        tenant: &TenantId,
        key: &SessionKey,
        after: u64,
        limit: usize,
    ) -> impl Future<Output = Result<StateChanges, StoreError>> + Send;

    /// Makes a cursor that begins at the target's present version, unless there is one. Says whether
    /// the session watches: it does not where the target does not exist, or the watcher neither
    /// exists nor is an agent's main session.
    fn watch(
        &self,
        watch: Watch,
        now: Timestamp,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// The notices owed in all tenants whose number is above `after`, in order, at most `limit`.
    fn owed(
        &self,
        after: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Notice>, StoreError>> + Send;

    /// Takes note that notices were taken; those that nobody is owed are passed over.
    fn acknowledge(
        &self,
        notices: Vec<NoticeId>,
        now: Timestamp,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// After a restart: every notice owed is about all that happened, and what is too old goes.
    fn sweep(&self, now: Timestamp) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Where the changes of a tenant stand.
    fn present(
        &self,
        tenant: &TenantId,
    ) -> impl Future<Output = Result<Present, StoreError>> + Send;

    /// The sessions of a tenant that changed behind `after`, each once, at most `limit`.
    fn session_changes(
        &self,
        tenant: &TenantId,
        after: u64,
        limit: usize,
    ) -> impl Future<Output = Result<ChangePage, StoreError>> + Send;

    /// Wakes whoever follows after every commit; ends when the store is closed.
    fn commits(&self) -> watch::Receiver<u64>;
}
