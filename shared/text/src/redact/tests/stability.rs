//! What was redacted once stays as it is, whatever families, delimiters and quotes meet.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::Redactor;
use super::super::names::TABLES;
use super::super::shapes::SHAPES;
use super::super::tokens::TOKENS;
use super::with;

/// Pieces that no table holds.
const PIECES: &[&str] = &[
    "Authorization: ",
    "Bearer ",
    "Basic ",
    "Cookie: ",
    "x-api-key: ",
    "--token ",
    "--api-key=",
    "://",
    "https://",
    "postgres://ann:",
    "@host/",
    "?token=",
    "&secret=",
    "&code=",
    "#key=",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "123456789:",
    "bot",
    "discord ",
    "to%6Ben=",
    "\u{200b}",
    "***",
    "abcdef…wxyz",
    "…",
    "*",
    "${API_KEY}",
    "$API_KEY",
    "${API_KEY:-",
    "api/webhooks/1/",
    ".eyJAAAAAAAAAAA",
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "Zz09",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "00000000-0000-0000-0000-000000000000",
    "hunter22",
    "e\u{301}",
    "🦀",
    "ü",
    "word",
    "1",
];
const DELIMITERS: &[&str] = &[
    "", " ", "=", ":", ": ", "\"", "'", "`", "\\\"", "\\\\\\\"", "\\", "\\n", "\n", "\r\n", "\t",
    ",", ";", ")", "(", "}", "{", "]", "[", "&", "?", "#", "/", "@", ".", "-", "_", "--", "=>",
    "<", ">", "\": \"", "\":\"", "=\"", "='",
];

fn pieces() -> Vec<String> {
    let names = TABLES.iter().flat_map(|table| table.iter().copied());
    let prefixes = TOKENS.iter().map(|token| token.prefix);
    let anchors = SHAPES.iter().map(|shape| shape.anchor);
    let all = names.chain(prefixes).chain(anchors);
    let mut pieces: Vec<String> = all
        .chain(PIECES.iter().copied())
        .map(str::to_owned)
        .collect();
    pieces.extend(
        TOKENS
            .iter()
            .map(|token| format!("{}{}", token.prefix, "A".repeat(41))),
    );
    pieces.extend(
        TOKENS
            .iter()
            .map(|token| format!("{}{}", token.prefix, "a1".repeat(18))),
    );
    pieces
}

fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => select(pieces()),
        4 => select(DELIMITERS).prop_map(str::to_owned),
        1 => "[ -~]{0,24}",
        1 => "\\PC{0,12}",
    ];
    vec(part, 0..24).prop_map(|parts| parts.concat())
}

/// Whether a token of one sure family is left.
fn holds_whole_token(text: &str) -> bool {
    text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .any(|word| word.starts_with("ghp_") && word.len() >= 24)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn d76_redacting_twice_is_redacting_once(text in text()) {
        let redactor = Redactor::built_in();
        let once = redactor.redact(&text).into_owned();
        prop_assert_eq!(redactor.redact(&once), once.as_str());
        prop_assert!(!holds_whole_token(&once), "{}", once);
    }

    #[test]
    fn d76_patterns_and_exact_values_are_as_stable(text in text()) {
        let redactor = with(&["[a-z]{3}=(\\w+)", "CUST-\\d+", "A{5}"], &["hunter22", "wordword"]);
        let once = redactor.redact(&text).into_owned();
        prop_assert_eq!(redactor.redact(&once), once.as_str());
        prop_assert!(!once.contains("hunter22"), "{}", once);
    }
}
