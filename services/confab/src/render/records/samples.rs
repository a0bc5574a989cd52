//! Records with every field filled in.

use confab_proto::types::v1 as proto;
use confab_proto::types::v1::{Delivery, DeliverySummary, Flow, Route, Run, RunError, Usage};

fn at(millis: i64) -> prost_types::Timestamp {
    confab_rpc::wire::time::to_proto(confab_model::clock::Timestamp::from_millis(millis))
}

fn summary() -> DeliverySummary {
    DeliverySummary {
        status: proto::DeliveryStatus::Delivered.into(),
        mode: proto::DeliveryMode::Announce.into(),
    }
}

/// A loop turn of the editor that ended too late.
pub(crate) fn run() -> Run {
    Run {
        run_id: "run-1".to_owned(),
        session_key: "agent:editor:main".to_owned(),
        session_id: Some("session-1".to_owned()),
        agent_id: "editor".to_owned(),
        step: proto::Step::Reply.into(),
        turn: 2,
        lane: proto::Lane::Nested.into(),
        state: proto::RunState::TimedOut.into(),
        input: "please review".to_owned(),
        notices: vec!["a notice".to_owned()],
        reply: Some("line one\nline two\n".to_owned()),
        error: Some(RunError {
            class: "timeout".to_owned(),
            message: "too slow".to_owned(),
        }),
        message_state: proto::MessageState::Replied.into(),
        delivery: Some(summary()),
        flow_id: "flow-1".to_owned(),
        parent_run_id: Some("run-0".to_owned()),
        chain_id: "chain-1".to_owned(),
        hop: 1,
        attempts: 1,
        model: Some("m".to_owned()),
        usage: Some(Usage {
            input: 7,
            output: 5,
        }),
        created_at: Some(at(1_500)),
        started_at: Some(at(1_600)),
        ended_at: Some(at(1_700)),
        runtime_ms: Some(100),
        ..Run::default()
    }
}

/// A send from the writer to the editor that is done.
pub(crate) fn flow() -> Flow {
    Flow {
        flow_id: "flow-1".to_owned(),
        kind: proto::FlowKind::Send.into(),
        requester: Some("agent:writer:main".to_owned()),
        target: "agent:editor:main".to_owned(),
        state: proto::FlowState::Done.into(),
        turns: 2,
        stop_reason: proto::StopReason::ReplySkip.into(),
        last_speaker: proto::Party::Target.into(),
        delivery: Some(summary()),
        chain_id: "chain-1".to_owned(),
        hop: 0,
        route: delivery().route,
        run_ids: vec!["run-1".to_owned()],
        delivery_ids: vec!["delivery-1".to_owned()],
        created_at: Some(at(1_000)),
        ended_at: Some(at(1_500)),
        started_by_channel: None,
    }
}

/// What the editor's channel was told.
pub(crate) fn delivery() -> Delivery {
    Delivery {
        delivery_id: "delivery-1".to_owned(),
        flow_id: "flow-1".to_owned(),
        run_id: "run-2".to_owned(),
        session_key: "agent:editor:main".to_owned(),
        route: Some(Route {
            channel: "slack".to_owned(),
            to: "channel:reviews".to_owned(),
            account_id: Some("acme".to_owned()),
            thread_id: Some("17.4".to_owned()),
        }),
        text: "reviewed".to_owned(),
        state: proto::DeliveryState::Delivered.into(),
        attempts: 1,
        next_attempt_at: Some(at(1_550)),
        last_error: Some("busy".to_owned()),
        created_at: Some(at(1_400)),
        ended_at: Some(at(1_500)),
    }
}
