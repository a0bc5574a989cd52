//! Making sessions: on purpose, and on their first use.

use confab_config::Settings;
use confab_config::settings::SandboxMode;
use confab_model::key::SessionKey;
use confab_model::session::{Session, Spawn};
use confab_rpc::caller::Caller;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::{Admitted, Target};

use crate::commands::CreateSession;
use crate::meaning::Reader;
use crate::store::change::KeyUse;
use crate::store::{Creation, RegistryStore};
use crate::{Sessions, patch, store_failed};

/// A session, and whether this call made it.
#[derive(Clone, Debug, PartialEq)]
pub struct Created {
    /// The session.
    pub session: Session,
    /// Whether this call made it.
    pub created: bool,
}

impl<S: RegistryStore> Sessions<S> {
    /// What the caller's same call was answered with before, whatever has become of the session
    /// since.
    ///
    /// # Errors
    /// When the key names a call with other content, or the store fails.
    ///
    /// Source: D36, B222.
    pub async fn created_before(
        &self,
        caller: &Caller,
        request: &CreateSession,
    ) -> Result<Option<Created>, RpcError> {
        let answer = self
            .answered_before(caller, request.key.as_ref(), &request.fingerprint)
            .await?;
        Ok(answer.map(|answer| Created {
            session: answer.session,
            created: answer.changed,
        }))
    }

    /// Creates a session, or answers with the one that exists. An existing one is never changed: if
    /// what is asked differs from what is stored, the call is refused.
    ///
    /// # Errors
    /// When the key is none or its agent not configured, the label taken, the spawning session
    /// missing, or the session exists with other fields.
    ///
    /// Source: D4, D5, D36, D51, B010, reg:M5, reg:M9.
    pub async fn create(&self, call: Admitted<CreateSession>) -> Result<Created, RpcError> {
        let (request, caller, _) = call.into_parts();
        let settings = self.settings.current();
        let rules = settings.key_rules();
        let spawner = |text: &String| {
            let key = rules.canonicalise(text, None, None);
            key.map_err(|error| RpcError::invalid_field("spawnedBy", error.to_string()))
        };
        let spawned_by = request.spawned_by.as_ref().map(spawner).transpose()?;
        let key = readable_key(&settings, &request.session_key)?;
        if spawned_by.as_ref() == Some(&key) {
            return Err(RpcError::invalid_field(
                "spawnedBy",
                format!("spawnedBy is {key} itself: a session cannot spawn itself"),
            ));
        }
        let fresh = Session {
            label: request.label.clone(),
            delivery_context: request.delivery_context.clone(),
            chat_type: request.chat_type,
            spawned_by: spawned_by.clone(),
            spawn: Spawn {
                mode: request.spawn_mode,
                ..Spawn::default()
            },
            sandboxed: request
                .sandboxed
                .unwrap_or_else(|| sandboxed_by_default(&settings, &key)),
            ..self.fresh(&settings, key)
        };
        let (key, fingerprint) = (request.key.clone(), request.fingerprint.clone());
        let key_use = patch::key_use(&caller, key, fingerprint, fresh.created_at);
        let creation = self.make(&caller, fresh, key_use).await?;
        let created = outcome(creation)?;
        if created.created {
            tracing::info!(session.key = %created.session.key, "session created");
        } else {
            refuse_other_fields(&request, spawned_by.as_ref(), &created.session)?;
        }
        Ok(created)
    }

    async fn make(
        &self,
        caller: &Caller,
        fresh: Session,
        key_use: Option<KeyUse>,
    ) -> Result<Creation, RpcError> {
        let (store, tenant) = (&self.store, &caller.tenant);
        match key_use {
            Some(key_use) => {
                let creation = store.create_named(tenant, fresh, key_use).await;
                creation.map_err(patch::refused)
            },
            None => store.create(tenant, fresh).await.map_err(store_failed),
        }
    }

    /// A session to which nothing has happened yet.
    pub(crate) fn fresh(&self, settings: &Settings, key: SessionKey) -> Session {
        let session_id = confab_model::id::SessionId::from_uuid(self.ids.next());
        Session {
            sandboxed: sandboxed_by_default(settings, &key),
            ..Session::fresh(key, session_id, self.clock.now())
        }
    }
}

/// The key that `given` means, of a configured agent.
fn readable_key(settings: &Settings, given: &str) -> Result<SessionKey, RpcError> {
    let key = named_key(settings, given)?;
    match key.agent_id() {
        Some(agent) if !settings.key_rules().knows(&agent) => Err(RpcError::new(
            Reason::SessionNotFound,
            format!("agent not found: {agent}"),
        )),
        Some(_) | None => Ok(key),
    }
}

/// The one name of the key that `given` means, whatever its agent.
///
/// Source: D3, D4.
pub(crate) fn named_key(settings: &Settings, given: &str) -> Result<SessionKey, RpcError> {
    let rules = settings.key_rules();
    let reader = Reader {
        rules: &rules,
        requester: None,
    };
    let meaning = reader.read(&Target::reference(given))?;
    let key = meaning.key.as_ref().and_then(|key| key.creatable());
    key.cloned().ok_or_else(|| {
        RpcError::invalid_field(
            "sessionKey",
            format!("sessionKey `{given}` is a sessionId: write agent:<agentId>:<rest>"),
        )
    })
}

/// Whether the configuration puts a new session into a sandbox.
///
/// Source: D78.
pub(crate) fn sandboxed_by_default(settings: &Settings, key: &SessionKey) -> bool {
    let agent = key.agent_id();
    let mode = agent
        .and_then(|agent| settings.agents.get(&agent))
        .map(|agent| agent.sandbox);
    match mode {
        Some(SandboxMode::All) => true,
        Some(SandboxMode::NonMain) => !key.is_main(),
        Some(SandboxMode::Off) | None => false,
    }
}

/// How many spawns deep a new child of `spawner` is: stored for keys of spawned sessions only.
///
/// Source: D37, reg:V20.
pub(crate) fn child_depth(child: &Session, spawner: &Session) -> Option<u32> {
    let depth = || spawner.subagent_depth().saturating_add(1);
    let stored = child.spawn.depth;
    stored.or_else(|| child.key.bears_lineage().then(depth))
}

/// What the store's answer means to a caller.
pub(crate) fn outcome(creation: Creation) -> Result<Created, RpcError> {
    match creation {
        Creation::Created(session) => Ok(Created {
            session,
            created: true,
        }),
        Creation::Exists(session) => Ok(Created {
            session,
            created: false,
        }),
        Creation::LabelInUse(label) => Err(RpcError::new(
            Reason::LabelInUse,
            format!("label already in use: {}", label.as_str()),
        )),
        Creation::SpawnerMissing(key) => Err(RpcError::new(
            Reason::SessionNotFound,
            format!("No session found: {key}"),
        )),
    }
}

/// An existing session is answered as it is; a caller who asked for something else must know.
fn refuse_other_fields(
    request: &CreateSession,
    spawned_by: Option<&SessionKey>,
    stored: &Session,
) -> Result<(), RpcError> {
    let differs = [
        (
            "label",
            request.label.is_some() && request.label != stored.label,
        ),
        (
            "deliveryContext",
            request.delivery_context.is_some()
                && request.delivery_context != stored.delivery_context,
        ),
        (
            "chatType",
            request.chat_type.is_some() && request.chat_type != stored.chat_type,
        ),
        (
            "spawnedBy",
            spawned_by.is_some() && spawned_by != stored.spawned_by.as_ref(),
        ),
        (
            "spawnMode",
            request.spawn_mode.is_some() && request.spawn_mode != stored.spawn.mode,
        ),
        (
            "sandboxed",
            request
                .sandboxed
                .is_some_and(|asked| asked != stored.sandboxed),
        ),
    ];
    let fields: Vec<&str> = differs
        .into_iter()
        .filter(|(_, differs)| *differs)
        .map(|(field, _)| field)
        .collect();
    if fields.is_empty() {
        return Ok(());
    }
    let text = format!(
        "session {key} exists with another {}: leave that out, change what can be changed with \
         `confab sessions patch {key}`, or create another key",
        fields.join(", "),
        key = stored.key,
    );
    Err(RpcError::new(Reason::SessionExists, text))
}

#[cfg(test)]
mod tests;
