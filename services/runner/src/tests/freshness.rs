//! Sessions that were left alone too long.

use confab_proto::runner::v1::SendMessageRequest;
use confab_proto::types::v1::Run;
use serde_json::{Value, json};

use crate::testing::{House, World, message, script, with};

const DM: &str = "agent:main:direct:ada";
const MINUTE: i64 = 60_000;

/// Sessions are stale when nobody used them for an hour; the agent hangs on `hang`.
fn idle_after_an_hour() -> Value {
    let rules = json!([{ "match": "^hang$", "hang": true }]);
    let reset = json!({ "mode": "idle", "idleMinutes": 60 });
    with(script(&rules), "session.reset", reset)
}

/// A person's message under a name.
async fn named(house: &House, text: &str, key: &str) -> Run {
    let request = SendMessageRequest {
        idempotency_key: Some(key.to_owned()),
        ..message(DM, text)
    };
    let sent = house.operator().send_message(request).await.unwrap();
    sent.into_inner().run.unwrap()
}

async fn generation(house: &House, text: &str) -> String {
    let run = house.human(DM, text).await;
    house.ended(&run.run_id).await.session_id.unwrap()
}

#[test]
fn a_stale_session_begins_anew_before_a_persons_message_x13() {
    let world = World::new();
    world.live(&idle_after_an_hour(), async |house| {
        let first = generation(house, "one").await;
        world.clock.advance_millis(60 * MINUTE);
        assert_eq!(
            generation(house, "two").await,
            first,
            "not longer than an hour"
        );
        assert_eq!(house.registry.lives.commits(), 0);
        world.clock.advance_millis(1);
        assert_ne!(generation(house, "three").await, first);
        assert_eq!(house.registry.lives.commits(), 1);
    });
}

#[test]
fn without_a_rule_nothing_is_ever_stale_d75() {
    let world = World::new();
    world.live(&script(&json!([])), async |house| {
        let first = generation(house, "one").await;
        world.clock.advance_millis(1_000 * 24 * 60 * MINUTE);
        assert_eq!(generation(house, "two").await, first);
    });
}

#[test]
fn a_session_at_work_is_not_torn_from_it_x13() {
    let world = World::new();
    world.live(&idle_after_an_hour(), async |house| {
        let hanging = house.human(DM, "hang").await;
        house.at_work(&hanging).await;
        world.clock.advance_millis(61 * MINUTE);
        let next = house.human(DM, "next").await;
        assert_eq!(next.session_id, hanging.session_id);
        assert_eq!(house.registry.lives.commits(), 0);
    });
}

#[test]
fn a_repeated_message_meets_its_answer_however_stale_the_session_is_d36() {
    let world = World::new();
    world.live(&idle_after_an_hour(), async |house| {
        let first = named(house, "one", "k").await;
        house.ended(&first.run_id).await;
        world.clock.advance_millis(61 * MINUTE);
        let again = named(house, "one", "k").await;
        assert_eq!(again.run_id, first.run_id);
        assert_eq!(house.registry.lives.commits(), 0);
    });
}
