//! Copying a transcript, in one transaction.

use std::sync::Arc;

use confab_model::clock::Timestamp;
use confab_model::id::{Ids, MessageId, SessionId, TenantId};
use confab_model::message::{Compaction, NewMessage};
use confab_rpc::wire;
use confab_store::{StoreError, crash_point};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{QueryBuilder, Row as _, Sqlite};

use super::SqliteStore;
use super::append::{Head, INSERT, write_head};
use super::rows::{integer, natural, optional_natural, read_body};
use crate::limits::{FORK_BYTES_MAX, FORK_MESSAGES_MAX, FORK_PIECE_MESSAGES};
use crate::shown::is_from_person;
use crate::store::fork::{Fork, ForkKey, ForkStore, Forked};

const FIRST_ANSWER: &str = "SELECT fingerprint, messages FROM forks WHERE tenant = $1 \
     AND owner = $2 AND idempotency_key = $3 AND forked_at >= $4";

const FORGET: &str = "DELETE FROM forks WHERE tenant = $1 AND forked_at < $2";

const REMEMBER: &str = "INSERT INTO forks (tenant, owner, idempotency_key, fingerprint, messages, \
     forked_at) VALUES ($1, $2, $3, $4, $5, $6)";

const END: &str =
    "SELECT last_seq, compaction_seq FROM heads WHERE tenant = $1 AND session_id = $2";

const MARKER: &str =
    "SELECT packed FROM messages WHERE tenant = $1 AND session_id = $2 AND seq = $3";

/// The engine tells how long a value is without reading it.
const SIZE: &str = "SELECT COALESCE(SUM(length(packed)), 0) AS bytes FROM messages \
     WHERE tenant = $1 AND session_id = $2 AND seq >= $3";

const PIECE: &str = "SELECT seq, key, said_at, in_all, in_plain, packed FROM messages \
     WHERE tenant = $1 AND session_id = $2 AND seq >= $3 ORDER BY seq LIMIT $4";

impl ForkStore for SqliteStore {
    async fn forked(
        &self,
        tenant: &TenantId,
        key: &ForkKey,
        since: Timestamp,
    ) -> Result<Option<Forked>, StoreError> {
        let mut reading = self.database.reader().acquire().await?;
        first_answer(&mut reading, tenant, key, since).await
    }

    async fn fork(
        &self,
        tenant: &TenantId,
        fork: Fork,
        ids: Arc<dyn Ids>,
    ) -> Result<Forked, StoreError> {
        let tenant = tenant.clone();
        self.database
            .write(move |connection| {
                Box::pin(async move { answer(connection, &tenant, &fork, ids.as_ref()).await })
            })
            .await
    }
}

async fn first_answer(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    key: &ForkKey,
    since: Timestamp,
) -> Result<Option<Forked>, StoreError> {
    let row = sqlx::query(FIRST_ANSWER)
        .bind(tenant.as_str())
        .bind(key.owner.as_str())
        .bind(key.key.as_str())
        .bind(since.millis())
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let fingerprint: String = row.try_get("fingerprint")?;
    Ok(Some(if fingerprint == key.fingerprint {
        Forked::Copied(natural(row.try_get("messages")?)?)
    } else {
        Forked::KeyReused
    }))
}

/// Answers as the first call of the key did, or copies.
async fn answer(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    fork: &Fork,
    ids: &dyn Ids,
) -> Result<Forked, StoreError> {
    if let Some(key) = &fork.key
        && let Some(first) = first_answer(connection, tenant, key, fork.kept_since).await?
    {
        return Ok(first);
    }
    if end(connection, tenant, &fork.into).await?.seq > 0 {
        return Ok(Forked::NotEmpty);
    }
    let view = active_view(connection, tenant, &fork.source).await?;
    if let Some(refusal) = refuse(connection, tenant, fork, &view).await? {
        return Ok(refusal);
    }
    let mut copying = Copying {
        tenant,
        fork,
        ids,
        view,
        head: Head::default(),
    };
    copying.run(connection).await?;
    let messages = copying.head.last_seq;
    remember(connection, tenant, fork, messages).await?;
    Ok(Forked::Copied(messages))
}

async fn remember(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    fork: &Fork,
    messages: u64,
) -> Result<(), StoreError> {
    let Some(key) = &fork.key else { return Ok(()) };
    sqlx::query(FORGET)
        .bind(tenant.as_str())
        .bind(fork.kept_since.millis())
        .execute(&mut *connection)
        .await?;
    sqlx::query(REMEMBER)
        .bind(tenant.as_str())
        .bind(key.owner.as_str())
        .bind(key.key.as_str())
        .bind(key.fingerprint.as_str())
        .bind(integer(messages))
        .bind(fork.at.millis())
        .execute(connection)
        .await?;
    Ok(())
}

/// Where a transcript ends, and where its last compaction stands.
#[derive(Default)]
struct End {
    seq: u64,
    marker: Option<u64>,
}

async fn end(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    session_id: &SessionId,
) -> Result<End, StoreError> {
    let row = sqlx::query(END)
        .bind(tenant.as_str())
        .bind(session_id.as_str())
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else {
        return Ok(End::default());
    };
    Ok(End {
        seq: natural(row.try_get("last_seq")?)?,
        marker: optional_natural(row.try_get("compaction_seq")?)?,
    })
}

/// What the agent itself still reads of a transcript.
struct ActiveView {
    /// The first message.
    first: u64,
    /// The last message.
    last: u64,
    /// The marker of the last compaction.
    marker: Option<u64>,
}

/// From the first message that the last compaction kept, or from its marker where it kept none.
///
/// Source: run:T15.
async fn active_view(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    source: &SessionId,
) -> Result<ActiveView, StoreError> {
    let End { seq: last, marker } = end(connection, tenant, source).await?;
    let first = match marker {
        None => 1,
        Some(marker) => {
            let row = sqlx::query(MARKER)
                .bind(tenant.as_str())
                .bind(source.as_str())
                .bind(integer(marker))
                .fetch_one(connection)
                .await?;
            let compaction = read_body(&row)?.compaction;
            let kept = compaction.and_then(|compaction| compaction.first_kept_seq);
            kept.unwrap_or(marker).min(marker)
        },
    };
    Ok(ActiveView {
        first,
        last,
        marker,
    })
}

/// Counted from the places first: a view of a million messages must not be walked through to be
/// refused.
async fn refuse(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    fork: &Fork,
    view: &ActiveView,
) -> Result<Option<Forked>, StoreError> {
    let messages = view.last.saturating_add(1).saturating_sub(view.first);
    if messages > FORK_MESSAGES_MAX {
        return Ok(Some(Forked::TooMany { messages }));
    }
    let row = sqlx::query(SIZE)
        .bind(tenant.as_str())
        .bind(fork.source.as_str())
        .bind(integer(view.first))
        .fetch_one(connection)
        .await?;
    let bytes = natural(row.try_get("bytes")?)?;
    Ok((bytes > FORK_BYTES_MAX).then_some(Forked::TooLarge { bytes }))
}

/// A fork under way.
struct Copying<'f> {
    tenant: &'f TenantId,
    fork: &'f Fork,
    ids: &'f dyn Ids,
    view: ActiveView,
    /// Where the copy ends so far.
    head: Head,
}

/// A message of the copy, with its place.
struct Copy {
    id: MessageId,
    key: String,
    said_at: i64,
    in_all: bool,
    in_plain: bool,
    packed: Vec<u8>,
    head: Head,
}

impl Copying<'_> {
    async fn run(&mut self, connection: &mut SqliteConnection) -> Result<(), StoreError> {
        let mut from = self.view.first;
        loop {
            let rows = sqlx::query(PIECE)
                .bind(self.tenant.as_str())
                .bind(self.fork.source.as_str())
                .bind(integer(from))
                .bind(i64::from(FORK_PIECE_MESSAGES))
                .fetch_all(&mut *connection)
                .await?;
            let Some(last) = rows.last() else { break };
            from = natural(last.try_get("seq")?)?.saturating_add(1);
            let mut copies = Vec::with_capacity(rows.len());
            for row in &rows {
                copies.extend(self.copy(row)?);
            }
            self.insert(connection, &copies).await?;
            crash_point("transcript.fork.piece");
        }
        if self.head.last_seq == 0 {
            return Ok(());
        }
        let Fork { into, into_key, .. } = self.fork;
        write_head(connection, self.tenant, into, Some(into_key), self.head).await
    }

    /// The copy of a message; `None` for the marker of a compaction that is not the last one, which
    /// stands for messages that the copy does not have.
    fn copy(&mut self, row: &SqliteRow) -> Result<Option<Copy>, StoreError> {
        let seq = natural(row.try_get("seq")?)?;
        // What cannot be read is copied as it is.
        let body = read_body(row).ok();
        let is_marker = body.as_ref().is_some_and(|body| body.compaction.is_some());
        if is_marker && self.view.marker != Some(seq) {
            return Ok(None);
        }
        let (in_all, in_plain) = (row.try_get("in_all")?, row.try_get("in_plain")?);
        let from_person = body.as_ref().is_some_and(is_from_person);
        self.head.advance(in_all, in_plain, from_person);
        if is_marker {
            self.head.mark_compaction();
        }
        let packed = match body.filter(|_| is_marker) {
            Some(marker) => wire::message::pack(&renumbered(marker, self.view.first)),
            None => row.try_get("packed")?,
        };
        Ok(Some(Copy {
            id: MessageId::from_uuid(self.ids.next()),
            key: row.try_get("key")?,
            said_at: row.try_get("said_at")?,
            in_all,
            in_plain,
            packed,
            head: self.head,
        }))
    }

    async fn insert(
        &self,
        connection: &mut SqliteConnection,
        copies: &[Copy],
    ) -> Result<(), StoreError> {
        if copies.is_empty() {
            return Ok(());
        }
        let mut query: QueryBuilder<Sqlite> = QueryBuilder::new(INSERT);
        query.push_values(copies, |mut values, copy| {
            values
                .push_bind(self.tenant.as_str())
                .push_bind(self.fork.into.as_str())
                .push_bind(integer(copy.head.last_seq))
                .push_bind(copy.id.to_string())
                .push_bind(copy.key.as_str())
                .push_bind(copy.said_at)
                .push_bind(copy.in_all)
                .push_bind(integer(copy.head.all))
                .push_bind(copy.in_plain)
                .push_bind(integer(copy.head.plain))
                .push_bind(copy.head.compaction_seq.map(integer))
                .push_bind(copy.packed.as_slice());
        });
        query.build().execute(connection).await?;
        Ok(())
    }
}

/// The marker in the copy, whose first message is the one at `first` here.
fn renumbered(marker: NewMessage, first: u64) -> NewMessage {
    let compaction = marker.compaction.map(|compaction| Compaction {
        first_kept_seq: compaction
            .first_kept_seq
            .map(|kept| kept.saturating_sub(first).saturating_add(1)),
        ..compaction
    });
    NewMessage {
        compaction,
        ..marker
    }
}

#[cfg(test)]
mod tests;
