//! Storing sessions that another system kept: its keys, sessionIds and times are theirs for good.
//!
//! An import names what it brings, so it needs no name of its own: a repetition finds everything as
//! given and changes nothing.

mod judge;
mod shown;

use confab_config::Settings;
use confab_model::clock::Timestamp;
use confab_model::id::SessionId;
use confab_model::key::SessionKey;
use confab_model::session::Session;
use confab_proto::registry::v1 as proto;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::Admitted;

use crate::commands::{ImportSession, ImportedTimes};
use crate::create::sandboxed_by_default;
use crate::store::{RegistryStore, Row};
use crate::{Sessions, store_failed};

pub use judge::Judged;
pub(crate) use shown::not_kept;

/// A session to import, and the moment at which it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Importing {
    /// What was asked.
    pub request: ImportSession,
    /// The row of a session with this key and sessionId and these times, of which nothing else is
    /// told: what the import begins with where the key is new.
    pub fresh: Session,
    /// The present moment.
    pub now: Timestamp,
}

/// What the database knows of a session to import.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The row under its key.
    pub stored: Option<Row>,
    /// Whether another session of the agent has its label.
    pub label_taken: bool,
    /// The session that is to have spawned it; absent where it does not exist, or none is named.
    pub spawner: Option<Session>,
    /// Whether that session descends from this one.
    pub spawner_descends: bool,
    /// Those of its sessionIds that are stored.
    pub holders: Vec<Holder>,
}

/// Whose a sessionId is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The sessionId.
    pub session_id: SessionId,
    /// The key of its session.
    pub key: SessionKey,
    /// Whether that session was deleted.
    pub deleted: bool,
}

/// What became of an imported session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportOutcome {
    /// It was new.
    Created,
    /// It is stored already, as given.
    Unchanged,
    /// Its key, or one of its sessionIds, is stored with other content, which was left alone.
    Differs,
    /// It took the place of other content.
    Replaced,
}

impl From<ImportOutcome> for proto::ImportOutcome {
    fn from(outcome: ImportOutcome) -> Self {
        match outcome {
            ImportOutcome::Created => Self::Created,
            ImportOutcome::Unchanged => Self::Unchanged,
            ImportOutcome::Differs => Self::Differs,
            ImportOutcome::Replaced => Self::Replaced,
        }
    }
}

/// What became of an imported session, and how it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// What became of it.
    pub outcome: ImportOutcome,
    /// The session under its key; absent where there is none.
    pub session: Option<Session>,
    /// Fields that are, or were, stored otherwise: a sentence each.
    pub differences: Vec<String>,
    /// What was given and not kept: a sentence each.
    pub left_out: Vec<String>,
}

impl<S: RegistryStore> Sessions<S> {
    /// Stores a session that another system kept. A field that is not given is neither compared nor
    /// changed, and one that cannot be kept is left out and told. The same import again is answered
    /// with `Unchanged`, also beside itself, so it needs no idempotency key. Where other content is
    /// stored, that stays, unless it is to be replaced; then its work epoch rises, so that work that
    /// was authorised for it is refused.
    ///
    /// # Errors
    /// When the key's agent is not configured, or the store fails.
    ///
    /// Source: D4, D5, D26, D78.
    pub async fn import(&self, call: Admitted<ImportSession>) -> Result<Imported, RpcError> {
        let (request, caller, _) = call.into_parts();
        let settings = self.settings.current();
        refuse_unknown_agent(&settings, &request.key)?;
        let dry_run = request.dry_run;
        let importing = Importing::at(self.clock.now(), &settings, request);
        let key = importing.request.key.clone();
        let imported = self.store.import(&caller.tenant, importing).await;
        let imported = imported.map_err(store_failed)?;
        if !dry_run {
            tell(&key, imported.outcome);
        }
        Ok(imported)
    }
}

impl Importing {
    fn at(now: Timestamp, settings: &Settings, request: ImportSession) -> Self {
        let ImportedTimes {
            created_at,
            updated_at,
            session_started_at,
            ..
        } = request.times;
        let made = created_at.or(updated_at).unwrap_or(now);
        let (key, session_id) = (request.key.clone(), request.session_id.clone());
        let fresh = Session {
            updated_at: updated_at.unwrap_or(made),
            session_started_at: session_started_at.unwrap_or(made),
            sandboxed: sandboxed_by_default(settings, &request.key),
            ..Session::fresh(key, session_id, made)
        };
        Self {
            request,
            fresh,
            now,
        }
    }
}

/// Source: D5.
pub(crate) fn refuse_unknown_agent(settings: &Settings, key: &SessionKey) -> Result<(), RpcError> {
    match key.agent_id() {
        Some(agent) if !settings.key_rules().knows(&agent) => Err(RpcError::new(
            Reason::SessionNotFound,
            format!("agent not found: {agent}: add it to agents.list, then import {key} again"),
        )),
        Some(_) | None => Ok(()),
    }
}

fn tell(key: &SessionKey, outcome: ImportOutcome) {
    match outcome {
        ImportOutcome::Created => tracing::info!(session.key = %key, "session imported"),
        ImportOutcome::Replaced => {
            tracing::info!(session.key = %key, "session replaced by an import");
        },
        ImportOutcome::Unchanged | ImportOutcome::Differs => {
            tracing::debug!(session.key = %key, ?outcome, "nothing imported");
        },
    }
}

#[cfg(test)]
mod tests;
