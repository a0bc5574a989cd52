//! Script rules that count runs, over lives of the process.

use confab_proto::types::v1::RunState;
use serde_json::json;

use crate::testing::{World, script};

const MAIN: &str = "agent:main:main";

#[test]
fn times_counts_runs_of_an_agent_over_its_sessions_and_lives() {
    let rules = json!([
        { "match": "^x", "times": 2, "reply": "first {count}" },
        { "match": "^x", "times": 1, "error": { "class": "c", "message": "second" } },
        { "match": "^x", "reply": "third {count}" },
    ]);
    let world = World::new();
    let mut said = Vec::new();
    for session in [MAIN, "agent:main:other", MAIN, MAIN] {
        said.push(world.live(&script(&rules), async |house| {
            let run = house.human(session, "x").await;
            let run = house.ended(&run.run_id).await;
            run.reply.unwrap_or_else(|| run.error.unwrap().message)
        }));
    }
    assert_eq!(said, ["first 1", "first 1", "second", "third 3"]);
}

#[test]
fn a_repeated_attempt_keeps_its_rule() {
    let rule = |hang: bool| json!([{ "times": 1, "hang": hang, "reply": "once" }]);
    let world = World::new();
    let (run, behind) = world.live(&script(&rule(true)), async |house| {
        let run = house.human(MAIN, "a").await;
        (house.at_work(&run).await, house.human(MAIN, "b").await)
    });
    world.live(&script(&rule(false)), async |house| {
        assert_eq!(
            house.ended(&run.run_id).await.reply.as_deref(),
            Some("once")
        );
        assert_eq!(
            house.ended(&behind.run_id).await.reply.as_deref(),
            Some("echo: b")
        );
    });
}

#[test]
fn a_failed_run_tells_its_class() {
    let rules = json!([{ "error": { "class": "rate_limited", "message": "later" } }]);
    World::new().live(&script(&rules), async |house| {
        let run = house.human(MAIN, "a").await;
        let run = house.ended(&run.run_id).await;
        assert_eq!(run.state(), RunState::Failed);
        let error = run.error.unwrap();
        assert_eq!(
            (error.class.as_str(), error.message.as_str()),
            ("rate_limited", "later")
        );
        assert_eq!(house.transcript.lines(MAIN), ["User: a"]);
    });
}
