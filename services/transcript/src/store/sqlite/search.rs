//! Finding words, with the full-text index of the engine.

use confab_model::id::{AgentId, SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_rpc::gate::Reach;
use confab_store::StoreError;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{QueryBuilder, Row as _, Sqlite};

use super::SqliteStore;
use super::rows::{integer, natural, read_body, read_row};
use crate::store::Row;
use crate::store::search::{
    Backlog, Found, Ground, Hit, IndexPiece, IndexState, SearchStore, Sought, Term, Unindexed,
};

const STATE: &str = "SELECT rules, indexed, \
     (SELECT COALESCE(MAX(rowid), 0) FROM messages) AS head FROM search_state";

/// The engine tells how long a value is without reading it.
pub(super) const SIZES: &str = "SELECT rowid AS place, length(packed) AS size FROM messages \
     WHERE rowid > $1 ORDER BY rowid LIMIT $2";

pub(super) const BACKLOG: &str = "SELECT rowid AS place, tenant, message_id, seq, said_at, packed \
     FROM messages WHERE rowid > $1 AND rowid <= $2 AND in_plain = 1 ORDER BY rowid";

const RESTART: &str = "UPDATE search_state SET rules = $2, indexed = 0 WHERE rules = $1";

const EMPTY: &str = "INSERT INTO search_index (search_index) VALUES ('delete-all')";

const ADVANCE: &str = "UPDATE search_state SET indexed = $3 WHERE rules = $1 AND indexed = $2";

const ADD: &str = "INSERT INTO search_index (rowid, tenant, body) VALUES ($1, $2, $3)";

pub(super) const MESSAGE: &str = "SELECT message_id, seq, said_at, packed FROM messages \
     WHERE rowid = $1 AND tenant = $2 AND session_id = $3 AND seq = $4";

impl SearchStore for SqliteStore {
    async fn index_state(&self) -> Result<IndexState, StoreError> {
        let row = sqlx::query(STATE).fetch_one(self.database.reader()).await?;
        read_state(&row)
    }

    async fn backlog(&self, after: u64, count: u32, bytes: u64) -> Result<Backlog, StoreError> {
        let sizes = sqlx::query(SIZES)
            .bind(integer(after))
            .bind(i64::from(count))
            .fetch_all(self.database.reader())
            .await?;
        let through = within(&sizes, bytes)?.unwrap_or(after);
        let rows = sqlx::query(BACKLOG)
            .bind(integer(after))
            .bind(integer(through))
            .fetch_all(self.database.reader())
            .await?;
        let messages = rows.iter().map(read_unindexed).collect::<Result<_, _>>()?;
        Ok(Backlog { messages, through })
    }

    async fn restart_index(&self, from: &str, to: &str) -> Result<(), StoreError> {
        let (from, to) = (from.to_owned(), to.to_owned());
        self.database
            .write(move |connection| {
                Box::pin(async move {
                    let restarted = sqlx::query(RESTART)
                        .bind(from)
                        .bind(to)
                        .execute(&mut *connection)
                        .await?;
                    if restarted.rows_affected() > 0 {
                        sqlx::query(EMPTY).execute(connection).await?;
                    }
                    Ok(())
                })
            })
            .await
    }

    async fn extend_index(&self, piece: IndexPiece) -> Result<(), StoreError> {
        self.database
            .write(move |connection| Box::pin(async move { extend(connection, piece).await }))
            .await
    }

    async fn find(&self, tenant: &TenantId, sought: &Sought) -> Result<Found, StoreError> {
        // One state of the database for the question how far the index goes and for the answer.
        let mut reading = self.database.reader().begin().await?;
        let state = read_state(&sqlx::query(STATE).fetch_one(&mut *reading).await?)?;
        if state.rules != sought.rules || state.indexed < sought.through {
            return Ok(Found::Behind);
        }
        let rows = find_statement(tenant, sought)
            .build()
            .fetch_all(&mut *reading)
            .await?;
        Ok(Found::Hits(
            rows.iter().map(read_hit).collect::<Result<_, _>>()?,
        ))
    }

    async fn message_of(&self, tenant: &TenantId, hit: &Hit) -> Result<Option<Row>, StoreError> {
        let row = sqlx::query(MESSAGE)
            .bind(integer(hit.place))
            .bind(tenant.as_str())
            .bind(hit.session_id.as_str())
            .bind(integer(hit.seq))
            .fetch_optional(self.database.reader())
            .await?;
        row.as_ref().map(read_row).transpose()
    }
}

/// The place of the last row that still fits, counting the first one in any case.
fn within(sizes: &[SqliteRow], bytes: u64) -> Result<Option<u64>, StoreError> {
    let mut total: u64 = 0;
    let mut through = None;
    for row in sizes {
        total = total.saturating_add(natural(row.try_get("size")?)?);
        if through.is_some() && total > bytes {
            break;
        }
        through = Some(natural(row.try_get("place")?)?);
    }
    Ok(through)
}

/// Moves the end first: whoever finds it elsewhere leaves the index alone.
async fn extend(connection: &mut SqliteConnection, piece: IndexPiece) -> Result<(), StoreError> {
    let advanced = sqlx::query(ADVANCE)
        .bind(piece.rules)
        .bind(integer(piece.after))
        .bind(integer(piece.through))
        .execute(&mut *connection)
        .await?;
    if advanced.rows_affected() == 0 {
        return Ok(());
    }
    for entry in piece.entries {
        sqlx::query(ADD)
            .bind(integer(entry.place))
            .bind(tenant_word(&entry.tenant))
            .bind(entry.words)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// The index is walked from its end, and only as far as hits are wanted: a word of a million messages
/// costs no more than one of a thousand. An order by relevance would count every hit first.
pub(super) fn find_statement(tenant: &TenantId, sought: &Sought) -> QueryBuilder<Sqlite> {
    let mut statement = QueryBuilder::new(
        "SELECT search_index.rowid AS place, m.session_id, m.seq FROM search_index \
         CROSS JOIN messages m ON m.rowid = search_index.rowid \
         CROSS JOIN heads h ON h.tenant = m.tenant AND h.session_id = m.session_id \
         WHERE search_index MATCH ",
    );
    statement.push_bind(expression(tenant, &sought.terms));
    statement.push(" AND m.tenant = ");
    statement.push_bind(tenant.to_string());
    narrow(&mut statement, &sought.ground);
    statement.push(" ORDER BY search_index.rowid DESC LIMIT ");
    statement.push_bind(i64::from(sought.limit));
    statement
}

/// A session whose key is not known stays in: the gate is asked about it by its sessionId.
fn narrow(statement: &mut QueryBuilder<Sqlite>, ground: &Ground) {
    if let Some(session_id) = &ground.session_id {
        statement.push(" AND m.session_id = ");
        statement.push_bind(session_id.to_string());
    }
    if let Some(key) = &ground.session_key {
        statement.push(" AND (h.session_key IS NULL OR h.session_key = ");
        statement.push_bind(key.to_string()).push(")");
    }
    if let Some(agent) = &ground.agent_id {
        push_reach(statement, std::slice::from_ref(agent), &[]);
    }
    match &ground.reach {
        Reach::All => {},
        Reach::Among(among) => push_reach(statement, &among.agents, &among.keys),
    }
}

/// The agent of a key is its second part; a key that names none is decided by the gate.
fn push_reach(statement: &mut QueryBuilder<Sqlite>, agents: &[AgentId], keys: &[SessionKey]) {
    let agents: Vec<&str> = agents.iter().map(AgentId::as_str).collect();
    let keys: Vec<&str> = keys.iter().map(SessionKey::as_str).collect();
    statement.push(
        " AND (h.session_key IS NULL OR h.session_key NOT LIKE 'agent:%' \
         OR substr(h.session_key, 7, instr(substr(h.session_key, 7), ':') - 1) \
         IN (SELECT value FROM json_each(",
    );
    statement.push_bind(json(&agents));
    statement.push(")) OR h.session_key IN (SELECT value FROM json_each(");
    statement.push_bind(json(&keys)).push(")))");
}

/// One bound value for a list of any length.
fn json(texts: &[&str]) -> String {
    serde_json::Value::from(texts.to_vec()).to_string()
}

/// What the engine is asked for: the tenant and every term. Words hold letters and digits alone, and
/// stand in quotes, so nothing in them is read as an operator.
pub(super) fn expression(tenant: &TenantId, terms: &[Term]) -> String {
    let terms: Vec<String> = terms.iter().map(phrase).collect();
    format!(
        "tenant : \"{}\" AND body : ({})",
        tenant_word(tenant),
        terms.join(" AND ")
    )
}

fn phrase(term: &Term) -> String {
    let star = if term.prefix { " *" } else { "" };
    format!("\"{}\"{star}", term.words.join(" "))
}

/// A tenant as one word, whatever characters it is made of.
fn tenant_word(tenant: &TenantId) -> String {
    let bytes = tenant.as_str().bytes();
    let halves = bytes.flat_map(|byte| [byte >> 4, byte & 0xf]);
    halves
        .filter_map(|half| char::from_digit(u32::from(half), 16))
        .collect()
}

fn read_state(row: &SqliteRow) -> Result<IndexState, StoreError> {
    Ok(IndexState {
        rules: row.try_get("rules")?,
        indexed: natural(row.try_get("indexed")?)?,
        head: natural(row.try_get("head")?)?,
    })
}

fn read_unindexed(row: &SqliteRow) -> Result<Unindexed, StoreError> {
    let tenant: String = row.try_get("tenant")?;
    Ok(Unindexed {
        place: natural(row.try_get("place")?)?,
        tenant: TenantId::parse(tenant).map_err(StoreError::corrupt)?,
        // One damaged message must not end the search in all others.
        body: read_body(row).ok(),
    })
}

fn read_hit(row: &SqliteRow) -> Result<Hit, StoreError> {
    let session_id: String = row.try_get("session_id")?;
    Ok(Hit {
        place: natural(row.try_get("place")?)?,
        session_id: SessionId::parse(session_id).map_err(StoreError::corrupt)?,
        seq: natural(row.try_get("seq")?)?,
    })
}

#[cfg(test)]
mod tests;
