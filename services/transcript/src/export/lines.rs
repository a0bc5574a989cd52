//! The lines of an export, one by one.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use confab_model::message::{Message, NewMessage};
use confab_rpc::error::RpcError;
use confab_rpc::gate::Admitted;
use confab_store::StoreError;
use confab_text::redact::Redactor;
use serde_json::Value;

use crate::commands::{ExportTranscript, Place};
use crate::entry::head::Head;
use crate::entry::pictures::{self, REFERENCE, Reference};
use crate::entry::write::{self, Manner, Pictures};
use crate::entry::{json, key};
use crate::import::chain::Chain;
use crate::shown::show_whole;
use crate::store::imports::{ExportEnd, ImportStore, Original, OriginalPlace};
use crate::store::{Row, TranscriptStore};
use crate::{Messages, store_failed};

/// A walk through a transcript, oldest first.
pub(super) struct Walk<S> {
    messages: Arc<Messages<S>>,
    place: Place,
    end: ExportEnd,
    /// The header, until it is written.
    header: Option<Value>,
    /// The rules of masking; absent in a raw export.
    masked_by: Option<Arc<Redactor>>,
    rows: VecDeque<Row>,
    rows_read: u64,
    originals: VecDeque<Original>,
    originals_read: Option<OriginalPlace>,
    chain: Chain,
}

/// What is to be written next.
enum Next {
    Message(Box<Row>),
    Original(Original),
}

impl<S: TranscriptStore + ImportStore> Walk<S> {
    pub(super) async fn begin(
        messages: Arc<Messages<S>>,
        call: &Admitted<ExportTranscript>,
    ) -> Result<Self, RpcError> {
        let session = call.session()?;
        let raw = call.request().raw;
        let place = Place {
            tenant: call.caller().tenant.clone(),
            session_id: session.session_id.clone(),
            session_key: Some(session.key.clone()),
        };
        let end = messages
            .store
            .export_end(&place.tenant, &place.session_id)
            .await
            .map_err(store_failed)?;
        let header = write::header(place.session_id.as_str(), session.created_at);
        Ok(Self {
            // An imported file has its own.
            header: (!(raw && end.has_header)).then_some(header),
            masked_by: (!raw).then(|| messages.redactor()),
            place,
            end,
            rows: VecDeque::new(),
            rows_read: 0,
            originals: VecDeque::new(),
            originals_read: raw.then(OriginalPlace::default),
            chain: Chain::default(),
            messages,
        })
    }

    /// The next line.
    pub(super) async fn next(&mut self) -> Result<Option<String>, StoreError> {
        if let Some(header) = self.header.take() {
            return Ok(Some(header.to_string()));
        }
        loop {
            self.fill().await?;
            let line = match self.take() {
                None => return Ok(None),
                Some(Next::Original(original)) => Some(self.original(original).await?),
                Some(Next::Message(row)) => self.message(*row).await?,
            };
            if line.is_some() {
                return Ok(line);
            }
        }
    }

    /// Reads on where nothing is left in memory.
    async fn fill(&mut self) -> Result<(), StoreError> {
        let store = &self.messages.store;
        let (tenant, session_id) = (&self.place.tenant, &self.place.session_id);
        if self.rows.is_empty() && self.rows_read < self.end.last_seq {
            let rows = store
                .export_messages(tenant, session_id, self.rows_read, self.end)
                .await?;
            // Sequences have no gaps, so an empty answer is the end.
            self.rows_read = rows.last().map_or(self.end.last_seq, |row| row.seq);
            self.rows.extend(rows);
        }
        if let Some(after) = self.originals_read.filter(|_| self.originals.is_empty()) {
            let originals = store
                .export_originals(tenant, session_id, after, self.end)
                .await?;
            self.originals_read = originals.last().map(|original| original.at);
            self.originals.extend(originals);
        }
        Ok(())
    }

    /// The earlier of the next message and the next line that was kept; a line that stands for the
    /// message takes its place.
    fn take(&mut self) -> Option<Next> {
        let seq = self.rows.front().map(|row| row.seq);
        let at = self.originals.front().map(|original| original.at);
        let is_message_first = match (seq, at) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(seq), Some(at)) => seq < at.after_seq || (seq == at.after_seq && at.place > 0),
        };
        if is_message_first {
            return self.rows.pop_front().map(Box::new).map(Next::Message);
        }
        if at.is_some_and(|at| at.place == 0 && Some(at.after_seq) == seq) {
            self.rows.pop_front();
        }
        self.originals.pop_front().map(Next::Original)
    }

    /// A line as it came, with its pictures.
    async fn original(&mut self, original: Original) -> Result<String, StoreError> {
        if original.on_branch {
            let head = Head::read(&original.line).ok();
            self.chain.add(head.and_then(|head| head.id));
        }
        if !original.line.contains(REFERENCE) {
            return Ok(original.line);
        }
        match json(&original.line) {
            Ok(entry) => self.with_pictures(entry).await,
            Err(_) => Ok(original.line),
        }
    }

    /// The entry of a message; nothing where it may not be seen or cannot be read.
    async fn message(&mut self, row: Row) -> Result<Option<String>, StoreError> {
        let Row { id, seq, at, body } = row;
        let Some(body) = body.and_then(|body| self.seen(body)) else {
            return Ok(None);
        };
        let first_kept = self.first_kept(&body).await?;
        let message = Message { id, seq, at, body };
        let raw = self.masked_by.is_none();
        let manner = Manner {
            parent: self.chain.end(),
            first_kept: first_kept.as_deref(),
            pictures: if raw {
                Pictures::Referenced
            } else {
                Pictures::Omitted
            },
        };
        let entry = write::entry(&message, &manner);
        self.chain.add(Some(key::entry_id(&message).to_owned()));
        if raw {
            return self.with_pictures(entry).await.map(Some);
        }
        Ok(Some(entry.to_string()))
    }

    fn seen(&self, body: NewMessage) -> Option<NewMessage> {
        match &self.masked_by {
            Some(redactor) => show_whole(body, redactor),
            None => Some(body),
        }
    }

    /// The id of the first entry that a compaction keeps.
    async fn first_kept(&self, body: &NewMessage) -> Result<Option<String>, StoreError> {
        let kept = body.compaction.as_ref();
        let Some(seq) = kept.and_then(|compaction| compaction.first_kept_seq) else {
            return Ok(None);
        };
        let store = &self.messages.store;
        let row = store
            .row(&self.place.tenant, &self.place.session_id, seq)
            .await?;
        let message = row.and_then(|row| {
            let Row { id, seq, at, body } = row;
            body.map(|body| Message { id, seq, at, body })
        });
        Ok(message.map(|message| key::entry_id(&message).to_owned()))
    }

    /// The line of an entry whose pictures are in it again; one that is gone stays a reference.
    async fn with_pictures(&self, mut entry: Value) -> Result<String, StoreError> {
        let mut texts: BTreeMap<String, String> = BTreeMap::new();
        for reference in pictures::named(&mut entry) {
            if texts.contains_key(&reference.blob) {
                continue;
            }
            let bytes = self
                .messages
                .store
                .blob(&self.place.tenant, &reference.blob)
                .await?;
            texts.extend(bytes.map(|bytes| (reference.blob.clone(), reference.text(bytes))));
        }
        pictures::put_back(&mut entry, &|reference: &Reference| {
            texts.get(&reference.blob).cloned()
        });
        Ok(entry.to_string())
    }
}
