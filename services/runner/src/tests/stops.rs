//! What callers learn when the process is asked to stop.

use confab_proto::runner::v1::{SendRequest, SendStatus, WaitFlowRequest};
use confab_proto::types::v1::{FlowState, RunState};
use serde_json::json;

use crate::testing::{World, agents, send, wait_run};

const MAIN: &str = "agent:main:main";
const B: &str = "agent:b:main";
/// Far longer than a test may take.
const HOUR: i32 = 3600;

#[test]
fn a_stop_ends_every_wait_with_what_is_known() {
    let hang = json!([{ "hang": true }]);
    let config = agents(&json!({ "main": hang, "b": hang }));
    World::new().live(&config, async |house| {
        let run = house.human(MAIN, "hello").await;
        let run = house.at_work(&run).await;
        let flow = WaitFlowRequest {
            flow_id: run.flow_id.clone(),
            timeout_seconds: Some(HOUR),
        };
        let ask = SendRequest {
            timeout_seconds: Some(HOUR),
            ..send(B, "ping")
        };
        let (mut for_run, mut for_flow) = (house.operator(), house.operator());
        let mut for_answer = house.agent("agent:main:other");
        let (of_run, of_flow, answer, ()) = tokio::join!(
            for_run.wait_run(wait_run(&run.run_id, HOUR)),
            for_flow.wait_flow(flow),
            for_answer.send(ask),
            async {
                // The input of the send is stored: it is accepted, and its caller waits.
                house.transcript.until_holds(2).await;
                house.stop();
            },
        );
        let of_run = of_run.unwrap().into_inner();
        assert!(of_run.timed_out);
        assert_eq!(of_run.run.unwrap().state(), RunState::Running);
        let of_flow = of_flow.unwrap().into_inner();
        assert!(of_flow.timed_out);
        assert_eq!(of_flow.flow.unwrap().state(), FlowState::Primary);
        assert_eq!(of_flow.runs[0].run_id, run.run_id);
        assert_eq!(answer.unwrap().into_inner().status(), SendStatus::Timeout);
    });
}
