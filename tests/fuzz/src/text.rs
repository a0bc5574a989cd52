//! What a history does to a text that it shows: cuts it, and leaves skip words out.

use confab_model::limits::HISTORY_TEXT_UNITS_MAX;
use confab_model::message::{Block, NewMessage, Role, SkipWord};
use confab_text::truncate::{MARKER, truncate};
use confab_transcript::shown::is_shown;
use confab_transcript::store::View;

use crate::{Target, text};

/// Bytes of the longest visible character that a cut keeps whole, and one more.
const CLUSTER_BYTES_MAX: usize = 257;

/// Cutting a text.
pub const TRUNCATE: Target = Target {
    name: "truncate",
    check: check_truncate,
};

/// Leaving out a reply that says that nothing is said.
pub const SKIP_WORDS: Target = Target {
    name: "skip_words",
    check: check_skip_words,
};

fn check_truncate(bytes: &[u8]) {
    let said = text(bytes);
    // Nearly every text that is drawn is short: the same again and again, until it is cut, begins
    // the cut at another place of it.
    let times = 2 * HISTORY_TEXT_UNITS_MAX / said.len().max(1);
    for said in [said.clone(), said.repeat(times).into()] {
        cut_at_the_limit(&said);
    }
}

/// What is kept is the beginning, as long as may be.
fn cut_at_the_limit(said: &str) {
    let (shown, was_cut) = truncate(said);
    let is_long = units(said) > HISTORY_TEXT_UNITS_MAX;
    assert_eq!(was_cut, is_long);
    if !was_cut {
        assert_eq!(shown, said);
        return;
    }
    let kept = shown.strip_suffix(MARKER).expect("a cut is marked");
    assert!(said.starts_with(kept));
    let left_over = HISTORY_TEXT_UNITS_MAX.checked_sub(units(kept));
    let left_over = left_over.expect("no longer than allowed");
    assert!(
        left_over <= CLUSTER_BYTES_MAX,
        "{left_over} units too early"
    );
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

fn check_skip_words(bytes: &[u8]) {
    let said = text(bytes);
    let skip = SkipWord::of(&said);
    assert_eq!(
        skip.map(SkipWord::as_str),
        SkipWord::ALL
            .iter()
            .map(|word| word.as_str())
            .find(|word| *word == said.trim())
    );
    // Cut into parts at any place, the message says the same.
    let at = bytes.first().copied().unwrap_or_default();
    let (head, tail) = said.split_at(said.floor_char_boundary(at.into()));
    let whole = vec![Block::Text(said.to_string())];
    let parts = vec![Block::Text(head.to_owned()), Block::Text(tail.to_owned())];
    for blocks in [whole, parts] {
        let message = NewMessage {
            blocks,
            ..NewMessage::text("key", Role::Assistant, "")
        };
        for view in [View::All, View::Plain] {
            assert_eq!(is_shown(&message, view), skip.is_none(), "{view:?}");
        }
    }
}
