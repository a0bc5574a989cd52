//! The bounds of this crate.

/// Bytes of messages in one answer with the ends of transcripts, which must stay below the size of a
/// gRPC message (4 MiB); the sessions share them evenly.
pub const TAILS_BYTES_MAX: usize = 3 * 1024 * 1024;

/// Bytes of a first message, of which a title shows 60 characters (reg:L35): for 200 sessions they
/// stay, together with [`TAILS_BYTES_MAX`], below the size of a gRPC message.
pub const FIRST_TEXT_BYTES_MAX: usize = 2 * 1024;

/// Messages read from the database at a time: a usual page in one go, and of the largest messages
/// (1 MiB) no more than what memory bears.
pub const CHUNK_ROWS: u64 = 50;

/// Messages that one call with a filter looks at; the next call goes on from there.
pub const FILTERED_ROWS_MAX: u64 = 20_000;

/// Roles in one filter: there are no more.
pub const FILTER_ROLES_MAX: usize = 3;

/// Longest word of the search index, in characters; a longer run is several words.
pub const WORD_CHARS_MAX: usize = 64;

/// Longest excerpt of a hit, in UTF-16 units.
pub const EXCERPT_UNITS_MAX: usize = 240;

/// What an excerpt shows before the hit, in UTF-16 units.
pub const EXCERPT_LEAD_UNITS: usize = 80;

/// Longest visible character that is kept whole, in bytes; beyond it only code points are.
pub const CLUSTER_BYTES_MAX: usize = 256;

/// Messages that one write adds to the search index, so that appends are not held up by more (D77).
pub const INDEX_PIECE_MESSAGES: u32 = 500;

/// Bytes of messages that one write adds to the search index.
pub const INDEX_PIECE_BYTES: u64 = 4 * 1024 * 1024;

/// Hits of a search whose sessions the gate is asked about together.
pub const SEARCH_ROUND_HITS: usize = 200;

/// Hits of a search that are looked at, the newest ones: five rounds.
pub const SEARCH_HITS_MAX: u32 = 1_000;

/// How often a search begins anew because the rules of masking changed under it.
pub const SEARCH_ATTEMPTS_MAX: usize = 3;

/// Messages of a fork, which is one write (D77).
pub const FORK_MESSAGES_MAX: u64 = 50_000;

/// Bytes of the messages of a fork, as they are stored.
pub const FORK_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Messages of a fork that are read and written together.
pub const FORK_PIECE_MESSAGES: u32 = 200;

/// Bytes of a line of an import; a longer one is passed over and told (contract, Interfaces).
pub const IMPORT_LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of an import: what a disk bears beside its database.
pub const IMPORT_BYTES_MAX: u64 = 16 * 1024 * 1024 * 1024;

/// Lines of an import that are not blank: each takes 41 bytes of memory.
pub const IMPORT_LINES_MAX: usize = 4_000_000;

/// Messages of an import that are stored together, and entries beside them.
pub const IMPORT_BATCH_ENTRIES: usize = 1_000;

/// Bytes of lines that are stored together; the line that exceeds them is the last of its batch.
pub const IMPORT_BATCH_BYTES: usize = 2 * 1024 * 1024;

/// Faults that an import tells; the others are counted.
pub const IMPORT_FAULTS_MAX: usize = 100;

/// Rows of an export that are read together.
pub const EXPORT_ROWS: usize = 500;

/// Bytes of rows that are read together; the row that exceeds them is the last.
pub const EXPORT_ROWS_BYTES: usize = 2 * 1024 * 1024;

/// Bytes of a piece of an export.
pub const EXPORT_PIECE_BYTES: usize = 256 * 1024;
