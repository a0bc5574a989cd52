//! A notice with a `kill -9` around every commit on its way: a person's message is one event, and
//! whoever watches is told of it by exactly one run.
//!
//! Source: D47, D57, reg:W5, reg:W22, reg:W23.

use anyhow::{Context as _, bail, ensure};
use confab_tests::client::Client;
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::home::{Home, config, script};
use confab_tests::json::{at, list, number, text};
use confab_tests::process::eventually;
use serde_json::{Value, json};

use crate::{COMMITS_MAX, kill_at, println};

const WATCHER: &str = "agent:writer:main";
const TARGET: &str = "agent:editor:slack:channel:reviews";

/// A home with a main session that watches another one, at rest; and the version from which on it
/// does.
fn prepare() -> anyhow::Result<(Home, i64)> {
    let rules = json!([{ "step": "notice", "reply": "seen" }]);
    let agents = [script("writer", &rules), script("editor", &json!([]))];
    let home = Home::new(&config(&agents))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    client.json(&["sessions", "create", TARGET])?;
    client.json(&["sessions", "create", WATCHER])?;
    // Without a reply there is no loop, and nothing else moves.
    let asked = json!({
        "sessionKey": TARGET, "message": "m", "watch": true, "announce": "none",
        "timeoutSeconds": 0,
    });
    let sent = client.tool("sessions_send", &asked, Some(WATCHER))?;
    ensure!(at(&sent.json, "/watched")? == true, "{}", sent.text);
    let run = client.json(&["runs", "wait", &text(&sent.json, "/runId")?])?;
    client.json(&["flows", "wait", &text(&run, "/flowId")?])?;
    let base = changes(client)?;
    let version = number(&base, "/stateVersion")?;
    deployment.stop()?;
    Ok((home, version))
}

fn changes(client: &Client) -> anyhow::Result<Value> {
    let asked = json!({ "sessionKey": TARGET, "changesSince": 0 });
    let status = client.tool("session_status", &asked, None)?;
    ensure!(status.status == 0, "{}", status.text);
    Ok(status.json)
}

fn person_writes(client: &Client) -> anyhow::Result<()> {
    client.json(&["chat", TARGET, "a person"])?;
    notices(client).map(drop)
}

/// Whether the person's message was accepted.
fn is_accepted(client: &Client) -> anyhow::Result<bool> {
    let runs = client.json(&["runs", "list", "--session", TARGET])?;
    let said = |run: &Value| run.get("input") == Some(&json!("a person"));
    Ok(list(&runs, "/runs")?.iter().any(said))
}

/// Waits until the watcher was told, and returns all that it was ever told.
fn notices(client: &Client) -> anyhow::Result<Vec<Value>> {
    let mut told = Vec::new();
    eventually("the watcher is told", || {
        let runs = client.json(&["runs", "list", "--session", WATCHER])?;
        told.clear();
        for run in list(&runs, "/runs")? {
            let notices = run.get("notices").and_then(Value::as_array);
            told.extend(notices.into_iter().flatten().cloned());
            client.json(&["runs", "wait", &text(run, "/runId")?])?;
        }
        Ok(!told.is_empty())
    })?;
    Ok(told)
}

/// After a death: one event, one notice, and nothing that is still owed.
fn finish(client: &Client, version: i64) -> anyhow::Result<()> {
    if !is_accepted(client)? {
        client.json(&["chat", TARGET, "a person"])?;
    }
    notices(client)?;
    // The next run would have whatever is owed besides.
    client.json(&["chat", WATCHER, "what is new?"])?;
    let notice = format!(
        "Session \"{TARGET}\" changed (other actor). Reconcile before acting: session_status \
         sessionKey \"{TARGET}\" changesSince {version}."
    );
    assert_eq!(notices(client)?, [json!(notice)]);
    let changes = changes(client)?;
    let events = list(&changes, "/stateChanges/events")?.iter();
    let people = events.filter(|event| event.get("kind") == Some(&json!("human_direct_message")));
    assert_eq!(people.count(), 1, "{changes:#}");
    Ok(())
}

fn told_once_at(point: &str, commits_min: usize) -> anyhow::Result<()> {
    let (prepared, version) = prepare()?;
    for commit in 0..COMMITS_MAX {
        let home = prepared.copy()?;
        let died = kill_at(&home, point, commit, person_writes)
            .with_context(|| format!("{point} number {commit}"))?;
        let deployment = Deployment::start(Shape::OneProcess, &home)?;
        finish(&deployment.client, version)
            .with_context(|| format!("killed at {point} number {commit}"))?;
        deployment.stop()?;
        if !died {
            println(&format!("notice: {point}"), commit);
            assert!(
                commit >= commits_min,
                "{point} was passed {commit} times only"
            );
            return Ok(());
        }
    }
    bail!("{point} has more than {COMMITS_MAX} commits")
}

#[test]
fn a_watcher_is_told_once_whenever_the_registry_dies() -> anyhow::Result<()> {
    told_once_at("registry.commit.before", 2)?;
    told_once_at("registry.commit.after", 2)
}

#[test]
fn a_watcher_is_told_once_whenever_the_runner_dies() -> anyhow::Result<()> {
    told_once_at("runner.commit.before", 6)?;
    told_once_at("runner.commit.after", 6)
}
