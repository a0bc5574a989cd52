//! What the transcript asks of a database.
//!
//! Messages are only ever appended. Each method that writes is one transaction and answers after its
//! commit.

#[cfg(test)]
mod conformance;
pub mod sqlite;

use std::collections::BTreeMap;
use std::future::Future;

use confab_model::clock::Timestamp;
use confab_model::id::{MessageId, SessionId, TenantId};
use confab_model::message::{Message, NewMessage};
use confab_store::StoreError;

/// Which messages are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Tool calls and results too.
    All,
    /// What was said, without tool calls and results.
    Plain,
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

/// What became of an append.
#[derive(Clone, Debug, PartialEq)]
pub enum Appended {
    /// Every message is stored: one for each draft, in order, as stored now or earlier.
    Stored(Vec<Message>),
    /// A message with this key and other content is stored; nothing was appended.
    KeyReused(String),
}

/// Which part of a transcript to read: messages counted back from an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Which messages are counted.
    pub view: View,
    /// The end, as a sequence; absent: the live one.
    pub snapshot: Option<u64>,
    /// Shown messages to skip.
    pub offset: u64,
    /// Shown messages to read.
    pub limit: u32,
}

/// A part of a transcript.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extract {
    /// Oldest first.
    pub messages: Vec<Message>,
    /// Shown messages up to the end.
    pub total: u64,
    /// The end, as a sequence; 0 in an empty transcript.
    pub snapshot: u64,
}

/// The end of one transcript.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tail {
    /// Oldest first; tool messages are left out.
    pub messages: Vec<Message>,
    /// The first message of a person, where asked for.
    pub first_of_person: Option<Message>,
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
        drafts: Vec<Draft>,
    ) -> impl Future<Output = Result<Appended, StoreError>> + Send;

    /// Reads a part of a transcript; one that nobody wrote to is empty.
    fn read(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
        window: Window,
    ) -> impl Future<Output = Result<Extract, StoreError>> + Send;

    /// Reads the ends of many transcripts together; empty ones are left out.
    fn tails(
        &self,
        tenant: &TenantId,
        query: &TailQuery,
    ) -> impl Future<Output = Result<BTreeMap<SessionId, Tail>, StoreError>> + Send;
}
