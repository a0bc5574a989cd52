//! What was said survives: a kill, a stop, a start with work under way.

use confab_tests::client::Client;
use confab_tests::deployment::{Deployment, Plan, Shape};
use confab_tests::exchange::{self, EDITOR, WRITER};
use confab_tests::home::{Home, config, config_with, script};
use confab_tests::json::{list, text};
use confab_tests::process::{self, Server};
use serde_json::{Value, json};

/// Everything that can be read, ids and times included.
fn everything(client: &Client) -> anyhow::Result<Value> {
    Ok(json!({
        "sessions": client.json(&["sessions", "list"])?,
        "writer": client.history(WRITER)?,
        "editor": client.history(EDITOR)?,
        "runs": client.json(&["runs", "list"])?,
        "flows": client.json(&["flows", "list"])?,
        "deliveries": client.json(&["deliveries", "list"])?,
    }))
}

#[test]
fn a_killed_process_starts_again_with_everything_it_had() -> anyhow::Result<()> {
    everything_survives(Shape::OneProcess)
}

#[test]
fn three_killed_services_start_again_with_everything_they_had() -> anyhow::Result<()> {
    everything_survives(Shape::ThreeServices)
}

fn everything_survives(shape: Shape) -> anyhow::Result<()> {
    let home = Home::new(&config(&exchange::agents()))?;
    let deployment = Deployment::start(shape, &home)?;
    exchange::prepare(&deployment.client)?;
    exchange::ask(&deployment.client)?;
    exchange::settle(&deployment.client)?;
    // What a row shows of a run may follow it by a second: the orderly stop lets it catch up.
    deployment.stop()?;
    let deployment = Deployment::start(shape, &home)?;
    let before = everything(&deployment.client)?;
    deployment.kill()?;

    let deployment = Deployment::start(shape, &home)?;
    assert_eq!(everything(&deployment.client)?, before);
    let again = exchange::ask(&deployment.client)?;
    assert_eq!(again.status, 0, "{}", again.text);
    exchange::settle(&deployment.client)?;
    let deliveries = deployment.client.json(&["deliveries", "list"])?;
    assert_eq!(list(&deliveries, "/deliveries")?.len(), 2);
    deployment.stop()
}

fn slow_home() -> anyhow::Result<Home> {
    let rules = json!([{ "match": "slow", "delayMs": 2000, "reply": "late" }]);
    Home::new(&config(&[script("main", &rules)]))
}

#[test]
fn a_run_that_a_stop_interrupts_is_done_after_the_start() -> anyhow::Result<()> {
    a_run_is_done_after_the_start(Deployment::stop)
}

#[test]
fn a_run_that_a_kill_interrupts_is_done_after_the_start() -> anyhow::Result<()> {
    a_run_is_done_after_the_start(Deployment::kill)
}

fn a_run_is_done_after_the_start(end: fn(Deployment) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let home = slow_home()?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let mut runs = Vec::new();
    for message in ["slow one", "two"] {
        let run = deployment
            .client
            .json(&["chat", "agent:main:main", message, "--no-wait"])?;
        runs.push(text(&run, "/runId")?);
    }
    end(deployment)?;

    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    for (run, reply) in runs.iter().zip(["late", "echo: two"]) {
        let ended = deployment.client.json(&["runs", "wait", run])?;
        assert_eq!(text(&ended, "/reply")?, reply);
    }
    let history = deployment.client.history("agent:main:main")?;
    assert_eq!(history.len(), 4, "each message is there once: {history:#?}");
    deployment.stop()
}

/// A call that was answered with a key is answered the same after a restart.
#[test]
fn an_idempotency_key_outlives_a_restart() -> anyhow::Result<()> {
    let home = slow_home()?;
    let once = json!({ "sessionKey": "main", "message": "m", "idempotencyKey": "k" });
    let mut answers = Vec::new();
    for _ in 0..2 {
        let deployment = Deployment::start(Shape::OneProcess, &home)?;
        let answer = deployment.client.tool("sessions_send", &once, None)?;
        assert_eq!(answer.status, 0, "{}", answer.text);
        answers.push(text(&answer.json, "/runId")?);
        deployment.kill()?;
    }
    assert_eq!(answers.first(), answers.last());
    Ok(())
}

/// `times` counts over stored runs.
#[test]
fn a_script_counts_its_hits_across_restarts() -> anyhow::Result<()> {
    let rules = json!([{ "times": 2, "reply": "rule {count}" }]);
    let home = Home::new(&config_with(&[script("main", &rules)], json!({})))?;
    let mut replies = Vec::new();
    for _ in 0..3 {
        let deployment = Deployment::start(Shape::OneProcess, &home)?;
        let run = deployment
            .client
            .json(&["chat", "agent:main:main", "hello"])?;
        replies.push(text(&run, "/reply")?);
        deployment.kill()?;
    }
    assert_eq!(replies, ["rule 1", "rule 2", "echo: hello"]);
    Ok(())
}

#[test]
fn a_second_process_on_the_same_data_ends_at_once_and_names_the_first() -> anyhow::Result<()> {
    let home = slow_home()?;
    let plan = Plan::new(Shape::OneProcess, &home);
    let deployment = plan.start()?;
    let first = deployment.servers.first().map_or(0, Server::id);
    for binary in ["confab", "confab-registry"] {
        let output = process::run(plan.command(binary)?, None)?;
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_ne!(output.status.code(), Some(0), "{binary} started");
        assert!(output.stdout.is_empty(), "{binary} said that it is ready");
        assert!(
            log.contains(&first.to_string()),
            "{binary} does not name process {first}: {log}"
        );
    }
    let run = deployment
        .client
        .json(&["chat", "agent:main:main", "hello"])?;
    assert_eq!(
        text(&run, "/reply")?,
        "echo: hello",
        "the first is unharmed"
    );
    deployment.stop()
}
