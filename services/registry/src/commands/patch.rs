//! The request to change fields of a session.

use confab_config::Settings;
use confab_model::id::IdempotencyKey;
use confab_model::session::patch::{Fault, Patch};
use confab_proto::registry::v1 as proto;
use confab_rpc::caller::{Caller, Role};
use confab_rpc::error::{Reason, RpcError, Violations};
use confab_rpc::gate::{About, Action, Governed, Target};
use confab_rpc::wire;
use prost::Message as _;

use crate::patch::model_fault;
use confab_rpc::fingerprint::fingerprint;

/// The one field that agents may set.
const MODEL: &str = "model";

/// Changes fields of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct PatchSession {
    /// The session.
    pub target: Target,
    /// The changes, as far as they could be read.
    pub patch: Patch,
    /// What is wrong with the fields of the changes: told with what the row forbids, so that one
    /// answer tells all.
    pub faults: Vec<Fault>,
    /// The version of the row that they are based on; absent: whatever is stored.
    pub expected_row_version: Option<u64>,
    /// The caller's name for the call.
    pub key: Option<IdempotencyKey>,
    /// What the call says.
    pub fingerprint: String,
}

impl PatchSession {
    /// Reads the request.
    ///
    /// # Errors
    /// With everything that is wrong where the call itself cannot be made; what is wrong with the
    /// changes alone is kept for the row. When an agent sets anything but `model`.
    ///
    /// Source: D36, reg:M1, reg:M24, reg:M26; contract, Identity.
    pub fn parse(
        settings: &Settings,
        caller: &Caller,
        wire: proto::PatchSessionRequest,
    ) -> Result<Self, RpcError> {
        let said = proto::PatchSessionRequest {
            idempotency_key: None,
            ..wire.clone()
        };
        let mut violations = Violations::default();
        let target = violations.keep(Target::required(wire.target, "target"));
        let fields = wire.patch.unwrap_or_default();
        let (patch, faults) =
            wire::patch::gather_from_wire(&fields, wire.update_mask, "patch", &mut violations);
        check_role(caller, &patch)?;
        refuse_archived(&patch, &mut violations);
        let expected_row_version = version_from_wire(wire.expected_row_version, &mut violations);
        let key = wire::fields::optional_id_from_wire(
            wire.idempotency_key,
            IdempotencyKey::parse,
            "idempotencyKey",
            &mut violations,
        );
        // Beside a call that cannot be made, all is told here, because the row is not looked at then.
        if !violations.is_empty() {
            let unknown = model_fault(settings, &patch);
            for fault in faults.iter().chain(&unknown) {
                violations.push(format!("patch.{}", fault.field), fault.message.clone());
            }
        }
        violations.finish()?;
        Ok(Self {
            target: target.unwrap_or_default(),
            patch,
            faults,
            expected_row_version,
            key,
            fingerprint: fingerprint("PatchSession", &said.encode_to_vec()),
        })
    }
}

impl Governed for PatchSession {
    fn action(&self) -> Action {
        Action::Patch
    }

    fn about(&self) -> About {
        About::One(self.target.clone())
    }
}

/// An agent may set its model, and nothing else.
fn check_role(caller: &Caller, patch: &Patch) -> Result<(), RpcError> {
    match caller.role() {
        Role::Agent => {},
        Role::Operator | Role::Service | Role::Channel | Role::Worker => return Ok(()),
    }
    let (_, mask) = wire::patch::patch_to_wire(patch);
    let others: Vec<String> = mask
        .paths
        .into_iter()
        .filter(|path| path != MODEL)
        .collect();
    if others.is_empty() {
        return Ok(());
    }
    let text = format!(
        "an agent may set {MODEL} only, and the patch sets {}: leave that out, or ask an operator",
        others.join(", ")
    );
    Err(RpcError::new(Reason::Role, text))
}

/// Only the runner knows whether a session has work, which an archived one must not have (D56).
fn refuse_archived(patch: &Patch, violations: &mut Violations) {
    if patch.archived.is_some() {
        violations.push(
            "patch.archived",
            "archived cannot be set here: call ArchiveSession or RestoreSession of the runner, with \
             the other fields of the patch",
        );
    }
}

/// Reads the version that a row must still have.
pub(super) fn version_from_wire(given: Option<i64>, violations: &mut Violations) -> Option<u64> {
    let given = given?;
    let version = u64::try_from(given).ok().filter(|version| *version > 0);
    if version.is_none() {
        let text = format!("expectedRowVersion is {given}: give a row version, 1 or more");
        violations.push("expectedRowVersion", text);
    }
    version
}
