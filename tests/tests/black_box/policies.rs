//! The send policy from end to end: what it stops, what overrides it, who explains it.
//!
//! Source: D16, D17, D18, reg:P1, reg:P2, reg:P3, reg:P7, reg:P11.

use confab_proto::runner::v1 as runner;
use confab_tests::client::{Answer, Client};
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::grpc::{Caller, Grpc, RUNNER, reason, refusal, session};
use confab_tests::home::{Home, config_with, script};
use confab_tests::json::{at, list, number, text};
use confab_tests::process::eventually;
use serde_json::{Value, json};
use tonic::Code;

const ROOM: &str = "agent:helper:slack:channel:c1";
const BLOCKED: &str = "send blocked by session policy";

fn configured(policy: &Value) -> Value {
    let rules = json!([
        { "step": "announce", "match": "late", "delayMs": 3000, "reply": "announced" },
        { "step": "announce", "reply": "announced" },
    ]);
    config_with(
        &[script("helper", &rules)],
        json!({ "session": { "sendPolicy": policy } }),
    )
}

/// A deployment under this policy, with one session in a room of Slack.
fn start(policy: &Value) -> anyhow::Result<(Home, Deployment)> {
    let home = Home::new(&configured(policy))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    create_room(&deployment.client)?;
    Ok((home, deployment))
}

fn create_room(client: &Client) -> anyhow::Result<Value> {
    let route = ["--channel", "slack", "--to", "channel:c1"];
    client.json(&[["sessions", "create", ROOM].as_slice(), &route].concat())
}

fn send(client: &Client, message: &str) -> anyhow::Result<Answer> {
    let arguments = json!({ "sessionKey": ROOM, "message": message });
    client.tool("sessions_send", &arguments, None)
}

fn runs(client: &Client) -> anyhow::Result<usize> {
    Ok(list(&client.json(&["runs", "list"])?, "/runs")?.len())
}

fn no_slack() -> Value {
    json!([{ "match": { "channel": "slack" }, "action": "deny" }])
}

/// Demands that the announcement of the flow of this send was blocked, once and for all.
fn assert_blocked(client: &Client, sent: &Answer) -> anyhow::Result<()> {
    assert_eq!(sent.status, 0, "{}", sent.text);
    assert_eq!(text(&sent.json, "/reply")?.split(':').next(), Some("echo"));
    let run = client.json(&["runs", "get", &text(&sent.json, "/runId")?])?;
    let flow = client.json(&["flows", "wait", &text(&run, "/flowId")?])?;
    assert_eq!(text(&flow, "/delivery/status")?, "blocked", "{flow:#}");
    assert_eq!(text(&flow, "/deliveries/0/state")?, "blocked", "{flow:#}");
    let run = client.json(&["runs", "get", &text(&sent.json, "/runId")?])?;
    assert_eq!(text(&run, "/delivery/status")?, "blocked", "{run:#}");
    let blocked = client.json(&["deliveries", "list", "--state", "blocked"])?;
    assert_eq!(list(&blocked, "/deliveries")?.len(), 1, "{blocked:#}");
    assert_eq!(text(&blocked, "/deliveries/0/text")?, "announced");
    assert_eq!(
        number(&blocked, "/deliveries/0/attempts")?,
        0,
        "never tried"
    );
    let all = client.json(&["deliveries", "list"])?;
    assert_eq!(list(&all, "/deliveries")?.len(), 1, "{all:#}");
    Ok(())
}

/// B088: with `appliesTo: "delivery"` runs go on, and what would leave is blocked.
#[test]
fn a_policy_about_deliveries_lets_sends_run_and_blocks_their_announcement() -> anyhow::Result<()> {
    let policy = json!({ "appliesTo": "delivery", "rules": no_slack() });
    let (_home, deployment) = start(&policy)?;
    let client = &deployment.client;
    let sent = send(client, "m")?;
    assert_blocked(client, &sent)?;
    let chat = client.run(&["chat", ROOM, "hello"])?;
    assert_eq!(chat.status, 0, "{}", chat.text);
    deployment.stop()
}

/// B088: by default messages are refused too, in these words, and nothing runs or is stored.
#[test]
fn a_policy_about_everything_refuses_sends_messages_and_runs() -> anyhow::Result<()> {
    let (_home, deployment) = start(&json!({ "rules": no_slack() }))?;
    let client = &deployment.client;
    let sent = send(client, "m")?;
    assert_eq!(sent.status, 3, "{}", sent.text);
    assert_eq!(text(&sent.json, "/status")?, "forbidden");
    assert_eq!(text(&sent.json, "/error")?, BLOCKED);
    assert_eq!(text(&sent.json, "/reason")?, "SEND_POLICY");
    let chat = client.run(&["chat", ROOM, "hello"])?;
    assert_eq!(chat.status, 3, "{}", chat.text);
    assert!(chat.text.contains(BLOCKED), "{}", chat.text);

    let grpc = Grpc::to(&deployment)?;
    let asked = runner::StartRunRequest {
        target: Some(session(ROOM)),
        input: "hello".to_owned(),
        ..Default::default()
    };
    let started =
        grpc.call::<_, runner::StartRunResponse>(RUNNER, "StartRun", asked, &Caller::operator());
    let refused = refusal(started)?;
    assert_eq!(refused.code(), Code::PermissionDenied);
    assert_eq!(
        (reason(&refused).as_str(), refused.message()),
        ("SEND_POLICY", BLOCKED)
    );
    assert_eq!(runs(client)?, 0);
    assert_eq!(client.history(ROOM)?, Vec::<Value>::new());
    deployment.stop()
}

/// D18: the policy is asked again when the text is about to leave.
#[test]
fn a_policy_that_changes_during_a_flow_counts() -> anyhow::Result<()> {
    let (_home, deployment) = start(&json!({ "default": "allow" }))?;
    let client = &deployment.client;
    let sent = send(client, "late")?;
    client.json(&["sessions", "patch", ROOM, r#"{"sendPolicy":"deny"}"#])?;
    assert_blocked(client, &sent)?;
    deployment.stop()
}

/// B086: the channel is derived from every shape of a key.
#[test]
fn a_rule_about_a_channel_finds_it_in_every_shape_of_a_key() -> anyhow::Result<()> {
    let rules = json!([{ "match": { "channel": "telegram" }, "action": "deny" }]);
    let (_home, deployment) = start(&json!({ "rules": rules }))?;
    let client = &deployment.client;
    for key in [
        "agent:helper:telegram:direct:p",
        "agent:helper:telegram:acct:direct:p",
        "agent:helper:telegram:group:g:thread:7",
        "agent:helper:Telegram:Group:g",
    ] {
        let chat = client.run(&["chat", key, "hello"])?;
        assert_eq!(chat.status, 3, "{key}: {}", chat.text);
        assert!(chat.text.contains(BLOCKED), "{key}: {}", chat.text);
        let got = client.run(&["sessions", "get", key])?;
        assert_eq!(got.status, 4, "a refused message made {key}: {}", got.text);
    }
    for key in ["agent:helper:main", ROOM, "agent:helper:direct:telegram"] {
        client.json(&["chat", key, "hello"])?;
    }
    deployment.stop()
}

/// reg:P2, reg:P11: a session's own policy outranks the rules, until it is cleared.
#[test]
fn a_session_may_override_the_rules_and_be_brought_back() -> anyhow::Result<()> {
    let (_home, deployment) = start(&json!({ "rules": no_slack() }))?;
    let client = &deployment.client;
    let chat = || -> anyhow::Result<i32> { Ok(client.run(&["chat", ROOM, "hello"])?.status) };
    assert_eq!(chat()?, 3);
    let row = client.json(&["sessions", "patch", ROOM, r#"{"sendPolicy":"allow"}"#])?;
    assert_eq!(text(&row, "/sendPolicy")?, "allow");
    assert_eq!(chat()?, 0);
    let reset = client.json(&["sessions", "reset", ROOM])?;
    assert_eq!(
        text(&reset, "/sendPolicy")?,
        "allow",
        "a reset keeps it (reg:P16)"
    );
    assert_eq!(chat()?, 0);
    let row = client.json(&["sessions", "patch", ROOM, r#"{"sendPolicy":null}"#])?;
    assert!(row.get("sendPolicy").is_none(), "{row:#}");
    assert_eq!(chat()?, 3);

    client.json(&["sessions", "create", "agent:helper:main"])?;
    client.json(&[
        "sessions",
        "patch",
        "agent:helper:main",
        r#"{"sendPolicy":"deny"}"#,
    ])?;
    let denied = client.run(&["chat", "agent:helper:main", "hello"])?;
    assert_eq!(denied.status, 3, "{}", denied.text);
    deployment.stop()
}

#[test]
fn changed_rules_are_in_force_at_once() -> anyhow::Result<()> {
    let (home, deployment) = start(&json!({ "rules": no_slack() }))?;
    let client = &deployment.client;
    assert_eq!(send(client, "m")?.status, 3);
    deployment.reload(&home, &configured(&json!({ "default": "allow" })))?;
    assert_eq!(send(client, "m")?.status, 0);
    deployment.reload(&home, &configured(&json!({ "default": "deny" })))?;
    assert_eq!(send(client, "m")?.status, 3);
    // A changed file is noticed without a signal too.
    home.configure(&configured(&json!({ "appliesTo": "delivery" })))?;
    eventually("the changed file is noticed", || {
        Ok(send(client, "m")?.status == 0)
    })?;
    deployment.stop()
}

/// What one gate says in an explanation.
fn verdict<'v>(explained: &'v Value, gate: &str) -> anyhow::Result<&'v Value> {
    let verdicts = list(explained, "/verdicts")?.iter();
    let mut found = verdicts.filter(|verdict| verdict.get("gate") == Some(&json!(gate)));
    found
        .next()
        .ok_or_else(|| anyhow::anyhow!("no {gate} in {explained:#}"))
}

/// D16: the deciding rule is named by its index, else the override or the default.
#[test]
fn an_explanation_names_the_rule_that_decides() -> anyhow::Result<()> {
    let rules = json!([
        { "match": { "channel": "discord" }, "action": "allow" },
        { "match": { "channel": "slack" }, "action": "deny" },
    ]);
    let (_home, deployment) = start(&json!({ "default": "allow", "rules": rules }))?;
    let client = &deployment.client;
    let explain = |key: &str| client.json(&["policy", "explain", "--session", key]);
    let denied = explain(ROOM)?;
    assert_eq!(at(&denied, "/allowed")?, false, "{denied:#}");
    assert_eq!(at(&denied, "/exists")?, true);
    let gate = verdict(&denied, "send_policy")?;
    assert_eq!(number(gate, "/ruleIndex")?, 1, "{gate:#}");
    assert!(text(gate, "/reason")?.contains("rules[1]"), "{gate:#}");
    assert!(!text(gate, "/remedy")?.is_empty(), "{gate:#}");

    let by_rule = explain("agent:helper:discord:group:7")?;
    assert_eq!(
        at(&by_rule, "/exists")?,
        false,
        "nothing is made: {by_rule:#}"
    );
    assert_eq!(number(verdict(&by_rule, "send_policy")?, "/ruleIndex")?, 0);
    assert_eq!(at(&by_rule, "/allowed")?, true, "{by_rule:#}");
    let by_default = explain("agent:helper:main")?;
    let gate = verdict(&by_default, "send_policy")?;
    assert!(gate.get("ruleIndex").is_none(), "{gate:#}");
    assert!(text(gate, "/reason")?.contains("default"), "{gate:#}");

    client.json(&["sessions", "patch", ROOM, r#"{"sendPolicy":"allow"}"#])?;
    let own = explain(ROOM)?;
    assert_eq!(at(&own, "/allowed")?, true, "{own:#}");
    assert!(verdict(&own, "send_policy")?.get("ruleIndex").is_none());
    let sessions = client.tool("sessions_list", &json!({}), None)?;
    assert_eq!(number(&sessions.json, "/count")?, 1, "{}", sessions.text);
    deployment.stop()
}

/// B064: every shut gate is explained with its remedy; an explanation is no failure.
#[test]
fn an_explanation_tells_every_gate_between_two_agents() -> anyhow::Result<()> {
    let agents = ["writer", "editor"].map(|id| script(id, &json!([])));
    let mut config = config_with(&agents, json!({ "tools": null }));
    let tools = json!({ "tools": { "agentToAgent": { "allow": ["editor"] } } });
    confab_tests::json::merge(&mut config, tools);
    let home = Home::new(&config)?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    for key in ["agent:writer:main", "agent:editor:main"] {
        client.json(&["sessions", "create", key])?;
    }
    let words = [
        "--session",
        "agent:editor:main",
        "--as",
        "agent:writer:main",
    ];
    let explain = ["policy", "explain", "--tool", "sessions_history"];
    let explained = client.json(&[explain.as_slice(), &words].concat())?;
    assert_eq!(at(&explained, "/allowed")?, false, "{explained:#}");
    for (gate, named) in [
        ("visibility", "tools.sessions.visibility"),
        ("agent_to_agent", "tools.agentToAgent.enabled"),
        ("agent_to_agent", "tools.agentToAgent.allow"),
    ] {
        let verdict = verdict(&explained, gate)?;
        assert_eq!(at(verdict, "/allowed")?, false, "{verdict:#}");
        assert!(text(verdict, "/remedy")?.contains(named), "{verdict:#}");
    }
    let asked = json!({ "sessionKey": "agent:editor:main" });
    let refused = client.tool("sessions_history", &asked, Some("agent:writer:main"))?;
    assert_eq!(refused.status, 3, "{}", refused.text);
    let told = text(&refused.json, "/error")?;
    for named in [
        "visibility",
        "tools.agentToAgent.enabled",
        "tools.agentToAgent.allow",
        "writer",
    ] {
        assert!(told.contains(named), "{named} is not in {told}");
    }
    deployment.stop()
}
