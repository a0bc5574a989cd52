//! The suite on SQLite, and how its statements are carried out.

use confab_model::id::{AgentId, TenantId};
use confab_model::key::SessionKey;
use confab_rpc::gate::Reach;
use confab_store::sqlite::{Database, TemporaryDatabase};
use sqlx::{Execute as _, Row as _};

use super::{AGENTS, DESCENDANTS, LABEL_HOLDER, MIGRATIONS, SqliteStore, list};
use crate::store::conformance;
use crate::store::{Filter, Position};

async fn open() -> (SqliteStore, TemporaryDatabase) {
    let database = Database::temporary(MIGRATIONS).await.unwrap();
    (SqliteStore::new(database.clone()), database)
}

conformance::suite!(open);

/// How the database would carry out a statement, a line a step.
async fn plan(database: &Database, sql: &str) -> String {
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

async fn list_plan(filter: &Filter, after: Option<&Position>) -> String {
    let (_, database) = open().await;
    let mut statement = list::statement(&TenantId::default(), filter, after, 201);
    let sql = statement.build().sql().as_str().to_owned();
    plan(&database, &sql).await
}

fn filter(reach: Reach) -> Filter {
    Filter {
        reach,
        kinds: vec![confab_model::key::SessionKind::Main],
        updated_since: None,
        label: None,
        agent_id: None,
        search: Some("x".to_owned()),
        archived: false,
        global: false,
    }
}

fn position() -> Position {
    Position {
        pinned_at: 0,
        updated_at: 1,
        created_at: 1,
        key: "agent:a:main".to_owned(),
    }
}

#[tokio::test]
async fn a_list_reads_its_index_in_order_and_sorts_nothing() {
    let writer = || AgentId::normalise("writer");
    for (reach, index) in [
        (Reach::All, "sessions_listed"),
        (Reach::Agents(vec![writer()]), "sessions_listed_by_agent"),
        (
            Reach::Agents(vec![writer(), AgentId::normalise("editor")]),
            "sessions_listed",
        ),
    ] {
        for after in [None, Some(position())] {
            let plan = list_plan(&filter(reach.clone()), after.as_ref()).await;
            let expected = format!("SEARCH sessions USING INDEX {index} (tenant=? AND shelf=?");
            assert!(plan.starts_with(&expected), "{reach:?} {after:?}: {plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{reach:?} {after:?}: {plan}");
            assert!(
                !plan.contains("SCAN sessions"),
                "{reach:?} {after:?}: {plan}"
            );
        }
    }
}

#[tokio::test]
async fn a_further_page_begins_where_the_last_one_ended() {
    let plan = list_plan(&filter(Reach::All), Some(&position())).await;
    assert!(
        plan.contains("(pinned_at,updated_at,created_at,key)<(?,?,?,?)"),
        "{plan}"
    );
}

#[tokio::test]
async fn a_list_of_some_keys_looks_only_at_these() {
    let keys = vec![SessionKey::parse("agent:a:main").unwrap()];
    let plan = list_plan(&filter(Reach::Keys(keys)), None).await;
    assert!(plan.contains("SEARCH sessions USING INDEX"), "{plan}");
    assert!(plan.contains("key=?"), "{plan}");
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
             WHERE session_ids.tenant = $1 AND session_ids.session_id IN ($2, $3)",
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
    ] {
        let plan = plan(&database, sql).await;
        assert!(plan.contains(index), "{sql}: {plan}");
        assert!(!plan.contains("SCAN sessions"), "{sql}: {plan}");
    }
}
