use std::time::Duration;

use confab_proto::types::v1 as proto;
use confab_proto::types::v1::{Block, Delivery, Flow, NewMessage, Provenance, TextBlock};
use serde_json::json;

use super::*;
use crate::commands::flows::Whole;
use crate::demo::story::Took;

const ASKED: &str = "Please check this draft: Agents can talk.";

fn run(session: &str, step: proto::Step, turn: i32, input: &str, reply: &str) -> Run {
    Run {
        session_key: session.to_owned(),
        step: step.into(),
        turn,
        state: proto::RunState::Succeeded.into(),
        input: input.to_owned(),
        reply: Some(reply.to_owned()),
        ..Run::default()
    }
}

fn message(role: proto::Role, provenance: Option<Provenance>, text: &str) -> Message {
    let text = TextBlock {
        text: text.to_owned(),
    };
    Message {
        body: Some(NewMessage {
            role: role.into(),
            blocks: vec![Block {
                content: Some(Content::Text(text)),
            }],
            provenance,
            ..NewMessage::default()
        }),
        ..Message::default()
    }
}

/// What the session's own agent said.
fn spoken(text: &str) -> Message {
    message(proto::Role::Assistant, None, text)
}

/// What came from somebody else.
fn heard(from: Provenance, text: &str) -> Message {
    message(proto::Role::User, Some(from), text)
}

fn person() -> Provenance {
    Provenance {
        kind: proto::ProvenanceKind::ExternalUser.into(),
        sender: Some(SENDER.to_owned()),
        ..Provenance::default()
    }
}

fn session(key: &str) -> Provenance {
    Provenance {
        kind: proto::ProvenanceKind::InterSession.into(),
        source_session_key: Some(key.to_owned()),
        ..Provenance::default()
    }
}

/// The records of a demonstration that went as it should.
fn story() -> Story {
    let mut human = run(WRITER, proto::Step::Human, 0, MESSAGE, "told");
    human.run_id = "run-0".to_owned();
    let mut send = run(EDITOR, proto::Step::Send, 0, ASKED, "one remark");
    send.parent_run_id = Some("run-0".to_owned());
    let exchange = Flow {
        flow_id: "flow-1".to_owned(),
        requester: Some(WRITER.to_owned()),
        target: EDITOR.to_owned(),
        state: proto::FlowState::Done.into(),
        turns: 2,
        stop_reason: proto::StopReason::ReplySkip.into(),
        last_speaker: proto::Party::Target.into(),
        ..Flow::default()
    };
    let delivery = Delivery {
        flow_id: "flow-1".to_owned(),
        session_key: EDITOR.to_owned(),
        route: Some(route()),
        text: "reviewed".to_owned(),
        state: proto::DeliveryState::Delivered.into(),
        ..Delivery::default()
    };
    Story {
        sessions: json!({ "sessions": [{ "key": WRITER }, { "key": EDITOR }] }),
        person: Whole {
            flow: Flow::default(),
            runs: vec![human],
            deliveries: vec![],
        },
        exchange: Whole {
            flow: exchange,
            runs: vec![
                send,
                run(WRITER, proto::Step::Reply, 1, "one remark", "mended"),
                run(EDITOR, proto::Step::Reply, 2, "mended", "REPLY_SKIP"),
                run(EDITOR, proto::Step::Announce, 0, "all of it", "reviewed"),
            ],
            deliveries: vec![delivery.clone()],
        },
        writer: vec![
            heard(person(), MESSAGE),
            heard(session(EDITOR), "one remark"),
            spoken("told"),
            spoken("mended"),
        ],
        editor: vec![
            heard(session(WRITER), ASKED),
            spoken("one remark"),
            heard(session(WRITER), "mended"),
            spoken("reviewed"),
        ],
        deliveries: vec![delivery],
        took: Took {
            stored: Duration::ZERO,
            answered: Duration::ZERO,
            done: Duration::ZERO,
        },
    }
}

/// What does not hold.
fn broken(story: &Story) -> Vec<&'static str> {
    let broken = claims(story).into_iter().filter(|claim| !claim.holds);
    broken.map(|claim| claim.what).collect()
}

#[test]
fn a_demonstration_that_went_as_it_should_bears_out_every_claim() {
    assert_eq!(broken(&story()), Vec::<&str>::new());
}

#[test]
fn every_claim_falls_with_the_record_it_is_about() {
    type Fault = (fn(&mut Story), &'static str);
    let faults: [Fault; 17] = [
        (|s| s.person.runs[0].reply = None, "was answered"),
        (
            |s| s.person.runs[0].state = proto::RunState::Failed.into(),
            "was answered",
        ),
        (
            |s| s.exchange.runs[0].parent_run_id = None,
            "asked the editor",
        ),
        (|s| s.exchange.flow.requester = None, "two turns"),
        (
            |s| s.exchange.flow.state = proto::FlowState::Delivering.into(),
            "two turns",
        ),
        (|s| s.exchange.runs[2].turn = 1, "two turns"),
        (
            |s| s.exchange.runs[1].state = proto::RunState::TimedOut.into(),
            "two turns",
        ),
        (|s| s.exchange.flow.turns = 3, "stopped the loop"),
        (
            |s| s.exchange.flow.stop_reason = proto::StopReason::MaxTurns.into(),
            "stopped the loop",
        ),
        (
            |s| s.exchange.flow.last_speaker = proto::Party::Requester.into(),
            "stopped the loop",
        ),
        (|s| s.deliveries.clear(), "one announce"),
        (
            |s| s.deliveries.push(s.deliveries[0].clone()),
            "one announce",
        ),
        (|s| s.deliveries[0].route = None, "one announce"),
        (
            |s| s.deliveries[0].state = proto::DeliveryState::Failed.into(),
            "one announce",
        ),
        (|s| s.writer.push(spoken("mended")), "the writer's session"),
        (
            |s| s.editor[0] = heard(person(), ASKED),
            "the editor's session",
        ),
        (|s| s.sessions = json!({ "sessions": [] }), "are listed"),
    ];
    for (number, (fault, claim)) in faults.into_iter().enumerate() {
        let mut story = story();
        fault(&mut story);
        let broken = broken(&story);
        let named = broken.iter().any(|what| what.contains(claim));
        assert!(named, "fault {number} breaks {broken:?}, not {claim:?}");
    }
}

#[test]
fn a_route_that_lost_its_thread_is_not_the_whole_address() {
    let mut story = story();
    story.deliveries[0].route = Some(proto::Route {
        thread_id: None,
        ..route()
    });
    assert_eq!(
        broken(&story),
        ["one announce left, to the editor's whole address"]
    );
}
