//! Changes of a session's life by typed calls, with everything that the command line does not say.

use confab_proto::runner::v1 as runner;
use confab_proto::types::v1::Session;
use tonic::Status;

use crate::grpc::{Caller, Grpc, RUNNER, session};

/// What is done to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A new generation under the same key.
    Reset,
    /// Put away.
    Archive,
    /// Taken back out.
    Restore,
    /// The row is removed.
    Delete,
}

impl Kind {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Reset, Self::Archive, Self::Restore, Self::Delete];
}

/// One call.
#[derive(Clone, Debug)]
pub struct Change {
    /// What is done.
    pub kind: Kind,
    /// To which session.
    pub key: String,
    /// Whether its work is aborted first.
    pub force: bool,
    /// The generation that is meant.
    pub expected: Option<String>,
    /// The name of the call.
    pub idempotency_key: Option<String>,
}

impl Change {
    /// The plain call.
    pub fn of(kind: Kind, key: &str) -> Self {
        Self {
            kind,
            key: key.to_owned(),
            force: false,
            expected: None,
            idempotency_key: None,
        }
    }

    /// The same, which aborts work first.
    #[must_use]
    pub fn forced(self) -> Self {
        Self {
            force: true,
            ..self
        }
    }

    /// The same, of one generation.
    #[must_use]
    pub fn expecting(self, session_id: &str) -> Self {
        Self {
            expected: Some(session_id.to_owned()),
            ..self
        }
    }

    /// The same under a name.
    #[must_use]
    pub fn named(self, idempotency_key: &str) -> Self {
        Self {
            idempotency_key: Some(idempotency_key.to_owned()),
            ..self
        }
    }

    /// Makes the call as an operator; the row is absent after a delete.
    ///
    /// # Errors
    /// The refusal.
    pub fn make(self, grpc: &Grpc) -> Result<Option<Session>, Status> {
        grpc.block_on(self.made_by(grpc, &Caller::operator()))
    }

    /// The same for whoever waits for several at once.
    ///
    /// # Errors
    /// The refusal.
    pub async fn made_by(self, grpc: &Grpc, caller: &Caller) -> Result<Option<Session>, Status> {
        let services = &grpc.services;
        let target = Some(session(&self.key));
        match self.kind {
            Kind::Reset => {
                let asked = runner::ResetSessionRequest {
                    target,
                    expected_session_id: self.expected,
                    force: self.force,
                    idempotency_key: self.idempotency_key,
                };
                let made = services.call(RUNNER, "ResetSession", asked, caller);
                made.await
                    .map(|answer: runner::ResetSessionResponse| answer.session)
            },
            Kind::Archive => {
                let asked = runner::ArchiveSessionRequest {
                    target,
                    expected_session_id: self.expected,
                    force: self.force,
                    idempotency_key: self.idempotency_key,
                    ..Default::default()
                };
                let made = services.call(RUNNER, "ArchiveSession", asked, caller);
                made.await
                    .map(|answer: runner::ArchiveSessionResponse| answer.session)
            },
            Kind::Restore => {
                let asked = runner::RestoreSessionRequest {
                    target,
                    idempotency_key: self.idempotency_key,
                    ..Default::default()
                };
                let made = services.call(RUNNER, "RestoreSession", asked, caller);
                made.await
                    .map(|answer: runner::RestoreSessionResponse| answer.session)
            },
            Kind::Delete => {
                let asked = runner::DeleteSessionRequest {
                    target,
                    expected_session_id: self.expected,
                    force: self.force,
                    idempotency_key: self.idempotency_key,
                    ..Default::default()
                };
                let made = services.call(RUNNER, "DeleteSession", asked, caller);
                made.await.map(|_: runner::DeleteSessionResponse| None)
            },
        }
    }
}
