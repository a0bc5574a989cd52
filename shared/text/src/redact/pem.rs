//! Private keys in PEM form.
//!
//! Source: run:R3.

use std::ops::Range;

use super::reader::{Reader, is_blank};
use super::scan::Scan;
use super::spans::{BODY, Cover, OPEN_BODY};

pub(super) const BEGIN: &str = "-----BEGIN ";
pub(super) const END: &str = "-----END ";
const DASHES: &str = "-----";
/// Longest kind of key, in bytes: `ENCRYPTED PRIVATE KEY` and its like.
const KIND_BYTES_MAX: usize = 48;
/// What stands above the base64 of an encrypted key.
const HEADERS: [&str; 2] = ["Proc-Type:", "DEK-Info:"];
/// A line of a key without an end is at least this long before it is taken for one, in bytes.
const LINE_BYTES_MIN: usize = 16;

/// The whole first or last line of a key whose `marker` stands at `start`.
fn line(scan: &Scan<'_>, marker: &str, start: usize) -> Option<Range<usize>> {
    let kind = start + marker.len();
    if scan.reader.slice(start, kind) != marker {
        return None;
    }
    let kind_end = scan.reader.run(kind, KIND_BYTES_MAX, |byte| {
        byte.is_ascii_alphanumeric() || byte == b' '
    });
    let end = kind_end + DASHES.len();
    let named = scan.reader.slice(kind, kind_end).trim_end_matches(" BLOCK");
    let closed = scan.reader.slice(kind_end, end) == DASHES;
    (closed && named.ends_with("PRIVATE KEY")).then_some(start..end)
}

/// Notes that a key begins at `start`.
pub(super) fn begins(scan: &mut Scan<'_>, start: usize) {
    if let Some(line) = line(scan, BEGIN, start) {
        settle(scan, start);
        scan.key = Some(line);
    }
}

/// Hides the key that ends with the marker at `start`.
pub(super) fn ends(scan: &mut Scan<'_>, start: usize) {
    let Some(last) = line(scan, END, start) else {
        return;
    };
    let Some(first) = scan.key.take() else {
        return;
    };
    let body = first.end
        ..scan
            .reader
            .run_back(last.start, usize::MAX, is_blank)
            .max(first.end);
    let text = scan.reader.slice(body.start, body.end);
    if text.contains('\n') {
        scan.claim(body, Cover::Replaced(BODY));
    } else if text == BODY.trim() {
        scan.claim(first.start..last.end, Cover::Kept);
    } else {
        scan.claim(first.start..last.end, Cover::Hidden);
    }
}

/// Hides the lines before `until` of a key that has begun and does not end.
///
/// No line is read for two keys: a line that the next one begins in belongs to neither.
pub(super) fn settle(scan: &mut Scan<'_>, until: usize) {
    let Some(first) = scan.key.take() else {
        return;
    };
    let mut end = first.end;
    let mut cover = Cover::Replaced(OPEN_BODY);
    let mut line = body_line(&scan.reader, first.end).filter(|line| line.content.is_empty());
    while let Some(read) = line.filter(|line| line.content.end <= until) {
        if !read.content.is_empty() {
            end = read.content.end;
        }
        if read.is_escaped {
            cover = Cover::Hidden;
        }
        line = body_line(&scan.reader, read.next);
    }
    scan.claim(first.end..end, cover);
}

/// A line between the first and the last of a key.
#[derive(Debug)]
struct BodyLine {
    content: Range<usize>,
    /// Where the next line begins.
    next: usize,
    /// Whether it ends with an escape, `\n`.
    is_escaped: bool,
}

/// The line of a key at `at`: nothing, a header or base64; absent where something else stands.
fn body_line(reader: &Reader<'_>, at: usize) -> Option<BodyLine> {
    let start = reader.run(at, usize::MAX, is_blank);
    let is_header = HEADERS
        .iter()
        .any(|header| reader.slice(start, start + header.len()) == *header);
    let class = if is_header { is_header_byte } else { is_base64 };
    let end = reader.run(start, usize::MAX, class);
    let closed = reader.run(end, usize::MAX, |byte| is_blank(byte) || byte == b'\r');
    let is_escaped = reader.slice(closed, closed + 2) == "\\n";
    let length = match reader.byte(closed) {
        b'\n' => 1,
        b'\\' if is_escaped => 2,
        0 if end > start => 0,
        _ => return None,
    };
    // Short words are the text that follows, unless they end as base64 does.
    let is_word = end - start < LINE_BYTES_MIN && reader.before(end) != b'=';
    if end > start && is_word && !is_header {
        return None;
    }
    Some(BodyLine {
        content: start..end,
        next: closed + length,
        is_escaped,
    })
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn is_header_byte(byte: u8) -> bool {
    is_base64(byte) || matches!(byte, b':' | b',' | b'-' | b' ')
}
