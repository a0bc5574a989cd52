//! Requests as they were read: every field checked, every fault told together.

mod awareness;
mod explain;
mod import;
mod lifecycle;
mod patch;
mod status;

use confab_model::channel::{ChatType, Route};
use confab_model::id::{AgentId, IdempotencyKey, RunId, TenantId};
use confab_model::key::SessionKind;
use confab_model::limits::{
    AGENT_ID_CHARS_MAX, LIST_LIMIT_DEFAULT, LIST_LIMIT_MAX, ROUTE_FIELD_BYTES_MAX,
};
use confab_model::session::Label;
use confab_model::session::levels::SpawnMode;
use confab_proto::registry::v1 as proto;
use confab_proto::types::v1::SessionTarget;
use confab_rpc::error::{RpcError, Violation, Violations};
use confab_rpc::fingerprint::fingerprint;
use confab_rpc::gate::{About, Action, Governed, Question, Target};
use confab_rpc::wire;
use confab_rpc::wire::limits::Limit;
use confab_store::page;
use prost::Message as _;

use crate::activity::Activity;
use crate::awareness::NewEvent;
use crate::limits::{EVENTS_MAX, RECORDS_MAX, SEARCH_BYTES_MAX};
use crate::list::SessionCursor;

pub use awareness::{AckNotices, ListStateEvents, WatchNotices, WatchSessions, WatchTarget};
pub use explain::{Explain, GetToolPolicy, ListAgents};
pub use import::{ImportSession, ImportedFields, ImportedRun, ImportedTimes};
pub(crate) use lifecycle::change_to_wire;
pub use lifecycle::{CommitLifecycle, ListOverdueSessions};
pub use patch::PatchSession;
pub use status::GetStatus;

/// Creates a session.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSession {
    /// The key as given: `main`, a full key or a short form.
    pub session_key: String,
    /// The name people give it.
    pub label: Option<Label>,
    /// Where its answers go.
    pub delivery_context: Option<Route>,
    /// What kind of chat it belongs to.
    pub chat_type: Option<ChatType>,
    /// The session that spawned it, as given: `main` or a full key.
    pub spawned_by: Option<String>,
    /// Whether its agent runs in a sandbox; absent: as its agent's configuration says.
    pub sandboxed: Option<bool>,
    /// What it was spawned for.
    pub spawn_mode: Option<SpawnMode>,
    /// The caller's name for the call.
    pub key: Option<IdempotencyKey>,
    /// What the call says.
    pub fingerprint: String,
}

impl CreateSession {
    /// Reads the request.
    ///
    /// # Errors
    /// With every field that is missing or malformed.
    ///
    /// Source: D36.
    pub fn parse(wire: proto::CreateSessionRequest) -> Result<Self, RpcError> {
        let said = proto::CreateSessionRequest {
            idempotency_key: None,
            ..wire.clone()
        };
        let mut violations = Violations::default();
        let session_key = wire.session_key.trim().to_owned();
        if session_key.is_empty() {
            violations.push(
                "sessionKey",
                "sessionKey is missing: write agent:<agentId>:<rest>, for example agent:main:main",
            );
        }
        let label = label_from_wire(wire.label, &mut violations);
        let delivery_context =
            wire::route::route_from_wire(wire.delivery_context, "deliveryContext", &mut violations);
        let chat_type =
            wire::enums::optional_enum_from_wire(wire.chat_type, "chatType", &mut violations);
        let spawned_by = spawner_from_wire(wire.spawned_by, &mut violations);
        let spawn_mode =
            spawn_mode_from_wire(wire.spawn_mode, spawned_by.is_some(), &mut violations);
        let key = wire::fields::optional_id_from_wire(
            wire.idempotency_key,
            IdempotencyKey::parse,
            "idempotencyKey",
            &mut violations,
        );
        violations.finish()?;
        let sandboxed = wire.sandboxed;
        Ok(Self {
            session_key,
            label,
            delivery_context,
            chat_type,
            spawned_by,
            sandboxed,
            spawn_mode,
            key,
            fingerprint: fingerprint("CreateSession", &said.encode_to_vec()),
        })
    }
}

impl Governed for CreateSession {
    fn action(&self) -> Action {
        Action::Create
    }

    /// The session need not exist, and only roles that see everything may create.
    fn about(&self) -> About {
        About::Nothing
    }
}

/// Finds or reads one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindSession {
    /// The reference.
    pub target: Target,
}

impl FindSession {
    /// Reads the request to read a session.
    ///
    /// # Errors
    /// When no session is named.
    pub fn get(wire: proto::GetSessionRequest) -> Result<Self, RpcError> {
        Self::named(wire.target)
    }

    /// Reads the request to find a session.
    ///
    /// # Errors
    /// When no session is named.
    pub fn resolve(wire: proto::ResolveSessionRequest) -> Result<Self, RpcError> {
        Self::named(wire.target)
    }

    fn named(wire: Option<SessionTarget>) -> Result<Self, RpcError> {
        let target = Target::required(wire, "target")
            .map_err(|violation| RpcError::invalid(vec![violation]))?;
        Ok(Self { target })
    }
}

impl Governed for FindSession {
    fn action(&self) -> Action {
        Action::Read
    }

    fn about(&self) -> About {
        About::One(self.target.clone())
    }
}

/// Lists sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListSessions {
    /// Only these kinds; empty: all.
    pub kinds: Vec<SessionKind>,
    /// Rows on the page.
    pub limit: Limit,
    /// Only sessions that moved within so many minutes.
    pub active_minutes: Option<u32>,
    /// Only sessions with this label.
    pub label: Option<Label>,
    /// Only sessions of this agent.
    pub agent_id: Option<AgentId>,
    /// Only sessions whose key, label, sessionId or model holds this text.
    pub search: Option<String>,
    /// Archived sessions instead of open ones.
    pub archived: bool,
    /// Where the last page ended.
    pub after: Option<SessionCursor>,
}

impl ListSessions {
    /// Reads the request.
    ///
    /// # Errors
    /// With every field that is malformed.
    ///
    /// Source: D14, D15, D54, reg:L4, reg:L6.
    pub fn parse(wire: proto::ListSessionsRequest) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        let kinds = wire::enums::enums_from_wire(&wire.kinds, "kinds", &mut violations);
        let limit = wire::limits::limit_from_wire(
            wire.limit,
            LIST_LIMIT_DEFAULT,
            LIST_LIMIT_MAX,
            "limit",
            &mut violations,
        );
        let active_minutes = minutes_from_wire(wire.active_minutes, &mut violations);
        let label = label_from_wire(wire.label, &mut violations);
        let agent_id = agent_from_wire(wire.agent_id, &mut violations);
        let search = wire::fields::optional_from_wire(
            wire.search,
            SEARCH_BYTES_MAX,
            "search",
            &mut violations,
        );
        let after = cursor_from_wire(wire.page_token, &mut violations);
        violations.finish()?;
        let archived = wire.archived.unwrap_or_default();
        Ok(Self {
            kinds,
            limit,
            active_minutes,
            label,
            agent_id,
            search,
            archived,
            after,
        })
    }
}

impl Governed for ListSessions {
    fn action(&self) -> Action {
        Action::List
    }

    fn about(&self) -> About {
        About::Scope
    }
}

/// Puts another service's question to the authority.
#[derive(Clone, Debug)]
pub struct Authorize {
    /// The question.
    pub question: Question,
}

impl Authorize {
    /// Reads the request.
    ///
    /// # Errors
    /// With every field that is missing or malformed.
    pub fn parse(wire: proto::AuthorizeRequest) -> Result<Self, RpcError> {
        wire::authorize::question_from_wire(wire).map(|question| Self { question })
    }
}

impl Governed for Authorize {
    fn action(&self) -> Action {
        self.question.action
    }

    /// The question is about somebody else's call.
    fn about(&self) -> About {
        About::Nothing
    }
}

/// Records what runs did.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordActivity {
    /// What runs did, in the order it happened.
    pub activities: Vec<Activity>,
    /// What happened to sessions, in order.
    pub events: Vec<NewEvent>,
    /// What is wrong with events that are left out.
    pub faults: Vec<Violation>,
}

impl RecordActivity {
    /// Reads the request.
    ///
    /// # Errors
    /// With every field that is missing or malformed.
    pub fn parse(wire: proto::RecordActivityRequest) -> Result<Self, RpcError> {
        let given = wire.records.len();
        if given > RECORDS_MAX {
            let text = format!("records has {given} entries: at most {RECORDS_MAX} are allowed");
            return Err(RpcError::invalid_field("records", text));
        }
        let given_events = wire.events.len();
        if given_events > EVENTS_MAX {
            let text =
                format!("events has {given_events} entries: at most {EVENTS_MAX} are allowed");
            return Err(RpcError::invalid_field("events", text));
        }
        let mut violations = Violations::default();
        let mut activities = Vec::with_capacity(given);
        for (index, record) in wire.records.into_iter().enumerate() {
            activities.extend(activity_from_wire(record, index, &mut violations));
        }
        violations.finish()?;
        let (events, faults) = awareness::events_from_wire(wire.events);
        Ok(Self {
            activities,
            events,
            faults,
        })
    }
}

impl Governed for RecordActivity {
    fn action(&self) -> Action {
        Action::FlowRun
    }

    /// The runs were authorised when they were accepted.
    fn about(&self) -> About {
        About::Nothing
    }
}

fn activity_from_wire(
    wire: proto::ActivityRecord,
    index: usize,
    violations: &mut Violations,
) -> Option<Activity> {
    let path = |name: &str| format!("records[{index}].{name}");
    let tokens = |count: Option<i64>| count.and_then(|count| u64::try_from(count).ok());
    let tenant =
        wire::fields::id_from_wire(wire.tenant, TenantId::parse, &path("tenant"), violations);
    let session_key =
        wire::fields::key_from_wire(&wire.session_key, &path("sessionKey"), violations);
    let run_id = wire::fields::id_from_wire(wire.run_id, RunId::parse, &path("runId"), violations);
    let state = wire::enums::enum_from_wire(wire.state, &path("state"), violations);
    if wire.occurred_at.is_none() {
        violations.push(
            path("occurredAt"),
            "occurredAt is missing: say when it happened",
        );
    }
    let occurred_at = wire::time::time_from_wire(wire.occurred_at, &path("occurredAt"), violations);
    let started_at = wire::time::time_from_wire(wire.started_at, &path("startedAt"), violations);
    let ended_at = wire::time::time_from_wire(wire.ended_at, &path("endedAt"), violations);
    let inbound_route =
        wire::route::route_from_wire(wire.inbound_route, &path("inboundRoute"), violations);
    Some(Activity {
        tenant: tenant?,
        session_key: session_key?,
        run_id: run_id?,
        state: state?,
        occurred_at: occurred_at?,
        started_at,
        ended_at,
        model: wire.model,
        total_tokens: tokens(wire.total_tokens),
        input_tokens: tokens(wire.input_tokens),
        output_tokens: tokens(wire.output_tokens),
        person: wire.person,
        inbound_route,
    })
}

/// Reads what a session was spawned for, which only a spawned one has.
fn spawn_mode_from_wire(
    word: Option<String>,
    spawned: bool,
    violations: &mut Violations,
) -> Option<SpawnMode> {
    let word = word.filter(|word| !word.trim().is_empty())?;
    if !spawned {
        violations.push(
            "spawnMode",
            "spawnMode is given without spawnedBy: name the session that spawned it, or leave \
             spawnMode out",
        );
    }
    let mode = SpawnMode::parse(&word)
        .ok_or_else(|| Violation::new("spawnMode", "invalid spawnMode (use \"run\"|\"session\")"));
    violations.keep(mode)
}

fn label_from_wire(text: Option<String>, violations: &mut Violations) -> Option<Label> {
    let text = text.filter(|text| !text.is_empty())?;
    let label = Label::parse(&text).map_err(|error| Violation::new("label", error.to_string()));
    violations.keep(label)
}

/// Reads who spawned a session: `main`, whose meaning the settings tell later, or a full key.
fn spawner_from_wire(text: Option<String>, violations: &mut Violations) -> Option<String> {
    let text = text.filter(|text| !text.trim().is_empty())?;
    if !text.trim().eq_ignore_ascii_case("main") {
        wire::fields::key_from_wire(&text, "spawnedBy", violations)?;
    }
    Some(text)
}

fn agent_from_wire(text: Option<String>, violations: &mut Violations) -> Option<AgentId> {
    let text =
        wire::fields::optional_from_wire(text, ROUTE_FIELD_BYTES_MAX, "agentId", violations)?;
    let characters = text.trim().chars().count();
    if characters > AGENT_ID_CHARS_MAX {
        violations.push(
            "agentId",
            format!(
                "agentId has {characters} characters: at most {AGENT_ID_CHARS_MAX} are allowed"
            ),
        );
        return None;
    }
    Some(AgentId::normalise(&text))
}

fn minutes_from_wire(given: Option<i32>, violations: &mut Violations) -> Option<u32> {
    let given = given?;
    let minutes = u32::try_from(given).ok().filter(|minutes| *minutes > 0);
    if minutes.is_none() {
        let text = format!("activeMinutes must be a positive integer: {given} is not");
        violations.push("activeMinutes", text);
    }
    minutes
}

fn cursor_from_wire(token: Option<String>, violations: &mut Violations) -> Option<SessionCursor> {
    let token = token.filter(|token| !token.is_empty())?;
    let cursor =
        page::decode(&token).map_err(|error| Violation::new("pageToken", error.to_string()));
    violations.keep(cursor)
}
