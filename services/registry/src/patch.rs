//! Changing fields of sessions, all or none.

use confab_config::Settings;
use confab_model::clock::Timestamp;
use confab_model::id::IdempotencyKey;
use confab_model::key::SessionKey;
use confab_model::limits::IDEMPOTENCY_HOURS;
use confab_model::session::patch::{Change, Fault, FaultKind, Patch};
use confab_rpc::caller::Caller;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::Admitted;
use confab_rpc::wire;

use crate::commands::PatchSession;
use crate::meaning::canonical;
use crate::status::configured_model;
use crate::store::RegistryStore;
use crate::store::change::{ChangeError, Expected, KeyUse, Patched, Patching};
use crate::{Sessions, store_failed};

const MILLIS_PER_HOUR: i64 = 3_600_000;

impl<S: RegistryStore> Sessions<S> {
    /// What the caller's same call was answered with before, whatever has become of the session or
    /// of the rules since.
    ///
    /// # Errors
    /// When the key names a call with other content, or the store fails.
    ///
    /// Source: D36, B222.
    pub async fn patched_before(
        &self,
        caller: &Caller,
        request: &PatchSession,
    ) -> Result<Option<Patched>, RpcError> {
        self.answered_before(caller, request.key.as_ref(), &request.fingerprint)
            .await
    }

    /// What the caller's call that it named `key` was answered with before.
    pub(crate) async fn answered_before(
        &self,
        caller: &Caller,
        key: Option<&IdempotencyKey>,
        fingerprint: &str,
    ) -> Result<Option<Patched>, RpcError> {
        let Some(key) = key else {
            return Ok(None);
        };
        let owner = caller.idempotency_owner();
        let used = self
            .store
            .used_key(&caller.tenant, &owner, key, self.clock.now())
            .await
            .map_err(store_failed)?;
        match used {
            Some(used) if used.fingerprint == fingerprint => Ok(Some(used.answer)),
            Some(_) => Err(refused(ChangeError::KeyReused(key.to_string()))),
            None => Ok(None),
        }
    }

    /// Changes fields of a session. `updated_at` does not move, and a patch that says what the row
    /// says already writes nothing.
    ///
    /// # Errors
    /// With all that is wrong with the patch; when the label is taken, the session is another than
    /// the one that the call was admitted for, or the store fails.
    ///
    /// Source: D38, D51, D54, reg:M9, reg:M22.
    pub async fn patch(&self, call: Admitted<PatchSession>) -> Result<Patched, RpcError> {
        let admitted = call.session()?.clone();
        let (request, caller, _) = call.into_parts();
        let settings = self.settings.current();
        let now = self.clock.now();
        let patching = Patching {
            faults: faults(&settings, request.faults, &request.patch),
            patch: settled(&settings, &admitted.key, request.patch),
            expected: Expected {
                session_id: admitted.session_id,
                work_epoch: admitted.work_epoch,
                row_version: request.expected_row_version,
            },
            key_use: key_use(&caller, request.key, request.fingerprint, now),
            key: admitted.key,
            now,
        };
        let patched = self.store.patch(&caller.tenant, patching).await;
        let patched = patched.map_err(refused)?;
        if patched.changed {
            let key = &patched.session.key;
            tracing::info!(session.key = %key, "session patched");
        }
        Ok(patched)
    }
}

/// What is wrong with a patch whatever the row says.
fn faults(settings: &Settings, mut faults: Vec<Fault>, patch: &Patch) -> Vec<Fault> {
    faults.extend(model_fault(settings, patch));
    faults
}

/// The caller's name for a call that is made `now`, to be kept with its answer.
pub(crate) fn key_use(
    caller: &Caller,
    key: Option<IdempotencyKey>,
    fingerprint: String,
    now: Timestamp,
) -> Option<KeyUse> {
    key.map(|key| KeyUse {
        owner: caller.idempotency_owner(),
        key,
        fingerprint,
        expires_at: forgotten_at(now),
    })
}

/// When the record of a call that is made `now` is forgotten.
pub(crate) fn forgotten_at(now: Timestamp) -> Timestamp {
    now.plus_millis(i64::from(IDEMPOTENCY_HOURS).saturating_mul(MILLIS_PER_HOUR))
}

/// Why a model may not be set, where the configuration names those that exist; nothing where it may.
///
/// Source: reg:M22, reg:S5; contract, Configuration (`confab.models`).
pub(crate) fn unknown_model(settings: &Settings, model: &str) -> Option<String> {
    let known = settings.models.as_ref()?;
    if model.is_empty() || known.iter().any(|known| known == model) {
        return None;
    }
    let names = if known.is_empty() {
        "none".to_owned()
    } else {
        known.join(", ")
    };
    Some(format!(
        "Unrecognized model \"{model}\". Known models (confab.models): {names}."
    ))
}

/// The fault of a patch that sets a model that is not known.
pub(crate) fn model_fault(settings: &Settings, patch: &Patch) -> Option<Fault> {
    match &patch.model {
        Some(Change::Set(model)) => Some(Fault {
            field: "model".to_owned(),
            message: unknown_model(settings, model)?,
            kind: FaultKind::Invalid,
        }),
        Some(Change::Clear) | None => None,
    }
}

/// The patch as it is stored: a session is named by its one name, and the model that the
/// configuration gives a session anyway is no model of its own.
///
/// Source: D4, reg:M22.
pub(crate) fn settled(settings: &Settings, key: &SessionKey, patch: Patch) -> Patch {
    let default = configured_model(settings, key);
    let model = match patch.model {
        Some(Change::Set(model)) if Some(model.as_str()) == default => Some(Change::Clear),
        model @ (Some(Change::Set(_) | Change::Clear) | None) => model,
    };
    let rules = settings.key_rules();
    let spawned_by = match patch.spawned_by {
        Some(Change::Set(spawner)) => Some(Change::Set(canonical(&rules, &spawner))),
        cleared @ (Some(Change::Clear) | None) => cleared,
    };
    Patch {
        model,
        spawned_by,
        ..patch
    }
}

/// What a change that was not made means to its caller.
pub(crate) fn refused(error: ChangeError) -> RpcError {
    let text = error.to_string();
    let reason = match error {
        ChangeError::Missing(_) | ChangeError::SpawnerMissing(_) => Reason::SessionNotFound,
        ChangeError::Stale { .. } | ChangeError::OtherVersion { .. } => Reason::Stale,
        ChangeError::Forbidden(faults) => return wire::patch::refused(in_order(faults)),
        ChangeError::LabelInUse(_) => Reason::LabelInUse,
        ChangeError::SpawnRing { .. } => return RpcError::invalid_field("spawnedBy", text),
        ChangeError::Refused(refusal) => return crate::lifecycle::refused(refusal),
        ChangeError::NotArchived(_) => Reason::Protected,
        ChangeError::KeyReused(_) => Reason::KeyReused,
        ChangeError::Store(error) => return store_failed(error),
    };
    RpcError::new(reason, text)
}

/// Faults in the order in which the fields of a patch are judged.
///
/// Source: reg:M26.
fn in_order(mut faults: Vec<Fault>) -> Vec<Fault> {
    faults.sort_by_key(|fault| Patch::FIELDS.iter().position(|field| *field == fault.field));
    faults
}

#[cfg(test)]
mod tests;
