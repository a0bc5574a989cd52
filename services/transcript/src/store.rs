//! What the transcript asks of a database.
//!
//! Messages are only ever appended. Each method that writes is one transaction and answers after its
//! commit.

#[cfg(test)]
mod conformance;
pub mod fork;
pub mod imports;
pub mod search;
pub mod sqlite;

use std::collections::BTreeMap;
use std::future::Future;

use confab_model::clock::Timestamp;
use confab_model::id::{MessageId, SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::message::{Blob, Message, NewMessage};
use confab_store::StoreError;

/// Which messages are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Tool calls and results too.
    All,
    /// What was said, without tool calls and results.
    Plain,
}

impl View {
    /// The view with tool calls and results, or the one without.
    pub const fn with_tools(included: bool) -> Self {
        if included { Self::All } else { Self::Plain }
    }
}

/// A message that is ready to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Its identifier, should it be stored.
    pub id: MessageId,
    /// When it was said.
    pub at: Timestamp,
    /// Whether the view with tool messages shows it.
    pub in_all: bool,
    /// Whether the view without tool messages shows it.
    pub in_plain: bool,
    /// Whether a person wrote it.
    pub from_person: bool,
    /// The message.
    pub body: NewMessage,
}

/// Messages for one generation of a session, ready to be stored together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// The session, where the appender knows it: what a search is narrowed by.
    pub session_key: Option<SessionKey>,
    /// The messages, in order.
    pub drafts: Vec<Draft>,
    /// The pictures that they name, as far as their bytes were given.
    pub blobs: Vec<Blob>,
}

/// What became of an append.
#[derive(Clone, Debug, PartialEq)]
pub enum Appended {
    /// Every message is stored: one for each draft, in order, as stored now or earlier.
    Stored(Vec<Message>),
    /// A message with this key and other content is stored; nothing was appended.
    KeyReused(String),
    /// A compaction keeps a message that does not lie before it; nothing was appended.
    KeptAhead(KeptAhead),
}

/// A compaction whose first kept message lies behind its own marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAhead {
    /// The marker's key.
    pub key: String,
    /// Where the marker would stand.
    pub seq: u64,
    /// The first message that it keeps.
    pub first_kept_seq: u64,
}

/// A place in a transcript, and what there is up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The sequence; 0 before the first message.
    pub seq: u64,
    /// Messages that the view with tools shows.
    pub all: u64,
    /// Messages that the view without tools shows.
    pub plain: u64,
    /// The marker of the last compaction.
    pub compaction_seq: Option<u64>,
}

impl Mark {
    /// Messages that `view` shows up to here: the ordinal of the last of them.
    pub const fn count(&self, view: View) -> u64 {
        match view {
            View::All => self.all,
            View::Plain => self.plain,
        }
    }
}

/// Which messages to read: some that a view shows, counted from 1 at the oldest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Which messages are counted.
    pub view: View,
    /// The first one's ordinal.
    pub first: u64,
    /// The last one's ordinal.
    pub last: u64,
    /// Whether the newest one comes first.
    pub newest_first: bool,
    /// Only what was said at or after this moment.
    pub after: Option<Timestamp>,
    /// Only what was said before this moment.
    pub before: Option<Timestamp>,
}

/// A message as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The message's identifier.
    pub id: MessageId,
    /// Its place.
    pub seq: u64,
    /// When it was said.
    pub at: Timestamp,
    /// What was appended; absent where that is stored in a form that cannot be read.
    pub body: Option<NewMessage>,
}

/// The end of one transcript.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tail {
    /// Oldest first; tool messages are left out.
    pub messages: Vec<Row>,
    /// The first message of a person, where asked for.
    pub first_of_person: Option<Row>,
}

/// Whose ends to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailQuery {
    /// The transcripts.
    pub session_ids: Vec<SessionId>,
    /// Messages of each.
    pub limit: u32,
    /// Whether the first message of a person is wanted too.
    pub first_of_person: bool,
}

/// The transcript's database.
pub trait TranscriptStore: Clone + std::fmt::Debug + Send + Sync + 'static {
    /// Appends messages, all or none; a message whose key is stored with the same content is not
    /// appended again.
    fn append(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
        batch: Batch,
    ) -> impl Future<Output = Result<Appended, StoreError>> + Send;

    /// The end of a transcript: the live one, or the place `at` where that lies before it. A
    /// transcript that nobody wrote to ends before its first message.
    fn end(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
        at: Option<u64>,
    ) -> impl Future<Output = Result<Mark, StoreError>> + Send;

    /// Reads some of the messages that a view shows.
    fn rows(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
        stretch: Stretch,
    ) -> impl Future<Output = Result<Vec<Row>, StoreError>> + Send;

    /// The sequence of the message that is the `ordinal`-th of a view.
    fn seq_of(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
        view: View,
        ordinal: u64,
    ) -> impl Future<Output = Result<Option<u64>, StoreError>> + Send;

    /// Reads the message at a place, whether a view shows it or not.
    fn row(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
        seq: u64,
    ) -> impl Future<Output = Result<Option<Row>, StoreError>> + Send;

    /// The bytes of a picture.
    fn blob(
        &self,
        tenant: &TenantId,
        reference: &str,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, StoreError>> + Send;

    /// Reads the ends of many transcripts together; empty ones are left out.
    fn tails(
        &self,
        tenant: &TenantId,
        query: &TailQuery,
    ) -> impl Future<Output = Result<BTreeMap<SessionId, Tail>, StoreError>> + Send;
}
