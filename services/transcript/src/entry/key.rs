//! How an entry of a file and a message of a transcript name each other.

use confab_model::limits::ID_BYTES_MAX;
use confab_model::message::{Blob, Message};
use sha2::{Digest as _, Sha256};

/// What every key of an imported entry begins with.
const PREFIX: &str = "import:";
/// What the name of an entry without an id begins with, before its line's number and
/// the beginning of its content's hash.
const LINE: &str = "line:";
/// What a name that is a hash begins with.
const HASH: &str = "sha256:";
/// What the name of a header begins with.
pub const HEADER_PREFIX: &str = "header:";

/// Bytes of a line's hash in the name of an entry without an id.
const LINE_HASH_BYTES: usize = 8;

/// The key of an entry: by its id, or by its line's number and content where it has none. Two files of
/// one generation may each have a first line, and only the same line is the same message.
///
/// Source: run:T3.
pub fn of_entry(id: Option<&str>, line: u64, text: &str) -> String {
    if let Some(id) = id {
        return bounded(PREFIX, id);
    }
    let digest = Sha256::digest(text).into_iter().take(LINE_HASH_BYTES);
    let digest: Vec<u8> = digest.collect();
    format!("{PREFIX}{LINE}{line}:{}", hexadecimal(&digest))
}

/// Whether a message's key is that of an imported entry.
pub fn is_of_entry(key: &str) -> bool {
    key.starts_with(PREFIX)
}

/// The name of a header.
pub fn of_header(id: Option<&str>) -> String {
    bounded(HEADER_PREFIX, id.unwrap_or_default())
}

/// A key has its bound, and an id has none: what does not fit is told by its hash, and so is what
/// looks like the name of another entry.
fn bounded(prefix: &str, id: &str) -> String {
    let fits = prefix.len().saturating_add(id.len()) <= ID_BYTES_MAX;
    if fits && !id.starts_with(LINE) && !id.starts_with(HASH) {
        return format!("{prefix}{id}");
    }
    format!("{prefix}{HASH}{}", hexadecimal(&Sha256::digest(id)))
}

/// The id of the entry that a message is written as: the one it came with, or its own.
pub fn entry_id(message: &Message) -> &str {
    message
        .body
        .key
        .strip_prefix(PREFIX)
        .unwrap_or_else(|| message.id.as_str())
}

/// The reference of a picture with these bytes.
pub fn of_picture(bytes: &[u8]) -> String {
    Blob::reference_of(Sha256::digest(bytes).into())
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xF]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_without_an_id_is_named_by_its_line_and_what_it_says() {
        let named = |line, text| of_entry(None, line, text);
        assert_eq!(named(1, "a"), named(1, "a"));
        assert_ne!(named(1, "a"), named(1, "b"));
        assert_ne!(named(1, "a"), named(2, "a"));
        assert!(named(1, "a").starts_with("import:line:1:"));
        assert_eq!(of_entry(Some("m"), 1, "a"), of_entry(Some("m"), 2, "b"));
    }
}
