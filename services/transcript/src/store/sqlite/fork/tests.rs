//! The suite on SQLite, and how its statements are carried out.

use confab_model::message::{NewMessage, Role};
use confab_store::ids::SequentialIds;
use confab_store::sqlite::{Database, TemporaryDatabase};

use super::*;
use crate::store::sqlite::MIGRATIONS;
use crate::store::{Batch, Draft, TranscriptStore as _, conformance};
use crate::testing::START;

async fn open() -> (SqliteStore, TemporaryDatabase) {
    let database = Database::temporary(MIGRATIONS).await.unwrap();
    (SqliteStore::new(database.clone()), database)
}

conformance::fork::suite!(open);

#[tokio::test]
async fn a_copy_reads_ranges_and_sorts_nothing() {
    let (_, database) = open().await;
    for sql in [END, MARKER, SIZE, PIECE, FIRST_ANSWER, FORGET] {
        let explained = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
        let rows = sqlx::query(explained)
            .fetch_all(database.reader())
            .await
            .unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.get("detail")).collect();
        assert!(
            plan.iter().all(|step| step.starts_with("SEARCH")),
            "{sql}: {plan:?}"
        );
    }
}

fn session(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

fn fork() -> Fork {
    Fork {
        source: session("s"),
        into: session("t"),
        into_key: "agent:writer:child".parse().unwrap(),
        key: None,
        at: START,
        kept_since: START,
    }
}

async fn append(store: &SqliteStore, key: &str, text: String) {
    let body = NewMessage::text(key, Role::User, text);
    let draft = Draft {
        id: MessageId::parse(key).unwrap(),
        at: START,
        in_all: true,
        in_plain: true,
        from_person: true,
        body,
    };
    let batch = Batch {
        drafts: vec![draft],
        ..Batch::default()
    };
    let tenant = TenantId::default();
    store.append(&tenant, &session("s"), batch).await.unwrap();
}

#[tokio::test]
async fn too_many_bytes_are_refused() {
    let (store, _alive) = open().await;
    for number in 0..65 {
        append(&store, &number.to_string(), "x".repeat(1024 * 1024)).await;
    }
    let ids: Arc<dyn Ids> = Arc::new(SequentialIds::new());
    let refused = store.fork(&TenantId::default(), fork(), ids).await.unwrap();
    assert!(matches!(refused, Forked::TooLarge { bytes } if bytes > FORK_BYTES_MAX));
}

#[tokio::test]
async fn a_damaged_message_is_copied_as_it_is() {
    let (store, database) = open().await;
    append(&store, "k", "hi".to_owned()).await;
    database
        .write(|connection| {
            Box::pin(async move {
                sqlx::query("UPDATE messages SET packed = x'ff'")
                    .execute(connection)
                    .await?;
                Ok::<_, StoreError>(())
            })
        })
        .await
        .unwrap();
    let ids: Arc<dyn Ids> = Arc::new(SequentialIds::new());
    let tenant = TenantId::default();
    let forked = store.fork(&tenant, fork(), ids).await.unwrap();
    assert_eq!(forked, Forked::Copied(1));
    let row = store.row(&tenant, &session("t"), 1).await.unwrap().unwrap();
    assert_eq!(row.body, None);
}
