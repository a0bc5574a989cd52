//! What every store of the registry must do; run on each kind of database.

mod awareness;
mod changing;
mod importing;
mod listing;

use confab_model::clock::Timestamp;
use confab_model::id::{AgentId, RunId, SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::run::RunState;
use confab_model::session::{Label, Origin, Session};
use confab_rpc::gate::{Among, Reach};

use crate::activity::Activity;
use crate::store::{Batch, Creation, Filter, Lookup, Recorded, RegistryStore};
use crate::testing::{START, key, route};

/// Runs every case on a store of its own, made by `$open`, which answers with the store and with
/// what keeps it alive.
macro_rules! suite {
    ($open:path: $($case:ident),+ $(,)?) => {
        $(#[tokio::test]
        async fn $case() {
            let (store, _alive) = $open().await;
            crate::store::conformance::$case(store).await;
        })+
    };
    ($open:path) => {
        crate::store::conformance::suite!($open:
            a_row_comes_back_as_it_was_written,
            a_key_is_made_once,
            a_taken_label_and_a_missing_spawner_make_nothing,
            rows_are_found_by_key_session_id_and_label_within_their_tenant,
            a_list_is_ordered_by_pin_then_movement_then_creation_then_key,
            a_list_goes_on_behind_a_position,
            archived_rows_have_a_list_of_their_own,
            a_reach_narrows_a_list,
            a_list_is_what_its_filters_and_every_two_of_them_say,
            a_walk_shows_what_does_not_move_exactly_once,
            a_row_names_the_open_children_within_reach_of_the_list,
            a_search_looks_through_names_and_models_whatever_the_case,
            a_session_in_several_parts_of_a_reach_is_listed_once,
            descendants_are_found_over_any_number_of_spawns,
            agents_are_told_once_each,
            records_move_their_rows_and_unknown_sessions_come_back,
            an_event_gets_the_next_sequence_and_raises_the_version,
            an_event_is_recorded_beside_what_runs_did,
            a_page_of_events_says_what_is_missing,
            a_watcher_begins_where_the_target_stands,
            a_notice_is_owed_until_it_is_acknowledged,
            a_goal_that_changes_is_told_to_the_parent,
            changes_tell_each_session_once_as_it_is,
            a_patch_is_applied_to_the_row_that_is_stored,
            a_taken_label_is_not_given_twice,
            a_callers_name_for_a_call_is_kept_with_the_effect,
            a_lifecycle_change_is_committed_once,
            rows_are_found_in_the_order_in_which_their_time_runs_out,
            an_import_is_stored_whole_or_not_at_all,
            an_import_takes_the_place_of_what_is_stored,
        );
    };
}

pub(crate) use awareness::{
    a_goal_that_changes_is_told_to_the_parent, a_notice_is_owed_until_it_is_acknowledged,
    a_page_of_events_says_what_is_missing, a_watcher_begins_where_the_target_stands,
    an_event_gets_the_next_sequence_and_raises_the_version,
    an_event_is_recorded_beside_what_runs_did, changes_tell_each_session_once_as_it_is,
};
pub(crate) use changing::{
    a_callers_name_for_a_call_is_kept_with_the_effect, a_lifecycle_change_is_committed_once,
    a_patch_is_applied_to_the_row_that_is_stored, a_taken_label_is_not_given_twice,
    rows_are_found_in_the_order_in_which_their_time_runs_out,
};
pub(crate) use importing::{
    an_import_is_stored_whole_or_not_at_all, an_import_takes_the_place_of_what_is_stored,
};
pub(crate) use listing::{
    a_list_is_what_its_filters_and_every_two_of_them_say,
    a_row_names_the_open_children_within_reach_of_the_list,
    a_search_looks_through_names_and_models_whatever_the_case,
    a_session_in_several_parts_of_a_reach_is_listed_once,
    a_walk_shows_what_does_not_move_exactly_once,
};
pub(crate) use suite;

fn tenant() -> TenantId {
    TenantId::default()
}

/// What runs did, and nothing else.
fn runs(activities: Vec<Activity>) -> Batch {
    Batch {
        activities,
        events: Vec::new(),
        now: START,
    }
}

fn session(text: &str) -> Session {
    let session_id = SessionId::parse(format!("id of {text}")).unwrap();
    Session::fresh(key(text), session_id, START)
}

fn labelled(text: &str, label: &str) -> Session {
    Session {
        label: Some(Label::parse(label).unwrap()),
        ..session(text)
    }
}

fn all() -> Filter {
    Filter {
        reach: Reach::All,
        kinds: Vec::new(),
        updated_since: None,
        label: None,
        agent_id: None,
        search: None,
        archived: false,
        global: false,
    }
}

async fn put(store: &impl RegistryStore, session: Session) -> Session {
    match store.create(&tenant(), session).await.unwrap() {
        Creation::Created(session) => session,
        other @ (Creation::Exists(_) | Creation::LabelInUse(_) | Creation::SpawnerMissing(_)) => {
            panic!("not created: {other:?}")
        },
    }
}

async fn listed(store: &impl RegistryStore, filter: &Filter) -> Vec<String> {
    let rows = store.list(&tenant(), filter, None, 100).await.unwrap();
    rows.into_iter()
        .map(|row| row.session.key.clone())
        .collect()
}

async fn by_key(store: &impl RegistryStore, text: &str) -> Option<Session> {
    let lookup = Lookup {
        keys: vec![key(text)],
        ..Lookup::default()
    };
    let mut found = store.look_up(&tenant(), &lookup).await.unwrap();
    found.by_key.remove(&key(text))
}

pub(crate) async fn a_row_comes_back_as_it_was_written(store: impl RegistryStore) {
    put(&store, session("agent:a:parent")).await;
    let whole = Session {
        row_version: 3,
        work_epoch: 2,
        label: Some(Label::parse("Ä").unwrap()),
        spawned_by: Some(key("agent:a:parent")),
        sandboxed: true,
        chat_type: Some(confab_model::channel::ChatType::Group),
        origin: Origin {
            provider: Some("discord".to_owned()),
            account_id: Some("x".to_owned()),
            thread_id: Some("7".to_owned()),
        },
        delivery_context: Some(route("42")),
        pinned_at: Some(START.plus_millis(1)),
        // The spawn is the first event of all.
        state_version: 1,
        ..session("agent:a:whole")
    };
    put(&store, whole.clone()).await;
    assert_eq!(by_key(&store, "agent:a:whole").await, Some(whole));
    assert_eq!(by_key(&store, "agent:a:missing").await, None);
}

pub(crate) async fn a_key_is_made_once(store: impl RegistryStore) {
    let first = put(&store, session("agent:a:main")).await;
    let second = Session {
        session_id: SessionId::parse("other").unwrap(),
        ..first.clone()
    };
    let creation = store.create(&tenant(), second).await.unwrap();
    assert_eq!(creation, Creation::Exists(first));
}

pub(crate) async fn a_taken_label_and_a_missing_spawner_make_nothing(store: impl RegistryStore) {
    put(&store, labelled("agent:a:1", "Desk")).await;
    let creation = store
        .create(&tenant(), labelled("agent:a:2", "Desk"))
        .await
        .unwrap();
    assert_eq!(
        creation,
        Creation::LabelInUse(Label::parse("Desk").unwrap())
    );
    let orphan = Session {
        spawned_by: Some(key("agent:a:0")),
        ..session("agent:a:3")
    };
    let creation = store.create(&tenant(), orphan).await.unwrap();
    assert_eq!(creation, Creation::SpawnerMissing(key("agent:a:0")));
    assert_eq!(listed(&store, &all()).await, ["agent:a:1"]);
    put(&store, labelled("agent:b:1", "Desk")).await;
}

pub(crate) async fn rows_are_found_by_key_session_id_and_label_within_their_tenant(
    store: impl RegistryStore,
) {
    let (first, second) = (labelled("agent:b:1", "Desk"), labelled("agent:a:1", "Desk"));
    put(&store, first.clone()).await;
    put(&store, second.clone()).await;
    let lookup = Lookup {
        keys: vec![key("agent:b:1"), key("agent:b:2")],
        session_ids: vec!["id of agent:a:1".to_owned(), "nothing".to_owned()],
        labels: vec![Label::parse("Desk").unwrap(), Label::parse("desk").unwrap()],
    };
    let found = store.look_up(&tenant(), &lookup).await.unwrap();
    assert_eq!(
        found.by_key.into_values().collect::<Vec<_>>(),
        std::slice::from_ref(&first)
    );
    let by_session_id: Vec<_> = found.by_session_id.into_iter().collect();
    let expected = (
        "id of agent:a:1".to_owned(),
        (second.session_id.clone(), second.clone()),
    );
    assert_eq!(by_session_id, [expected]);
    let by_label: Vec<_> = found.by_label.into_iter().collect();
    assert_eq!(by_label, [("Desk".to_owned(), vec![second, first])]);

    let stranger = TenantId::parse("other").unwrap();
    let found = store.look_up(&stranger, &lookup).await.unwrap();
    assert!(found.by_key.is_empty() && found.by_session_id.is_empty() && found.by_label.is_empty());
    assert_eq!(
        store.list(&stranger, &all(), None, 9).await.unwrap(),
        Vec::new()
    );
}

/// Made in no particular order; listed in the order of their names.
async fn put_in_order(store: &impl RegistryStore) -> Vec<String> {
    let at = |millis: i64| Some(Timestamp::from_millis(millis));
    let moved = |text: &str, pinned, updated: i64, created: i64| Session {
        pinned_at: pinned,
        updated_at: Timestamp::from_millis(updated),
        created_at: Timestamp::from_millis(created),
        ..session(text)
    };
    let rows = [
        moved("agent:a:4", None, 8, 1),
        moved("agent:a:1", at(9), 2, 1),
        moved("agent:a:3", None, 8, 2),
        moved("agent:a:2", at(5), 9, 1),
        moved("agent:b:5", None, 7, 7),
        moved("agent:a:6", None, 7, 7),
    ];
    for row in rows {
        put(store, row).await;
    }
    [
        "agent:a:1",
        "agent:a:2",
        "agent:a:3",
        "agent:a:4",
        "agent:b:5",
        "agent:a:6",
    ]
    .map(str::to_owned)
    .to_vec()
}

pub(crate) async fn a_list_is_ordered_by_pin_then_movement_then_creation_then_key(
    store: impl RegistryStore,
) {
    let expected = put_in_order(&store).await;
    assert_eq!(listed(&store, &all()).await, expected);
}

pub(crate) async fn a_list_goes_on_behind_a_position(store: impl RegistryStore) {
    let expected = put_in_order(&store).await;
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let rows = store
            .list(&tenant(), &all(), after.as_ref(), 1)
            .await
            .unwrap();
        let Some(row) = rows.first() else { break };
        seen.push(row.session.key.clone());
        after = Some(row.position());
    }
    assert_eq!(seen, expected);
}

pub(crate) async fn archived_rows_have_a_list_of_their_own(store: impl RegistryStore) {
    put(&store, session("agent:a:open")).await;
    let archived = Session {
        archived_at: Some(START),
        ..labelled("agent:a:archived", "Desk")
    };
    put(&store, archived).await;
    assert_eq!(listed(&store, &all()).await, ["agent:a:open"]);
    let filter = Filter {
        archived: true,
        ..all()
    };
    assert_eq!(listed(&store, &filter).await, ["agent:a:archived"]);
    // By label only open ones are found (reg:R11).
    let lookup = Lookup {
        labels: vec![Label::parse("Desk").unwrap()],
        ..Lookup::default()
    };
    assert!(
        store
            .look_up(&tenant(), &lookup)
            .await
            .unwrap()
            .by_label
            .is_empty()
    );
}

pub(crate) async fn a_reach_narrows_a_list(store: impl RegistryStore) {
    for text in ["agent:a:1", "agent:b:1", "agent:c:1", "global"] {
        put(&store, session(text)).await;
    }
    let agents = |ids: &[&str]| {
        Reach::Among(Among {
            agents: ids.iter().map(|id| AgentId::normalise(id)).collect(),
            ..Among::default()
        })
    };
    let keys = |keys: Vec<SessionKey>| {
        Reach::Among(Among {
            keys,
            ..Among::default()
        })
    };
    for (reach, expected) in [
        (Reach::All, vec!["agent:c:1", "agent:b:1", "agent:a:1"]),
        (agents(&["b"]), vec!["agent:b:1"]),
        (agents(&["b", "a"]), vec!["agent:b:1", "agent:a:1"]),
        (agents(&[]), vec![]),
        (
            keys(vec![key("agent:c:1"), key("agent:x:1")]),
            vec!["agent:c:1"],
        ),
        (keys(Vec::new()), vec![]),
    ] {
        assert_eq!(
            listed(
                &store,
                &Filter {
                    reach: reach.clone(),
                    ..all()
                }
            )
            .await,
            expected,
            "{reach:?}"
        );
    }
    let filter = Filter {
        global: true,
        reach: agents(&["main"]),
        ..all()
    };
    assert_eq!(listed(&store, &filter).await, ["global"]);
}

pub(crate) async fn descendants_are_found_over_any_number_of_spawns(store: impl RegistryStore) {
    let spawned = |text: &str, by: &str| Session {
        spawned_by: Some(key(by)),
        ..session(text)
    };
    put(&store, session("agent:a:root")).await;
    put(&store, session("agent:a:other")).await;
    put(&store, spawned("agent:a:1", "agent:a:root")).await;
    put(&store, spawned("agent:b:2", "agent:a:1")).await;
    put(&store, spawned("agent:a:3", "agent:a:other")).await;
    let found = |text: &'static str| {
        let store = store.clone();
        async move { store.descendants(&tenant(), &key(text), 10).await.unwrap() }
    };
    assert_eq!(
        found("agent:a:root").await,
        [key("agent:a:1"), key("agent:b:2")]
    );
    assert_eq!(found("agent:b:2").await, []);
    assert_eq!(
        store
            .descendants(&tenant(), &key("agent:a:root"), 1)
            .await
            .unwrap()
            .len(),
        1
    );
}

pub(crate) async fn agents_are_told_once_each(store: impl RegistryStore) {
    assert_eq!(store.agents(&tenant()).await.unwrap(), []);
    for text in ["agent:b:1", "agent:a:1", "agent:b:2", "global"] {
        put(&store, session(text)).await;
    }
    let agents = store.agents(&tenant()).await.unwrap();
    assert_eq!(
        agents.iter().map(AgentId::as_str).collect::<Vec<_>>(),
        ["a", "b", "main"]
    );
}

pub(crate) async fn records_move_their_rows_and_unknown_sessions_come_back(
    store: impl RegistryStore,
) {
    put(&store, session("agent:a:1")).await;
    put(&store, session("agent:a:2")).await;
    let activity = |text: &str, seen: i64| Activity {
        tenant: tenant(),
        session_key: key(text),
        run_id: RunId::parse(format!("run of {text}")).unwrap(),
        state: RunState::Running,
        occurred_at: START.plus_millis(seen),
        started_at: Some(START.plus_millis(1)),
        ended_at: None,
        model: None,
        total_tokens: None,
        input_tokens: None,
        output_tokens: None,
        person: false,
        inbound_route: Some(route("42")),
    };
    let records = vec![
        activity("agent:a:1", 5),
        activity("agent:a:0", 6),
        activity("agent:a:1", 3),
    ];
    let unknown = store.record(runs(records.clone())).await.unwrap().unknown;
    assert_eq!(unknown, [activity("agent:a:0", 6)]);
    let row = by_key(&store, "agent:a:1").await.unwrap();
    assert_eq!((row.updated_at, row.row_version), (START.plus_millis(5), 2));
    assert_eq!(row.delivery_context, Some(route("42")));
    assert_eq!(row.last_run.as_ref().unwrap().state, RunState::Running);
    assert_eq!(listed(&store, &all()).await, ["agent:a:1", "agent:a:2"]);

    store.record(runs(records)).await.unwrap();
    assert_eq!(by_key(&store, "agent:a:1").await.unwrap(), row);
    let nothing = store.record(runs(Vec::new())).await.unwrap();
    assert_eq!(nothing, Recorded::default());
}
