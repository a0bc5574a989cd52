//! What pruning leaves behind, and how the statements are carried out.

use confab_model::clock::Timestamp;
use confab_model::id::{SessionId, TenantId};
use confab_model::session::Session;
use confab_store::sqlite::{Database, TemporaryDatabase};
use sqlx::Row as _;

use super::super::{MIGRATIONS, SqliteStore};
use super::on_delete;
use crate::awareness::{Actor, EventKind, NewEvent, StateChanges, account};
use crate::store::awareness::{ChangedState, Retention};
use crate::store::{AwarenessStore as _, Batch, Registered, RegistryStore as _, Watch};
use crate::testing::{START, key};

const A: &str = "agent:a:main";
const B: &str = "agent:b:main";
const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

async fn keeping(events_max: u64) -> (SqliteStore, TemporaryDatabase) {
    let database = Database::temporary(MIGRATIONS).await.unwrap();
    let store = SqliteStore::new(database.clone()).keeping(Retention {
        events_max,
        deletions_max: 2,
        ..Retention::default()
    });
    for text in [A, B] {
        make(&store, text).await;
    }
    (store, database)
}

async fn make(store: &SqliteStore, text: &str) {
    let session_id = SessionId::parse(format!("id of {text}")).unwrap();
    let session = Session::fresh(key(text), session_id, START);
    store.create(&TenantId::default(), session).await.unwrap();
}

fn compacted(target: &str) -> NewEvent {
    NewEvent {
        tenant: TenantId::default(),
        session_key: key(target),
        kind: EventKind::Compacted,
        actor: Actor::System,
        run_id: None,
        occurred_at: None,
        dedupe_key: None,
        account: account(EventKind::Compacted, None).unwrap(),
    }
}

async fn happen(store: &SqliteStore, events: Vec<NewEvent>, now: Timestamp) {
    let batch = Batch {
        activities: Vec::new(),
        events,
        now,
    };
    store.record(batch).await.unwrap();
}

async fn changes(store: &SqliteStore, target: &str, after: u64) -> StateChanges {
    store
        .state_changes(&TenantId::default(), &key(target), after, 200)
        .await
        .unwrap()
}

fn sequences(changes: &StateChanges) -> Vec<u64> {
    changes.events.iter().map(|event| event.sequence).collect()
}

#[tokio::test]
async fn a_gap_is_told_exactly_at_the_edge() {
    let (store, _alive) = keeping(10).await;
    happen(&store, (0..15).map(|_| compacted(A)).collect(), START).await;
    store.sweep(START).await.unwrap();
    for (since, events, gap) in [(0, 10, true), (4, 10, true), (5, 10, false), (15, 0, false)] {
        let page = changes(&store, A, since).await;
        assert_eq!(
            (page.events.len(), page.history_gap),
            (events, gap),
            "B194, reg:W28: since {since}"
        );
        assert_eq!(page.earliest_available_sequence, 6, "reg:W29");
    }
    assert_eq!(
        sequences(&changes(&store, A, 5).await),
        [6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
    );
}

#[tokio::test]
async fn the_events_of_one_session_crowd_out_those_of_another_and_say_so() {
    let (store, _alive) = keeping(2).await;
    happen(
        &store,
        vec![compacted(B), compacted(A), compacted(A)],
        START,
    )
    .await;
    store.sweep(START).await.unwrap();
    let lost = changes(&store, B, 0).await;
    assert_eq!(
        (sequences(&lost), lost.history_gap),
        (vec![], true),
        "reg:W28"
    );
    assert_eq!(lost.earliest_available_sequence, 2, "reg:W29: head + 1");
    assert!(!changes(&store, B, 1).await.history_gap, "reg:W28");
    assert!(!changes(&store, A, 0).await.history_gap, "reg:W28");
    // The version stays, and goes on from the sequence of all sessions.
    happen(&store, vec![compacted(B)], START).await;
    assert_eq!(sequences(&changes(&store, B, 1).await), [4], "reg:W26");
}

#[tokio::test]
async fn what_is_a_month_old_goes_with_the_next_event_at_most_once_an_hour() {
    let (store, _alive) = keeping(100).await;
    happen(&store, vec![compacted(A)], START).await;
    let later = START.plus_millis(30 * DAY);
    happen(&store, vec![compacted(A)], later).await;
    assert_eq!(sequences(&changes(&store, A, 0).await), [1, 2], "reg:W26");
    let moment_later = later.plus_millis(HOUR - 1);
    happen(&store, vec![compacted(A)], moment_later).await;
    assert_eq!(
        sequences(&changes(&store, A, 0).await),
        [1, 2, 3],
        "reg:W26"
    );
    happen(&store, vec![compacted(A)], later.plus_millis(HOUR)).await;
    let page = changes(&store, A, 0).await;
    assert_eq!(
        (sequences(&page), page.history_gap),
        (vec![2, 3, 4], true),
        "reg:W26"
    );
}

#[tokio::test]
async fn a_cursor_that_nothing_moves_for_a_month_dies() {
    let (store, _alive) = keeping(100).await;
    let watch = Watch {
        tenant: TenantId::default(),
        watcher: key(B),
        target: key(A),
    };
    store.watch(watch, START).await.unwrap();
    let goal = NewEvent {
        kind: EventKind::GoalChanged,
        ..compacted(A)
    };
    store.sweep(START.plus_millis(30 * DAY)).await.unwrap();
    happen(&store, vec![goal.clone()], START).await;
    assert_eq!(store.owed(0, 9).await.unwrap().len(), 1, "reg:W16");
    store.sweep(START.plus_millis(30 * DAY + 1)).await.unwrap();
    assert_eq!(store.owed(0, 9).await.unwrap(), [], "reg:W16");
    happen(&store, vec![goal], START).await;
    assert_eq!(store.owed(0, 9).await.unwrap(), [], "reg:W16");
}

#[tokio::test]
async fn deletions_are_kept_for_those_who_follow_and_what_is_pruned_raises_the_floor() {
    let (store, database) = keeping(100).await;
    let tenant = TenantId::default();
    let before = store.present(&tenant).await.unwrap();
    for text in [A, B, "agent:c:main"] {
        let deleted = key(text);
        let done: Result<(), confab_store::StoreError> = database
            .write(move |connection| {
                Box::pin(async move {
                    on_delete(connection, &TenantId::default(), &deleted, START).await
                })
            })
            .await;
        done.unwrap();
    }
    let page = store
        .session_changes(&tenant, before.head, 9)
        .await
        .unwrap();
    let gone = page.changes.iter().map(|change| match &change.state {
        ChangedState::Deleted(key) => key.to_string(),
        state @ (ChangedState::Present(_) | ChangedState::Unreadable(_)) => panic!("{state:?}"),
    });
    assert_eq!(gone.collect::<Vec<_>>(), [A, B, "agent:c:main"], "B219");
    assert_eq!(page.present.floor, 0);

    store.sweep(START).await.unwrap();
    let page = store
        .session_changes(&tenant, before.head, 9)
        .await
        .unwrap();
    assert_eq!(page.changes.len(), 2);
    assert_eq!(page.present.floor, before.head + 1);
    let other = TenantId::parse("other").unwrap();
    assert_eq!(store.present(&other).await.unwrap().floor, 0);
}

#[tokio::test]
async fn an_event_that_cannot_be_stored_loses_nothing_beside_it() {
    let (store, database) = keeping(100).await;
    let watch = Watch {
        tenant: TenantId::default(),
        watcher: key(B),
        target: key(A),
    };
    store.watch(watch, START).await.unwrap();
    spoil(&database, "UPDATE watch_cursors SET last_seen = 9").await;
    let batch = Batch {
        activities: Vec::new(),
        events: vec![compacted(B), compacted(A), compacted(B)],
        now: START,
    };
    let recorded = store.record(batch).await.unwrap();
    let [
        Registered::New(1),
        Registered::Failed(_),
        Registered::New(2),
    ] = recorded.events.as_slice()
    else {
        panic!("reg:W6: {recorded:?}")
    };
    assert_eq!(sequences(&changes(&store, B, 0).await), [1, 2], "reg:W6");
    assert_eq!(changes(&store, A, 0).await, StateChanges::default());
}

#[tokio::test]
async fn what_cannot_be_pruned_keeps_no_event_from_being_recorded_w6() {
    let (store, database) = keeping(10).await;
    spoil(&database, "DROP TABLE deleted_sessions").await;
    happen(&store, vec![compacted(A)], START).await;
    assert_eq!(sequences(&changes(&store, A, 0).await), [1]);
}

async fn spoil(database: &Database, statement: &'static str) {
    let spoilt: Result<(), confab_store::StoreError> = database
        .write(move |connection| {
            Box::pin(async move {
                sqlx::query(statement).execute(connection).await?;
                Ok(())
            })
        })
        .await;
    spoilt.unwrap();
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_named_and_keeps_no_other_back() {
    let (store, database) = keeping(100).await;
    spoil(
        &database,
        "UPDATE sessions SET packed = x'ff' WHERE key = 'agent:a:main'",
    )
    .await;
    let page = store
        .session_changes(&TenantId::default(), 0, 9)
        .await
        .unwrap();
    let [one, other] = page.changes.as_slice() else {
        panic!("{page:?}")
    };
    assert_eq!(one.state, ChangedState::Unreadable(key(A)));
    assert!(matches!(&other.state, ChangedState::Present(row) if row.key == key(B)));
}

#[tokio::test]
async fn what_is_read_often_uses_an_index() {
    let (_store, database) = keeping(100).await;
    for (sql, index) in [
        (super::log::AFTER, "state_events_by_session"),
        (super::log::EARLIEST, "state_events_by_session"),
        (super::log::REPEATED, "state_events_once"),
        (super::cursors::OF_TARGET, "watch_cursors_by_target"),
        (super::cursors::OWED, "watch_cursors_owed"),
        (super::changes::AFTER, "sessions_by_change"),
        (super::changes::AFTER, "deleted_sessions_by_change"),
    ] {
        let explained = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
        let rows = sqlx::query(explained)
            .fetch_all(database.reader())
            .await
            .unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
        let plan = plan.join("\n");
        assert!(plan.contains(index), "{sql}: {plan}");
    }
}
