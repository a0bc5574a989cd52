//! Importing a file of lines into a transcript.
//!
//! The stream is first laid aside whole, in a file that has no name: what an early line means depends
//! on the later ones, and a stream that breaks must leave nothing behind. It is then read twice: once
//! for the tree of its entries, and once to store them, batch by batch. Each batch stands alone, and a
//! repetition stores what is missing and nothing twice.

pub(crate) mod chain;
mod lines;
mod reading;
mod spool;
mod tally;

use std::io;

use bytes::Bytes;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::Admitted;
use futures::{Stream, StreamExt as _};

use crate::commands::{ImportTranscript, Place};
use crate::import::reading::{Batch, Content, Reading};
use crate::import::spool::Spool;
use crate::store::TranscriptStore;
use crate::store::imports::{
    ImportBatch, ImportContent, ImportEntry, ImportMessage, ImportStore, Imported, ImportedLines,
};
use crate::{Messages, store_failed};

pub use tally::{Fault, Tally};

impl<S: TranscriptStore + ImportStore> Messages<S> {
    /// Stores the messages of a file that comes in pieces, and tells what became of each line.
    ///
    /// # Errors
    /// When the stream breaks or is too large, or the transcript did not begin with an import, and
    /// nothing was stored then; or when the store fails, and what was stored till then stays: the same
    /// import again goes on from there.
    ///
    /// Source: B146, B147, run:T28, D36.
    pub async fn import<P>(
        &self,
        call: Admitted<ImportTranscript>,
        pieces: P,
    ) -> Result<Tally, RpcError>
    where
        P: Stream<Item = Result<Bytes, RpcError>> + Send,
    {
        let session = call.session()?;
        let place = Place {
            tenant: call.caller().tenant.clone(),
            session_id: session.session_id.clone(),
            session_key: Some(session.key.clone()),
        };
        let spool = self.spool(pieces).await?;
        let mut reading = blocking(move || Reading::of(spool)).await??;
        let mut tally = Tally::default();
        let mut after = 0;
        loop {
            let (read, back) = blocking(move || (reading.next_batch(), reading)).await?;
            reading = back;
            let Some(batch) = read.map_err(broken)? else {
                break;
            };
            tally.add_batch(&batch);
            let stored = self.store_batch(&place, batch, after, call.request().dry_run);
            after = stored.await?.into_tally(&mut tally);
        }
        tracing::info!(
            session.key = %session.key,
            imported = tally.imported,
            repeated = tally.repeated,
            skipped = tally.skipped,
            kept_aside = tally.kept_aside,
            lines = tally.lines,
            dry_run = call.request().dry_run,
            "transcript imported"
        );
        Ok(tally)
    }

    async fn spool<P>(&self, pieces: P) -> Result<Spool, RpcError>
    where
        P: Stream<Item = Result<Bytes, RpcError>> + Send,
    {
        let directory = self.data_dir.clone();
        let mut spool = blocking(move || Spool::create(&directory))
            .await?
            .map_err(broken)?;
        let mut pieces = std::pin::pin!(pieces);
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            spool = blocking(move || spool.with(&piece)).await??;
        }
        Ok(spool)
    }

    async fn store_batch(
        &self,
        place: &Place,
        batch: Batch,
        after: u64,
        dry_run: bool,
    ) -> Result<Told, RpcError> {
        let mut numbers = Vec::with_capacity(batch.found.len());
        let mut entries = Vec::with_capacity(batch.found.len());
        for found in batch.found {
            numbers.push(found.number);
            entries.push(ImportEntry {
                name: found.name,
                line: found.line,
                on_branch: found.on_branch,
                blobs: found.blobs,
                content: match found.content {
                    Content::Aside => ImportContent::Aside,
                    Content::Message(body, first_kept, reproducible) => {
                        ImportContent::Message(Box::new(ImportMessage {
                            draft: self.draft(*body),
                            first_kept,
                            reproducible,
                        }))
                    },
                },
            });
        }
        let batch = ImportBatch {
            session_key: place.session_key.clone(),
            after,
            entries,
            dry_run,
        };
        let stored = self
            .store
            .import(&place.tenant, &place.session_id, batch)
            .await;
        match stored.map_err(store_failed)? {
            Imported::Stored(stored) => Ok(Told { numbers, stored }),
            Imported::NotEmpty => Err(not_empty(place)),
        }
    }
}

/// What became of the lines of a batch.
struct Told {
    numbers: Vec<u64>,
    stored: ImportedLines,
}

impl Told {
    /// Counts it, and answers with the message that the next batch stands behind.
    fn into_tally(self, tally: &mut Tally) -> u64 {
        for (number, outcome) in self.numbers.into_iter().zip(self.stored.outcomes) {
            tally.add(number, outcome);
        }
        self.stored.after
    }
}

/// Runs what reads or writes a file where it holds up nobody.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RpcError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(RpcError::internal)
}

/// What a caller learns whose file would go in behind messages of its session's own.
fn not_empty(place: &Place) -> RpcError {
    RpcError::new(
        Reason::TranscriptNotEmpty,
        format!(
            "generation {} has messages of its own, and an import would stand behind them: import \
             into a session without any, new or just reset; nothing more was stored",
            place.session_id
        ),
    )
}

/// What a caller learns of a data directory that cannot hold the stream; the log learns why.
fn broken(error: io::Error) -> RpcError {
    let mut failure = RpcError::internal(error);
    failure.reason = Reason::Unavailable;
    failure.message = String::from(
        "the import cannot be laid aside in the data directory, and nothing more of it was stored; \
         make room there and try again",
    );
    failure
}

#[cfg(test)]
mod tests;
