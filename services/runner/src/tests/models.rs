//! Which model a run is asked for: its session's own, else its agent's.

use confab_proto::types::v1::{Run, RunState};
use serde_json::{Value, json};

use crate::testing::{House, World, agents, post, with};

const MAIN: &str = "agent:main:main";
const B: &str = "agent:b:main";

/// Two agents with a model each; the first one's turn of the loop is as told.
fn talking(turn: &Value) -> Value {
    let rules = json!({
        "main": [turn],
        "b": [{ "step": "announce", "reply": "ANNOUNCE_SKIP" }],
    });
    let turns = "session.agentToAgent.maxPingPongTurns";
    let mut config = with(agents(&rules), turns, json!(1));
    for (place, model) in ["m1", "m2"].into_iter().enumerate() {
        config["agents"]["list"][place]["model"] = json!(model);
    }
    config
}

impl House {
    /// The runs of a session in order, when there is one that is at work in it.
    async fn until_at_work_in(&self, session: &str) -> Run {
        loop {
            let runs = self.runs().await;
            let at_work = |run: &Run| {
                run.session_key == session
                    && run.state() == RunState::Running
                    && run.session_id.is_some()
            };
            if let Some(run) = runs.into_iter().find(at_work) {
                return run;
            }
            tokio::task::yield_now().await;
        }
    }
}

#[test]
fn a_run_is_asked_for_its_sessions_own_model_else_for_its_agents_m22() {
    World::new().live(&talking(&json!({})), async |house| {
        let models = async |text: &str| {
            let run = house.human(B, text).await;
            house.ended(&run.run_id).await.model
        };
        let agents = models("one").await;
        house.registry.choose_model(B, "own");
        let own = models("two").await;
        assert_ne!(agents.as_deref(), Some("own"));
        assert_eq!(own.as_deref(), Some("own"));
        // What was told of the run names it from its beginning on.
        let told = house.registry.told(6).await;
        let told: Vec<_> = told.iter().skip(4).map(|one| one.model.clone()).collect();
        assert_eq!(told, [own.clone(), own]);
    });
}

#[test]
fn a_turn_of_a_flow_keeps_the_model_it_found_when_it_is_repeated_b188() {
    let world = World::new();
    let hangs = json!({ "step": "reply", "hang": true });
    let turn = world.live(&talking(&hangs), async |house| {
        house.registry.choose_model(MAIN, "own");
        house.agent(MAIN).send(post(B, "ping")).await.unwrap();
        house.until_at_work_in(MAIN).await
    });
    world.registry.choose_model(MAIN, "later");
    world.live(&talking(&json!({})), async |house| {
        let turn = house.ended(&turn.run_id).await;
        assert_eq!(turn.model.as_deref(), Some("own"));
        assert_eq!(turn.attempts, 2);
    });
}
