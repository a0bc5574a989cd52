//! Who runs when.

use confab_model::message::Role;
use confab_proto::types::v1::RunState;
use futures::future::join_all;
use serde_json::json;

use crate::testing::{Fault, World, agents, post, script, send};

const MAIN: &str = "agent:main:main";

#[test]
fn a_hundred_sends_to_one_session_run_one_at_a_time_and_each_gets_its_own_answer() {
    World::new().live(&script(&json!([])), async |house| {
        let sends = (0..100).map(|number| async move {
            let text = format!("m{number}");
            let sent = house
                .operator()
                .send(send(MAIN, &text))
                .await
                .unwrap()
                .into_inner();
            assert_eq!(sent.reply, Some(format!("echo: {text}")));
        });
        join_all(sends).await;
        let lines = house.transcript.lines(MAIN);
        assert_eq!(lines.len(), 200);
        for pair in lines.chunks(2) {
            let text = pair[0].strip_prefix("User: ").unwrap();
            assert_eq!(pair[1], format!("Assistant: echo: {text}"));
        }
        let runs = house.runs().await;
        let mut ordinals: Vec<i64> = runs.iter().map(|run| run.ordinal).collect();
        ordinals.sort_unstable();
        assert_eq!(ordinals, (1..=100).collect::<Vec<_>>());
    });
}

#[test]
fn a_session_answers_people_first_and_then_in_the_order_of_acceptance() {
    World::new().live(&script(&json!([])), async |house| {
        house.transcript.fail(Role::User, Fault::Held);
        house.human(MAIN, "first").await;
        house.transcript.until_met(1).await;
        let mut last = String::new();
        for text in ["s1", "s2", "s3"] {
            last = house
                .operator()
                .send(post(MAIN, text))
                .await
                .unwrap()
                .into_inner()
                .run_id;
        }
        house.human(MAIN, "person").await;
        house.transcript.mend();
        house.ended(&last).await;
        let asked = house
            .transcript
            .lines(MAIN)
            .into_iter()
            .step_by(2)
            .collect::<Vec<_>>();
        let wanted = ["first", "person", "s1", "s2", "s3"].map(|text| format!("User: {text}"));
        assert_eq!(asked, wanted);
    });
}

#[test]
fn an_agent_that_hangs_holds_up_its_own_session_only() {
    let rules = json!([{ "match": "^hang$", "hang": true }]);
    World::new().live(&script(&rules), async |house| {
        let hanging = house.human(MAIN, "hang").await;
        house.at_work(&hanging).await;
        let behind = house.human(MAIN, "behind").await;
        let others = (0..20).map(|number| async move {
            let session = format!("agent:main:s{number}");
            let run = house.human(&session, "hello").await;
            house.ended(&run.run_id).await.state()
        });
        let states = join_all(others).await;
        assert!(states.iter().all(|state| *state == RunState::Succeeded));
        assert_eq!(
            house.get_run(&behind.run_id).await.state(),
            RunState::Queued
        );
    });
}

#[test]
fn a_round_one_reply_is_answered_before_the_callers_own_turn_of_the_loop() {
    let rules = json!({
        "main": [{
            "step": "human",
            "tools": [{ "name": "sessions_send", "arguments": {
                "sessionKey": "agent:b:main", "message": "ping", "timeoutSeconds": 30,
            } }],
            "reply": "{toolResult}",
        }],
        "b": [],
    });
    let config = crate::testing::with(
        agents(&rules),
        "session.agentToAgent.maxPingPongTurns",
        json!(1),
    );
    World::new().live(&config, async |house| {
        let run = house.human(MAIN, "go").await;
        let run = house.ended(&run.run_id).await;
        assert!(run.reply.unwrap().contains("\"reply\":\"echo: ping\""));
        let flow_id = house.runs().await.pop().unwrap().flow_id;
        house.done(&flow_id).await;
        // The turn came after the run that had sent.
        let lines = house.transcript.lines(MAIN);
        let turn = lines
            .iter()
            .position(|line| line == "User: echo: ping")
            .unwrap();
        let reply = lines
            .iter()
            .position(|line| line.starts_with("Assistant: {"))
            .unwrap();
        assert!(reply < turn, "{lines:?}");
    });
}

#[test]
fn a_run_that_waits_too_long_is_given_up_and_one_at_work_is_not() {
    // D78
    let world = World::new();
    world.live(&script(&json!([])), async |house| {
        house.transcript.fail(Role::User, Fault::Held);
        let at_work = house.human(MAIN, "first").await;
        house.transcript.until_met(1).await;
        let waits = house.human(MAIN, "second").await;
        world.clock.advance_millis(86_400_000);
        house.tidy().await;
        let young = house.get_run(&waits.run_id).await;
        assert_eq!(young.state(), RunState::Queued);
        world.clock.advance_millis(1);
        house.tidy().await;
        let given_up = house.ended(&waits.run_id).await;
        assert_eq!(given_up.state(), RunState::Interrupted);
        assert_eq!(given_up.error.unwrap().class, "queue_expired");
        house.transcript.mend();
        let answered = house.ended(&at_work.run_id).await;
        assert_eq!(answered.reply.as_deref(), Some("echo: first"));
    });
}
