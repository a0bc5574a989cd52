//! The rows of `sessions_list`: what they show, in which order, and what spoils none of them.
//!
//! Source: D2, D14, D54, D57, D58, reg:L13, reg:L14, reg:L15, reg:L21, reg:L33, reg:L35, reg:L36.

use anyhow::Context as _;
use confab_proto::registry::v1 as registry;
use confab_tests::client::Client;
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::grpc::{Caller, Grpc, REGISTRY, refusal, session};
use confab_tests::home::{Home, config_with, script};
use confab_tests::json::{at, list, number, only, text};
use confab_tests::process::eventually;
use prost_types::FieldMask;
use serde_json::{Value, json};
use tonic::Status;
use tonic_types::StatusExt as _;
use unicode_width::UnicodeWidthStr as _;

const MAIN: &str = "agent:main:main";

fn configured(agents: &[&str]) -> Value {
    let rules = json!([
        { "match": "^cost", "usage": { "input": 10_000, "output": 7 }, "reply": "spent" },
        { "match": "^break", "error": { "class": "rate_limited", "message": "too many" } },
    ]);
    let agents: Vec<Value> = agents.iter().map(|id| script(id, &rules)).collect();
    let change = json!({
        "agents": { "defaults": { "model": "m1" } },
        "confab": { "models": ["m1", "m2"] },
    });
    config_with(&agents, change)
}

fn start() -> anyhow::Result<(Home, Deployment)> {
    let home = Home::new(&configured(&["main", "ops"]))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    Ok((home, deployment))
}

fn listed(client: &Client, arguments: &Value) -> anyhow::Result<Value> {
    let answer = client.tool("sessions_list", arguments, None)?;
    assert_eq!(answer.status, 0, "{arguments}: {}", answer.text);
    Ok(answer.json)
}

fn keys(client: &Client, arguments: &Value) -> anyhow::Result<Vec<String>> {
    let found = listed(client, arguments)?;
    let rows = list(&found, "/sessions")?.iter();
    rows.map(|row| text(row, "/key")).collect()
}

/// The one row under a key.
fn row(client: &Client, key: &str) -> anyhow::Result<Value> {
    let found = listed(client, &json!({ "search": key, "limit": 200 }))?;
    let mut rows = list(&found, "/sessions")?.iter();
    let row = rows.find(|row| row.get("key") == Some(&json!(key)));
    row.cloned()
        .ok_or_else(|| anyhow::anyhow!("no {key} in {found:#}"))
}

/// Waits until a row tells that its last run has this status; rows may follow a run by a second.
fn settled(client: &Client, key: &str, status: &str) -> anyhow::Result<Value> {
    eventually("the row follows the run", || {
        Ok(row(client, key)?.get("status") == Some(&json!(status)))
    })?;
    row(client, key)
}

fn patch(client: &Client, key: &str, change: &Value) -> anyhow::Result<Value> {
    client.json(&["sessions", "patch", key, &change.to_string()])
}

/// What a patch sets is what a row shows, in canonical words (reg:M9, reg:M18, reg:M19, reg:M20).
#[test]
fn a_row_shows_what_was_patched_in_canonical_words() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    client.json(&["sessions", "create", MAIN])?;
    let change = json!({
        "label": "  Front desk ", "thinkingLevel": "ULTRATHINK", "fastMode": "auto",
        "verboseLevel": "everything", "reasoningLevel": "stream", "elevatedLevel": "ask",
        "responseUsage": "on", "sendPolicy": "allow", "pinned": true, "model": "m2",
    });
    patch(client, MAIN, &change)?;
    let shown = row(client, MAIN)?;
    let expected = json!({
        "label": "Front desk", "displayName": "Front desk", "thinkingLevel": "high",
        "fastMode": "auto", "verboseLevel": "full", "reasoningLevel": "stream",
        "elevatedLevel": "ask", "responseUsage": "tokens", "sendPolicy": "allow", "pinned": true,
        "model": "m2", "archived": false,
    });
    let names: Vec<&str> = expected
        .as_object()
        .into_iter()
        .flat_map(|fields| fields.keys())
        .map(String::as_str)
        .collect();
    assert_eq!(only(&shown, &names), expected, "{shown:#}");
    assert!(number(&shown, "/pinnedAt")? > 0, "{shown:#}");
    assert!(
        text(&shown, "/transcriptPath")?.ends_with(&format!("#{}", text(&shown, "/sessionId")?)),
        "{shown:#}"
    );

    let cleared: serde_json::Map<String, Value> = names
        .iter()
        .filter(|name| !["archived", "displayName", "pinned"].contains(name))
        .map(|name| ((*name).to_owned(), Value::Null))
        .collect();
    patch(client, MAIN, &Value::Object(cleared))?;
    let shown = row(client, MAIN)?;
    assert_eq!(
        only(&shown, &names),
        json!({ "pinned": true, "model": "m1", "archived": false })
    );
    deployment.stop()
}

/// All faults of a patch are told at once, and nothing of it happens.
#[test]
fn a_faulty_patch_tells_every_fault_and_changes_nothing() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    client.json(&["sessions", "create", MAIN])?;
    client.json(&["sessions", "create", "agent:main:x", "--label", "taken"])?;
    let before = row(client, MAIN)?;
    let change = json!({
        "label": "", "thinkingLevel": "deep", "verboseLevel": "loud", "sendPolicy": "maybe",
        "pinned": true,
    });
    let refused = client.run(&["sessions", "patch", MAIN, &change.to_string()])?;
    assert_eq!(refused.status, 4, "{}", refused.text);
    let message = text(&refused.json, "/error/message")?;
    for told in [
        "invalid label: empty",
        "invalid thinkingLevel (use off|minimal|low",
        r#"invalid verboseLevel (use "on"|"off"|"full")"#,
        r#"invalid sendPolicy (use "allow"|"deny")"#,
    ] {
        assert!(message.contains(told), "{told} is not in {message}");
    }
    let taken = client.run(&[
        "sessions",
        "patch",
        MAIN,
        r#"{"label":"taken","pinned":true}"#,
    ])?;
    assert_eq!(taken.status, 4, "{}", taken.text);
    let message = text(&taken.json, "/error/message")?;
    assert_eq!(message, "label already in use: taken");
    let refused = refusal(faulty_everywhere(&Grpc::to(&deployment)?))?;
    let details = refused.get_error_details();
    let faults = details.bad_request().context("the fields")?;
    let fields: Vec<&str> = faults
        .field_violations
        .iter()
        .map(|fault| fault.field.as_str())
        .collect();
    for field in ["label", "thinkingLevel", "model", "spawnedBy"] {
        assert!(
            fields.iter().any(|told| told.ends_with(field)),
            "{field} is not in {fields:?}"
        );
    }
    assert_eq!(row(client, MAIN)?, before);
    deployment.stop()
}

/// Faults of three sorts: in the form of a field, in a value that the configuration does not know,
/// and in a field that such a session cannot have.
fn faulty_everywhere(grpc: &Grpc) -> Result<registry::PatchSessionResponse, Status> {
    let fields = ["label", "thinking_level", "model", "spawned_by"];
    let asked = registry::PatchSessionRequest {
        target: Some(session(MAIN)),
        patch: Some(registry::SessionPatch {
            label: Some(String::new()),
            thinking_level: Some("deep".to_owned()),
            model: Some("m9".to_owned()),
            spawned_by: Some("agent:ops:main".to_owned()),
            ..Default::default()
        }),
        update_mask: Some(FieldMask {
            paths: fields.map(str::to_owned).to_vec(),
        }),
        ..Default::default()
    };
    grpc.call(REGISTRY, "PatchSession", asked, &Caller::operator())
}

/// B134: only messages and runs move a session; whatever else is written to it does not.
#[test]
fn a_patch_does_not_move_a_session() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    let others = ["agent:main:a", "agent:main:b", "agent:main:c"];
    for key in others {
        client.json(&["sessions", "create", key])?;
    }
    let moved = number(&row(client, "agent:main:a")?, "/updatedAt")?;
    let change = json!({ "label": "first", "thinkingLevel": "low", "model": "m2" });
    patch(client, "agent:main:a", &change)?;
    let archived = client.json(&["sessions", "archive", "agent:main:a"])?;
    assert_eq!(number(&archived, "/updatedAt")?, moved);
    client.json(&["sessions", "restore", "agent:main:a"])?;
    client.json(&["sessions", "sweep"])?;
    assert_eq!(number(&row(client, "agent:main:a")?, "/updatedAt")?, moved);
    let [a, b, c] = others;
    assert_eq!(keys(client, &json!({}))?, [c, b, a]);
    client.json(&["chat", "agent:main:a", "hello"])?;
    let shown = settled(client, "agent:main:a", "done")?;
    assert!(number(&shown, "/updatedAt")? > moved, "{shown:#}");
    assert_eq!(keys(client, &json!({}))?, [a, c, b]);
    deployment.stop()
}

/// D54: the latest pin first, then who moved last; archived rows are a list of their own.
#[test]
fn pinned_sessions_come_first_and_archived_ones_apart() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    let [a, b, c, d] = [
        "agent:main:a",
        "agent:main:b",
        "agent:main:c",
        "agent:main:d",
    ];
    for key in [a, b, c, d] {
        client.json(&["sessions", "create", key])?;
    }
    patch(client, b, &json!({ "pinned": true }))?;
    patch(client, a, &json!({ "pinned": true }))?;
    assert_eq!(keys(client, &json!({}))?, [a, b, d, c]);
    patch(client, b, &json!({ "pinned": true }))?;
    assert_eq!(
        keys(client, &json!({}))?,
        [a, b, d, c],
        "a second pin is none (reg:M14)"
    );
    let archived = client.json(&["sessions", "archive", a])?;
    assert_eq!(
        only(&archived, &["archived", "pinned"]),
        json!({ "archived": true, "pinned": false })
    );
    assert_eq!(keys(client, &json!({}))?, [b, d, c]);
    assert_eq!(keys(client, &json!({ "archived": true }))?, [a]);
    let refused = client.run(&["sessions", "patch", a, r#"{"pinned":true}"#])?;
    assert_eq!(refused.status, 4, "{}", refused.text);
    assert!(
        refused
            .text
            .contains("cannot pin an archived session; restore it first"),
        "{}",
        refused.text
    );
    let first = listed(client, &json!({ "limit": 2 }))?;
    let token = at(&first, "/nextPageToken")?;
    let rest = keys(client, &json!({ "limit": 2, "pageToken": token }))?;
    assert_eq!(rest, [c]);
    deployment.stop()
}

/// reg:L33: a parent's row names its children, as the asking agent calls them.
#[test]
fn a_row_names_its_children_and_its_parent() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    client.json(&["sessions", "create", MAIN])?;
    let [own, foreign] = ["agent:main:work-1", "agent:ops:work-2"];
    for child in [own, foreign] {
        client.json(&["sessions", "create", child, "--spawned-by", MAIN])?;
    }
    let mut children: Vec<Value> = list(&row(client, MAIN)?, "/childSessions")?.to_vec();
    children.sort_by_key(ToString::to_string);
    assert_eq!(children, [json!(own), json!(foreign)]);
    let child = row(client, foreign)?;
    assert_eq!(
        only(&child, &["spawnedBy", "parentSessionKey"]),
        json!({ "spawnedBy": MAIN, "parentSessionKey": MAIN }),
        "{child:#}"
    );
    assert!(child.get("childSessions").is_none(), "{child:#}");
    let seen = client.tool("sessions_list", &json!({ "search": "work-1" }), Some(MAIN))?;
    assert_eq!(
        text(&seen.json, "/sessions/0/spawnedBy")?,
        "main",
        "{}",
        seen.text
    );
    deployment.stop()
}

/// reg:L35, reg:L36: a title is the label, else the first words of a person; a preview is the last
/// text. Both are asked for.
#[test]
fn titles_and_previews_come_from_what_was_said() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    let long = "Please   compare the two offers of last week and tell me which of them is cheaper";
    client.json(&["chat", "agent:main:a", long])?;
    client.json(&["chat", "agent:main:b", "hello"])?;
    client.json(&["chat", "agent:main:b", "more"])?;
    patch(client, "agent:main:b", &json!({ "label": "Desk" }))?;
    client.json(&["sessions", "create", "agent:main:c"])?;
    let asked =
        json!({ "includeDerivedTitles": true, "includeLastMessage": true, "messageLimit": 1 });
    let found = listed(client, &asked)?;
    let of = |key: &str| -> anyhow::Result<Value> {
        let mut rows = list(&found, "/sessions")?.iter();
        let row = rows.find(|row| row.get("key") == Some(&json!(key)));
        row.cloned().ok_or_else(|| anyhow::anyhow!("no {key}"))
    };
    let (a, b, c) = (
        of("agent:main:a")?,
        of("agent:main:b")?,
        of("agent:main:c")?,
    );
    assert_eq!(
        text(&a, "/derivedTitle")?,
        "Please compare the two offers of last week and tell me…"
    );
    assert_eq!(text(&b, "/derivedTitle")?, "Desk");
    assert_eq!(text(&b, "/lastMessagePreview")?, "echo: more");
    assert_eq!(list(&b, "/messages")?.len(), 1);
    let id = text(&c, "/sessionId")?;
    assert!(text(&c, "/derivedTitle")?.starts_with(&id[..8]), "{c:#}");
    assert!(c.get("lastMessagePreview").is_none(), "{c:#}");
    let plain = row(client, "agent:main:b")?;
    for name in ["derivedTitle", "lastMessagePreview", "messages"] {
        assert!(
            plain.get(name).is_none(),
            "nobody asked for {name}: {plain:#}"
        );
    }
    let lowered = listed(client, &json!({ "messageLimit": 21, "limit": 300 }))?;
    assert_eq!(
        only(&lowered, &["limitApplied", "messageLimitApplied"]),
        json!({ "limitApplied": 200, "messageLimitApplied": 20 })
    );
    deployment.stop()
}

/// B130: the kind comes from the parsed key.
#[test]
fn every_key_has_its_kind_and_channel() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    let cases = [
        (MAIN, "main", "unknown"),
        ("agent:main:cron:daily", "cron", "internal"),
        ("agent:main:hook:u", "hook", "internal"),
        ("agent:main:node-7", "node", "internal"),
        ("agent:main:slack:group:g", "group", "slack"),
        ("agent:main:slack:channel:c", "group", "slack"),
        ("agent:main:slack:channel:c:thread:9", "group", "slack"),
        ("agent:main:slack:direct:p", "other", "slack"),
        (
            "agent:main:subagent:0198c1a2-7b3c-7000-8000-000000000001",
            "other",
            "unknown",
        ),
    ];
    for (key, ..) in cases {
        client.json(&["sessions", "create", key])?;
    }
    for (key, kind, channel) in cases {
        let shown = row(client, key)?;
        let fields = only(&shown, &["kind", "channel"]);
        assert_eq!(text(&fields, "/kind")?, kind, "{key}");
        if key.contains("slack:direct") {
            continue;
        }
        assert_eq!(text(&fields, "/channel")?, channel, "{key}");
    }
    for (kind, count) in [
        ("main", 1),
        ("group", 3),
        ("cron", 1),
        ("hook", 1),
        ("node", 1),
        ("other", 2),
    ] {
        let found = listed(client, &json!({ "kinds": [kind] }))?;
        assert_eq!(number(&found, "/count")?, count, "{kind}");
    }
    let refused = client.tool("sessions_list", &json!({ "kinds": ["main", "grop"] }), None)?;
    assert_eq!(refused.status, 4, "{}", refused.text);
    for word in ["grop", "group", "main", "cron", "hook", "node", "other"] {
        assert!(
            text(&refused.json, "/error")?.contains(word),
            "D15: {}",
            refused.text
        );
    }
    deployment.stop()
}

/// B132, B188, B190, B191: the model is the one that ran, tokens are those of the last call, and
/// nothing is stored as a choice that nobody made.
#[test]
fn a_row_tells_the_model_and_tokens_of_the_last_run() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    client.json(&["sessions", "create", MAIN])?;
    let fresh = row(client, MAIN)?;
    assert_eq!(text(&fresh, "/model")?, "m1");
    for absent in ["modelOverride", "totalTokens", "status", "startedAt"] {
        assert!(fresh.get(absent).is_none(), "{absent}: {fresh:#}");
    }
    patch(client, MAIN, &json!({ "model": "m2" }))?;
    for _ in 0..3 {
        client.json(&["chat", MAIN, "cost"])?;
    }
    settled(client, MAIN, "done")?;
    eventually("the tokens are told", || {
        Ok(row(client, MAIN)?.get("totalTokens").is_some())
    })?;
    let ran = row(client, MAIN)?;
    assert_eq!(text(&ran, "/model")?, "m2");
    let tokens = number(&ran, "/totalTokens")?;
    assert!(
        (10_000..=10_007).contains(&tokens),
        "the last call's, not the sum: {tokens}"
    );
    let status = client.tool("session_status", &json!({ "sessionKey": MAIN }), None)?;
    assert_eq!(
        only(&status.json, &["model", "defaultModel", "modelOverride"]),
        json!({ "model": "m2", "defaultModel": "m1", "modelOverride": "m2" }),
        "{}",
        status.text
    );
    let unknown = client.run(&["sessions", "patch", MAIN, r#"{"model":"m3"}"#])?;
    assert_eq!(unknown.status, 4, "{}", unknown.text);
    patch(client, MAIN, &json!({ "model": null }))?;
    let status = client.tool("session_status", &json!({ "sessionKey": MAIN }), None)?;
    assert!(
        status.json.get("modelOverride").is_none(),
        "{}",
        status.text
    );
    deployment.stop()
}

/// B192: the row, the status and the run tell one end.
#[test]
fn row_status_and_run_agree_on_how_a_run_ended() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    for (words, state, status) in [
        ("hello", "succeeded", "done"),
        ("break", "failed", "failed"),
    ] {
        let key = format!("agent:main:{words}");
        let chat = client.run(&["chat", &key, words])?;
        assert_eq!(text(&chat.json, "/state")?, state, "{}", chat.text);
        let shown = settled(client, &key, status)?;
        assert_eq!(
            at(&shown, "/startedAt")?,
            at(&chat.json, "/startedAt")?,
            "{shown:#}"
        );
        eventually("the end is told", || {
            Ok(row(client, &key)?.get("endedAt") == chat.json.get("endedAt"))
        })?;
        assert_eq!(
            client.json(&["sessions", "get", &key])?.get("status"),
            Some(&json!(status))
        );
        let again = client.run(&["chat", &key, "hello"])?;
        assert_eq!(
            again.status, 0,
            "a failed run leaves its session open (B125): {}",
            again.text
        );
    }
    deployment.stop()
}

/// B081: what people called a session outlives runs, resets and restarts, and finds it.
#[test]
fn a_label_outlives_runs_resets_and_restarts() -> anyhow::Result<()> {
    let (home, deployment) = start()?;
    let client = &deployment.client;
    client.json(&["sessions", "create", MAIN])?;
    patch(client, MAIN, &json!({ "label": "Desk" }))?;
    client.json(&["chat", MAIN, "hello"])?;
    client.json(&["sessions", "reset", MAIN])?;
    client.json(&[
        "chat",
        MAIN,
        "hello",
        "--channel",
        "slack",
        "--to",
        "user:1",
    ])?;
    deployment.kill()?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    assert_eq!(
        keys(&deployment.client, &json!({ "label": "Desk" }))?,
        [MAIN]
    );
    deployment.stop()
}

/// B136: rows of an agent that left the configuration are marked, and the others are served.
#[test]
fn a_row_of_an_agent_that_is_gone_is_marked_and_spoils_no_other() -> anyhow::Result<()> {
    let (home, deployment) = start()?;
    let client = &deployment.client;
    client.json(&["chat", "agent:ops:main", "hello"])?;
    let good = ["agent:main:a", "agent:main:b", "agent:main:c"];
    for key in good {
        client.json(&["sessions", "create", key])?;
    }
    deployment.reload(&home, &configured(&["main"]))?;
    let found = listed(client, &json!({}))?;
    assert_eq!(number(&found, "/count")?, 4, "{found:#}");
    for row in list(&found, "/sessions")? {
        let faulty = text(row, "/key")? == "agent:ops:main";
        assert_eq!(row.get("fault").is_some(), faulty, "{row:#}");
        if faulty {
            assert!(text(row, "/fault")?.contains("ops"), "{row:#}");
        }
    }
    assert!(found.to_string().contains("fault"), "{found:#}");
    assert_eq!(
        client.history("agent:ops:main")?.len(),
        2,
        "it stays readable"
    );
    let refused = client.run(&["chat", "agent:ops:main", "hello"])?;
    assert_eq!(refused.status, 4, "{}", refused.text);
    deployment.reload(&home, &configured(&["main", "ops"]))?;
    assert!(row(client, "agent:ops:main")?.get("fault").is_none());
    client.json(&["chat", "agent:ops:main", "hello"])?;
    deployment.stop()
}

/// The command line's JSON is the tool's, and its tables fit a terminal whatever people typed.
#[test]
fn the_command_line_shows_the_tools_rows_and_fits() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    let hostile = [
        "[31mred | and │ bars \u{200f}turned\u{200d}",
        "日本語の長い長いラベル日本語の長い長いラベル日本語の長い長いラベル日本語の長い長いラベル",
        "👨‍👩‍👧‍👦 e\u{301} \u{202e}turned round",
    ];
    for (label, number) in hostile.iter().zip(0..) {
        let key = format!("agent:main:{}{number}", "long-".repeat(30));
        client.json(&["sessions", "create", &key])?;
        patch(client, &key, &json!({ "label": label }))?;
    }
    client.json(&[
        "chat",
        MAIN,
        "\u{1b}[31mred\u{1b}[0m\nand \u{202e} a second line",
    ])?;
    settled(client, MAIN, "done")?;
    let tool = listed(client, &json!({}))?;
    assert_eq!(client.json(&["sessions", "list"])?, tool);
    let words = ["--previews", "--titles", "--messages", "1", "--limit", "2"];
    let asked = json!({ "includeLastMessage": true, "includeDerivedTitles": true, "messageLimit": 1, "limit": 2 });
    assert_eq!(
        client.json(&[["sessions", "list"].as_slice(), &words].concat())?,
        listed(client, &asked)?
    );

    for words in [
        &["sessions", "list"][..],
        &["sessions", "list", "--previews", "--titles"],
        &["sessions", "get", MAIN],
        &["sessions", "status", MAIN],
        &["agents", "list"],
        &["policy", "explain", "--session", MAIN],
    ] {
        let table = client.table(words)?;
        assert!(
            !table.contains('\u{1b}') && !table.contains('\u{202e}'),
            "{table:?}"
        );
        for line in table.lines() {
            assert!(line.width() <= 100, "{words:?}: {line}");
        }
    }
    deployment.stop()
}
