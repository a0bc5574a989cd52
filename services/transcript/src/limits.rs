//! The bounds of this crate.

/// Bytes of messages in one answer with the ends of transcripts, which must stay below the size of a
/// gRPC message (4 MiB); the sessions share them evenly.
pub const TAILS_BYTES_MAX: usize = 3 * 1024 * 1024;

/// Bytes of a first message, of which a title shows 60 characters (reg:L35): for 200 sessions they
/// stay, together with [`TAILS_BYTES_MAX`], below the size of a gRPC message.
pub const FIRST_TEXT_BYTES_MAX: usize = 2 * 1024;
