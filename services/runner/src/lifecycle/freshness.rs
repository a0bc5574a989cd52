//! Sessions that were left alone too long begin anew: before a person's next message, and never by a
//! clock alone, so that nothing happens to a session that nobody uses.
//!
//! Source: D75, reg:X13.

use confab_model::session::patch::Patch;
use confab_policy::lifecycle::Change;
use confab_rpc::caller::Caller;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::Target;

use super::{Lifecycle, Setback, Terms};
use crate::accept::{Acceptance, Admission};
use crate::commands::{ChangeSession, HumanMessage};
use crate::store::RunnerStore;

impl<S: RunnerStore> Lifecycle<S> {
    /// Resets the session of a person's message where `session.reset` says that it is stale, and
    /// judges the message again. A session that has work is left as it is.
    ///
    /// # Errors
    /// When the reset fails, or the message is refused afterwards.
    ///
    /// Source: D75, reg:X13.
    pub async fn refresh(
        &self,
        acceptance: &Acceptance<S>,
        admission: Admission<HumanMessage>,
    ) -> Result<Admission<HumanMessage>, RpcError> {
        let Admission::Fresh(admitted) = &admission else {
            return Ok(admission);
        };
        let session = admitted.session()?;
        let settings = self.context.settings();
        let route = admitted.request().route.as_ref();
        let channel = route.map(|route| route.channel.as_str());
        let rule = settings.session.reset.rule(&session.key, channel);
        let (started, used) = (session.session_started_at, session.last_interaction_at);
        if !rule.is_stale(started, used, self.context.now()) {
            return Ok(admission);
        }
        let command = ChangeSession {
            change: Change::Reset,
            target: Target::key(&session.key),
            expected_session_id: Some(session.session_id.clone()),
            force: false,
            archived_only: false,
            patch: Patch::default(),
            key: None,
            fingerprint: String::new(),
        };
        let system = Caller::system("freshness", admitted.caller().tenant.clone());
        match self.attempt(&system, &command, Terms::default()).await {
            Ok(_) => tracing::info!(session.key = %session.key, "stale session reset"),
            Err(Setback::Refused(error)) if error.reason == Reason::SessionBusy => {
                return Ok(admission);
            },
            // Another message came first, and found it stale as well.
            Err(Setback::UnderWay(_) | Setback::Outdated(_)) => {},
            Err(Setback::Refused(error)) if error.reason == Reason::Stale => {},
            Err(Setback::Refused(error)) => return Err(error),
        }
        acceptance.judge_again(admitted).await.map(Admission::Fresh)
    }
}
