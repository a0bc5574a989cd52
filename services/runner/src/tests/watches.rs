//! Sends that ask to watch their target, and what the registry is told for those who watch.

use confab_proto::registry::v1::{ActivityRecord, ActorType, StateEventKind, StateEventRecord};
use confab_proto::runner::v1::{SendMessageRequest, SendRequest, SendResponse, StartRunRequest};
use confab_proto::types::v1::RunState;
use confab_rpc::clients::RunnerClient;
use serde_json::json;

use crate::testing::{World, agents, message, post, route, script, target};

const MAIN: &str = "agent:main:main";
const B: &str = "agent:b:main";

fn watching(session: &str) -> SendRequest {
    SendRequest {
        watch: true,
        idempotency_key: Some("k".to_owned()),
        ..post(session, "hello")
    }
}

async fn sent(mut client: RunnerClient, request: SendRequest) -> SendResponse {
    client.send(request).await.unwrap().into_inner()
}

#[test]
fn whether_a_sender_watches_is_what_the_registry_says_each_time_it_asks() {
    // reg:W15
    World::new().live(&agents(&json!({ "main": [], "b": [] })), async |house| {
        let notices = &house.registry.notices;
        for answer in [true, false, true] {
            notices.answer_watches(Some(answer));
            let sent = sent(house.agent(MAIN), watching(B)).await;
            assert_eq!(sent.watched, Some(answer));
        }
        // The same call three times: one send, and the watch was asked for each time.
        assert_eq!(house.runs().await.len(), 1);
        let asked = (MAIN.to_owned(), B.to_owned());
        assert_eq!(notices.watches(), vec![asked; 3]);
    });
}

#[test]
fn watched_is_absent_where_nobody_asked_and_false_where_nobody_can_watch() {
    // reg:W15
    World::new().live(&agents(&json!({ "main": [], "b": [] })), async |house| {
        house.registry.notices.answer_watches(Some(true));
        let unasked = sent(house.agent(MAIN), post(B, "hello")).await;
        assert_eq!(unasked.watched, None);
        let sessionless = sent(house.operator(), watching(B)).await;
        assert_eq!(sessionless.watched, Some(false));
        let to_oneself = sent(house.agent(MAIN), watching(MAIN)).await;
        assert_eq!(to_oneself.watched, Some(false));
        assert!(house.registry.notices.watches().is_empty());
    });
}

#[test]
fn a_send_stands_where_the_registry_cannot_be_reached_for_the_watch() {
    World::new().live(&agents(&json!({ "main": [], "b": [] })), async |house| {
        let notices = &house.registry.notices;
        notices.answer_watches(None);
        let ((), back) = tokio::join!(
            async {
                notices.until_watches(2).await;
                notices.answer_watches(Some(true));
            },
            sent(house.agent(MAIN), watching(B)),
        );
        assert_eq!(
            back.watched,
            Some(true),
            "a moment without it costs no watch"
        );
        notices.answer_watches(None);
        let ((), away) = tokio::join!(
            async {
                notices.until_watches(4).await;
                // Patience ends early.
                house.stop();
            },
            sent(house.agent(MAIN), watching(B)),
        );
        assert_eq!(away.watched, Some(false));
        assert_eq!(away.run_id, back.run_id);
    });
}

/// The event of a person's message in a run.
fn wrote(record: &ActivityRecord, channel: Option<&str>) -> StateEventRecord {
    StateEventRecord {
        tenant: "default".to_owned(),
        session_key: MAIN.to_owned(),
        kind: StateEventKind::HumanDirectMessage.into(),
        actor_type: ActorType::Human.into(),
        actor_id: None,
        run_id: Some(record.run_id.clone()),
        occurred_at: record.occurred_at,
        dedupe_key: Some(format!("human-message:{}", record.run_id)),
        detail: channel.map(str::to_owned),
    }
}

#[test]
fn the_registry_is_told_of_each_persons_message_when_it_is_accepted_and_of_no_other() {
    // reg:W7, reg:W8
    World::new().live(&script(&json!([])), async |house| {
        let through = SendMessageRequest {
            route: Some(route("discord", "group:1")),
            ..message(MAIN, "hello")
        };
        let request = house.operator().send_message(through).await.unwrap();
        let first = request.into_inner().run.unwrap();
        house.ended(&first.run_id).await;
        let started = StartRunRequest {
            target: Some(target(MAIN)),
            input: "go".to_owned(),
            ..StartRunRequest::default()
        };
        let request = house.operator().start_run(started).await.unwrap();
        let second = request.into_inner().run.unwrap();
        house.ended(&second.run_id).await;
        let third = sent(house.operator(), post(MAIN, "not a person's")).await;
        house.ended(&third.run_id).await;
        let told = house.registry.told(9).await;
        let people: Vec<&ActivityRecord> = told.iter().filter(|one| one.person).collect();
        let runs: Vec<&str> = people.iter().map(|one| one.run_id.as_str()).collect();
        assert_eq!(runs, [first.run_id.as_str(), second.run_id.as_str()]);
        assert!(people.iter().all(|one| one.state() == RunState::Queued));
        let events = [wrote(people[0], Some("discord")), wrote(people[1], None)];
        assert_eq!(house.registry.events(), events);
    });
}

#[test]
fn the_registry_is_told_the_tokens_of_a_run_that_ended() {
    let rules = json!([{ "reply": "x", "usage": { "input": 7, "output": 3 } }]);
    World::new().live(&script(&rules), async |house| {
        house.human(MAIN, "hello").await;
        let told = house.registry.told(3).await;
        let tokens: Vec<_> = told
            .iter()
            .map(|one| (one.input_tokens, one.output_tokens, one.total_tokens))
            .collect();
        let nothing = (None, None, None);
        assert_eq!(tokens, [nothing, nothing, (Some(7), Some(3), Some(10))]);
    });
}
