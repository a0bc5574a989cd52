//! What the mutations begin with: the committed inputs, the texts of the vectors, and a few that are
//! hard by themselves.

use std::fs;
use std::path::Path;

use confab_vectors::{KEYS, REDACT, SANITISE, SKIP_WORDS, TRUNCATE, Vectors};
use serde_json::Value;

/// Longest text of the vectors that is taken.
const SEED_BYTES_MAX: usize = 8_192;

/// Characters whose folding, width or bytes are not what one expects.
const HARD: [&str; 8] = [
    "İ",
    "ẞ",
    "ǅ",
    "e\u{301}\u{301}",
    "👩\u{200d}👩\u{200d}👧",
    "\u{feff}",
    "\u{2028}",
    "｜",
];

/// The inputs in the corpus of a target, in the order of their names.
pub(crate) fn committed(target: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target);
    let entries = fs::read_dir(&directory).expect("each target has a corpus");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("the corpus is readable").path())
        .collect();
    paths.sort_unstable();
    let inputs = paths.iter().map(fs::read);
    inputs
        .map(|input| input.expect("the corpus is readable"))
        .collect()
}

/// Keys as people give them.
pub(crate) fn keys() -> Vec<Vec<u8>> {
    seeds(
        KEYS,
        &[
            "agent:",
            ":thread:",
            "subagent:",
            "signal:group:",
            "matrix:channel:",
            "global",
        ],
    )
}

/// What agents said.
pub(crate) fn said() -> Vec<Vec<u8>> {
    seeds(
        SANITISE,
        &[
            "<think>",
            "</think>",
            "```",
            "~~~\n",
            "`",
            "\n",
            "[Tool Call: ",
            "<|",
            "|>",
        ],
    )
}

/// Texts with secrets.
pub(crate) fn secrets() -> Vec<Vec<u8>> {
    seeds(
        REDACT,
        &[
            "\"",
            "***",
            "…",
            "://",
            "@",
            "=",
            "Bearer ",
            "-----BEGIN PRIVATE KEY-----\n",
        ],
    )
}

/// Texts around the limit of what is shown.
pub(crate) fn long() -> Vec<Vec<u8>> {
    seeds(TRUNCATE, &["\n…(truncated)…", "🦀"])
}

/// Pieces of lines of transcript files; the lines themselves are in the corpus.
pub(crate) fn lines() -> Vec<Vec<u8>> {
    let words = [
        "\n", "\u{0}", "\\ud83d", "{", "}", "[", "]", "\"", ",", "null",
    ];
    let committed = committed("import");
    let single = committed
        .iter()
        .flat_map(|file| file.split_inclusive(|byte| *byte == b'\n'));
    let single = single.map(<[u8]>::to_vec);
    let words = words.map(|word| word.as_bytes().to_vec());
    single.chain(words).collect()
}

/// Words by which nothing is said, and what only looks like them.
pub(crate) fn skip_words() -> Vec<Vec<u8>> {
    seeds(
        SKIP_WORDS,
        &[
            "REPLY_SKIP",
            "ANNOUNCE_SKIP",
            "NO_REPLY",
            " ",
            "\u{a0}",
            "\n",
        ],
    )
}

/// The texts in the vectors' inputs, the words of the matter, and the hard characters.
fn seeds(vectors: Vectors, words: &[&str]) -> Vec<Vec<u8>> {
    let cases = vectors
        .cases::<Value, Value>()
        .expect("the vectors are readable");
    let mut texts: Vec<String> = words
        .iter()
        .chain(&HARD)
        .map(|&word| word.to_owned())
        .collect();
    for case in cases {
        collect(case.given, &mut texts);
    }
    // What is longer would make everything slow and nothing better.
    let short = texts
        .into_iter()
        .filter(|text| text.len() <= SEED_BYTES_MAX);
    short.map(String::into_bytes).collect()
}

/// Every text in a value.
fn collect(value: Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.into_iter().for_each(|item| collect(item, texts)),
        Value::Object(fields) => fields
            .into_iter()
            .for_each(|(_, field)| collect(field, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {},
    }
}
