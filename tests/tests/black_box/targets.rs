//! How a target is named: keys in any spelling, aliases, labels, session ids.

use confab_tests::client::{Answer, Client};
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::home::{Home, config_with, script};
use confab_tests::json::{at, list, message_text, text};
use serde_json::{Value, json};

const MAIN: &str = "agent:main:main";
const OPS: &str = "agent:ops:main";

/// Three agents that answer and leave it at that.
fn start() -> anyhow::Result<(Home, Deployment)> {
    let silent = json!([{ "step": "announce", "reply": "ANNOUNCE_SKIP" }]);
    let agents = ["main", "ops", "vega"].map(|id| script(id, &silent));
    let no_loop = json!({ "session": { "agentToAgent": { "maxPingPongTurns": 0 } } });
    let home = Home::new(&config_with(&agents, no_loop))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    Ok((home, deployment))
}

fn send(client: &Client, arguments: &Value) -> anyhow::Result<Answer> {
    client.tool("sessions_send", arguments, Some(MAIN))
}

/// Keys of all sessions, sorted, and the number of runs.
fn stored(client: &Client) -> anyhow::Result<(Vec<String>, usize)> {
    let sessions = client.tool("sessions_list", &json!({ "limit": 200 }), None)?;
    let rows = list(&sessions.json, "/sessions")?;
    let mut keys = rows
        .iter()
        .map(|row| text(row, "/key"))
        .collect::<anyhow::Result<Vec<_>>>()?;
    keys.sort();
    let runs = client.json(&["runs", "list"])?;
    Ok((keys, list(&runs, "/runs")?.len()))
}

/// B010, B085: every way to name nobody ends in "not found" and leaves nothing behind.
#[test]
fn a_target_that_does_not_exist_is_not_found_and_nothing_is_made() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    client.json(&["chat", MAIN, "hello"])?;
    let before = stored(client)?;
    let absent_id = "0198c1a2-7b3c-7000-8000-00000000abcd";
    let cases = [
        (
            json!({ "sessionKey": "agent:ghost:main" }),
            "agent:ghost:main",
        ),
        (
            json!({ "sessionKey": "agent:main:slack:channel:nowhere" }),
            "slack:channel:nowhere",
        ),
        (json!({ "sessionKey": absent_id }), absent_id),
        (json!({ "label": "nobody" }), "nobody"),
        (json!({ "sessionKey": "main", "agentId": "ghost" }), "ghost"),
    ];
    for (mut arguments, named) in cases {
        confab_tests::json::merge(&mut arguments, json!({ "message": "x" }));
        let answer = send(client, &arguments)?;
        assert_eq!(answer.status, 4, "{arguments}: {}", answer.text);
        assert_eq!(text(&answer.json, "/status")?, "error", "{arguments}");
        let told = text(&answer.json, "/error")?;
        assert!(
            told.contains("No session found") && told.contains(named),
            "{arguments}: {told}"
        );
    }
    for reserved in ["unknown", "global"] {
        let answer = send(client, &json!({ "sessionKey": reserved, "message": "x" }))?;
        assert_eq!(answer.status, 4, "{reserved}: {}", answer.text);
        assert!(
            text(&answer.json, "/error")?.contains(reserved),
            "{}",
            answer.text
        );
    }
    assert_eq!(stored(client)?, before);
    deployment.stop()
}

/// B012: the main session of a configured agent is made by the first send to it.
#[test]
fn the_main_session_of_a_configured_agent_is_made_on_first_use() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    client.json(&["chat", MAIN, "hello"])?;
    let answer = send(
        client,
        &json!({ "sessionKey": "agent:vega:main", "message": "first" }),
    )?;
    assert_eq!(answer.status, 0, "{}", answer.text);
    assert_eq!(text(&answer.json, "/reply")?, "echo: first");
    assert_eq!(stored(client)?.0, [MAIN, "agent:vega:main"]);
    deployment.stop()
}

/// B011: fields that mean the same are fine, an empty one is none, two that disagree are refused.
#[test]
fn several_fields_may_name_one_target_but_not_two() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    client.json(&["chat", MAIN, "hello"])?;
    client.json(&["sessions", "create", OPS, "--label", "on duty"])?;
    client.json(&[
        "sessions",
        "create",
        "agent:vega:main",
        "--label",
        "at rest",
    ])?;
    for fine in [
        json!({ "sessionKey": OPS, "label": "", "message": "m" }),
        json!({ "sessionKey": OPS, "label": "on duty", "message": "m" }),
        json!({ "sessionKey": "", "label": "on duty", "agentId": "ops", "message": "m" }),
    ] {
        let answer = send(client, &fine)?;
        assert_eq!(answer.status, 0, "{fine}: {}", answer.text);
        assert_eq!(text(&answer.json, "/sessionKey")?, OPS, "{fine}");
    }
    let (_, runs) = stored(client)?;
    let torn = json!({ "sessionKey": OPS, "label": "at rest", "message": "m" });
    let answer = send(client, &torn)?;
    assert_eq!(answer.status, 4, "{}", answer.text);
    let told = text(&answer.json, "/error")?;
    assert!(
        told.contains("sessionKey") && told.contains("label"),
        "{told}"
    );
    let torn = json!({ "sessionKey": OPS, "agentId": "vega", "message": "m" });
    let answer = send(client, &torn)?;
    assert_eq!(answer.status, 4, "{}", answer.text);
    let told = text(&answer.json, "/error")?;
    assert!(
        told.contains("sessionKey") && told.contains("agentId"),
        "{told}"
    );
    assert_eq!(stored(client)?.1, runs);
    deployment.stop()
}

/// B071: one session, however its key is spelt.
#[test]
fn two_spellings_of_a_key_are_one_session() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    client.json(&["chat", "Agent:Main:Slack:Group:c1", "one"])?;
    client.json(&["chat", "agent:main:slack:group:c1", "two"])?;
    assert_eq!(
        stored(client)?,
        (vec!["agent:main:slack:group:c1".to_owned()], 2)
    );
    let history = client.history("agent:main:slack:group:c1")?;
    let said: Vec<String> = history.iter().map(message_text).collect();
    assert_eq!(said, ["one", "echo: one", "two", "echo: two"]);
    deployment.stop()
}

/// B073: every command folds a key the way the writing one did.
#[test]
fn a_mixed_case_key_works_on_every_command() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    client.json(&["chat", OPS, "hello"])?;
    client.json(&["chat", MAIN, "hello"])?;
    for spelt in ["Agent:OPS:Main", "AGENT:ops:MAIN"] {
        assert_eq!(
            text(&client.json(&["sessions", "get", spelt])?, "/key")?,
            OPS
        );
        assert_eq!(
            text(&client.json(&["sessions", "create", spelt])?, "/key")?,
            OPS
        );
        let runs = client.json(&["runs", "list", "--session", spelt])?;
        assert!(!list(&runs, "/runs")?.is_empty(), "{spelt}");
        let flows = client.json(&["flows", "list", "--session", spelt])?;
        assert!(!list(&flows, "/flows")?.is_empty(), "{spelt}");
        assert!(!client.history(spelt)?.is_empty(), "{spelt}");
        let answer = send(client, &json!({ "sessionKey": spelt, "message": "m" }))?;
        assert_eq!(text(&answer.json, "/sessionKey")?, OPS, "{}", answer.text);
        let own = client.tool(
            "sessions_history",
            &json!({ "sessionKey": "main" }),
            Some(spelt),
        )?;
        assert_eq!(own.status, 0, "{spelt}: {}", own.text);
    }
    assert_eq!(stored(client)?.0, [MAIN, OPS]);
    deployment.stop()
}

/// B074: `main` is the main session of whoever asks, or of the agent that is named.
#[test]
fn main_means_the_main_session_of_the_asking_agent() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    for key in [MAIN, OPS] {
        client.json(&["chat", key, &format!("for {key}")])?;
    }
    let first_word = |arguments: Value, caller| -> anyhow::Result<String> {
        let answer = client.tool("sessions_history", &arguments, caller)?;
        Ok(message_text(at(&answer.json, "/messages/0")?))
    };
    let plain = json!({ "sessionKey": "main" });
    assert_eq!(first_word(plain.clone(), Some(OPS))?, format!("for {OPS}"));
    assert_eq!(
        first_word(plain.clone(), Some(MAIN))?,
        format!("for {MAIN}")
    );
    assert_eq!(
        first_word(plain, None)?,
        format!("for {MAIN}"),
        "the default agent's"
    );
    let to_ops = json!({ "sessionKey": "main", "agentId": "ops", "message": "x" });
    let sent = send(client, &to_ops)?;
    assert_eq!(text(&sent.json, "/sessionKey")?, OPS, "{}", sent.text);

    let list_as = |caller| -> anyhow::Result<Vec<String>> {
        let answer = client.tool("sessions_list", &json!({}), caller)?;
        let rows = list(&answer.json, "/sessions")?;
        let mut keys = rows
            .iter()
            .map(|row| text(row, "/key"))
            .collect::<anyhow::Result<Vec<_>>>()?;
        keys.sort();
        Ok(keys)
    };
    assert_eq!(list_as(Some(OPS))?, [MAIN, "main"]);
    assert_eq!(list_as(Some(MAIN))?, [OPS, "main"]);
    assert_eq!(list_as(None)?, [MAIN, OPS]);
    deployment.stop()
}

/// B076: a session id names the session it names, and a missing one is an error, not an empty list.
#[test]
fn a_session_id_is_as_good_as_a_key() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    client.json(&["chat", OPS, "hello"])?;
    let id = text(&client.json(&["sessions", "get", OPS])?, "/sessionId")?;
    assert_eq!(client.history(&id)?, client.history(OPS)?);
    assert_eq!(text(&client.json(&["sessions", "get", &id])?, "/key")?, OPS);
    let absent = json!({ "sessionKey": "0198c1a2-7b3c-7000-8000-00000000abcd" });
    let answer = client.tool("sessions_history", &absent, None)?;
    assert_eq!(answer.status, 4, "{}", answer.text);
    assert!(answer.text.contains("No session found"), "{}", answer.text);
    deployment.stop()
}

/// A thread is written to through its parent.
#[test]
fn a_thread_is_no_target_and_the_refusal_names_its_parent() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    client.json(&["chat", MAIN, "hello"])?;
    let thread = "agent:ops:slack:channel:c1:thread:17.5";
    client.json(&["chat", thread, "hello"])?;
    let answer = send(client, &json!({ "sessionKey": thread, "message": "m" }))?;
    assert_eq!(answer.status, 4, "{}", answer.text);
    assert!(
        text(&answer.json, "/error")?.contains("agent:ops:slack:channel:c1"),
        "{}",
        answer.text
    );
    assert_eq!(client.history(thread)?.len(), 2);
    deployment.stop()
}
