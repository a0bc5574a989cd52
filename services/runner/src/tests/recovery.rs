//! A process that is killed, and the next one on what it left.

use confab_model::channel::Route;
use confab_model::message::Role;
use confab_proto::runner::v1::{SendMessageRequest, SendRequest};
use confab_proto::types::v1::{DeliveryStatus, FlowState, RunState};
use confab_rpc::error::Reason;
use confab_rpc::gate::Action;
use serde_json::{Value, json};

use crate::testing::{Fault, House, World, agents, message, post, route, script, with};

const MAIN: &str = "agent:main:main";
const B: &str = "agent:b:main";

fn hanging() -> Value {
    script(&json!([{ "hang": true }]))
}

#[test]
fn what_was_accepted_runs_in_the_next_life_and_its_key_is_known() {
    let world = World::new();
    let request = || SendMessageRequest {
        idempotency_key: Some("k".to_owned()),
        ..message(MAIN, "hello")
    };
    let first = world.live(&hanging(), async |house| {
        house
            .operator()
            .send_message(request())
            .await
            .unwrap()
            .into_inner()
            .run
            .unwrap()
    });
    world.live(&script(&json!([])), async |house| {
        let again = house
            .operator()
            .send_message(request())
            .await
            .unwrap()
            .into_inner();
        assert_eq!(again.run.unwrap().run_id, first.run_id);
        let ended = house.ended(&first.run_id).await;
        assert_eq!(ended.reply.as_deref(), Some("echo: hello"));
        assert_eq!(house.runs().await.len(), 1);
        assert_eq!(
            house.transcript.lines(MAIN),
            ["User: hello", "Assistant: echo: hello"]
        );
    });
}

#[test]
fn a_run_that_was_cut_off_is_repeated_as_the_same_run() {
    let world = World::new();
    let (run, behind) = world.live(&hanging(), async |house| {
        let run = house.human(MAIN, "hello").await;
        let run = house.at_work(&run).await;
        (run, house.human(MAIN, "behind").await)
    });
    world.live(
        &script(&json!([{ "reply": "{message} {count}" }])),
        async |house| {
            let ended = house.ended(&run.run_id).await;
            assert_eq!((ended.attempts, ended.ordinal), (2, run.ordinal));
            assert_eq!(ended.started_at, run.started_at);
            house.ended(&behind.run_id).await;
            let wanted = [
                "User: hello",
                "Assistant: hello 1",
                "User: behind",
                "Assistant: behind 2",
            ];
            assert_eq!(house.transcript.lines(MAIN), wanted);
        },
    );
}

#[test]
fn a_reply_that_was_decided_is_written_in_the_next_life_and_not_made_again() {
    let world = World::new();
    let run = world.live(&script(&json!([])), async |house| {
        house
            .transcript
            .fail(Role::Assistant, Fault::Refused(Reason::Unavailable));
        let run = house.human(MAIN, "hello").await;
        house.registry.told(3).await;
        assert_eq!(
            house.get_run(&run.run_id).await.state(),
            RunState::Succeeded
        );
        run
    });
    assert_eq!(world.transcript.lines(MAIN), ["User: hello"]);
    world.transcript.mend();
    world.live(
        &script(&json!([{ "reply": "something else" }])),
        async |house| {
            let ended = house.ended(&run.run_id).await;
            assert_eq!(
                (ended.reply.as_deref(), ended.attempts),
                (Some("echo: hello"), 1)
            );
            assert_eq!(
                house.transcript.lines(MAIN),
                ["User: hello", "Assistant: echo: hello"]
            );
            let next = house.human(MAIN, "next").await;
            assert_eq!(
                house.ended(&next.run_id).await.reply.as_deref(),
                Some("something else")
            );
        },
    );
}

#[test]
fn a_run_that_no_life_survives_ends_interrupted() {
    let world = World::new();
    let config = |rules: &Value| with(script(rules), "confab.runs", json!({ "maxAttempts": 2 }));
    let hang = json!([{ "match": "^hang$", "hang": true }]);
    let run = world.live(&config(&hang), async |house| {
        let run = house.human(MAIN, "hang").await;
        house.at_work(&run).await
    });
    // So that the second attempt is told as another one.
    world.clock.advance_millis(1000);
    world.live(&config(&hang), async |house| {
        house.registry.told(3).await;
        assert_eq!(house.get_run(&run.run_id).await.attempts, 2);
    });
    world.live(&config(&hang), async |house| {
        let ended = house.ended(&run.run_id).await;
        assert_eq!(ended.state(), RunState::Interrupted);
        assert_eq!(ended.error.unwrap().class, "interrupted");
        let next = house.human(MAIN, "next").await;
        assert_eq!(
            house.ended(&next.run_id).await.reply.as_deref(),
            Some("echo: next")
        );
    });
}

#[test]
fn a_delivery_that_waited_leaves_once_in_the_next_life() {
    let world = World::new();
    world
        .registry
        .refuse(Action::Deliver, Some(Reason::Unavailable));
    let flow_id = world.live(&script(&json!([])), async |house| {
        let request = SendMessageRequest {
            route: Some(route("discord", "group:1")),
            ..message(MAIN, "hello")
        };
        let sent = house
            .operator()
            .send_message(request)
            .await
            .unwrap()
            .into_inner();
        house.registry.until_asked(Action::Deliver, MAIN).await;
        sent.run.unwrap().flow_id
    });
    world.registry.refuse(Action::Deliver, None);
    world.live(&script(&json!([])), async |house| {
        let (flow, _) = house.done(&flow_id).await;
        assert_eq!(flow.delivery.unwrap().status(), DeliveryStatus::Delivered);
        assert_eq!(house.deliveries().await.len(), 1);
    });
}

#[test]
fn a_tool_call_of_a_repeated_run_meets_what_it_did_before() {
    let tool = json!({ "name": "sessions_send", "arguments": {
        "sessionKey": B, "message": "ping", "timeoutSeconds": 40,
    } });
    let config = |hang: bool| {
        let main = json!([{ "step": "human", "tools": [tool], "reply": "{toolResult}" }]);
        agents(&json!({ "main": main, "b": [{ "hang": hang, "reply": "pong" }] }))
    };
    let world = World::new();
    let run = world.live(&config(true), async |house| {
        let run = house.human(MAIN, "go").await;
        // Both inputs are stored: the other side is at work, and the tool waits for it.
        house.transcript.until_holds(2).await;
        run
    });
    world.live(&config(false), async |house| {
        let run = house.ended(&run.run_id).await;
        assert_eq!(run.attempts, 2);
        assert!(run.reply.unwrap().contains("\"reply\":\"pong\""));
        assert_eq!(house.runs().await.len(), 2);
        assert_eq!(house.transcript.lines(B), ["User: ping", "Assistant: pong"]);
    });
}

fn once() -> SendRequest {
    SendRequest {
        idempotency_key: Some("k".to_owned()),
        ..post(B, "go")
    }
}

/// The end of a send with two turns and an announcement, however often its process was killed.
async fn check_end(house: &House, flow_id: &str) {
    let (flow, runs) = house.done(flow_id).await;
    assert_eq!((flow.state(), flow.turns), (FlowState::Done, 2));
    assert_eq!(runs.len(), 4);
    assert!(
        runs.iter().all(|run| run.state() == RunState::Succeeded),
        "{runs:?}"
    );
    let deliveries = house.deliveries().await;
    assert_eq!(flow.delivery_ids, [deliveries[0].delivery_id.clone()]);
    assert_eq!(deliveries.len(), 1);
    let target = [
        "User: go",
        "Assistant: echo: go",
        "User: echo: echo: go",
        "Assistant: echo: echo: echo: go",
        "Assistant: announced",
    ];
    assert_eq!(house.transcript.lines(B), target);
    assert_eq!(
        house.transcript.lines(MAIN),
        ["User: echo: go", "Assistant: echo: echo: go"]
    );
    assert_eq!(house.runs().await.len(), 4);
}

#[test]
fn a_send_ends_the_same_wherever_its_process_was_killed() {
    let rules = json!([{ "step": "announce", "reply": "announced" }]);
    let config = with(
        agents(&json!({ "main": [], "b": rules })),
        "session.agentToAgent.maxPingPongTurns",
        json!(2),
    );
    // Seven messages are stored and nine records told: a kill after each of them.
    for (messages, records) in (0..=7).map(|n| (n, 0)).chain((1..=9).map(|n| (0, n))) {
        let world = World::new();
        let discord = Route {
            channel: "discord".to_owned(),
            to: "group:1".to_owned(),
            account_id: None,
            thread_id: None,
        };
        world.registry.route(B, discord);
        let flow_id = world.live(&config, async |house| {
            let sent = house.agent(MAIN).send(once()).await.unwrap().into_inner();
            house.transcript.until_holds(messages).await;
            house.registry.told(records).await;
            sent.flow_id
        });
        world.live(&config, async |house| {
            let again = house.agent(MAIN).send(once()).await.unwrap().into_inner();
            assert_eq!(again.flow_id, flow_id);
            check_end(house, &flow_id).await;
        });
    }
}
