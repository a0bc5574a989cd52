//! What a session is shown, and what not even a hint is given of.
//!
//! Source: D1, D9, D14, D51, D53, reg:K9, reg:K17, reg:K22, reg:L37, reg:L38.

use confab_tests::client::Client;
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::home::{Home, config_with, script};
use confab_tests::json::{at, list, merge, message_text, number, only, text};
use serde_json::{Value, json};

const MAIN: &str = "agent:writer:main";
const CHILD: &str = "agent:editor:work-1";
const STRANGER: &str = "agent:editor:main";

/// Two agents under these `tools`, and nothing said yet.
fn start(tools: &Value) -> anyhow::Result<(Home, Deployment)> {
    let tools_used = json!([{
        "match": "^look", "tools": [{ "name": "sessions_list", "arguments": {} }],
        "reply": "looked",
    }]);
    let agents = ["writer", "editor"].map(|id| script(id, &tools_used));
    let mut config = config_with(&agents, json!({ "tools": null }));
    merge(&mut config, json!({ "tools": tools }));
    let home = Home::new(&config)?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    Ok((home, deployment))
}

fn listed(client: &Client, arguments: &Value, caller: &str) -> anyhow::Result<Value> {
    let answer = client.tool("sessions_list", arguments, Some(caller))?;
    assert_eq!(answer.status, 0, "{}", answer.text);
    Ok(answer.json)
}

/// B062: whoever was spawned is within reach whatever its agent; the agent's other sessions are not.
#[test]
fn a_child_of_another_agent_is_within_reach_and_its_neighbours_are_not() -> anyhow::Result<()> {
    let (_home, deployment) = start(&json!({}))?;
    let client = &deployment.client;
    client.json(&["chat", MAIN, "hello"])?;
    client.json(&["sessions", "create", CHILD, "--spawned-by", MAIN])?;
    client.json(&["chat", CHILD, "hello"])?;
    client.json(&["chat", STRANGER, "hello"])?;
    let read = |key: &str, caller: &str| {
        client.tool(
            "sessions_history",
            &json!({ "sessionKey": key }),
            Some(caller),
        )
    };
    assert_eq!(read(CHILD, MAIN)?.status, 0);
    let sent = json!({ "sessionKey": CHILD, "message": "m" });
    assert_eq!(client.tool("sessions_send", &sent, Some(MAIN))?.status, 0);
    assert_eq!(read(STRANGER, MAIN)?.status, 3);
    assert_eq!(
        read(MAIN, CHILD)?.status,
        3,
        "a parent is not in its child's tree (D9)"
    );
    deployment.stop()
}

/// B066: a list that is narrowed says so, and tells nothing of what it leaves out.
#[test]
fn a_narrowed_list_counts_only_what_it_shows() -> anyhow::Result<()> {
    let (_home, deployment) = start(&json!({}))?;
    let client = &deployment.client;
    client.json(&["chat", MAIN, "hello"])?;
    for number in 0..5 {
        let key = format!("agent:editor:slack:channel:hidden-{number}");
        client.json(&["sessions", "create", &key])?;
    }
    let found = listed(client, &json!({ "limit": 1 }), MAIN)?;
    assert_eq!(
        only(&found, &["count", "hasMore"]),
        json!({ "count": 1, "hasMore": false }),
        "{found:#}"
    );
    assert_eq!(at(&found, "/visibility/mode")?, "tree");
    assert_eq!(
        text(&found, "/visibility/warning")?,
        "Session visibility is restricted (effective tools.sessions.visibility=tree). Results may \
         omit sessions outside the current scope. The count field reflects only sessions within \
         the current scope."
    );
    let told = found.to_string();
    for hint in ["hidden", "editor", "nextPageToken", "limitApplied"] {
        assert!(!told.contains(hint), "{hint} is in {told}");
    }
    deployment.stop()
}

/// B068: nothing that is only said in hidden sessions finds anything, and previews are what history
/// would show.
#[test]
fn enrichment_comes_after_visibility() -> anyhow::Result<()> {
    let (_home, deployment) = start(&json!({}))?;
    let client = &deployment.client;
    client.json(&["chat", MAIN, "look around"])?;
    client.json(&["chat", STRANGER, "a secret word"])?;
    client.json(&["sessions", "patch", STRANGER, r#"{"label":"secret label"}"#])?;
    let all = json!({
        "includeDerivedTitles": true, "includeLastMessage": true, "messageLimit": 20,
    });
    for search in ["secret", "label", "editor"] {
        let mut asked = all.clone();
        merge(&mut asked, json!({ "search": search }));
        let found = listed(client, &asked, MAIN)?;
        assert_eq!(number(&found, "/count")?, 0, "{search}: {found:#}");
        assert!(!found.to_string().contains("secret"), "{found:#}");
    }
    let found = listed(client, &all, MAIN)?;
    assert!(!found.to_string().contains("secret"), "{found:#}");
    let row = at(&found, "/sessions/0")?;
    assert_eq!(text(row, "/lastMessagePreview")?, "looked", "{row:#}");
    let said: Vec<String> = list(row, "/messages")?.iter().map(message_text).collect();
    assert_eq!(said, ["look around", "looked"], "no tool's output: {row:#}");
    deployment.stop()
}

/// B077: `current` is the asking session, on every tool; an operator has none.
#[test]
fn current_is_the_asking_session_on_every_tool() -> anyhow::Result<()> {
    let (_home, deployment) = start(&json!({}))?;
    let client = &deployment.client;
    let room = "agent:writer:slack:channel:c1";
    client.json(&["chat", room, "hello"])?;
    let current = json!({ "sessionKey": "current" });
    for name in ["session_status", "sessions_history"] {
        let own = client.tool(name, &current, Some(room))?;
        assert_eq!(
            text(&own.json, "/sessionKey")?,
            room,
            "{name}: {}",
            own.text
        );
        let nobody = client.tool(name, &current, None)?;
        assert_eq!(nobody.status, 4, "{name}: {}", nobody.text);
    }
    let implied = client.tool("session_status", &json!({}), Some(room))?;
    assert_eq!(
        text(&implied.json, "/sessionKey")?,
        room,
        "{}",
        implied.text
    );
    let asked = json!({ "sessionKey": "current", "message": "m", "timeoutSeconds": 5 });
    let itself = client.tool("sessions_send", &asked, Some(room))?;
    assert_eq!(
        text(&itself.json, "/reason")?,
        "WAIT_RING",
        "{}",
        itself.text
    );
    deployment.stop()
}

/// B079: a key that can be read in two ways gives no account and no route.
#[test]
fn an_ambiguous_key_gives_no_route() -> anyhow::Result<()> {
    let (_home, deployment) = start(&json!({}))?;
    let client = &deployment.client;
    let key = "agent:writer:slack:channel:direct:c1";
    let row = client.json(&["sessions", "create", key])?;
    for absent in ["deliveryContext", "lastAccountId", "lastTo"] {
        assert!(row.get(absent).is_none(), "{absent}: {row:#}");
    }
    assert_ne!(
        row.pointer("/origin/accountId"),
        Some(&json!("channel")),
        "{row:#}"
    );
    assert_eq!(text(&row, "/kind")?, "group", "{row:#}");
    deployment.stop()
}

/// B083, D4: a parent is stored under its canonical key, however it was spelt, so its tree is one.
#[test]
fn a_parent_has_its_child_however_it_was_spelt() -> anyhow::Result<()> {
    let (_home, deployment) = start(&json!({}))?;
    let client = &deployment.client;
    client.json(&["chat", MAIN, "hello"])?;
    let child = client.json(&[
        "sessions",
        "create",
        CHILD,
        "--spawned-by",
        "AGENT:Writer:MAIN",
    ])?;
    assert_eq!(text(&child, "/spawnedBy")?, MAIN, "{child:#}");
    let found = listed(client, &json!({ "search": "work-1" }), MAIN)?;
    assert_eq!(text(&found, "/sessions/0/key")?, CHILD, "{found:#}");
    assert_eq!(text(&found, "/sessions/0/spawnedBy")?, "main", "{found:#}");
    let status = client.tool(
        "session_status",
        &json!({ "sessionKey": CHILD }),
        Some("main"),
    )?;
    assert_eq!(status.status, 0, "{}", status.text);
    deployment.stop()
}

/// D10, D78: a sandbox narrows to the tree and widens nothing; who is in one is decided at creation.
#[test]
fn a_sandbox_narrows_what_a_session_sees() -> anyhow::Result<()> {
    let boxed = "agent:writer:slack:channel:boxed";
    let child = "agent:editor:work-2";
    let cases = [
        ("all", "spawned", "tree", vec![boxed, child]),
        ("agent", "spawned", "tree", vec![boxed, child]),
        ("self", "spawned", "self", vec![boxed]),
        ("agent", "all", "agent", vec![boxed, "main"]),
    ];
    for (configured, clamp, mode, expected) in cases {
        let mut writer = script("writer", &json!([]));
        merge(&mut writer, json!({ "sandbox": { "mode": "non-main" } }));
        let change = json!({
            "agents": { "defaults": { "sandbox": { "sessionToolsVisibility": clamp } } },
            "tools": { "sessions": { "visibility": configured } },
        });
        let home = Home::new(&config_with(
            &[writer, script("editor", &json!([]))],
            change,
        ))?;
        let deployment = Deployment::start(Shape::OneProcess, &home)?;
        let client = &deployment.client;
        for key in [MAIN, boxed, STRANGER] {
            client.json(&["chat", key, "hello"])?;
        }
        client.json(&["sessions", "create", child, "--spawned-by", boxed])?;
        let found = listed(client, &json!({}), boxed)?;
        let keys = list(&found, "/sessions")?
            .iter()
            .map(|row| text(row, "/key"));
        let mut keys = keys.collect::<anyhow::Result<Vec<String>>>()?;
        let mut expected = expected;
        keys.sort();
        expected.sort_unstable();
        assert_eq!(keys, expected, "{configured} {clamp}");
        assert_eq!(
            text(&found, "/visibility/mode")?,
            mode,
            "{configured} {clamp}"
        );
        let free = client.tool("sessions_list", &json!({}), Some(MAIN))?;
        let block = free.json.pointer("/visibility/mode");
        let whole = json!(configured);
        let open = (configured != "all").then_some(&whole);
        assert_eq!(
            block, open,
            "the main session is in no sandbox: {}",
            free.text
        );
        deployment.stop()?;
    }
    Ok(())
}

/// B085: with one session for all, everybody calls it `main`, and nobody sees another name.
#[test]
fn the_one_session_of_scope_global_is_shown_as_main() -> anyhow::Result<()> {
    let agents = ["writer", "editor"].map(|id| script(id, &json!([])));
    let config = config_with(&agents, json!({ "session": { "scope": "global" } }));
    let home = Home::new(&config)?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    for key in ["main", MAIN, STRANGER, "global"] {
        client.json(&["chat", key, &format!("to {key}")])?;
    }
    for caller in [None, Some("main")] {
        let found = client.tool("sessions_list", &json!({}), caller)?;
        let keys = list(&found.json, "/sessions")?
            .iter()
            .map(|row| text(row, "/key"));
        let keys = keys.collect::<anyhow::Result<Vec<String>>>()?;
        assert_eq!(keys, ["main"], "{}", found.text);
        assert!(!found.text.contains("global"), "{}", found.text);
    }
    assert_eq!(client.history("main")?.len(), 8, "one session");
    deployment.stop()
}
