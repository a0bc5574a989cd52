//! The suite on SQLite, and how its statements are carried out.

use confab_model::id::TenantId;
use confab_rpc::gate::{Among, Reach};
use confab_store::sqlite::{Database, TemporaryDatabase};
use sqlx::Execute as _;

use super::*;
use crate::search::query::Query;
use crate::store::conformance;
use crate::store::sqlite::MIGRATIONS;

async fn open() -> (SqliteStore, TemporaryDatabase) {
    let database = Database::temporary(MIGRATIONS).await.unwrap();
    (SqliteStore::new(database.clone()), database)
}

conformance::search::suite!(open);

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

fn sought(text: &str) -> Sought {
    let query = Query::parse(text).unwrap();
    Sought {
        rules: String::new(),
        through: 0,
        terms: query.terms().to_vec(),
        ground: Ground {
            reach: Reach::Among(Among {
                agents: vec![AgentId::normalise("writer")],
                keys: vec![SessionKey::parse("agent:editor:main").unwrap()],
                family: None,
            }),
            session_key: Some(SessionKey::parse("agent:writer:main").unwrap()),
            session_id: None,
            agent_id: Some(AgentId::normalise("writer")),
        },
        limit: 10,
    }
}

#[tokio::test]
async fn a_search_begins_in_the_index_of_words_and_looks_up_what_it_finds() {
    let mut statement = find_statement(&TenantId::default(), &sought("deploy friday"));
    let plan = plan(statement.build().sql().as_str()).await;
    let steps: Vec<&str> = plan.lines().collect();
    let place = |text: &str| {
        let step = steps.iter().position(|step| step.starts_with(text));
        step.unwrap_or_else(|| panic!("no {text} in {plan}"))
    };
    let words = place("SCAN search_index VIRTUAL TABLE INDEX");
    let messages = place("SEARCH m USING INTEGER PRIMARY KEY (rowid=?)");
    let heads = place("SEARCH h USING INDEX sqlite_autoindex_heads_1 (tenant=? AND session_id=?)");
    assert!(words < messages && messages < heads, "{plan}");
    // The engine is told what to match, and hands its rows out newest first.
    assert!(
        steps[words].contains('M') && !plan.contains("SCAN m"),
        "{plan}"
    );
}

#[tokio::test]
async fn catching_up_begins_where_the_index_ends() {
    for sql in [SIZES, BACKLOG] {
        let plan = plan(sql).await;
        assert!(
            plan.starts_with("SEARCH messages USING INTEGER PRIMARY KEY (rowid>?"),
            "{plan}"
        );
        assert!(!plan.contains("TEMP B-TREE"), "{plan}");
    }
    let plan = plan(MESSAGE).await;
    assert!(plan.starts_with("SEARCH messages USING"), "{plan}");
}

#[tokio::test]
async fn whatever_is_searched_for_is_a_valid_expression() {
    let (store, _alive) = open().await;
    let words: Vec<String> = (0..170).map(|number| number.to_string()).collect();
    let many = words.join(" ");
    let letters: Vec<String> = ('a'..='z').map(String::from).collect();
    for text in [
        "a",
        "a AND OR NOT NEAR",
        "NEAR(a b, 5)",
        "\"a b\" c*",
        "body : a",
        "- a ^b {c} : d",
        "a\"; DROP TABLE messages; --",
        "x' OR '1'='1",
        "\u{0}a\u{0}",
        "日本語 🦀 a",
        "ﷺ ½ ㎏",
        "a*b* \"*\" c",
        &many,
        &letters.join("* "),
        &"a ".repeat(256),
        &"日".repeat(170),
    ] {
        let found = store.find(&TenantId::default(), &sought(text)).await;
        assert_eq!(found.unwrap(), Found::Hits(Vec::new()), "{text}");
    }
}
