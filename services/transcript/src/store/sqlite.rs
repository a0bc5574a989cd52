//! The transcript's store in an SQLite file.

mod append;
mod rows;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use confab_model::id::{SessionId, TenantId};
use confab_store::StoreError;
use confab_store::sqlite::{Database, Migration};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row as _, Sqlite};

use self::rows::{integer, natural, push_list, read_message};
use crate::store::{Appended, Draft, Extract, Tail, TailQuery, TranscriptStore, View, Window};

/// The steps of the transcript's schema.
pub const MIGRATIONS: &[Migration] = &[Migration {
    version: 1,
    description: "messages",
    sql: include_str!("../../migrations/0001_messages.sql"),
}];

const HEAD: &str =
    "SELECT last_seq, count_all, count_plain FROM heads WHERE tenant = $1 AND session_id = $2";

/// The counts at a sequence are those of the message there.
const HEAD_AT: &str = "SELECT seq AS last_seq, count_all, count_plain FROM messages \
     WHERE tenant = $1 AND session_id = $2 AND seq = $3";

const RANGE_ALL: &str = "SELECT message_id, seq, said_at, packed FROM messages \
     WHERE tenant = $1 AND session_id = $2 AND in_all = 1 AND count_all BETWEEN $3 AND $4 \
     ORDER BY count_all";

const RANGE_PLAIN: &str = "SELECT message_id, seq, said_at, packed FROM messages \
     WHERE tenant = $1 AND session_id = $2 AND in_plain = 1 AND count_plain BETWEEN $3 AND $4 \
     ORDER BY count_plain";

/// The transcript's store in an SQLite file; clones share it.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    database: Database,
}

/// Where a transcript ends.
struct End {
    seq: u64,
    all: u64,
    plain: u64,
}

impl SqliteStore {
    /// The store in `database`, which was opened with [`MIGRATIONS`].
    pub const fn new(database: Database) -> Self {
        Self { database }
    }

    /// The live end, or the one that a walk is pinned to.
    async fn end(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
        snapshot: Option<u64>,
    ) -> Result<Option<End>, StoreError> {
        let live = self.live_end(tenant, session_id).await?;
        let pinned =
            snapshot.filter(|snapshot| live.as_ref().is_some_and(|end| *snapshot < end.seq));
        let Some(snapshot) = pinned else {
            return Ok(live);
        };
        let row = sqlx::query(HEAD_AT)
            .bind(tenant.as_str())
            .bind(session_id.as_str())
            .bind(integer(snapshot))
            .fetch_optional(self.database.reader())
            .await?;
        row.as_ref().map(read_end).transpose()
    }

    async fn live_end(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
    ) -> Result<Option<End>, StoreError> {
        let row = sqlx::query(HEAD)
            .bind(tenant.as_str())
            .bind(session_id.as_str())
            .fetch_optional(self.database.reader())
            .await?;
        row.as_ref().map(read_end).transpose()
    }

    async fn add_first_of_person(
        &self,
        tenant: &TenantId,
        query: &TailQuery,
        tails: &mut BTreeMap<SessionId, Tail>,
    ) -> Result<(), StoreError> {
        let mut statement = first_statement(tenant, query);
        for row in statement.build().fetch_all(self.database.reader()).await? {
            let message = read_message(&row)?;
            tails
                .entry(read_session_id(&row)?)
                .or_default()
                .first_of_person = Some(message);
        }
        Ok(())
    }
}

impl TranscriptStore for SqliteStore {
    async fn append(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
        drafts: Vec<Draft>,
    ) -> Result<Appended, StoreError> {
        let (tenant, session_id) = (tenant.clone(), session_id.clone());
        self.database
            .write(move |connection| {
                Box::pin(
                    async move { append::append(connection, &tenant, &session_id, drafts).await },
                )
            })
            .await
    }

    async fn read(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
        window: Window,
    ) -> Result<Extract, StoreError> {
        let Some(end) = self.end(tenant, session_id, window.snapshot).await? else {
            return Ok(Extract::default());
        };
        let (total, statement) = match window.view {
            View::All => (end.all, RANGE_ALL),
            View::Plain => (end.plain, RANGE_PLAIN),
        };
        let last = total.saturating_sub(window.offset);
        let first = last.saturating_sub(window.limit.into()).saturating_add(1);
        let mut messages = Vec::new();
        if last > 0 {
            let rows = sqlx::query(statement)
                .bind(tenant.as_str())
                .bind(session_id.as_str())
                .bind(integer(first))
                .bind(integer(last))
                .fetch_all(self.database.reader())
                .await?;
            messages = rows.iter().map(read_message).collect::<Result<_, _>>()?;
        }
        Ok(Extract {
            messages,
            total,
            snapshot: end.seq,
        })
    }

    async fn tails(
        &self,
        tenant: &TenantId,
        query: &TailQuery,
    ) -> Result<BTreeMap<SessionId, Tail>, StoreError> {
        let mut tails: BTreeMap<SessionId, Tail> = BTreeMap::new();
        if query.session_ids.is_empty() {
            return Ok(tails);
        }
        let mut statement = tails_statement(tenant, query);
        for row in statement.build().fetch_all(self.database.reader()).await? {
            tails
                .entry(read_session_id(&row)?)
                .or_default()
                .messages
                .push(read_message(&row)?);
        }
        if query.first_of_person {
            self.add_first_of_person(tenant, query, &mut tails).await?;
        }
        Ok(tails)
    }
}

fn tails_statement(tenant: &TenantId, query: &TailQuery) -> QueryBuilder<Sqlite> {
    let mut statement = QueryBuilder::new(
        "SELECT m.session_id, m.message_id, m.seq, m.said_at, m.packed \
         FROM heads h JOIN messages m ON m.tenant = h.tenant AND m.session_id = h.session_id \
         AND m.in_plain = 1 AND m.count_plain > h.count_plain - ",
    );
    statement.push_bind(i64::from(query.limit));
    of_sessions(statement, tenant, query)
}

fn first_statement(tenant: &TenantId, query: &TailQuery) -> QueryBuilder<Sqlite> {
    let statement = QueryBuilder::new(
        "SELECT m.session_id, m.message_id, m.seq, m.said_at, m.packed \
         FROM heads h JOIN messages m ON m.tenant = h.tenant AND m.session_id = h.session_id \
         AND m.seq = h.first_user_seq",
    );
    of_sessions(statement, tenant, query)
}

/// Ends a statement over heads `h` and messages `m`: of the sessions asked for, in order.
fn of_sessions(
    mut statement: QueryBuilder<Sqlite>,
    tenant: &TenantId,
    query: &TailQuery,
) -> QueryBuilder<Sqlite> {
    statement
        .push(" WHERE h.tenant = ")
        .push_bind(tenant.to_string());
    statement.push(" AND h.session_id IN ");
    push_list(
        &mut statement,
        query.session_ids.iter().map(SessionId::as_str),
    );
    statement.push(" ORDER BY m.session_id, m.seq");
    statement
}

fn read_end(row: &SqliteRow) -> Result<End, StoreError> {
    Ok(End {
        seq: natural(row.try_get("last_seq")?)?,
        all: natural(row.try_get("count_all")?)?,
        plain: natural(row.try_get("count_plain")?)?,
    })
}

fn read_session_id(row: &SqliteRow) -> Result<SessionId, StoreError> {
    let text: String = row.try_get("session_id")?;
    SessionId::parse(text).map_err(StoreError::corrupt)
}
