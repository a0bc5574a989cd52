//! Requests about what happened to sessions, and who watches whom.

use confab_model::id::{RunId, TenantId};
use confab_model::key::SessionKey;
use confab_model::limits::ID_BYTES_MAX;
use confab_proto::registry::v1 as proto;
use confab_rpc::error::{RpcError, Violation, Violations};
use confab_rpc::gate::{About, Action, Governed, Target};
use confab_rpc::wire::enums::enum_from_wire;
use confab_rpc::wire::fields;
use confab_rpc::wire::limits::limit_from_wire;
use confab_rpc::wire::time::time_from_wire;
use confab_store::page;

use crate::awareness::{Account, Actor, EventKind, NewEvent, NoticeId, account};
use crate::changes::Place;
use crate::limits::{DETAIL_BYTES_MAX, NOTICES_MAX, STATE_EVENTS_LIMIT_MAX};

/// Lists what happened to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListStateEvents {
    /// The session.
    pub target: Target,
    /// Only events behind this sequence.
    pub after: u64,
    /// Events on the page.
    pub limit: usize,
}

impl ListStateEvents {
    /// Reads the request.
    ///
    /// # Errors
    /// With every field that is missing or malformed.
    ///
    /// Source: reg:W27.
    pub fn parse(wire: proto::ListStateEventsRequest) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        let target = violations.keep(Target::required(wire.target, "target"));
        let after = sequence_from_wire(wire.after_sequence, "afterSequence", &mut violations);
        let limit = limit_from_wire(
            wire.limit,
            STATE_EVENTS_LIMIT_MAX,
            STATE_EVENTS_LIMIT_MAX,
            "limit",
            &mut violations,
        );
        violations.finish()?;
        Ok(Self {
            target: target.unwrap_or_default(),
            after,
            limit: usize::try_from(limit.value).unwrap_or(usize::MAX),
        })
    }
}

impl Governed for ListStateEvents {
    fn action(&self) -> Action {
        Action::Status
    }

    fn about(&self) -> About {
        About::One(self.target.clone())
    }
}

/// Registers a watcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchTarget {
    /// The session that watches.
    pub watcher: SessionKey,
    /// The session it watches.
    pub target: SessionKey,
}

impl WatchTarget {
    /// Reads the request.
    ///
    /// # Errors
    /// With every field that is missing or malformed.
    pub fn parse(wire: proto::WatchTargetRequest) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        let proto::WatchTargetRequest {
            watcher_key,
            target_key,
        } = wire;
        let watcher = fields::key_from_wire(&watcher_key, "watcherKey", &mut violations);
        let target = fields::key_from_wire(&target_key, "targetKey", &mut violations);
        violations.finish()?;
        let both = watcher.zip(target);
        both.map(|(watcher, target)| Self { watcher, target })
            .ok_or_else(|| RpcError::invalid_field("watcherKey", "the keys cannot be read"))
    }
}

impl Governed for WatchTarget {
    fn action(&self) -> Action {
        Action::Send
    }

    /// The send that asks for it was authorised when it was accepted.
    fn about(&self) -> About {
        About::Nothing
    }
}

/// Follows the notices owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchNotices;

impl WatchNotices {
    /// Reads the request.
    ///
    /// # Errors
    /// Never: there is nothing to be read.
    pub const fn parse(_wire: proto::WatchNoticesRequest) -> Result<Self, RpcError> {
        Ok(Self)
    }
}

impl Governed for WatchNotices {
    fn action(&self) -> Action {
        Action::FlowRun
    }

    /// Services only, which see everything.
    fn about(&self) -> About {
        About::Nothing
    }
}

/// Says that notices were taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AckNotices {
    /// Which; names that are none are left out.
    pub notices: Vec<NoticeId>,
}

impl AckNotices {
    /// Reads the request.
    ///
    /// # Errors
    /// When there are too many.
    pub fn parse(wire: proto::AckNoticesRequest) -> Result<Self, RpcError> {
        let given = wire.notice_ids.len();
        if given > NOTICES_MAX {
            let text = format!("noticeIds has {given} entries: at most {NOTICES_MAX} are allowed");
            return Err(RpcError::invalid_field("noticeIds", text));
        }
        let notices = wire.notice_ids.into_iter();
        let notices = notices.filter_map(|token| NoticeId::of_token(&token));
        Ok(Self {
            notices: notices.collect(),
        })
    }
}

impl Governed for AckNotices {
    fn action(&self) -> Action {
        Action::FlowRun
    }

    /// Services only, which see everything.
    fn about(&self) -> About {
        About::Nothing
    }
}

/// Follows the changes of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchSessions {
    /// The last change seen; absent: from the present.
    pub after: Option<Place>,
}

impl WatchSessions {
    /// Reads the request.
    ///
    /// # Errors
    /// When the cursor is none.
    ///
    /// Source: B219.
    pub fn parse(wire: proto::WatchSessionsRequest) -> Result<Self, RpcError> {
        let Some(cursor) = wire.cursor.filter(|cursor| !cursor.is_empty()) else {
            return Ok(Self { after: None });
        };
        let after = page::decode(&cursor).map_err(|_| {
            RpcError::invalid_field(
                "cursor",
                "cursor is not one that WatchSessions answered: repeat the last one unchanged, or \
                 leave it out to begin at the present",
            )
        })?;
        Ok(Self { after: Some(after) })
    }
}

impl Governed for WatchSessions {
    fn action(&self) -> Action {
        Action::List
    }

    fn about(&self) -> About {
        About::Scope
    }
}

/// The events of a record of activity. Each stands for itself: what is wrong with one is told, and
/// the others are recorded.
///
/// Source: reg:W6.
pub(super) fn events_from_wire(
    wire: Vec<proto::StateEventRecord>,
) -> (Vec<NewEvent>, Vec<Violation>) {
    let mut events = Vec::with_capacity(wire.len());
    let mut faults = Vec::new();
    for (index, record) in wire.into_iter().enumerate() {
        let mut violations = Violations::default();
        let event = event_from_wire(record, index, &mut violations);
        match violations.finish() {
            Ok(()) => events.extend(event),
            Err(refusal) => faults.extend(refusal.violations),
        }
    }
    (events, faults)
}

fn event_from_wire(
    wire: proto::StateEventRecord,
    index: usize,
    violations: &mut Violations,
) -> Option<NewEvent> {
    let path = |name: &str| format!("events[{index}].{name}");
    let tenant = fields::id_from_wire(wire.tenant, TenantId::parse, &path("tenant"), violations);
    let session_key = fields::key_from_wire(&wire.session_key, &path("sessionKey"), violations);
    let kind: Option<EventKind> = enum_from_wire(wire.kind, &path("kind"), violations);
    let actor = actor_from_wire(wire.actor_type, wire.actor_id, index, violations);
    let run_id =
        fields::optional_id_from_wire(wire.run_id, RunId::parse, &path("runId"), violations);
    let occurred_at = time_from_wire(wire.occurred_at, &path("occurredAt"), violations);
    let dedupe_key = fields::optional_from_wire(
        wire.dedupe_key,
        ID_BYTES_MAX,
        &path("dedupeKey"),
        violations,
    );
    let detail =
        fields::optional_from_wire(wire.detail, DETAIL_BYTES_MAX, &path("detail"), violations);
    let kind = kind?;
    let told = told(kind, detail.as_deref(), &path("detail"), violations);
    Some(NewEvent {
        tenant: tenant?,
        session_key: session_key?,
        kind,
        actor: actor?,
        run_id,
        occurred_at,
        dedupe_key,
        account: told?,
    })
}

fn told(
    kind: EventKind,
    detail: Option<&str>,
    field: &str,
    violations: &mut Violations,
) -> Option<Account> {
    let told = account(kind, detail);
    if told.is_none() {
        violations.push(
            field,
            format!("{field} does not say how the run ended: give error, timeout or cancelled"),
        );
    }
    told
}

fn actor_from_wire(
    number: i32,
    actor_id: Option<String>,
    index: usize,
    violations: &mut Violations,
) -> Option<Actor> {
    let field = format!("events[{index}].actorType");
    match proto::ActorType::try_from(number) {
        Ok(proto::ActorType::Human) => Some(Actor::Human),
        Ok(proto::ActorType::System) => Some(Actor::System),
        Ok(proto::ActorType::Agent) => {
            let field = format!("events[{index}].actorId");
            let text = actor_id.unwrap_or_default();
            fields::key_from_wire(&text, &field, violations).map(Actor::Agent)
        },
        Ok(proto::ActorType::Unspecified) | Err(_) => {
            violations.push(
                &*field,
                format!(
                    "{field} is {number}; give one of ACTOR_TYPE_HUMAN, ACTOR_TYPE_AGENT, \
                     ACTOR_TYPE_SYSTEM"
                ),
            );
            None
        },
    }
}

/// Reads a sequence; a negative one is a violation of `field`.
pub(super) fn sequence_from_wire(given: i64, field: &str, violations: &mut Violations) -> u64 {
    u64::try_from(given).unwrap_or_else(|_| {
        violations.push(field, format!("{field} is {given}: give 0 or more"));
        0
    })
}
