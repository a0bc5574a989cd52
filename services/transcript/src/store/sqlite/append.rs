//! Appending: one read, one insert of all new messages, one write of the head.

use std::collections::BTreeMap;

use confab_model::id::{SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::message::{Blob, Message, NewMessage};
use confab_rpc::wire;
use confab_store::StoreError;
use sqlx::sqlite::SqliteConnection;
use sqlx::{QueryBuilder, Row as _, Sqlite};

use super::rows::{integer, natural, optional_natural, push_list, read_message};
use crate::store::{Appended, Batch, Draft, KeptAhead};

pub(super) const INSERT: &str = "INSERT INTO messages (tenant, session_id, seq, message_id, key, said_at, \
     in_all, count_all, in_plain, count_plain, compaction_seq, packed) ";

const WRITE_HEAD: &str = "INSERT INTO heads (tenant, session_id, last_seq, count_all, count_plain, \
     first_user_seq, compaction_seq, session_key) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (tenant, session_id) DO UPDATE SET \
     last_seq = excluded.last_seq, count_all = excluded.count_all, \
     count_plain = excluded.count_plain, first_user_seq = excluded.first_user_seq, \
     compaction_seq = excluded.compaction_seq, \
     session_key = COALESCE(excluded.session_key, heads.session_key)";

/// The same bytes have the same name.
const KEEP_BLOB: &str = "INSERT INTO blobs (tenant, reference, bytes) VALUES ($1, $2, $3) \
     ON CONFLICT (tenant, reference) DO NOTHING";

/// Where a transcript ends, and what it shows so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Head {
    pub(super) last_seq: u64,
    pub(super) all: u64,
    pub(super) plain: u64,
    pub(super) first_user_seq: Option<u64>,
    pub(super) compaction_seq: Option<u64>,
}

/// A draft with its place.
struct Placed {
    draft: Draft,
    head: Head,
}

/// Appends what is new of `drafts`.
pub(super) async fn append(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    session_id: &SessionId,
    batch: Batch,
) -> Result<Appended, StoreError> {
    let Batch {
        session_key,
        drafts,
        blobs,
    } = batch;
    let (mut head, mut known) = load(connection, tenant, session_id, &drafts).await?;
    let mut answers = Vec::with_capacity(drafts.len());
    let mut placed = Vec::with_capacity(drafts.len());
    for draft in drafts {
        if let Some(stored) = known.get(&draft.body.key) {
            if !says_the_same(&stored.body, &draft.body) {
                return Ok(Appended::KeyReused(draft.body.key));
            }
            answers.push(stored.clone());
            continue;
        }
        head.advance(draft.in_all, draft.in_plain, draft.from_person);
        if draft.body.compaction.is_some() {
            head.mark_compaction();
        }
        if let Some(ahead) = head.kept_ahead(&draft.body) {
            return Ok(Appended::KeptAhead(ahead));
        }
        let message = head.place(&draft);
        known.insert(draft.body.key.clone(), message.clone());
        answers.push(message);
        placed.push(Placed { draft, head });
    }
    if !placed.is_empty() {
        insert(connection, tenant, session_id, &placed).await?;
        write_head(connection, tenant, session_id, session_key.as_ref(), head).await?;
    }
    keep_blobs(connection, tenant, &blobs).await?;
    Ok(Appended::Stored(answers))
}

impl Head {
    /// Counts one more message.
    pub(super) fn advance(&mut self, in_all: bool, in_plain: bool, from_person: bool) {
        self.last_seq = self.last_seq.saturating_add(1);
        self.all = self.all.saturating_add(u64::from(in_all));
        self.plain = self.plain.saturating_add(u64::from(in_plain));
        if from_person && self.first_user_seq.is_none() {
            self.first_user_seq = Some(self.last_seq);
        }
    }

    /// The last message that was counted is the marker of a compaction.
    pub(super) const fn mark_compaction(&mut self) {
        self.compaction_seq = Some(self.last_seq);
    }

    /// A compaction can only keep what came before it, or begin anew behind its own marker.
    fn kept_ahead(&self, body: &NewMessage) -> Option<KeptAhead> {
        let first_kept_seq = body.compaction.as_ref()?.first_kept_seq?;
        (first_kept_seq > self.last_seq).then(|| KeptAhead {
            key: body.key.clone(),
            seq: self.last_seq,
            first_kept_seq,
        })
    }

    fn place(&self, draft: &Draft) -> Message {
        let Draft { id, at, body, .. } = draft.clone();
        Message {
            id,
            seq: self.last_seq,
            at,
            body,
        }
    }
}

/// A repetition may be said at another moment: what counts is what is said.
pub(super) fn says_the_same(stored: &NewMessage, given: &NewMessage) -> bool {
    NewMessage {
        at: None,
        ..stored.clone()
    } == NewMessage {
        at: None,
        ..given.clone()
    }
}

/// The head, and the stored messages that have one of the drafts' keys.
async fn load(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    session_id: &SessionId,
    drafts: &[Draft],
) -> Result<(Head, BTreeMap<String, Message>), StoreError> {
    let keys = drafts.iter().map(|draft| draft.body.key.as_str());
    let mut query = load_statement(tenant, session_id, keys);
    let mut head = Head::default();
    let mut known = BTreeMap::new();
    for row in query.build().fetch_all(connection).await? {
        head = Head {
            last_seq: natural(row.try_get("last_seq")?)?,
            all: natural(row.try_get("count_all")?)?,
            plain: natural(row.try_get("count_plain")?)?,
            first_user_seq: optional_natural(row.try_get("first_user_seq")?)?,
            compaction_seq: optional_natural(row.try_get("compaction_seq")?)?,
        };
        let stored: Option<i64> = row.try_get("seq")?;
        if stored.is_some() {
            let message = read_message(&row)?;
            known.insert(message.body.key.clone(), message);
        }
    }
    Ok((head, known))
}

pub(super) fn load_statement<'a>(
    tenant: &TenantId,
    session_id: &SessionId,
    keys: impl Iterator<Item = &'a str>,
) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new(
        "SELECT h.last_seq, h.count_all, h.count_plain, h.first_user_seq, h.compaction_seq, \
         m.message_id, m.seq, m.said_at, m.packed FROM heads h \
         LEFT JOIN messages m ON m.tenant = h.tenant AND m.session_id = h.session_id \
         AND m.key IN ",
    );
    push_list(&mut query, keys);
    query
        .push(" WHERE h.tenant = ")
        .push_bind(tenant.to_string());
    query
        .push(" AND h.session_id = ")
        .push_bind(session_id.to_string());
    query
}

/// One statement: 1,000 messages of 12 columns stay below SQLite's 32,766 values.
async fn insert(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    session_id: &SessionId,
    placed: &[Placed],
) -> Result<(), StoreError> {
    let mut query: QueryBuilder<Sqlite> = QueryBuilder::new(INSERT);
    query.push_values(placed, |mut values, Placed { draft, head }| {
        values
            .push_bind(tenant.to_string())
            .push_bind(session_id.to_string())
            .push_bind(integer(head.last_seq))
            .push_bind(draft.id.to_string())
            .push_bind(draft.body.key.clone())
            .push_bind(draft.at.millis())
            .push_bind(draft.in_all)
            .push_bind(integer(head.all))
            .push_bind(draft.in_plain)
            .push_bind(integer(head.plain))
            .push_bind(head.compaction_seq.map(integer))
            .push_bind(wire::message::pack(&draft.body));
    });
    query.build().execute(connection).await?;
    Ok(())
}

pub(super) async fn write_head(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    session_id: &SessionId,
    session_key: Option<&SessionKey>,
    head: Head,
) -> Result<(), StoreError> {
    sqlx::query(WRITE_HEAD)
        .bind(tenant.as_str())
        .bind(session_id.as_str())
        .bind(integer(head.last_seq))
        .bind(integer(head.all))
        .bind(integer(head.plain))
        .bind(head.first_user_seq.map(integer))
        .bind(head.compaction_seq.map(integer))
        .bind(session_key.map(SessionKey::as_str))
        .execute(connection)
        .await?;
    Ok(())
}

async fn keep_blobs(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    blobs: &[Blob],
) -> Result<(), StoreError> {
    for blob in blobs {
        sqlx::query(KEEP_BLOB)
            .bind(tenant.as_str())
            .bind(blob.reference.as_str())
            .bind(blob.bytes.as_slice())
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
