//! What a mutating call says, in a form that can be compared (D36).

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// The fingerprint of a call: its method and its canonical request, without the idempotency key and
/// without how long the caller waits.
pub fn fingerprint(method: &str, request: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(method.as_bytes());
    hash.update([0]);
    hash.update(request);
    hexadecimal(&hash.finalize())
}

/// Bytes as hexadecimal digits, two a byte.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        // Writing to a text cannot fail.
        write!(text, "{byte:02x}").unwrap_or_default();
    }
    text
}
