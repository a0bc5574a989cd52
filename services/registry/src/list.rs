//! Listing sessions: filtered first, then ordered, then limited.

use std::collections::BTreeSet;

use confab_config::Settings;
use confab_model::key::{Scope, SessionKind};
use confab_rpc::error::RpcError;
use confab_rpc::gate::{Admitted, ScopeNote};
use confab_rpc::wire::enums::Numbered as _;
use confab_store::page::{self, Cursor};
use serde::{Deserialize, Serialize};

use crate::commands::ListSessions;
use crate::store::{Filter, Listed, Position, RegistryStore, fold};
use crate::{Sessions, store_failed};

const MILLIS_PER_MINUTE: i64 = 60_000;

/// The last row of a page of sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCursor {
    pinned_at: i64,
    updated_at: i64,
    created_at: i64,
    key: String,
}

impl Cursor for SessionCursor {
    const KIND: &'static str = "sessions";
}

impl From<Position> for SessionCursor {
    fn from(position: Position) -> Self {
        let Position {
            pinned_at,
            updated_at,
            created_at,
            key,
        } = position;
        Self {
            pinned_at,
            updated_at,
            created_at,
            key,
        }
    }
}

impl From<SessionCursor> for Position {
    fn from(cursor: SessionCursor) -> Self {
        let SessionCursor {
            pinned_at,
            updated_at,
            created_at,
            key,
        } = cursor;
        Self {
            pinned_at,
            updated_at,
            created_at,
            key,
        }
    }
}

/// One page of sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionPage {
    /// The rows, in the order of D54.
    pub sessions: Vec<Listed>,
    /// Where the next page begins; absent on the last one.
    pub next_page_token: Option<String>,
    /// Rows of the page that carry a fault.
    pub faulty: u32,
    /// The limit in force, where the asked one was lowered.
    pub limit_applied: Option<u32>,
    /// How what the caller may see narrows the list.
    pub note: Option<ScopeNote>,
}

impl<S: RegistryStore> Sessions<S> {
    /// One page of the sessions the caller may see.
    ///
    /// # Errors
    /// When the store fails. A row that cannot be read, or whose agent is configured no longer, is
    /// marked and fails nothing.
    ///
    /// Source: D14, D53, D54, reg:L4, reg:L9, reg:L17, B128, B136.
    pub async fn list(&self, call: Admitted<ListSessions>) -> Result<SessionPage, RpcError> {
        let scope = call.scope()?.clone();
        let (request, caller, _) = call.into_parts();
        let settings = self.settings.current();
        let since = request.active_minutes.map(|minutes| {
            self.clock
                .now()
                .plus_millis(-i64::from(minutes).saturating_mul(MILLIS_PER_MINUTE))
        });
        let filter = Filter {
            reach: scope.reach,
            kinds: request.kinds,
            updated_since: since,
            label: request.label,
            agent_id: request.agent_id,
            search: request.search.map(|text| fold(&text)),
            archived: request.archived,
            global: settings.session.scope == Scope::Global,
        };
        let limit = usize::try_from(request.limit.value).unwrap_or(usize::MAX);
        let after = request.after.map(Position::from);
        // One row more than asked tells whether another page follows.
        let wanted = limit.saturating_add(1);
        let rows = self
            .store
            .list(&caller.tenant, &filter, after.as_ref(), wanted)
            .await;
        let (mut sessions, next_page_token) = cut(rows.map_err(store_failed)?, limit);
        mark_unconfigured(&mut sessions, &settings);
        let faulty = sessions.iter().filter(|row| row.fault.is_some()).count();
        Ok(SessionPage {
            sessions,
            next_page_token,
            faulty: u32::try_from(faulty).unwrap_or(u32::MAX),
            limit_applied: request.limit.applied,
            note: scope.note,
        })
    }
}

fn cut(mut rows: Vec<Listed>, limit: usize) -> (Vec<Listed>, Option<String>) {
    let more = rows.len() > limit;
    rows.truncate(limit);
    let last = rows.last().filter(|_| more);
    let token = last.map(|row| page::encode(&SessionCursor::from(row.position())));
    (rows, token)
}

/// Marks the rows whose agent the configuration does not know; the one session that serves all needs
/// no agent. What the store found wrong with a row comes first.
fn mark_unconfigured(rows: &mut [Listed], settings: &Settings) {
    let agents = settings.agents.list().iter();
    let configured: BTreeSet<&str> = agents.map(|one| one.id.as_str()).collect();
    for row in rows.iter_mut().filter(|row| row.fault.is_none()) {
        let agent = row.session.agent_id.as_str();
        if !agent.is_empty() && !configured.contains(agent) {
            // A main session cannot be deleted.
            let or_delete = if row.session.kind == SessionKind::Main.number() {
                ""
            } else {
                ", or delete the session"
            };
            row.fault = Some(format!(
                "its agent {agent} is not configured: add it to agents.list{or_delete}"
            ));
        }
    }
}

#[cfg(test)]
mod tests;
