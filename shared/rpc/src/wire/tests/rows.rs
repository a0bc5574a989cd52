//! Rows of other versions: what this one knows is read, what it does not know is told.

use confab_model::clock::Timestamp;
use confab_model::id::{RunId, SessionId};
use confab_model::key::SessionKey;
use confab_model::run::RunState;
use confab_model::session::{LastRun, SendAction, Session};
use confab_proto::types::v1 as proto;
use prost::Message;

use crate::wire::WireError;
use crate::wire::session::{Perspective, Unpacked, from_proto, pack, to_proto, unpack, unpack_row};

/// The packed column, as another version may have written it.
#[derive(Clone, PartialEq, Message)]
struct Packed {
    #[prost(message, optional, tag = "1")]
    row: Option<proto::Session>,
    #[prost(int32, tag = "2")]
    last_run_state: i32,
}

fn fresh() -> Session {
    let key = SessionKey::parse("agent:main:subagent:1").unwrap();
    let id = SessionId::parse("generation").unwrap();
    Session::fresh(key, id, Timestamp::from_millis(5))
}

fn ran(state: RunState) -> Session {
    Session {
        last_run: Some(LastRun {
            run_id: RunId::parse("run").unwrap(),
            state,
            started_at: Some(Timestamp::from_millis(6)),
            ended_at: None,
            model: None,
            total_tokens: None,
            input_tokens: Some(1),
            output_tokens: Some(2),
        }),
        ..fresh()
    }
}

fn read(row: proto::Session, last_run_state: i32) -> Result<Unpacked, WireError> {
    let packed = Packed {
        row: Some(row),
        last_run_state,
    };
    let bytes = packed.encode_to_vec();
    let unpacked = unpack(&bytes);
    assert_eq!(
        unpack_row(&bytes)
            .map(|stored| (*stored.row, stored.fault))
            .ok(),
        unpacked
            .as_ref()
            .map(|read| (wire(&read.session), read.fault.clone()))
            .ok(),
        "a list shows what was read"
    );
    unpacked
}

fn wire(session: &Session) -> proto::Session {
    to_proto(session, &Perspective::default())
}

#[test]
fn what_a_newer_version_wrote_is_absent_and_told() {
    let newer = proto::Session {
        thinking_level: Some("galactic".to_owned()),
        fast_mode: Some("turbo".to_owned()),
        spawn_mode: Some("swarm".to_owned()),
        subagent_role: Some("boss".to_owned()),
        chat_type: 99,
        label: Some("a\nb".to_owned()),
        spawned_by: Some("no key".to_owned()),
        delivery_context: Some(proto::Route::default()),
        verbose_level: Some("full".to_owned()),
        ..wire(&fresh())
    };
    let unpacked = read(newer.clone(), 0).unwrap();
    let mut expected = fresh();
    expected.tuning.verbose_level = Some(confab_model::session::levels::VerboseLevel::Full);
    assert_eq!(unpacked.session, expected);
    assert_eq!(from_proto(newer).unwrap(), expected);
    assert_eq!(
        unpacked.fault.unwrap(),
        "label cannot be read; spawnedBy cannot be read; \
         chatType 99 is not known to this version; \
         thinkingLevel `galactic` is not known to this version; \
         fastMode `turbo` is not known to this version; \
         spawnMode `swarm` is not known to this version; \
         subagentRole `boss` is not known to this version; \
         deliveryContext cannot be read"
    );
}

#[test]
fn an_unknown_send_policy_lets_nothing_through() {
    let newer = proto::Session {
        send_policy: 9,
        ..wire(&fresh())
    };
    let unpacked = read(newer, 0).unwrap();
    assert_eq!(unpacked.session.tuning.send_policy, Some(SendAction::Deny));
    assert_eq!(
        unpacked.fault.unwrap(),
        "sendPolicy 9 is not known to this version"
    );
}

#[test]
fn the_state_of_a_last_run_is_told_by_its_number_or_by_its_word() {
    let row = ran(RunState::Failed);
    let word = |word: &str| proto::Session {
        status: Some(word.to_owned()),
        ..wire(&row)
    };
    let state = |row, number| {
        let unpacked = read(row, number).unwrap();
        let state = unpacked.session.last_run.map(|run| run.state);
        (state, unpacked.fault)
    };
    let interrupted = proto::RunState::Interrupted.into();
    assert_eq!(
        state(word("failed"), interrupted),
        (Some(RunState::Interrupted), None)
    );
    assert_eq!(
        state(word("dreaming"), interrupted),
        (Some(RunState::Interrupted), None)
    );
    assert_eq!(state(word("failed"), 99), (Some(RunState::Failed), None));
    let fault = "status `dreaming` is not known to this version".to_owned();
    assert_eq!(state(word("dreaming"), 99), (None, Some(fault)));
}

#[test]
fn what_every_row_has_must_be_readable() {
    let good = wire(&fresh());
    let bad = [
        proto::Session {
            key: "nonsense".to_owned(),
            ..good.clone()
        },
        proto::Session {
            session_id: String::new(),
            ..good.clone()
        },
        proto::Session {
            created_at: None,
            ..good.clone()
        },
        proto::Session {
            row_version: -1,
            ..good.clone()
        },
        proto::Session {
            spawn_depth: Some(-1),
            ..good.clone()
        },
        proto::Session {
            last_read_at: Some(prost_types::Timestamp {
                seconds: i64::MAX,
                nanos: 0,
            }),
            ..good.clone()
        },
    ];
    assert!(read(good, 0).is_ok());
    for row in bad {
        assert!(read(row.clone(), 0).is_err(), "{row:?}");
    }
}

#[test]
fn a_row_that_is_older_than_a_field_has_what_the_field_would_say() {
    let older = proto::Session {
        session_started_at: None,
        unread: false,
        system_sent: None,
        ..wire(&fresh())
    };
    let unpacked = read(older, 0).unwrap();
    assert_eq!(unpacked.session, fresh());
    assert_eq!(unpacked.fault, None);
}

#[test]
fn the_sequence_of_state_events_is_shown_and_not_stored() {
    let noted = Session {
        state_version: 7,
        ..fresh()
    };
    assert_eq!(wire(&noted).state_version, 7);
    assert_eq!(from_proto(wire(&noted)).unwrap().state_version, 7);
    assert_eq!(unpack(&pack(&noted)).unwrap().session, fresh());
}

#[test]
fn a_row_tells_whether_it_is_unread_and_whether_a_run_has_begun() {
    let shown = wire(&fresh());
    assert_eq!((shown.unread, shown.system_sent), (false, Some(false)));
    let marked = Session {
        marked_unread_at: Some(Timestamp::from_millis(9)),
        ..ran(RunState::Running)
    };
    let shown = wire(&marked);
    assert_eq!((shown.unread, shown.system_sent), (true, Some(true)));
    assert_eq!(
        (shown.input_tokens, shown.output_tokens),
        (Some(1), Some(2))
    );
}
