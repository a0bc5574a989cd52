//! What imports and exports ask of a database.

use std::future::Future;

use confab_model::id::{SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::message::Blob;
use confab_store::StoreError;

use crate::store::{Draft, Row};

/// Lines of a file, ready to be stored together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportBatch {
    /// The session.
    pub session_key: Option<SessionKey>,
    /// The message that the first line stands behind; 0: none.
    pub after: u64,
    /// The lines, in order.
    pub entries: Vec<ImportEntry>,
    /// Whether to tell what would become of them, and store nothing.
    pub dry_run: bool,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportEntry {
    /// Names it within its session: the same name again is the same entry. For a message: its key.
    pub name: String,
    /// Its text, without the bytes of pictures.
    pub line: String,
    /// Whether the entries behind it hang on it.
    pub on_branch: bool,
    /// The pictures that it names.
    pub blobs: Vec<Blob>,
    /// What it is.
    pub content: ImportContent,
}

/// What a line of a file is.
#[derive(Clone, Debug, PartialEq)]
pub enum ImportContent {
    /// A message.
    Message(Box<ImportMessage>),
    /// Something else, which only the export has.
    Aside,
}

/// A message of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportMessage {
    /// The message.
    pub draft: Draft,
    /// For a compaction: the key of the first message that it keeps.
    pub first_kept: Option<String>,
    /// Whether an export writes the same line from the message alone, where it stands right behind the
    /// one before it.
    pub reproducible: bool,
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportOutcome {
    /// A message that is stored by this.
    Stored,
    /// A message that was stored already.
    Repeated,
    /// A message that is stored with other content, which stays.
    Differs,
    /// An entry that is kept for the export, by this or earlier.
    Kept,
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Imported {
    /// Its lines are stored, now or earlier.
    Stored(ImportedLines),
    /// The transcript began with a message that no import brought; nothing was stored.
    NotEmpty,
}

/// What became of the lines of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedLines {
    /// One for each line, in order.
    pub outcomes: Vec<ImportOutcome>,
    /// The message that the next batch stands behind.
    pub after: u64,
}

/// Where a line that was kept stands: the message that it is of or stands behind, and its place there.
/// Place 0 is the message itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct OriginalPlace {
    /// The message; 0: before every message.
    pub after_seq: u64,
    /// Its place behind that message.
    pub place: u64,
}

/// A line that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    /// Where it stands.
    pub at: OriginalPlace,
    /// Whether the entries behind it hang on it.
    pub on_branch: bool,
    /// Its text, without the bytes of pictures.
    pub line: String,
}

/// What an export of a transcript holds, as of the moment it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportEnd {
    /// Its last message.
    pub last_seq: u64,
    /// The number of the last line that was kept.
    pub last_original: u64,
    /// Whether a header is among them, before every message.
    pub has_header: bool,
}

/// The part of the transcript's database that holds files.
pub trait ImportStore: Clone + std::fmt::Debug + Send + Sync + 'static {
    /// Stores lines that are not stored, and leaves those alone that are; all of them or none. A
    /// transcript that began here takes no import, and one that began with an import does, whatever
    /// was said behind it.
    fn import(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
        batch: ImportBatch,
    ) -> impl Future<Output = Result<Imported, StoreError>> + Send;

    /// What there is to export.
    fn export_end(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
    ) -> impl Future<Output = Result<ExportEnd, StoreError>> + Send;

    /// Reads the messages behind `after`, whether a view shows them or not, up to `end`: some, and at
    /// least one where there is one.
    fn export_messages(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
        after: u64,
        end: ExportEnd,
    ) -> impl Future<Output = Result<Vec<Row>, StoreError>> + Send;

    /// Reads the lines that were kept behind the place `after`, up to `end`: some, and at least one
    /// where there is one. Nothing stands before the default place.
    fn export_originals(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
        after: OriginalPlace,
        end: ExportEnd,
    ) -> impl Future<Output = Result<Vec<Original>, StoreError>> + Send;
}
