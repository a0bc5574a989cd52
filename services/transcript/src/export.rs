//! Exporting a transcript as the lines of a file.
//!
//! It is read in chunks up to the end that it had when the export began, and told in pieces; no more
//! than a chunk and a line is in memory.

mod lines;

use std::sync::Arc;

use confab_rpc::error::RpcError;
use confab_rpc::gate::Admitted;
use futures::{Stream, stream};

use crate::commands::ExportTranscript;
use crate::export::lines::Walk;
use crate::limits::EXPORT_PIECE_BYTES;
use crate::store::TranscriptStore;
use crate::store::imports::ImportStore;
use crate::{Messages, store_failed};

impl<S: TranscriptStore + ImportStore> Messages<S> {
    /// Writes the admitted session's transcript: raw as it was stored, with private reasoning and
    /// pictures, imported entries as they came; otherwise as a history with tools shows it, whole.
    ///
    /// # Errors
    /// When the store fails, before or between the pieces.
    ///
    /// Source: D21, D23, D60, B145.
    pub async fn export(
        self: &Arc<Self>,
        call: Admitted<ExportTranscript>,
    ) -> Result<impl Stream<Item = Result<Vec<u8>, RpcError>> + Send + use<S>, RpcError> {
        let walk = Walk::begin(Arc::clone(self), &call).await?;
        let buffer = Vec::new();
        Ok(stream::try_unfold((walk, buffer), next_piece))
    }
}

/// The next piece, and what is left for those after it.
async fn next_piece<S: TranscriptStore + ImportStore>(
    (mut walk, mut buffer): (Walk<S>, Vec<u8>),
) -> Result<Option<(Vec<u8>, (Walk<S>, Vec<u8>))>, RpcError> {
    while buffer.len() < EXPORT_PIECE_BYTES {
        let Some(line) = walk.next().await.map_err(store_failed)? else {
            break;
        };
        buffer.extend_from_slice(line.as_bytes());
        buffer.push(b'\n');
    }
    if buffer.is_empty() {
        return Ok(None);
    }
    let rest = buffer.split_off(buffer.len().min(EXPORT_PIECE_BYTES));
    Ok(Some((buffer, (walk, rest))))
}

#[cfg(test)]
mod tests;
