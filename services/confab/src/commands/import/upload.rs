//! Sends one transcript, piece by piece, with little of it in memory at a time.

use confab_proto::transcript::v1::{
    ImportFault, ImportTranscriptRequest, ImportTranscriptResponse,
};
use confab_proto::types::v1::SessionTarget;
use confab_rpc::clients::TranscriptClient;
use futures::channel::mpsc::{self, Sender};
use futures::{SinkExt as _, StreamExt as _};

use super::progress::Progress;
use super::report::{Counts, LineFault};
use crate::connect::answer;
use crate::exit::Failure;
use crate::openclaw::source::Source;

/// Pieces that wait to be sent.
const PIECES_AHEAD: usize = 2;

/// A transcript on its way.
pub(super) struct Upload<'a> {
    /// What is sent.
    pub source: &'a Source,
    /// The key of its session, as it is stored.
    pub key: String,
    /// The agent of its session.
    pub agent: Option<String>,
    /// Whether it is only counted.
    pub dry_run: bool,
    /// Whom to tell how far it is.
    pub progress: &'a Progress,
}

impl Upload<'_> {
    /// Sends it to its generation.
    ///
    /// # Errors
    /// When the service refuses or cannot be reached.
    pub(super) async fn run(&self, transcript: &mut TranscriptClient) -> Result<Counts, Failure> {
        let (pieces, stream) = mpsc::channel(PIECES_AHEAD);
        let (answered, unread) =
            tokio::join!(transcript.import_transcript(stream), self.feed(pieces));
        Ok(counts(answer(answered)?, unread))
    }

    /// Hands out the pieces until the end, or until nobody takes them. What was sent before the
    /// source broke stays; why it broke is the answer.
    async fn feed(&self, mut into: Sender<ImportTranscriptRequest>) -> Option<String> {
        if into.send(self.first()).await.is_err() {
            return None;
        }
        let mut pieces = match self.source.pieces() {
            Ok(pieces) => pieces,
            Err(reason) => return Some(reason),
        };
        while let Some(piece) = pieces.next().await {
            let lines = match piece {
                Ok(lines) => lines,
                Err(reason) => return Some(reason),
            };
            self.progress.piece(lines.len());
            let request = ImportTranscriptRequest {
                lines: lines.into(),
                ..ImportTranscriptRequest::default()
            };
            if into.send(request).await.is_err() {
                return None;
            }
        }
        None
    }

    /// The first piece names the generation and holds nothing yet.
    fn first(&self) -> ImportTranscriptRequest {
        ImportTranscriptRequest {
            target: Some(SessionTarget {
                session_key: Some(self.key.clone()),
                agent_id: self.agent.clone(),
                ..SessionTarget::default()
            }),
            session_id: Some(self.source.session_id.clone()),
            dry_run: self.dry_run,
            ..ImportTranscriptRequest::default()
        }
    }
}

fn counts(told: ImportTranscriptResponse, unread: Option<String>) -> Counts {
    let fault = |fault: ImportFault| LineFault {
        line: fault.line,
        reason: fault.reason,
    };
    Counts {
        lines: told.lines,
        imported: told.imported,
        repeated: told.repeated,
        skipped: told.skipped,
        kept_aside: told.kept_aside,
        faults: told.faults.into_iter().map(fault).collect(),
        unread,
    }
}
