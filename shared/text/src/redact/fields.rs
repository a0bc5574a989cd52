//! Names with their values: variables, fields, flags, headers, parameters.
//!
//! Source: run:R5, run:R6, run:R7, run:R8, run:R9, run:R10, run:R12, run:R13, D61.

use std::ops::Range;

use super::names::{Folded, NAME_BYTES_MAX, is_variable};
use super::reader::{is_name, is_word};
use super::scan::Scan;
use super::spans::Cover;
use super::values::{
    Separator, Sign, bare, blanks, is_listed, is_parameter, is_plain, quote, quoted,
    refers_to_itself, separator, unclosed,
};
use super::{headers, parameters, pem};

/// How far the first value of a form is read to see whether another follows, in bytes.
const FORM_VALUE_BYTES_MAX: usize = 256;

/// A name that may be that of a secret.
#[derive(Debug)]
pub(super) struct Name<'t> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: &'t str,
    pub(super) folded: Folded,
}

/// Hides the value of the name that ends at `end`, if it is that of a secret and has a value.
pub(super) fn found(scan: &mut Scan<'_>, end: usize) {
    if is_name(scan.reader.byte(end)) {
        return;
    }
    // Most names that are words of a sentence end here, before anything is read.
    let (quote, separator) = (quote(&scan.reader, end), separator(&scan.reader, end));
    let start = start_of(scan, end);
    let text = scan.reader.slice(start, end);
    let is_flag = text.starts_with("--");
    if quote.is_none() && separator.is_none() && !is_flag || scan.reader.follows_mask(start) {
        return;
    }
    let folded = Folded::of(text);
    let name = Name {
        start,
        end,
        text,
        folded,
    };
    match (quote, separator) {
        (Some((_, after)), _) => in_quotes(scan, &name, after, is_flag),
        (None, _) if is_flag => flag(scan, &name, separator),
        (None, Some(separator)) => assigned(scan, &name, separator),
        (None, None) => {},
    }
}

/// Where the name that ends at `end` begins; the letter of an escape is no part of it.
fn start_of(scan: &Scan<'_>, end: usize) -> usize {
    let start = scan.reader.run_back(end, NAME_BYTES_MAX, is_name);
    if scan.reader.follows_escape(start + 1) {
        start + 1
    } else {
        start
    }
}

/// `"name": "value"`, `"name": 123`, and the flag of a list of arguments: `"--name", "value"`.
fn in_quotes(scan: &mut Scan<'_>, name: &Name<'_>, after: usize, is_flag: bool) {
    if scan.reader.before(name.start) != scan.reader.before(after) {
        return;
    }
    let known = name.folded.is_field() || name.folded.is_header() || is_variable(name.text);
    if !known {
        return;
    }
    if is_flag && scan.reader.byte(blanks(&scan.reader, after)) == b',' {
        let comma = blanks(&scan.reader, after);
        let value = blanks(&scan.reader, comma + 1);
        claim_quoted(scan, name, value);
        return;
    }
    let Some(separator) = separator(&scan.reader, after) else {
        return;
    };
    if !claim_quoted(scan, name, separator.value) {
        claim_number(scan, separator.value);
    }
}

/// `--name value`, `--name=value`.
fn flag(scan: &mut Scan<'_>, name: &Name<'_>, separator: Option<Separator>) {
    if !name.folded.is_field() {
        return;
    }
    let equals = separator.filter(|separator| separator.sign == Sign::Equals);
    let value = match equals {
        Some(separator) => separator.value,
        None => blanks(&scan.reader, name.end),
    };
    let is_next_flag = scan.reader.slice(value, value + 2) == "--";
    if value > name.end && !is_next_flag {
        claim(scan, name, value, is_plain);
    }
}

/// `name=value`, `name: value`.
fn assigned(scan: &mut Scan<'_>, name: &Name<'_>, separator: Separator) {
    let before = scan.reader.before(name.start);
    let in_query = separator.sign == Sign::Equals && matches!(before, b'?' | b'&' | b'#');
    if in_query && !separator.spaced {
        parameters::claim(scan, &name.folded, name.start, separator.value);
    } else if is_variable(name.text) {
        variable(scan, name, separator);
    } else {
        match separator.sign {
            Sign::Colon => after_colon(scan, name, separator.value),
            Sign::Equals => after_equals(scan, name, separator),
        }
    }
}

/// `NAME=value`, `NAME: value`, and the default of `${NAME:-value}`.
fn variable(scan: &mut Scan<'_>, name: &Name<'_>, separator: Separator) {
    let expands = scan.reader.slice(name.start.saturating_sub(2), name.start) == "${";
    if !expands {
        claim(scan, name, separator.value, is_plain);
    } else if separator.sign == Sign::Colon
        && !separator.spaced
        && matches!(scan.reader.byte(separator.value), b'-' | b'=')
    {
        let default = separator.value + 1;
        claim(scan, name, default, |byte| is_plain(byte) && byte != b'}');
    }
}

fn after_colon(scan: &mut Scan<'_>, name: &Name<'_>, value: usize) {
    let is_quoted = quote(&scan.reader, value).is_some();
    if name.folded.is_header() && !is_quoted {
        headers::claim(scan, &name.folded, value);
    } else if name.folded.is_field() || name.folded.is_header() {
        claim_quoted(scan, name, value);
    }
}

fn after_equals(scan: &mut Scan<'_>, name: &Name<'_>, separator: Separator) {
    if !name.folded.is_field() {
        if starts_form(scan, name, separator) {
            parameters::claim_in_form(scan, &name.folded, separator.value);
        }
        return;
    }
    if claim_quoted(scan, name, separator.value) {
        return;
    }
    if separator.spaced {
        // As it stands in a file of credentials; other names before ` = ` are code.
        if name.folded.is_cloud_key() {
            claim(scan, name, separator.value, is_listed);
        }
        return;
    }
    if starts_form(scan, name, separator) {
        parameters::claim_in_form(scan, &name.folded, separator.value);
    } else if stands_alone(scan, name.start) {
        claim(scan, name, separator.value, is_listed);
    }
}

/// Whether a name at `start` is the first of its kind: after a blank, a delimiter, or nothing.
fn stands_alone(scan: &Scan<'_>, start: usize) -> bool {
    let before = scan.reader.before(start);
    matches!(before, 0 | b',' | b';' | b'(' | b'{' | b'[' | b'<')
        || before.is_ascii_whitespace()
        || super::reader::is_quote(before)
        || scan.reader.follows_escape(start)
}

/// Whether the pair is the first of a form: `name=value&other=…`.
fn starts_form(scan: &Scan<'_>, name: &Name<'_>, separator: Separator) -> bool {
    if separator.spaced || !stands_alone(scan, name.start) {
        return false;
    }
    let end = scan
        .reader
        .run(separator.value, FORM_VALUE_BYTES_MAX, is_parameter);
    if scan.reader.byte(end) != b'&' {
        return false;
    }
    let next = scan.reader.run(end + 1, NAME_BYTES_MAX, is_word);
    next > end + 1 && scan.reader.byte(next) == b'='
}

/// Hides the value at `at`, quoted or bare.
pub(super) fn claim(scan: &mut Scan<'_>, name: &Name<'_>, at: usize, class: fn(u8) -> bool) {
    if claim_quoted(scan, name, at) || begins_key(scan, at) {
        return;
    }
    let value = bare(&scan.reader, at, class);
    let raw = scan
        .reader
        .slice(at, scan.reader.run(value.end, 1, |byte| byte == b'}'));
    if refers_to_itself(raw, name.text) {
        scan.claim(at..at + raw.len(), Cover::Kept);
    } else {
        scan.claim(value, Cover::Masked);
    }
}

/// Whether a private key begins at `at`, whose lines are hidden as such.
fn begins_key(scan: &Scan<'_>, at: usize) -> bool {
    let marker = pem::BEGIN;
    scan.reader.slice(at, at + marker.len()) == marker
}

/// Hides the value in quotes at `at`; says whether there is one.
fn claim_quoted(scan: &mut Scan<'_>, name: &Name<'_>, at: usize) -> bool {
    let Some(value) = quoted(&scan.reader, at).or_else(|| unclosed(&scan.reader, at)) else {
        return false;
    };
    let text = scan.reader.slice(value.start, value.end);
    if refers_to_itself(text, name.text) {
        scan.claim(value, Cover::Kept);
    } else {
        let secret = without_scheme(scan, name, value);
        scan.claim(secret, Cover::Masked);
    }
    true
}

fn without_scheme(scan: &Scan<'_>, name: &Name<'_>, value: Range<usize>) -> Range<usize> {
    if name.folded.has_scheme() {
        headers::credentials(&scan.reader, value)
    } else {
        value
    }
}

/// Hides the number at `at`, where one stands.
fn claim_number(scan: &mut Scan<'_>, at: usize) {
    let end = scan
        .reader
        .run(at, usize::MAX, |byte| byte.is_ascii_digit());
    if !is_word(scan.reader.byte(end)) && scan.reader.byte(end) != b'.' {
        scan.claim(at..end, Cover::Hidden);
    }
}
