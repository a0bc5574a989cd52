//! What a caller wrote wrongly is told, all of it, each with its path.

use std::time::Duration;

use confab_model::channel::Route;
use confab_model::key::SessionKind;
use confab_model::limits::{MESSAGE_BLOCKS_MAX, MESSAGE_BYTES_MAX};
use confab_model::message::{Block, NewMessage, Role};
use confab_proto::registry::v1 as registry;
use confab_proto::types::v1 as proto;
use confab_proto::types::v1::block::Content;
use proptest::prelude::*;

use super::arbitrary;
use crate::error::Violations;
use crate::wire::authorize::question_from_wire;
use crate::wire::enums::enums_from_wire;
use crate::wire::limits::{Limit, limit_from_wire, timeout_from_wire};
use crate::wire::message::{new_message_from_wire, new_messages_from_wire, new_to_proto};
use crate::wire::route::route_from_wire;

/// The fields that were noted, in order.
fn fields(violations: Violations) -> Vec<String> {
    match violations.finish() {
        Ok(()) => Vec::new(),
        Err(error) => error
            .violations
            .into_iter()
            .map(|violation| violation.field)
            .collect(),
    }
}

fn said(text: &str) -> proto::NewMessage {
    new_to_proto(&NewMessage::text("key", Role::User, text))
}

fn block(content: Content) -> proto::Block {
    proto::Block {
        content: Some(content),
    }
}

fn faults_of(message: proto::NewMessage) -> Vec<String> {
    let mut violations = Violations::default();
    let read = new_message_from_wire(message, 2, &mut violations);
    let fields = fields(violations);
    assert!(
        read.is_some() || !fields.is_empty(),
        "refused without a word"
    );
    fields
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Where nothing is noted there is a message, and it is the one that was given.
    #[test]
    fn a_message_without_faults_is_read_whole(given in arbitrary::new_message()) {
        let mut violations = Violations::default();
        let read = new_message_from_wire(new_to_proto(&given), 0, &mut violations);
        if violations.is_empty() {
            let read = read.unwrap();
            prop_assert_eq!(read.blocks, given.blocks);
            prop_assert_eq!((read.key, read.role, read.at), (given.key, given.role, given.at));
        }
    }
}

#[test]
fn a_plain_message_is_read_as_it_is() {
    let mut violations = Violations::default();
    let read = new_message_from_wire(said("line\nline\tend"), 0, &mut violations);
    assert_eq!(
        read,
        Some(NewMessage::text("key", Role::User, "line\nline\tend"))
    );
    assert!(violations.is_empty());
}

#[test]
fn every_fault_of_a_message_is_told_with_its_path() {
    let call = proto::ToolCallBlock {
        tool_call_id: "c".to_owned(),
        ..Default::default()
    };
    let image = proto::ImageBlock {
        mime_type: "image/png".to_owned(),
        reference: "ref".to_owned(),
        bytes: -1,
        data: None,
    };
    let message = proto::NewMessage {
        key: String::new(),
        role: 0,
        blocks: vec![
            proto::Block { content: None },
            block(Content::ToolCall(call)),
            block(Content::Image(image)),
        ],
        provenance: Some(proto::Provenance {
            kind: 0,
            source_session_key: Some("agent:x".to_owned()),
            sender: Some("a\u{7}b".to_owned()),
            ..Default::default()
        }),
        run_id: Some("r".repeat(257)),
        usage: Some(proto::Usage {
            input: -1,
            output: 0,
        }),
        stop_reason: Some("tired".to_owned()),
        said_at: Some(prost_types::Timestamp {
            seconds: 0,
            nanos: -1,
        }),
        ..Default::default()
    };
    assert_eq!(
        faults_of(message),
        [
            "messages[2].key",
            "messages[2].role",
            "messages[2].blocks[0]",
            "messages[2].blocks[1].toolCall.name",
            "messages[2].blocks[2].image.bytes",
            "messages[2].provenance.kind",
            "messages[2].provenance.sourceSessionKey",
            "messages[2].provenance.sender",
            "messages[2].runId",
            "messages[2].usage.input",
            "messages[2].stopReason",
            "messages[2].saidAt",
        ],
    );
}

#[test]
fn a_key_may_have_256_bytes_and_no_more() {
    let with_key = |bytes: usize| proto::NewMessage {
        key: "k".repeat(bytes),
        ..said("x")
    };
    assert!(faults_of(with_key(1)).is_empty());
    assert!(faults_of(with_key(256)).is_empty());
    assert_eq!(faults_of(with_key(257)), ["messages[2].key"]);
    assert_eq!(faults_of(with_key(0)), ["messages[2].key"]);
}

#[test]
fn a_message_may_have_a_mebibyte_and_no_more() {
    assert!(faults_of(said(&"x".repeat(MESSAGE_BYTES_MAX))).is_empty());
    assert_eq!(
        faults_of(said(&"x".repeat(MESSAGE_BYTES_MAX + 1))),
        ["messages[2].blocks[0].text"],
    );
    let half = proto::TextBlock {
        text: "x".repeat(MESSAGE_BYTES_MAX / 2 + 1),
    };
    let blocks = vec![
        block(Content::Text(half.clone())),
        block(Content::Text(half)),
    ];
    assert_eq!(
        faults_of(proto::NewMessage { blocks, ..said("") }),
        ["messages[2].blocks"]
    );
}

#[test]
fn a_message_has_one_block_up_to_the_limit() {
    let with_blocks = |count: usize| {
        let text = proto::TextBlock {
            text: "x".to_owned(),
        };
        proto::NewMessage {
            blocks: vec![block(Content::Text(text)); count],
            ..said("")
        }
    };
    assert_eq!(faults_of(with_blocks(0)), ["messages[2].blocks"]);
    assert!(faults_of(with_blocks(MESSAGE_BLOCKS_MAX)).is_empty());
    assert_eq!(
        faults_of(with_blocks(MESSAGE_BLOCKS_MAX + 1)),
        ["messages[2].blocks"]
    );
}

#[test]
fn blank_optional_fields_are_absent() {
    let message = proto::NewMessage {
        model: Some(" ".to_owned()),
        run_id: Some(String::new()),
        stop_reason: Some(String::new()),
        ..said("x")
    };
    let mut violations = Violations::default();
    let read = new_message_from_wire(message, 0, &mut violations).unwrap();
    assert!(violations.is_empty());
    assert_eq!(
        (read.model, read.run_id, read.stop_reason),
        (None, None, None)
    );
}

#[test]
fn an_append_has_one_message_up_to_the_limit() {
    for (count, expected) in [
        (0, vec!["messages"]),
        (1000, vec![]),
        (1001, vec!["messages"]),
    ] {
        let mut violations = Violations::default();
        let read = new_messages_from_wire(vec![said("x"); count], &mut violations);
        assert_eq!(read.len(), if expected.is_empty() { count } else { 0 });
        assert_eq!(fields(violations), expected);
    }
}

#[test]
fn faults_of_every_message_of_an_append_are_told() {
    let faulty = || proto::NewMessage {
        role: 77,
        ..said("x")
    };
    let mut violations = Violations::default();
    let read = new_messages_from_wire(vec![faulty(), said("x"), faulty()], &mut violations);
    assert_eq!(read[0].blocks, [Block::Text("x".to_owned())]);
    assert_eq!(fields(violations), ["messages[0].role", "messages[2].role"]);
}

fn wire_route(channel: &str, to: &str) -> proto::Route {
    proto::Route {
        channel: channel.to_owned(),
        to: to.to_owned(),
        ..Default::default()
    }
}

#[test]
fn a_route_is_folded_and_its_blank_fields_are_absent() {
    let wire = proto::Route {
        account_id: Some(String::new()),
        thread_id: Some("T1".to_owned()),
        ..wire_route(" Discord ", "group:42")
    };
    let mut violations = Violations::default();
    let read = route_from_wire(Some(wire), "route", &mut violations);
    let expected = Route {
        channel: "discord".to_owned(),
        to: "group:42".to_owned(),
        account_id: None,
        thread_id: Some("T1".to_owned()),
    };
    assert_eq!(read, Some(expected));
    assert!(violations.is_empty());
}

#[test]
fn a_route_that_is_given_must_be_whole_and_clean() {
    let long = "x".repeat(513);
    let cases = [
        (wire_route("", ""), vec!["route.channel", "route.to"]),
        (wire_route("discord", "a\nb"), vec!["route.to"]),
        (wire_route("discord", &long), vec!["route.to"]),
        (
            proto::Route {
                account_id: Some(long.clone()),
                ..wire_route("discord", "1")
            },
            vec!["route.accountId"],
        ),
    ];
    for (wire, expected) in cases {
        let mut violations = Violations::default();
        route_from_wire(Some(wire), "route", &mut violations);
        assert_eq!(fields(violations), expected);
    }
    let mut violations = Violations::default();
    assert_eq!(route_from_wire(None, "route", &mut violations), None);
    assert!(violations.is_empty());
}

#[test]
fn a_limit_above_the_maximum_is_lowered_and_told() {
    let cases = [
        (None, 100, None, false),
        (Some(1), 1, None, false),
        (Some(200), 200, None, false),
        (Some(201), 200, Some(200), false),
        (Some(i32::MAX), 200, Some(200), false),
        (Some(0), 100, None, true),
        (Some(-1), 100, None, true),
    ];
    for (given, value, applied, refused) in cases {
        let mut violations = Violations::default();
        let limit = limit_from_wire(given, 100, 200, "limit", &mut violations);
        assert_eq!(limit, Limit { value, applied }, "{given:?}");
        assert_eq!(!violations.is_empty(), refused, "{given:?}");
    }
}

#[test]
fn a_wait_takes_nothing_to_an_hour() {
    let cases = [
        (None, 30, false),
        (Some(0), 0, false),
        (Some(3600), 3600, false),
        (Some(3601), 30, true),
        (Some(-1), 30, true),
    ];
    for (given, seconds, refused) in cases {
        let mut violations = Violations::default();
        let wait = timeout_from_wire(given, "timeoutSeconds", &mut violations);
        assert_eq!(wait, Duration::from_secs(seconds), "{given:?}");
        assert_eq!(!violations.is_empty(), refused, "{given:?}");
    }
}

#[test]
fn an_unknown_kind_is_refused_and_the_allowed_ones_are_named() {
    let mut violations = Violations::default();
    let kinds: Vec<SessionKind> = enums_from_wire(&[1, 99, 3], "kinds", &mut violations);
    assert_eq!(kinds, [SessionKind::Main, SessionKind::Cron]);
    let error = violations.finish().unwrap_err();
    assert_eq!(error.violations[0].field, "kinds[1]");
    assert!(error.message.contains("99") && error.message.contains("SESSION_KIND_HOOK"));
}

#[test]
fn every_fault_of_a_question_is_told() {
    let wire = registry::AuthorizeRequest {
        caller: Some(registry::Principal {
            role: "agent".to_owned(),
            tenant: String::new(),
            ..Default::default()
        }),
        action: 0,
        targets: vec![proto::SessionTarget::default()],
        scope: false,
        channel: None,
    };
    let error = question_from_wire(wire).unwrap_err();
    let fields: Vec<_> = error
        .violations
        .iter()
        .map(|one| one.field.as_str())
        .collect();
    assert_eq!(
        fields,
        ["caller.tenant", "caller.sessionKey", "action", "targets[0]"]
    );
}

#[test]
fn a_question_has_targets_or_a_scope_but_not_both() {
    let ask = |count: usize, scope: bool| {
        let target = proto::SessionTarget {
            session_key: Some("main".to_owned()),
            ..Default::default()
        };
        let caller = registry::Principal {
            role: "operator".to_owned(),
            tenant: "default".to_owned(),
            ..Default::default()
        };
        question_from_wire(registry::AuthorizeRequest {
            caller: Some(caller),
            action: 1,
            targets: vec![target; count],
            scope,
            channel: None,
        })
    };
    assert!(ask(1, false).is_ok() && ask(1000, false).is_ok() && ask(0, true).is_ok());
    for (count, scope) in [(0, false), (1001, false), (1, true)] {
        assert_eq!(
            ask(count, scope).unwrap_err().violations[0].field,
            "targets"
        );
    }
}
