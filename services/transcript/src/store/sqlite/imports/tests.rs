//! The suite on SQLite, and how its statements are carried out.

use std::collections::BTreeSet;

use confab_model::id::{SessionId, TenantId};
use confab_store::sqlite::{Database, TemporaryDatabase};
use sqlx::Row as _;

use super::{
    END, HEAD, MESSAGE_SIZES, MESSAGES, ORIGINAL_SIZES, ORIGINALS, SqliteStore, of_names,
    places_statement,
};
use crate::store::conformance;
use crate::store::sqlite::MIGRATIONS;

async fn open() -> (SqliteStore, TemporaryDatabase) {
    let database = Database::temporary(MIGRATIONS).await.unwrap();
    (SqliteStore::new(database.clone()), database)
}

conformance::imports::suite!(open);

/// How the database would carry out a statement, a line a step.
async fn plan(sql: &str) -> String {
    let (_, database) = open().await;
    let explained = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
    let rows = sqlx::query(explained)
        .fetch_all(database.reader())
        .await
        .unwrap();
    let steps = rows.iter().map(|row| row.get::<String, _>("detail"));
    steps.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn every_statement_of_files_is_a_range_of_an_index() {
    let (tenant, session_id) = (TenantId::default(), SessionId::parse("s").unwrap());
    let names = BTreeSet::from(["a", "b"]);
    let statement_of = |statement, column| {
        let query = of_names(statement, column, &tenant, &session_id, &names);
        query.sql().as_str().to_owned()
    };
    let places = places_statement(&tenant, &session_id, &BTreeSet::from([1, 2]));
    for sql in [
        END.to_owned(),
        HEAD.to_owned(),
        MESSAGE_SIZES.to_owned(),
        MESSAGES.to_owned(),
        ORIGINAL_SIZES.to_owned(),
        ORIGINALS.to_owned(),
        statement_of("SELECT key FROM messages", "key"),
        statement_of("SELECT name FROM originals", "name"),
        statement_of("DELETE FROM originals", "name"),
        places.sql().as_str().to_owned(),
    ] {
        let plan = plan(&sql).await;
        assert!(plan.contains("SEARCH"), "{sql}: {plan}");
        assert!(
            !plan.contains("TEMP B-TREE") && !plan.contains("SCAN messages"),
            "B145 {sql}: {plan}"
        );
        assert!(!plan.contains("SCAN originals"), "B145 {sql}: {plan}");
    }
}
