//! Lists, held against a list that is made the long way.

mod drawn;
mod naive;

use std::collections::BTreeSet;

use confab_model::id::{AgentId, RunId};
use confab_model::key::{SessionKey, SessionKind};
use confab_model::run::RunState;
use confab_model::session::{Label, LastRun, Session, Tuning};
use confab_rpc::gate::{Among, Reach};

use super::{all, listed, put, session, tenant};
use crate::activity::Activity;
use crate::limits::CHILDREN_SHOWN_MAX;
use crate::store::{Batch, Filter, Listed, RegistryStore, fold};
use crate::testing::{START, key};
use drawn::Draws;

/// To repeat one draw: `CONFAB_LISTING_SEED=<seed> cargo test -p confab-registry`.
const SEED: &str = match option_env!("CONFAB_LISTING_SEED") {
    Some(seed) => seed,
    None => "20261130",
};

const ROWS: u32 = 300;

/// Everything a list can be asked for, each of them alone, by name.
type Change = (&'static str, fn(&mut Filter));

const FILTERS: &[&[Change]] = &[
    &[
        ("one agent", |filter| {
            filter.reach = among(&["a"], &[], None);
        }),
        ("agents", |filter| {
            filter.reach = among(&["a", "c", "main"], &[], None);
        }),
        ("keys", |filter| {
            filter.reach = among(
                &[],
                &["agent:a:main", "agent:b:main", "agent:b:nobody"],
                None,
            );
        }),
        ("a family", |filter| {
            filter.reach = among(&[], &[], Some("agent:a:main"));
        }),
        ("a small family", |filter| {
            filter.reach = among(&[], &[], Some("agent:b:main"));
        }),
        ("agents and a family", |filter| {
            filter.reach = among(&["b"], &["agent:c:main"], Some("agent:a:main"));
        }),
        ("nothing", |filter| filter.reach = among(&[], &[], None)),
    ],
    &[
        ("kind main", |filter| {
            filter.kinds = vec![SessionKind::Main, SessionKind::Main];
        }),
        ("kinds", |filter| {
            filter.kinds = vec![SessionKind::Group, SessionKind::Cron, SessionKind::Other];
        }),
    ],
    &[
        ("moved", |filter| {
            filter.updated_since = Some(START.plus_millis(600));
        }),
        ("moved at last", |filter| {
            filter.updated_since = Some(START.plus_millis(1_000));
        }),
    ],
    &[("label", |filter| {
        filter.label = Some(Label::parse("Name 7").unwrap());
    })],
    &[
        ("agent a", |filter| {
            filter.agent_id = Some(AgentId::normalise("a"));
        }),
        ("agent b", |filter| {
            filter.agent_id = Some(AgentId::normalise("b"));
        }),
    ],
    &[
        ("search many", |filter| {
            filter.search = Some(fold("AGENT:A"));
        }),
        ("search few", |filter| {
            filter.search = Some(fold("Größe/17"));
        }),
    ],
    &[("archived", |filter| filter.archived = true)],
    &[("global", |filter| filter.global = true)],
];

fn among(agents: &[&str], keys: &[&str], family: Option<&str>) -> Reach {
    Reach::Among(Among {
        agents: agents.iter().map(|id| AgentId::normalise(id)).collect(),
        keys: keys.iter().map(|text| key(text)).collect(),
        family: family.map(key),
    })
}

/// No filter, every filter alone, and every two that can stand together.
fn filters() -> Vec<(String, Filter)> {
    let mut filters = vec![("none".to_owned(), all())];
    for (place, some) in FILTERS.iter().enumerate() {
        for (name, change) in *some {
            let mut filter = all();
            change(&mut filter);
            for (other_name, other) in FILTERS[place + 1..].iter().copied().flatten() {
                let mut both = filter.clone();
                other(&mut both);
                filters.push((format!("{name} + {other_name}"), both));
            }
            filters.push(((*name).to_owned(), filter));
        }
    }
    filters
}

async fn walk(store: &impl RegistryStore, filter: &Filter, limit: usize) -> Vec<Listed> {
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = store
            .list(&tenant(), filter, after.as_ref(), limit)
            .await
            .unwrap();
        let Some(last) = page.last() else { return seen };
        after = Some(last.position());
        seen.extend(page);
    }
}

pub(crate) async fn a_list_is_what_its_filters_and_every_two_of_them_say(
    store: impl RegistryStore,
) {
    let rows = drawn::fill(&store, &mut Draws::new(SEED.parse().unwrap()), ROWS).await;
    for (name, filter) in filters() {
        let expected = naive::list(&rows, &filter);
        let whole = store.list(&tenant(), &filter, None, 1_000).await.unwrap();
        assert_eq!(whole, expected, "seed {SEED}, {name}: the whole list");
        let pages = walk(&store, &filter, 37).await;
        assert_eq!(pages, expected, "seed {SEED}, {name}: page by page");
    }
}

pub(crate) async fn a_walk_shows_what_does_not_move_exactly_once(store: impl RegistryStore) {
    let mut draws = Draws::new(SEED.parse().unwrap());
    let rows = drawn::fill(&store, &mut draws, ROWS).await;
    for (round, reach) in [
        Reach::All,
        among(&["a", "b"], &[], None),
        among(&["b"], &[], Some("agent:a:main")),
    ]
    .into_iter()
    .enumerate()
    {
        let filter = Filter { reach, ..all() };
        let (mut seen, mut moved, mut after) = (Vec::new(), BTreeSet::new(), None);
        let expected = naive::list(&rows, &filter);
        loop {
            let page = store
                .list(&tenant(), &filter, after.as_ref(), 20)
                .await
                .unwrap();
            let Some(last) = page.last() else { break };
            after = Some(last.position());
            seen.extend(page.iter().map(|row| row.session.key.clone()));
            // Meanwhile one row moves, and one is made.
            let moving = draws.pick(&rows).key.clone();
            let later = 10_000 + i64::try_from(seen.len()).unwrap();
            store.record(move_of(&moving, later)).await.unwrap();
            moved.insert(moving.to_string());
            put(
                &store,
                session(&format!("agent:a:new {round} {}", seen.len())),
            )
            .await;
        }
        for row in &expected {
            let key = &row.session.key;
            let times = seen.iter().filter(|one| *one == key).count();
            assert!(
                times == 1 || moved.contains(key),
                "seed {SEED}, {:?}: {key} was shown {times} times",
                filter.reach
            );
        }
    }
}

fn move_of(session_key: &SessionKey, millis: i64) -> Batch {
    let activity = Activity {
        tenant: tenant(),
        session_key: session_key.clone(),
        run_id: RunId::parse("r").unwrap(),
        state: RunState::Queued,
        occurred_at: START.plus_millis(millis),
        started_at: None,
        ended_at: None,
        model: None,
        total_tokens: None,
        input_tokens: None,
        output_tokens: None,
        person: false,
        inbound_route: None,
    };
    Batch {
        activities: vec![activity],
        events: Vec::new(),
        now: START,
    }
}

fn spawned(text: &str, by: &str) -> Session {
    Session {
        spawned_by: Some(key(by)),
        ..session(text)
    }
}

async fn children_of(store: &impl RegistryStore, reach: Reach, text: &str) -> Vec<String> {
    let filter = Filter { reach, ..all() };
    let rows = store.list(&tenant(), &filter, None, 100).await.unwrap();
    let row = rows.into_iter().find(|row| row.session.key == text);
    row.unwrap().children
}

/// Source: reg:L33.
pub(crate) async fn a_row_names_the_open_children_within_reach_of_the_list(
    store: impl RegistryStore,
) {
    put(&store, session("agent:a:main")).await;
    put(&store, spawned("agent:a:subagent:1", "agent:a:main")).await;
    put(&store, spawned("agent:b:subagent:2", "agent:a:main")).await;
    put(&store, spawned("agent:b:subagent:3", "agent:b:subagent:2")).await;
    let archived = Session {
        archived_at: Some(START),
        ..spawned("agent:a:subagent:4", "agent:a:main")
    };
    put(&store, archived).await;
    put(&store, spawned("agent:a:cron:x:run:5", "agent:a:main")).await;
    let both = ["agent:b:subagent:2", "agent:a:subagent:1"];
    let parent = "agent:a:main";
    assert_eq!(children_of(&store, Reach::All, parent).await, both);
    let family = among(&[], &[], Some(parent));
    assert_eq!(children_of(&store, family.clone(), parent).await, both);
    assert_eq!(
        children_of(&store, family, "agent:b:subagent:2").await,
        ["agent:b:subagent:3"]
    );
    let own = among(&["a"], &[], None);
    assert_eq!(
        children_of(&store, own, parent).await,
        ["agent:a:subagent:1"]
    );
    let itself = among(&[], &[parent], None);
    assert_eq!(
        children_of(&store, itself, parent).await,
        Vec::<String>::new()
    );
    for number in 0..CHILDREN_SHOWN_MAX {
        put(
            &store,
            spawned(&format!("agent:a:subagent:x{number}"), parent),
        )
        .await;
    }
    let shown = children_of(&store, Reach::All, parent).await;
    assert_eq!(shown.len(), CHILDREN_SHOWN_MAX);
}

/// Source: reg:L14.
pub(crate) async fn a_search_looks_through_names_and_models_whatever_the_case(
    store: impl RegistryStore,
) {
    let run = LastRun {
        run_id: RunId::parse("r").unwrap(),
        state: RunState::Succeeded,
        started_at: None,
        ended_at: None,
        model: Some("Acme/Large-2".to_owned()),
        total_tokens: None,
        input_tokens: None,
        output_tokens: None,
    };
    let whole = Session {
        label: Some(Label::parse("ΟΔΟΣ Größe").unwrap()),
        last_run: Some(run),
        tuning: Tuning {
            model: Some("Other/Tiny".to_owned()),
            ..Tuning::default()
        },
        ..session("agent:a:desk")
    };
    put(&store, whole).await;
    put(&store, session("agent:b:1")).await;
    for (search, found) in [
        ("A:DESK", true),
        ("GRÖSSE", false),
        ("GRÖ", true),
        ("οδο", true),
        ("ΟΔΟΣ", true),
        ("id OF agent:a", true),
        ("acme/LARGE", true),
        ("tiny", true),
        ("οδος", true),
        ("%", false),
        ("desk%", false),
    ] {
        let filter = Filter {
            search: Some(fold(search)),
            ..all()
        };
        let expected: &[&str] = if found { &["agent:a:desk"] } else { &[] };
        assert_eq!(listed(&store, &filter).await, expected, "{search}");
    }
}

/// Source: D53.
pub(crate) async fn a_session_in_several_parts_of_a_reach_is_listed_once(
    store: impl RegistryStore,
) {
    put(&store, session("agent:a:main")).await;
    put(&store, spawned("agent:a:subagent:1", "agent:a:main")).await;
    put(&store, spawned("agent:b:subagent:2", "agent:a:subagent:1")).await;
    put(&store, session("agent:b:main")).await;
    let own = ["agent:b:subagent:2", "agent:a:subagent:1", "agent:a:main"];
    for keys in [
        &[][..],
        &["agent:a:main", "agent:b:subagent:2", "agent:a:main"],
    ] {
        let filter = Filter {
            reach: among(&["a", "a"], keys, Some("agent:a:main")),
            ..all()
        };
        assert_eq!(listed(&store, &filter).await, own, "{keys:?}");
    }
}
