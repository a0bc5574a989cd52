//! Importing and exporting: what is known is read, what is new is planned, and that alone is written.

use std::collections::{BTreeMap, BTreeSet};

use confab_model::id::{SessionId, TenantId};
use confab_model::message::{Blob, NewMessage};
use confab_store::StoreError;
use sqlx::sqlite::SqliteConnection;
use sqlx::{QueryBuilder, Row as _, Sqlite};

use super::SqliteStore;
use super::append::{self, says_the_same};
use super::rows::{integer, natural, push_list, read_row};
use crate::entry::key::{self, HEADER_PREFIX};
use crate::limits::{EXPORT_ROWS, EXPORT_ROWS_BYTES};
use crate::store::imports::{
    ExportEnd, ImportBatch, ImportContent, ImportEntry, ImportMessage, ImportOutcome, ImportStore,
    Imported, ImportedLines, Original, OriginalPlace,
};
use crate::store::{Appended, Batch, Draft, Row};

/// One statement, so that it is one moment.
pub(super) const END: &str = "SELECT \
     COALESCE((SELECT last_seq FROM heads WHERE tenant = $1 AND session_id = $2), 0) AS last_seq, \
     COALESCE((SELECT MAX(number) FROM originals), 0) AS last_original, \
     EXISTS (SELECT 1 FROM originals WHERE tenant = $1 AND session_id = $2 \
     AND name >= $3 AND name < $4 AND after_seq = 0) AS has_header";

/// Sizes are read before rows: a chunk is bound by its bytes too.
pub(super) const MESSAGE_SIZES: &str = "SELECT seq, octet_length(packed) AS bytes FROM messages \
     WHERE tenant = $1 AND session_id = $2 AND seq > $3 AND seq <= $4 ORDER BY seq LIMIT $5";

pub(super) const MESSAGES: &str = "SELECT message_id, seq, said_at, packed FROM messages \
     WHERE tenant = $1 AND session_id = $2 AND seq > $3 AND seq <= $4 ORDER BY seq";

pub(super) const ORIGINAL_SIZES: &str = "SELECT after_seq, place, octet_length(line) AS bytes \
     FROM originals WHERE tenant = $1 AND session_id = $2 AND (after_seq, place) > ($3, $4) \
     AND after_seq <= $5 AND number <= $6 ORDER BY after_seq, place LIMIT $7";

pub(super) const ORIGINALS: &str = "SELECT after_seq, place, on_branch, line FROM originals \
     WHERE tenant = $1 AND session_id = $2 AND (after_seq, place) > ($3, $4) \
     AND (after_seq, place) <= ($5, $6) AND number <= $7 ORDER BY after_seq, place";

/// A transcript's end, and the key of its first message.
pub(super) const HEAD: &str = "SELECT last_seq, \
     (SELECT key FROM messages WHERE tenant = $1 AND session_id = $2 AND seq = 1) AS first_key \
     FROM heads WHERE tenant = $1 AND session_id = $2";

const INSERT: &str = "INSERT INTO originals \
     (tenant, session_id, name, after_seq, place, on_branch, line) ";

/// What is stored of the entries of a batch.
#[derive(Debug, Default)]
struct Known {
    last_seq: u64,
    /// Whether its first message is no imported one.
    began_here: bool,
    messages: BTreeMap<String, (u64, Option<NewMessage>)>,
    originals: BTreeSet<String>,
    /// The last place behind each message.
    places: BTreeMap<u64, u64>,
}

/// What is to be written of a batch.
#[derive(Debug, Default)]
struct Plan {
    drafts: Vec<Draft>,
    blobs: Vec<Blob>,
    /// Lines that were kept aside and are messages here: they change their place.
    moved: Vec<String>,
    originals: Vec<(String, Original)>,
    outcomes: Vec<ImportOutcome>,
    after: u64,
}

impl Plan {
    fn of(batch: ImportBatch, known: &mut Known) -> Self {
        let mut plan = Self {
            after: batch.after,
            ..Self::default()
        };
        for entry in batch.entries {
            let ImportEntry {
                name,
                line,
                on_branch,
                blobs,
                content,
            } = entry;
            let kept = |at| Original {
                at,
                on_branch,
                line,
            };
            let (outcome, is_new) = match content {
                ImportContent::Message(message) => plan.message(&name, *message, kept, known),
                ImportContent::Aside => (ImportOutcome::Kept, plan.aside(name, kept, known)),
            };
            plan.outcomes.push(outcome);
            if is_new {
                plan.blobs.extend(blobs);
            }
        }
        plan
    }

    /// A message is stored once. Its line is kept beside it where an export would write another one.
    fn message(
        &mut self,
        name: &str,
        message: ImportMessage,
        kept: impl FnOnce(OriginalPlace) -> Original,
        known: &mut Known,
    ) -> (ImportOutcome, bool) {
        let stored = known.messages.get(name);
        let after_seq = stored.map_or_else(|| known.last_seq.saturating_add(1), |(seq, _)| *seq);
        let ImportMessage {
            mut draft,
            first_kept,
            reproducible,
        } = message;
        if let Some(compaction) = &mut draft.body.compaction {
            let first = first_kept.and_then(|key| known.messages.get(&key));
            compaction.first_kept_seq = first.map(|(seq, _)| *seq).filter(|seq| *seq < after_seq);
        }
        let follows = self.after.saturating_add(1) == after_seq;
        self.after = after_seq;
        if let Some((_, body)) = stored {
            let is_same = |body: &NewMessage| says_the_same(body, &draft.body);
            return if body.as_ref().is_none_or(is_same) {
                (ImportOutcome::Repeated, false)
            } else {
                (ImportOutcome::Differs, false)
            };
        }
        // The branch that was left when it was kept aside is the conversation in this file.
        let was_aside = known.originals.contains(name);
        if was_aside {
            self.moved.push(name.to_owned());
        }
        if was_aside || !(reproducible && follows) {
            let place = OriginalPlace {
                after_seq,
                place: 0,
            };
            self.originals.push((name.to_owned(), kept(place)));
        }
        known.last_seq = after_seq;
        let body = Some(draft.body.clone());
        known.messages.insert(name.to_owned(), (after_seq, body));
        self.drafts.push(draft);
        (ImportOutcome::Stored, true)
    }

    /// Whether it is kept by this, and not earlier or as a message.
    fn aside(
        &mut self,
        name: String,
        kept: impl FnOnce(OriginalPlace) -> Original,
        known: &mut Known,
    ) -> bool {
        if known.messages.contains_key(&name) || !known.originals.insert(name.clone()) {
            return false;
        }
        let place = known.places.entry(self.after).or_default();
        *place = place.saturating_add(1);
        let place = OriginalPlace {
            after_seq: self.after,
            place: *place,
        };
        self.originals.push((name, kept(place)));
        true
    }
}

impl ImportStore for SqliteStore {
    async fn import(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
        batch: ImportBatch,
    ) -> Result<Imported, StoreError> {
        let (tenant, session_id) = (tenant.clone(), session_id.clone());
        if batch.dry_run {
            let mut connection = self.database.reader().acquire().await?;
            let mut known = load(&mut connection, &tenant, &session_id, &batch).await?;
            if known.began_here {
                return Ok(Imported::NotEmpty);
            }
            let Plan {
                outcomes, after, ..
            } = Plan::of(batch, &mut known);
            return Ok(Imported::Stored(ImportedLines { outcomes, after }));
        }
        self.database
            .write(move |connection| {
                Box::pin(async move { import(connection, &tenant, &session_id, batch).await })
            })
            .await
    }

    async fn export_end(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
    ) -> Result<ExportEnd, StoreError> {
        // The character after the colon ends what begins with the prefix.
        let behind = HEADER_PREFIX.replace(':', ";");
        let row = sqlx::query(END)
            .bind(tenant.as_str())
            .bind(session_id.as_str())
            .bind(HEADER_PREFIX)
            .bind(behind)
            .fetch_one(self.database.reader())
            .await?;
        Ok(ExportEnd {
            last_seq: natural(row.try_get("last_seq")?)?,
            last_original: natural(row.try_get("last_original")?)?,
            has_header: row.try_get("has_header")?,
        })
    }

    async fn export_messages(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
        after: u64,
        end: ExportEnd,
    ) -> Result<Vec<Row>, StoreError> {
        let sizes = sqlx::query(MESSAGE_SIZES)
            .bind(tenant.as_str())
            .bind(session_id.as_str())
            .bind(integer(after))
            .bind(integer(end.last_seq))
            .bind(rows_max())
            .fetch_all(self.database.reader())
            .await?;
        let mut room = EXPORT_ROWS_BYTES;
        let mut last = integer(after);
        for row in sizes {
            last = row.try_get("seq")?;
            if !takes(&mut room, row.try_get("bytes")?) {
                break;
            }
        }
        let rows = sqlx::query(MESSAGES)
            .bind(tenant.as_str())
            .bind(session_id.as_str())
            .bind(integer(after))
            .bind(last)
            .fetch_all(self.database.reader())
            .await?;
        rows.iter().map(read_row).collect()
    }

    async fn export_originals(
        &self,
        tenant: &TenantId,
        session_id: &SessionId,
        after: OriginalPlace,
        end: ExportEnd,
    ) -> Result<Vec<Original>, StoreError> {
        let sizes = sqlx::query(ORIGINAL_SIZES)
            .bind(tenant.as_str())
            .bind(session_id.as_str())
            .bind(integer(after.after_seq))
            .bind(integer(after.place))
            .bind(integer(end.last_seq))
            .bind(integer(end.last_original))
            .bind(rows_max())
            .fetch_all(self.database.reader())
            .await?;
        let mut room = EXPORT_ROWS_BYTES;
        let mut last = (integer(after.after_seq), integer(after.place));
        for row in sizes {
            last = (row.try_get("after_seq")?, row.try_get("place")?);
            if !takes(&mut room, row.try_get("bytes")?) {
                break;
            }
        }
        let rows = sqlx::query(ORIGINALS)
            .bind(tenant.as_str())
            .bind(session_id.as_str())
            .bind(integer(after.after_seq))
            .bind(integer(after.place))
            .bind(last.0)
            .bind(last.1)
            .bind(integer(end.last_original))
            .fetch_all(self.database.reader())
            .await?;
        let mut originals = Vec::with_capacity(rows.len());
        for row in rows {
            let at = OriginalPlace {
                after_seq: natural(row.try_get("after_seq")?)?,
                place: natural(row.try_get("place")?)?,
            };
            originals.push(Original {
                at,
                on_branch: row.try_get("on_branch")?,
                line: row.try_get("line")?,
            });
        }
        Ok(originals)
    }
}

fn rows_max() -> i64 {
    i64::try_from(EXPORT_ROWS).unwrap_or(i64::MAX)
}

/// Takes a row's bytes from the room, and tells whether there is room for another row.
fn takes(room: &mut usize, bytes: i64) -> bool {
    *room = room.saturating_sub(usize::try_from(bytes).unwrap_or_default());
    *room > 0
}

async fn import(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    session_id: &SessionId,
    batch: ImportBatch,
) -> Result<Imported, StoreError> {
    let session_key = batch.session_key.clone();
    let mut known = load(connection, tenant, session_id, &batch).await?;
    if known.began_here {
        return Ok(Imported::NotEmpty);
    }
    let plan = Plan::of(batch, &mut known);
    let new = Batch {
        session_key,
        drafts: plan.drafts,
        blobs: plan.blobs,
    };
    match append::append(connection, tenant, session_id, new).await? {
        Appended::Stored(_) => {},
        // Only new keys were planned, and only compactions that keep what lies before them.
        other @ (Appended::KeyReused(_) | Appended::KeptAhead(_)) => {
            let text = format!("an import planned what an append refuses: {other:?}");
            return Err(StoreError::corrupt(std::io::Error::other(text)));
        },
    }
    remove(connection, tenant, session_id, &plan.moved).await?;
    insert(connection, tenant, session_id, &plan.originals).await?;
    Ok(Imported::Stored(ImportedLines {
        outcomes: plan.outcomes,
        after: plan.after,
    }))
}

async fn load(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    session_id: &SessionId,
    batch: &ImportBatch,
) -> Result<Known, StoreError> {
    let names: BTreeSet<&str> = batch.entries.iter().flat_map(names_of).collect();
    let mut known = Known::default();
    let head = sqlx::query(HEAD)
        .bind(tenant.as_str())
        .bind(session_id.as_str())
        .fetch_optional(&mut *connection)
        .await?;
    if let Some(row) = head {
        known.last_seq = natural(row.try_get("last_seq")?)?;
        let first: Option<String> = row.try_get("first_key")?;
        known.began_here = first.is_some_and(|first| !key::is_of_entry(&first));
    }
    let statement = "SELECT key, message_id, seq, said_at, packed FROM messages";
    let mut query = of_names(statement, "key", tenant, session_id, &names);
    for row in query.build().fetch_all(&mut *connection).await? {
        let Row { seq, body, .. } = read_row(&row)?;
        known.messages.insert(row.try_get("key")?, (seq, body));
    }
    let statement = "SELECT name FROM originals";
    let mut query = of_names(statement, "name", tenant, session_id, &names);
    for row in query.build().fetch_all(&mut *connection).await? {
        known.originals.insert(row.try_get("name")?);
    }
    let seqs = known.messages.values().map(|(seq, _)| *seq);
    let afters: BTreeSet<u64> = seqs.chain([batch.after]).collect();
    let mut query = places_statement(tenant, session_id, &afters);
    for row in query.build().fetch_all(connection).await? {
        let place = natural(row.try_get("place")?)?;
        let after = natural(row.try_get("after_seq")?)?;
        known.places.insert(after, place);
    }
    Ok(known)
}

/// The names that an entry's fate depends on.
fn names_of(entry: &ImportEntry) -> impl Iterator<Item = &str> {
    let first_kept = match &entry.content {
        ImportContent::Message(message) => message.first_kept.as_deref(),
        ImportContent::Aside => None,
    };
    [entry.name.as_str()].into_iter().chain(first_kept)
}

/// Ends a statement: of a session, with one of the names.
pub(super) fn of_names(
    statement: &str,
    column: &str,
    tenant: &TenantId,
    session_id: &SessionId,
    names: &BTreeSet<&str>,
) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new(statement);
    query.push(" WHERE tenant = ").push_bind(tenant.to_string());
    query
        .push(" AND session_id = ")
        .push_bind(session_id.to_string());
    query.push(format_args!(" AND {column} IN "));
    push_list(&mut query, names.iter().copied());
    query
}

fn places_statement(
    tenant: &TenantId,
    session_id: &SessionId,
    afters: &BTreeSet<u64>,
) -> QueryBuilder<Sqlite> {
    let mut query =
        QueryBuilder::new("SELECT after_seq, MAX(place) AS place FROM originals WHERE tenant = ");
    query.push_bind(tenant.to_string());
    query
        .push(" AND session_id = ")
        .push_bind(session_id.to_string());
    query.push(" AND after_seq IN (");
    let mut list = query.separated(", ");
    for after in afters {
        list.push_bind(integer(*after));
    }
    query.push(") GROUP BY after_seq");
    query
}

async fn remove(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    session_id: &SessionId,
    names: &[String],
) -> Result<(), StoreError> {
    if names.is_empty() {
        return Ok(());
    }
    let names = names.iter().map(String::as_str).collect();
    let mut query = of_names("DELETE FROM originals", "name", tenant, session_id, &names);
    query.build().execute(connection).await?;
    Ok(())
}

/// One statement: 2,000 lines of 7 columns stay below SQLite's 32,766 values.
async fn insert(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    session_id: &SessionId,
    originals: &[(String, Original)],
) -> Result<(), StoreError> {
    if originals.is_empty() {
        return Ok(());
    }
    let mut query: QueryBuilder<Sqlite> = QueryBuilder::new(INSERT);
    query.push_values(originals, |mut values, (name, original)| {
        values
            .push_bind(tenant.to_string())
            .push_bind(session_id.to_string())
            .push_bind(name.clone())
            .push_bind(integer(original.at.after_seq))
            .push_bind(integer(original.at.place))
            .push_bind(original.on_branch)
            .push_bind(original.line.clone());
    });
    query.build().execute(connection).await?;
    Ok(())
}

#[cfg(test)]
mod tests;
