//! One row of a list.

use confab_model::key::SessionKey;
use confab_proto::types::v1::{ChatType, Origin, Route, SendPolicy, Session, SessionKind};
use confab_tools::session_row;
use serde_json::{Value, json};

const WRITER: &str = "agent:writer:main";

/// The row of [`full`], as the writer sees it.
const FULL: &str = r#"{
    "key": "main",
    "agentId": "editor",
    "kind": "main",
    "channel": "discord",
    "origin": { "provider": "discord", "accountId": "bot" },
    "spawnedBy": "main",
    "label": "Desk",
    "displayName": "Desk",
    "parentSessionKey": "agent:editor:main",
    "deliveryContext": {
        "channel": "discord", "to": "group:42", "accountId": "bot", "threadId": "7"
    },
    "updatedAt": 1783891429005,
    "archived": true,
    "archivedAt": 3005,
    "pinned": true,
    "pinnedAt": 4005,
    "sessionId": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
    "stateVersion": 9,
    "model": "ran-with",
    "contextTokens": 1000,
    "totalTokens": 12,
    "estimatedCostUsd": 0.5,
    "status": "done",
    "startedAt": 5005,
    "endedAt": 6005,
    "runtimeMs": 1000,
    "childSessions": ["agent:editor:subagent:x"],
    "thinkingLevel": "high",
    "fastMode": true,
    "verboseLevel": "full",
    "reasoningLevel": "on",
    "elevatedLevel": "ask",
    "responseUsage": "tokens",
    "systemSent": true,
    "abortedLastRun": false,
    "sendPolicy": "deny",
    "lastChannel": "discord",
    "lastTo": "group:42",
    "lastAccountId": "bot",
    "transcriptPath": "t.db#7c9e",
    "modelOverride": "own",
    "traceLevel": "raw",
    "groupActivation": "mention",
    "category": "Work",
    "unread": true,
    "execHost": "node",
    "execSecurity": "allowlist",
    "execAsk": "on-miss",
    "execNode": "desk",
    "spawnDepth": 0,
    "subagentRole": "leaf",
    "subagentControlScope": "none",
    "fault": "verboseLevel `loud` is unknown"
    }"#;

fn at(seconds: i64) -> prost_types::Timestamp {
    prost_types::Timestamp {
        seconds,
        nanos: 5_000_000,
    }
}

/// A row with nothing but what every row has.
pub(crate) fn plain(key: &str) -> Session {
    Session {
        key: key.to_owned(),
        display_key: key.to_owned(),
        session_id: "7c9e6679-7425-40de-944b-e07fc1f90ae7".to_owned(),
        agent_id: "editor".to_owned(),
        kind: SessionKind::Other.into(),
        channel: "unknown".to_owned(),
        updated_at: Some(at(1_783_891_429)),
        ..Session::default()
    }
}

/// A row with every field.
pub(crate) fn full() -> Session {
    Session {
        display_key: "main".to_owned(),
        kind: SessionKind::Main.into(),
        channel: "discord".to_owned(),
        label: Some("Desk".to_owned()),
        display_name: Some("Desk".to_owned()),
        spawned_by: Some(WRITER.to_owned()),
        parent_session_key: Some("agent:editor:main".to_owned()),
        sandboxed: true,
        chat_type: ChatType::Group.into(),
        origin: Some(Origin {
            provider: Some("discord".to_owned()),
            account_id: Some("bot".to_owned()),
            thread_id: None,
        }),
        delivery_context: Some(Route {
            channel: "discord".to_owned(),
            to: "group:42".to_owned(),
            account_id: Some("bot".to_owned()),
            thread_id: Some("7".to_owned()),
        }),
        archived_at: Some(at(3)),
        pinned_at: Some(at(4)),
        state_version: 9,
        model: Some("ran-with".to_owned()),
        model_override: Some("own".to_owned()),
        context_tokens: Some(1000),
        total_tokens: Some(12),
        estimated_cost_usd: Some(0.5),
        status: Some("done".to_owned()),
        started_at: Some(at(5)),
        ended_at: Some(at(6)),
        runtime_ms: Some(1000),
        child_sessions: vec!["agent:editor:subagent:x".to_owned()],
        thinking_level: Some("high".to_owned()),
        fast_mode: Some("true".to_owned()),
        verbose_level: Some("full".to_owned()),
        reasoning_level: Some("on".to_owned()),
        elevated_level: Some("ask".to_owned()),
        response_usage: Some("tokens".to_owned()),
        system_sent: Some(true),
        aborted_last_run: Some(false),
        send_policy: SendPolicy::Deny.into(),
        transcript_path: Some("t.db#7c9e".to_owned()),
        trace_level: Some("raw".to_owned()),
        group_activation: Some("mention".to_owned()),
        category: Some("Work".to_owned()),
        unread: true,
        exec_host: Some("node".to_owned()),
        exec_security: Some("allowlist".to_owned()),
        exec_ask: Some("on-miss".to_owned()),
        exec_node: Some("desk".to_owned()),
        spawn_depth: Some(0),
        subagent_role: Some("leaf".to_owned()),
        subagent_control_scope: Some("none".to_owned()),
        fault: Some("verboseLevel `loud` is unknown".to_owned()),
        ..plain(WRITER)
    }
}

/// The row as the writer sees it.
fn row_of(session: &Session) -> Value {
    let asker = SessionKey::parse(WRITER).expect("a key");
    session_row(session, Some(&asker)).expect("a row").into()
}

#[test]
fn a_row_shows_every_field_it_has_and_keys_as_the_caller_may_call_them_reg_l21() {
    let expected: Value = serde_json::from_str(FULL).unwrap();
    assert_eq!(row_of(&full()).to_string(), expected.to_string());
}

#[test]
fn an_operator_sees_whole_keys_d1() {
    let row = session_row(&full(), None).unwrap();
    assert_eq!(row["spawnedBy"], WRITER);
}

#[test]
fn fast_mode_is_a_truth_value_or_the_word_auto() {
    let cases = [
        ("true", json!(true)),
        ("false", json!(false)),
        ("auto", json!("auto")),
    ];
    for (word, expected) in cases {
        let session = Session {
            fast_mode: Some(word.to_owned()),
            ..plain("agent:editor:desk")
        };
        assert_eq!(row_of(&session)["fastMode"], expected);
    }
}

#[test]
fn the_display_name_is_the_label_else_what_the_registry_calls_the_session_reg_l28() {
    let cases = [
        (Some("Desk"), Some("Reviews"), json!("Desk")),
        (None, Some("Reviews"), json!("Reviews")),
        (Some(" "), Some("Reviews"), json!("Reviews")),
        (Some("Desk"), None, json!("Desk")),
        (None, None, json!(null)),
    ];
    for (label, name, expected) in cases {
        let session = Session {
            label: label.map(str::to_owned),
            display_name: name.map(str::to_owned),
            ..plain("agent:editor:desk")
        };
        assert_eq!(row_of(&session)["displayName"], expected);
    }
}

#[test]
fn the_model_of_a_row_is_what_ran_else_what_would_b132_reg_l30() {
    let cases = [
        (
            Some("own"),
            Some("ran-with"),
            json!("ran-with"),
            json!("own"),
        ),
        (Some("own"), None, json!("own"), json!("own")),
        (None, Some("ran-with"), json!("ran-with"), json!(null)),
        (None, None, json!(null), json!(null)),
    ];
    for (own, ran_with, model, override_told) in cases {
        let row = row_of(&Session {
            model_override: own.map(str::to_owned),
            model: ran_with.map(str::to_owned),
            ..plain("agent:editor:desk")
        });
        assert_eq!(
            (&row["model"], &row["modelOverride"]),
            (&model, &override_told)
        );
    }
}

#[test]
fn keys_that_the_registry_shows_already_or_that_nobody_can_read_spoil_no_list() {
    let row = row_of(&Session {
        child_sessions: vec![WRITER.to_owned(), "main".to_owned(), "agent::".to_owned()],
        ..plain("agent:editor:desk")
    });
    assert_eq!(row["childSessions"], json!(["main", "main", "agent::"]));
}
