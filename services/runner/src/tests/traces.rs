//! What a run's transcript shows of the tools it called.

use confab_model::limits::MESSAGE_BYTES_MAX;
use confab_model::message::{Block, NewMessage, Role};
use confab_proto::types::v1::RunState;
use confab_rpc::error::Reason;
use serde_json::{Value, json};

use crate::testing::{Fault, World, agents, with};

const MAIN: &str = "agent:main:main";
const B: &str = "agent:b:main";

fn ask(message: &str, seconds: u32) -> Value {
    json!({ "name": "sessions_send", "arguments": {
        "sessionKey": B, "message": message, "timeoutSeconds": seconds,
    } })
}

/// A tool's answer, as it was stored.
fn result(message: &NewMessage) -> Value {
    assert_eq!(message.role, Role::ToolResult);
    let [Block::Text(text)] = message.blocks.as_slice() else {
        panic!("{message:?}")
    };
    serde_json::from_str(text).unwrap()
}

/// A tool's arguments, as they were stored.
fn arguments(message: &NewMessage) -> Value {
    let [Block::ToolCall { arguments, .. }] = message.blocks.as_slice() else {
        panic!("{message:?}")
    };
    Value::Object(arguments.clone())
}

#[test]
fn what_is_too_large_for_a_message_is_left_out_and_said() {
    let long = "x".repeat(MESSAGE_BYTES_MAX);
    let main = json!([{
        "step": "human",
        "match": "^x",
        "tools": [ask("short", 30), ask("{message}", 30)],
        "reply": "done",
    }]);
    let b = json!([{ "match": "^short$", "reply": "short" }, { "reply": "{message}" }]);
    World::new().live(&agents(&json!({ "main": main, "b": b })), async |house| {
        let run = house.human(MAIN, &long).await;
        let run = house.ended(&run.run_id).await;
        assert_eq!(run.reply.as_deref(), Some("done"));
        let stored = house.transcript.messages(MAIN);
        assert_eq!(stored.len(), 6);
        assert_eq!(arguments(&stored[1])["message"], "short");
        assert_eq!(result(&stored[2])["reply"], "short");
        let bytes = ask(&long, 30)["arguments"].to_string().len();
        let note = format!("the arguments had {bytes} bytes; at most 1048576 are kept");
        assert_eq!(arguments(&stored[3]), json!({ "omitted": note }));
        let note = result(&stored[4])["omitted"].as_str().unwrap().to_owned();
        assert!(note.starts_with("the result had 10"), "{note}");
        assert!(note.ends_with(" bytes; at most 1048576 are kept"), "{note}");
        assert!(!stored[4].is_error);
    });
}

#[test]
fn a_run_that_takes_too_long_shows_the_calls_it_made() {
    let main = json!([{ "step": "human", "tools": [ask("one", 0), ask("two", 30)] }]);
    let config = agents(&json!({ "main": main, "b": [{ "hang": true }] }));
    let config = with(config, "agents.defaults", json!({ "timeoutSeconds": 1 }));
    World::new().live(&config, async |house| {
        let run = house.human(MAIN, "go").await;
        let run = house.ended(&run.run_id).await;
        assert_eq!(run.state(), RunState::TimedOut);
        let stored = house.transcript.messages(MAIN);
        assert_eq!(stored.len(), 5, "{stored:?}");
        assert_eq!(arguments(&stored[1])["message"], "one");
        assert_eq!(result(&stored[2])["status"], "accepted");
        // The second send happened too, though nobody waited for its end.
        assert_eq!(arguments(&stored[3])["message"], "two");
        assert_eq!(result(&stored[4])["status"], "error");
        assert_eq!([stored[2].is_error, stored[4].is_error], [false, true]);
        assert_eq!(house.runs().await.len(), 3);
    });
}

#[test]
fn a_run_whose_input_cannot_be_stored_shows_the_calls_it_made() {
    let main = json!([{ "step": "human", "tools": [ask("one", 0)], "reply": "done" }]);
    World::new().live(&agents(&json!({ "main": main, "b": [] })), async |house| {
        let unavailable = Fault::Refused(Reason::Unavailable);
        house.transcript.fail(Role::User, unavailable);
        let run = house.human(MAIN, "go").await;
        // The agent began without waiting for its input.
        while house.runs().await.len() < 2 {}
        let archived = Fault::Refused(Reason::SessionArchived);
        house.transcript.fail(Role::User, archived);
        let run = house.ended(&run.run_id).await;
        assert_eq!(run.error.unwrap().class, "transcript_unavailable");
        let stored = house.transcript.messages(MAIN);
        assert_eq!(stored.len(), 2, "{stored:?}");
        assert_eq!(arguments(&stored[0])["message"], "one");
    });
}
