//! Rows that are not as they should be.

use confab_model::id::{RunId, SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::run::RunState;
use confab_model::session::levels::ThinkingLevel;
use confab_model::session::{Label, Session, Tuning};
use confab_store::StoreError;
use confab_store::sqlite::{Database, TemporaryDatabase};
use sqlx::AssertSqlSafe;

use super::{family, filter};
use crate::activity::Activity;
use crate::store::sqlite::SqliteStore;
use crate::store::sqlite::tests::open;
use crate::store::{Batch, Creation, Filter, Listed, Lookup, RegistryStore as _};
use crate::testing::{START, key};

fn session(text: &str) -> Session {
    let session_id = SessionId::parse(format!("id of {text}")).unwrap();
    Session::fresh(key(text), session_id, START)
}

async fn put(store: &SqliteStore, session: Session) {
    let made = store.create(&TenantId::default(), session).await.unwrap();
    assert!(matches!(made, Creation::Created(_)), "{made:?}");
}

async fn execute(database: &Database, sql: &str) {
    let sql = AssertSqlSafe(sql.to_owned());
    database
        .write(move |connection| {
            Box::pin(async move {
                sqlx::query(sql).execute(connection).await?;
                Ok::<_, StoreError>(())
            })
        })
        .await
        .unwrap();
}

async fn listed(store: &SqliteStore, filter: &Filter) -> Vec<Listed> {
    store
        .list(&TenantId::default(), filter, None, 100)
        .await
        .unwrap()
}

fn keys(rows: &[Listed]) -> Vec<&str> {
    rows.iter().map(|row| row.session.key.as_str()).collect()
}

/// Writes a word of a newer version over one of this version's, in the stored bytes.
async fn age(database: &Database, text: &str) {
    let packed: Vec<u8> = sqlx::query_scalar("SELECT packed FROM sessions WHERE key = $1")
        .bind(text)
        .fetch_one(database.reader())
        .await
        .unwrap();
    let place = packed.windows(4).position(|word| word == b"high").unwrap();
    let mut newer = packed;
    newer[place..place + 4].copy_from_slice(b"warp");
    let text = text.to_owned();
    database
        .write(move |connection| {
            Box::pin(async move {
                sqlx::query("UPDATE sessions SET packed = $1 WHERE key = $2")
                    .bind(newer)
                    .bind(text)
                    .execute(connection)
                    .await?;
                Ok::<_, StoreError>(())
            })
        })
        .await
        .unwrap();
}

/// Two good rows, one of nonsense, and one that a newer version wrote.
async fn with_bad_rows() -> (SqliteStore, TemporaryDatabase) {
    let (store, database) = open().await;
    for text in ["agent:a:1", "agent:a:2", "agent:a:4"] {
        put(&store, session(text)).await;
    }
    let tuned = Session {
        tuning: Tuning {
            thinking_level: Some(ThinkingLevel::High),
            ..Tuning::default()
        },
        ..session("agent:a:3")
    };
    put(&store, tuned).await;
    age(&database, "agent:a:3").await;
    execute(
        &database,
        "UPDATE sessions SET packed = x'ff00ff', label = 'Desk', pinned_at = 7 \
         WHERE key = 'agent:a:2'",
    )
    .await;
    (store, database)
}

/// Source: B136.
#[tokio::test]
async fn a_row_that_cannot_be_read_is_marked_and_the_rest_is_served() {
    let (store, _database) = with_bad_rows().await;
    let rows = listed(&store, &filter(|_| {})).await;
    assert_eq!(
        keys(&rows),
        ["agent:a:2", "agent:a:4", "agent:a:3", "agent:a:1"]
    );
    let faults: Vec<bool> = rows.iter().map(|row| row.fault.is_some()).collect();
    assert_eq!(faults, [true, false, true, false]);
    let bad = &rows[0];
    assert_eq!(bad.session.session_id.as_str(), "id of agent:a:2");
    assert_eq!(bad.session.label.as_ref().unwrap().as_str(), "Desk");
    assert_eq!(bad.position().pinned_at, 7);
    assert_eq!(bad.position().updated_at, START.millis());
    let fault = rows[2].fault.as_deref().unwrap();
    assert!(fault.contains("`warp`"), "{fault}");
}

/// Source: B136.
#[tokio::test]
async fn a_row_that_cannot_be_read_keeps_no_other_from_being_found() {
    let (store, _database) = with_bad_rows().await;
    let lookup = Lookup {
        keys: vec![key("agent:a:1"), key("agent:a:2")],
        session_ids: vec!["id of agent:a:2".to_owned(), "id of agent:a:4".to_owned()],
        labels: vec![Label::parse("Desk").unwrap()],
    };
    let found = store.look_up(&TenantId::default(), &lookup).await.unwrap();
    let keys: Vec<&str> = found.by_key.keys().map(SessionKey::as_str).collect();
    assert_eq!(keys, ["agent:a:1"]);
    let ids: Vec<&str> = found.by_session_id.keys().map(String::as_str).collect();
    assert_eq!(ids, ["id of agent:a:4"]);
    assert!(found.by_label.is_empty());
}

/// Source: B136.
#[tokio::test]
async fn a_record_of_a_row_that_cannot_be_read_keeps_no_other_from_being_written() {
    let (store, database) = with_bad_rows().await;
    let activity = |text: &str| Activity {
        tenant: TenantId::default(),
        session_key: key(text),
        run_id: RunId::parse("r").unwrap(),
        state: RunState::Running,
        occurred_at: START.plus_millis(5),
        started_at: None,
        ended_at: None,
        model: None,
        total_tokens: None,
        input_tokens: None,
        output_tokens: None,
        person: false,
        inbound_route: None,
    };
    let bytes = "SELECT packed FROM sessions WHERE key IN ('agent:a:2', 'agent:a:3') ORDER BY key";
    let before: Vec<Vec<u8>> = sqlx::query_scalar(bytes)
        .fetch_all(database.reader())
        .await
        .unwrap();
    let batch = Batch {
        activities: ["agent:a:1", "agent:a:2", "agent:a:3"]
            .map(activity)
            .to_vec(),
        events: Vec::new(),
        now: START,
    };
    let unwritten = store.record(batch).await.unwrap().unknown;
    assert_eq!(unwritten, [activity("agent:a:2"), activity("agent:a:3")]);
    let rows = listed(&store, &filter(|_| {})).await;
    let row = rows.iter().find(|row| row.session.key == "agent:a:1");
    assert_eq!(
        row.unwrap().position().updated_at,
        START.plus_millis(5).millis()
    );
    // What a newer version wrote is still there.
    let after: Vec<Vec<u8>> = sqlx::query_scalar(bytes)
        .fetch_all(database.reader())
        .await
        .unwrap();
    assert_eq!(after, before);
}

fn spawned(text: &str, by: &str) -> Session {
    Session {
        spawned_by: Some(key(by)),
        ..session(text)
    }
}

#[tokio::test]
async fn a_ring_of_spawns_is_listed_once_and_ends() {
    let (store, database) = open().await;
    put(&store, session("agent:a1:main")).await;
    put(&store, spawned("agent:a1:subagent:1", "agent:a1:main")).await;
    put(
        &store,
        spawned("agent:a1:subagent:2", "agent:a1:subagent:1"),
    )
    .await;
    put(&store, session("agent:a1:other")).await;
    execute(
        &database,
        "UPDATE sessions SET spawned_by = 'agent:a1:subagent:2' WHERE key = 'agent:a1:main'",
    )
    .await;
    let ring = filter(|filter| filter.reach = family(&[]));
    let expected = [
        "agent:a1:subagent:2",
        "agent:a1:subagent:1",
        "agent:a1:main",
    ];
    assert_eq!(keys(&listed(&store, &ring).await), expected);
    let tenant = TenantId::default();
    let head = key("agent:a1:main");
    let family = store.descendants(&tenant, &head, 10).await.unwrap();
    assert_eq!(family.len(), 2);
}

#[tokio::test]
async fn a_family_follows_spawns_however_they_came_about() {
    let (store, database) = open().await;
    put(&store, session("agent:a1:main")).await;
    put(&store, session("agent:b:subagent:1")).await;
    put(&store, spawned("agent:b:subagent:2", "agent:b:subagent:1")).await;
    let tree = filter(|filter| filter.reach = family(&[]));
    assert_eq!(keys(&listed(&store, &tree).await), ["agent:a1:main"]);
    let adopt = "UPDATE sessions SET spawned_by = 'agent:a1:main' WHERE key = 'agent:b:subagent:1'";
    execute(&database, adopt).await;
    let all = ["agent:b:subagent:2", "agent:b:subagent:1", "agent:a1:main"];
    assert_eq!(keys(&listed(&store, &tree).await), all);
    // Deleted and made again, a session has the children it had.
    execute(
        &database,
        "DELETE FROM sessions WHERE key = 'agent:a1:main'",
    )
    .await;
    execute(
        &database,
        "DELETE FROM session_ids WHERE key = 'agent:a1:main'",
    )
    .await;
    put(&store, session("agent:a1:main")).await;
    assert_eq!(keys(&listed(&store, &tree).await), all);
}
