//! Many clients at once: to each its own answer, in each session one run at a time, in order.

use std::collections::BTreeMap;
use std::thread;

use anyhow::{Context as _, anyhow};
use confab_tests::client::Client;
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::home::{Home, config_with, script};
use confab_tests::json::{list, message_text, number, text};
use serde_json::{Value, json};

/// Clients, each the agent of a session of its own.
const CLIENTS: usize = 64;
/// Sessions that they send to.
const TARGETS: usize = 16;

/// B195: 64 clients send to 16 sessions at once.
#[test]
fn every_client_gets_its_own_answer_and_every_session_works_in_order() -> anyhow::Result<()> {
    let silent = json!([{ "step": "announce", "reply": "ANNOUNCE_SKIP" }]);
    let agents = [script("client", &json!([])), script("server", &silent)];
    let no_loop = json!({ "session": { "agentToAgent": { "maxPingPongTurns": 0 } } });
    let home = Home::new(&config_with(&agents, no_loop))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    let sessions: Vec<String> = (0..CLIENTS)
        .map(client_key)
        .chain((0..TARGETS).map(target_key))
        .collect();
    together(&sessions, |key| {
        client.json(&["sessions", "create", key]).map(drop)
    })?;

    let numbers: Vec<usize> = (0..CLIENTS).collect();
    together(&numbers, |number| send_one(client, *number))?;

    for target in (0..TARGETS).map(target_key) {
        one_at_a_time_in_order(client, &target)?;
    }
    deployment.stop()
}

fn client_key(number: usize) -> String {
    format!("agent:client:slack:channel:c{number}")
}

fn target_key(number: usize) -> String {
    format!("agent:server:slack:channel:s{number}")
}

/// Does the same with every item at the same time and returns the first failure.
fn together<T: Sync>(
    items: &[T],
    work: impl Fn(&T) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<()> {
    thread::scope(|scope| {
        let work = &work;
        let started: Vec<_> = items
            .iter()
            .map(|item| scope.spawn(move || work(item)))
            .collect();
        for thread in started {
            thread.join().map_err(|_| anyhow!("a client panicked"))??;
        }
        Ok(())
    })
}

fn send_one(client: &Client, number: usize) -> anyhow::Result<()> {
    let message = format!("question {number}");
    let arguments = json!({
        "sessionKey": target_key(number % TARGETS), "message": message, "timeoutSeconds": 60,
    });
    let answer = client.tool("sessions_send", &arguments, Some(&client_key(number)))?;
    assert_eq!(answer.status, 0, "client {number}: {}", answer.text);
    assert_eq!(
        text(&answer.json, "/reply")?,
        format!("echo: {message}"),
        "client {number}"
    );
    Ok(())
}

/// Looks at the runs of one session: no two overlap, and who came first was served first.
fn one_at_a_time_in_order(client: &Client, session: &str) -> anyhow::Result<()> {
    let found = client.json(&["runs", "list", "--session", session, "--limit", "200"])?;
    let mut sends: Vec<&Value> = Vec::new();
    for run in list(&found, "/runs")? {
        client.json(&["flows", "wait", &text(run, "/flowId")?])?;
        if run.get("step") == Some(&json!("send")) {
            sends.push(run);
        }
    }
    assert_eq!(sends.len(), CLIENTS / TARGETS, "{session}: {found:#}");

    let ended = client.json(&["runs", "list", "--session", session, "--limit", "200"])?;
    let mut spans = Vec::new();
    for run in list(&ended, "/runs")? {
        spans.push((number(run, "/startedAt")?, number(run, "/endedAt")?));
    }
    spans.sort_unstable();
    for (earlier, later) in spans.iter().zip(spans.iter().skip(1)) {
        assert!(
            earlier.1 <= later.0,
            "two runs of {session} overlap: {ended:#}"
        );
    }

    // Lists show the newest first, so the order of acceptance is the other way round.
    let accepted: Vec<String> = sends
        .iter()
        .rev()
        .map(|run| text(run, "/input"))
        .collect::<anyhow::Result<_>>()?;
    let history = client.history(session)?;
    let places: BTreeMap<String, usize> = history
        .iter()
        .enumerate()
        .map(|(place, message)| (message_text(message), place))
        .collect();
    for speaker in ["", "echo: "] {
        let mut order = Vec::new();
        for input in &accepted {
            let said = format!("{speaker}{input}");
            order.push(
                *places
                    .get(&said)
                    .with_context(|| format!("{said:?} is not stored"))?,
            );
        }
        assert!(
            order.is_sorted(),
            "{session}: {accepted:?} are told out of order: {history:#?}"
        );
    }
    assert_eq!(history.len(), 2 * accepted.len(), "{history:#?}");
    Ok(())
}
