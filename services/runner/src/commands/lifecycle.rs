//! Requests that change a session's lifecycle.

use confab_model::id::{IdempotencyKey, SessionId};
use confab_model::limits::ID_BYTES_MAX;
use confab_model::session::patch::Patch;
use confab_policy::lifecycle::Change;
use confab_proto::registry::v1::SessionPatch;
use confab_proto::runner::v1::{
    ArchiveSessionRequest, DeleteSessionRequest, ResetSessionRequest, RestoreSessionRequest,
    SweepSessionsRequest,
};
use confab_proto::types::v1::SessionTarget;
use confab_rpc::error::{RpcError, Violation, Violations};
use confab_rpc::gate::{About, Action, Governed, Target};
use confab_rpc::wire;
use prost::Message as _;
use prost_types::FieldMask;

use super::talk::{Keyed, unread};
use confab_rpc::fingerprint::fingerprint;

/// A session to reset, archive, restore or delete.
#[derive(Clone, Debug)]
pub struct ChangeSession {
    /// What to do.
    pub change: Change,
    /// The session.
    pub target: Target,
    /// The generation that the caller means.
    pub expected_session_id: Option<SessionId>,
    /// Whether live work is aborted instead of in the way (D56).
    pub force: bool,
    /// Whether only an archived session is deleted (reg:C10).
    pub archived_only: bool,
    /// Further fields to set in the same commit; empty for all but archive and restore.
    pub patch: Patch,
    /// The caller's name for the call.
    pub key: Option<IdempotencyKey>,
    /// What the call says.
    pub fingerprint: String,
}

impl ChangeSession {
    /// Reads a request to reset.
    ///
    /// # Errors
    /// When fields are malformed; all of them are told.
    pub fn reset(request: ResetSessionRequest) -> Result<Self, RpcError> {
        let said = ResetSessionRequest {
            idempotency_key: None,
            ..request.clone()
        };
        Said {
            change: Change::Reset,
            target: request.target,
            expected_session_id: request.expected_session_id,
            key: request.idempotency_key,
            fingerprint: fingerprint("ResetSession", &said.encode_to_vec()),
            patch: None,
            update_mask: None,
        }
        .parse()
        .map(|change| Self {
            force: request.force,
            ..change
        })
    }

    /// Reads a request to archive.
    ///
    /// # Errors
    /// When fields are malformed; all of them are told.
    pub fn archive(request: ArchiveSessionRequest) -> Result<Self, RpcError> {
        let said = ArchiveSessionRequest {
            idempotency_key: None,
            ..request.clone()
        };
        Said {
            change: Change::Archive,
            target: request.target,
            expected_session_id: request.expected_session_id,
            key: request.idempotency_key,
            fingerprint: fingerprint("ArchiveSession", &said.encode_to_vec()),
            patch: request.patch,
            update_mask: request.update_mask,
        }
        .parse()
        .map(|change| Self {
            force: request.force,
            ..change
        })
    }

    /// Reads a request to restore.
    ///
    /// # Errors
    /// When fields are malformed; all of them are told.
    pub fn restore(request: RestoreSessionRequest) -> Result<Self, RpcError> {
        let said = RestoreSessionRequest {
            idempotency_key: None,
            ..request.clone()
        };
        Said {
            change: Change::Restore,
            target: request.target,
            expected_session_id: None,
            key: request.idempotency_key,
            fingerprint: fingerprint("RestoreSession", &said.encode_to_vec()),
            patch: request.patch,
            update_mask: request.update_mask,
        }
        .parse()
    }

    /// Reads a request to delete.
    ///
    /// # Errors
    /// When fields are malformed; all of them are told.
    pub fn delete(request: DeleteSessionRequest) -> Result<Self, RpcError> {
        let said = DeleteSessionRequest {
            idempotency_key: None,
            ..request.clone()
        };
        Said {
            change: Change::Delete,
            target: request.target,
            expected_session_id: request.expected_session_id,
            key: request.idempotency_key,
            fingerprint: fingerprint("DeleteSession", &said.encode_to_vec()),
            patch: None,
            update_mask: None,
        }
        .parse()
        .map(|change| Self {
            force: request.force,
            archived_only: request.archived_only,
            ..change
        })
    }
}

/// What every request to change a session says.
struct Said {
    change: Change,
    target: Option<SessionTarget>,
    expected_session_id: Option<String>,
    key: Option<String>,
    fingerprint: String,
    patch: Option<SessionPatch>,
    update_mask: Option<FieldMask>,
}

impl Said {
    fn parse(self) -> Result<ChangeSession, RpcError> {
        let mut violations = Violations::default();
        let target = violations.keep(Target::required(self.target, "sessionKey"));
        let expected_session_id = session_id(self.expected_session_id, &mut violations);
        let key = super::key(self.key, "idempotencyKey", &mut violations);
        let wire = self.patch.unwrap_or_default();
        let patch = wire::patch::patch_from_wire(&wire, self.update_mask, "patch", &mut violations);
        if patch.archived.is_some() {
            violations.push(
                "patch.archived",
                "patch.archived is what this call does: leave it out of the patch",
            );
        }
        violations.finish()?;
        Ok(ChangeSession {
            change: self.change,
            target: target.ok_or_else(unread)?,
            expected_session_id,
            force: false,
            archived_only: false,
            patch,
            key,
            fingerprint: self.fingerprint,
        })
    }
}

/// Reads the generation that the caller means; blank counts as absent.
fn session_id(text: Option<String>, violations: &mut Violations) -> Option<SessionId> {
    let text = text.filter(|text| !text.trim().is_empty())?;
    let bytes = text.len();
    violations.keep(SessionId::parse(text).map_err(|_| {
        Violation::new(
            "expectedSessionId",
            format!(
                "expectedSessionId is {bytes} bytes long or holds control characters; give the \
                 sessionId of the session's row, 1 to {ID_BYTES_MAX} bytes"
            ),
        )
    }))
}

impl Keyed for ChangeSession {
    fn key(&self) -> Option<&IdempotencyKey> {
        self.key.as_ref()
    }

    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

impl Governed for ChangeSession {
    fn action(&self) -> Action {
        Action::Lifecycle
    }

    fn about(&self) -> About {
        About::One(self.target.clone())
    }
}

/// A sweep of the sessions whose time is over.
#[derive(Clone, Copy, Debug)]
pub struct SweepSessions {
    /// Whether nothing is done and all is told.
    pub dry_run: bool,
}

impl From<SweepSessionsRequest> for SweepSessions {
    fn from(request: SweepSessionsRequest) -> Self {
        Self {
            dry_run: request.dry_run,
        }
    }
}

impl Governed for SweepSessions {
    fn action(&self) -> Action {
        Action::Lifecycle
    }

    fn about(&self) -> About {
        About::Nothing
    }
}
