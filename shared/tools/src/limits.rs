//! Every bound of the tools that is not the model's, with its unit and its source.

/// Longest arguments of one call, in bytes of JSON text (contract).
pub(crate) const ARGUMENTS_BYTES_MAX: usize = 2 * 1024 * 1024;
/// Longest piece of a given value that a message repeats, in characters.
pub(crate) const GIVEN_CHARS_MAX: usize = 80;
/// Longest search text, in bytes.
pub(crate) const SEARCH_BYTES_MAX: usize = 512;
/// Longest page token, in bytes.
pub(crate) const PAGE_TOKEN_BYTES_MAX: usize = 4096;
/// Most rows of one page that get a derived title (reg:L35).
pub(crate) const TITLED_ROWS_MAX: usize = 100;
/// Longest derived title, in UTF-16 units (reg:L35).
pub(crate) const TITLE_UNITS_MAX: usize = 60;
/// A blank is a place to cut a title at from this position on, in UTF-16 units (reg:L35).
pub(crate) const TITLE_BREAK_UNITS_MIN: usize = 37;
