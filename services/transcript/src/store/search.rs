//! What a search asks of a database.

use std::future::Future;

use confab_model::id::{AgentId, SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::message::NewMessage;
use confab_rpc::gate::Reach;
use confab_store::StoreError;

use super::Row;

/// How far the index of words goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexState {
    /// Names the rules by which its texts were cleaned; empty before the first time.
    pub rules: String,
    /// The place of the last message that it covers.
    pub indexed: u64,
    /// The place of the last message that is stored.
    pub head: u64,
}

/// A message that the index does not cover.
#[derive(Clone, Debug, PartialEq)]
pub struct Unindexed {
    /// Its place among all messages of the database.
    pub place: u64,
    /// Whose it is.
    pub tenant: TenantId,
    /// What was appended; absent where that is stored in a form that cannot be read.
    pub body: Option<NewMessage>,
}

/// The next messages that the index does not cover.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Backlog {
    /// Those of them that the plain view shows, in the order of their places.
    pub messages: Vec<Unindexed>,
    /// The place up to which they go.
    pub through: u64,
}

/// The words of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The message's place.
    pub place: u64,
    /// Whose it is.
    pub tenant: TenantId,
    /// Its words, folded, with a blank between them.
    pub words: String,
}

/// The next piece of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexPiece {
    /// The rules by which its texts were cleaned.
    pub rules: String,
    /// The place that the index must go to before.
    pub after: u64,
    /// The place that it goes to afterwards.
    pub through: u64,
    /// The messages with words, in the order of their places.
    pub entries: Vec<Entry>,
}

/// Words in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// Folded; at least one, each of letters and digits alone.
    pub words: Vec<String>,
    /// Whether the last one is the beginning of a word.
    pub prefix: bool,
}

/// Where to search; all of it must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ground {
    /// The sessions within the caller's reach.
    pub reach: Reach,
    /// This session alone.
    pub session_key: Option<SessionKey>,
    /// This generation alone.
    pub session_id: Option<SessionId>,
    /// Sessions of this agent alone.
    pub agent_id: Option<AgentId>,
}

/// What to find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sought {
    /// The rules under which the index must have been built.
    pub rules: String,
    /// The place that the index must go to.
    pub through: u64,
    /// What must be in a message, all of it; at least one.
    pub terms: Vec<Term>,
    /// Where.
    pub ground: Ground,
    /// Hits that are wanted.
    pub limit: u32,
}

/// A message in which everything was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The message's place among all messages of the database.
    pub place: u64,
    /// The generation.
    pub session_id: SessionId,
    /// The message's place in it.
    pub seq: u64,
}

/// What a search came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Newest first. Only sessions that no key is known of may be out of the ground.
    Hits(Vec<Hit>),
    /// The index does not go so far, or was built under other rules.
    Behind,
}

/// The part of the transcript's database that finds words.
pub trait SearchStore: Clone + std::fmt::Debug + Send + Sync + 'static {
    /// How far the index goes.
    fn index_state(&self) -> impl Future<Output = Result<IndexState, StoreError>> + Send;

    /// The next messages after a place, at most `count` and about `bytes` of them; at least one
    /// where there is any.
    fn backlog(
        &self,
        after: u64,
        count: u32,
        bytes: u64,
    ) -> impl Future<Output = Result<Backlog, StoreError>> + Send;

    /// Empties the index, to be built under the rules `to`; does nothing where it was not built
    /// under `from`.
    fn restart_index(
        &self,
        from: &str,
        to: &str,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Adds to the index; does nothing where it was built under other rules, or does not end where
    /// the piece begins: somebody else was faster.
    fn extend_index(
        &self,
        piece: IndexPiece,
    ) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Finds messages of one tenant.
    fn find(
        &self,
        tenant: &TenantId,
        sought: &Sought,
    ) -> impl Future<Output = Result<Found, StoreError>> + Send;

    /// Reads the message of a hit.
    fn message_of(
        &self,
        tenant: &TenantId,
        hit: &Hit,
    ) -> impl Future<Output = Result<Option<Row>, StoreError>> + Send;
}
