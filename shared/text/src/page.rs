//! Bounding a page of messages in bytes.

use std::ops::Range;

use confab_model::limits::HISTORY_BYTES_MAX;

/// What stands in the place of a message that is too large to show.
pub const PLACEHOLDER: &str = "[sessions_history omitted: message too large]";

/// What stands in the place of a message whose stored form cannot be read.
///
/// Source: B146.
pub const UNREADABLE: &str = "[sessions_history omitted: message unreadable]";

/// The brackets of an empty array.
const BRACKETS_BYTES: usize = 2;

/// What is shown of the messages of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The places of the messages that are shown: the newest ones, without gaps.
    pub kept: Range<usize>,
    /// Those of them that are shown as [`PLACEHOLDER`], in order.
    pub placeholders: Vec<usize>,
    /// Size of what is shown, as a JSON array, in bytes.
    pub bytes: usize,
    /// Whether a message is missing or has lost its content: the flag `droppedMessages`.
    pub dropped_messages: bool,
}

/// Bounds a page to [`HISTORY_BYTES_MAX`] bytes of JSON.
///
/// `sizes` are those of the messages as JSON, oldest first; `placeholder` tells the size of the
/// placeholder in one's place. A message too large to be shown alone becomes its placeholder; then
/// the oldest messages are dropped until the rest fits. The newest one always stays.
///
/// Source: D24, run:H28, run:H30, run:H32.
pub fn bound(sizes: &[usize], placeholder: impl Fn(usize) -> usize) -> Page {
    let mut page = Page {
        kept: sizes.len()..sizes.len(),
        placeholders: Vec::new(),
        bytes: BRACKETS_BYTES,
        dropped_messages: false,
    };
    for (place, size) in sizes.iter().enumerate().rev() {
        let too_large = BRACKETS_BYTES + size > HISTORY_BYTES_MAX;
        let shown = if too_large { placeholder(place) } else { *size };
        let comma = usize::from(!page.kept.is_empty());
        if page.bytes + shown + comma > HISTORY_BYTES_MAX && !page.kept.is_empty() {
            break;
        }
        page.bytes += shown + comma;
        page.kept.start = place;
        if too_large {
            page.placeholders.push(place);
        }
    }
    page.placeholders.reverse();
    page.dropped_messages = page.kept.start > 0 || !page.placeholders.is_empty();
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACEHOLDER_BYTES: usize = 100;

    fn bounded(sizes: &[usize]) -> Page {
        bound(sizes, |_| PLACEHOLDER_BYTES)
    }

    #[test]
    fn a_page_of_exactly_the_limit_is_whole_and_one_byte_more_drops_the_oldest() {
        let fitting = HISTORY_BYTES_MAX - "[1,22,]".len();
        let whole = bounded(&[1, 2, fitting]);
        assert_eq!((whole.kept, whole.bytes), (0..3, HISTORY_BYTES_MAX));
        assert!(!whole.dropped_messages);
        let dropped = bounded(&[2, 2, fitting]);
        assert_eq!((dropped.kept, dropped.bytes), (1..3, HISTORY_BYTES_MAX - 2));
        assert!(dropped.dropped_messages);
    }

    #[test]
    fn a_message_of_exactly_the_limit_is_shown_and_one_byte_more_becomes_a_placeholder() {
        let fitting = HISTORY_BYTES_MAX - "[]".len();
        assert_eq!(bounded(&[fitting]).placeholders, Vec::<usize>::new());
        let page = bounded(&[7, fitting + 1, 7]);
        assert_eq!((page.kept, page.placeholders), (0..3, vec![1]));
        assert_eq!(page.bytes, "[7777777,,7777777]".len() + PLACEHOLDER_BYTES);
        assert!(page.dropped_messages);
    }

    #[test]
    fn a_dropped_message_is_no_placeholder() {
        let large = HISTORY_BYTES_MAX / 2;
        let page = bounded(&[HISTORY_BYTES_MAX, large, large, HISTORY_BYTES_MAX, 7]);
        assert_eq!((page.kept, page.placeholders), (2..5, vec![3]));
    }

    #[test]
    fn no_message_is_an_empty_array() {
        let page = bounded(&[]);
        assert_eq!(
            (page.kept, page.bytes, page.dropped_messages),
            (0..0, "[]".len(), false)
        );
    }
}
