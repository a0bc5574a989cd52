//! The arguments of tool calls.

use serde_json::{Map, Value, json};

use super::super::Redactor;

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(object) = value else {
        panic!("{value} is no object");
    };
    object
}

fn shown(value: Value) -> Option<Value> {
    Redactor::built_in()
        .redact_json(&object(value))
        .map(Value::Object)
}

#[test]
fn every_text_at_every_depth_is_redacted() {
    let token = format!("ghp_{}", "A".repeat(24));
    let given = json!({"a": [{"b": format!("use {token}")}], "n": 1, "t": true, "z": null});
    let expected = json!({"a": [{"b": "use ghp_AA…AAAA"}], "n": 1, "t": true, "z": null});
    assert_eq!(shown(given), Some(expected));
}

#[test]
fn d61_a_secret_field_is_hidden_whole_whatever_it_is() {
    let given = json!({
        "api-key": "short", "apiKey": 12345, "API_KEY": ["a"], "credential": {"a": 1},
        "password": "p".repeat(20), "token": null, "secret": "", "x-api-key": "abc",
        "DB_PASSWORD": "abc", "sessionKey": "agent:main:main",
    });
    let expected = json!({
        "api-key": "***", "apiKey": "***", "API_KEY": "***", "credential": "***",
        "password": "pppppp…pppp", "token": null, "secret": "", "x-api-key": "***",
        "DB_PASSWORD": "***", "sessionKey": "agent:main:main",
    });
    let once = shown(given).unwrap();
    assert_eq!(once, expected);
    assert_eq!(shown(once), None);
}

#[test]
fn the_value_behind_a_flag_is_hidden() {
    let given = json!({"argv": ["tool", "--api-key", "abc", "--token", "--verbose", "x"]});
    let expected = json!({"argv": ["tool", "--api-key", "***", "--token", "--verbose", "x"]});
    assert_eq!(shown(given), Some(expected));
}

#[test]
fn a_secret_in_a_name_is_hidden() {
    let token = format!("ghp_{}", "A".repeat(24));
    let mut given = Map::new();
    given.insert(token, json!(1));
    assert_eq!(shown(Value::Object(given)), Some(json!({"ghp_AA…AAAA": 1})));
}

#[test]
fn what_holds_no_secret_is_absent() {
    assert_eq!(
        shown(json!({"path": "/tmp/x", "list": [1, [2, {"a": "b"}]]})),
        None
    );
}

#[test]
fn what_lies_too_deep_is_hidden_whole() {
    let token = format!("ghp_{}", "A".repeat(24));
    let mut value = json!(token);
    for _ in 0..1000 {
        value = json!([value]);
    }
    let shown = shown(json!({"deep": value})).unwrap();
    assert!(shown.to_string().contains("[\"***\"]"));
}
