//! What holds for all passes together, and that work grows as the text does.

use std::borrow::Cow;

use confab_vectors::hostile::SHAPES;

use super::scan::counted;
use super::{families::Families, sanitise};

const SMALL_BYTES: usize = 64 * 1024;
const GROWTH: usize = 4;
/// How much more work a text may take that is [`GROWTH`] times as long.
const WORK_GROWTH_MAX: usize = 5;
/// How many bytes may be looked at for each byte of a text.
const STEPS_MAX: usize = 400;

fn steps(text: &str) -> usize {
    counted::take();
    sanitise(text);
    counted::take()
}

#[test]
fn work_grows_no_faster_than_a_hostile_text() {
    for (name, shape) in SHAPES {
        let (small, large) = (shape(SMALL_BYTES), shape(GROWTH * SMALL_BYTES));
        let (few, many) = (steps(&small), steps(&large));
        assert!(few >= small.len(), "{name}: {few} steps were counted");
        assert!(
            many < WORK_GROWTH_MAX * few,
            "{name}: {few} steps, then {many}"
        );
        assert!(many < STEPS_MAX * large.len(), "{name}: {many} steps");
    }
}

#[test]
fn hostile_texts_settle() {
    for (name, shape) in SHAPES {
        let text = shape(2_000);
        let once = sanitise(&text);
        assert_eq!(sanitise(&once), once, "D76 {name}");
    }
}

#[test]
fn ordinary_texts_are_borrowed() {
    let cases = [
        "Just an answer.",
        "if a < b && c[0] > d { Vec::<u8>::new() }",
        "[a link](https://example.org) and <b>bold</b>, \u{201c}quoted\u{201d} 🎉",
        "| a | b |\n|---|---|",
    ];
    for text in cases {
        assert!(Families::of(text).is_empty(), "{text:?}");
        assert!(matches!(sanitise(text), Cow::Borrowed(_)), "{text:?}");
    }
    let about_tags = "Write `<think>` and <tool_call> tags.";
    assert!(matches!(sanitise(about_tags), Cow::Borrowed(_)));
}

#[test]
fn what_a_removal_makes_is_removed_as_well() {
    // Where its closing tag went first, as one without a block, a block is open to the end.
    let cases = [
        ("a<<|x|>think>secret</think>b", "ab", "D76"),
        ("a<|<think>x</think>im_end|>b", "a b", "D76"),
        (
            "a<relevant<think>x</think>-memories>secret</relevant-memories>b",
            "a",
            "D76",
        ),
        (
            "a<tool_<think>x</think>call>{\"s\":1}</tool_call>b",
            "a",
            "D76",
        ),
        ("A\n🔍 <think>x</think>Search: s\nB", "A\nB", "D76"),
    ];
    for (text, expected, id) in cases {
        assert_eq!(sanitise(text), expected, "{id} {text:?}");
    }
}

#[test]
fn a_text_that_does_not_settle_is_dropped_from_there_on() {
    let nested = format!("Shown. {}<|x|>{}", "<|a".repeat(9), "|>".repeat(9));
    let left = sanitise(&nested);
    assert!(
        left.starts_with("Shown. ") && !left.contains("|>"),
        "D76 {left:?}"
    );
}

#[test]
fn a_removal_leaves_no_mark_first() {
    let cases = [
        ("<think>x</think>\u{301}abc", "abc"),
        ("e<|x|>\u{301}abc", "e abc"),
        ("[Historical context: x]\n \u{301}abc", "abc"),
    ];
    for (text, expected) in cases {
        assert_eq!(sanitise(text), expected, "B216 {text:?}");
    }
}
