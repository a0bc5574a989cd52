//! Cutting one text field to what a history shows of it.

use std::borrow::Cow;

use confab_model::limits::HISTORY_TEXT_UNITS_MAX;
use unicode_segmentation::GraphemeCursor;

/// What stands behind a cut.
pub const MARKER: &str = "\n…(truncated)…";

/// Longest visible character that is kept whole, in bytes; beyond it only code points are.
const CLUSTER_BYTES_MAX: usize = 256;

/// Cuts `text` to [`HISTORY_TEXT_UNITS_MAX`] UTF-16 units and sets [`MARKER`] behind; says whether
/// it did.
///
/// No surrogate pair is split, and neither is a visible character: a letter and its accents, or an
/// emoji and its joiners, stay or go together.
///
/// Source: D24, run:H20.
pub fn truncate(text: &str) -> (Cow<'_, str>, bool) {
    match cut(text) {
        Some(kept) => (Cow::Owned(format!("{kept}{MARKER}")), true),
        None => (Cow::Borrowed(text), false),
    }
}

/// What is left of a text that is too long.
fn cut(text: &str) -> Option<&str> {
    // A text has no more UTF-16 units than bytes.
    if text.len() <= HISTORY_TEXT_UNITS_MAX {
        return None;
    }
    let mut units = 0;
    let (at, _) = text.char_indices().find(|(_, character)| {
        units += character.len_utf16();
        units > HISTORY_TEXT_UNITS_MAX
    })?;
    text.get(..cluster_start(text, at))
}

/// The start of the visible character that `at` lies in, or `at` itself.
pub(crate) fn cluster_start(text: &str, at: usize) -> usize {
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    if cursor.is_boundary(text, 0) == Ok(true) {
        return at;
    }
    // A flood of marks is one endless visible character: it must not swallow the text.
    match cursor.prev_boundary(text, 0) {
        Ok(Some(start)) if at - start <= CLUSTER_BYTES_MAX => start,
        Ok(_) | Err(_) => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> String {
        let (cut, truncated) = truncate(text);
        assert!(truncated);
        cut.strip_suffix(MARKER).unwrap().to_owned()
    }

    #[test]
    fn a_letter_and_its_accent_across_the_limit_go_together() {
        let before = "a".repeat(HISTORY_TEXT_UNITS_MAX - 1);
        assert_eq!(kept(&format!("{before}e\u{301}b")), before);
        let before = "a".repeat(HISTORY_TEXT_UNITS_MAX - 2);
        assert_eq!(
            kept(&format!("{before}e\u{301}b")),
            format!("{before}e\u{301}")
        );
    }

    #[test]
    fn a_family_across_the_limit_goes_whole() {
        let before = "a".repeat(HISTORY_TEXT_UNITS_MAX - 4);
        assert_eq!(kept(&format!("{before}👩\u{200d}👩\u{200d}👧!")), before);
    }

    #[test]
    fn a_flood_of_accents_is_cut_at_the_limit() {
        let flood = format!("e{}", "\u{301}".repeat(2 * HISTORY_TEXT_UNITS_MAX));
        assert_eq!(kept(&flood).chars().count(), HISTORY_TEXT_UNITS_MAX);
    }

    #[test]
    fn a_text_that_fits_is_borrowed() {
        let text = "🦀".repeat(HISTORY_TEXT_UNITS_MAX / 2);
        assert!(matches!(truncate(&text), (Cow::Borrowed(_), false)));
    }
}
