//! The vectors of `redact.json`.

use confab_text::redact::{RedactionRules, Redactor};
use confab_vectors::{Case, REDACT};
use serde_json::{Value, json};

fn texts(given: &Value) -> Vec<String> {
    let items = given.as_array().into_iter().flatten();
    items
        .map(|item| item.as_str().expect("a text").to_owned())
        .collect()
}

/// `redactSensitive` is no input of a redactor: nothing switches it off (run:R0).
fn redacted(case: &Case) -> String {
    let given = &case.given;
    let rules = RedactionRules {
        patterns: texts(&given["patterns"]),
        secrets: texts(&given["secrets"]),
    };
    let redactor = Redactor::new(&rules).expect("sound patterns");
    let text = given["text"].as_str().expect("a text");
    let shown = redactor.redact(text).into_owned();
    assert_eq!(redactor.redact(&shown), shown, "{} is not stable", case.id);
    shown
}

fn differences(case: &Case) -> Vec<String> {
    let shown = redacted(case);
    let (given, out) = (&case.given, &case.out);
    let (gone, kept) = (texts(&out["gone"]), texts(&out["kept"]));
    let left: Vec<&String> = gone.iter().filter(|part| shown.contains(*part)).collect();
    let lost: Vec<&String> = kept.iter().filter(|part| !shown.contains(*part)).collect();
    let actual = json!({
        "text": shown,
        "redacted": given["text"] != shown.as_str(),
        "gone": if left.is_empty() { out["gone"].clone() } else { json!(null) },
        "kept": if lost.is_empty() { out["kept"].clone() } else { json!(null) },
    });
    case.differences(&actual)
        .into_iter()
        .map(|difference| format!("{difference} ({shown})"))
        .collect()
}

#[test]
fn every_redaction_vector_holds() {
    let cases: Vec<Case> = REDACT.cases().unwrap();
    let failures: Vec<String> = cases.iter().flat_map(differences).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
