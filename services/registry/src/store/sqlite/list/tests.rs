//! How a list is carried out: which indexes it reads, and that the work grows with the page alone.

mod rows;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use confab_model::id::{AgentId, TenantId};
use confab_model::key::SessionKind;
use confab_model::session::Label;
use confab_rpc::gate::{Among, Reach};
use confab_store::sqlite::Database;
use sqlx::Row as _;

use super::super::tests::{open, plan};
use super::Query;
use crate::store::{Filter, Position};
use crate::testing::{START, key};

/// A filter, by what it narrows.
type Case = (&'static str, fn(&mut Filter));

const CASES: [Case; 13] = [
    ("plain", |_| {}),
    ("kinds", |filter| {
        filter.kinds = vec![SessionKind::Main, SessionKind::Group];
    }),
    ("agent", |filter| {
        filter.agent_id = Some(AgentId::normalise("a1"));
    }),
    ("reach of an agent", |filter| filter.reach = agents(&["a1"])),
    ("reach of agents", |filter| {
        filter.reach = agents(&["a1", "a2", "a3"]);
    }),
    ("agents and kinds", |filter| {
        filter.reach = agents(&["a1", "a2"]);
        filter.kinds = vec![SessionKind::Main, SessionKind::Group];
    }),
    ("family", |filter| filter.reach = family(&[])),
    ("agents and family", |filter| {
        filter.reach = family(&["a2", "a3"]);
    }),
    ("family and kinds", |filter| {
        filter.reach = family(&[]);
        filter.kinds = vec![SessionKind::Other];
    }),
    ("activeMinutes", |filter| filter.updated_since = Some(START)),
    ("activeMinutes and kinds", |filter| {
        filter.updated_since = Some(START);
        filter.kinds = vec![SessionKind::Main, SessionKind::Group];
    }),
    ("search", |filter| filter.search = Some("agent".to_owned())),
    ("label", |filter| {
        filter.label = Some(Label::parse("Desk").unwrap());
    }),
];

fn agents(ids: &[&str]) -> Reach {
    Reach::Among(Among {
        agents: ids.iter().map(|id| AgentId::normalise(id)).collect(),
        ..Among::default()
    })
}

fn family(ids: &[&str]) -> Reach {
    Reach::Among(Among {
        agents: ids.iter().map(|id| AgentId::normalise(id)).collect(),
        keys: Vec::new(),
        family: Some(key("agent:a1:main")),
    })
}

fn filter(change: fn(&mut Filter)) -> Filter {
    let mut filter = Filter {
        reach: Reach::All,
        kinds: Vec::new(),
        updated_since: None,
        label: None,
        agent_id: None,
        search: None,
        archived: false,
        global: false,
    };
    change(&mut filter);
    filter
}

/// Behind the pinned rows, among the ones that moved last.
fn position() -> Position {
    Position {
        pinned_at: 0,
        updated_at: START.plus_millis(1_000_000).millis(),
        created_at: START.millis(),
        key: "agent:a1:main".to_owned(),
    }
}

async fn list_plan(database: &Database, filter: &Filter, after: Option<&Position>) -> String {
    let sql = Query::new(&TenantId::default(), filter, after, 201).sql();
    plan(database, &sql).await
}

/// What a plan may read from one end to the other: what a statement made itself, at most as long as
/// the page or as the lanes are many.
const SMALL: [&str; 9] = [
    "SCAN walk",
    "SCAN page",
    "SCAN parents",
    "SCAN lane",
    "SCAN CONSTANT ROW",
    "SCAN json_each VIRTUAL TABLE",
    "SCAN agent VIRTUAL TABLE",
    "SCAN kind VIRTUAL TABLE",
    "SCAN single VIRTUAL TABLE",
];

fn is_small(step: &str) -> bool {
    step.starts_with("SCAN (subquery-") || SMALL.iter().any(|small| step.starts_with(small))
}

/// A step of a plan: the part of the statement it belongs to, and what it does.
async fn steps(
    database: &Database,
    filter: &Filter,
    after: Option<&Position>,
) -> Vec<(i64, String)> {
    let sql = Query::new(&TenantId::default(), filter, after, 201).sql();
    let explained = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
    let rows = sqlx::query(explained)
        .fetch_all(database.reader())
        .await
        .unwrap();
    rows.iter()
        .map(|row| (row.get("parent"), row.get("detail")))
        .collect()
}

/// Whether what a part of a statement reads may be sorted: something small, single rows, or the
/// sessions with a label, one of each agent at most.
fn may_be_sorted(step: &str) -> bool {
    let single = [
        "INTEGER PRIMARY KEY",
        "sqlite_autoindex_sessions_1",
        "sessions_by_label",
    ];
    !step.starts_with("SEARCH") || single.iter().any(|index| step.contains(index))
}

#[tokio::test]
async fn no_list_scans_a_table_or_sorts_more_than_its_page() {
    let (_, database) = open().await;
    for (name, change) in CASES {
        for after in [None, Some(position())] {
            let plan = steps(&database, &filter(change), after.as_ref()).await;
            for (part, step) in &plan {
                assert!(
                    !step.starts_with("SCAN") || is_small(step),
                    "{name}: {step} in {plan:#?}"
                );
                assert!(!step.contains("AUTOMATIC"), "{name}: {step} in {plan:#?}");
                if step.contains("TEMP B-TREE") {
                    let mut sorted = plan.iter().filter(|(other, _)| other == part);
                    assert!(
                        sorted.all(|(_, step)| may_be_sorted(step)),
                        "{name}: {plan:#?}"
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn each_filter_is_ranges_of_an_index_that_begin_where_the_last_page_ended() {
    let (_, database) = open().await;
    let behind = "(pinned_at,updated_at,created_at,key)<(?,?,?,?)";
    for (name, range) in [
        ("plain", "sessions_listed (tenant=? AND shelf=?"),
        ("kinds", "sessions_by_kind (tenant=? AND shelf=? AND kind=?"),
        (
            "agent",
            "sessions_listed_by_agent (tenant=? AND shelf=? AND agent_id=?",
        ),
        (
            "reach of agents",
            "sessions_listed_by_agent (tenant=? AND shelf=? AND agent_id=?",
        ),
        (
            "agents and kinds",
            "sessions_by_agent_and_kind (tenant=? AND shelf=? AND agent_id=? AND kind=?",
        ),
        (
            "family",
            "sessions_by_spawner (tenant=? AND spawned_by=? AND shelf=?",
        ),
        (
            "activeMinutes",
            "sessions_listed (tenant=? AND shelf=? AND (pinned_at,updated_at)>(?,?)",
        ),
        (
            "activeMinutes and kinds",
            "sessions_by_kind (tenant=? AND shelf=? AND kind=? AND (pinned_at,updated_at)>(?,?)",
        ),
        ("search", "sessions_listed (tenant=? AND shelf=?"),
    ] {
        let (_, change) = CASES.iter().find(|(case, _)| *case == name).unwrap();
        let first = list_plan(&database, &filter(*change), None).await;
        assert!(first.contains(range), "{name}: {first}");
        let next = list_plan(&database, &filter(*change), Some(&position())).await;
        let expected = format!("{range} AND {behind}");
        assert!(next.contains(&expected), "{name}: {next}");
        // The step from row to row compares the whole place, not its first column alone.
        assert!(!next.contains("AND pinned_at<?)"), "{name}: {next}");
    }
}

#[tokio::test]
async fn a_label_is_looked_up_and_a_family_is_followed_by_what_spawned() {
    let (_, database) = open().await;
    let (_, label) = CASES.iter().find(|(case, _)| *case == "label").unwrap();
    let plan = list_plan(&database, &filter(*label), None).await;
    assert!(
        plan.contains("sessions_by_label (tenant=? AND label=?)"),
        "{plan}"
    );
    let family = filter(|filter| filter.reach = family(&[]));
    let plan = list_plan(&database, &family, None).await;
    assert!(
        plan.contains("sessions_spawning (tenant=? AND spawned_by=?"),
        "{plan}"
    );
    assert!(
        plan.contains("COVERING INDEX sessions_by_spawner (tenant=? AND spawned_by=? AND shelf=?"),
        "{plan}"
    );
}

/// Steps of the engine's virtual machine behind a page, and its rows.
async fn work(database: &Database, filter: &Filter, after: Option<&Position>) -> (u64, usize) {
    let tenant = TenantId::default();
    let query = Query::new(&tenant, filter, after, 21);
    let mut connection = database.reader().acquire().await.unwrap();
    // Prepared once already, so that only its execution counts.
    query.fetch(&mut connection).await.unwrap();
    let steps = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&steps);
    let mut handle = connection.lock_handle().await.unwrap();
    handle.set_progress_handler(1, move || {
        counted.fetch_add(1, Ordering::Relaxed);
        true
    });
    drop(handle);
    let rows = query.fetch(&mut connection).await.unwrap().len();
    connection
        .lock_handle()
        .await
        .unwrap()
        .remove_progress_handler();
    (steps.load(Ordering::Relaxed), rows)
}

/// Source: B126.
#[tokio::test]
async fn the_work_behind_a_page_does_not_grow_with_the_sessions() {
    let (_, database) = open().await;
    rows::insert(&database, 0..2_000).await;
    let mut before = Vec::new();
    for (name, change) in CASES {
        for after in [None, Some(position())] {
            let (steps, rows) = work(&database, &filter(change), after.as_ref()).await;
            assert!(rows == 21 || name == "label", "{name}: {rows} rows");
            before.push(steps);
        }
    }
    rows::insert(&database, 2_000..20_000).await;
    let mut before = before.into_iter();
    for (name, change) in CASES {
        for after in [None, Some(position())] {
            let (steps, rows) = work(&database, &filter(change), after.as_ref()).await;
            assert!(rows == 21 || name == "label", "{name}: {rows} rows");
            let least = before.next().unwrap();
            assert!(
                steps <= least + least / 4,
                "{name}, {after:?}: {least} steps at 2,000 sessions, {steps} at 20,000"
            );
        }
    }
}

#[tokio::test]
async fn the_children_named_in_a_page_cost_no_more_when_there_are_more() {
    let (_, database) = open().await;
    rows::insert(&database, 0..2_000).await;
    let parents = filter(|filter| filter.label = Some(Label::parse("Parent").unwrap()));
    let (least, rows) = work(&database, &parents, None).await;
    assert_eq!(rows, 1);
    rows::insert(&database, 2_000..20_000).await;
    let (most, _) = work(&database, &parents, None).await;
    assert!(most <= least + least / 4, "{least} steps, then {most}");
}

mod oddities;
