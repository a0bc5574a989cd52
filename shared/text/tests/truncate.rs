//! The vectors of `truncate.json`.
//!
//! The cases with `redactFirst` are about redaction as well, which is not in this crate.

use confab_text::truncate::truncate;
use confab_vectors::{Case, TRUNCATE};
use serde_json::json;

fn differences(case: &Case) -> Vec<String> {
    let given = &case.given;
    let (shown, truncated) = truncate(given["text"].as_str().expect("a text"));
    case.differences(&json!({ "text": shown, "truncated": truncated }))
}

#[test]
fn every_truncation_vector_without_redaction_holds() {
    let mut cases: Vec<Case> = TRUNCATE.cases().unwrap();
    cases.retain(|case| case.given["redactFirst"] != true);
    assert_eq!(cases.len(), 15);
    let failures: Vec<String> = cases.iter().flat_map(differences).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
