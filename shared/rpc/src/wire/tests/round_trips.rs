//! What goes out comes back.

use confab_model::clock::Timestamp;
use confab_model::key::SessionKey;
use confab_model::message::{Block, Message, NewMessage, Role};
use confab_model::run::RunState;
use confab_model::session::Session;
use confab_proto::registry::v1 as registry;
use confab_proto::transcript::v1::{GetHistoryResponse, ShownMessage};
use confab_proto::types::v1 as proto;
use proptest::prelude::*;
use prost::Message as _;
use serde_json::{Map, Value, json};

use super::arbitrary;
use crate::error::{Reason, RpcError, Violation};
use crate::gate::{Among, Answer, Reach};
use crate::wire::authorize::{
    answer_from_proto, answer_to_proto, question_from_wire, question_to_proto, scope_from_proto,
};
use crate::wire::json::{DEPTH_MAX, JsonError, to_map, to_struct};
use crate::wire::run::Prompt;
use crate::wire::session::{Perspective, status_word};
use crate::wire::{WireError, delivery, enums, flow, message, run, session, time};

/// A row as it looks after a crossing: the state of its last run is one of the five that words
/// stand for.
fn with_plain_state(mut row: Session) -> Session {
    if let Some(run) = row.last_run.as_mut() {
        run.state = match run.state {
            RunState::Queued | RunState::Running | RunState::Waiting => RunState::Running,
            RunState::Succeeded => RunState::Succeeded,
            RunState::Failed | RunState::Interrupted => RunState::Failed,
            RunState::Cancelled | RunState::Killed => RunState::Killed,
            RunState::TimedOut => RunState::TimedOut,
        };
    }
    row
}

/// What a refusal tells its caller.
type Told = (Reason, String, Vec<Violation>);

/// Decisions in a form that can be compared.
fn comparable(answer: Answer) -> Vec<Result<Session, Told>> {
    let decisions = answer.decisions.into_iter();
    decisions
        .map(|decision| {
            decision
                .map(with_plain_state)
                .map_err(|error| (error.reason, error.message, error.violations))
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_moment_comes_back(millis in any::<i64>()) {
        let moment = Timestamp::from_millis(millis);
        prop_assert_eq!(time::from_proto(time::to_proto(moment), "at").unwrap(), moment);
    }

    #[test]
    fn every_message_comes_back(given in arbitrary::message()) {
        prop_assert_eq!(message::from_proto(message::to_proto(&given)).unwrap(), given);
    }

    #[test]
    fn every_packed_message_comes_back(given in arbitrary::new_message()) {
        prop_assert_eq!(message::unpack(&message::pack(&given)).unwrap(), given);
    }

    #[test]
    fn every_run_comes_back(given in arbitrary::run()) {
        prop_assert_eq!(run::unpack(&run::pack(&given)).unwrap(), given);
    }

    #[test]
    fn every_flow_comes_back(given in arbitrary::flow()) {
        prop_assert_eq!(flow::unpack(&flow::pack(&given)).unwrap(), given);
    }

    #[test]
    fn every_delivery_comes_back(given in arbitrary::delivery()) {
        prop_assert_eq!(delivery::unpack(&delivery::pack(&given)).unwrap(), given);
    }

    #[test]
    fn every_packed_session_comes_back_with_the_state_of_its_run(given in arbitrary::session()) {
        let back = session::unpack(&session::pack(&given)).unwrap();
        let shown = session::unpack_row(&session::pack(&given)).unwrap();
        let expected = proto::Session { state_version: 0, ..session::to_proto(&given, &Perspective::default()) };
        prop_assert_eq!((*shown.row, shown.fault), (expected, None));
        prop_assert_eq!(back.fault, None);
        prop_assert_eq!(back.session, given);
    }

    #[test]
    fn every_session_comes_back_but_for_states_that_share_a_word(given in arbitrary::session()) {
        let back = session::from_proto(session::to_proto(&given, &Perspective::default()));
        prop_assert_eq!(back.unwrap(), with_plain_state(given));
    }

    #[test]
    fn every_question_comes_back(given in arbitrary::question()) {
        let back = question_from_wire(question_to_proto(given.clone())).unwrap();
        prop_assert_eq!(back.caller, given.caller);
        prop_assert_eq!(back.action, given.action);
        prop_assert_eq!(back.about, given.about);
    }

    #[test]
    fn every_answer_comes_back(given in arbitrary::answer()) {
        let back = answer_from_proto(answer_to_proto(given.clone())).unwrap();
        prop_assert_eq!(&back.scope, &given.scope);
        prop_assert_eq!(comparable(back), comparable(given));
    }
}

#[test]
fn enum_names_in_violations_are_those_of_the_protos() {
    for (written, meant) in enums::names() {
        assert_eq!(written, meant);
    }
}

#[test]
fn moments_outside_of_the_model_are_refused() {
    for (seconds, nanos) in [(i64::MAX, 0), (i64::MIN, 0), (0, -1), (0, 1_000_000_000)] {
        let wire = prost_types::Timestamp { seconds, nanos };
        let refused = time::from_proto(wire, "run.createdAt");
        assert!(matches!(
            refused,
            Err(WireError::OutOfRange {
                field: "run.createdAt",
                ..
            })
        ));
    }
}

#[test]
fn whole_numbers_stay_integers_up_to_two_to_the_53() {
    let cases = [
        (json!(3), json!(3)),
        (json!(3.0), json!(3)),
        (json!(-0.5), json!(-0.5)),
        (
            json!(9_007_199_254_740_992_i64),
            json!(9_007_199_254_740_992_i64),
        ),
        (
            json!(1_152_921_504_606_846_976_i64),
            json!(1_152_921_504_606_846_976_f64),
        ),
        (json!(1e300), json!(1e300)),
    ];
    for (given, expected) in cases {
        let object = Map::from_iter([("number".to_owned(), given)]);
        let back = to_map(to_struct(&object)).unwrap();
        assert_eq!(back.get("number"), Some(&expected));
    }
}

#[test]
fn numbers_that_json_does_not_know_are_refused() {
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let kind = Some(prost_types::value::Kind::NumberValue(number));
        let fields = [("number".to_owned(), prost_types::Value { kind })].into();
        assert_eq!(
            to_map(prost_types::Struct { fields }),
            Err(JsonError::NotFinite)
        );
    }
}

/// An object that holds an object, and so on, `levels` in all.
fn nested(levels: usize) -> Map<String, Value> {
    let mut object = Map::from_iter([("end".to_owned(), json!(1))]);
    for _ in 1..levels {
        object = Map::from_iter([("inner".to_owned(), Value::Object(object))]);
    }
    object
}

fn calling_with(arguments: Map<String, Value>) -> Message {
    let call = Block::ToolCall {
        id: "call".to_owned(),
        name: "tool".to_owned(),
        arguments,
    };
    let body = NewMessage {
        blocks: vec![call],
        ..NewMessage::text("k", Role::Assistant, "")
    };
    let id = confab_model::id::MessageId::parse("m").unwrap();
    Message {
        id,
        seq: 1,
        at: Timestamp::default(),
        body,
    }
}

#[test]
fn the_deepest_arguments_survive_inside_a_history_answer() {
    let message = message::to_proto(&calling_with(nested(DEPTH_MAX)));
    let shown = ShownMessage {
        message: Some(message.clone()),
        placeholder: false,
    };
    let answer = GetHistoryResponse {
        messages: vec![shown],
        ..GetHistoryResponse::default()
    };
    let back = GetHistoryResponse::decode(answer.encode_to_vec().as_slice()).unwrap();
    assert_eq!(back.messages[0].message.as_ref(), Some(&message));
    assert_eq!(
        message::from_proto(message).unwrap(),
        calling_with(nested(DEPTH_MAX))
    );
}

#[test]
fn arguments_that_are_too_deep_travel_as_text_where_they_are() {
    let packed = message::pack(&calling_with(nested(DEPTH_MAX + 1)).body);
    let back = message::unpack(&packed).unwrap();
    let Block::ToolCall { arguments, .. } = &back.blocks[0] else {
        panic!("no tool call")
    };
    let mut innermost = arguments;
    while let Some(Value::Object(inner)) = innermost.get("inner") {
        innermost = inner;
    }
    assert_eq!(innermost.get("inner"), Some(&json!("{\"end\":1}")));
}

#[test]
fn a_struct_that_is_too_deep_is_refused() {
    let mut wire = to_struct(&nested(DEPTH_MAX));
    wire = prost_types::Struct {
        fields: [(
            "outer".to_owned(),
            prost_types::Value {
                kind: Some(prost_types::value::Kind::StructValue(wire)),
            },
        )]
        .into(),
    };
    assert_eq!(to_map(wire), Err(JsonError::TooDeep));
}

fn row(key: &str) -> Session {
    let session_id = confab_model::id::SessionId::parse("generation").unwrap();
    Session::fresh(
        SessionKey::parse(key).unwrap(),
        session_id,
        Timestamp::default(),
    )
}

#[test]
fn a_main_session_is_called_main_to_its_own_agent_only() {
    let own = SessionKey::parse("agent:ops:cron:nightly").unwrap();
    let foreign = SessionKey::parse("agent:main:main").unwrap();
    let shown = |requester| {
        session::to_proto(&row("agent:ops:main"), &Perspective { requester }).display_key
    };
    assert_eq!(shown(Some(&own)), "main");
    assert_eq!(shown(Some(&foreign)), "agent:ops:main");
    assert_eq!(shown(None), "agent:ops:main");
}

#[test]
fn a_row_tells_kind_channel_and_agent_of_its_key() {
    let cases = [
        ("agent:ops:main", proto::SessionKind::Main, "unknown", "ops"),
        (
            "agent:ops:cron:x",
            proto::SessionKind::Cron,
            "internal",
            "ops",
        ),
        (
            "agent:ops:discord:group:7",
            proto::SessionKind::Group,
            "discord",
            "ops",
        ),
        ("global", proto::SessionKind::Main, "unknown", ""),
    ];
    for (key, kind, channel, agent) in cases {
        let shown = session::to_proto(&row(key), &Perspective::default());
        assert_eq!(
            (shown.kind(), shown.channel.as_str()),
            (kind, channel),
            "{key}"
        );
        assert_eq!(shown.agent_id, agent);
        assert!(shown.status.is_none() && shown.aborted_last_run.is_none());
    }
}

#[test]
fn every_state_of_a_run_has_one_of_five_words() {
    let words = RunState::ALL.map(status_word);
    assert_eq!(
        words,
        [
            "running", "running", "running", "done", "failed", "timeout", "killed", "killed",
            "failed",
        ],
    );
}

#[test]
fn a_prompt_is_shown_to_drivers_only() {
    let wire = proto::Run {
        run_id: "r".to_owned(),
        session_key: "agent:main:main".to_owned(),
        agent_id: "main".to_owned(),
        step: 1,
        lane: 1,
        state: 1,
        prompt: "all of it".to_owned(),
        flow_id: "f".to_owned(),
        chain_id: "c".to_owned(),
        created_at: Some(prost_types::Timestamp::default()),
        ..proto::Run::default()
    };
    let model = run::from_proto(wire).unwrap();
    assert_eq!(
        run::to_proto(&model, None, Prompt::Shown).prompt,
        "all of it"
    );
    assert_eq!(run::to_proto(&model, None, Prompt::LeftOut).prompt, "");
}

#[test]
fn what_cannot_be_read_names_its_field() {
    let missing = run::from_proto(proto::Run::default()).unwrap_err();
    assert_eq!(missing.to_string(), "field run.runId is malformed");
    let unknown = flow::summary_from_proto(proto::DeliverySummary {
        status: 99,
        mode: 1,
    });
    assert_eq!(
        unknown.unwrap_err().to_string(),
        "field delivery.status has the unknown enum number 99",
    );
    let garbage = session::unpack(&[0xff]).unwrap_err();
    assert_eq!(
        garbage.to_string(),
        "the bytes of a packed session cannot be decoded"
    );
}

#[test]
fn a_fault_of_our_own_records_is_internal_and_its_field_stays_private() {
    let error = RpcError::from(WireError::Missing {
        field: "run.createdAt",
    });
    assert_eq!(error.reason, Reason::Internal);
    assert!(!error.message.contains("createdAt"));
    assert_eq!(
        error.source_chain().unwrap(),
        "field run.createdAt is missing"
    );
}

#[test]
fn a_refusal_for_an_unknown_reason_is_told_by_its_code() {
    let refusal = registry::Refusal {
        code: 5,
        reason: "INVENTED_LATER".to_owned(),
        message: "gone".to_owned(),
        faults: Vec::new(),
    };
    let outcome = Some(registry::decision::Outcome::Refusal(refusal));
    let wire = registry::AuthorizeResponse {
        decisions: vec![registry::Decision { outcome }],
        scope: None,
    };
    let answer = answer_from_proto(wire).unwrap();
    let error = answer.decisions[0].as_ref().unwrap_err();
    assert_eq!(
        (error.reason, error.message.as_str()),
        (Reason::RecordNotFound, "gone")
    );
}

#[test]
fn a_scope_that_is_not_all_is_never_read_as_all() {
    let sessions = Some(registry::scope::Sessions::All(false));
    let scope = scope_from_proto(registry::Scope {
        sessions,
        note: None,
    })
    .unwrap();
    assert_eq!(scope.reach, Reach::Among(Among::default()));
    let nothing = registry::Scope {
        sessions: None,
        note: None,
    };
    assert!(matches!(
        scope_from_proto(nothing),
        Err(WireError::Missing { .. })
    ));
}

#[test]
fn a_scope_of_too_many_keys_is_refused() {
    let session_keys = vec!["agent:main:main".to_owned(); 10_001];
    let sessions = Some(registry::scope::Sessions::Keys(registry::KeyScope {
        session_keys,
    }));
    let refused = scope_from_proto(registry::Scope {
        sessions,
        note: None,
    });
    assert!(matches!(
        refused,
        Err(WireError::OutOfRange { given: 10_001, .. })
    ));
}
