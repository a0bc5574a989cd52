//! What runs did, as rows show it.

use confab_model::channel::Route;
use confab_model::clock::Timestamp;
use confab_model::id::{RunId, SessionId, TenantId};
use confab_model::run::RunState;
use confab_model::session::Session;
use confab_proto::registry::v1::ActivityRecord;
use confab_rpc::wire;
use confab_rpc::wire::enums::Numbered as _;

use super::Activity;
use crate::store::Row;
use crate::testing::{DEFAULTS, House, START, key, route};

fn fresh() -> Row {
    Row::new(Session::fresh(
        key("agent:writer:main"),
        SessionId::parse("s-1").unwrap(),
        START,
    ))
}

fn at(millis: i64) -> Timestamp {
    START.plus_millis(millis)
}

fn seen(run: &str, state: RunState, began: i64, seen: i64) -> Activity {
    Activity {
        tenant: TenantId::default(),
        session_key: key("agent:writer:main"),
        run_id: RunId::parse(run).unwrap(),
        state,
        occurred_at: at(seen),
        started_at: (state != RunState::Queued).then(|| at(began)),
        ended_at: state.is_ended().then(|| at(seen)),
        model: Some("m".to_owned()),
        total_tokens: Some(7),
        input_tokens: Some(4),
        output_tokens: Some(3),
        person: false,
        inbound_route: None,
    }
}

fn routed(run: &str, millis: i64, route: Route) -> Activity {
    Activity {
        person: true,
        inbound_route: Some(route),
        ..seen(run, RunState::Queued, 0, millis)
    }
}

#[test]
fn every_order_of_arrival_and_any_repetition_ends_in_the_same_row() {
    let story = [
        routed("r1", 1, route("a")),
        seen("r1", RunState::Running, 2, 2),
        seen("r1", RunState::Succeeded, 2, 5),
        routed("r2", 3, route("b")),
        seen("r2", RunState::Running, 6, 6),
        seen("r2", RunState::Failed, 6, 9),
    ];
    let mut told = fresh();
    for activity in &story {
        assert!(told.take(activity), "{activity:?}");
    }
    let last = told.session.last_run.clone().unwrap();
    assert_eq!((last.run_id.as_str(), last.state), ("r2", RunState::Failed));
    assert_eq!(told.session.updated_at, at(9));
    assert_eq!(told.session.delivery_context, Some(route("b")));

    // Every rotation, forwards and backwards, each told twice.
    for start in 0..story.len() {
        for backwards in [false, true] {
            let mut order: Vec<&Activity> =
                story.iter().cycle().skip(start).take(story.len()).collect();
            if backwards {
                order.reverse();
            }
            let mut row = fresh();
            for activity in order.iter().chain(&order) {
                row.take(activity);
            }
            let versions = (row.session.row_version, told.session.row_version);
            row.session.row_version = versions.1;
            row.session.origin = told.session.origin.clone();
            assert_eq!(row, told, "start {start}, backwards {backwards}");
        }
    }
}

#[test]
fn a_repetition_changes_nothing_and_counts_no_version() {
    let mut row = fresh();
    let ended = seen("r1", RunState::Succeeded, 2, 5);
    assert!(row.take(&ended));
    let before = row.clone();
    assert!(!row.take(&ended));
    assert!(!row.take(&seen("r1", RunState::Running, 2, 2)));
    assert_eq!(row, before);
    assert_eq!(row.session.row_version, 2);
}

#[test]
fn an_end_is_final_for_its_run_whatever_is_seen_later() {
    let mut row = fresh();
    row.take(&seen("r1", RunState::Killed, 2, 5));
    row.take(&seen("r1", RunState::Running, 2, 8));
    assert_eq!(row.session.last_run.unwrap().state, RunState::Killed);
    assert_eq!(row.session.updated_at, at(8));
}

#[test]
fn a_queued_run_moves_the_session_and_is_not_its_last_run() {
    let mut row = fresh();
    assert!(row.take(&seen("r1", RunState::Queued, 0, 4)));
    assert_eq!(
        (row.session.last_run.clone(), row.session.updated_at),
        (None, at(4))
    );
}

#[test]
fn a_route_replaces_the_stored_one_whole() {
    let mut row = fresh();
    let threaded = Route {
        thread_id: Some("t".to_owned()),
        ..route("a")
    };
    row.take(&routed("r1", 1, threaded));
    assert_eq!(row.session.origin.provider.as_deref(), Some("discord"));
    let plain = Route {
        channel: "slack".to_owned(),
        ..route("b")
    };
    row.take(&routed("r2", 2, plain.clone()));
    assert_eq!(row.session.delivery_context, Some(plain));
    assert_eq!(
        row.session.origin.provider.as_deref(),
        Some("discord"),
        "as first seen"
    );
}

#[test]
fn only_a_person_of_the_present_generation_moves_the_last_interaction_x13() {
    let mut row = fresh();
    row.take(&seen("r1", RunState::Running, 2, 2));
    assert_eq!(row.session.last_interaction_at, None);
    row.take(&routed("r1", 5, route("a")));
    row.take(&routed("r2", 3, route("a")));
    row.take(&seen("r2", RunState::Succeeded, 4, 9));
    assert_eq!(row.session.last_interaction_at, Some(at(5)));

    let next = SessionId::parse("s-2").unwrap();
    row.session = row.session.next_generation(next, at(20));
    row.take(&routed("r3", 19, route("a")));
    assert_eq!(row.session.last_interaction_at, None);
    row.take(&routed("r4", 20, route("a")));
    assert_eq!(row.session.last_interaction_at, Some(at(20)));
}

#[tokio::test]
async fn all_that_the_runner_tells_of_a_run_stands_in_the_row() {
    let house = House::with(DEFAULTS).await;
    house.made("agent:writer:main").await;
    let record = ActivityRecord {
        tenant: "default".to_owned(),
        session_key: "agent:writer:main".to_owned(),
        run_id: "r".to_owned(),
        state: RunState::Succeeded.number(),
        occurred_at: Some(wire::time::to_proto(at(5))),
        started_at: Some(wire::time::to_proto(at(2))),
        ended_at: Some(wire::time::to_proto(at(5))),
        model: Some("m".to_owned()),
        total_tokens: Some(10),
        inbound_route: Some(wire::route::to_proto(&route("a"))),
        person: true,
        input_tokens: Some(7),
        output_tokens: Some(3),
    };
    house.told(record).await;
    let row = house.row("agent:writer:main").await.unwrap();
    let run = row.last_run.unwrap();
    let tokens = (run.input_tokens, run.output_tokens, run.total_tokens);
    assert_eq!(tokens, (Some(7), Some(3), Some(10)));
    assert_eq!(row.last_interaction_at, Some(at(5)));
    assert_eq!(row.delivery_context, Some(route("a")));
}
