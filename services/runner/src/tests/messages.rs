//! People's messages and sends: what is stored, answered, delivered and told.

use std::pin::pin;

use confab_model::limits::MESSAGE_BYTES_MAX;
use confab_model::message::{ProvenanceKind, Role};
use confab_proto::registry::v1::ActivityRecord;
use confab_proto::runner::v1::{SendMessageRequest, SendRequest, SendStatus};
use confab_proto::types::v1::{DeliveryState, DeliveryStatus, FlowState, RunState, Step};
use confab_rpc::error::Reason;
use confab_rpc::gate::Action;
use futures::FutureExt as _;
use serde_json::json;

use crate::testing::{
    Fault, World, agents, key, message, post, reason, route, script, send, wait_run, with,
};

const MAIN: &str = "agent:main:main";
const B: &str = "agent:b:main";

#[test]
fn a_person_is_answered_where_the_message_came_from() {
    World::new().live(&script(&json!([])), async |house| {
        let request = SendMessageRequest {
            route: Some(route("discord", "group:1")),
            sender: Some("ada".to_owned()),
            ..message(MAIN, "hello")
        };
        let sent = house
            .operator()
            .send_message(request)
            .await
            .unwrap()
            .into_inner()
            .run
            .unwrap();
        assert_eq!(sent.step(), Step::Human);
        let (flow, runs) = house.done(&sent.flow_id).await;
        assert_eq!(flow.delivery.unwrap().status(), DeliveryStatus::Delivered);
        assert_eq!(runs[0].reply.as_deref(), Some("echo: hello"));
        let delivered = house.deliveries().await.remove(0);
        assert_eq!(
            (delivered.text.as_str(), delivered.attempts),
            ("echo: hello", 1)
        );
        assert_eq!(delivered.route, Some(route("discord", "group:1")));
        assert_eq!(
            house.transcript.lines(MAIN),
            ["User: hello", "Assistant: echo: hello"]
        );
        let stored = house.transcript.messages(MAIN);
        let provenance = stored[0].provenance.clone().unwrap();
        assert_eq!(provenance.kind, ProvenanceKind::ExternalUser);
        assert_eq!(provenance.source_channel.as_deref(), Some("discord"));
        assert_eq!(provenance.sender.as_deref(), Some("ada"));
        let told = house.registry.told(3).await;
        assert_eq!(told[0].inbound_route, Some(route("discord", "group:1")));
        let states: Vec<_> = told.iter().map(ActivityRecord::state).collect();
        assert_eq!(
            states,
            [RunState::Queued, RunState::Running, RunState::Succeeded]
        );
    });
}

#[test]
fn a_person_without_a_route_is_answered_by_the_run_alone() {
    World::new().live(&script(&json!([])), async |house| {
        let run = house.human(MAIN, "hello").await;
        let (flow, _) = house.done(&run.flow_id).await;
        assert_eq!(flow.delivery.unwrap().status(), DeliveryStatus::None);
        assert!(house.deliveries().await.is_empty());
    });
}

#[test]
fn the_note_on_another_session_is_in_the_prompt_and_not_in_the_stored_body() {
    let rules = json!([{ "step": "send", "reply": "{prompt}" }]);
    World::new().live(&agents(&json!({ "main": [], "b": rules })), async |house| {
        let sent = house
            .agent(MAIN)
            .send(send(B, "do it"))
            .await
            .unwrap()
            .into_inner();
        let prompt = sent.reply.unwrap();
        let prefix = format!("[Inter-session message] sourceSession={MAIN} ");
        assert!(prompt.starts_with(&prefix), "{prompt}");
        let stored = house.transcript.messages(B).remove(0);
        assert_eq!(house.transcript.lines(B)[0], "User: do it");
        let provenance = stored.provenance.unwrap();
        assert_eq!(provenance.kind, ProvenanceKind::InterSession);
        assert_eq!(provenance.source_session_key, Some(key(MAIN)));
        assert_eq!(provenance.source_tool.as_deref(), Some("sessions_send"));
    });
}

#[test]
fn a_repeated_send_meets_the_first_run_even_after_its_end() {
    World::new().live(&script(&json!([])), async |house| {
        let once = |request: SendRequest| SendRequest {
            idempotency_key: Some("k".to_owned()),
            ..request
        };
        let first = house
            .operator()
            .send(once(post(MAIN, "one")))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(first.status(), SendStatus::Accepted);
        // How long the caller waits is no part of what it says.
        let second = house
            .operator()
            .send(once(send(MAIN, "one")))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(second.status(), SendStatus::Ok);
        assert_eq!(
            (&second.run_id, &second.flow_id),
            (&first.run_id, &first.flow_id)
        );
        let third = house
            .operator()
            .send(once(send(MAIN, "one")))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(
            (third.run_id, third.reply.as_deref()),
            (first.run_id, Some("echo: one"))
        );
        let refused = house
            .operator()
            .send(once(send(MAIN, "two")))
            .await
            .unwrap_err();
        assert_eq!(reason(&refused), Reason::KeyReused);
        // Another caller's key is another key.
        let other = house
            .agent(B)
            .send(once(send(MAIN, "two")))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(other.reply.as_deref(), Some("echo: two"));
        assert_eq!(house.runs().await.len(), 2);
    });
}

#[test]
fn a_repeated_message_of_a_person_meets_the_first_run() {
    World::new().live(&script(&json!([])), async |house| {
        let once = |text: &str| SendMessageRequest {
            idempotency_key: Some("h".to_owned()),
            ..message(MAIN, text)
        };
        let first = house
            .operator()
            .send_message(once("hi"))
            .await
            .unwrap()
            .into_inner();
        let run_id = first.run.unwrap().run_id;
        house.ended(&run_id).await;
        let again = house
            .operator()
            .send_message(once("hi"))
            .await
            .unwrap()
            .into_inner();
        let again = again.run.unwrap();
        assert_eq!(
            (again.run_id.clone(), again.state()),
            (run_id, RunState::Succeeded)
        );
        let refused = house.operator().send_message(once("ho")).await.unwrap_err();
        assert_eq!(reason(&refused), Reason::KeyReused);
        assert_eq!(house.runs().await.len(), 1);
    });
}

#[test]
fn a_repeated_call_meets_its_first_answer_whatever_the_rules_say_now() {
    // D36, D66, B222: the key is asked before the state of the session.
    World::new().live(&script(&json!([])), async |house| {
        let once = |text: &str| SendMessageRequest {
            idempotency_key: Some("h".to_owned()),
            ..message(MAIN, text)
        };
        let waited_once = SendRequest {
            idempotency_key: Some("s".to_owned()),
            ..send(MAIN, "hi")
        };
        let mut operator = house.operator();
        let first = operator
            .send_message(once("hi"))
            .await
            .unwrap()
            .into_inner();
        let sent = operator
            .send(waited_once.clone())
            .await
            .unwrap()
            .into_inner();
        for action in [Action::HumanMessage, Action::Send] {
            house.registry.refuse(action, Some(Reason::SessionArchived));
        }
        let again = operator
            .send_message(once("hi"))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(again.run.unwrap().run_id, first.run.unwrap().run_id);
        let again = operator.send(waited_once).await.unwrap().into_inner();
        assert_eq!((again.run_id, again.reply), (sent.run_id, sent.reply));
        let refused = operator.send_message(once("ho")).await.unwrap_err();
        assert_eq!(reason(&refused), Reason::KeyReused);
        let refused = operator
            .send_message(message(MAIN, "hi"))
            .await
            .unwrap_err();
        assert_eq!(reason(&refused), Reason::SessionArchived);
        assert_eq!(house.runs().await.len(), 2);
    });
}

#[test]
fn a_send_that_does_not_wait_is_accepted_and_goes_on() {
    let world = World::new();
    world.registry.route(
        B,
        confab_model::channel::Route {
            channel: "discord".to_owned(),
            to: "group:1".to_owned(),
            account_id: None,
            thread_id: None,
        },
    );
    world.live(&agents(&json!({ "main": [], "b": [] })), async |house| {
        let sent = house
            .agent(MAIN)
            .send(post(B, "do it"))
            .await
            .unwrap()
            .into_inner();
        assert_eq!((sent.status(), sent.reply), (SendStatus::Accepted, None));
        let (flow, runs) = house.done(&sent.flow_id).await;
        assert_eq!(flow.state(), FlowState::Done);
        assert_eq!(runs.len(), 2);
        assert_eq!(house.deliveries().await.len(), 1);
    });
}

#[test]
fn a_wait_that_is_over_names_the_run_whose_answer_comes_later() {
    World::new().live(&script(&json!([])), async |house| {
        house.transcript.fail(Role::Assistant, Fault::Held);
        let request = |text| SendRequest {
            timeout_seconds: Some(1),
            ..send(MAIN, text)
        };
        let sent = house
            .operator()
            .send(request("hello"))
            .await
            .unwrap()
            .into_inner();
        let behind = house
            .operator()
            .send(request("behind"))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(behind.status(), SendStatus::Timeout);
        let phase = behind.error.unwrap();
        assert!(phase.contains("phase=queued"), "{phase}");
        assert_eq!((sent.status(), &sent.reply), (SendStatus::Timeout, &None));
        let error = sent.error.unwrap();
        assert!(
            error.contains(&sent.run_id) && error.contains("phase=running"),
            "{error}"
        );
        house.transcript.mend();
        assert_eq!(
            house.ended(&sent.run_id).await.reply.as_deref(),
            Some("echo: hello")
        );
    });
}

#[test]
fn a_flow_outlives_the_call_that_started_it() {
    let world = World::new();
    world.live(&agents(&json!({ "main": [], "b": [] })), async |house| {
        house.transcript.fail(Role::User, Fault::Held);
        let mut client = house.agent(MAIN);
        {
            let mut call = pin!(client.send(send(B, "do it")));
            tokio::select! {
                answer = &mut call => panic!("{answer:?}"),
                () = house.transcript.until_met(1) => {},
            }
        }
        house.transcript.mend();
        let flow_id = house.runs().await.remove(0).flow_id;
        let (flow, _) = house.done(&flow_id).await;
        assert_eq!(flow.state(), FlowState::Done);
        assert_eq!(
            house.transcript.lines(B),
            ["User: do it", "Assistant: echo: do it"]
        );
    });
}

#[test]
fn a_run_whose_input_cannot_be_stored_claims_no_reply() {
    // Its agent is not waited for.
    let rules = json!([{ "match": "^hello$", "hang": true }]);
    World::new().live(&script(&rules), async |house| {
        house
            .transcript
            .fail(Role::User, Fault::Refused(Reason::Internal));
        let sent = house
            .operator()
            .send(send(MAIN, "hello"))
            .await
            .unwrap()
            .into_inner();
        assert_eq!((sent.status(), sent.reply), (SendStatus::Error, None));
        assert!(sent.error.unwrap().starts_with("transcript_unavailable: "));
        house.transcript.mend();
        assert!(house.transcript.lines(MAIN).is_empty());
        let next = house.human(MAIN, "again").await;
        house.ended(&next.run_id).await;
        assert_eq!(
            house.transcript.lines(MAIN),
            ["User: again", "Assistant: echo: again"]
        );
    });
}

#[test]
fn a_moment_without_the_other_services_costs_no_message() {
    let config = with(
        agents(&json!({ "main": [], "b": [] })),
        "session.agentToAgent.maxPingPongTurns",
        json!(1),
    );
    World::new().live(&config, async |house| {
        house
            .transcript
            .fail(Role::User, Fault::Refused(Reason::Unavailable));
        let mut client = house.agent(MAIN);
        let mut call = pin!(client.send(send(B, "hello")));
        tokio::select! {
            answer = &mut call => panic!("{answer:?}"),
            () = house.transcript.until_met(2) => {},
        }
        house
            .registry
            .refuse(Action::FlowRun, Some(Reason::Unavailable));
        house.transcript.mend();
        let sent = call.await.unwrap().into_inner();
        assert_eq!(sent.reply.as_deref(), Some("echo: hello"));
        house.registry.until_asked(Action::FlowRun, MAIN).await;
        house.registry.refuse(Action::FlowRun, None);
        let (flow, runs) = house.done(&sent.flow_id).await;
        assert_eq!((flow.turns, runs[1].state()), (1, RunState::Succeeded));
    });
}

#[test]
fn whoever_waits_is_answered_when_the_reply_is_in_the_transcript() {
    World::new().live(&script(&json!([])), async |house| {
        house
            .transcript
            .fail(Role::Assistant, Fault::Refused(Reason::Unavailable));
        let run = house.human(MAIN, "hello").await;
        let mut client = house.operator();
        let mut waits = pin!(client.wait_run(wait_run(&run.run_id, 40)));
        tokio::select! {
            answer = &mut waits => panic!("{answer:?}"),
            () = house.transcript.until_met(3) => {},
        }
        assert!(waits.as_mut().now_or_never().is_none());
        house.transcript.mend();
        let waited = waits.await.unwrap().into_inner();
        assert!(!waited.timed_out);
        assert_eq!(
            house.transcript.lines(MAIN),
            ["User: hello", "Assistant: echo: hello"]
        );
    });
}

#[test]
fn what_the_transcript_refuses_for_good_holds_up_no_session() {
    let twice = "{message}{message}";
    let rules = json!([
        { "match": "^x", "reply": twice },
        { "match": "^y", "tools": [{ "name": "nothing", "arguments": { "a": "{message}" } }] },
    ]);
    World::new().live(&script(&rules), async |house| {
        let long = "x".repeat(MESSAGE_BYTES_MAX / 2 + 1);
        let run = house.human(MAIN, &long).await;
        let run = house.ended(&run.run_id).await;
        assert_eq!(run.error.unwrap().class, "reply_too_large");
        house
            .transcript
            .fail(Role::ToolResult, Fault::Refused(Reason::InvalidArgument));
        let run = house.human(MAIN, "y").await;
        house.ended(&run.run_id).await;
        let next = house.human(MAIN, "next").await;
        assert_eq!(house.ended(&next.run_id).await.state(), RunState::Succeeded);
        assert_eq!(
            house.transcript.lines(MAIN).last().unwrap(),
            "Assistant: echo: next"
        );
    });
}

#[test]
fn a_run_that_takes_too_long_ends_and_frees_its_session() {
    let config = script(&json!([{ "match": "^hang$", "hang": true }]));
    let config = with(config, "agents.defaults", json!({ "timeoutSeconds": 1 }));
    World::new().live(&config, async |house| {
        let slow = house.human(MAIN, "hang").await;
        let next = house.human(MAIN, "next").await;
        let slow = house.ended(&slow.run_id).await;
        assert_eq!(slow.state(), RunState::TimedOut);
        assert_eq!(slow.error.unwrap().class, "timeout");
        assert_eq!(
            house.ended(&next.run_id).await.reply.as_deref(),
            Some("echo: next")
        );
    });
}

#[test]
fn an_agent_whose_driver_is_not_there_fails_its_run_with_the_class() {
    let config = with(script(&json!([])), "agents.list", json!([{ "id": "main" }]));
    World::new().live(&config, async |house| {
        let run = house.human(MAIN, "hello").await;
        let run = house.ended(&run.run_id).await;
        assert_eq!(run.state(), RunState::Failed);
        assert_eq!(run.error.unwrap().class, "driver_unavailable");
        assert_eq!(house.transcript.lines(MAIN), ["User: hello"]);
    });
}

#[test]
fn a_record_that_the_registry_refuses_holds_up_no_other() {
    let world = World::new();
    world.registry.refuse_records_of("agent:main:bad");
    world.live(&script(&json!([])), async |house| {
        for session in [MAIN, "agent:main:bad", "agent:main:other"] {
            let run = house.human(session, "hello").await;
            house.ended(&run.run_id).await;
        }
        let told = house.registry.told(6).await;
        assert!(
            told.iter()
                .all(|record| record.session_key != "agent:main:bad")
        );
    });
}

#[test]
fn a_delivery_about_which_nothing_can_be_decided_waits_and_one_that_may_not_leave_ends() {
    let routed = |text: &str| SendMessageRequest {
        route: Some(route("discord", "group:1")),
        ..message(MAIN, text)
    };
    World::new().live(&script(&json!([])), async |house| {
        for (refusal, wanted) in [
            (Reason::Unavailable, DeliveryState::Delivered),
            (Reason::Stale, DeliveryState::Delivered),
            (Reason::SendPolicy, DeliveryState::Blocked),
            (Reason::SessionNotFound, DeliveryState::Failed),
        ] {
            house.registry.refuse(Action::Deliver, Some(refusal));
            let sent = house
                .operator()
                .send_message(routed("hi"))
                .await
                .unwrap()
                .into_inner();
            house.registry.until_asked(Action::Deliver, MAIN).await;
            house.registry.refuse(Action::Deliver, None);
            let (flow, _) = house.done(&sent.run.unwrap().flow_id).await;
            let delivery = house.deliveries().await.pop().unwrap();
            assert_eq!(delivery.state(), wanted, "{refusal:?}");
            assert_eq!(flow.delivery_ids, [delivery.delivery_id]);
            house.registry.forget_questions();
        }
    });
}
