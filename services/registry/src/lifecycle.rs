//! The registry's half of reset, archive, restore and delete.
//!
//! The runner decides a change, because it knows of the session's work; here it is judged once more
//! on the row as it is, and committed with all that follows from it. Nothing else changes the
//! generation of a session or whether it is archived.

use confab_model::id::SessionId;
use confab_policy::lifecycle::{Refusal, RefusalKind};
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::Admitted;

use crate::Sessions;
use crate::commands::CommitLifecycle;
use crate::patch;
use crate::store::RegistryStore;
use crate::store::change::{Commit, Committed, Expected};

impl<S: RegistryStore> Sessions<S> {
    /// Commits a lifecycle change. A repetition of the same change meets its first answer, whatever
    /// has happened since; archiving an archived session and restoring an open one change nothing.
    ///
    /// # Errors
    /// When the session is missing, protected, or another than the one that the change was decided
    /// on; when it is archived and is to be reset; when the fields to set are refused; when the
    /// store fails.
    ///
    /// Source: D26, D56, reg:C5, reg:C7, reg:C9, reg:C10, reg:C11, reg:M13, reg:M15.
    pub async fn commit_lifecycle(
        &self,
        call: Admitted<CommitLifecycle>,
    ) -> Result<Committed, RpcError> {
        let (request, caller, _) = call.into_parts();
        let settings = self.settings.current();
        let now = self.clock.now();
        let key = request.session_key;
        let faults = patch::model_fault(&settings, &request.patch);
        let commit = Commit {
            faults: faults.into_iter().collect(),
            patch: patch::settled(&settings, &key, request.patch),
            change: request.change,
            change_id: request.change_id,
            expected: Expected {
                session_id: request.expected_session_id,
                work_epoch: request.expected_work_epoch,
                row_version: request.expected_row_version,
            },
            archived_only: request.archived_only,
            next_session_id: SessionId::from_uuid(self.ids.next()),
            expires_at: patch::forgotten_at(now),
            key: key.clone(),
            now,
        };
        let committed = self.store.commit(&caller.tenant, commit).await;
        let committed = committed.map_err(patch::refused)?;
        let change = request.change.as_str();
        tracing::info!(session.key = %key, change, changed = committed.changed, "lifecycle change");
        Ok(committed)
    }
}

/// What a refusal by the lifecycle means to its caller.
pub(crate) fn refused(refusal: Refusal) -> RpcError {
    let reason = match refusal.kind {
        RefusalKind::Protected => Reason::Protected,
        RefusalKind::Archived => Reason::SessionArchived,
        RefusalKind::Stale => Reason::Stale,
    };
    RpcError::new(reason, refusal.message)
}

#[cfg(test)]
mod tests;
