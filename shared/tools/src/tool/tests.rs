use std::collections::BTreeSet;

use confab_rpc::error::RpcError;
use serde_json::{Map, json};

use super::*;

fn parse(tool: Tool, arguments: &Value) -> Result<(), RpcError> {
    let given: &Map<String, Value> = arguments.as_object().expect("an object");
    match tool {
        Tool::List => list::Input::parse(given).map(drop),
        Tool::History => history::Input::parse(given).map(drop),
        Tool::Search => search::Input::parse(given).map(drop),
        Tool::Send => send::Input::parse(given).map(drop),
        Tool::Status => status::Input::parse(given, true).map(drop),
        Tool::Agents => agents::Input::parse(given).map(drop),
    }
}

fn properties(tool: Tool) -> Map<String, Value> {
    tool.spec().input_schema["properties"]
        .as_object()
        .expect("properties")
        .clone()
}

/// The names that the refusal of an unknown field lists.
fn accepted(tool: Tool) -> BTreeSet<String> {
    let refusal = parse(tool, &json!({ "zzzzzzzz": 1 })).expect_err("must be refused");
    let fault = refusal
        .violations
        .iter()
        .find(|one| one.field == "zzzzzzzz")
        .expect("a fault");
    if fault.description.ends_with("this tool takes no arguments") {
        return BTreeSet::new();
    }
    let (_, allowed) = fault
        .description
        .split_once("allowed: ")
        .expect("the allowed names");
    allowed.split(", ").map(str::to_owned).collect()
}

#[test]
fn the_schema_tells_exactly_the_fields_that_are_accepted() {
    for tool in Tool::ALL {
        let told: BTreeSet<String> = properties(tool).keys().cloned().collect();
        assert_eq!(told, accepted(tool), "{}", tool.as_str());
    }
}

#[test]
fn every_field_of_a_schema_has_one_plain_type_that_the_reader_insists_on() {
    for tool in Tool::ALL {
        for (name, property) in properties(tool) {
            let kind = property["type"].as_str().expect("one type");
            assert!(property["description"].is_string(), "{name}");
            assert!(property.get("format").is_none(), "{name}");
            let wrong = if kind == "boolean" {
                json!(7)
            } else {
                json!({ "a": 1 })
            };
            let refusal = parse(tool, &json!({ &name: wrong })).expect_err("must be refused");
            let about: Vec<_> = refusal
                .violations
                .iter()
                .filter(|one| one.field == name)
                .collect();
            assert!(!about.is_empty(), "{name}: {refusal:?}");
            assert!(
                about
                    .iter()
                    .all(|one| !one.description.starts_with("unknown")),
                "{name}"
            );
        }
    }
}

#[test]
fn what_a_schema_requires_is_missed_and_nothing_else_is() {
    let cases = [
        (Tool::List, json!(null), json!({})),
        (
            Tool::History,
            json!(["sessionKey"]),
            json!({ "sessionKey": "main" }),
        ),
        (Tool::Search, json!(["query"]), json!({ "query": "words" })),
        (
            Tool::Send,
            json!(["message"]),
            json!({ "agentId": "ops", "message": "hi" }),
        ),
        (Tool::Status, json!(null), json!({})),
        (Tool::Agents, json!(null), json!({})),
    ];
    for (tool, required, enough) in cases {
        assert_eq!(
            tool.spec().input_schema["required"],
            required,
            "{}",
            tool.as_str()
        );
        parse(tool, &enough).expect("must be accepted");
        for name in required.as_array().into_iter().flatten() {
            let mut less = enough.clone();
            less.as_object_mut()
                .unwrap()
                .shift_remove(name.as_str().unwrap());
            let refusal = parse(tool, &less).expect_err("must be refused");
            assert!(
                refusal
                    .message
                    .starts_with(&format!("{} required", name.as_str().unwrap()))
            );
        }
    }
}

#[test]
fn a_schema_is_of_the_named_draft_closed_and_states_ranges_and_defaults() {
    for tool in Tool::ALL {
        let schema = tool.spec().input_schema;
        assert_eq!(
            schema["$schema"],
            "https://json-schema.org/draft/2020-12/schema"
        );
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["additionalProperties"], false);
    }
    let list = properties(Tool::List);
    assert_eq!(
        (&list["limit"]["minimum"], &list["limit"]["default"]),
        (&json!(1), &json!(100))
    );
    assert_eq!(list["messageLimit"]["minimum"], 0);
    assert_eq!(
        list["kinds"]["items"],
        json!({ "type": "string", "enum": ["main", "group", "cron", "hook", "node", "other"] })
    );
    let history = properties(Tool::History);
    assert_eq!(history["limit"]["default"], 50);
    assert_eq!(history["offset"]["minimum"], 0);
    let search = properties(Tool::Search);
    let told = |field: &str, bound: &str| search[field][bound].clone();
    assert_eq!(told("limit", "default"), 20);
    assert_eq!(told("limit", "minimum"), 1);
    assert_eq!(told("query", "maxLength"), 512);
    assert_eq!(told("sessionKey", "maxLength"), 512);
    assert_eq!(told("agentId", "maxLength"), 64);
    let status = properties(Tool::Status);
    assert_eq!(
        (&status["model"]["type"], &status["model"]["maxLength"]),
        (&json!("string"), &json!(256))
    );
    assert_eq!(status["changesSince"]["minimum"], 0);
    assert_eq!(properties(Tool::Agents), Map::new());
    let send = properties(Tool::Send);
    assert_eq!(
        send["timeoutSeconds"],
        json!({
            "description": "Seconds to wait for the answer; 0 does not wait. The work goes on when \
                            the time is over.",
            "type": "integer",
            "minimum": 0,
            "maximum": 3600,
            "default": 30,
        })
    );
    assert_eq!(send["announce"]["enum"], json!(["channel", "none"]));
}

#[test]
fn a_send_without_a_target_says_how_to_name_one_beside_all_other_faults() {
    for arguments in [
        json!({}),
        json!({ "sessionKey": " ", "label": null, "agentId": "" }),
    ] {
        let refusal = parse(Tool::Send, &arguments).expect_err("must be refused");
        let fields: Vec<_> = refusal
            .violations
            .iter()
            .map(|one| one.field.as_str())
            .collect();
        assert_eq!(fields, ["message", "sessionKey"]);
        assert!(
            refusal
                .message
                .contains("Either sessionKey or label is required")
        );
    }
}

#[test]
fn other_names_of_a_message_are_not_accepted() {
    for name in ["content", "text", "SendMessage"] {
        let refusal = parse(Tool::Send, &json!({ "agentId": "ops", name: "hi" }));
        let refusal = refusal.expect_err("must be refused");
        let fields: Vec<_> = refusal
            .violations
            .iter()
            .map(|one| one.field.as_str())
            .collect();
        assert_eq!(fields, ["message", name]);
    }
}

#[test]
fn a_caller_without_a_session_must_name_one_beside_all_other_faults_reg_s2() {
    let arguments = json!({ "sessionKey": " ", "changesSince": -1 });
    let given = arguments.as_object().expect("an object");
    let refusal = status::Input::parse(given, false).expect_err("must be refused");
    assert_eq!(
        refusal.message,
        "sessionKey required: a string that is not blank; changesSince must be a non-negative \
         integer; given: -1"
    );
    assert!(status::Input::parse(&Map::new(), true).is_ok());
}

#[test]
fn a_blank_model_or_the_word_default_takes_the_own_model_away_and_null_changes_nothing_reg_s5() {
    use status::ModelChoice::{Default, Own};
    let cases = [
        (json!(""), Some(Default)),
        (json!("  "), Some(Default)),
        (json!("default"), Some(Default)),
        (json!(" DeFault "), Some(Default)),
        (json!(" openai/gpt "), Some(Own("openai/gpt".to_owned()))),
        (json!("defaults"), Some(Own("defaults".to_owned()))),
        (json!(null), None),
    ];
    for (model, expected) in cases {
        let arguments = json!({ "model": model });
        let given = arguments.as_object().expect("an object");
        let input = status::Input::parse(given, true).expect("must be accepted");
        assert_eq!(input.model, expected, "{arguments}");
    }
}
