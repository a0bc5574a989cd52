//! Passwords in addresses: `scheme://user:password@host`.
//!
//! Source: run:R11.

use super::reader::is_quote;
use super::scan::Scan;
use super::spans::Cover;

/// The schemes, in small letters.
pub(super) const SCHEMES: [&str; 16] = [
    "http",
    "https",
    "ws",
    "wss",
    "ftp",
    "ftps",
    "postgres",
    "postgresql",
    "mysql",
    "mongodb",
    "mongodb+srv",
    "redis",
    "rediss",
    "amqp",
    "amqps",
    "sftp",
];
/// Longest name of a scheme, in bytes.
const SCHEME_BYTES_MAX: usize = 16;

/// Hides the password of the address whose `://` stands from `start` to `end`.
pub(super) fn found(scan: &mut Scan<'_>, start: usize, end: usize) {
    let authority_end = scan.reader.run(end, usize::MAX, in_authority);
    let authority = scan.reader.slice(end, authority_end);
    let Some(at) = authority.rfind('@') else {
        return;
    };
    let Some(colon) = authority.get(..at).and_then(|user| user.find(':')) else {
        return;
    };
    let scheme_start = scan.reader.run_back(start, SCHEME_BYTES_MAX, in_scheme);
    let scheme = scan.reader.slice(scheme_start, start);
    let known = SCHEMES
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known));
    let escaped = scheme
        .get(1..)
        .filter(|_| scan.reader.follows_escape(scheme_start + 1));
    let known = known || escaped.is_some_and(|rest| SCHEMES.contains(&rest));
    if known {
        scan.claim(end + colon + 1..end + at, Cover::Masked);
    }
}

fn in_scheme(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'+'
}

fn in_authority(byte: u8) -> bool {
    !byte.is_ascii_whitespace()
        && !is_quote(byte)
        && !matches!(byte, b'/' | b'?' | b'#' | b'<' | b'>' | b'\\' | 0)
}
