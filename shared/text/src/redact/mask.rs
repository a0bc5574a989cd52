//! What stands in the place of a secret.

use std::borrow::Cow;

/// What stands for a secret of which nothing is shown.
pub(super) const HIDDEN: &str = "***";

/// Values shorter than this are hidden whole, in characters.
const SHOWN_CHARS_MIN: usize = 18;
/// How many characters a mask shows of the beginning.
const HEAD_CHARS: usize = 6;
/// How many characters a mask shows of the end.
const TAIL_CHARS: usize = 4;
/// What stands between beginning and end.
const GAP: char = '…';

/// The mask of `value`: `***`, or its first six and last four characters around `…`.
///
/// What is a mask already stays. A quote or a backslash is never shown, since half an escape would
/// change where the quoted text around it ends.
///
/// Source: run:R1, B167.
pub(super) fn mask(value: &str) -> Cow<'_, str> {
    if is_mask(value) {
        return Cow::Borrowed(value);
    }
    let shown = shown(value).filter(|(head, tail)| !breaks(head) && !breaks(tail));
    shown.map_or(Cow::Borrowed(HIDDEN), |(head, tail)| {
        Cow::Owned(format!("{head}{GAP}{tail}"))
    })
}

/// The beginning and the end that are shown of a value that is long enough.
fn shown(value: &str) -> Option<(&str, &str)> {
    value.chars().nth(SHOWN_CHARS_MIN - 1)?;
    let (head, _) = value.char_indices().nth(HEAD_CHARS)?;
    let (tail, _) = value.char_indices().nth_back(TAIL_CHARS - 1)?;
    Some((value.get(..head)?, value.get(tail..)?))
}

fn breaks(shown: &str) -> bool {
    shown.contains(['"', '\'', '`', '\\', '\n', '\r'])
}

/// Whether `value` is what [`mask`] writes.
pub(super) fn is_mask(value: &str) -> bool {
    if value.bytes().all(|byte| byte == b'*') {
        return !value.is_empty();
    }
    let mut characters = value.chars();
    characters.by_ref().take(HEAD_CHARS).count() == HEAD_CHARS
        && characters.next() == Some(GAP)
        && characters.take(TAIL_CHARS + 1).count() == TAIL_CHARS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_shows_six_and_four_characters_from_eighteen_on() {
        let cases = [
            ("a", "***"),
            ("abcdefghijklmnopq", "***"),
            ("abcdefghijklmnopqr", "abcdef…opqr"),
            ("ééééééééééééééééé", "***"),
            (
                "🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀🦀",
                "🦀🦀🦀🦀🦀🦀…🦀🦀🦀🦀",
            ),
            ("abcde\\ghijklmnopqr", "***"),
            ("abcdefghijklmno\"qr", "***"),
        ];
        for (value, expected) in cases {
            assert_eq!(mask(value), expected, "{value}");
        }
    }

    #[test]
    fn run_r1_a_mask_stays_a_mask() {
        for masked in ["***", "*", "******", "abcdef…wxyz", "🦀🦀🦀🦀🦀🦀…🦀🦀🦀🦀"]
        {
            assert_eq!(mask(masked), masked);
        }
        for other in ["", "abcdef…wxy", "abcdef…wxyz1", "***a", "abcde…fwxyz"] {
            assert!(!is_mask(other), "{other}");
        }
    }
}
