//! `session_status`: how one session stands, where it speaks, what happened to it; and its model.

mod active;
mod changes;
mod text;

use confab_model::key::SessionKey;
use confab_model::limits::{KEY_BYTES_MAX, MODEL_BYTES_MAX};
use confab_proto::registry::v1::{
    GetStatusRequest, GetStatusResponse, PatchSessionRequest, SessionPatch,
};
use confab_proto::types::v1::{Origin, Route, Session, SessionTarget};
use confab_rpc::caller::Caller;
use confab_rpc::clients::RegistryClient;
use confab_rpc::error::RpcError;
use confab_rpc::wire::WireError;
use prost_types::FieldMask;
use schemars::JsonSchema;
use serde_json::{Map, Value};

use crate::input::{Fields, Length, Whole};
use crate::object::Object;
use crate::shown;
use crate::toolbox::{Clients, answer};

/// The reference that means the caller's own session.
const OWN: &str = "current";
/// The word that takes a session's own model away.
const DEFAULT_MODEL: &str = "default";
/// First parts of keys that look like channels and are none.
const NO_CHANNELS: [&str; 4] = ["main", "cron", "subagent", "acp"];

/// Which model a session shall run with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ModelChoice {
    /// This one.
    Own(String),
    /// The one that the configuration says.
    Default,
}

/// Arguments of `session_status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Input {
    /// The session: a key or a `sessionId` from `sessions_list`, or `main` or `current`; left out:
    /// your own.
    #[schemars(length(min = 1, max = KEY_BYTES_MAX))]
    pub(crate) session_key: Option<String>,
    /// Give the session this model from its next run on; `default` or an empty text takes its own
    /// model away. Leave it out to change nothing.
    #[schemars(with = "Option<String>", length(max = MODEL_BYTES_MAX))]
    pub(crate) model: Option<ModelChoice>,
    /// Tell what happened to the session after this `stateVersion`; 0 tells everything that is
    /// kept.
    #[schemars(range(min = 0))]
    pub(crate) changes_since: Option<i64>,
}

impl Input {
    /// Reads the arguments of a caller that has a session of its own, or has none and must name one.
    ///
    /// # Errors
    /// When anything is wrong with them; all of it is told.
    ///
    /// Source: contract, reg:S1, reg:S2, reg:S5.
    pub(crate) fn parse(given: &Map<String, Value>, has_session: bool) -> Result<Self, RpcError> {
        let mut fields = Fields::new(given);
        let input = Self {
            session_key: if has_session {
                fields.text("sessionKey", Length::Bytes(KEY_BYTES_MAX))
            } else {
                Some(fields.required_text("sessionKey", Length::Bytes(KEY_BYTES_MAX)))
            },
            model: fields
                .text_or_blank("model", Length::Bytes(MODEL_BYTES_MAX))
                .map(|word| ModelChoice::of(&word)),
            changes_since: fields.whole("changesSince", Whole::NotNegative),
        };
        fields.finish()?;
        Ok(input)
    }

    /// The session; without one the caller's own, by its key, so that a refusal names something that
    /// somebody wrote.
    fn target(&self, caller: &Caller) -> SessionTarget {
        let own = || {
            caller
                .session()
                .map_or_else(|| OWN.to_owned(), ToString::to_string)
        };
        SessionTarget {
            session_key: Some(self.session_key.clone().unwrap_or_else(own)),
            ..SessionTarget::default()
        }
    }
}

impl ModelChoice {
    fn of(word: &str) -> Self {
        let word = word.trim();
        if word.is_empty() || word.eq_ignore_ascii_case(DEFAULT_MODEL) {
            Self::Default
        } else {
            Self::Own(word.to_owned())
        }
    }

    /// The model and nothing else; a field that the mask names and the patch lacks is cleared.
    fn into_request(self, target: SessionTarget, key: Option<String>) -> PatchSessionRequest {
        let model = match self {
            Self::Own(model) => Some(model),
            Self::Default => None,
        };
        PatchSessionRequest {
            target: Some(target),
            patch: Some(SessionPatch {
                model,
                ..SessionPatch::default()
            }),
            update_mask: Some(FieldMask {
                paths: vec!["model".to_owned()],
            }),
            expected_row_version: None,
            idempotency_key: key,
        }
    }
}

/// Reads a status for `caller`, and before that sets the session's model, where one is asked for.
///
/// Whether the caller may see the status is settled before the model changes: the first reading is
/// nothing but that question.
///
/// # Errors
/// When the registry refuses or fails.
///
/// Source: contract, D36, reg:S5, reg:S6, reg:S13.
pub(crate) async fn call(
    clients: &Clients,
    caller: &Caller,
    input: Input,
    call_key: Option<String>,
) -> Result<Object, RpcError> {
    let mut registry = clients.registry.on_behalf_of(caller);
    let target = input.target(caller);
    let mut changed_model = false;
    if let Some(choice) = input.model {
        read(&mut registry, target.clone(), None).await?;
        let request = choice.into_request(target.clone(), call_key);
        changed_model = answer(registry.patch_session(request).await)?.changed;
    }
    let mut status = read(&mut registry, target, input.changes_since).await?;
    let session = status.session.take().ok_or(missing("status.session"))?;
    let active = active::route(clients, caller, &session.key).await;
    let told = Told {
        session,
        status,
        active,
        changed_model,
        with_changes: input.changes_since.is_some(),
    };
    told.into_result(caller.session())
}

async fn read(
    registry: &mut RegistryClient,
    target: SessionTarget,
    changes_since: Option<i64>,
) -> Result<GetStatusResponse, RpcError> {
    let request = GetStatusRequest {
        target: Some(target),
        changes_since,
    };
    answer(registry.get_status(request).await)
}

const fn missing(field: &'static str) -> WireError {
    WireError::Missing { field }
}

/// Everything a result is made of.
#[derive(Debug)]
struct Told {
    session: Session,
    /// Without its session.
    status: GetStatusResponse,
    active: Option<Route>,
    changed_model: bool,
    with_changes: bool,
}

impl Told {
    /// Source: reg:S9, reg:S13.
    fn into_result(self, asker: shown::Asker<'_>) -> Result<Object, RpcError> {
        let version = self.session.state_version;
        let places = self.places();
        let changes = if self.with_changes {
            let changes = self.status.changes.ok_or(missing("status.changes"))?;
            Some(changes::of(changes, asker)?)
        } else {
            None
        };
        let text = text::compose(
            &self.status.status_text,
            &places,
            changes.as_ref().map(|changes| (version, changes)),
        );
        let result = Object::default()
            .set("ok", true)
            .set("sessionKey", self.session.display_key.as_str())
            .set("changedModel", self.changed_model)
            .set("stateVersion", version)
            .set_if("stateChanges", changes);
        let result = set_models(result, &self.session, self.status.default_model);
        Ok(result.set("statusText", text).set_all(places))
    }

    /// Where the session comes from, where its live run speaks, where its answers go: three things
    /// that are never merged.
    ///
    /// Source: reg:S10, reg:S11, reg:S12.
    fn places(&self) -> Map<String, Value> {
        let session = &self.session;
        Object::default()
            .set_if("origin", origin(session))
            .set_if("active", self.active.as_ref().map(shown::route))
            .set_if(
                "deliveryContext",
                session.delivery_context.as_ref().map(shown::route),
            )
            .into_map()
    }
}

/// What ran outranks what is configured; what the session chose and what it would run with
/// otherwise stand beside it.
///
/// Source: D58, reg:S13, B188, B191.
fn set_models(result: Object, session: &Session, default_model: Option<String>) -> Object {
    let model = session.model.clone();
    let model = model
        .or_else(|| session.model_override.clone())
        .or_else(|| default_model.clone());
    let provider = model.as_deref().and_then(|model| model.split_once('/'));
    let provider = provider.map(|(provider, _)| provider.to_owned());
    result
        .set_if("model", model)
        .set_if("defaultModel", default_model)
        .set_if("modelOverride", session.model_override.as_deref())
        .set_if(
            "modelProvider",
            provider.filter(|provider| !provider.is_empty()),
        )
}

/// Where the session comes from; the channel of its key stands in for a provider that nobody
/// noted.
///
/// Source: reg:S10.
fn origin(session: &Session) -> Option<Value> {
    let unknown = Origin::default();
    let origin = session.origin.as_ref().unwrap_or(&unknown);
    let provider = origin.provider.clone();
    Object::default()
        .set_if(
            "provider",
            provider.or_else(|| channel_of_key(&session.key)),
        )
        .set_if("accountId", origin.account_id.as_deref())
        .set_if("threadId", origin.thread_id.as_deref())
        .into_filled()
}

fn channel_of_key(key: &str) -> Option<String> {
    let channel = SessionKey::parse(key).ok()?.shape().channel;
    channel.filter(|channel| !NO_CHANNELS.contains(&channel.as_str()))
}
