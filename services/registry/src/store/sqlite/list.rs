//! The statement behind a list of sessions.

use confab_model::id::{AgentId, TenantId};
use confab_model::key::SessionKey;
use confab_model::session::Session;
use confab_rpc::gate::Reach;
use sqlx::{QueryBuilder, Sqlite};

use super::push_list;
use crate::store::{Filter, Position};

/// Which list a session stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shelf {
    /// The list of open sessions.
    Open,
    /// The list of archived sessions.
    Archived,
    /// No list: the session of a single run of a scheduled job (reg:K24).
    Unlisted,
}

impl Shelf {
    pub(super) fn of(session: &Session) -> Self {
        if session.key.is_cron_run() {
            Self::Unlisted
        } else if session.archived_at.is_some() {
            Self::Archived
        } else {
            Self::Open
        }
    }

    pub(super) const fn code(self) -> i64 {
        match self {
            Self::Open => 0,
            Self::Archived => 1,
            Self::Unlisted => 2,
        }
    }
}

/// Filters first, then orders, then limits (D14). Every value is bound.
pub(super) fn statement(
    tenant: &TenantId,
    filter: &Filter,
    after: Option<&Position>,
    limit: i64,
) -> QueryBuilder<Sqlite> {
    let shelf = if filter.archived {
        Shelf::Archived
    } else {
        Shelf::Open
    };
    let mut query = QueryBuilder::new("SELECT packed FROM sessions WHERE tenant = ");
    query
        .push_bind(tenant.to_string())
        .push(shelf_condition(&filter.reach))
        .push_bind(shelf.code());
    push_reach(&mut query, &filter.reach);
    push_filter(&mut query, filter);
    if let Some(after) = after {
        query.push(" AND (pinned_at, updated_at, created_at, key) < (");
        query
            .push_bind(after.pinned_at)
            .push(", ")
            .push_bind(after.updated_at)
            .push(", ");
        query
            .push_bind(after.created_at)
            .push(", ")
            .push_bind(after.key.clone())
            .push(")");
    }
    query.push(" ORDER BY pinned_at DESC, updated_at DESC, created_at DESC, key DESC LIMIT ");
    query.push_bind(limit);
    query
}

/// The unary plus keeps the list's index away where a few rows are looked up by key: walking the
/// whole list to find them in order costs more than sorting them.
const fn shelf_condition(reach: &Reach) -> &'static str {
    match reach {
        Reach::All | Reach::Agents(_) => " AND shelf = ",
        Reach::Keys(_) => " AND +shelf = ",
    }
}

fn push_reach(query: &mut QueryBuilder<Sqlite>, reach: &Reach) {
    match reach {
        Reach::All => {},
        Reach::Agents(agents) => match agents.as_slice() {
            [agent] => drop(query.push(" AND agent_id = ").push_bind(agent.to_string())),
            // The unary plus keeps the list's own index: the one by agent would have to be sorted.
            several => {
                query.push(" AND +agent_id IN ");
                push_list(query, several.iter().map(AgentId::as_str));
            },
        },
        // One value however many keys, because a statement takes 32,766 at most.
        Reach::Keys(keys) => {
            query.push(" AND key IN (SELECT value FROM json_each(");
            query.push_bind(json_array(keys)).push("))");
        },
    }
}

fn json_array(keys: &[SessionKey]) -> String {
    keys.iter()
        .map(SessionKey::as_str)
        .collect::<serde_json::Value>()
        .to_string()
}

fn push_filter(query: &mut QueryBuilder<Sqlite>, filter: &Filter) {
    if let Some(agent_id) = &filter.agent_id {
        query
            .push(" AND agent_id = ")
            .push_bind(agent_id.to_string());
    }
    if !filter.kinds.is_empty() {
        query.push(" AND kind IN ");
        push_list(query, filter.kinds.iter().map(|kind| kind.as_str()));
    }
    if let Some(since) = filter.updated_since {
        query.push(" AND updated_at >= ").push_bind(since.millis());
    }
    if let Some(label) = &filter.label {
        query
            .push(" AND label = ")
            .push_bind(label.as_str().to_owned());
    }
    if let Some(search) = &filter.search {
        query
            .push(" AND instr(search, ")
            .push_bind(search.clone())
            .push(") > 0");
    }
    if !filter.global {
        query
            .push(" AND key <> ")
            .push_bind(SessionKey::global().to_string());
    }
}
