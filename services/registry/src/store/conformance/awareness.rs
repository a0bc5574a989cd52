//! What happened to sessions, who is told, and which rows changed.

use confab_model::id::TenantId;

use super::{by_key, put, session, tenant};
use crate::awareness::{Actor, EventKind, NewEvent, Notice, StateChanges, account};
use crate::store::awareness::ChangedState;
use crate::store::{Batch, Registered, RegistryStore, Watch};
use crate::testing::{START, key};

const A: &str = "agent:a:main";
const B: &str = "agent:b:main";

fn event(target: &str, kind: EventKind, actor: Actor) -> NewEvent {
    NewEvent {
        tenant: tenant(),
        session_key: key(target),
        kind,
        actor,
        run_id: None,
        occurred_at: None,
        dedupe_key: None,
        account: account(kind, None).unwrap(),
    }
}

fn goal(target: &str) -> NewEvent {
    event(target, EventKind::GoalChanged, Actor::System)
}

async fn happen(store: &impl RegistryStore, events: Vec<NewEvent>) -> Vec<Registered> {
    let batch = Batch {
        activities: Vec::new(),
        events,
        now: START,
    };
    store.record(batch).await.unwrap().events
}

async fn watch(store: &impl RegistryStore, watcher: &str, target: &str) -> bool {
    let watch = Watch {
        tenant: tenant(),
        watcher: key(watcher),
        target: key(target),
    };
    store.watch(watch, START).await.unwrap()
}

async fn owed(store: &impl RegistryStore) -> Vec<Notice> {
    store.owed(0, 100).await.unwrap()
}

async fn changes(
    store: &impl RegistryStore,
    target: &str,
    after: u64,
    limit: usize,
) -> StateChanges {
    store
        .state_changes(&tenant(), &key(target), after, limit)
        .await
        .unwrap()
}

fn sequences(changes: &StateChanges) -> Vec<u64> {
    changes.events.iter().map(|event| event.sequence).collect()
}

pub(crate) async fn an_event_gets_the_next_sequence_and_raises_the_version(
    store: impl RegistryStore,
) {
    put(&store, session(A)).await;
    put(&store, session(B)).await;
    let registered = happen(&store, vec![goal(A), goal(B), goal(A)]).await;
    assert_eq!(
        registered,
        [Registered::New(1), Registered::New(2), Registered::New(3)],
        "reg:W1"
    );
    assert_eq!(by_key(&store, A).await.unwrap().state_version, 3);
    assert_eq!(by_key(&store, B).await.unwrap().state_version, 2);

    let once = NewEvent {
        dedupe_key: Some("compacted:1".to_owned()),
        ..event(A, EventKind::Compacted, Actor::System)
    };
    let elsewhere = NewEvent {
        session_key: key(B),
        ..once.clone()
    };
    let registered = happen(&store, vec![once.clone(), once, elsewhere]).await;
    assert_eq!(
        registered,
        [
            Registered::New(4),
            Registered::Repeated(4),
            Registered::New(5)
        ],
        "reg:W5"
    );
    assert_eq!(
        sequences(&changes(&store, A, 0, 200).await),
        [1, 3, 4],
        "reg:W1, reg:W5"
    );
}

pub(crate) async fn an_event_is_recorded_beside_what_runs_did(store: impl RegistryStore) {
    put(&store, session(A)).await;
    let registered = happen(
        &store,
        vec![
            goal("agent:a:gone"),
            event(A, EventKind::HumanDirectMessage, Actor::Human),
            goal(A),
        ],
    )
    .await;
    assert_eq!(
        registered,
        [
            Registered::NoSession,
            Registered::Unwanted,
            Registered::New(1)
        ],
        "reg:W7"
    );
}

pub(crate) async fn a_page_of_events_says_what_is_missing(store: impl RegistryStore) {
    put(&store, session(A)).await;
    let none = changes(&store, A, 0, 200).await;
    assert_eq!(none, StateChanges::default(), "reg:W29");
    happen(&store, (0..5).map(|_| goal(A)).collect()).await;
    let page = changes(&store, A, 1, 2).await;
    assert_eq!((sequences(&page), page.truncated), (vec![2, 3], true));
    assert_eq!(
        (page.earliest_available_sequence, page.history_gap),
        (1, false)
    );
    let page = changes(&store, A, 3, 2).await;
    assert_eq!((sequences(&page), page.truncated), (vec![4, 5], false));
    let beyond = changes(&store, A, 50, 200).await;
    assert_eq!(
        (sequences(&beyond), beyond.history_gap),
        (vec![], false),
        "reg:W28"
    );
    let gone = changes(&store, "agent:a:gone", 0, 200).await;
    assert_eq!(gone, StateChanges::default());
}

pub(crate) async fn a_watcher_begins_where_the_target_stands(store: impl RegistryStore) {
    put(&store, session(A)).await;
    happen(&store, vec![goal(A)]).await;
    assert!(
        watch(&store, B, A).await,
        "D51: a main session needs no row"
    );
    assert!(!watch(&store, "agent:b:desk", A).await, "D51");
    assert!(!watch(&store, B, "agent:a:gone").await);
    assert_eq!(owed(&store).await, [], "reg:W15");
    happen(&store, vec![goal(A)]).await;
    assert!(watch(&store, B, A).await);
    let notices = owed(&store).await;
    let texts: Vec<&str> = notices.iter().map(|notice| notice.text.as_str()).collect();
    assert!(
        matches!(texts[..], [text] if text.ends_with("changesSince 1.")),
        "reg:W15: {texts:?}"
    );
}

pub(crate) async fn a_notice_is_owed_until_it_is_acknowledged(store: impl RegistryStore) {
    put(&store, session(A)).await;
    put(&store, session("agent:c:main")).await;
    watch(&store, B, A).await;
    watch(&store, "agent:c:main", A).await;
    happen(&store, vec![goal(A), goal(A)]).await;
    let first = owed(&store).await;
    assert_eq!(first.len(), 2, "reg:W18");
    assert_eq!(store.owed(first[0].number, 100).await.unwrap(), first[1..]);
    assert_eq!(store.owed(0, 1).await.unwrap(), first[..1]);

    // The actor is told nothing, and what was owed stays as it was.
    let own = event(A, EventKind::GoalChanged, Actor::Agent(key(B)));
    happen(&store, vec![own]).await;
    assert_eq!(owed(&store).await, first, "reg:W18, reg:W20");

    let taken: Vec<_> = first.iter().map(|notice| notice.id.clone()).collect();
    store.acknowledge(taken.clone(), START).await.unwrap();
    let second = owed(&store).await;
    assert_eq!(second.len(), 2, "reg:W22");
    assert!(second.iter().all(|notice| notice.number > first[1].number));
    assert!(
        second
            .iter()
            .all(|notice| notice.text.ends_with("changesSince 1."))
    );
    // The same acknowledgement once more changes nothing.
    store.acknowledge(taken, START).await.unwrap();
    assert_eq!(owed(&store).await, second, "reg:W22");
    store.sweep(START).await.unwrap();
    let swept = owed(&store).await;
    let numbers = |notices: &[Notice]| -> Vec<(u64, String)> {
        let told = notices.iter();
        told.map(|notice| (notice.number, notice.text.clone()))
            .collect()
    };
    assert_eq!(numbers(&swept), numbers(&second), "reg:W23");
    let taken = swept.into_iter().map(|notice| notice.id).collect();
    store.acknowledge(taken, START).await.unwrap();
    assert_eq!(owed(&store).await, [], "reg:W22");
}

pub(crate) async fn a_goal_that_changes_is_told_to_the_parent(store: impl RegistryStore) {
    put(&store, session(A)).await;
    let mut child = session("agent:a:subagent:c");
    child.spawned_by = Some(key(A));
    let child = put(&store, child).await;
    assert_eq!(child.state_version, 1, "reg:W14");
    assert_eq!(owed(&store).await, [], "reg:W14");
    happen(&store, vec![goal("agent:a:subagent:c")]).await;
    let notices = owed(&store).await;
    assert_eq!(notices.len(), 1, "reg:W14");
    assert!(notices[0].text.ends_with("changesSince 1."));
}

pub(crate) async fn changes_tell_each_session_once_as_it_is(store: impl RegistryStore) {
    let before = store.present(&tenant()).await.unwrap();
    put(&store, session(A)).await;
    put(&store, session(B)).await;
    let other = TenantId::parse("other").unwrap();
    store.create(&other, session("agent:x:main")).await.unwrap();
    happen(&store, vec![goal(A)]).await;

    let page = store
        .session_changes(&tenant(), before.head, 200)
        .await
        .unwrap();
    let told: Vec<(String, u64)> = page
        .changes
        .iter()
        .map(|change| match &change.state {
            ChangedState::Present(row) => (row.key.to_string(), row.state_version),
            state @ (ChangedState::Deleted(_) | ChangedState::Unreadable(_)) => {
                panic!("{state:?}")
            },
        })
        .collect();
    assert_eq!(told, [(B.to_owned(), 0), (A.to_owned(), 1)], "B219");
    assert_eq!(page.present.database, before.database);
    let last = page.changes.last().unwrap().sequence;
    assert_eq!(page.present.head, last);
    let first = store.session_changes(&tenant(), before.head, 1).await;
    assert_eq!(first.unwrap().changes, page.changes[..1]);
    let rest = store.session_changes(&tenant(), last, 200).await;
    assert_eq!(rest.unwrap().changes, []);
}
