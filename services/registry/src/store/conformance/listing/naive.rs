//! A list made the long way: every row is looked at.

use confab_model::clock::Timestamp;
use confab_model::id::AgentId;
use confab_model::key::SessionKey;
use confab_model::session::Session;
use confab_rpc::gate::{Among, Reach};
use confab_rpc::wire::session::{Perspective, to_proto};

use crate::limits::CHILDREN_SHOWN_MAX;
use crate::store::{Filter, Listed, fold};

/// What a list with `filter` holds, in its order.
pub(super) fn list(rows: &[Session], filter: &Filter) -> Vec<Listed> {
    let mut listed: Vec<&Session> = rows
        .iter()
        .filter(|row| passes(rows, row, filter))
        .collect();
    in_order(&mut listed);
    listed
        .into_iter()
        .map(|row| Listed {
            session: Box::new(to_proto(row, &Perspective::default())),
            fault: None,
            children: children(rows, row, filter),
        })
        .collect()
}

fn in_order(rows: &mut [&Session]) {
    let place = |row: &Session| {
        let pinned = row.pinned_at.map_or(0, Timestamp::millis);
        (pinned, row.updated_at, row.created_at, row.key.to_string())
    };
    rows.sort_by_key(|row| std::cmp::Reverse(place(row)));
}

fn children(rows: &[Session], parent: &Session, filter: &Filter) -> Vec<String> {
    let mut children: Vec<&Session> = rows
        .iter()
        .filter(|row| row.spawned_by.as_ref() == Some(&parent.key))
        .filter(|row| row.archived_at.is_none() && !row.key.is_cron_run())
        .filter(|row| reaches(rows, &row.key, &filter.reach))
        .collect();
    in_order(&mut children);
    children.truncate(CHILDREN_SHOWN_MAX);
    children
        .into_iter()
        .map(|row| row.key.to_string())
        .collect()
}

fn passes(rows: &[Session], row: &Session, filter: &Filter) -> bool {
    let global = row.key == SessionKey::global();
    !row.key.is_cron_run()
        && row.archived_at.is_some() == filter.archived
        && (filter.global || !global)
        && reaches(rows, &row.key, &filter.reach)
        && (filter.kinds.is_empty() || filter.kinds.contains(&row.key.kind()))
        && filter
            .updated_since
            .is_none_or(|since| row.updated_at >= since)
        && filter
            .label
            .as_ref()
            .is_none_or(|label| row.label.as_ref() == Some(label))
        && filter
            .agent_id
            .as_ref()
            .is_none_or(|agent| agent_of(&row.key) == *agent)
        && filter.search.as_ref().is_none_or(|text| holds(row, text))
}

fn holds(row: &Session, text: &str) -> bool {
    let label = row.label.as_ref().map_or("", |label| label.as_str());
    [row.key.as_str(), label, row.session_id.as_str()]
        .iter()
        .any(|name| fold(name).contains(text))
}

fn agent_of(key: &SessionKey) -> AgentId {
    key.agent_id().unwrap_or_else(|| AgentId::normalise("main"))
}

fn reaches(rows: &[Session], key: &SessionKey, reach: &Reach) -> bool {
    match reach {
        Reach::All => true,
        Reach::Among(Among {
            agents,
            keys,
            family,
        }) => {
            agents.contains(&agent_of(key))
                || keys.contains(key)
                || family
                    .as_ref()
                    .is_some_and(|head| descends(rows, key, head))
        },
    }
}

/// Whether `key` is `head` or was spawned from it, over however many spawns.
fn descends(rows: &[Session], key: &SessionKey, head: &SessionKey) -> bool {
    if key == head {
        return true;
    }
    let row = rows.iter().find(|row| row.key == *key);
    row.and_then(|row| row.spawned_by.as_ref())
        .is_some_and(|above| descends(rows, above, head))
}
