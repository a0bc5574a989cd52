//! Many rows, inserted in one go.

use std::ops::Range;

use confab_model::clock::Timestamp;
use confab_model::id::{SessionId, TenantId};
use confab_model::session::{Label, Session};
use confab_store::StoreError;
use confab_store::sqlite::Database;

use crate::store::Row;
use crate::store::sqlite::rows;
use crate::testing::{START, key};

/// Rows of ten agents and six kinds, one in ten a child of the first row or of one of three of its
/// children, one in two hundred pinned. A row's number says when it moved.
pub(super) async fn insert(database: &Database, numbers: Range<u32>) {
    let made: Vec<Row> = numbers.map(row).collect();
    database
        .write(move |connection| {
            Box::pin(async move {
                let tenant = TenantId::default();
                let rows: Vec<_> = made.iter().map(|row| (&tenant, row)).collect();
                rows::put(connection, &rows).await?;
                Ok::<_, StoreError>(())
            })
        })
        .await
        .unwrap();
}

fn row(number: u32) -> Row {
    let agent = number % 10;
    let rest = match (number, number / 10 % 10) {
        (1, _) => "main".to_owned(),
        (_, 0 | 1) => format!("subagent:{number}"),
        (_, 2 | 3) => format!("discord:group:{number}"),
        (_, 4) => format!("cron:{number}"),
        (_, 5) => format!("hook:{number}"),
        (_, 6) => format!("node-{number}"),
        (_, _) => format!("desk {number}"),
    };
    let session_id = SessionId::parse(format!("id-{number}")).unwrap();
    let moved = START.plus_millis(i64::from(number) * 1_000);
    let session = Session::fresh(key(&format!("agent:a{agent}:{rest}")), session_id, moved);
    Row::new(Session {
        label: (number == 1).then(|| Label::parse("Parent").unwrap()),
        spawned_by: parent_of(number).map(|text| key(&text)),
        pinned_at: pinned(number, moved),
        ..session
    })
}

fn parent_of(number: u32) -> Option<String> {
    match (number, number / 10 % 10) {
        (200.., 1) if number.is_multiple_of(2) => {
            Some(format!("agent:a{0}:subagent:10{0}", number % 3 + 1))
        },
        (101..=103, _) | (200.., 0 | 1) => Some("agent:a1:main".to_owned()),
        (_, _) => None,
    }
}

fn pinned(number: u32, moved: Timestamp) -> Option<Timestamp> {
    (number.is_multiple_of(997) && number < 2_000).then_some(moved)
}
