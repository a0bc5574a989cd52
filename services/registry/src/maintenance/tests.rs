//! Sessions whose time is over.

use confab_model::id::SessionId;
use confab_model::session::Session;
use confab_proto::registry::v1::registry_service_server::RegistryService as _;
use confab_proto::registry::v1::{
    ActivityRecord, CreateSessionRequest, LifecycleChange, ListOverdueSessionsRequest,
    OverdueSession,
};
use confab_proto::types::v1 as types;
use confab_rpc::wire;

use super::{duration, high_water_mark, roughly, surplus};
use crate::store::Row;
use crate::testing::{DEFAULTS, House, START, answered, asked, change_of, key, named, service};

const MINUTE: i64 = 60_000;
const DAY: i64 = 86_400_000;
const CHILD: &str = "agent:writer:subagent:1";

/// An open house with the maintenance that `session` says.
fn config(maintenance: &str) -> String {
    format!(
        r#"{{
            agents: {{
                defaults: {{ subagents: {{ archiveAfterMinutes: 10 }} }},
                list: [{{ id: "writer", default: true }}],
            }},
            session: {{ maintenance: {{ {maintenance} }} }},
        }}"#
    )
}

async fn overdue_of(house: &House, limit: Option<i32>) -> Vec<OverdueSession> {
    listed(
        house,
        ListOverdueSessionsRequest {
            limit,
            tenant: None,
        },
    )
    .await
}

/// How many are overdue of one tenant.
async fn overdue_in(house: &House, tenant: &str) -> usize {
    let tenant = Some(tenant.to_owned());
    listed(
        house,
        ListOverdueSessionsRequest {
            limit: None,
            tenant,
        },
    )
    .await
    .len()
}

async fn listed(house: &House, request: ListOverdueSessionsRequest) -> Vec<OverdueSession> {
    let request = asked(service(), request);
    let answer = house.api.list_overdue_sessions(request).await;
    answered(answer).unwrap().sessions
}

async fn overdue(house: &House) -> Vec<(String, LifecycleChange, bool)> {
    let sessions = overdue_of(house, None).await;
    sessions
        .into_iter()
        .map(|one| {
            (
                one.session.unwrap().key,
                one.change.try_into().unwrap(),
                one.enforced,
            )
        })
        .collect()
}

fn ran(session_key: &str, state: types::RunState, began: i64, seen: i64) -> ActivityRecord {
    let at = |millis: i64| Some(wire::time::to_proto(START.plus_millis(millis)));
    let ended = state != types::RunState::Running;
    ActivityRecord {
        session_key: session_key.to_owned(),
        run_id: format!("r-{began}"),
        state: state.into(),
        occurred_at: at(seen),
        started_at: at(began),
        ended_at: ended.then(|| at(seen)).flatten(),
        tenant: "default".to_owned(),
        ..Default::default()
    }
}

async fn child(house: &House, text: &str, mode: &str) -> Session {
    let request = CreateSessionRequest {
        spawned_by: Some("agent:writer:main".to_owned()),
        spawn_mode: Some(mode.to_owned()),
        ..named(text)
    };
    house.create(request).await.unwrap().session
}

#[tokio::test]
async fn a_child_of_one_task_is_archived_to_the_millisecond_after_its_last_run() {
    let house = House::with(&config("")).await;
    house.made("agent:writer:main").await;
    child(&house, CHILD, "run").await;
    child(&house, "agent:writer:subagent:2", "session").await;
    child(&house, "agent:writer:subagent:3", "run").await;
    // B178: five minutes of work count for nothing.
    for text in [CHILD, "agent:writer:subagent:2"] {
        house.told(ran(text, types::RunState::Running, 1, 1)).await;
    }
    house.clock.advance_millis(60 * MINUTE);
    assert_eq!(overdue(&house).await, []);
    for text in [CHILD, "agent:writer:subagent:2"] {
        let ended = 60 * MINUTE;
        house
            .told(ran(text, types::RunState::Failed, 1, ended))
            .await;
    }
    house.clock.advance_millis(10 * MINUTE - 1);
    assert_eq!(overdue(&house).await, []);
    house.clock.advance_millis(1);
    // B183: nothing but the children of one task; one that never ran is none either.
    let expected = (CHILD.to_owned(), LifecycleChange::Archive, true);
    assert_eq!(overdue(&house).await, [expected]);
    let told = overdue_of(&house, None).await;
    assert_eq!(
        told[0].reason,
        "its task was done 10 minutes ago, and agents.defaults.subagents.archiveAfterMinutes is 10"
    );
    assert_eq!(told[0].tenant, "default");

    assert_eq!(overdue_in(&house, "default").await, 1);
    assert_eq!(overdue_in(&house, "elsewhere").await, 0);

    // B182: it is told until it is done.
    assert_eq!(overdue(&house).await.len(), 1);
    let row = house.row(CHILD).await.unwrap();
    let archive = change_of(&row, LifecycleChange::Archive, "c-1");
    house.commit(archive).await.unwrap();
    assert_eq!(overdue(&house).await, []);

    // Whoever opens it again has the same time anew.
    let row = house.row(CHILD).await.unwrap();
    let restore = change_of(&row, LifecycleChange::Restore, "c-2");
    house.commit(restore).await.unwrap();
    house.clock.advance_millis(10 * MINUTE - 1);
    assert_eq!(overdue(&house).await, []);
    house.clock.advance_millis(1);
    assert_eq!(overdue(&house).await.len(), 1);
}

#[tokio::test]
async fn a_child_that_works_again_is_not_archived() {
    let house = House::with(&config("")).await;
    house.made("agent:writer:main").await;
    child(&house, CHILD, "run").await;
    house
        .told(ran(CHILD, types::RunState::Succeeded, 1, 2))
        .await;
    house.clock.advance_millis(DAY);
    assert_eq!(overdue(&house).await.len(), 1);
    house
        .told(ran(CHILD, types::RunState::Running, DAY, DAY))
        .await;
    assert_eq!(overdue(&house).await, []);
}

#[tokio::test]
async fn nothing_is_archived_where_the_setting_is_zero_and_nothing_deleted_by_default() {
    let never = r#"{ agents: { defaults: { subagents: { archiveAfterMinutes: 0 } },
        list: [{ id: "writer", default: true }] } }"#;
    for config in [never, DEFAULTS] {
        let house = House::with(config).await;
        house.made("agent:writer:main").await;
        child(&house, CHILD, "run").await;
        house.made("agent:writer:desk").await;
        if config == never {
            house
                .told(ran(CHILD, types::RunState::Succeeded, 1, 2))
                .await;
        }
        house.clock.advance_millis(1_000 * DAY);
        assert_eq!(overdue(&house).await, [], "{config}");
    }
}

#[tokio::test]
async fn what_nothing_moved_for_longer_than_the_setting_is_deleted() {
    for (mode, enforced) in [("enforce", true), ("warn", false)] {
        let house = House::with(&config(&format!(r#"mode: "{mode}", pruneAfter: "30d""#))).await;
        house.made("agent:writer:desk").await;
        house.clock.advance_millis(1);
        let archived = house.made("agent:writer:archived").await;
        let archive = change_of(&archived, LifecycleChange::Archive, "c");
        house.commit(archive).await.unwrap();
        house.clock.advance_millis(30 * DAY - 1);
        // reg:X2: strictly older.
        assert_eq!(overdue(&house).await, []);
        house.clock.advance_millis(1);
        let desk = (
            "agent:writer:desk".to_owned(),
            LifecycleChange::Delete,
            enforced,
        );
        assert_eq!(overdue(&house).await, [desk]);
        house.clock.advance_millis(1);
        assert_eq!(overdue(&house).await.len(), 2, "archived ones go too");
        let told = overdue_of(&house, Some(1)).await;
        assert_eq!(
            told[0].reason,
            "nothing moved it for 30 days, and session.maintenance.pruneAfter is 30d"
        );
    }
}

#[tokio::test]
async fn what_is_to_be_done_comes_before_what_is_only_told() {
    let house = House::with(&config(r#"mode: "warn", pruneAfter: "1d""#)).await;
    house.made("agent:writer:main").await;
    house.made("agent:writer:desk").await;
    child(&house, CHILD, "run").await;
    house
        .told(ran(CHILD, types::RunState::Succeeded, 1, 2))
        .await;
    house.clock.advance_millis(9 * DAY);
    let expected = [
        (CHILD.to_owned(), LifecycleChange::Archive, true),
        (
            "agent:writer:desk".to_owned(),
            LifecycleChange::Delete,
            false,
        ),
    ];
    assert_eq!(overdue(&house).await, expected);
    assert_eq!(overdue_of(&house, Some(1)).await.len(), 1);
    assert_eq!(overdue_in(&house, "default").await, 2);
    assert_eq!(overdue_in(&house, "elsewhere").await, 0);
}

#[tokio::test]
async fn the_oldest_of_too_many_go_and_protected_ones_take_their_room() {
    let house = House::with(&config(r#"mode: "enforce", maxEntries: 3"#)).await;
    house.made("agent:writer:main").await;
    for number in 0..2 {
        house.clock.advance_millis(1);
        house.made(&format!("agent:writer:desk-{number}")).await;
    }
    assert_eq!(overdue(&house).await, [], "three are no more than three");
    for number in 2..4 {
        house.clock.advance_millis(1);
        house.made(&format!("agent:writer:desk-{number}")).await;
    }
    let told = overdue(&house).await;
    let keys: Vec<&str> = told.iter().map(|(key, ..)| key.as_str()).collect();
    assert_eq!(keys, ["agent:writer:desk-0", "agent:writer:desk-1"]);
    assert_eq!(overdue_in(&house, "elsewhere").await, 0);
    let told = overdue_of(&house, Some(1)).await;
    assert_eq!(told.len(), 1);
    assert_eq!(
        told[0].reason,
        "it is among the oldest of 5 sessions, and session.maintenance.maxEntries is 3 (cleaned up \
         from 4 on)"
    );
}

#[tokio::test]
async fn a_sweep_that_takes_several_calls_ends_at_the_cap() {
    let house = House::with(&config(r#"mode: "enforce", maxEntries: 3"#)).await;
    for number in 0..12 {
        house.made(&format!("agent:writer:desk-{number}")).await;
    }
    let mut calls = 0;
    loop {
        let told = overdue_of(&house, Some(4)).await;
        if told.is_empty() {
            break;
        }
        for one in told {
            let row = house.row(&one.session.unwrap().key).await.unwrap();
            let delete = change_of(&row, LifecycleChange::Delete, "c");
            house.commit(delete).await.unwrap();
        }
        calls += 1;
    }
    assert_eq!((house.keys().await.len(), calls), (3, 3));
}

#[test]
fn some_rows_are_never_removed() {
    let row = |text: &str| {
        Row::new(Session::fresh(
            key(text),
            SessionId::parse("s").unwrap(),
            START,
        ))
    };
    for (text, removable) in [
        ("agent:a:main", false),
        ("global", false),
        ("agent:a:desk", true),
        ("agent:a:discord:direct:1", true),
        ("agent:a:discord:group:1", false),
        ("agent:a:slack:channel:c", false),
        ("agent:a:discord:group:1:thread:7", false),
        ("agent:a:main:thread:7", false),
        // reg:X6: keys of the system's own, whatever they look like.
        ("agent:a:subagent:1", true),
        ("agent:a:subagent:group:1", true),
        ("agent:a:acp:channel:1", true),
        ("agent:a:cron:1", true),
        ("agent:a:cron:1:run:2", true),
        ("agent:a:hook:1", true),
        ("agent:a:node:1", true),
        ("agent:a:node-1", true),
        ("agent:a:acp-bridge:group:1", true),
        ("agent:a:heartbeat:group:1", true),
        ("agent:a:dashboard:1", true),
    ] {
        assert_eq!(row(text).is_removable(), removable, "{text}");
    }
    let mut pinned = row("agent:a:desk");
    pinned.session.pinned_at = Some(START);
    assert!(!pinned.is_removable());
    let mut typed = row("agent:a:desk");
    typed.session.chat_type = Some(confab_model::channel::ChatType::Group);
    assert!(!typed.is_removable());
    let mut archived = row("agent:a:desk");
    archived.session.archived_at = Some(START);
    assert!(archived.is_removable());
}

#[tokio::test]
async fn a_session_that_runs_is_left_alone_until_its_run_ends() {
    let house = House::with(&config(r#"mode: "enforce", pruneAfter: "1d""#)).await;
    house.made("agent:writer:desk").await;
    let desk = "agent:writer:desk";
    for state in [types::RunState::Running, types::RunState::Waiting] {
        house.told(ran(desk, state, 1, 2)).await;
        house.clock.advance_millis(2 * DAY);
        assert_eq!(overdue(&house).await, []);
    }
    house.told(ran(desk, types::RunState::Killed, 1, 3)).await;
    assert_eq!(overdue(&house).await.len(), 1);
}

#[tokio::test]
async fn a_session_goes_after_its_children() {
    let house = House::with(&config(r#"mode: "enforce", pruneAfter: "1d""#)).await;
    house.made("agent:writer:desk").await;
    let request = CreateSessionRequest {
        spawned_by: Some("agent:writer:desk".to_owned()),
        ..named(CHILD)
    };
    house.create(request).await.unwrap();
    house.clock.advance_millis(2 * DAY);
    let keys = async || -> Vec<String> {
        let told = overdue(&house).await;
        told.into_iter().map(|(key, ..)| key).collect()
    };
    assert_eq!(keys().await, [CHILD]);
    let row = house.row(CHILD).await.unwrap();
    let delete = change_of(&row, LifecycleChange::Delete, "c-1");
    house.commit(delete).await.unwrap();
    assert_eq!(keys().await, ["agent:writer:desk"]);
}

#[test]
fn cleaning_begins_at_a_mark_and_leads_down_to_the_cap() {
    // reg:X4.
    for (max, mark) in [
        (1, 2),
        (49, 50),
        (50, 75),
        (250, 275),
        (251, 277),
        (500, 550),
    ] {
        assert_eq!(high_water_mark(max), mark, "{max}");
    }
    for (count, max, limit, expected) in [
        (549, 500, 1_000, 0),
        (550, 500, 1_000, 50),
        (1_500, 500, 1_000, 1_000),
        // 40 would stay for a call that never comes, so that 550 are left for the next one.
        (1_540, 500, 1_000, 990),
        (5_000, 500, 1_000, 1_000),
        (50, 49, 1_000, 1),
        (49, 49, 1_000, 0),
        (40_000, 30_000, 1_000, 1_000),
        (33_000, 30_000, 1_000, 1_000),
    ] {
        assert_eq!(
            surplus(count, max, limit),
            expected,
            "{count} {max} {limit}"
        );
    }
}

#[test]
fn times_are_told_in_the_unit_that_fits() {
    for (millis, exact, rough) in [
        (30 * DAY, "30d", "30 days"),
        (36 * 60 * MINUTE, "36h", "36 hours"),
        (90 * MINUTE, "90m", "90 minutes"),
        (1_500, "1500ms", "1500 ms"),
        (5_000, "5s", "5 seconds"),
        (150 * MINUTE, "150m", "2 hours"),
    ] {
        assert_eq!(
            (duration(millis).as_str(), roughly(millis).as_str()),
            (exact, rough)
        );
    }
}
