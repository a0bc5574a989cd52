//! Depth, generations, archive.

use super::super::levels::{SubagentRole, ThinkingLevel};
use super::super::{Label, LastRun, Origin, Session, Spawn, Tuning};
use crate::clock::Timestamp;
use crate::id::{RunId, SessionId};
use crate::key::SessionKey;
use crate::run::RunState;

const START: Timestamp = Timestamp::from_millis(1_000);
const LATER: Timestamp = Timestamp::from_millis(9_000);

fn row(key: &str) -> Session {
    let key = SessionKey::parse(key).unwrap();
    Session::fresh(key, SessionId::parse("first").unwrap(), START)
}

/// Source: reg:V20.
#[test]
fn only_spawned_sessions_are_deep() {
    let cases = [
        ("agent:a:main", Some(3), 0),
        ("agent:a:discord:group:1", Some(1), 0),
        ("agent:a:subagent:1", None, 1),
        ("agent:a:subagent:1", Some(0), 0),
        ("agent:a:subagent:1", Some(4), 4),
        ("agent:a:subagent:1:subagent:2", None, 2),
        ("agent:a:acp:1", None, 1),
        ("agent:a:acp:1", Some(2), 2),
        ("global", Some(2), 0),
    ];
    for (key, depth, expected) in cases {
        let mut row = row(key);
        row.spawn.depth = depth;
        assert_eq!(row.subagent_depth(), expected, "{key} {depth:?}");
    }
}

fn used() -> Session {
    Session {
        row_version: 7,
        work_epoch: 2,
        label: Some(Label::parse("A").unwrap()),
        spawned_by: Some(SessionKey::parse("agent:a:main").unwrap()),
        origin: Origin {
            provider: Some("discord".to_owned()),
            ..Origin::default()
        },
        pinned_at: Some(START),
        last_run: Some(LastRun {
            run_id: RunId::parse("run").unwrap(),
            state: RunState::Succeeded,
            started_at: Some(START),
            ended_at: Some(START),
            model: None,
            total_tokens: Some(5),
            input_tokens: Some(3),
            output_tokens: Some(2),
        }),
        tuning: Tuning {
            model: Some("chosen".to_owned()),
            thinking_level: Some(ThinkingLevel::High),
            ..Tuning::default()
        },
        spawn: Spawn {
            depth: Some(1),
            role: Some(SubagentRole::Leaf),
            inherited_tool_allow: vec!["read".to_owned()],
            inherited_tool_deny: vec!["exec".to_owned()],
            ..Spawn::default()
        },
        category: Some("Work".to_owned()),
        marked_unread_at: Some(START),
        last_read_at: Some(START),
        last_interaction_at: Some(START),
        state_version: 4,
        ..row("agent:a:subagent:1")
    }
}

/// Source: D58, reg:C5, reg:C6.
#[test]
fn a_reset_keeps_what_people_set_and_who_the_session_is() {
    let next = used().next_generation(SessionId::parse("second").unwrap(), LATER);
    let expected = Session {
        session_id: SessionId::parse("second").unwrap(),
        work_epoch: 3,
        session_started_at: LATER,
        last_run: None,
        category: None,
        marked_unread_at: None,
        last_read_at: None,
        last_interaction_at: None,
        ..used()
    };
    assert_eq!(next, expected);
}

/// Source: reg:M13.
#[test]
fn archiving_keeps_the_first_moment_and_drops_the_pin() {
    let archived = used().archive(START);
    let expected = Session {
        archived_at: Some(START),
        pinned_at: None,
        work_epoch: 3,
        ..used()
    };
    assert_eq!(archived, expected);
    assert_eq!(archived.clone().archive(LATER), archived);
}

#[test]
fn restoring_moves_the_epoch_and_brings_no_pin_back() {
    let archived = used().archive(START);
    let restored = archived.clone().restore();
    assert_eq!(
        restored,
        Session {
            archived_at: None,
            work_epoch: 4,
            ..archived
        }
    );
    assert_eq!(restored.clone().restore(), restored);
}
