//! Patterns and exact values of the configuration.

use super::super::{PATTERNS_MAX, RedactionRules, Redactor};
use super::with;

#[test]
fn run_r18_patterns_are_added() {
    let cases = [
        ("CUST-[0-9]{6}", "a cust-123456 b", "a *** b"),
        (
            "/CUST-[0-9]{6}/",
            "a cust-123456 CUST-123456",
            "a cust-123456 ***",
        ),
        ("/^id (\\w+)$/gm", "id abc\nid def", "id ***\nid ***"),
        (
            "user (\\w+) pin (\\d+)?",
            "user ann pin 12, user bob pin ",
            "user *** pin ***, user *** pin ",
        ),
        (
            "\\bTOKEN\\b\\s*[=:]\\s*([\"']?)([^\\s\"']+)\\1",
            "token: \"abc\" TOKEN=x",
            "token: \"***\" TOKEN=***",
        ),
        ("a*", "baab", "b***b"),
        (".", "ab", "******"),
        ("/etc/passwd", "see /etc/passwd", "see ***"),
    ];
    for (pattern, text, expected) in cases {
        let redactor = with(&[pattern], &[]);
        let shown = redactor.redact(text).into_owned();
        assert_eq!(shown, expected, "{pattern}");
        assert_eq!(redactor.redact(&shown), expected, "{pattern}");
    }
}

#[test]
fn run_r18_every_fault_is_told_at_once_and_no_pattern_is_repeated() {
    let long = "hunter2".repeat(200);
    let huge = "(hunter2{1,900}){1,900}";
    let patterns = [
        "(hunter2",
        "ok",
        &long,
        "/hunter2/q",
        huge,
        "(?=hunter2)",
        "(hunter2)\\2",
    ];
    let rules = RedactionRules {
        patterns: patterns
            .iter()
            .map(|pattern| (*pattern).to_owned())
            .collect(),
        secrets: Vec::new(),
    };
    let faults = Redactor::new(&rules).unwrap_err();
    let places: Vec<usize> = faults.iter().map(|fault| fault.index).collect();
    assert_eq!(places, [0, 2, 3, 4, 5, 6]);
    let told: Vec<String> = faults
        .iter()
        .map(|fault| format!("{fault}\n{fault:?}"))
        .collect();
    let told = told.join("\n");
    assert!(!told.contains("hunter2"), "{told}");
    assert!(
        told.contains("unclosed group") && told.contains("1400 bytes"),
        "{told}"
    );
}

#[test]
fn run_r18_more_patterns_than_allowed_are_a_fault() {
    let rules = RedactionRules {
        patterns: vec!["x".to_owned(); PATTERNS_MAX + 1],
        secrets: Vec::new(),
    };
    let faults = Redactor::new(&rules).unwrap_err();
    assert_eq!((faults.len(), faults[0].index), (1, PATTERNS_MAX));
}

#[test]
fn run_r17_exact_values_are_hidden_everywhere() {
    let redactor = with(&[], &["plain value", "short", "plain value two"]);
    let shown = redactor.redact("xplain valuey, plain value two, short");
    assert_eq!(shown, "x***y, ***, short");
}

#[test]
fn rules_are_known_by_their_fingerprint() {
    let prints = [
        Redactor::built_in().fingerprint().to_owned(),
        with(&["a"], &[]).fingerprint().to_owned(),
        with(&[], &["a"]).fingerprint().to_owned(),
        with(&["a", "b"], &[]).fingerprint().to_owned(),
        with(&["ab"], &[]).fingerprint().to_owned(),
    ];
    let mut different = prints.to_vec();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), prints.len());
    assert_eq!(with(&[], &[]).fingerprint(), prints[0]);
}

#[test]
fn b171_nothing_secret_is_shown_of_a_redactor() {
    let redactor = with(&["hunter2-pattern"], &["hunter2-secret"]);
    let rules = RedactionRules {
        patterns: vec!["hunter2".to_owned()],
        secrets: vec!["hunter2".to_owned()],
    };
    let shown = format!("{redactor:?} {rules:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
}
