//! The suite on SQLite, and how its statements are carried out.

use confab_model::clock::Timestamp;
use confab_model::id::TenantId;
use confab_store::sqlite::{Database, TemporaryDatabase};
use sqlx::{Execute as _, Row as _};

use super::{AGENTS, DESCENDANTS, LABEL_HOLDER, MIGRATIONS, SqliteStore, upkeep};
use crate::store::conformance;
use crate::store::upkeep::Place;

pub(super) async fn open() -> (SqliteStore, TemporaryDatabase) {
    let database = Database::temporary(MIGRATIONS).await.unwrap();
    (SqliteStore::new(database.clone()), database)
}

conformance::suite!(open);

/// How the database would carry out a statement, a line a step.
pub(super) async fn plan(database: &Database, sql: &str) -> String {
    let explained = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
    let rows = sqlx::query(explained)
        .fetch_all(database.reader())
        .await
        .unwrap();
    rows.iter()
        .map(|row| row.get::<String, _>("detail"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[tokio::test]
async fn lookups_use_an_index() {
    let (_, database) = open().await;
    for (sql, index) in [
        (
            "SELECT packed FROM sessions WHERE tenant = $1 AND key IN ($2, $3)",
            "sqlite_autoindex_sessions_1",
        ),
        (
            "SELECT session_ids.session_id, packed FROM session_ids JOIN sessions USING (tenant, key) \
             WHERE session_ids.retired_at IS NULL AND session_ids.tenant = $1 \
             AND session_ids.session_id IN ($2, $3)",
            "sqlite_autoindex_session_ids_1",
        ),
        (
            "SELECT label, packed FROM sessions WHERE archived_at IS NULL AND tenant = $1 \
             AND label IN ($2, $3)",
            "sessions_by_label",
        ),
        (LABEL_HOLDER, "sessions_by_label"),
        (AGENTS, "sessions_by_agent"),
        (DESCENDANTS, "sessions_by_spawner"),
        (DESCENDANTS, "sessions_spawning"),
    ] {
        let plan = plan(&database, sql).await;
        assert!(plan.contains(index), "{sql}: {plan}");
        assert!(!plan.contains("SCAN sessions"), "{sql}: {plan}");
    }
}

#[tokio::test]
async fn maintenance_reads_its_indices_in_order() {
    let (_, database) = open().await;
    let place = Place {
        updated_at: Timestamp::from_millis(1),
        tenant: TenantId::default(),
        key: "agent:a:main".to_owned(),
    };
    let now = Timestamp::from_millis(2);
    let tenant = TenantId::default();
    let some = Some(&tenant);
    for (mut statement, index) in [
        (
            upkeep::done_since(None, now, 9),
            "sessions_done (done_at>? AND done_at<?)",
        ),
        (
            upkeep::unmoved_before(None, now, None, 9),
            "sessions_removable (updated_at<?)",
        ),
        (
            upkeep::unmoved_before(None, now, Some(&place), 9),
            "sessions_removable ((updated_at,tenant,key)>(?,?,?) AND updated_at<?)",
        ),
        (
            upkeep::unmoved_before(some, now, None, 9),
            "sessions_removable_by_tenant (tenant=? AND updated_at<?)",
        ),
        (
            upkeep::unmoved_before(some, now, Some(&place), 9),
            "sessions_removable_by_tenant (tenant=? AND updated_at",
        ),
    ] {
        let sql = statement.build().sql().as_str().to_owned();
        let plan = plan(&database, &sql).await;
        assert!(
            plan.contains(&format!("SEARCH sessions USING INDEX {index}")),
            "{sql}: {plan}"
        );
        assert!(!plan.contains("TEMP B-TREE"), "{sql}: {plan}");
    }
    let plan = plan(&database, upkeep::ROW_COUNTS).await;
    assert!(plan.contains("USING COVERING INDEX"), "{plan}");
    assert!(!plan.contains("TEMP B-TREE"), "{plan}");
}
