//! Bad input: the exit status, an error that names the field and what is allowed, nothing stored.

use anyhow::ensure;
use confab_tests::client::{Answer, Client};
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::home::{Home, config, script};
use confab_tests::json::{list, text};
use serde_json::{Value, json};

const MAIN: &str = "agent:main:main";

/// The longest message, in bytes: 1 MiB.
const MESSAGE_BYTES_MAX: usize = 1_048_576;

fn start() -> anyhow::Result<(Home, Deployment)> {
    let rules = json!([
        { "step": "announce", "reply": "ANNOUNCE_SKIP" },
        { "match": "slow", "delayMs": 3000, "reply": "late" },
        { "match": "mmm", "reply": "taken" },
    ]);
    let home = Home::new(&config(&[script("main", &rules)]))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    deployment.client.json(&["chat", MAIN, "hello"])?;
    Ok((home, deployment))
}

/// Everything that bad input must leave as it is: sessions, runs, flows, the words of a session.
fn stored(client: &Client) -> anyhow::Result<Value> {
    let sessions = client.tool("sessions_list", &json!({ "limit": 200 }), None)?;
    let mut keys = Vec::new();
    for row in list(&sessions.json, "/sessions")? {
        keys.push(text(row, "/key")?);
    }
    keys.sort();
    Ok(json!({
        "sessions": keys,
        "runs": list(&client.json(&["runs", "list"])?, "/runs")?.len(),
        "flows": list(&client.json(&["flows", "list"])?, "/flows")?.len(),
        "messages": client.history(MAIN)?.len(),
    }))
}

fn demand(answer: &Answer, status: i32, words: &[&str], what: &str) -> anyhow::Result<()> {
    ensure!(
        answer.status == status,
        "{what}: {} instead of {status}: {}",
        answer.status,
        answer.text
    );
    for word in words {
        ensure!(
            answer.text.contains(word),
            "{what}: {word:?} is not in {}",
            answer.text
        );
    }
    Ok(())
}

/// Runs all cases and tells every one that went wrong.
fn all(cases: impl Iterator<Item = anyhow::Result<()>>) {
    let wrong: Vec<String> = cases
        .filter_map(|case| Some(format!("{:#}", case.err()?)))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Arguments of `sessions_send`, and words that the refusal has to hold.
const SENDS: &[(&str, &[&str])] = &[
    // Required fields, and the names of fields.
    ("{}", &["message", "sessionKey"]),
    (r#"{"sessionKey":"main"}"#, &["message"]),
    (r#"{"sessionKey":"main","message":"  "}"#, &["message"]),
    (
        r#"{"sessionKey":"main","mesage":"x"}"#,
        &["mesage", "did you mean message"],
    ),
    (
        r#"{"sesionKey":"main","message":"x"}"#,
        &["sesionKey", "did you mean sessionKey"],
    ),
    (
        r#"{"sessionKey":"main","message":"x","zzz":1}"#,
        &["zzz", "timeoutSeconds"],
    ),
    (
        r#"{"session_key":"main","sessionKey":"main","message":"x"}"#,
        &["session_key", "twice"],
    ),
    // Types and ranges.
    (
        r#"{"sessionKey":5,"message":"x"}"#,
        &["sessionKey", "string", "5"],
    ),
    (
        r#"{"sessionKey":"main","message":5}"#,
        &["message", "string", "5"],
    ),
    (
        r#"{"sessionKey":"main","message":["x"]}"#,
        &["message", "string"],
    ),
    (
        r#"{"sessionKey":"main","message":"x","timeoutSeconds":"soon"}"#,
        &["timeoutSeconds", "soon"],
    ),
    (
        r#"{"sessionKey":"main","message":"x","timeoutSeconds":-1}"#,
        &["timeoutSeconds", "-1"],
    ),
    (
        r#"{"sessionKey":"main","message":"x","timeoutSeconds":1.5}"#,
        &["timeoutSeconds", "1.5"],
    ),
    (
        r#"{"sessionKey":"main","message":"x","watch":"yes"}"#,
        &["watch", "true", "yes"],
    ),
    (
        r#"{"sessionKey":"main","message":"x","announce":"loud"}"#,
        &["announce", "loud", "channel", "none"],
    ),
    // Keys.
    (
        r#"{"sessionKey":"agent:main","message":"x"}"#,
        &["sessionKey", "agent:main"],
    ),
    (
        r#"{"sessionKey":"agent:main::x","message":"x"}"#,
        &["sessionKey", "agent:main::x"],
    ),
    (
        r#"{"sessionKey":"agent:main:a\u0007b","message":"x"}"#,
        &["sessionKey", "control"],
    ),
    // Several faults are told together.
    (
        r#"{"sessionKey":1,"timeoutSeconds":-5,"announce":"loud","wach":true}"#,
        &[
            "sessionKey",
            "message",
            "timeoutSeconds",
            "announce",
            "wach",
        ],
    ),
];

/// The same of `sessions_list`.
const LISTS: &[(&str, &[&str])] = &[
    (
        r#"{"kinds":["robot"]}"#,
        &["kinds", "robot", "main", "group", "other"],
    ),
    (r#"{"kinds":7}"#, &["kinds", "main", "group", "other"]),
    (r#"{"limit":0}"#, &["limit", "0"]),
    (r#"{"limit":"many"}"#, &["limit", "many"]),
    (r#"{"messageLimit":-1}"#, &["messageLimit", "-1"]),
    (r#"{"activeMinutes":0}"#, &["activeMinutes", "0"]),
    (r#"{"archived":"no"}"#, &["archived", "true", "no"]),
    (r#"{"pageToken":"nonsense"}"#, &["pageToken"]),
    (r#"{"limits":5}"#, &["limits", "did you mean limit"]),
];

/// The same of `sessions_history`.
const HISTORIES: &[(&str, &[&str])] = &[
    ("{}", &["sessionKey"]),
    (r#"{"sessionKey":"main","limit":-1}"#, &["limit", "-1"]),
    (r#"{"sessionKey":"main","offset":-1}"#, &["offset", "-1"]),
    (
        r#"{"sessionKey":"main","includeTools":3}"#,
        &["includeTools", "3"],
    ),
    (
        r#"{"sessionKey":"agent::main"}"#,
        &["sessionKey", "agent::main"],
    ),
];

#[test]
fn a_tool_names_the_field_that_is_wrong_and_what_is_allowed() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    let before = stored(client)?;
    let refused = |tool: &str, arguments: &str, words: &[&str]| {
        let mut answer = client.tool_with_text(tool, arguments, Some(MAIN))?;
        let what = format!("{tool} {arguments}");
        ensure!(
            answer.json.get("status") == Some(&json!("error")),
            "{what}: {}",
            answer.text
        );
        // The echo of the target is no explanation.
        if let Some(result) = answer.json.as_object_mut() {
            result.remove("sessionKey");
        }
        answer.text = answer.json.to_string();
        demand(&answer, 4, words, &what)
    };
    let tables = [
        ("sessions_send", SENDS),
        ("sessions_list", LISTS),
        ("sessions_history", HISTORIES),
    ];
    all(tables.iter().flat_map(|(tool, cases)| {
        cases
            .iter()
            .map(|(arguments, words)| refused(tool, arguments, words))
    }));
    let long = format!(
        r#"{{"sessionKey":"agent:main:{}","message":"x"}}"#,
        "k".repeat(600)
    );
    refused("sessions_send", &long, &["sessionKey", "512"])?;
    assert_eq!(stored(client)?, before);
    deployment.stop()
}

#[test]
fn a_message_over_a_mebibyte_is_refused_with_the_limit() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    let before = stored(client)?;
    let message = "m".repeat(MESSAGE_BYTES_MAX + 1);
    let arguments = json!({ "sessionKey": MAIN, "message": message });
    let answer = client.tool("sessions_send", &arguments, None)?;
    demand(
        &answer,
        4,
        &["message", "1048576"],
        "a message of 1 MiB and a byte",
    )?;
    assert!(
        answer.text.len() < 4096,
        "the message came back: {} bytes",
        answer.text.len()
    );

    let vast = json!({ "sessionKey": MAIN, "message": "m".repeat(5 * MESSAGE_BYTES_MAX) });
    let answer = client.tool("sessions_send", &vast, None)?;
    assert_ne!(answer.status, 0, "5 MiB were accepted");
    assert!(
        answer.text.len() < 4096,
        "the message came back: {} bytes",
        answer.text.len()
    );
    assert_eq!(stored(client)?, before);
    deployment.stop()
}

#[test]
fn a_message_of_a_mebibyte_is_carried_whole() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    let message = "m".repeat(MESSAGE_BYTES_MAX);
    let arguments = json!({ "sessionKey": MAIN, "message": message });
    let answer = client.tool("sessions_send", &arguments, None)?;
    assert_eq!(answer.status, 0, "{:.2000}", answer.text);
    let run = client.json(&["runs", "get", &text(&answer.json, "/runId")?])?;
    assert!(
        text(&run, "/input")? == message,
        "the input is not the message"
    );
    deployment.stop()
}

#[test]
fn what_is_no_json_is_wrong_usage() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    let before = stored(client)?;
    let texts = [
        "",
        "{",
        "hello",
        r#"{"a":1} trailing"#,
        "{'a': 1}",
        r#"{"limit":01}"#,
    ];
    all(texts.into_iter().map(|given| {
        let answer = client.tool_with_text("sessions_list", given, None)?;
        demand(&answer, 2, &["JSON"], &format!("sessions_list {given:?}"))
    }));
    // JSON of another kind reaches the tool, which refuses it.
    all(["[1]", "\"text\"", "7", "true"].into_iter().map(|given| {
        let answer = client.tool_with_text("sessions_list", given, None)?;
        demand(
            &answer,
            4,
            &["JSON object"],
            &format!("sessions_list {given:?}"),
        )
    }));
    assert_eq!(stored(client)?, before);
    deployment.stop()
}

#[test]
fn an_unknown_tool_is_refused_with_the_nearest_one() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    for caller in [None, Some(MAIN)] {
        let answer = client.tool("sessions_sned", &json!({}), caller)?;
        demand(
            &answer,
            4,
            &["sessions_sned", "sessions_send"],
            "an unknown tool",
        )?;
    }
    deployment.stop()
}

/// B220: which class of refusal ends with which status.
#[test]
fn a_command_names_what_is_wrong_and_ends_with_its_status() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    let before = stored(client)?;
    let long_label = "l".repeat(513);
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&["chat", "agent:main", "x"], 4, &["agent:main"]),
        (&["chat", "agent:main:a b:", "x"], 4, &["agent:main:a b:"]),
        (
            &["chat", "agent:ghost:main", "x"],
            4,
            &["No session found", "ghost"],
        ),
        (&["chat", MAIN, ""], 2, &[]),
        (&["chat", MAIN, "x", "--channel", "slack"], 2, &["--to"]),
        (&["chat", MAIN, "x", "--wait", "soon"], 2, &["soon"]),
        (&["sessions", "create", "agent:main"], 4, &["agent:main"]),
        (&["sessions", "create", "agent:ghost:main"], 4, &["ghost"]),
        (
            &["sessions", "create", "agent:main:x", "--label", &long_label],
            4,
            &["label", "512"],
        ),
        (
            &["sessions", "create", "agent:main:x", "--chat-type", "odd"],
            2,
            &["odd", "direct"],
        ),
        (
            &["sessions", "get", "agent:main:nowhere"],
            4,
            &["No session found"],
        ),
        (&["sessions", "get", "agent::"], 4, &["agent::"]),
        (
            &["sessions", "list", "--kind", "robot"],
            2,
            &["robot", "main", "group"],
        ),
        (&["sessions", "list", "--limit", "0"], 2, &["limit"]),
        (&["runs", "get", "nothing"], 4, &["No run found: nothing"]),
        (&["runs", "wait", "nothing"], 4, &["No run found: nothing"]),
        (&["runs", "list", "--state", "odd"], 2, &["odd", "queued"]),
        (&["flows", "get", "nothing"], 4, &["No flow found: nothing"]),
        (
            &["flows", "wait", "nothing"],
            4,
            &["No flow found: nothing"],
        ),
        (
            &["deliveries", "list", "--state", "odd"],
            2,
            &["odd", "pending"],
        ),
        (&["nonsense"], 2, &["nonsense"]),
    ];
    all(cases.iter().map(|(arguments, status, words)| {
        demand(
            &client.run(arguments)?,
            *status,
            words,
            &arguments.join(" "),
        )
    }));
    assert_eq!(stored(client)?, before);
    deployment.stop()
}

#[test]
fn a_wait_that_is_over_ends_with_five() -> anyhow::Result<()> {
    let (_home, deployment) = start()?;
    let client = &deployment.client;
    let chat = client.run(&["chat", MAIN, "slow", "--wait", "1"])?;
    assert_eq!(chat.status, 5, "{}", chat.text);
    let runs = client.json(&["runs", "list", "--state", "running"])?;
    let run_id = text(&runs, "/runs/0/runId")?;
    assert_eq!(
        client
            .run(&["runs", "wait", &run_id, "--seconds", "0"])?
            .status,
        5
    );
    let flow_id = text(&runs, "/runs/0/flowId")?;
    assert_eq!(
        client
            .run(&["flows", "wait", &flow_id, "--seconds", "0"])?
            .status,
        5
    );
    assert_eq!(
        text(&client.json(&["runs", "wait", &run_id])?, "/reply")?,
        "late"
    );
    deployment.stop()
}

#[test]
fn nobody_at_the_address_is_a_failure_that_names_it() -> anyhow::Result<()> {
    let nobody = "http://127.0.0.1:1";
    let client = Client::new(vec![("--endpoint", nobody.to_owned())])?;
    let answer = client.run(&["sessions", "list"])?;
    demand(&answer, 1, &[nobody], "nobody listens")
}
