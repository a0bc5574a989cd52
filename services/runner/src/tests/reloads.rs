//! Another configuration while the runner is at work.

use confab_proto::runner::v1::SendMessageRequest;
use confab_proto::types::v1::{DeliveryState, DeliveryStatus};
use serde_json::json;

use crate::testing::{World, message, route, script, with};

const MAIN: &str = "agent:main:main";

#[test]
fn a_delivery_that_was_left_alone_leaves_when_its_channel_gets_another_sink() {
    let discarding = script(&json!([]));
    let sinks = json!([{ "channel": "*", "type": "stream" }]);
    let fetching = with(discarding.clone(), "confab.deliveries.sinks", sinks);
    let world = World::new();
    world.live(&fetching, async |house| {
        let request = SendMessageRequest {
            route: Some(route("discord", "group:1")),
            ..message(MAIN, "hello")
        };
        let sent = house.operator().send_message(request).await.unwrap();
        let run = house.ended(&sent.into_inner().run.unwrap().run_id).await;
        loop {
            let deliveries = house.deliveries().await;
            assert_eq!(deliveries[0].state(), DeliveryState::Pending);
            if deliveries[0].next_attempt_at.is_none() {
                break;
            }
        }
        world.reload(house, &discarding);
        let (flow, _) = house.done(&run.flow_id).await;
        assert_eq!(flow.delivery.unwrap().status(), DeliveryStatus::Delivered);
        assert_eq!(house.deliveries().await[0].attempts, 1);
    });
}
