//! Requests about the life of sessions, which only services make.

use confab_config::Settings;
use confab_model::id::{IdempotencyKey, SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::session::patch::{self, Patch};
use confab_policy::lifecycle::Change;
use confab_proto::registry::v1 as proto;
use confab_rpc::error::{Reason, RpcError, Violations};
use confab_rpc::gate::{About, Action, Governed};
use confab_rpc::wire;
use confab_rpc::wire::limits::Limit;

use super::patch::version_from_wire;
use crate::limits::OVERDUE_MAX;
use crate::patch::unknown_model;

/// Commits a lifecycle change.
#[derive(Clone, Debug, PartialEq)]
pub struct CommitLifecycle {
    /// The session.
    pub session_key: SessionKey,
    /// The change.
    pub change: Change,
    /// The generation it is meant for.
    pub expected_session_id: SessionId,
    /// The epoch it is based on.
    pub expected_work_epoch: u64,
    /// The version of the row that it was decided on; absent: whatever is stored.
    pub expected_row_version: Option<u64>,
    /// Names it.
    pub change_id: IdempotencyKey,
    /// Further fields to set; `archived`, which the change itself says, is none of them.
    pub patch: Patch,
    /// Delete only where the session is archived.
    pub archived_only: bool,
}

impl CommitLifecycle {
    /// Reads the request.
    ///
    /// # Errors
    /// With every field that is missing or malformed.
    pub fn parse(
        settings: &Settings,
        wire: proto::CommitLifecycleRequest,
    ) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        let session_key =
            wire::fields::key_from_wire(&wire.session_key, "sessionKey", &mut violations);
        let change = change_from_wire(wire.change, &mut violations);
        let expected_session_id = wire::fields::id_from_wire(
            wire.expected_session_id,
            SessionId::parse,
            "expectedSessionId",
            &mut violations,
        );
        let epoch = epoch_from_wire(wire.expected_work_epoch, &mut violations);
        let expected_row_version = version_from_wire(wire.expected_row_version, &mut violations);
        let change_id = wire::fields::id_from_wire(
            wire.change_id,
            IdempotencyKey::parse,
            "changeId",
            &mut violations,
        );
        let fields = wire.patch.unwrap_or_default();
        let patch =
            wire::patch::patch_from_wire(&fields, wire.update_mask, "patch", &mut violations);
        let patch = patch_beside(change, patch, &mut violations);
        let model = fields.model.as_deref().map(str::trim);
        if !violations.is_empty()
            && let Some(text) = model.and_then(|model| unknown_model(settings, model))
        {
            violations.push("patch.model", text);
        }
        violations.finish()?;
        let (Some(session_key), Some(change), Some(change_id)) = (session_key, change, change_id)
        else {
            return Err(unread());
        };
        let (Some(expected_session_id), Some(expected_work_epoch)) = (expected_session_id, epoch)
        else {
            return Err(unread());
        };
        Ok(Self {
            session_key,
            change,
            expected_session_id,
            expected_work_epoch,
            expected_row_version,
            change_id,
            patch,
            archived_only: wire.archived_only,
        })
    }
}

impl Governed for CommitLifecycle {
    fn action(&self) -> Action {
        Action::Lifecycle
    }

    /// Whoever decided the change has had it judged.
    fn about(&self) -> About {
        About::Nothing
    }
}

/// A field that cannot be read and is no violation either: a fault of the reader.
fn unread() -> RpcError {
    RpcError::new(Reason::InvalidArgument, "the request cannot be read")
}

/// The proto's word for a change.
pub(crate) const fn change_to_wire(change: Change) -> proto::LifecycleChange {
    match change {
        Change::Reset => proto::LifecycleChange::Reset,
        Change::Archive => proto::LifecycleChange::Archive,
        Change::Restore => proto::LifecycleChange::Restore,
        Change::Delete => proto::LifecycleChange::Delete,
    }
}

fn change_from_wire(number: i32, violations: &mut Violations) -> Option<Change> {
    let known = |change: &Change| i32::from(change_to_wire(*change)) == number;
    let change = Change::ALL.into_iter().find(known);
    if change.is_none() {
        violations.push(
            "change",
            "change is missing or unknown: give RESET, ARCHIVE, RESTORE or DELETE",
        );
    }
    change
}

fn epoch_from_wire(given: i64, violations: &mut Violations) -> Option<u64> {
    let epoch = u64::try_from(given).ok();
    if epoch.is_none() {
        let text = format!("expectedWorkEpoch is {given}: give 0 or more");
        violations.push("expectedWorkEpoch", text);
    }
    epoch
}

/// A patch goes with archive and restore only, and may say what these do, but not the contrary.
fn patch_beside(change: Option<Change>, patch: Patch, violations: &mut Violations) -> Patch {
    let archived = match change {
        Some(Change::Archive) => true,
        Some(Change::Restore) => false,
        Some(Change::Reset | Change::Delete) => {
            if !patch.is_empty() {
                violations.push(
                    "patch",
                    "patch goes with ARCHIVE and RESTORE only: leave it out",
                );
            }
            return patch;
        },
        None => return patch,
    };
    let told = patch.archived.as_ref().map(|told| match told {
        patch::Change::Set(told) => *told,
        patch::Change::Clear => false,
    });
    if told.is_some_and(|told| told != archived) {
        violations.push(
            "patch.archived",
            format!("patch.archived contradicts change: leave it out, or set it to {archived}"),
        );
    }
    Patch {
        archived: None,
        ..patch
    }
}

/// Lists sessions whose time is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListOverdueSessions {
    /// Only those of this tenant.
    pub tenant: Option<TenantId>,
    /// Most sessions to list.
    pub limit: Limit,
}

impl ListOverdueSessions {
    /// Reads the request.
    ///
    /// # Errors
    /// When the limit is below 1, or the tenant malformed.
    pub fn parse(wire: proto::ListOverdueSessionsRequest) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        let limit = wire::limits::limit_from_wire(
            wire.limit,
            OVERDUE_MAX,
            OVERDUE_MAX,
            "limit",
            &mut violations,
        );
        let tenant = wire::fields::optional_id_from_wire(
            wire.tenant,
            TenantId::parse,
            "tenant",
            &mut violations,
        );
        violations.finish()?;
        Ok(Self { tenant, limit })
    }
}

impl Governed for ListOverdueSessions {
    fn action(&self) -> Action {
        Action::Lifecycle
    }

    /// Maintenance looks after every tenant.
    fn about(&self) -> About {
        About::Nothing
    }
}
