//! A session's status: its row, a card for people, and what changed.

mod card;

use confab_config::Settings;
use confab_model::key::SessionKey;
use confab_model::session::Session;
use confab_rpc::error::RpcError;
use confab_rpc::gate::Admitted;

use crate::Sessions;
use crate::awareness::StateChanges;
use crate::commands::GetStatus;
use crate::store::RegistryStore;

/// A session's status.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// Its row.
    pub session: Session,
    /// The card for people, several lines.
    pub card: String,
    /// The model it would run with had it no model of its own; absent where its driver decides.
    pub default_model: Option<String>,
    /// The state changes asked for.
    pub changes: Option<StateChanges>,
}

impl<S: RegistryStore> Sessions<S> {
    /// A session's status.
    ///
    /// # Errors
    /// When the store fails.
    ///
    /// Source: reg:S7, reg:S8, reg:S14, B188.
    pub async fn status(&self, call: Admitted<GetStatus>) -> Result<Status, RpcError> {
        let session = call.session()?.clone();
        let (request, caller, _) = call.into_parts();
        let changes = match request.changes_since {
            Some(since) => Some(self.state_changes(&caller.tenant, &session, since).await?),
            None => None,
        };
        let default_model = default_model(&self.settings.current(), &session);
        let card = card::Card {
            session: &session,
            shown_as: session.key.display_for(caller.session()),
            default_model: default_model.as_deref(),
            now: self.clock.now(),
        };
        Ok(Status {
            card: card.to_string(),
            default_model,
            changes,
            session,
        })
    }
}

/// The model that the session's agent is configured with.
pub(crate) fn default_model(settings: &Settings, session: &Session) -> Option<String> {
    configured_model(settings, &session.key).map(str::to_owned)
}

/// The model that the agent of a key is configured with; the one session that serves all has that of
/// the default agent.
pub(crate) fn configured_model<'a>(settings: &'a Settings, key: &SessionKey) -> Option<&'a str> {
    let agent = key.agent_id();
    let agent = agent
        .as_ref()
        .unwrap_or_else(|| settings.agents.default_agent());
    settings.agents.get(agent)?.model.as_deref()
}

#[cfg(test)]
mod tests;
