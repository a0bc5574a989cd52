//! What a run failed with is told masked, wherever it is told; what was said is not.
//!
//! Source: run:R0, run:R18, B169.

use confab_proto::runner::v1::{GetFlowRequest, ListFlowsRequest, ListRunsRequest, SendStatus};
use confab_proto::types::v1::Run;
use serde_json::{Value, json};

use crate::testing::{House, World, message, route, script, send, with};

const MAIN: &str = "agent:main:main";

fn token() -> String {
    format!("ghp_{}", "q7Wz3Kd9Xv5Rt1Hb".repeat(2))
}

/// An agent that fails with what it was told, or says it again.
fn repeating(said: &str) -> Value {
    let error = json!({ "class": "provider", "message": format!("refused: {said}") });
    script(&json!([{ "match": "^fail", "error": error }, { "reply": "you said {message}" }]))
}

fn told(run: &Run) -> &str {
    run.error.as_ref().map_or("", |error| &error.message)
}

/// Everything that is told of a run's error.
async fn all_that_is_told(house: &House, run: &Run) -> Vec<(&'static str, String)> {
    let mut runner = house.operator();
    let listed = runner.list_runs(ListRunsRequest::default()).await.unwrap();
    let flows = runner
        .list_flows(ListFlowsRequest::default())
        .await
        .unwrap();
    let flow_id = run.flow_id.clone();
    let flow = runner.get_flow(GetFlowRequest { flow_id }).await.unwrap();
    let waited = house.done(&run.flow_id).await.1;
    let got = house.get_run(&run.run_id).await;
    vec![
        ("WaitRun", told(run).to_owned()),
        ("GetRun", told(&got).to_owned()),
        ("ListRuns", told(&listed.into_inner().runs[0]).to_owned()),
        ("ListFlows", told(&flows.into_inner().runs[0]).to_owned()),
        ("GetFlow", told(&flow.into_inner().runs[0]).to_owned()),
        ("WaitFlow", told(&waited[0]).to_owned()),
    ]
}

#[test]
fn what_a_run_failed_with_is_told_masked_by_every_call() {
    World::new().live(&repeating(&token()), async |house| {
        let run = house.human(MAIN, "fail").await;
        let run = house.ended(&run.run_id).await;
        for (call, error) in all_that_is_told(house, &run).await {
            assert_eq!(error, "refused: ghp_q7…t1Hb", "{call}");
        }
        let sent = house.operator().send(send(MAIN, "fail")).await.unwrap();
        let sent = sent.into_inner();
        assert_eq!(sent.status(), SendStatus::Error);
        assert_eq!(sent.error.unwrap(), "provider: refused: ghp_q7…t1Hb");
    });
}

#[test]
fn a_message_its_answer_and_its_delivery_are_verbatim_b169() {
    World::new().live(&repeating(""), async |house| {
        let said = format!("TOKEN={}", token());
        let request = confab_proto::runner::v1::SendMessageRequest {
            route: Some(route("discord", "group:1")),
            ..message(MAIN, &said)
        };
        let accepted = house.operator().send_message(request).await.unwrap();
        let run = accepted.into_inner().run.unwrap();
        house.done(&run.flow_id).await;
        let run = house.get_run(&run.run_id).await;
        let answer = format!("you said {said}");
        assert_eq!(run.input, said);
        assert_eq!(run.reply.as_deref(), Some(answer.as_str()));
        assert_eq!(house.deliveries().await[0].text, answer);
    });
}

#[test]
fn a_pattern_of_the_settings_masks_from_the_moment_they_are_in_force_r18() {
    let plain = repeating("badge BX-4411-77");
    let patterns = json!({ "redactPatterns": ["BX-[0-9]+-[0-9]+"] });
    let masking = with(plain.clone(), "logging", patterns);
    let world = World::new();
    world.live(&plain, async |house| {
        let run = house.human(MAIN, "fail").await;
        let run = house.ended(&run.run_id).await;
        assert_eq!(told(&run), "refused: badge BX-4411-77");
        world.reload(house, &masking);
        let run = house.get_run(&run.run_id).await;
        assert_eq!(told(&run), "refused: badge ***");
    });
}
