//! The transcript's store in an SQLite file.

mod append;
mod fork;
mod imports;
mod read;
mod rows;
mod search;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use confab_model::id::{SessionId, TenantId};
use confab_store::StoreError;
use confab_store::sqlite::{Database, Migration};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row as _, Sqlite};

use self::rows::{push_list, read_row};
use crate::store::{Appended, Batch, Mark, Row, Stretch, Tail, TailQuery, TranscriptStore, View};

/// The steps of the transcript's schema.
pub const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        description: "messages",
        sql: include_str!("../../migrations/0001_messages.sql"),
    },
    Migration {
        version: 2,
        description: "pictures, compactions and whose transcript it is",
        sql: include_str!("../../migrations/0002_blobs.sql"),
    },
    Migration {
        version: 3,
        description: "search",
        sql: include_str!("../../migrations/0003_search.sql"),
    },
    Migration {
        version: 4,
        description: "forks",
        sql: include_str!("../../migrations/0004_forks.sql"),
    },
    Migration {
        version: 5,
        description: "imported entries",
        sql: include_str!("../../migrations/0005_imports.sql"),
    },
];

/// The transcript's store in an SQLite file; clones share it.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    database: Database,
}

impl SqliteStore {
    /// The store in `database`, which was opened with [`MIGRATIONS`].
    pub const fn new(database: Database) -> Self {
        Self { database }
    }

    async fn add_first_of_person(
        &self,
        tenant: &TenantId,
        query: &TailQuery,
        tails: &mut BTreeMap<SessionId, Tail>,
    ) -> Result<(), StoreError> {
        let mut statement = first_statement(tenant, query);
        for row in statement.build().fetch_all(self.database.reader()).await? {
            tails
                .entry(read_session_id(&row)?)
                .or_default()
                .first_of_person = Some(read_row(&row)?);
        }
        Ok(())
    }
}

impl TranscriptStore for SqliteStore {
    async fn append(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
        batch: Batch,
    ) -> Result<Appended, StoreError> {
        let (tenant, session_id) = (tenant.clone(), session_id.clone());
        self.database
            .write(move |connection| {
                Box::pin(
                    async move { append::append(connection, &tenant, &session_id, batch).await },
                )
            })
            .await
    }

    async fn end(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
        at: Option<u64>,
    ) -> Result<Mark, StoreError> {
        let place = (tenant, session_id);
        let live = read::live_end(self.database.reader(), place).await?;
        match at {
            Some(0) => Ok(Mark::default()),
            Some(seq) if seq < live.seq => read::end_at(self.database.reader(), place, seq).await,
            Some(_) | None => Ok(live),
        }
    }

    async fn rows(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
        stretch: Stretch,
    ) -> Result<Vec<Row>, StoreError> {
        read::rows(self.database.reader(), (tenant, session_id), stretch).await
    }

    async fn seq_of(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
        view: View,
        ordinal: u64,
    ) -> Result<Option<u64>, StoreError> {
        let place = (tenant, session_id);
        read::seq_of(self.database.reader(), place, view, ordinal).await
    }

    async fn row(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
        seq: u64,
    ) -> Result<Option<Row>, StoreError> {
        read::row(self.database.reader(), (tenant, session_id), seq).await
    }

    async fn blob(
        &self,
        tenant: &TenantId,
        reference: &str,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        read::blob(self.database.reader(), tenant, reference).await
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
                .push(read_row(&row)?);
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

fn read_session_id(row: &SqliteRow) -> Result<SessionId, StoreError> {
    let text: String = row.try_get("session_id")?;
    SessionId::parse(text).map_err(StoreError::corrupt)
}
