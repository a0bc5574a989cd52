use serde_json::json;

use super::*;

fn read_row(key: &str, row: &Value) -> Result<Mapped, String> {
    read(&AgentId::normalise("ops"), key, row.as_object().unwrap())
}

fn read_with(fields: &Value) -> Mapped {
    let mut row = json!({ "sessionId": "s1" });
    let own = row.as_object_mut().unwrap();
    own.extend(fields.as_object().unwrap().clone());
    read_row("main", &row).unwrap()
}

fn at(millis: i64) -> prost_types::Timestamp {
    confab_rpc::wire::time::to_proto(confab_model::clock::Timestamp::from_millis(millis))
}

#[test]
fn a_key_is_full_or_belongs_to_the_agent_of_the_index() {
    let cases = [
        ("main", "agent:ops:main"),
        ("agent:main:main", "agent:main:main"),
        ("Agent:OPS:Main", "agent:ops:main"),
        ("telegram:group:-100", "agent:ops:telegram:group:-100"),
        ("global", "global"),
    ];
    for (given, full) in cases {
        assert_eq!(
            full_key(&AgentId::normalise("ops"), given)
                .unwrap()
                .as_str(),
            full
        );
    }
    for given in ["", "agent:x", "agent::y", "a::b", "a\u{7}b"] {
        assert!(
            full_key(&AgentId::normalise("ops"), given).is_err(),
            "{given:?}"
        );
    }
}

#[test]
fn a_row_without_a_usable_session_id_is_none() {
    for row in [
        json!({}),
        json!({ "sessionId": "" }),
        json!({ "sessionId": 7 }),
    ] {
        assert!(
            read_row("main", &row).unwrap_err().contains("sessionId"),
            "{row}"
        );
    }
    assert!(read_row("main", &json!({ "sessionId": "a\u{1}b" })).is_err());
}

#[test]
fn every_field_that_is_understood_has_its_place() {
    let mapped = read_with(&json!({
        "updatedAt": 2_000, "createdAt": 1_000, "sessionStartedAt": 1_500.0,
        "label": " daily ", "displayName": "Daily", "category": "work",
        "origin": { "provider": "slack", "accountId": "acme", "threadId": 7, "label": "x" },
        "deliveryContext": { "channel": "slack", "to": "channel:1", "threadId": 17.5 },
        "lastChannel": "telegram", "lastTo": "9", "lastThreadId": 3,
        "chatType": "channel", "spawnedBy": "main", "spawnDepth": 2, "sandboxed": true,
        "thinkingLevel": "ultrathink", "verboseLevel": "on", "reasoningLevel": "stream",
        "elevatedLevel": "ask", "traceLevel": "raw", "responseUsage": "on", "fastMode": true,
        "sendPolicy": "deny", "groupActivation": "always",
        "providerOverride": "openai", "modelOverride": "gpt-5", "model": "o3",
        "inputTokens": 1, "outputTokens": 2, "totalTokens": 3, "contextTokens": 4,
        "archivedAt": 5_000, "pinned": true, "sessionFile": "s1.jsonl",
        "usageFamilySessionIds": ["s0", "s1", 5],
        "skillsSnapshot": {}, "compactionCount": 2,
    }));
    let expected = Session {
        key: "agent:ops:main".to_owned(),
        session_id: "s1".to_owned(),
        updated_at: Some(at(2_000)),
        created_at: Some(at(1_000)),
        session_started_at: Some(at(1_500)),
        label: Some("daily".to_owned()),
        category: Some("work".to_owned()),
        origin: Some(Origin {
            provider: Some("slack".to_owned()),
            account_id: Some("acme".to_owned()),
            thread_id: Some("7".to_owned()),
        }),
        delivery_context: Some(Route {
            channel: "slack".to_owned(),
            to: "channel:1".to_owned(),
            account_id: None,
            thread_id: Some("17.5".to_owned()),
        }),
        chat_type: ChatType::Channel.number(),
        spawned_by: Some("agent:ops:main".to_owned()),
        spawn_depth: Some(2),
        sandboxed: true,
        thinking_level: Some("high".to_owned()),
        verbose_level: Some("on".to_owned()),
        reasoning_level: Some("stream".to_owned()),
        elevated_level: Some("ask".to_owned()),
        trace_level: Some("raw".to_owned()),
        response_usage: Some("tokens".to_owned()),
        fast_mode: Some("true".to_owned()),
        send_policy: SendAction::Deny.number(),
        group_activation: Some("always".to_owned()),
        model_override: Some("openai/gpt-5".to_owned()),
        model: Some("o3".to_owned()),
        input_tokens: Some(1),
        output_tokens: Some(2),
        total_tokens: Some(3),
        archived_at: Some(at(5_000)),
        pinned_at: Some(at(2_000)),
        ..Session::default()
    };
    assert_eq!(mapped.session, expected);
    assert_eq!(mapped.named, ["s0"]);
    assert_eq!(mapped.session_file.as_deref(), Some("s1.jsonl"));
    assert_eq!(mapped.thread.as_deref(), Some("3"));
    assert_eq!(mapped.left_out, Vec::<String>::new());
    let passed_over = mapped.passed_over.join(" ");
    assert_eq!(
        passed_over,
        "displayName contextTokens skillsSnapshot compactionCount"
    );
}

/// reg:M21.
#[test]
fn where_and_how_commands_run_is_kept() {
    let mapped = read_with(&json!({
        "execHost": "node", "execSecurity": "allowlist", "execAsk": "on-miss", "execNode": "laptop",
    }));
    let session = mapped.session;
    let kept = [
        session.exec_host,
        session.exec_security,
        session.exec_ask,
        session.exec_node,
    ];
    let given = ["node", "allowlist", "on-miss", "laptop"];
    assert_eq!(kept, given.map(|word| Some(word.to_owned())));
    assert_eq!((mapped.left_out, mapped.passed_over), (vec![], vec![]));
}

#[test]
fn an_address_is_whole_or_is_none() {
    let half = read_with(&json!({
        "deliveryContext": { "channel": "slack" }, "lastTo": "9", "lastChannel": "telegram",
    }));
    let route = half.session.delivery_context.unwrap();
    assert_eq!(
        (route.channel.as_str(), route.to.as_str()),
        ("telegram", "9"),
        "D32"
    );
    let none = read_with(&json!({ "deliveryContext": { "channel": "slack" }, "lastTo": "9" }));
    assert_eq!(none.session.delivery_context, None, "D32");
    for told in [half.left_out, none.left_out] {
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].contains("deliveryContext: it has no to"),
            "{told:?}"
        );
    }
    let empty = read_with(&json!({ "deliveryContext": {} }));
    assert_eq!(empty.left_out, [""; 0]);
}

/// reg:M8: whoever forbade a tool learns that nobody forbids it here.
#[test]
fn tools_that_a_session_inherits_are_told_and_never_dropped_in_silence() {
    for name in ["inheritedToolAllow", "inheritedToolDeny"] {
        assert_eq!(read_with(&json!({ name: [] })).left_out, [""; 0]);
        let mapped = read_with(&json!({ name: ["exec"] }));
        assert_eq!(mapped.left_out.len(), 1, "{name}: {:?}", mapped.left_out);
        assert!(
            mapped.left_out[0].starts_with(name),
            "{:?}",
            mapped.left_out
        );
        assert_eq!(mapped.passed_over, [""; 0]);
    }
}

#[test]
fn what_is_wrong_in_a_field_costs_that_field_alone_and_is_told() {
    let cases = [
        ("updatedAt", json!("yesterday")),
        ("createdAt", json!(-5)),
        ("sessionStartedAt", json!(1_770_000_000_000_000_i64)),
        ("archivedAt", json!(253_402_300_800_000_i64)),
        ("execHost", json!("moon")),
        ("execNode", json!(7)),
        ("inheritedToolDeny", json!("exec")),
        ("spawnDepth", json!(-1)),
        ("thinkingLevel", json!("loud")),
        ("sendPolicy", json!(7)),
        ("chatType", json!("crowd")),
        ("label", json!("a\nb")),
        ("spawnedBy", json!("agent:x")),
        ("fastMode", json!("sometimes")),
        ("deliveryContext", json!([])),
        ("sessionFile", json!({})),
        ("usageFamilySessionIds", json!("s0")),
    ];
    for (name, value) in cases {
        let mapped = read_with(&json!({ name: value, "model": "o3" }));
        assert_eq!(mapped.left_out.len(), 1, "{name}: {:?}", mapped.left_out);
        assert!(
            mapped.left_out[0].starts_with(&format!("{name}: ")),
            "{:?}",
            mapped.left_out
        );
        assert_eq!(mapped.session.model.as_deref(), Some("o3"), "{name}");
    }
    assert_eq!(
        read_with(&json!({ "label": null, "category": "" })).left_out,
        [""; 0]
    );
}

#[test]
fn a_model_that_the_system_fell_back_to_is_nobodys_choice() {
    let auto = read_with(&json!({ "modelOverride": "m", "modelOverrideSource": "auto" }));
    assert_eq!(
        (auto.session.model_override, auto.left_out.len()),
        (None, 1),
        "reg:C6"
    );
    let whole = read_with(&json!({ "modelOverride": "p/m", "providerOverride": "p" }));
    assert_eq!(whole.session.model_override.as_deref(), Some("p/m"));
    let stale = read_with(&json!({ "totalTokens": 9, "totalTokensFresh": false }));
    assert_eq!(stale.session.total_tokens, None);
}

#[test]
fn a_sandbox_that_only_the_last_report_tells_is_kept() {
    let told = json!({ "systemPromptReport": { "sandbox": { "sandboxed": true } } });
    assert!(read_with(&told).session.sandboxed);
    assert!(!read_with(&json!({})).session.sandboxed);
}
