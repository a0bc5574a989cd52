//! Who sees whom: one configuration after the other, the same sessions.

use confab_tests::client::{Answer, Client};
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::home::{Home, config_with, script};
use confab_tests::json::{at, list, text};
use serde_json::{Value, json};

const WRITER: &str = "agent:writer:main";
const WRITER_ROOM: &str = "agent:writer:slack:channel:c1";
const EDITOR: &str = "agent:editor:main";

/// Three sessions of two agents under these `tools`.
fn start(tools: &Value) -> anyhow::Result<(Home, Deployment)> {
    let silent = json!([{ "step": "announce", "reply": "ANNOUNCE_SKIP" }]);
    let agents = ["writer", "editor"].map(|id| script(id, &silent));
    // Merging null takes the open settings of the other tests away.
    let mut config = config_with(&agents, json!({ "tools": null }));
    confab_tests::json::merge(&mut config, json!({ "tools": tools }));
    let home = Home::new(&config)?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    for key in [WRITER, WRITER_ROOM, EDITOR] {
        deployment.client.json(&["chat", key, "hello"])?;
    }
    Ok((home, deployment))
}

/// The keys that the writer's list shows, sorted.
fn listed(client: &Client) -> anyhow::Result<Vec<String>> {
    let answer = client.tool("sessions_list", &json!({}), Some(WRITER))?;
    let rows = list(&answer.json, "/sessions")?;
    let mut keys = rows
        .iter()
        .map(|row| text(row, "/key"))
        .collect::<anyhow::Result<Vec<_>>>()?;
    keys.sort();
    Ok(keys)
}

fn history(client: &Client, target: &str) -> anyhow::Result<Answer> {
    client.tool(
        "sessions_history",
        &json!({ "sessionKey": target }),
        Some(WRITER),
    )
}

fn send(client: &Client, target: &str) -> anyhow::Result<Answer> {
    let arguments = json!({ "sessionKey": target, "message": "psst" });
    client.tool("sessions_send", &arguments, Some(WRITER))
}

/// Demands that a call is forbidden with a text that begins so.
fn assert_forbidden(answer: &Answer, beginning: &str) -> anyhow::Result<()> {
    assert_eq!(answer.status, 3, "{}", answer.text);
    assert_eq!(
        text(&answer.json, "/status")?,
        "forbidden",
        "{}",
        answer.text
    );
    let told = text(&answer.json, "/error")?;
    assert!(told.starts_with(beginning), "{told}");
    Ok(())
}

#[test]
fn by_default_a_session_sees_itself_alone() -> anyhow::Result<()> {
    let (_home, deployment) = start(&json!({}))?;
    let client = &deployment.client;
    assert_eq!(listed(client)?, ["main"]);
    assert_eq!(history(client, "main")?.status, 0);
    let cross = "visibility is restricted. Set tools.sessions.visibility=all and \
                 tools.agentToAgent.enabled=true to allow cross-agent access";
    assert_forbidden(
        &history(client, EDITOR)?,
        &format!("Session history {cross}"),
    )?;
    assert_forbidden(&send(client, EDITOR)?, &format!("Session send {cross}"))?;
    let tree = "visibility is restricted to the current session tree \
                (tools.sessions.visibility=tree).";
    assert_forbidden(
        &history(client, WRITER_ROOM)?,
        &format!("Session history {tree}"),
    )?;
    assert_forbidden(&send(client, WRITER_ROOM)?, &format!("Session send {tree}"))?;
    assert_eq!(
        client.history(EDITOR)?.len(),
        2,
        "nothing was stored; an operator sees it all"
    );
    deployment.stop()
}

/// A full key out of reach is forbidden whether or not there is such a session.
#[test]
fn a_refusal_does_not_tell_whether_the_session_exists() -> anyhow::Result<()> {
    let (_home, deployment) = start(&json!({}))?;
    let client = &deployment.client;
    let there = history(client, EDITOR)?;
    let not_there = history(client, "agent:editor:slack:channel:nowhere")?;
    assert_eq!(
        (there.status, not_there.status),
        (3, 3),
        "{}",
        not_there.text
    );
    assert_eq!(there.json.get("error"), not_there.json.get("error"));

    let hidden_id = text(&client.json(&["sessions", "get", EDITOR])?, "/sessionId")?;
    let absent_id = "0198c1a2-7b3c-7000-8000-00000000abcd";
    for id in [hidden_id.as_str(), absent_id] {
        for answer in [history(client, id)?, send(client, id)?] {
            assert_eq!(answer.status, 4, "{}", answer.text);
            assert_eq!(
                text(&answer.json, "/error")?,
                format!("No session found: {id}")
            );
        }
    }
    client.json(&["sessions", "create", "agent:editor:x", "--label", "secret"])?;
    for label in ["secret", "no such label"] {
        let arguments = json!({ "label": label, "message": "psst" });
        let answer = client.tool("sessions_send", &arguments, Some(WRITER))?;
        assert_eq!(answer.status, 4, "{}", answer.text);
        assert_eq!(
            text(&answer.json, "/error")?,
            format!("No session found: {label}")
        );
    }
    deployment.stop()
}

#[test]
fn with_self_a_session_sees_no_other_of_its_agent() -> anyhow::Result<()> {
    let tools = json!({
        "sessions": { "visibility": "self" }, "agentToAgent": { "enabled": true },
    });
    let (_home, deployment) = start(&tools)?;
    let client = &deployment.client;
    assert_eq!(listed(client)?, ["main"]);
    assert_eq!(history(client, "current")?.status, 0);
    let own = "Session history visibility is restricted to the current session \
               (tools.sessions.visibility=self).";
    assert_forbidden(&history(client, WRITER_ROOM)?, own)?;
    assert_forbidden(
        &history(client, EDITOR)?,
        "Session history visibility is restricted",
    )?;
    deployment.stop()
}

#[test]
fn with_all_a_session_sees_its_agent_and_others_only_when_enabled() -> anyhow::Result<()> {
    let (_home, deployment) = start(&json!({ "sessions": { "visibility": "all" } }))?;
    let client = &deployment.client;
    assert_eq!(listed(client)?, [WRITER_ROOM, "main"]);
    assert_eq!(history(client, WRITER_ROOM)?.status, 0);
    assert_forbidden(
        &history(client, EDITOR)?,
        "Agent-to-agent history is disabled. Set tools.agentToAgent.enabled=true to allow \
         cross-agent access.",
    )?;
    assert_forbidden(
        &send(client, EDITOR)?,
        "Agent-to-agent messaging is disabled. Set tools.agentToAgent.enabled=true to allow \
         cross-agent sends.",
    )?;
    deployment.stop()
}

#[test]
fn the_allow_list_has_to_name_both_sides() -> anyhow::Result<()> {
    let all = |allow: Value| {
        json!({
            "sessions": { "visibility": "all" },
            "agentToAgent": { "enabled": true, "allow": allow },
        })
    };
    for one_side in [json!(["writer"]), json!(["editor"])] {
        let (_home, deployment) = start(&all(one_side))?;
        let client = &deployment.client;
        assert_eq!(listed(client)?, [WRITER_ROOM, "main"]);
        let messaging = "Agent-to-agent messaging denied by tools.agentToAgent.allow.";
        assert_forbidden(&send(client, EDITOR)?, messaging)?;
        let reading = "Agent-to-agent history denied by tools.agentToAgent.allow.";
        assert_forbidden(&history(client, EDITOR)?, reading)?;
        deployment.stop()?;
    }
    for both in [
        json!(["writer", "editor"]),
        json!(["*"]),
        json!(["WRITER", "ed*"]),
    ] {
        let (_home, deployment) = start(&all(both))?;
        let client = &deployment.client;
        assert_eq!(listed(client)?, [EDITOR, WRITER_ROOM, "main"]);
        assert_eq!(history(client, EDITOR)?.status, 0);
        let sent = send(client, EDITOR)?;
        assert_eq!(text(&sent.json, "/reply")?, "echo: psst", "{}", sent.text);
        deployment.stop()?;
    }
    Ok(())
}

/// A refusal tells every gate that is shut, so that one change is enough.
#[test]
fn a_refusal_names_every_gate_that_is_shut() -> anyhow::Result<()> {
    let tools = json!({
        "sessions": { "visibility": "self" },
        "agentToAgent": { "enabled": false, "allow": ["nobody"] },
    });
    let (_home, deployment) = start(&tools)?;
    let refused = history(&deployment.client, EDITOR)?;
    let told = text(&refused.json, "/error")?;
    for setting in [
        "tools.sessions.visibility",
        "tools.agentToAgent.enabled",
        "tools.agentToAgent.allow",
    ] {
        assert!(told.contains(setting), "{setting} is not in {told}");
    }
    deployment.stop()
}

#[test]
fn a_list_that_hides_something_says_so() -> anyhow::Result<()> {
    let (_home, deployment) = start(&json!({}))?;
    let client = &deployment.client;
    let answer = client.tool("sessions_list", &json!({}), Some(WRITER))?;
    assert_eq!(
        at(&answer.json, "/visibility/mode")?,
        "tree",
        "{}",
        answer.text
    );
    assert_eq!(at(&answer.json, "/visibility/restricted")?, true);
    let open = client.tool("sessions_list", &json!({}), None)?;
    assert_eq!(list(&open.json, "/sessions")?.len(), 3);
    deployment.stop()
}
