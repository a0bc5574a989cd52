use std::sync::Arc;

use confab_model::id::Ids;
use sqlx::{AssertSqlSafe, Row as _, SqliteConnection};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::*;
use crate::store::FirstUse;
use crate::store::conformance::{Backend, suite};

struct Directory(TempDir);

impl Directory {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

impl Backend for Directory {
    type Store = SqliteRunnerStore;

    async fn open(&self, ids: Arc<dyn Ids>) -> SqliteRunnerStore {
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let wakeups = Wakeups::default();
        SqliteRunnerStore::open(self.0.path(), &tracker, &stop, wakeups, ids)
            .await
            .unwrap()
    }
}

suite!(Directory::new());

#[tokio::test]
async fn keys_of_an_earlier_version_keep_their_runs() {
    let directory = Directory::new();
    let path = directory.0.path().join("runner.db");
    let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
    let first = MIGRATIONS.split_at(1).0;
    let earlier = Database::open(&path, first, &tracker, &stop).await.unwrap();
    let insert = earlier.write(|connection| {
        Box::pin(async move {
            sqlx::query(
                "INSERT INTO idempotency (tenant, owner, key, fingerprint, run_id, expires_at) \
                 VALUES ('default', 'ada', 'k', 'said', 'r1', 9)",
            )
            .execute(connection)
            .await?;
            Ok::<_, StoreError>(())
        })
    });
    insert.await.unwrap();
    earlier.close().await;
    let store = directory
        .open(Arc::new(confab_store::ids::SequentialIds::new()))
        .await;
    let (tenant, key) = (TenantId::default(), IdempotencyKey::parse("k").unwrap());
    let used = store.used_key(&tenant, "ada", &key, Timestamp::from_millis(8));
    let wanted = UsedKey {
        fingerprint: "said".to_owned(),
        first: FirstUse::Run(RunId::parse("r1").unwrap()),
    };
    assert_eq!(used.await.unwrap(), Some(wanted));
}

/// What the engine would do for a statement, a line a step.
async fn plan(connection: &mut SqliteConnection, statement: &str) -> Vec<String> {
    let explained = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
    let rows = sqlx::query(explained).fetch_all(connection).await.unwrap();
    rows.iter().map(|row| row.get("detail")).collect()
}

#[tokio::test]
async fn no_statement_of_a_hot_path_reads_a_table_from_end_to_end() {
    let directory = Directory::new();
    let store = directory
        .open(Arc::new(confab_store::ids::SequentialIds::new()))
        .await;
    let mut connection = store.database.reader().acquire().await.unwrap();
    let statements = runs::statements()
        .into_iter()
        .chain(flows::statements())
        .chain(deliveries::statements())
        .chain(fences::statements())
        .chain(notices::statements());
    for statement in statements {
        for step in plan(&mut connection, &statement).await {
            let whole = ["SCAN runs", "SCAN flows", "SCAN deliveries", "SCAN notices"]
                .into_iter()
                .find(|whole| step.starts_with(whole));
            // The partial indexes hold live rows only, so reading one from end to end is no scan of
            // the table.
            let live = [
                "runs_holder",
                "runs_queue",
                "notices_owed",
                "notices_waking",
                "deliveries_open",
                "deliveries_owed",
                "deliveries_due",
            ]
            .into_iter()
            .any(|index| step.contains(&format!("INDEX {index}")));
            assert!(whole.is_none() || live, "{step}\n{statement}");
            // A page is read in the order of its index; only the union of two pages is sorted.
            let sorted = step.contains("TEMP B-TREE FOR ORDER BY");
            assert!(
                !sorted || statement.contains("UNION"),
                "{step}\n{statement}"
            );
        }
    }
}
