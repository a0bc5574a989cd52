//! `sessions_send` as its caller sees it: the wait, the receipts, the repeated call.

use anyhow::Context as _;
use confab_tests::client::{Answer, Client};
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::home::{Home, config_with, script};
use confab_tests::json::{at, list, message_text, number, text};
use serde_json::{Value, json};

const ASKER: &str = "agent:asker:main";
const SLOW: &str = "agent:slow:main";

/// One agent that asks and one that takes its time for words that say "slow"; neither talks back.
fn quiet_home() -> anyhow::Result<Home> {
    let silent = json!([
        { "step": "announce", "reply": "ANNOUNCE_SKIP" },
        { "match": "slow", "delayMs": 3000, "reply": "late: {message}" },
    ]);
    let own_self = json!([{
        "step": "human", "match": "^ask (.+)$",
        "tools": [{
            "name": "sessions_send",
            "arguments": { "sessionKey": "$1", "message": "hello", "timeoutSeconds": 5 },
        }],
        "reply": "{toolResult}",
    }]);
    let agents = [script("asker", &own_self), script("slow", &silent)];
    let no_loop = json!({ "session": { "agentToAgent": { "maxPingPongTurns": 0 } } });
    Home::new(&config_with(&agents, no_loop))
}

fn send(client: &Client, arguments: &Value) -> anyhow::Result<Answer> {
    client.tool("sessions_send", arguments, Some(ASKER))
}

fn count(client: &Client, command: &str, of: &str) -> anyhow::Result<usize> {
    Ok(list(&client.json(&[command, "list"])?, of)?.len())
}

/// B001: one logical send is one message and one run.
#[test]
fn a_repeated_send_with_the_same_key_is_the_same_run() -> anyhow::Result<()> {
    let home = quiet_home()?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    client.json(&["chat", ASKER, "hello"])?;
    let once = json!({ "sessionKey": SLOW, "message": "do it", "idempotencyKey": "k-1" });
    let first = send(client, &once)?;
    let again = send(client, &once)?;
    assert_eq!(
        (first.status, again.status),
        (0, 0),
        "{}\n{}",
        first.text,
        again.text
    );
    assert_eq!(text(&first.json, "/reply")?, "echo: do it");
    assert_eq!(text(&again.json, "/reply")?, "echo: do it");
    assert_eq!(text(&again.json, "/runId")?, text(&first.json, "/runId")?);

    let other = json!({ "sessionKey": SLOW, "message": "do more", "idempotencyKey": "k-1" });
    let refused = send(client, &other)?;
    assert_eq!(refused.status, 4, "{}", refused.text);
    assert!(refused.text.contains("idempotency key"), "{}", refused.text);

    let asked: Vec<Value> = client
        .history(SLOW)?
        .into_iter()
        .filter(|message| message.pointer("/provenance/kind") == Some(&json!("inter_session")))
        .collect();
    assert_eq!(asked.len(), 1, "{asked:#?}");
    deployment.stop()
}

/// B002, B027, B058: a wait that is over says so; the run goes on, and anybody can wait for it.
#[test]
fn a_wait_that_is_over_leaves_the_run_alive_and_its_reply_comes_later() -> anyhow::Result<()> {
    let home = quiet_home()?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    client.json(&["chat", ASKER, "hello"])?;
    let patient = json!({ "sessionKey": SLOW, "message": "slow one", "timeoutSeconds": 1 });
    let answer = send(client, &patient)?;
    assert_eq!(answer.status, 5, "{}", answer.text);
    assert_eq!(text(&answer.json, "/status")?, "timeout");
    assert!(!text(&answer.json, "/error")?.is_empty());
    assert!(answer.json.get("reply").is_none(), "{}", answer.text);

    let run_id = text(&answer.json, "/runId")?;
    let run = client.json(&["runs", "get", &run_id])?;
    assert_eq!(text(&run, "/state")?, "running");
    assert_eq!(text(&run, "/message/state")?, "started");
    let ended = client.json(&["runs", "wait", &run_id])?;
    assert_eq!(text(&ended, "/reply")?, "late: slow one");
    assert_eq!(text(&ended, "/message/state")?, "replied");
    let history = client.history(SLOW)?;
    let last = history.last().context("nothing was stored")?;
    assert_eq!(message_text(last), "late: slow one");
    deployment.stop()
}

/// B004: who does not wait is owed the same flow, the announce included.
#[test]
fn a_send_that_does_not_wait_is_accepted_and_ends_all_the_same() -> anyhow::Result<()> {
    let rules = json!([
        { "step": "send", "delayMs": 1500, "reply": "late" },
        { "step": "reply", "reply": "enough" },
        { "step": "announce", "reply": "done" },
    ]);
    let asker = json!([{ "step": "reply", "reply": "and now?" }]);
    let two_turns = json!({ "session": { "agentToAgent": { "maxPingPongTurns": 2 } } });
    let agents = [script("asker", &asker), script("slow", &rules)];
    let home = Home::new(&config_with(&agents, two_turns))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    client.json(&["chat", ASKER, "hello"])?;
    client.json(&[
        "sessions",
        "create",
        SLOW,
        "--channel",
        "slack",
        "--to",
        "channel:c1",
    ])?;
    let hasty = json!({ "sessionKey": SLOW, "message": "begin", "timeoutSeconds": 0 });
    let answer = send(client, &hasty)?;
    assert_eq!(answer.status, 0, "{}", answer.text);
    assert_eq!(text(&answer.json, "/status")?, "accepted");
    assert!(answer.json.get("reply").is_none(), "{}", answer.text);
    assert_eq!(text(&answer.json, "/delivery/status")?, "pending");
    let run = client.json(&["runs", "wait", &text(&answer.json, "/runId")?])?;
    assert_eq!(text(&run, "/reply")?, "late");
    let flow = client.json(&["flows", "wait", &text(&run, "/flowId")?])?;
    assert_eq!(text(&flow, "/state")?, "done");
    assert_eq!(number(&flow, "/turns")?, 2);
    let of_target = client.json(&["runs", "list", "--session", SLOW])?;
    let steps = list(&of_target, "/runs")?
        .iter()
        .filter_map(|run| run.get("step")?.as_str());
    assert_eq!(steps.collect::<Vec<_>>(), ["announce", "reply", "send"]);
    let deliveries = client.json(&["deliveries", "list"])?;
    assert_eq!(list(&deliveries, "/deliveries")?.len(), 1);
    assert_eq!(text(&deliveries, "/deliveries/0/text")?, "done");
    deployment.stop()
}

/// B197: the budget counts from the call, and the answer tells that the run has not begun.
#[test]
fn a_wait_behind_a_busy_session_ends_in_time_and_says_queued() -> anyhow::Result<()> {
    let home = quiet_home()?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    client.json(&["chat", ASKER, "hello"])?;
    client.json(&["chat", SLOW, "slow first", "--no-wait"])?;
    let behind = json!({ "sessionKey": SLOW, "message": "second", "timeoutSeconds": 1 });
    let answer = send(client, &behind)?;
    assert_eq!(answer.status, 5, "{}", answer.text);
    assert!(
        text(&answer.json, "/error")?.contains("queued"),
        "{}",
        answer.text
    );
    let run_id = text(&answer.json, "/runId")?;
    let run = client.json(&["runs", "get", &run_id])?;
    assert_eq!(text(&run, "/state")?, "queued");
    assert_eq!(text(&run, "/message/state")?, "stored");
    let ended = client.json(&["runs", "wait", &run_id])?;
    assert_eq!(text(&ended, "/reply")?, "echo: second");
    deployment.stop()
}

/// B200: a message for a busy session waits behind the one before it.
#[test]
fn two_sends_to_a_busy_session_are_both_answered_in_order() -> anyhow::Result<()> {
    let home = quiet_home()?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    client.json(&["chat", ASKER, "hello"])?;
    let mut runs = Vec::new();
    for message in ["slow m1", "m2"] {
        let hasty = json!({ "sessionKey": SLOW, "message": message, "timeoutSeconds": 0 });
        runs.push(text(&send(client, &hasty)?.json, "/runId")?);
    }
    for (run, reply) in runs.iter().zip(["late: slow m1", "echo: m2"]) {
        let ended = client.json(&["runs", "wait", run])?;
        assert_eq!(text(&ended, "/reply")?, reply);
    }
    let history = client.history(SLOW)?;
    let replies = history
        .iter()
        .map(message_text)
        .filter(|text| text.contains(": "));
    assert_eq!(replies.collect::<Vec<_>>(), ["late: slow m1", "echo: m2"]);
    deployment.stop()
}

/// B013: the end of a run is not the end of its session.
#[test]
fn a_send_to_an_idle_session_keeps_its_session_id() -> anyhow::Result<()> {
    let home = quiet_home()?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    client.json(&["chat", ASKER, "hello"])?;
    let mut ids = Vec::new();
    for message in ["one", "two"] {
        let answer = send(client, &json!({ "sessionKey": SLOW, "message": message }))?;
        assert_eq!(text(&answer.json, "/reply")?, format!("echo: {message}"));
        let run = client.json(&["runs", "get", &text(&answer.json, "/runId")?])?;
        ids.push(text(&run, "/sessionId")?);
    }
    let now = text(&client.json(&["sessions", "get", SLOW])?, "/sessionId")?;
    assert_eq!(ids, [now.clone(), now]);
    deployment.stop()
}

/// B016: a session that waits for itself would wait for ever, whatever it calls itself.
#[test]
fn a_waited_send_to_oneself_is_refused_by_every_name() -> anyhow::Result<()> {
    let home = quiet_home()?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    client.json(&["sessions", "create", ASKER, "--label", "me"])?;
    let session_id = text(&client.json(&["sessions", "get", ASKER])?, "/sessionId")?;
    for name in [ASKER, "main", "current", &session_id] {
        let run = client.json(&["chat", ASKER, &format!("ask {name}")])?;
        let result: Value = serde_json::from_str(&text(&run, "/reply")?)?;
        assert_eq!(text(&result, "/status")?, "error", "{name}: {result:#}");
        assert!(
            text(&result, "/error")?.contains(ASKER),
            "{name}: {result:#}"
        );
        assert!(
            number(&run, "/runtimeMs")? < 4000,
            "{name}: it waited: {run:#}"
        );
    }
    for arguments in [
        json!({ "sessionKey": ASKER, "message": "x", "timeoutSeconds": 5 }),
        json!({ "label": "me", "message": "x", "timeoutSeconds": 5 }),
    ] {
        let answer = send(client, &arguments)?;
        assert_eq!(answer.status, 4, "{}", answer.text);
        assert!(answer.text.contains(ASKER), "{}", answer.text);
    }
    assert_eq!(
        count(client, "runs", "/runs")?,
        4,
        "only the person's messages ran"
    );
    assert_eq!(count(client, "deliveries", "/deliveries")?, 0);
    deployment.stop()
}

/// A ring of two: the asked one asks back while it is waited for.
#[test]
fn a_waited_send_that_closes_a_ring_is_refused_with_the_ring() -> anyhow::Result<()> {
    let asks = |step: &str, whom: &str| {
        json!([{
            "step": step,
            "tools": [{
                "name": "sessions_send",
                "arguments": { "sessionKey": whom, "message": "and you?", "timeoutSeconds": 10 },
            }],
            "reply": "{toolResult}",
        }])
    };
    let agents = [
        script("one", &asks("human", "agent:two:main")),
        script("two", &asks("send", "agent:one:main")),
    ];
    let no_loop = json!({ "session": { "agentToAgent": { "maxPingPongTurns": 0 } } });
    let home = Home::new(&config_with(&agents, no_loop))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let run = deployment
        .client
        .json(&["chat", "agent:one:main", "begin"])?;
    let outer: Value = serde_json::from_str(&text(&run, "/reply")?)?;
    assert_eq!(text(&outer, "/status")?, "ok", "{outer:#}");
    let inner: Value = serde_json::from_str(&text(&outer, "/reply")?)?;
    assert_eq!(text(&inner, "/status")?, "error", "{inner:#}");
    let told = text(&inner, "/error")?;
    for session in ["agent:one:main", "agent:two:main"] {
        assert!(told.contains(session), "{told}");
    }
    deployment.stop()
}

/// B150: the mark of another session's words is for the agent that reads them, not for the record.
#[test]
fn a_message_is_stored_bare_and_only_the_prompt_names_its_source() -> anyhow::Result<()> {
    let agents = [
        script("asker", &json!([])),
        script(
            "mirror",
            &json!([
                { "step": "announce", "reply": "ANNOUNCE_SKIP" },
                { "step": "send", "reply": "{prompt}" },
            ]),
        ),
    ];
    let no_loop = json!({ "session": { "agentToAgent": { "maxPingPongTurns": 0 } } });
    let home = Home::new(&config_with(&agents, no_loop))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    client.json(&["chat", ASKER, "hello"])?;
    let answer = send(
        client,
        &json!({ "sessionKey": "agent:mirror:main", "message": "bare" }),
    )?;
    let prompt = text(&answer.json, "/reply")?;
    assert!(prompt.contains("[Inter-session message]"), "{prompt}");
    assert!(prompt.contains(ASKER), "{prompt}");
    let history = client.history("agent:mirror:main")?;
    let stored = history.first().context("nothing was stored")?;
    assert_eq!(message_text(stored), "bare");
    assert_eq!(at(stored, "/provenance/sourceSessionKey")?, ASKER);
    assert_eq!(at(stored, "/provenance/sourceTool")?, "sessions_send");
    deployment.stop()
}

/// A run that ends badly is told with its class, and nothing is announced.
#[test]
fn a_failing_agent_is_an_error_with_its_class() -> anyhow::Result<()> {
    let error = json!([{ "error": { "class": "overloaded", "message": "try later" } }]);
    let agents = [script("asker", &json!([])), script("broken", &error)];
    let home = Home::new(&config_with(&agents, json!({})))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    client.json(&["chat", ASKER, "hello"])?;
    let answer = send(
        client,
        &json!({ "sessionKey": "agent:broken:main", "message": "go" }),
    )?;
    assert_eq!(answer.status, 4, "{}", answer.text);
    assert_eq!(text(&answer.json, "/status")?, "error");
    assert!(
        text(&answer.json, "/error")?.contains("overloaded"),
        "{}",
        answer.text
    );
    let run = client.json(&["runs", "get", &text(&answer.json, "/runId")?])?;
    assert_eq!(text(&run, "/state")?, "failed");
    assert_eq!(
        at(&run, "/error")?,
        &json!({ "class": "overloaded", "message": "try later" })
    );
    let flow = client.json(&["flows", "wait", &text(&run, "/flowId")?])?;
    assert_eq!(text(&flow, "/state")?, "done");
    let chat = client.run(&["chat", "agent:broken:main", "go"])?;
    assert_eq!(chat.status, 4, "{}", chat.text);
    deployment.stop()
}
