//! Where a value ends: at its quote, or at what cannot belong to it.
//!
//! Source: run:R2, run:R6, run:R7.

use std::ops::Range;

use super::reader::{Reader, is_blank, is_quote};

/// Most backslashes before a quote that is still one: JSON in JSON in JSON.
const ESCAPES_MAX: usize = 7;
/// Most blanks between a name and its value.
const BLANKS_MAX: usize = 64;
/// What ends a value without being part of it.
const DELIMITERS: [char; 8] = ['"', '\'', '`', ',', ';', ')', '}', ']'];

/// What stands between a name and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Equals,
    Colon,
}

/// A sign, and where the value behind it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Separator {
    pub(super) sign: Sign,
    pub(super) value: usize,
    /// Whether blanks stand around the sign.
    pub(super) spaced: bool,
}

/// The sign that follows `at`: `=`, `:`, `=>` or `:=`, but no comparison and no path.
pub(super) fn separator(reader: &Reader<'_>, at: usize) -> Option<Separator> {
    let start = blanks(reader, at);
    let (sign, length) = match (reader.byte(start), reader.byte(start + 1)) {
        (b'=', b'=') | (b':', b':') => return None,
        (b'=', b'>') => (Sign::Equals, 2),
        (b'=', _) => (Sign::Equals, 1),
        (b':', b'=') => (Sign::Colon, 2),
        (b':', _) => (Sign::Colon, 1),
        _ => return None,
    };
    let value = blanks(reader, start + length);
    let spaced = start > at || value > start + length;
    Some(Separator {
        sign,
        value,
        spaced,
    })
}

/// Where the blanks at `at` end.
pub(super) fn blanks(reader: &Reader<'_>, at: usize) -> usize {
    reader.run(at, BLANKS_MAX, is_blank)
}

/// A quote with the backslashes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quote {
    mark: u8,
    escapes: usize,
}

/// The quote at `at`, and where it ends.
pub(super) fn quote(reader: &Reader<'_>, at: usize) -> Option<(Quote, usize)> {
    let mark_at = reader.run(at, ESCAPES_MAX, |byte| byte == b'\\');
    let mark = reader.byte(mark_at);
    let escapes = mark_at - at;
    is_quote(mark).then_some((Quote { mark, escapes }, mark_at + 1))
}

/// What the quotes at `at` enclose; absent where none stand, or do not close on the line.
pub(super) fn quoted(reader: &Reader<'_>, at: usize) -> Option<Range<usize>> {
    let (quote, start) = quote(reader, at)?;
    let mut from = start;
    loop {
        let mark = reader.find_on_line(quote.mark, from)?;
        let escapes = mark - reader.run_back(mark, mark - start, |byte| byte == b'\\');
        if quote.escapes == 0 && escapes.is_multiple_of(2) {
            return Some(start..mark);
        }
        if quote.escapes > 0 && escapes <= quote.escapes {
            return Some(start..mark - escapes);
        }
        from = mark + 1;
    }
}

/// What stands behind the quote at `at` that does not close, up to the end of the line.
pub(super) fn unclosed(reader: &Reader<'_>, at: usize) -> Option<Range<usize>> {
    let (_, start) = quote(reader, at)?;
    let end = reader.run(start, usize::MAX, |byte| !matches!(byte, b'\n' | b'\r' | 0));
    let length = reader.slice(start, end).trim_end().len();
    (length > 0).then(|| start..start + length)
}

/// The value at `at` up to what is not in `class`, without the delimiters at its end.
pub(super) fn bare(reader: &Reader<'_>, at: usize, class: fn(u8) -> bool) -> Range<usize> {
    let end = reader.run(at, usize::MAX, class);
    let length = reader.slice(at, end).trim_end_matches(DELIMITERS).len();
    at..at + length
}

/// What a value of a variable is made of.
pub(super) fn is_plain(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !is_quote(byte) && byte != b'\\' && byte != 0
}

/// What a value among others of its kind is made of.
pub(super) fn is_listed(byte: u8) -> bool {
    is_plain(byte) && !matches!(byte, b',' | b';' | b'&')
}

/// What a parameter of an address or a form is made of.
pub(super) fn is_parameter(byte: u8) -> bool {
    is_plain(byte) && !matches!(byte, b'&' | b'#' | b'<' | b'>')
}

/// Whether `value` is the shell's reference to the variable `name` itself, with delimiters behind.
pub(super) fn refers_to_itself(value: &str, name: &str) -> bool {
    let rest = value
        .strip_prefix('$')
        .and_then(|value| match value.strip_prefix('{') {
            Some(inner) => {
                let rest = inner.strip_prefix(name)?;
                rest.strip_prefix(":-}").or_else(|| rest.strip_prefix('}'))
            },
            None => value.strip_prefix(name),
        });
    rest.is_some_and(|rest| rest.trim_end_matches(DELIMITERS).is_empty())
}
