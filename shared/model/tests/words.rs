//! The words of the vocabulary: one spelling in JSON, in text and in what is read back.

use std::fmt::Debug;

use confab_model::channel::{ChatType, INTERNAL, UNKNOWN, row_channel};
use confab_model::delivery::DeliveryState;
use confab_model::flow::{DeliveryMode, DeliveryStatus, FlowKind, FlowState, StopReason};
use confab_model::key::SessionKind;
use confab_model::run::{RunState, Step};
use serde::Serialize;

fn assert_json_shows<T: Copy + Debug + Serialize>(all: &[T], word: impl Fn(T) -> &'static str) {
    for one in all {
        assert_eq!(serde_json::json!(one), word(*one), "{one:?}");
    }
}

fn assert_reads_back<T: Copy + Debug + PartialEq>(
    all: &[T],
    word: impl Fn(T) -> &'static str,
    parse: impl Fn(&str) -> Option<T>,
) {
    for one in all {
        assert_eq!(parse(word(*one)), Some(*one));
    }
    assert_eq!(parse("no such word"), None);
}

#[test]
fn json_shows_the_same_word_as_text() {
    assert_json_shows(&SessionKind::ALL, SessionKind::as_str);
    assert_json_shows(&Step::ALL, Step::as_str);
    assert_json_shows(&RunState::ALL, RunState::as_str);
    assert_json_shows(&DeliveryState::ALL, DeliveryState::as_str);
    assert_json_shows(FlowKind::ALL, FlowKind::as_str);
    assert_json_shows(FlowState::ALL, FlowState::as_str);
    assert_json_shows(StopReason::ALL, StopReason::as_str);
    assert_json_shows(DeliveryMode::ALL, DeliveryMode::as_str);
    assert_json_shows(DeliveryStatus::ALL, DeliveryStatus::as_str);
}

#[test]
fn every_word_is_read_back() {
    assert_reads_back(&SessionKind::ALL, SessionKind::as_str, SessionKind::parse);
    assert_reads_back(&Step::ALL, Step::as_str, Step::parse);
    assert_reads_back(&RunState::ALL, RunState::as_str, RunState::parse);
    assert_reads_back(
        &DeliveryState::ALL,
        DeliveryState::as_str,
        DeliveryState::parse,
    );
    assert_eq!(ChatType::parse(" DM "), Some(ChatType::Direct));
    assert_eq!(ChatType::parse("thread"), None);
}

#[test]
fn a_rows_channel_is_the_first_that_is_known() {
    let (stored, origin, last, key) = (Some("a"), Some("b"), Some("c"), Some("d"));
    assert_eq!(
        row_channel(SessionKind::Group, stored, origin, last, key),
        "a"
    );
    assert_eq!(
        row_channel(SessionKind::Main, Some(" "), origin, last, key),
        "b"
    );
    assert_eq!(
        row_channel(SessionKind::Other, None, Some(""), last, key),
        "c"
    );
    assert_eq!(row_channel(SessionKind::Group, None, None, None, key), "d");
    assert_eq!(
        row_channel(SessionKind::Group, None, None, None, None),
        UNKNOWN
    );
    for kind in [SessionKind::Cron, SessionKind::Hook, SessionKind::Node] {
        assert_eq!(row_channel(kind, stored, origin, last, key), INTERNAL);
    }
}
