//! The reader over files of its own, and the real files as a whole.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    A2A_FLOW, AGENT_IDS, AGENTS_LIST, CONFIG_ERRORS, Case, DERIVED_TITLES, HISTORY_PAGE, KEYS,
    LABELS, PATCH, REDACT, SANITISE, SEND_POLICY, SKIP_WORDS, TOOL_POLICY, TRUNCATE, Unreadable,
    VISIBILITY, Vectors, WATCH,
};

const ALL: [Vectors; 17] = [
    A2A_FLOW,
    AGENTS_LIST,
    AGENT_IDS,
    CONFIG_ERRORS,
    DERIVED_TITLES,
    HISTORY_PAGE,
    KEYS,
    LABELS,
    PATCH,
    REDACT,
    SANITISE,
    SEND_POLICY,
    SKIP_WORDS,
    TOOL_POLICY,
    TRUNCATE,
    VISIBILITY,
    WATCH,
];

const TWO: &str = r#"[
    {"id": "a-1", "why": "marks", "facts": ["F1"], "in": {"list": ["-{{3xa}}-{{2x€}}"], "{{2xn}}": 1}, "out": {"text": "{{2xx}}{{0x!}}"}},
    {"id": "a-2", "why": "no marks", "facts": [], "in": {"brace": "{x}"}, "out": {"none": null}}
]"#;

fn vectors(count: usize, text: &'static str) -> Vectors {
    Vectors {
        name: "own.json",
        count,
        text,
    }
}

fn refusal(vectors: Vectors) -> String {
    let cases: Result<Vec<Case>, Unreadable> = vectors.cases();
    cases.unwrap_err().to_string()
}

fn pins(out: Value) -> Case {
    Case {
        id: "a-1".to_owned(),
        why: String::new(),
        facts: Vec::new(),
        given: Value::Null,
        out,
    }
}

#[test]
fn a_mark_is_expanded_in_every_string_of_both_sides() {
    let cases: Vec<Case> = vectors(2, TWO).cases().unwrap();
    let sides: Vec<(&str, &Value, &Value)> = cases
        .iter()
        .map(|case| (case.id.as_str(), &case.given, &case.out))
        .collect();
    assert_eq!(
        sides,
        [
            (
                "a-1",
                &json!({ "list": ["-aaa-€€"], "{{2xn}}": 1 }),
                &json!({ "text": "xx" }),
            ),
            ("a-2", &json!({ "brace": "{x}" }), &json!({ "none": null })),
        ]
    );
}

#[test]
fn a_malformed_mark_is_refused_with_its_case() {
    for mark in [
        "{{", "{{3}}", "{{xa}}", "{{3xab}}", "{{3xa}", "{{3x", "{{-1xa}}",
    ] {
        let text = json!([
            { "id": "a-1", "why": "", "facts": [], "in": [{ "deep": mark }], "out": {} },
        ]);
        let expected = format!("a-1: a mark in {mark:?} is not of the form {{{{NxC}}}}");
        assert_eq!(refusal(vectors(1, text.to_string().leak())), expected);
    }
}

#[test]
fn a_changed_number_of_cases_is_noticed() {
    for known in [1, 3] {
        assert_eq!(
            refusal(vectors(known, TWO)),
            format!("own.json holds 2 cases, not {known}: if that is meant, set its count")
        );
    }
}

#[test]
fn a_field_that_no_case_has_is_noticed() {
    let text = r#"[{"id": "a-1", "why": "", "facts": [], "in": 1, "out": {}, "note": ""}]"#;
    assert_eq!(refusal(vectors(1, text)), "own.json is no array of cases");
}

#[test]
fn a_side_can_be_a_type_of_the_test_and_names_its_case_where_it_is_not() {
    #[derive(Debug, Deserialize)]
    struct Given {
        list: Vec<String>,
    }
    let read = |text| vectors(1, text).cases::<Given, Value>();
    let right =
        r#"[{"id": "a-1", "why": "", "facts": [], "in": {"list": ["{{2xa}}"]}, "out": {}}]"#;
    assert_eq!(read(right).unwrap()[0].given.list, ["aa"]);

    let wrong = r#"[{"id": "a-1", "why": "", "facts": [], "in": {"list": 1}, "out": {}}]"#;
    let error = read(wrong).unwrap_err();
    assert_eq!(error.to_string(), "a-1: in has another form");
    let cause = error.source().unwrap().to_string();
    assert!(cause.contains("expected a sequence"), "{cause}");
}

#[test]
fn a_difference_names_the_case_and_the_field_and_what_is_not_pinned_has_none() {
    let case = pins(json!({ "right": 1, "wrong": "a", "absent": null }));
    assert_eq!(
        case.differences(&json!({ "right": 1, "wrong": "b", "more": true })),
        [
            r#"a-1: wrong must be "a", is "b""#,
            "a-1: absent must be null, is absent",
        ]
    );
    let equal = json!({ "right": 1, "wrong": "a", "absent": null, "more": true });
    assert_eq!(case.differences(&equal), Vec::<String>::new());
    assert_eq!(
        pins(json!(7)).differences(&json!({})),
        ["a-1: out must be an object"]
    );
}

#[test]
fn every_file_of_cases_is_handed_out() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let files: BTreeSet<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let names: BTreeSet<String> = ALL.map(|vectors| vectors.name.to_owned()).into();
    assert_eq!(files, names);
}

#[test]
fn every_case_pins_something_and_has_an_id_of_its_own() {
    let mut ids = BTreeSet::new();
    for vectors in ALL {
        let cases: Vec<Case> = vectors.cases().unwrap();
        for case in cases {
            let pinned = case.out.as_object().map_or(0, serde_json::Map::len);
            assert!(pinned > 0, "{} pins nothing", case.id);
            assert!(!case.why.is_empty(), "{} does not say why", case.id);
            assert!(ids.insert(case.id.clone()), "{} stands twice", case.id);
        }
    }
}
