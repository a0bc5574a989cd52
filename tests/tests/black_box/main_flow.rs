//! The main job, on both shapes of a deployment.

use confab_tests::deployment::{Deployment, Shape};
use confab_tests::exchange::{self, EDITOR, WRITER};
use confab_tests::home::{Home, config};
use confab_tests::json::{at, list, number, only, text};
use serde_json::{Value, json};

#[test]
fn the_main_job_runs_in_one_process() -> anyhow::Result<()> {
    the_main_job_runs(Shape::OneProcess)
}

#[test]
fn the_main_job_runs_over_three_services() -> anyhow::Result<()> {
    the_main_job_runs(Shape::ThreeServices)
}

/// B026, B044, B150: the announce lands once, its route is whole, provenance is in fields.
fn the_main_job_runs(shape: Shape) -> anyhow::Result<()> {
    let home = Home::new(&config(&exchange::agents()))?;
    let deployment = Deployment::start(shape, &home)?;
    let client = &deployment.client;
    let created = exchange::prepare(client)?;
    assert_eq!(text(&created, "/key")?, EDITOR);
    let route = json!({
        "channel": "slack", "to": "channel:reviews", "accountId": "kev", "threadId": "17.5",
    });
    assert_eq!(at(&created, "/deliveryContext")?, &route);

    let asked = exchange::ask(client)?;
    assert_eq!(asked.status, 0, "{}", asked.text);
    assert_eq!(text(&asked.json, "/state")?, "succeeded");
    assert_eq!(text(&asked.json, "/reply")?, "The editor was asked.");
    exchange::settle(client)?;
    let found = exchange::end_state(client)?;
    assert_eq!(found, exchange::expected(), "found: {found:#}");

    the_records_agree(client)?;
    deployment.stop()
}

/// Looks at the records one by one: ids that lead from one to the next, times in their order.
fn the_records_agree(client: &confab_tests::client::Client) -> anyhow::Result<()> {
    let flows = client.json(&["flows", "list", "--session", EDITOR])?;
    assert_eq!(list(&flows, "/flows")?.len(), 1, "{flows:#}");
    let flow_id = text(&flows, "/flows/0/flowId")?;
    let flow = client.json(&["flows", "get", &flow_id])?;
    assert_eq!(list(&flow, "/runs")?.len(), 4, "{flow:#}");
    assert_eq!(list(&flow, "/deliveries")?.len(), 1, "{flow:#}");

    let runs = client.json(&["runs", "list"])?;
    for run in list(&runs, "/runs")? {
        let got = client.json(&["runs", "get", &text(run, "/runId")?])?;
        assert_eq!(
            only(&got, &["runId", "state"]),
            only(run, &["runId", "state"])
        );
        assert_eq!(number(&got, "/attempts")?, 1, "{got:#}");
        assert_eq!(text(&got, "/message/state")?, "replied", "{got:#}");
        assert!(
            number(&got, "/startedAt")? <= number(&got, "/endedAt")?,
            "{got:#}"
        );
    }
    // B024: the writer's turn in the loop waits until the run that sent is over.
    let of_writer = client.json(&["runs", "list", "--session", WRITER])?;
    let (turn, human) = (at(&of_writer, "/runs/0")?, at(&of_writer, "/runs/1")?);
    assert_eq!(
        (text(turn, "/step")?, text(human, "/step")?),
        ("reply".into(), "human".into())
    );
    assert!(
        number(turn, "/startedAt")? >= number(human, "/endedAt")?,
        "{of_writer:#}"
    );

    let deliveries = client.json(&["deliveries", "list", "--state", "delivered"])?;
    assert_eq!(text(&deliveries, "/deliveries/0/flowId")?, flow_id);
    assert_eq!(number(&deliveries, "/deliveries/0/attempts")?, 1);

    let sessions = client.json(&["sessions", "list"])?;
    let mut keys: Vec<Value> = Vec::new();
    for row in list(&sessions, "/sessions")? {
        keys.push(at(row, "/key")?.clone());
    }
    keys.sort_by_key(ToString::to_string);
    assert_eq!(keys, [EDITOR, WRITER]);
    Ok(())
}

#[test]
fn a_persons_message_is_answered_in_the_channel_it_came_from() -> anyhow::Result<()> {
    let home = Home::new(&config(&exchange::agents()))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    let route = [
        "--channel",
        "discord",
        "--to",
        "user:7",
        "--account",
        "ann",
        "--thread",
        "t",
    ];
    let words = [
        &["chat", "agent:writer:discord:direct:7", "hello"][..],
        &route[..],
    ]
    .concat();
    let run = client.json(&words)?;
    assert_eq!(text(&run, "/reply")?, "echo: hello");
    client.json(&["flows", "wait", &text(&run, "/flowId")?])?;

    let deliveries = client.json(&["deliveries", "list"])?;
    let fields = ["channel", "to", "accountId", "threadId", "text", "state"];
    let found: Vec<Value> = list(&deliveries, "/deliveries")?
        .iter()
        .map(|one| only(one, &fields))
        .collect();
    let expected = json!({
        "channel": "discord", "to": "user:7", "accountId": "ann", "threadId": "t",
        "text": "echo: hello", "state": "delivered",
    });
    assert_eq!(found, [expected]);
    deployment.stop()
}
