//! The statement behind a list of sessions.
//!
//! A filter is a few *lanes*: ranges of an index that stand in the order of the list, one for each
//! agent and kind, or for each session that spawned. A lane that is alone is read from its beginning.
//! Of several, the statement takes the first row of each and then, as often as the page has rows, the
//! next row of the lane whose row was taken last: the engine's queue of a recursive query, kept in
//! the order of the list, is the merge. So a list reads its page and one row of each lane, however
//! many rows there are.

use std::collections::BTreeSet;

use confab_model::clock::Timestamp;
use confab_model::id::{AgentId, TenantId};
use confab_model::key::{SessionKey, SessionKind};
use confab_model::session::Label;
use confab_rpc::gate::{Among, Reach};
use confab_store::StoreError;
use sqlx::AssertSqlSafe;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::Shelf;
use crate::limits::CHILDREN_SHOWN_MAX;
use crate::store::sqlite::count;
use crate::store::{Filter, Position};

/// Every session that spawned, from the head of the family ($7) down. `UNION` and not `UNION ALL`: a
/// ring of spawns, however it came about, ends the walk.
const PARENTS: &str = "\
    parents (key) AS MATERIALIZED (
        SELECT $7
        UNION
        SELECT member.key FROM parents
        CROSS JOIN sessions AS member INDEXED BY sessions_spawning
            ON member.tenant = $1 AND member.spawned_by = parents.key AND member.spawner = 1
    ),";

/// The order of a list (D54).
const IN_ORDER: &str = " ORDER BY row.pinned_at DESC, row.updated_at DESC, row.created_at DESC, \
     row.key DESC";

/// A row's place in the order of the list, as values of the parameters.
const AFTER: &str = "($12, $13, $14, $15)";

/// The same, as the row of the walk that was taken last; the unary plus lets the index compare all of
/// it, which it does with values and not with columns.
const TAKEN: &str = "(+walk.pinned_at, +walk.updated_at, +walk.created_at, +walk.key)";

/// What the rows of a lane have in common, and so in which index they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lane {
    /// Nothing: all of a tenant's sessions.
    Tenant,
    /// Their kind.
    Kind,
    /// Their agent.
    Agent,
    /// Their agent and their kind.
    AgentAndKind,
    /// The session that spawned them.
    Spawner,
}

impl Lane {
    const fn index(self) -> &'static str {
        match self {
            Self::Tenant => "sessions_listed",
            Self::Kind => "sessions_by_kind",
            Self::Agent => "sessions_listed_by_agent",
            Self::AgentAndKind => "sessions_by_agent_and_kind",
            Self::Spawner => "sessions_by_spawner",
        }
    }

    /// What holds for the rows of the first or only lane; the first that spawned is the head of the
    /// family.
    const fn first(self) -> &'static str {
        match self {
            Self::Tenant => "",
            Self::Kind => " AND row.kind = json_extract($5, '$[0]')",
            Self::Agent => " AND row.agent_id = json_extract($4, '$[0]')",
            Self::AgentAndKind => {
                " AND row.agent_id = json_extract($4, '$[0]') \
                 AND row.kind = json_extract($5, '$[0]')"
            },
            Self::Spawner => " AND row.spawned_by = $7",
        }
    }

    /// The lanes that are merged, as columns of the walk: agent, kind, spawner.
    const fn merged(self) -> &'static str {
        match self {
            Self::Tenant => "(SELECT NULL AS agent_id, NULL AS kind, NULL AS spawner)",
            Self::Kind => {
                "(SELECT NULL AS agent_id, value AS kind, NULL AS spawner FROM json_each($5))"
            },
            Self::Agent => {
                "(SELECT value AS agent_id, NULL AS kind, NULL AS spawner FROM json_each($4))"
            },
            Self::AgentAndKind => {
                "(SELECT agent.value AS agent_id, kind.value AS kind, NULL AS spawner \
                 FROM json_each($4) AS agent CROSS JOIN json_each($5) AS kind)"
            },
            Self::Spawner => {
                "(SELECT NULL AS agent_id, NULL AS kind, key AS spawner FROM parents \
                 WHERE key <> $7)"
            },
        }
    }

    /// What holds for the rows of the lane `name`; a lane of another sort has none.
    fn of(self, name: &str) -> String {
        match self {
            Self::Tenant => String::new(),
            Self::Kind => format!(" AND row.kind = {name}.kind"),
            Self::Agent => format!(" AND row.agent_id = {name}.agent_id"),
            Self::AgentAndKind => {
                format!(" AND row.agent_id = {name}.agent_id AND row.kind = {name}.kind")
            },
            Self::Spawner => format!(" AND row.spawned_by = {name}.spawner"),
        }
    }
}

/// A list that is asked for.
#[derive(Debug)]
pub(in crate::store::sqlite) struct Query<'a> {
    tenant: &'a TenantId,
    filter: &'a Filter,
    after: Option<&'a Position>,
    limit: usize,
    /// The agents all of whose sessions are listed; absent where the list is not bound to agents.
    agents: Option<Vec<&'a AgentId>>,
    /// The sessions listed for themselves; the head of the family is one.
    keys: BTreeSet<&'a SessionKey>,
    head: Option<&'a SessionKey>,
}

impl<'a> Query<'a> {
    /// The rows that pass `filter` behind `after`, at most `limit`.
    pub(in crate::store::sqlite) fn new(
        tenant: &'a TenantId,
        filter: &'a Filter,
        after: Option<&'a Position>,
        limit: usize,
    ) -> Self {
        let only = filter.agent_id.as_ref();
        let (agents, keys, head) = match &filter.reach {
            Reach::All => (only.map(|agent| vec![agent]), BTreeSet::new(), None),
            Reach::Among(among) => {
                let within = |agent: &&AgentId| only.is_none_or(|only| *agent == only);
                let agents: BTreeSet<&AgentId> = among.agents.iter().filter(within).collect();
                let head = among.family.as_ref();
                let keys = among.keys.iter().chain(head).collect();
                (Some(agents.into_iter().collect()), keys, head)
            },
        };
        Self {
            tenant,
            filter,
            after,
            limit,
            agents,
            keys,
            head,
        }
    }

    /// Whether nothing can be in the list.
    pub(in crate::store::sqlite) fn is_empty(&self) -> bool {
        self.agents.as_ref().is_some_and(Vec::is_empty) && self.keys.is_empty()
    }

    /// Its rows: `id`, `packed`, `state_version` and `children`.
    pub(in crate::store::sqlite) async fn fetch(
        &self,
        connection: &mut SqliteConnection,
    ) -> Result<Vec<SqliteRow>, StoreError> {
        let filter = self.filter;
        let after = |part: fn(&Position) -> i64| self.after.map(part);
        // The text is put together from this file's own words; every value is bound.
        let rows = sqlx::query(AssertSqlSafe(self.sql()))
            .bind(self.tenant.as_str())
            .bind(Shelf::asked(filter).code())
            .bind(count(self.limit))
            .bind(json(
                self.agents.iter().flatten().map(|agent| agent.as_str()),
            ))
            .bind(json(self.kinds().iter().map(|kind| kind.as_str())))
            .bind(json(self.keys.iter().map(|key| key.as_str())))
            .bind(self.head.map(SessionKey::as_str))
            .bind(filter.updated_since.map(Timestamp::millis))
            .bind(filter.label.as_ref().map(Label::as_str))
            .bind(filter.search.as_deref())
            .bind(filter.agent_id.as_ref().map(AgentId::as_str))
            .bind(after(|position| position.pinned_at))
            .bind(after(|position| position.updated_at))
            .bind(after(|position| position.created_at))
            .bind(self.after.map(|position| position.key.as_str()))
            .bind(json(self.reached_agents().iter().map(AgentId::as_str)))
            .bind(SessionKey::global().as_str())
            .fetch_all(connection)
            .await?;
        Ok(rows)
    }

    /// The kinds asked for, each once.
    fn kinds(&self) -> Vec<SessionKind> {
        let mut kinds = SessionKind::ALL.to_vec();
        kinds.retain(|kind| self.filter.kinds.contains(kind));
        kinds
    }

    fn reached_agents(&self) -> &[AgentId] {
        match &self.filter.reach {
            Reach::All => &[],
            Reach::Among(Among { agents, .. }) => agents,
        }
    }

    /// The statement's text. Its parameters are numbered as [`Query::fetch`] binds them, whether they
    /// occur or not, so that there are few different texts and each is prepared once.
    pub(in crate::store::sqlite) fn sql(&self) -> String {
        let (mut tables, mut sources) = (String::new(), Vec::new());
        if self.head.is_some() {
            tables.push_str(PARENTS);
        }
        if self.filter.label.is_some() {
            sources.push(self.labelled());
        } else {
            sources.extend(self.ranges().into_iter().map(|lane| self.range(lane)));
            if !self.keys.is_empty() {
                sources.push(self.singles());
            }
            let merged = self.merged();
            if !merged.is_empty() {
                tables.push_str(&self.walk(&merged));
                sources.push(String::from(
                    "SELECT id, pinned_at, updated_at, created_at, key FROM walk",
                ));
            }
        }
        let (page, children) = (first_of_all(&sources), self.children());
        format!(
            "WITH RECURSIVE {tables}
            page (id, pinned_at, updated_at, created_at, key) AS MATERIALIZED ({page})
            SELECT page.id, sessions.packed, sessions.state_version, {children} AS children
            FROM page CROSS JOIN sessions ON sessions.rowid = page.id
            ORDER BY page.pinned_at DESC, page.updated_at DESC, page.created_at DESC, page.key DESC"
        )
    }

    /// How the sessions that are bound to no family lie in lanes, and in how many; absent where there
    /// are none.
    fn lanes(&self) -> Option<(Lane, usize)> {
        let kinds = self.kinds().len();
        match (&self.agents, kinds) {
            (None, 0) => Some((Lane::Tenant, 1)),
            (None, _) => Some((Lane::Kind, kinds)),
            (Some(agents), _) if agents.is_empty() => None,
            (Some(agents), 0) => Some((Lane::Agent, agents.len())),
            (Some(agents), _) => Some((Lane::AgentAndKind, agents.len() * kinds)),
        }
    }

    /// The lanes that are read from their beginning: one that is alone, and what the head of the
    /// family spawned, which most often is the whole family.
    fn ranges(&self) -> Vec<Lane> {
        let alone = self.lanes().filter(|(_, lanes)| *lanes == 1);
        let family = self.head.map(|_| Lane::Spawner);
        alone
            .map(|(lane, _)| lane)
            .into_iter()
            .chain(family)
            .collect()
    }

    /// The lanes that are merged row by row.
    fn merged(&self) -> Vec<Lane> {
        let several = self.lanes().filter(|(_, lanes)| *lanes > 1);
        let family = self.head.map(|_| Lane::Spawner);
        several
            .map(|(lane, _)| lane)
            .into_iter()
            .chain(family)
            .collect()
    }

    /// The first rows of a lane.
    fn range(&self, lane: Lane) -> String {
        format!(
            "SELECT row.rowid, row.pinned_at, row.updated_at, row.created_at, row.key
            FROM sessions AS row INDEXED BY {}
            WHERE row.tenant = $1 AND row.shelf = $2{}{}{}{IN_ORDER} LIMIT $3",
            lane.index(),
            lane.first(),
            self.behind(),
            self.tests(lane),
        )
    }

    /// The sessions with a label: one of each agent at most.
    fn labelled(&self) -> String {
        format!(
            "SELECT row.rowid, row.pinned_at, row.updated_at, row.created_at, row.key
            FROM sessions AS row INDEXED BY sessions_by_label
            WHERE row.tenant = $1 AND row.label = $9 AND row.shelf = $2{}{}{}{}{IN_ORDER} LIMIT $3",
            self.behind(),
            self.conditions(),
            self.narrowed(),
            self.reached("row"),
        )
    }

    /// The merge of lanes: the first row of each, and then the next one in the lane of the row that
    /// was taken last.
    fn walk(&self, lanes: &[Lane]) -> String {
        let place = self.after.map(|_| AFTER);
        let heads = lanes
            .iter()
            .map(|lane| self.step(*lane, &format!("{} AS lane", lane.merged()), "lane", place));
        let next = lanes
            .iter()
            .map(|lane| self.step(*lane, "walk", "walk", Some(TAKEN)));
        let steps: Vec<String> = heads.chain(next).collect();
        format!(
            "walk (agent_id, kind, spawner, id, pinned_at, updated_at, created_at, key) AS (
                {} ORDER BY 5 DESC, 6 DESC, 7 DESC, 8 DESC LIMIT $3
            ),",
            steps.join(" UNION ALL ")
        )
    }

    /// For each lane `name` in `from`, its first row behind `place`.
    fn step(&self, lane: Lane, from: &str, name: &str, place: Option<&str>) -> String {
        format!(
            "SELECT {name}.agent_id, {name}.kind, {name}.spawner, found.rowid,
                found.pinned_at, found.updated_at, found.created_at, found.key
            FROM {from} CROSS JOIN sessions AS found ON found.rowid = (
                SELECT row.rowid FROM sessions AS row INDEXED BY {}
                WHERE row.tenant = $1 AND row.shelf = $2{}{}{}{IN_ORDER} LIMIT 1)",
            lane.index(),
            lane.of(name),
            place.map_or_else(String::new, behind),
            self.tests(lane),
        )
    }

    /// What a row of a lane must fulfil beside being in it.
    fn tests(&self, lane: Lane) -> String {
        match lane {
            Lane::Tenant | Lane::Kind | Lane::Agent | Lane::AgentAndKind => self.conditions(),
            Lane::Spawner => {
                format!(
                    "{}{}{}",
                    self.conditions(),
                    self.narrowed(),
                    self.no_agents()
                )
            },
        }
    }

    /// The rows that are listed for themselves and stand in no lane.
    fn singles(&self) -> String {
        let no_family = if self.head.is_some() {
            " AND (row.spawned_by IS NULL OR row.spawned_by NOT IN (SELECT key FROM parents))"
        } else {
            ""
        };
        format!(
            "SELECT row.rowid, row.pinned_at, row.updated_at, row.created_at, row.key
            FROM json_each($6) AS single
            CROSS JOIN sessions AS row INDEXED BY sqlite_autoindex_sessions_1
                ON row.tenant = $1 AND row.key = single.value
            WHERE row.shelf = $2{}{}{}{}{no_family}",
            self.behind(),
            self.conditions(),
            self.narrowed(),
            self.no_agents(),
        )
    }

    fn behind(&self) -> String {
        self.after.map_or_else(String::new, |_| behind(AFTER))
    }

    /// What every row must fulfil. Pinned rows stand in front whenever they moved; behind them the
    /// moment is where the range ends.
    fn conditions(&self) -> String {
        let mut text = String::new();
        if self.filter.updated_since.is_some() {
            text.push_str(
                " AND (row.pinned_at, row.updated_at) >= (0, $8) AND row.updated_at >= $8",
            );
        }
        if self.filter.search.is_some() {
            text.push_str(" AND instr(row.search, $10) > 0");
        }
        if !self.filter.global {
            text.push_str(" AND row.key <> $17");
        }
        text
    }

    /// The agent and the kinds asked for, where no lane stands for them.
    fn narrowed(&self) -> String {
        let mut text = String::new();
        if self.filter.agent_id.is_some() {
            text.push_str(" AND row.agent_id = $11");
        }
        if !self.filter.kinds.is_empty() {
            text.push_str(" AND row.kind IN (SELECT value FROM json_each($5))");
        }
        text
    }

    /// A row that stands in the lane of its agent stands in no other.
    fn no_agents(&self) -> &'static str {
        if self
            .agents
            .as_ref()
            .is_some_and(|agents| !agents.is_empty())
        {
            " AND row.agent_id NOT IN (SELECT value FROM json_each($4))"
        } else {
            ""
        }
    }

    /// Whether a row is within the reach of the list.
    fn reached(&self, row: &str) -> String {
        match &self.filter.reach {
            Reach::All => String::new(),
            Reach::Among(_) => {
                let family = if self.head.is_some() {
                    format!(" OR {row}.spawned_by IN (SELECT key FROM parents)")
                } else {
                    String::new()
                };
                format!(
                    " AND ({row}.agent_id IN (SELECT value FROM json_each($16)) \
                     OR {row}.key IN (SELECT value FROM json_each($6)){family})"
                )
            },
        }
    }

    /// The open sessions that a row spawned, as far as the list reaches.
    ///
    /// Source: reg:L33.
    fn children(&self) -> String {
        let global = if self.filter.global {
            ""
        } else {
            " AND child.key <> $17"
        };
        format!(
            "CASE sessions.spawner WHEN 1 THEN (SELECT json_group_array(key) FROM (
                SELECT child.key FROM sessions AS child INDEXED BY sessions_by_spawner
                WHERE child.tenant = $1 AND child.spawned_by = sessions.key
                    AND child.shelf = {}{global}{}
                ORDER BY child.pinned_at DESC, child.updated_at DESC, child.created_at DESC,
                    child.key DESC
                LIMIT {CHILDREN_SHOWN_MAX}
            )) END",
            Shelf::Open.code(),
            self.reached("child"),
        )
    }
}

/// The first rows of several sources, each of them in order and no longer than the page.
fn first_of_all(sources: &[String]) -> String {
    match sources {
        [source] => source.clone(),
        several => format!(
            "SELECT * FROM ({}) ORDER BY 2 DESC, 3 DESC, 4 DESC, 5 DESC LIMIT $3",
            several.join(") UNION ALL SELECT * FROM (")
        ),
    }
}

fn behind(place: &str) -> String {
    format!(" AND (row.pinned_at, row.updated_at, row.created_at, row.key) < {place}")
}

/// One value however many there are: a statement takes 32,766 at most.
fn json<'a>(values: impl Iterator<Item = &'a str>) -> String {
    values.collect::<serde_json::Value>().to_string()
}
