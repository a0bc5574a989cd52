//! Parameters of addresses and forms.
//!
//! Source: run:R8, run:R13.

use super::names::{Folded, NAME_BYTES_MAX};
use super::reader::is_quote;
use super::scan::Scan;
use super::spans::Cover;
use super::values::{bare, is_parameter};

/// Longest name with its escapes and invisible characters, in bytes.
const KEY_BYTES_MAX: usize = 4 * NAME_BYTES_MAX;

/// Hides the value at `at` of a parameter whose name starts at `start`: its mask in an address,
/// `***` in a form.
pub(super) fn claim(scan: &mut Scan<'_>, name: &Folded, start: usize, at: usize) {
    if !name.is_parameter() {
        return;
    }
    let value = bare(&scan.reader, at, is_parameter);
    let cover = if scan.in_address(start) {
        Cover::Masked
    } else {
        Cover::Hidden
    };
    scan.claim(value, cover);
}

/// Hides the value at `at` of a parameter of a form.
pub(super) fn claim_in_form(scan: &mut Scan<'_>, name: &Folded, at: usize) {
    if name.is_parameter() {
        let value = bare(&scan.reader, at, is_parameter);
        scan.claim(value, Cover::Hidden);
    }
}

/// Hides the value of the name around `at`, where a name is disguised by an escape or by a
/// character that nobody sees.
pub(super) fn disguised(scan: &mut Scan<'_>, at: usize) {
    if at < scan.keys_read {
        return;
    }
    let start = scan.reader.run_back(at, KEY_BYTES_MAX, is_key);
    let end = scan.reader.run(at, KEY_BYTES_MAX, is_key);
    scan.keys_read = end;
    if scan.reader.byte(end) != b'=' {
        return;
    }
    let name = Folded::of(&undisguised(scan.reader.slice(start, end)));
    let joined = matches!(scan.reader.before(start), b'?' | b'&' | b'#');
    let value = scan.reader.run(end + 1, KEY_BYTES_MAX, is_parameter);
    if joined || scan.reader.byte(value) == b'&' {
        claim(scan, &name, start, end + 1);
    } else if name.is_field() {
        let value = bare(&scan.reader, end + 1, is_parameter);
        scan.claim(value, Cover::Masked);
    }
}

/// What the name of a parameter is made of, disguised or not.
fn is_key(byte: u8) -> bool {
    !byte.is_ascii_whitespace()
        && !is_quote(byte)
        && !matches!(
            byte,
            b'=' | b'&' | b'?' | b'#' | b',' | b';' | b'/' | b'\\' | 0
        )
}

/// `key` with its `%` escapes read and the characters that nobody sees left out.
fn undisguised(key: &str) -> String {
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        let escaped = (*first == b'%').then(|| hex_pair(others)).flatten();
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() {
            others.get(2..).unwrap_or(&[])
        } else {
            others
        };
    }
    let text = String::from_utf8_lossy(&bytes);
    text.chars()
        .filter(|letter| !is_invisible(*letter))
        .collect()
}

fn hex_pair(bytes: &[u8]) -> Option<u8> {
    let pair = std::str::from_utf8(bytes.get(..2)?).ok()?;
    u8::from_str_radix(pair, 16).ok()
}

/// The invisible characters that a name may be disguised with.
pub(super) const INVISIBLE: [char; 9] = [
    '\u{ad}', '\u{200b}', '\u{200c}', '\u{200d}', '\u{200e}', '\u{200f}', '\u{2060}', '\u{feff}',
    '\u{61c}',
];

fn is_invisible(letter: char) -> bool {
    INVISIBLE.contains(&letter) || letter.is_control()
}

#[cfg(test)]
mod tests {
    use super::undisguised;

    #[test]
    fn run_r13_a_name_is_read_through_its_disguise() {
        let cases = [
            ("client%5Fsecret", "client_secret"),
            ("to%6Ben", "token"),
            ("to\u{200b}ken", "token"),
            ("to%E2%80%8Bken", "token"),
            ("100%", "100%"),
            ("a%zzb", "a%zzb"),
        ];
        for (key, expected) in cases {
            assert_eq!(undisguised(key), expected, "{key}");
        }
    }
}
