use confab_proto::types::v1 as proto;
use serde_json::{Value, json};

use super::*;
use crate::render::table::COLUMNS;
use crate::render::text;

fn sample() -> Session {
    Session {
        key: "agent:editor:slack:channel:reviews".to_owned(),
        display_key: "agent:editor:slack:channel:reviews".to_owned(),
        session_id: "session-1".to_owned(),
        agent_id: "editor".to_owned(),
        kind: proto::SessionKind::Group.into(),
        channel: "slack".to_owned(),
        delivery_context: Some(proto::Route {
            channel: "slack".to_owned(),
            to: "channel:reviews".to_owned(),
            account_id: None,
            thread_id: Some("17.4".to_owned()),
        }),
        status: Some("done".to_owned()),
        ..Session::default()
    }
}

fn at(seconds: i64) -> prost_types::Timestamp {
    prost_types::Timestamp { seconds, nanos: 0 }
}

/// A session with every field set; texts are the names of their fields.
fn whole() -> Session {
    let text = |name: &str| Some(name.to_owned());
    Session {
        row_version: 3,
        work_epoch: 2,
        label: text("label-1"),
        display_name: text("display-name"),
        spawned_by: text("agent:a:main"),
        parent_session_key: text("agent:b:main"),
        sandboxed: true,
        chat_type: proto::ChatType::Channel.into(),
        origin: Some(Origin {
            provider: text("origin-provider"),
            account_id: text("origin-account"),
            thread_id: text("origin-thread"),
        }),
        created_at: Some(at(1)),
        updated_at: Some(at(2)),
        archived_at: Some(at(3)),
        pinned_at: Some(at(4)),
        state_version: 71,
        model: text("model-1"),
        model_override: text("model-own"),
        context_tokens: Some(72),
        total_tokens: Some(73),
        estimated_cost_usd: Some(0.25),
        started_at: Some(at(5)),
        ended_at: Some(at(6)),
        runtime_ms: Some(74),
        child_sessions: vec!["agent:c:main".to_owned()],
        thinking_level: text("thinking-level"),
        fast_mode: text("fast-mode"),
        verbose_level: text("verbose-level"),
        reasoning_level: text("reasoning-level"),
        elevated_level: text("elevated-level"),
        response_usage: text("response-usage"),
        system_sent: Some(true),
        aborted_last_run: Some(true),
        send_policy: SendPolicy::Deny.into(),
        transcript_path: text("transcript-path"),
        last_run_id: text("last-run-id"),
        trace_level: text("trace-level"),
        exec_host: text("exec-host"),
        exec_security: text("exec-security"),
        exec_ask: text("exec-ask"),
        exec_node: text("exec-node"),
        group_activation: text("group-activation"),
        category: text("category-1"),
        unread: true,
        spawn_depth: Some(75),
        subagent_role: text("subagent-role"),
        subagent_control_scope: text("control-scope"),
        inherited_tool_allow: vec!["allowed-tool".to_owned()],
        inherited_tool_deny: vec!["denied-tool".to_owned()],
        spawned_workspace_dir: text("workspace-dir"),
        spawned_cwd: text("spawned-cwd"),
        session_started_at: Some(at(7)),
        last_interaction_at: Some(at(8)),
        fault: text("fault-1"),
        input_tokens: Some(76),
        output_tokens: Some(77),
        marked_unread_at: Some(at(9)),
        last_read_at: Some(at(10)),
        spawn_mode: text("spawn-mode"),
        ..sample()
    }
}

#[test]
fn a_row_has_what_is_known_and_always_whether_it_is_archived_or_pinned() {
    let shown: Value = record(&sample()).unwrap().into();
    assert_eq!(
        shown,
        json!({
            "key": "agent:editor:slack:channel:reviews",
            "agentId": "editor",
            "kind": "group",
            "channel": "slack",
            "deliveryContext": {"channel": "slack", "to": "channel:reviews", "threadId": "17.4"},
            "archived": false,
            "pinned": false,
            "sessionId": "session-1",
            "status": "done",
            "lastChannel": "slack",
            "lastTo": "channel:reviews",
        })
    );
}

#[test]
fn a_row_for_programs_has_every_field_that_a_patch_can_set_m26() {
    let shown = record(&whole()).unwrap();
    for name in confab_model::session::patch::Patch::FIELDS {
        assert!(shown.get(name).is_some(), "{name}");
    }
}

#[test]
fn a_card_shows_every_field_that_is_set() {
    let shown = card_of(&whole(), Paint::new(false), Timestamp::from_millis(59_000));
    let texts = "label-1 display-name agent:a:main agent:b:main channel origin-provider \
        origin-account origin-thread model-1 model-own agent:c:main thinking-level fast-mode \
        verbose-level reasoning-level elevated-level response-usage deny transcript-path \
        last-run-id trace-level exec-host exec-security exec-ask exec-node group-activation \
        category-1 subagent-role control-scope allowed-tool denied-tool workspace-dir spawned-cwd \
        fault-1 spawn-mode";
    let numbers = "71 72 73 74 75 76 77 0.25";
    for value in texts.split_whitespace().chain(numbers.split(' ')) {
        assert!(shown.contains(value), "{value}: {shown}");
    }
    for second in 1..=10 {
        let told = format!("{} s ago", 59 - second);
        assert!(shown.contains(&told), "{told}: {shown}");
    }
    for name in ["sandboxed", "unread", "aborted", "prompt sent"] {
        let line = shown.lines().find(|line| line.starts_with(name));
        assert!(
            line.is_some_and(|line| line.ends_with("yes")),
            "{name}: {shown}"
        );
    }
}

#[test]
fn a_card_leaves_out_what_is_not_known() {
    let shown = card_of(&sample(), Paint::new(false), Timestamp::from_millis(0));
    let names: Vec<&str> = shown
        .lines()
        .filter_map(|line| line.split("  ").next())
        .collect();
    assert_eq!(
        names,
        [
            "session",
            "sessionId",
            "agent",
            "kind",
            "channel",
            "answers go",
            "last run"
        ]
    );
}

#[test]
fn a_card_fits_and_cannot_be_steered_by_a_label() {
    let hostile = "\u{1b}]0;x\u{7}\u{202e}界".repeat(50);
    let session = Session {
        display_key: hostile.clone(),
        label: Some(hostile.clone()),
        channel: hostile.clone(),
        status: Some(hostile.clone()),
        fault: Some(hostile),
        ..sample()
    };
    let shown = card_of(&session, Paint::new(false), Timestamp::from_millis(0));
    assert!(
        !shown.contains(['\u{1b}', '\u{7}', '\u{202e}']),
        "{shown:?}"
    );
    for line in shown.lines() {
        let columns = text::width(line);
        assert!(columns <= COLUMNS, "{columns} columns: {line}");
    }
}
