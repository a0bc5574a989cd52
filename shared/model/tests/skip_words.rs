//! The `match` cases of `skip_words.json`.
//!
//! The file's `stream` cases are about holding back a stream of text, which is not this crate's.

use confab_model::message::SkipWord;
use confab_vectors::{Case, SKIP_WORDS};
use serde_json::{Value, json};

fn describe(input: &Value) -> Value {
    let word = SkipWord::of(input["text"].as_str().expect("a text"));
    match input["step"].as_str() {
        Some("reply") => json!({"skip": word.is_some_and(SkipWord::stops_the_loop)}),
        Some("announce") => json!({"skip": word.is_some()}),
        other => json!({"unknown step": other}),
    }
}

#[test]
fn every_match_case_of_the_skip_word_vectors_holds() {
    let mut cases: Vec<Case> = SKIP_WORDS.cases().unwrap();
    cases.retain(|case| case.given["op"] == "match");
    assert_eq!(cases.len(), 23);
    let failures: Vec<String> = cases
        .iter()
        .flat_map(|case| case.differences(&describe(&case.given)))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_skip_word_is_known_by_its_own_text_alone() {
    for word in SkipWord::ALL {
        assert_eq!(SkipWord::of(&format!("\t{}\n", word.as_str())), Some(word));
        assert_eq!(SkipWord::of(&word.as_str().to_lowercase()), None);
        assert_eq!(SkipWord::of(&format!("{}.", word.as_str())), None);
    }
    assert_eq!(SkipWord::of(""), None);
    assert!(!SkipWord::Announce.stops_the_loop());
}
