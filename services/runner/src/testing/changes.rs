//! Calls that change a session's life, in short.

use confab_policy::lifecycle::Change;
use confab_proto::runner::v1::{
    ArchiveSessionRequest, DeleteSessionRequest, ResetSessionRequest, RestoreSessionRequest,
    SweepSessionsRequest, SweptSession,
};
use confab_proto::types::v1::Session;
use tonic::Status;

use super::{House, target};

/// What such a call says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) session: String,
    pub(crate) expected_session_id: Option<String>,
    pub(crate) force: bool,
    pub(crate) archived_only: bool,
    pub(crate) key: Option<String>,
}

/// A call about this session.
pub(crate) fn about(session: &str) -> Asked {
    Asked {
        session: session.to_owned(),
        ..Asked::default()
    }
}

/// A call that ends the session's work first.
pub(crate) fn by_force(session: &str) -> Asked {
    Asked {
        force: true,
        ..about(session)
    }
}

impl Asked {
    /// The same call with a name of its own.
    pub(crate) fn named(mut self, key: &str) -> Self {
        self.key = Some(key.to_owned());
        self
    }
}

impl House {
    /// Makes a change as an operator.
    pub(crate) async fn change(
        &self,
        change: Change,
        asked: &Asked,
    ) -> Result<Option<Session>, Status> {
        match change {
            Change::Reset => self.reset(asked).await.map(Some),
            Change::Archive => self.archive(asked).await.map(Some),
            Change::Restore => self.restore(asked).await.map(Some),
            Change::Delete => self.delete(asked).await.map(|()| None),
        }
    }

    pub(crate) async fn reset(&self, asked: &Asked) -> Result<Session, Status> {
        let request = ResetSessionRequest {
            target: Some(target(&asked.session)),
            expected_session_id: asked.expected_session_id.clone(),
            force: asked.force,
            idempotency_key: asked.key.clone(),
        };
        let answer = self.operator().reset_session(request).await?;
        Ok(answer.into_inner().session.unwrap())
    }

    pub(crate) async fn archive(&self, asked: &Asked) -> Result<Session, Status> {
        let request = ArchiveSessionRequest {
            target: Some(target(&asked.session)),
            expected_session_id: asked.expected_session_id.clone(),
            force: asked.force,
            idempotency_key: asked.key.clone(),
            patch: None,
            update_mask: None,
        };
        let answer = self.operator().archive_session(request).await?;
        Ok(answer.into_inner().session.unwrap())
    }

    pub(crate) async fn restore(&self, asked: &Asked) -> Result<Session, Status> {
        let request = RestoreSessionRequest {
            target: Some(target(&asked.session)),
            idempotency_key: asked.key.clone(),
            patch: None,
            update_mask: None,
        };
        let answer = self.operator().restore_session(request).await?;
        Ok(answer.into_inner().session.unwrap())
    }

    pub(crate) async fn delete(&self, asked: &Asked) -> Result<(), Status> {
        let request = DeleteSessionRequest {
            target: Some(target(&asked.session)),
            expected_session_id: asked.expected_session_id.clone(),
            force: asked.force,
            archived_only: asked.archived_only,
            idempotency_key: asked.key.clone(),
        };
        self.operator().delete_session(request).await.map(|_| ())
    }

    pub(crate) async fn sweep(&self, dry_run: bool) -> Result<Vec<SweptSession>, Status> {
        let request = SweepSessionsRequest { dry_run };
        let answer = self.operator().sweep_sessions(request).await?;
        Ok(answer.into_inner().sessions)
    }
}
