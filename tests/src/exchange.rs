//! The main job: a person asks the writer, the writer asks the editor, they talk for two turns, and
//! the editor announces the result in its channel.

use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::home::script;
use crate::json::{self, list, message_text, only};

/// The session a person writes to.
pub const WRITER: &str = "agent:writer:main";
/// The session in a Slack channel that the writer asks.
pub const EDITOR: &str = "agent:editor:slack:channel:reviews";

/// The command line that makes the editor's session.
const CREATE_EDITOR: [&str; 11] = [
    "sessions",
    "create",
    EDITOR,
    "--channel",
    "slack",
    "--to",
    "channel:reviews",
    "--account",
    "kev",
    "--thread",
    "17.5",
];

/// The two agents.
pub fn agents() -> [Value; 2] {
    let send = json!({
        "name": "sessions_send",
        "arguments": { "sessionKey": EDITOR, "message": "is the draft ready?", "timeoutSeconds": 30 },
    });
    [
        script(
            "writer",
            &json!([
                { "step": "human", "match": "review", "tools": [send], "reply": "The editor was asked." },
                { "step": "reply", "reply": "Anything else?" },
            ]),
        ),
        script(
            "editor",
            &json!([
                { "step": "send", "reply": "One remark." },
                { "step": "reply", "reply": "REPLY_SKIP" },
                { "step": "announce", "reply": "The draft is reviewed." },
            ]),
        ),
    ]
}

/// Makes the editor's session with its whole route.
///
/// # Errors
/// When it is refused.
pub fn prepare(client: &Client) -> anyhow::Result<Value> {
    client.json(&CREATE_EDITOR)
}

/// Says the person's words and waits for the writer's answer.
///
/// # Errors
/// When the command cannot be started or does not end.
pub fn ask(client: &Client) -> anyhow::Result<Answer> {
    client.run(&["chat", WRITER, "please review"])
}

/// Waits until the person's message is answered and every flow is done.
///
/// # Errors
/// When something does not end in time.
pub fn settle(client: &Client) -> anyhow::Result<()> {
    let runs = client.json(&["runs", "list", "--session", WRITER])?;
    for run in list(&runs, "/runs")? {
        client.json(&[
            "runs",
            "wait",
            &json::text(run, "/runId")?,
            "--seconds",
            "60",
        ])?;
    }
    // Only now is it certain that the writer's flow with the editor exists.
    let flows = client.json(&["flows", "list"])?;
    for flow in list(&flows, "/flows")? {
        client.json(&[
            "flows",
            "wait",
            &json::text(flow, "/flowId")?,
            "--seconds",
            "60",
        ])?;
    }
    Ok(())
}

/// All there is to see afterwards, without ids, times and attempts: both histories, the runs in
/// their order, the flows and the deliveries.
///
/// # Errors
/// When something cannot be read.
pub fn end_state(client: &Client) -> anyhow::Result<Value> {
    Ok(json!({
        "writer": transcript(client, WRITER)?,
        "editor": transcript(client, EDITOR)?,
        "runs": runs(client)?,
        "flows": flows(client)?,
        "deliveries": deliveries(client)?,
    }))
}

fn transcript(client: &Client, session: &str) -> anyhow::Result<Vec<Value>> {
    let messages = client.history(session)?;
    Ok(messages.iter().map(shown).collect())
}

/// A message as a test compares it.
pub fn shown(message: &Value) -> Value {
    let mut shown = only(message, &["role"]);
    let text = Value::from(message_text(message));
    json::merge(&mut shown, json!({ "text": text }));
    if let Some(provenance) = message.get("provenance") {
        let fields = only(provenance, &["kind", "sourceSessionKey", "sourceTool"]);
        json::merge(&mut shown, json!({ "provenance": fields }));
    }
    shown
}

fn runs(client: &Client) -> anyhow::Result<Vec<Value>> {
    let names = [
        "sessionKey",
        "step",
        "state",
        "input",
        "reply",
        "hop",
        "delivery",
    ];
    let found = client.json(&["runs", "list"])?;
    let oldest_first = list(&found, "/runs")?.iter().rev();
    Ok(oldest_first.map(|run| only(run, &names)).collect())
}

fn flows(client: &Client) -> anyhow::Result<Vec<Value>> {
    let names = [
        "kind",
        "requester",
        "target",
        "state",
        "turns",
        "stopReason",
        "lastSpeaker",
        "hop",
    ];
    let found = client.json(&["flows", "list"])?;
    let oldest_first = list(&found, "/flows")?.iter().rev();
    Ok(oldest_first.map(|flow| only(flow, &names)).collect())
}

fn deliveries(client: &Client) -> anyhow::Result<Vec<Value>> {
    let names = [
        "sessionKey",
        "channel",
        "to",
        "accountId",
        "threadId",
        "text",
        "state",
    ];
    let found = client.json(&["deliveries", "list"])?;
    let oldest_first = list(&found, "/deliveries")?.iter().rev();
    Ok(oldest_first
        .map(|delivery| only(delivery, &names))
        .collect())
}

/// The end state of a run that nobody disturbs.
pub fn expected() -> Value {
    let from = |session: &str| json!({ "kind": "inter_session", "sourceSessionKey": session, "sourceTool": "sessions_send" });
    let announced = json!({ "status": "delivered", "mode": "announce" });
    let answered = json!({ "status": "none", "mode": "none" });
    let run = |session: &str, step: &str, input: &str, reply: &str, delivery: &Value| {
        json!({
            "sessionKey": session, "step": step, "state": "succeeded", "input": input,
            "reply": reply, "hop": 0, "delivery": delivery,
        })
    };
    json!({
        "writer": [
            { "role": "user", "text": "please review", "provenance": { "kind": "external_user" } },
            { "role": "assistant", "text": "The editor was asked." },
            { "role": "user", "text": "One remark.", "provenance": from(EDITOR) },
            { "role": "assistant", "text": "Anything else?" },
        ],
        "editor": [
            { "role": "user", "text": "is the draft ready?", "provenance": from(WRITER) },
            { "role": "assistant", "text": "One remark." },
            { "role": "user", "text": "Anything else?", "provenance": from(WRITER) },
            { "role": "assistant", "text": "The draft is reviewed." },
        ],
        "runs": [
            run(WRITER, "human", "please review", "The editor was asked.", &answered),
            run(EDITOR, "send", "is the draft ready?", "One remark.", &announced),
            run(WRITER, "reply", "One remark.", "Anything else?", &announced),
            run(EDITOR, "reply", "Anything else?", "REPLY_SKIP", &announced),
            run(
                EDITOR,
                "announce",
                "is the draft ready?\n\nOne remark.\n\nAnything else?",
                "The draft is reviewed.",
                &announced,
            ),
        ],
        "flows": [
            { "kind": "human", "target": WRITER, "state": "done", "turns": 0, "hop": 0 },
            {
                "kind": "send", "requester": WRITER, "target": EDITOR, "state": "done", "turns": 2,
                "stopReason": "reply_skip", "lastSpeaker": "target", "hop": 0,
            },
        ],
        "deliveries": [{
            "sessionKey": EDITOR, "channel": "slack", "to": "channel:reviews", "accountId": "kev",
            "threadId": "17.5", "text": "The draft is reviewed.", "state": "delivered",
        }],
    })
}

/// The end state where the writer's send was refused: the person is answered, and nothing else has
/// happened.
pub fn expected_unsent() -> Value {
    let mut end = expected();
    for (list, kept) in [
        ("writer", 2),
        ("editor", 0),
        ("runs", 1),
        ("flows", 1),
        ("deliveries", 0),
    ] {
        if let Some(items) = end.get_mut(list).and_then(Value::as_array_mut) {
            items.truncate(kept);
        }
    }
    end
}
