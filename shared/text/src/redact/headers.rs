//! The values of headers.
//!
//! Source: run:R4, run:R5, run:R10.

use std::ops::Range;

use super::names::Folded;
use super::reader::{Reader, is_name};
use super::scan::Scan;
use super::spans::Cover;
use super::values::{bare, blanks, is_plain};

/// Schemes after which credentials follow, in small letters.
const SCHEMES: [&str; 10] = [
    "bearer",
    "basic",
    "bot",
    "digest",
    "token",
    "apikey",
    "negotiate",
    "ntlm",
    "hawk",
    "key",
];
/// Longest name of a scheme, in bytes.
const SCHEME_BYTES_MAX: usize = 24;
/// Credentials after an unknown scheme, or without a cookie's name, are at least this long, in bytes:
/// shorter ones are words.
const UNKNOWN_BYTES_MIN: usize = 16;
/// The first `=` of a cookie stands within its first bytes.
const COOKIE_NAME_BYTES_MAX: usize = 256;
/// Credentials after the bare word `Bearer` are at least this long, in bytes.
const BEARER_BYTES_MIN: usize = 18;

/// Hides the value at `at` of the header `name`.
pub(super) fn claim(scan: &mut Scan<'_>, name: &Folded, at: usize) {
    if name.is_cookie() {
        cookie(scan, at);
    } else if name.has_scheme() {
        authorization(scan, at);
    } else {
        let value = bare(&scan.reader, at, is_plain);
        scan.claim(value, Cover::Masked);
    }
}

/// `name=value; …` to the end of the line, or a value alone that is too long for a word.
fn cookie(scan: &mut Scan<'_>, at: usize) {
    let seen = scan.reader.run(at, COOKIE_NAME_BYTES_MAX, in_line);
    if scan.reader.slice(at, seen).contains('=') {
        let value = bare(&scan.reader, at, in_line);
        scan.claim(trimmed(&scan.reader, value), Cover::Masked);
        return;
    }
    let value = bare(&scan.reader, at, is_plain);
    if value.len() >= UNKNOWN_BYTES_MIN {
        scan.claim(value, Cover::Masked);
    }
}

/// `Bearer x`, `Basic x`, `Digest a="b", …`, or credentials alone; a sentence stays.
fn authorization(scan: &mut Scan<'_>, at: usize) {
    let scheme_end = scan.reader.run(at, SCHEME_BYTES_MAX, is_name);
    let next = blanks(&scan.reader, scheme_end);
    if scheme_end == at || next == scheme_end {
        let value = bare(&scan.reader, at, is_plain);
        scan.claim(value, Cover::Masked);
        return;
    }
    let value = bare(&scan.reader, next, is_plain);
    let scheme = scan.reader.slice(at, scheme_end);
    if value.is_empty() && !is_scheme(scheme) {
        scan.claim(at..scheme_end, Cover::Masked);
    } else if scheme.eq_ignore_ascii_case("digest") {
        let end = scan.reader.run(next, usize::MAX, in_digest);
        scan.claim(trimmed(&scan.reader, next..end), Cover::Hidden);
    } else if is_scheme(scheme) || value.len() >= UNKNOWN_BYTES_MIN {
        scan.claim(value, Cover::Masked);
    }
}

fn is_scheme(word: &str) -> bool {
    SCHEMES
        .iter()
        .any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// The part of a quoted `value` behind its scheme.
pub(super) fn credentials(reader: &Reader<'_>, value: Range<usize>) -> Range<usize> {
    let scheme_end = reader.run(value.start, SCHEME_BYTES_MAX, is_name);
    let next = blanks(reader, scheme_end);
    if is_scheme(reader.slice(value.start, scheme_end)) && scheme_end < next && next < value.end {
        next..value.end
    } else {
        value
    }
}

/// Hides what follows the word `Bearer`, which ends at `end`.
pub(super) fn bearer(scan: &mut Scan<'_>, start: usize, end: usize) {
    let at = blanks(&scan.reader, end);
    if at == end || !scan.reader.begins(start) {
        return;
    }
    let value_end = scan.reader.run(at, usize::MAX, is_credential);
    if value_end - at >= BEARER_BYTES_MIN {
        let length = scan.reader.slice(at, value_end).trim_end_matches('.').len();
        scan.claim(at..at + length, Cover::Masked);
    }
}

/// What bearer tokens are made of.
fn is_credential(byte: u8) -> bool {
    is_name(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
}

fn in_line(byte: u8) -> bool {
    !matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b'`' | 0)
}

/// What the quoted parts of a digest are made of as well.
fn in_digest(byte: u8) -> bool {
    !matches!(byte, b'\n' | b'\r' | b'\'' | 0)
}

fn trimmed(reader: &Reader<'_>, value: Range<usize>) -> Range<usize> {
    let length = reader.slice(value.start, value.end).trim_end().len();
    value.start..value.start + length
}
