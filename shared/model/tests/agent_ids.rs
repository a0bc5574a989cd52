//! Every vector of `agent_ids.json`.

use confab_model::id::{AgentId, normalise_account_id};
use confab_model::key::SessionKey;
use confab_vectors::{AGENT_IDS, Case};
use proptest::prelude::*;
use serde_json::{Value, json};

fn describe(input: &Value) -> Value {
    let raw = input["raw"].as_str().expect("a raw id");
    match input["op"].as_str() {
        Some("normalise_agent") => json!({"id": AgentId::normalise(raw)}),
        Some("normalise_account") => json!({"id": normalise_account_id(raw)}),
        Some("spawn_agent_id") => match AgentId::parse_strict(raw) {
            Ok(id) => json!({"id": id}),
            Err(_) => json!({"error": "INVALID_ARGUMENT"}),
        },
        other => json!({"unknown op": other}),
    }
}

#[test]
fn every_case_of_the_agent_id_vectors_holds() {
    let cases: Vec<Case> = AGENT_IDS.cases().unwrap();
    let failures: Vec<String> = cases
        .iter()
        .flat_map(|case| case.differences(&describe(&case.given)))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

proptest! {
    #[test]
    fn a_normalised_agent_id_stays_as_it_is_and_can_stand_in_a_key(
        raw in prop_oneof![any::<String>(), "[_a-c -]{0,80}", "_[a-]{60,70}"]
    ) {
        let id = AgentId::normalise(&raw);
        prop_assert_eq!(&AgentId::normalise(id.as_str()), &id);
        let main = SessionKey::main_of(&id);
        prop_assert_eq!(SessionKey::parse(main.as_str()), Ok(main));
    }
}
