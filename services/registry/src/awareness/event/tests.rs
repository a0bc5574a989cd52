use super::*;

fn now() -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000)
}

#[test]
fn a_summary_tells_the_kind_and_its_detail_in_one_line() {
    let cases = [
        (
            EventKind::HumanDirectMessage,
            Some("discord"),
            "human message via discord",
        ),
        (
            EventKind::HumanDirectMessage,
            None,
            "human message via unknown",
        ),
        (EventKind::UpstreamMissing, None, "upstream missing"),
        (EventKind::GoalChanged, Some("created"), "goal created"),
        (
            EventKind::GoalChanged,
            Some("paused"),
            "goal status changed to paused",
        ),
        (
            EventKind::GoalChanged,
            Some("objective"),
            "goal objective changed",
        ),
        (EventKind::GoalChanged, Some("cleared"), "goal cleared"),
        (EventKind::GoalChanged, None, "goal changed"),
        (EventKind::RunCompleted, Some("ok"), "child run completed"),
        (EventKind::RunFailed, Some("error"), "child run failed"),
        (EventKind::RunFailed, Some("timeout"), "child run timed out"),
        (
            EventKind::RunFailed,
            Some("cancelled"),
            "child run cancelled",
        ),
        (EventKind::Compacted, None, "session compacted"),
        (EventKind::Adopted, None, "session adopted"),
        (EventKind::ChildSpawned, None, "child session spawned"),
    ];
    for (kind, detail, expected) in cases {
        let told = account(kind, detail).unwrap();
        assert_eq!(
            told.summary, expected,
            "reg:W7, reg:W9, reg:W10, reg:W11: {kind:?}"
        );
        let failed = kind == EventKind::RunFailed;
        let outcome = told.outcome.map(Outcome::as_str);
        assert_eq!(
            outcome,
            detail.filter(|_| failed),
            "reg:W10: {kind:?} {detail:?}"
        );
    }
}

#[test]
fn a_failed_run_that_does_not_say_how_it_ended_is_not_told() {
    assert_eq!(account(EventKind::RunFailed, None), None, "reg:W10");
    assert_eq!(
        account(EventKind::RunFailed, Some("melted")),
        None,
        "reg:W10"
    );
}

#[test]
fn a_kind_has_one_number_and_the_name_of_the_proto() {
    for (kind, name) in EventKind::ALL.into_iter().zip(EventKind::NAMES) {
        assert_eq!(EventKind::of(kind.number()), Some(kind));
        let twin = proto::StateEventKind::try_from(kind.number()).unwrap();
        assert_eq!(twin.as_str_name(), *name);
        let word = name.trim_start_matches("STATE_EVENT_KIND_").to_lowercase();
        assert_eq!(kind.as_str(), word);
    }
    assert_eq!(EventKind::of(0), None);
    assert_eq!(EventKind::of(99), None);
}

#[test]
fn a_moment_is_kept_within_the_last_day() {
    let event = |told: Option<i64>| NewEvent {
        tenant: TenantId::default(),
        session_key: SessionKey::parse("agent:a:main").unwrap(),
        kind: EventKind::Compacted,
        actor: Actor::System,
        run_id: None,
        occurred_at: told.map(|millis| now().plus_millis(millis)),
        dedupe_key: None,
        account: account(EventKind::Compacted, None).unwrap(),
    };
    let day = 86_400_000;
    for (told, expected) in [
        (None, 0),
        (Some(0), 0),
        (Some(5), 0),
        (Some(-5), -5),
        (Some(-day), -day),
        (Some(-day - 1), -day),
        (Some(i64::MIN), -day),
    ] {
        let moment = event(told).moment(now());
        assert_eq!(moment, now().plus_millis(expected), "reg:W4: {told:?}");
    }
}

#[test]
fn a_message_is_wanted_from_a_person_where_somebody_may_need_to_know() {
    let message = |actor: Actor| NewEvent {
        tenant: TenantId::default(),
        session_key: SessionKey::parse("agent:a:main").unwrap(),
        kind: EventKind::HumanDirectMessage,
        actor,
        run_id: None,
        occurred_at: None,
        dedupe_key: None,
        account: account(EventKind::HumanDirectMessage, None).unwrap(),
    };
    for (actor, spawned, watched, wanted) in [
        (Actor::Human, false, false, false),
        (Actor::Human, true, false, true),
        (Actor::Human, false, true, true),
        (Actor::System, true, true, false),
    ] {
        let event = message(actor);
        assert_eq!(
            event.is_wanted(spawned, watched),
            wanted,
            "reg:W7: {event:?}"
        );
    }
}
