//! The vectors of `sanitise.json`, and the laws that hold for all texts.

#![expect(
    clippy::unwrap_used,
    reason = "a pattern that is not sound is a failed test"
)]

use std::sync::LazyLock;

use confab_text::sanitise::sanitise;
use confab_vectors::{Case, SANITISE};
use proptest::prelude::*;
use proptest::sample::select;
use regex::Regex;
use serde_json::json;

/// What the texts of the laws are made of: whole marks, and those that make code.
const PARTS: [&str; 72] = [
    "<think>",
    "</think>",
    "<thinking a='1'>",
    "</ thinking >",
    "< THOUGHT >",
    "</thought>",
    "<antthinking>",
    "</antthinking>",
    "<think/>",
    "<mm:think>",
    "</mm:think>",
    "<final>",
    "</final>",
    "<final \"x\">",
    "<finally>",
    "<relevant-memories>",
    "</relevant_memories>",
    "<relevant_memories x=\"1\">",
    "</relevant-memories>",
    "<|x|>",
    "<｜y｜>",
    "<|",
    "|>",
    "｜>",
    "<tool_call>",
    "</tool_call>",
    "<tool_call/>",
    "{\"a\":\"b\"}",
    "{\"a\":\"",
    "\"}",
    "<function_calls>",
    "</function_calls>",
    "<invoke name=\"x\">",
    "</invoke>",
    "<parameter name=\"p\">",
    "</parameter>",
    "\n<function name=\"f\">",
    "</function>",
    "<function_response>",
    "</function_response>",
    "<function=f><parameter=a>",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "]<]minimax[>[<tool_call>",
    "]<]minimax[>[</tool_call>",
    "[Tool Call: x]",
    "\nArguments: {}",
    "[Tool Result for ID 1]",
    "[Historical context: x]",
    "[TOOL_CALL]",
    "[/TOOL_CALL]",
    "tool => \"x\" args => {}",
    "[TOOL_RESULT]",
    "[/TOOL_RESULT]",
    "\n[read]\n",
    "[/read]",
    "\n[tool:read]",
    "\n<|channel|>commentary to=f code<|message|>{}<|call|>",
    "\n🔍 Search: x\n",
    "\ntool_call: x\n",
    "`",
    "``",
    "```",
    "\n```\n",
    "\n~~~\n",
    "\n\n",
    "\r\n",
    " ",
    "a",
    "é日本🤔",
    "e\u{301}",
    "\u{301}\u{200d}",
];

fn differences(case: &Case) -> Vec<String> {
    let given = &case.given;
    let text = given["text"].as_str().expect("a text");
    let shown = match given["role"].as_str() {
        Some("assistant") => sanitise(text),
        _ => text.into(),
    };
    case.differences(&json!({ "text": shown }))
}

/// Texts of parts, of halves of parts, and of single characters of them.
fn texts() -> impl Strategy<Value = String> {
    let halves = (
        select(&PARTS[..]),
        any::<prop::sample::Index>(),
        any::<bool>(),
    );
    let half = halves.prop_map(|(part, at, first)| {
        let at = part.floor_char_boundary(at.index(part.len()));
        let (start, end) = part.split_at(at);
        if first { start } else { end }.to_owned()
    });
    let whole = select(&PARTS[..]).prop_map(str::to_owned);
    let letters = "[<>/|\\[\\]`~{}\"'a-z:_= \n]{1,3}";
    let part = prop_oneof![8 => whole, 2 => half, 1 => letters];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

/// The text with each character of code replaced by one that is no part of any mark.
fn without_code(text: &str) -> String {
    let mut shown = String::new();
    let mut prose = String::new();
    let mut fence: Option<(char, usize)> = None;
    for line in text.split_inclusive('\n') {
        let mark = line.chars().next().unwrap_or('\n');
        let marks = line.chars().take_while(|other| *other == mark).count();
        let is_fence = marks >= 3 && "`~".contains(mark);
        let is_bare = line.trim_end().chars().count() == marks;
        if let Some((open, length)) = fence {
            shown.push_str(&masked(line));
            if mark == open && marks >= length && is_bare {
                fence = None;
            }
        } else if is_fence && (mark == '~' || !line[marks..].contains('`')) {
            shown.push_str(&without_spans(&prose));
            prose.clear();
            shown.push_str(&masked(line));
            fence = Some((mark, marks));
        } else {
            prose.push_str(line);
            if line.trim().is_empty() {
                shown.push_str(&without_spans(&prose));
                prose.clear();
            }
        }
    }
    shown + &without_spans(&prose)
}

static RUNS: LazyLock<Regex> = LazyLock::new(|| Regex::new("`+").unwrap());

fn without_spans(paragraph: &str) -> String {
    let mut shown = String::new();
    let mut from = 0;
    while let Some(open) = RUNS.find_at(paragraph, from) {
        let mut later = RUNS.find_iter(&paragraph[open.end()..]);
        let close = later.find(|close| close.len() == open.len());
        shown.push_str(&paragraph[from..open.start()]);
        let end = open.end() + close.map_or(0, |close| close.end());
        let span = &paragraph[open.start()..end];
        shown.push_str(&close.map_or_else(|| span.to_owned(), |_| masked(span)));
        from = end;
    }
    shown + &paragraph[from..]
}

fn masked(code: &str) -> String {
    "\u{1}".repeat(code.chars().count())
}

/// What must be in no text that is shown, code aside.
static CLOSED_MARKS: LazyLock<[Regex; 3]> = LazyLock::new(|| {
    let name = "((antml:|mm:)?(think(ing)?|thought)|antthinking)";
    let rest = r"([\s/][^<>]*)?>";
    [
        format!(r"(?is)<\s*{name}{rest}.*<\s*/\s*{name}{rest}"),
        format!(r"(?is)<\s*relevant[-_]memories{rest}.*<\s*/\s*relevant[-_]memories{rest}"),
        "<[|｜][^|｜]*[|｜]>".to_owned(),
    ]
    .map(|pattern| Regex::new(&pattern).unwrap())
});

fn without_blanks(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|character| *character != ' ')
}

#[test]
fn every_sanitiser_vector_holds() {
    let cases: Vec<Case> = SANITISE.cases().unwrap();
    let failures: Vec<String> = cases.iter().flat_map(differences).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_laws_look_for_marks_outside_code_alone() {
    let found = |text: &str| {
        let shown = without_code(text);
        CLOSED_MARKS.each_ref().map(|mark| mark.is_match(&shown))
    };
    assert_eq!(found("<think>a</think> <|x|>"), [true, false, true]);
    assert_eq!(
        found("<relevant-memories>a</relevant_memories>"),
        [false, true, false]
    );
    assert_eq!(found("`<|x|>`\n```\n<think>a</think>\n```"), [false; 3]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_sanitised_text_is_sanitised_for_good(text in texts()) {
        let once = sanitise(&text);
        prop_assert_eq!(sanitise(&once), once.as_ref());
    }

    #[test]
    fn no_closed_mark_is_left_outside_code(text in texts()) {
        let shown = without_code(&sanitise(&text));
        for mark in CLOSED_MARKS.iter() {
            prop_assert!(!mark.is_match(&shown), "D76 {}: {:?}", mark, shown);
        }
    }

    #[test]
    fn what_is_shown_was_written_in_that_order(text in texts()) {
        let shown = sanitise(&text);
        let mut written = without_blanks(&text);
        let all = without_blanks(&shown).all(|shown| written.any(|other| other == shown));
        prop_assert!(all, "{:?}", shown);
    }

    #[test]
    fn any_text_at_all_can_be_sanitised(text in any::<String>()) {
        let once = sanitise(&text);
        prop_assert_eq!(sanitise(&once), once.as_ref());
    }
}
