//! The suite on SQLite, and how its statements are carried out.

use confab_model::id::{SessionId, TenantId};
use confab_store::sqlite::{Database, TemporaryDatabase};
use sqlx::{Execute as _, Row as _};

use super::read::{
    BLOB, DOWN_ALL, DOWN_PLAIN, HEAD, HEAD_AT, ROW, SEQ_ALL, SEQ_PLAIN, UP_ALL, UP_PLAIN,
};
use super::{MIGRATIONS, SqliteStore, append, first_statement, tails_statement};
use crate::store::{TailQuery, conformance};

async fn open() -> (SqliteStore, TemporaryDatabase) {
    let database = Database::temporary(MIGRATIONS).await.unwrap();
    (SqliteStore::new(database.clone()), database)
}

conformance::suite!(open);

/// How the database would carry out a statement, a line a step.
async fn plan(sql: &str) -> String {
    let (_, database) = open().await;
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

/// The first and the deepest page, a chunk of a filtered walk, both sides of an anchor and the active
/// view are each a stretch; all that differs is the numbers.
#[tokio::test]
async fn a_page_at_any_depth_is_a_range_of_an_index() {
    let shown_all =
        "messages_shown_all (tenant=? AND session_id=? AND count_all>? AND count_all<?)";
    let shown_plain =
        "messages_shown_plain (tenant=? AND session_id=? AND count_plain>? AND count_plain<?)";
    let by_seq = "(tenant=? AND session_id=? AND seq=?)";
    for (sql, expected) in [
        (UP_ALL, shown_all),
        (DOWN_ALL, shown_all),
        (UP_PLAIN, shown_plain),
        (DOWN_PLAIN, shown_plain),
        (
            SEQ_ALL,
            "messages_shown_all (tenant=? AND session_id=? AND count_all=?)",
        ),
        (
            SEQ_PLAIN,
            "messages_shown_plain (tenant=? AND session_id=? AND count_plain=?)",
        ),
        (HEAD, "(tenant=? AND session_id=?)"),
        (HEAD_AT, by_seq),
        (ROW, by_seq),
        (BLOB, "(tenant=? AND reference=?)"),
    ] {
        let plan = plan(sql).await;
        assert!(
            plan.starts_with("SEARCH") && plan.contains(expected),
            "{sql}: {plan}"
        );
        assert!(
            !plan.contains("TEMP B-TREE") && !plan.contains("SCAN"),
            "{sql}: {plan}"
        );
    }
}

#[tokio::test]
async fn tails_read_the_end_of_each_transcript_and_no_more() {
    let query = TailQuery {
        session_ids: ["s", "t"]
            .map(|text| SessionId::parse(text).unwrap())
            .to_vec(),
        limit: 20,
        first_of_person: true,
    };
    let tenant = TenantId::default();
    let tails = tails_statement(&tenant, &query)
        .build()
        .sql()
        .as_str()
        .to_owned();
    let plan_of_tails = plan(&tails).await;
    let expected = "messages_shown_plain (tenant=? AND session_id=? AND count_plain>?)";
    assert!(plan_of_tails.contains(expected), "{plan_of_tails}");
    assert!(!plan_of_tails.contains("SCAN"), "{plan_of_tails}");

    let first = first_statement(&tenant, &query)
        .build()
        .sql()
        .as_str()
        .to_owned();
    let plan_of_first = plan(&first).await;
    assert!(
        plan_of_first.contains("(tenant=? AND session_id=? AND seq=?)"),
        "{plan_of_first}"
    );
    assert!(!plan_of_first.contains("SCAN"), "{plan_of_first}");
}

#[tokio::test]
async fn an_append_reads_the_head_and_the_keys_it_brings() {
    let tenant = TenantId::default();
    let session = SessionId::parse("s").unwrap();
    let sql = append::load_statement(&tenant, &session, ["a", "b"].into_iter());
    let plan = plan(&sql.into_string()).await;
    assert!(
        plan.contains("messages_by_key (tenant=? AND session_id=? AND key=?)"),
        "{plan}"
    );
    assert!(!plan.contains("SCAN"), "{plan}");
}
