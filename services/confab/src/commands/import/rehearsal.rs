//! What a dry run knows of what an import would have stored by now.
//!
//! Nobody can be asked about a session that is not stored. Its transcripts go through the very code
//! of an import, into a database of their own that is removed in the end, so that a dry run counts
//! what an import counts.

mod scratch;

use std::collections::{BTreeMap, BTreeSet};

use confab_proto::registry::v1::{ImportOutcome, ImportSessionRequest, ImportSessionResponse};
use confab_proto::types::v1::Session;
use confab_rpc::clients::TranscriptClient;
use confab_rpc::error::Reason;

use self::scratch::Scratch;
use super::report::Counts;
use super::upload::Upload;
use crate::exit::Failure;
use crate::openclaw::plan::Planned;

/// The part of an import that a dry run has played through.
#[derive(Debug, Default)]
pub(super) struct Rehearsal {
    /// The keys of the sessions that would be stored by now.
    keys: BTreeSet<String>,
    /// The keys of the sessions that would have each sessionId by now.
    owners: BTreeMap<String, String>,
    /// Opened when it is first needed.
    scratch: Option<Scratch>,
}

impl Rehearsal {
    /// What is asked about a session: without a spawner that an import would have stored before it,
    /// and that the registry cannot know.
    pub(super) fn asked(&self, request: ImportSessionRequest) -> ImportSessionRequest {
        let Some(session) = request.session else {
            return request;
        };
        let spawner = session.spawned_by.as_ref();
        let session = if spawner.is_some_and(|spawner| self.keys.contains(spawner)) {
            Session {
                spawned_by: None,
                spawn_mode: None,
                ..session
            }
        } else {
            session
        };
        ImportSessionRequest {
            session: Some(session),
            ..request
        }
    }

    /// What the registry would answer after all that was played through: a sessionId that a session
    /// before this one would have is taken.
    pub(super) fn foreseen(
        &mut self,
        planned: &Planned,
        answered: ImportSessionResponse,
    ) -> ImportSessionResponse {
        let mut answered = answered;
        let (key, ids) = (&planned.session.key, ids_of(planned));
        let taken = ids.iter().filter_map(|id| {
            let owner = self.owners.get(*id).filter(|owner| *owner != key)?;
            Some(format!("sessionId {id:?} is of another session, {owner}"))
        });
        let taken: Vec<String> = taken.collect();
        if !taken.is_empty() {
            answered.set_outcome(ImportOutcome::Differs);
            answered.differences.extend(taken);
        }
        match answered.outcome() {
            ImportOutcome::Created | ImportOutcome::Replaced => {
                let owned = ids.iter().map(|id| ((*id).clone(), key.clone()));
                self.owners.extend(owned);
                self.keys.insert(key.clone());
            },
            ImportOutcome::Unspecified | ImportOutcome::Unchanged | ImportOutcome::Differs => {},
        }
        answered
    }

    /// What an import would count in a transcript of a session that is stored: the service compares
    /// it. A generation that the session does not have yet is played through here.
    ///
    /// # Errors
    /// When the service refuses or cannot be reached, or nothing can be laid aside here.
    pub(super) async fn compare(
        &mut self,
        upload: &Upload<'_>,
        key: &str,
        transcript: &mut TranscriptClient,
    ) -> Result<Counts, Failure> {
        match upload.run(transcript).await {
            Err(failure) if is_not_stored(&failure) => self.play(upload, key).await,
            counted => counted,
        }
    }

    /// What an import would count in a transcript of a generation that is not stored.
    ///
    /// # Errors
    /// When an import would be refused, or nothing can be laid aside here.
    pub(super) async fn play(&mut self, upload: &Upload<'_>, key: &str) -> Result<Counts, Failure> {
        let scratch = match self.scratch.take() {
            Some(scratch) => scratch,
            None => Scratch::open().await?,
        };
        let scratch = self.scratch.insert(scratch);
        scratch.import(upload.source, key, upload.progress).await
    }

    /// Removes what was laid aside.
    pub(super) async fn end(self) {
        if let Some(scratch) = self.scratch {
            scratch.close().await;
        }
    }
}

/// All its sessionIds.
fn ids_of(planned: &Planned) -> Vec<&String> {
    let earlier = planned.earlier.iter();
    earlier.chain([&planned.session.session_id]).collect()
}

fn is_not_stored(failure: &Failure) -> bool {
    failure.reason == Some(Reason::SessionNotFound.as_str())
}

#[cfg(test)]
mod tests;
