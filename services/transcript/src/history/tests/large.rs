//! A page at any depth of a million messages costs what it costs in a transcript of two hundred.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use confab_model::message::Role;
use confab_proto::transcript::v1::GetHistoryRequest;
use confab_rpc::wire;
use confab_rpc::wire::enums::Numbered as _;
use confab_store::StoreError;
use sqlx::sqlite::SqliteConnection;

use crate::history::HistoryPage;
use crate::testing::{DESK, House, START, of, said, seqs, session_id};

const COUNT: i64 = 1_000_000;
const FEW: i64 = 200;

/// One statement writes them all: the n-th message is the n-th of both views.
const FILL: &str = "WITH RECURSIVE numbers (n) AS \
     (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1) \
     INSERT INTO messages (tenant, session_id, seq, message_id, key, said_at, in_all, count_all, \
     in_plain, count_plain, packed) \
     SELECT 'default', $2, n, 'm' || n, 'k' || n, $3 + n, 1, n, 1, n, $4 FROM numbers";

const HEAD: &str = "INSERT INTO heads (tenant, session_id, last_seq, count_all, count_plain) \
     VALUES ('default', $1, $2, $2, $2)";

/// An index is made faster of a full table than row by row.
const INDEXES: &str = "SELECT name, sql FROM sqlite_master \
     WHERE type = 'index' AND tbl_name = 'messages' AND sql IS NOT NULL";

async fn fill(connection: &mut SqliteConnection, count: i64) -> Result<(), StoreError> {
    let indexes: Vec<(String, String)> =
        sqlx::query_as(INDEXES).fetch_all(&mut *connection).await?;
    for (name, _) in &indexes {
        let drop = sqlx::AssertSqlSafe(format!("DROP INDEX {name}"));
        sqlx::query(drop).execute(&mut *connection).await?;
    }
    let session_id = session_id(DESK);
    sqlx::query(FILL)
        .bind(count)
        .bind(session_id.as_str())
        .bind(START.millis())
        .bind(wire::message::pack(&said("k", Role::User, "hi")))
        .execute(&mut *connection)
        .await?;
    sqlx::query(HEAD)
        .bind(session_id.as_str())
        .bind(count)
        .execute(&mut *connection)
        .await?;
    for (_, sql) in indexes {
        let create = sqlx::AssertSqlSafe(sql);
        sqlx::query(create).execute(&mut *connection).await?;
    }
    Ok(())
}

/// A transcript of `count` messages whose reader counts the steps of the database's engine.
struct Counted {
    house: House,
    steps: Arc<AtomicU64>,
}

impl Counted {
    async fn with(count: i64) -> Self {
        let house = House::with(&[DESK]).await;
        let filled = house
            .database()
            .write(move |connection| Box::pin(fill(connection, count)));
        filled.await.unwrap();
        let counted = Self {
            house,
            steps: Arc::default(),
        };
        counted.count_steps().await;
        counted
    }

    async fn count_steps(&self) {
        let reader = self.house.database().reader();
        let mut connections = Vec::new();
        for _ in 0..reader.options().get_max_connections() {
            let mut connection = reader.acquire().await.unwrap();
            // What a connection reads of the schema is no part of a page.
            let warm = sqlx::query("SELECT 1 FROM heads, messages LIMIT 1");
            warm.fetch_one(&mut *connection).await.unwrap();
            let steps = Arc::clone(&self.steps);
            let count = move || {
                steps.fetch_add(1, Ordering::Relaxed);
                true
            };
            let mut handle = connection.lock_handle().await.unwrap();
            handle.set_progress_handler(1, count);
            drop(handle);
            connections.push(connection);
        }
    }

    /// A page, and the steps that it took.
    async fn page(&self, request: GetHistoryRequest) -> (HistoryPage, u64) {
        self.steps.store(0, Ordering::Relaxed);
        let page = self.house.history(request).await.unwrap();
        (page, self.steps.load(Ordering::Relaxed))
    }
}

/// The newest page, the deepest one, one of a pinned walk, one with a filter, and one around a place,
/// each with its first and its last message.
fn pages(count: i64) -> [(&'static str, GetHistoryRequest, [i64; 2]); 5] {
    let at = |offset, snapshot| GetHistoryRequest {
        offset: Some(offset),
        snapshot,
        ..of(DESK)
    };
    let users = GetHistoryRequest {
        roles: vec![Role::User.number()],
        snapshot: Some(count / 2),
        ..of(DESK)
    };
    let around = GetHistoryRequest {
        anchor_seq: Some(count / 2),
        ..of(DESK)
    };
    let half = count / 2;
    [
        ("newest", at(0, None), [count - 49, count]),
        ("deepest", at(count - 50, None), [1, 50]),
        ("pinned", at(half - 100, Some(half)), [51, 100]),
        ("filtered", users, [half - 49, half]),
        ("around", around, [half - 25, half + 24]),
    ]
}

#[tokio::test]
async fn a_page_of_a_million_messages_reads_its_own_rows_and_no_more() {
    let (large, small) = (Counted::with(COUNT).await, Counted::with(FEW).await);
    for ((why, deep, range), (_, shallow, _)) in pages(COUNT).into_iter().zip(pages(FEW)) {
        let (page, steps) = large.page(deep).await;
        let shown = seqs(&page);
        let expected = range.map(|seq| u64::try_from(seq).ok());
        assert_eq!(
            [shown.first().copied(), shown.last().copied()],
            expected,
            "{why}"
        );
        assert_eq!(shown.len(), 50, "{why}");
        let (_, steps_of_few) = small.page(shallow).await;
        // The driver may be a row or two ahead of what was asked for.
        assert!(
            steps.abs_diff(steps_of_few) <= 100,
            "{why}: {steps}, {steps_of_few}"
        );
        // Fewer than thirty steps a row, and something was counted at all.
        assert!((50..1_500).contains(&steps), "{why}: {steps}");
    }
}

#[tokio::test]
async fn no_limit_means_fifty_and_no_page_has_more_than_a_thousand() {
    let house = Counted::with(10_000).await.house;
    for (limit, shown, applied) in [(None, 50, None), (Some(1_000_000), 1_000, Some(1_000))] {
        let request = GetHistoryRequest {
            limit,
            include_tools: true,
            ..of(DESK)
        };
        let page = house.history(request).await.unwrap();
        // The bound on bytes is another one.
        let newest = *seqs(&page).last().unwrap();
        assert_eq!((newest, page.limit_applied), (10_000, applied), "B137");
        assert!(page.bounded.messages.len() <= shown, "B137");
    }
}
