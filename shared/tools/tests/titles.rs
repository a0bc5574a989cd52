//! The vectors of derived titles.

use confab_model::clock::Timestamp;
use confab_tools::title::{Known, derived_title};
use confab_vectors::{Case, DERIVED_TITLES};
use serde_json::{Value, json};

#[test]
fn titles_follow_the_vectors() {
    let cases: Vec<Case> = DERIVED_TITLES.cases().unwrap();
    let differences: Vec<String> = cases
        .iter()
        .flat_map(|case| case.differences(&json!({ "title": title(&case.given) })))
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn title(given: &Value) -> String {
    derived_title(&Known {
        label: given["label"].as_str(),
        display_name: given["displayName"].as_str(),
        subject: given["subject"].as_str(),
        first_user_text: first_of_a_person(&given["userMessages"]),
        session_id: given["sessionId"].as_str().expect("a sessionId"),
        updated_at: given["updatedAt"].as_i64().map(Timestamp::from_millis),
    })
}

/// What the transcript service answers when it is asked for the first message of a person.
fn first_of_a_person(messages: &Value) -> Option<&str> {
    let mut messages = messages.as_array()?.iter();
    messages.find(|one| one["provenance"] != "inter_session")?["text"].as_str()
}
