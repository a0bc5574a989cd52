//! What the registry asks of a database.
//!
//! A use case sees rows and nothing else: no statement, no transaction. Each method that writes is
//! one transaction and answers after its commit.

pub mod awareness;
pub mod change;
#[cfg(test)]
mod conformance;
pub mod import;
pub mod sqlite;
pub mod upkeep;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;

use confab_model::clock::Timestamp;
use confab_model::id::{AgentId, RunId, SessionId, TenantId};
use confab_model::key::{SessionKey, SessionKind};
use confab_model::session::{Label, Session};
use confab_proto::types::v1 as proto;
use confab_rpc::gate::Reach;
use confab_rpc::wire;
use confab_store::StoreError;

pub use crate::store::awareness::{AwarenessStore, Batch, Recorded, Registered, Retention, Watch};
use crate::store::change::ChangeStore;
use crate::store::import::ImportStore;
use crate::store::upkeep::UpkeepStore;

/// A stored row: the session as everybody speaks of it, and what only the registry keeps.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The session.
    pub session: Session,
    /// When the last run that the row shows was seen as it is shown.
    pub last_run_at: Option<Timestamp>,
    /// What set the route; absent where it was told at creation, or where there is none.
    pub routed: Option<Routed>,
    /// When it was last opened again after it had been archived.
    pub reopened_at: Option<Timestamp>,
}

/// When, and by which run, a session's route was set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Routed {
    /// When the person wrote.
    pub at: Timestamp,
    /// The run that their message started.
    pub run_id: RunId,
}

impl Row {
    /// The row of a session to which nothing has happened yet.
    pub const fn new(session: Session) -> Self {
        Self {
            session,
            last_run_at: None,
            routed: None,
            reopened_at: None,
        }
    }
}

/// What became of a row that was to be made.
#[derive(Clone, Debug, PartialEq)]
pub enum Creation {
    /// It was made.
    Created(Session),
    /// A session with this key exists; it is unchanged.
    Exists(Session),
    /// Another session of the agent has the label; nothing was made.
    LabelInUse(Label),
    /// The session that is to have spawned it does not exist; nothing was made.
    SpawnerMissing(SessionKey),
}

/// What a caller's references may mean, to be looked up together.
#[derive(Clone, Debug, Default)]
pub struct Lookup {
    /// Keys.
    pub keys: Vec<SessionKey>,
    /// Texts that may be sessionIds.
    pub session_ids: Vec<String>,
    /// Labels; exact, open sessions only.
    pub labels: Vec<Label>,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Rows by key.
    pub by_key: BTreeMap<SessionKey, Session>,
    /// Rows by a sessionId of any of their generations.
    pub by_session_id: BTreeMap<String, (SessionId, Session)>,
    /// Rows by label, in the order of their keys; one label may stand in several agents.
    pub by_label: BTreeMap<String, Vec<Session>>,
}

impl Found {
    /// Every row, in whatever way it was found.
    pub fn sessions(&self) -> impl Iterator<Item = &Session> {
        let by_session_id = self.by_session_id.values().map(|(_, session)| session);
        self.by_key
            .values()
            .chain(by_session_id)
            .chain(self.by_label.values().flatten())
    }
}

/// Which sessions a list holds.
#[derive(Clone, Debug)]
pub struct Filter {
    /// What the caller may see.
    pub reach: Reach,
    /// Only these kinds; empty: all.
    pub kinds: Vec<SessionKind>,
    /// Only sessions that moved at or after this moment.
    pub updated_since: Option<Timestamp>,
    /// Only the sessions with this label.
    pub label: Option<Label>,
    /// Only sessions of this agent.
    pub agent_id: Option<AgentId>,
    /// Only sessions whose key, label, sessionId or model holds this text, folded by [`fold`].
    pub search: Option<String>,
    /// Archived sessions instead of open ones.
    pub archived: bool,
    /// Whether the one session that serves all may be shown.
    pub global: bool,
}

/// Folds a text for a search that takes no notice of case; letter by letter, so that a part of a text
/// is folded as it is within the whole. A sigma at the end of a word is a sigma.
pub fn fold(text: &str) -> String {
    let lower = text.chars().flat_map(char::to_lowercase);
    lower.map(|c| if c == 'ς' { 'σ' } else { c }).collect()
}

/// A row of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The session as an operator sees it, but for what only whoever shows it can tell: `fault`,
    /// `child_sessions`, the place of its transcript. Where `fault` is set, as much of it as could be
    /// read.
    pub session: Box<proto::Session>,
    /// What is wrong with the row, in one sentence; absent where nothing is.
    pub fault: Option<String>,
    /// The keys of the open sessions it spawned that are within the reach of the list, in the order of
    /// D54, at most [`CHILDREN_SHOWN_MAX`](crate::limits::CHILDREN_SHOWN_MAX).
    pub children: Vec<String>,
}

impl Listed {
    /// Where the row stands.
    pub fn position(&self) -> Position {
        let row = &self.session;
        // A stored time that cannot be read makes the row one that cannot be read.
        let millis = |moment| {
            let moment = wire::time::optional(moment, "session").ok().flatten();
            moment.map_or(0, Timestamp::millis)
        };
        Position {
            pinned_at: millis(row.pinned_at),
            updated_at: millis(row.updated_at),
            created_at: millis(row.created_at),
            key: row.key.clone(),
        }
    }
}

/// A row's place in the order of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// When it was pinned; 0 where it is not.
    pub pinned_at: i64,
    /// When it last moved.
    pub updated_at: i64,
    /// When it was made.
    pub created_at: i64,
    /// Its key.
    pub key: String,
}

impl Position {
    /// Where a session stands.
    pub fn of(session: &Session) -> Self {
        Self {
            pinned_at: session.pinned_at.map_or(0, Timestamp::millis),
            updated_at: session.updated_at.millis(),
            created_at: session.created_at.millis(),
            key: session.key.to_string(),
        }
    }
}

/// The registry's database.
pub trait RegistryStore:
    AwarenessStore
    + ChangeStore
    + ImportStore
    + UpkeepStore
    + Clone
    + std::fmt::Debug
    + Send
    + Sync
    + 'static
{
    /// Looks up everything that a call's references may mean.
    fn look_up(
        &self,
        tenant: &TenantId,
        lookup: &Lookup,
    ) -> impl Future<Output = Result<Found, StoreError>> + Send;

    /// The keys of every session descended from `ancestor` by spawns, over any number of them, at
    /// most `limit`; `ancestor` itself is none of them.
    fn descendants(
        &self,
        tenant: &TenantId,
        ancestor: &SessionKey,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<SessionKey>, StoreError>> + Send;

    /// Those of `candidates` that descend from `ancestor` by spawns, over any number of them;
    /// `ancestor` itself does not.
    fn descending(
        &self,
        tenant: &TenantId,
        ancestor: &SessionKey,
        candidates: &[SessionKey],
    ) -> impl Future<Output = Result<BTreeSet<SessionKey>, StoreError>> + Send;

    /// The agents that have sessions, in order.
    fn agents(
        &self,
        tenant: &TenantId,
    ) -> impl Future<Output = Result<Vec<AgentId>, StoreError>> + Send;

    /// The sessions that pass `filter` behind `after`, in the order of D54, at most `limit`.
    fn list(
        &self,
        tenant: &TenantId,
        filter: &Filter,
        after: Option<&Position>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Listed>, StoreError>> + Send;

    /// Makes a session, unless its key is taken.
    fn create(
        &self,
        tenant: &TenantId,
        session: Session,
    ) -> impl Future<Output = Result<Creation, StoreError>> + Send;

    /// Applies what runs did to the rows they belong to and records what happened to sessions, all
    /// in one transaction. An event that cannot be recorded loses nothing else of the batch.
    fn record(&self, batch: Batch) -> impl Future<Output = Result<Recorded, StoreError>> + Send;
}
