//! Percent-encoding: any text in metadata, which carries ASCII alone.

/// The hexadecimal digits, in order.
const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

/// Writes every byte but the plainest as `%XX`.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~:/@".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            for digit in [byte >> 4, byte & 0xF] {
                let digit = DIGITS.get(usize::from(digit)).copied().unwrap_or(b'0');
                encoded.push(char::from(digit));
            }
        }
    }
    encoded
}

/// Reads `%XX` as a byte and everything else as it is; a percent sign that begins no byte stands
/// for itself. Absent when the bytes are not UTF-8.
pub(crate) fn decode(encoded: &[u8]) -> Option<String> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    while let Some((first, after)) = rest.split_first() {
        match (first, after) {
            (b'%', [high, low, behind @ ..])
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                bytes.push(value(*high) << 4 | value(*low));
                rest = behind;
            },
            _ => {
                bytes.push(*first);
                rest = after;
            },
        }
    }
    String::from_utf8(bytes).ok()
}

fn value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        b'A'..=b'F' => digit - b'A' + 10,
        _ => 0,
    }
}
