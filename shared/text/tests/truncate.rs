//! The vectors of `truncate.json`.

use std::borrow::Cow;

use confab_text::redact::Redactor;
use confab_text::truncate::truncate;
use confab_vectors::{Case, TRUNCATE};
use serde_json::json;

fn differences(case: &Case) -> Vec<String> {
    let given = &case.given;
    let text = given["text"].as_str().expect("a text");
    let whole = if given["redactFirst"] == true {
        Redactor::built_in().redact(text)
    } else {
        Cow::Borrowed(text)
    };
    let (shown, truncated) = truncate(&whole);
    case.differences(&json!({ "text": shown, "truncated": truncated, "redacted": whole != text }))
}

#[test]
fn every_truncation_vector_holds() {
    let cases: Vec<Case> = TRUNCATE.cases().unwrap();
    let failures: Vec<String> = cases.iter().flat_map(differences).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
