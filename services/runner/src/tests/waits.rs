//! Rings of waits, chains of sends, and tools.

use std::collections::BTreeSet;
use std::pin::pin;

use confab_model::message::{Block, Role};
use confab_proto::runner::v1::{SendRequest, SendStatus, WaitFlowRequest};
use confab_proto::types::v1::{Run, RunState};
use confab_rpc::error::Reason;
use futures::FutureExt as _;
use serde_json::{Value, json};

use crate::testing::{Fault, House, World, agents, reason, script, send, with};

const A: &str = "agent:a:main";
const B: &str = "agent:b:main";
const C: &str = "agent:c:main";

/// A rule that sends on and answers with what came of it.
fn forward(to: &str, seconds: u32) -> Value {
    json!([{
        "tools": [{ "name": "sessions_send", "arguments": {
            "sessionKey": to, "message": "on: {message}", "timeoutSeconds": seconds,
        } }],
        "reply": "{toolResult}",
    }])
}

/// Every run, when all have ended and none can follow.
async fn all_ended(house: &House) -> Vec<Run> {
    loop {
        let runs = house.runs().await;
        for run in &runs {
            house.ended(&run.run_id).await;
        }
        if house.runs().await.len() == runs.len() {
            return house.runs().await;
        }
    }
}

#[test]
fn a_wait_that_would_close_a_ring_is_refused_with_its_path_and_leaves_nothing() {
    for (rules, path) in [
        (
            json!({ "a": forward(B, 30), "b": forward(A, 30) }),
            [B, A, B].join(" → "),
        ),
        (
            json!({ "a": forward(B, 30), "b": forward(C, 30), "c": forward(A, 30) }),
            [C, A, B, C].join(" → "),
        ),
    ] {
        World::new().live(&agents(&rules), async |house| {
            let run = house.human(A, "go").await;
            let reply = house.ended(&run.run_id).await.reply.unwrap();
            assert!(reply.contains(&path), "{reply}");
            let runs = all_ended(house).await;
            let sessions: Vec<&str> = runs.iter().map(|run| run.session_key.as_str()).collect();
            let unique: BTreeSet<&str> = sessions.iter().copied().collect();
            assert_eq!(unique.len(), sessions.len(), "no session got a second run");
            assert!(runs.iter().all(|run| run.state() == RunState::Succeeded));
        });
    }
}

#[test]
fn a_waited_send_to_oneself_is_refused_and_one_that_does_not_wait_is_not() {
    World::new().live(&script(&json!([])), async |house| {
        let own = "agent:main:main";
        let refused = house.agent(own).send(send(own, "hello")).await.unwrap_err();
        assert_eq!(reason(&refused), Reason::WaitRing);
        assert!(refused.message().contains(&[own, own].join(" → ")));
        assert!(house.runs().await.is_empty());
        let request = SendRequest {
            timeout_seconds: Some(0),
            ..send(own, "hello")
        };
        let sent = house.agent(own).send(request).await.unwrap().into_inner();
        assert_eq!(sent.status(), SendStatus::Accepted);
        let (flow, runs) = house.done(&sent.flow_id).await;
        assert_eq!((flow.turns, runs.len()), (0, 1));
    });
}

#[test]
fn a_chain_of_sends_ends_at_its_last_hop_and_names_itself() {
    let config = agents(&json!({ "a": forward(B, 0), "b": forward(A, 0) }));
    let config = with(config, "session.agentToAgent.maxHops", json!(3));
    World::new().live(&config, async |house| {
        house.human(A, "go").await;
        let runs = all_ended(house).await;
        // The person's run, and sends of hop 0 to 3.
        let hops: Vec<i32> = runs.iter().map(|run| run.hop).collect();
        assert_eq!(hops, [0, 0, 1, 2, 3]);
        let chain = &runs[0].chain_id;
        assert!(runs.iter().all(|run| run.chain_id == *chain));
        let last = runs.last().unwrap().reply.as_deref().unwrap();
        assert!(
            last.contains(chain.as_str()) && last.contains("maxHops"),
            "{last}"
        );
        assert_eq!(runs[1].parent_run_id.as_ref(), Some(&runs[0].run_id));
    });
}

#[test]
fn a_wait_that_is_over_lets_the_other_side_wait() {
    let config = agents(&json!({ "a": forward(B, 0), "b": forward(A, 1) }));
    let config = with(config, "session.agentToAgent.maxHops", json!(1));
    World::new().live(&config, async |house| {
        house.human(A, "go").await;
        let runs = all_ended(house).await;
        assert_eq!(runs.len(), 3, "{runs:?}");
        assert!(
            runs[1].reply.as_deref().unwrap().contains("\"runId\""),
            "{runs:?}"
        );
    });
}

#[test]
fn tool_calls_are_written_down_in_order_and_named_by_their_run() {
    let tool = |to: &str, text: &str| {
        json!({ "name": "sessions_send", "arguments": {
            "sessionKey": to, "message": text, "timeoutSeconds": 30,
        } })
    };
    let rules = json!([{
        "step": "human",
        "tools": [tool(B, "one $0"), tool("agent:broken", "two")],
        "match": "go",
        "reply": "done: {toolResult}",
    }]);
    World::new().live(&agents(&json!({ "a": rules, "b": [] })), async |house| {
        let run = house.human(A, "go").await;
        let run = house.ended(&run.run_id).await;
        assert!(
            run.reply
                .as_deref()
                .unwrap()
                .starts_with("done: {\"status\":\"error\"")
        );
        let stored = house.transcript.messages(A);
        let shown: Vec<_> = stored
            .iter()
            .map(|one| (one.role, one.key.as_str()))
            .collect();
        let key = |part: &str| format!("run:{}:{part}", run.run_id);
        let wanted = [
            (Role::User, key("input")),
            (Role::Assistant, key("tool:0:call")),
            (Role::ToolResult, key("tool:0:result")),
            (Role::Assistant, key("tool:1:call")),
            (Role::ToolResult, key("tool:1:result")),
            (Role::Assistant, key("reply")),
        ];
        let wanted: Vec<_> = wanted
            .iter()
            .map(|(role, key)| (*role, key.as_str()))
            .collect();
        assert_eq!(shown, wanted);
        let Block::ToolCall {
            id,
            name,
            arguments,
        } = &stored[1].blocks[0]
        else {
            panic!()
        };
        assert_eq!(
            (name.as_str(), &arguments["message"]),
            ("sessions_send", &json!("one go"))
        );
        assert_eq!(stored[2].tool_call_id.as_ref(), Some(id));
        assert_eq!([stored[2].is_error, stored[4].is_error], [false, true]);
        // The tool's call had the run's name: the same call again meets its run.
        let runs = house.runs().await;
        let again = SendRequest {
            idempotency_key: Some(format!("run:{}:0", run.run_id)),
            ..send(B, "one go")
        };
        let again = house.agent(A).send(again).await.unwrap().into_inner();
        assert_eq!(again.run_id, runs[1].run_id);
        assert_eq!(runs[1].parent_run_id, Some(run.run_id));
        assert_eq!(house.runs().await.len(), runs.len());
    });
}

#[test]
fn the_waits_of_runs_are_forgotten_when_they_are_over() {
    World::new().live(
        &agents(&json!({ "a": forward(B, 30), "b": [] })),
        async |house| {
            let run = house.human(A, "go").await;
            let run = house.ended(&run.run_id).await;
            let sent = house
                .agent_in(&run)
                .send(send(B, "again"))
                .await
                .unwrap()
                .into_inner();
            assert_eq!(sent.status(), SendStatus::Ok);
        },
    );
}

#[test]
fn whoever_waits_for_a_flow_is_answered_when_its_replies_are_in_the_transcript() {
    World::new().live(&script(&json!([])), async |house| {
        house
            .transcript
            .fail(Role::Assistant, Fault::Refused(Reason::Unavailable));
        let run = house.human("agent:main:main", "hello").await;
        let request = WaitFlowRequest {
            flow_id: run.flow_id,
            timeout_seconds: Some(40),
        };
        let mut client = house.operator();
        let mut waits = pin!(client.wait_flow(request));
        tokio::select! {
            answer = &mut waits => panic!("{answer:?}"),
            () = house.transcript.until_met(3) => {},
        }
        assert!(waits.as_mut().now_or_never().is_none());
        house.transcript.mend();
        let waited = waits.await.unwrap().into_inner();
        assert!(!waited.timed_out);
        assert_eq!(waited.runs[0].reply.as_deref(), Some("echo: hello"));
        let lines = house.transcript.lines("agent:main:main");
        assert_eq!(lines, ["User: hello", "Assistant: echo: hello"]);
    });
}
