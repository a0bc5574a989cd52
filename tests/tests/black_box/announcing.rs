//! What leaves for a channel, and what does not.

use confab_tests::client::Client;
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::home::{Home, config_with, script};
use confab_tests::json::{at, list, only, text};
use confab_tests::process::eventually;
use serde_json::{Value, json};

const TARGET: &str = "agent:helper:slack:channel:c1";

/// One agent whose announce step says `announce` and whose round 1 says `round_one`.
fn home(round_one: &str, announce: &str) -> anyhow::Result<Home> {
    let rules = json!([
        { "step": "send", "reply": round_one },
        { "step": "announce", "reply": announce },
    ]);
    Home::new(&config_with(&[script("helper", &rules)], json!({})))
}

/// Sends as the operator, waits for the end and returns the tool's result and the run.
fn send(client: &Client, arguments: &Value) -> anyhow::Result<(Value, Value)> {
    let sent = client.tool("sessions_send", arguments, None)?;
    assert_eq!(sent.status, 0, "{}", sent.text);
    let run = client.json(&["runs", "wait", &text(&sent.json, "/runId")?])?;
    client.json(&["flows", "wait", &text(&run, "/flowId")?])?;
    let run = client.json(&["runs", "get", &text(&run, "/runId")?])?;
    Ok((sent.json, run))
}

fn deliveries(client: &Client) -> anyhow::Result<Vec<Value>> {
    Ok(list(&client.json(&["deliveries", "list"])?, "/deliveries")?.to_vec())
}

#[test]
fn an_agent_that_wants_silence_gets_it() -> anyhow::Result<()> {
    for word in ["ANNOUNCE_SKIP", " NO_REPLY\n", "REPLY_SKIP"] {
        let home = home("fine", word)?;
        let deployment = Deployment::start(Shape::OneProcess, &home)?;
        let client = &deployment.client;
        client.json(&[
            "sessions",
            "create",
            TARGET,
            "--channel",
            "slack",
            "--to",
            "channel:c1",
        ])?;
        let (_, run) = send(client, &json!({ "sessionKey": TARGET, "message": "m" }))?;
        assert_eq!(
            text(&run, "/delivery/status")?,
            "skipped",
            "{word:?}: {run:#}"
        );
        assert_eq!(deliveries(client)?, Vec::<Value>::new(), "{word:?}");
        deployment.stop()?;
    }
    Ok(())
}

/// A round 1 that is a skip word is the caller's answer and the end of the flow.
#[test]
fn a_first_reply_that_is_a_skip_word_is_returned_and_nothing_follows() -> anyhow::Result<()> {
    let home = home("REPLY_SKIP", "announced")?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    client.json(&[
        "sessions",
        "create",
        TARGET,
        "--channel",
        "slack",
        "--to",
        "channel:c1",
    ])?;
    let (sent, run) = send(client, &json!({ "sessionKey": TARGET, "message": "m" }))?;
    assert_eq!(
        only(&sent, &["status", "reply"]),
        json!({ "status": "ok", "reply": "REPLY_SKIP" })
    );
    assert_eq!(text(&run, "/delivery/status")?, "skipped");
    assert_eq!(deliveries(client)?, Vec::<Value>::new());
    deployment.stop()
}

#[test]
fn an_empty_first_reply_is_no_reply_and_nothing_follows() -> anyhow::Result<()> {
    let home = home("", "announced")?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    client.json(&[
        "sessions",
        "create",
        TARGET,
        "--channel",
        "slack",
        "--to",
        "channel:c1",
    ])?;
    let (sent, run) = send(client, &json!({ "sessionKey": TARGET, "message": "m" }))?;
    assert_eq!(
        only(&sent, &["status", "reply"]),
        json!({ "status": "no_reply" })
    );
    assert_eq!(text(&run, "/delivery/status")?, "skipped");
    assert_eq!(deliveries(client)?, Vec::<Value>::new());
    deployment.stop()
}

/// B047: where there is no route, nothing leaves, and no other channel stands in.
#[test]
fn without_a_route_nothing_leaves() -> anyhow::Result<()> {
    let home = home("fine", "announced")?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    let (_, run) = send(
        client,
        &json!({ "sessionKey": "agent:helper:main", "message": "m" }),
    )?;
    assert_eq!(text(&run, "/delivery/status")?, "none", "{run:#}");
    assert_eq!(deliveries(client)?, Vec::<Value>::new());
    deployment.stop()
}

#[test]
fn a_sender_may_ask_for_no_announce() -> anyhow::Result<()> {
    let home = home("fine", "announced")?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    client.json(&[
        "sessions",
        "create",
        TARGET,
        "--channel",
        "slack",
        "--to",
        "channel:c1",
    ])?;
    let silent = json!({ "sessionKey": TARGET, "message": "m", "announce": "none" });
    let (sent, run) = send(client, &silent)?;
    assert_eq!(
        at(&sent, "/delivery")?,
        &json!({ "status": "none", "mode": "none" })
    );
    assert_eq!(text(&run, "/delivery/status")?, "none");
    assert_eq!(deliveries(client)?, Vec::<Value>::new());
    deployment.stop()
}

/// B042: a route is taken whole; what a new one lacks is not filled in from an older one.
#[test]
fn a_route_is_never_mixed_from_two() -> anyhow::Result<()> {
    let home = home("fine", "announced")?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    let old = [
        "--channel",
        "slack",
        "--to",
        "channel:c1",
        "--account",
        "kev",
        "--thread",
        "17",
    ];
    client.json(&[&["sessions", "create", TARGET][..], &old[..]].concat())?;
    let new = ["--channel", "discord", "--to", "user:7"];
    let run = client.json(&[&["chat", TARGET, "hello"][..], &new[..]].concat())?;
    client.json(&["flows", "wait", &text(&run, "/flowId")?])?;
    let found = deliveries(client)?;
    let fields = ["channel", "to", "accountId", "threadId", "text"];
    let shown: Vec<Value> = found.iter().map(|one| only(one, &fields)).collect();
    let expected = json!({ "channel": "discord", "to": "user:7", "text": "echo: hello" });
    assert_eq!(shown, [expected]);
    deployment.stop()
}

/// A sink that nobody reads keeps what it is owed.
#[test]
fn a_stream_without_a_reader_keeps_the_delivery_pending() -> anyhow::Result<()> {
    let rules = json!([{ "step": "announce", "reply": "announced" }]);
    let stream = json!({
        "confab": { "deliveries": { "sinks": [{ "channel": "*", "type": "stream" }] } },
    });
    let home = Home::new(&config_with(&[script("helper", &rules)], stream))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    client.json(&[
        "sessions",
        "create",
        TARGET,
        "--channel",
        "slack",
        "--to",
        "channel:c1",
    ])?;
    let sent = client.tool(
        "sessions_send",
        &json!({ "sessionKey": TARGET, "message": "m" }),
        None,
    )?;
    eventually("the announce step ends", || {
        let runs = client.json(&["runs", "list", "--state", "succeeded"])?;
        Ok(list(&runs, "/runs")?
            .iter()
            .any(|run| run.get("step") == Some(&json!("announce"))))
    })?;
    let run = client.json(&["runs", "get", &text(&sent.json, "/runId")?])?;
    let waited = client.run(&["flows", "wait", &text(&run, "/flowId")?, "--seconds", "1"])?;
    assert_eq!(waited.status, 5, "{}", waited.text);
    let pending = client.json(&["deliveries", "list", "--state", "pending"])?;
    assert_eq!(text(&pending, "/deliveries/0/text")?, "announced");
    assert_eq!(text(&run, "/delivery/status")?, "pending");
    deployment.stop()
}
