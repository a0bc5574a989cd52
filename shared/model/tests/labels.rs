//! Every vector of `labels.json` that one label alone decides. Those that name further rows are
//! about labels being unique, which takes the rows of an agent and thus its registry.

use confab_model::clock::Timestamp;
use confab_model::id::SessionId;
use confab_model::key::SessionKey;
use confab_model::session::Session;
use confab_model::session::patch::{Given, Patch};
use confab_vectors::{Case, LABELS};
use serde_json::Value;

fn given(value: &Value) -> Given<'_> {
    value.as_str().map_or(Given::Other, Given::Text)
}

fn labelled(patch: &Patch) -> Session {
    let key = SessionKey::parse("agent:main:main").expect("a key");
    let id = SessionId::parse("generation").expect("an id");
    let row = Session::fresh(key, id, Timestamp::default());
    row.patched(patch, Timestamp::from_millis(1))
        .expect("a row takes a label")
}

#[test]
fn labels_are_stored_trimmed_or_refused_in_the_words_of_the_vectors() {
    let cases: Vec<Case> = LABELS.cases().unwrap();
    let alone: Vec<&Case> = cases
        .iter()
        .filter(|case| case.given.get("rows").is_none())
        .collect();
    assert_eq!(alone.len(), 11);
    for case in alone {
        match Patch::read([("label", given(&case.given["label"]))]) {
            Ok(patch) => {
                let label = labelled(&patch).label.expect("a label");
                assert_eq!(case.out["label"], label.as_str(), "{}", case.id);
            },
            Err(faults) => {
                assert_eq!(case.out["error"], "INVALID_ARGUMENT", "{}", case.id);
                assert_eq!(case.out["message"], faults[0].message, "{}", case.id);
            },
        }
    }
}
