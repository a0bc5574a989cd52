//! Requests as they were read: every field checked, every fault told together.

use confab_model::id::{SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::limits::{
    HISTORY_LIMIT_DEFAULT, HISTORY_LIMIT_MAX, LIST_MESSAGES_MAX, TAILS_SESSIONS_MAX,
};
use confab_model::message::NewMessage;
use confab_proto::transcript::v1 as proto;
use confab_rpc::caller::Role;
use confab_rpc::error::{RpcError, Violation, Violations};
use confab_rpc::gate::{About, Action, Governed, Target};
use confab_rpc::wire;
use confab_rpc::wire::limits::Limit;

/// Appends messages.
#[derive(Clone, Debug, PartialEq)]
pub struct AppendMessages {
    /// The session, where it must be resolved; a service that names the generation needs none.
    pub target: Option<Target>,
    /// The generation the messages are meant for; absent: the present one.
    pub session_id: Option<SessionId>,
    /// The messages, in order; at least one.
    pub messages: Vec<NewMessage>,
}

impl AppendMessages {
    /// Reads a request of a caller in the given role.
    ///
    /// A service names the generation, under which its work was authorised, and is taken at its
    /// word; everybody else names a session.
    ///
    /// # Errors
    /// With every field that is missing or malformed.
    ///
    /// Source: contract (identity), D36.
    pub fn parse(wire: proto::AppendMessagesRequest, role: Role) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        let session_id = wire::fields::optional_id_from_wire(
            wire.session_id,
            SessionId::parse,
            "sessionId",
            &mut violations,
        );
        let trusted = role == Role::Service && session_id.is_some();
        let target = if trusted {
            None
        } else {
            violations.keep(Target::required(wire.target, "target"))
        };
        let messages = wire::message::new_messages_from_wire(wire.messages, &mut violations);
        violations.finish()?;
        Ok(Self {
            target,
            session_id,
            messages,
        })
    }
}

impl Governed for AppendMessages {
    fn action(&self) -> Action {
        Action::Append
    }

    fn about(&self) -> About {
        self.target.clone().map_or(About::Nothing, About::One)
    }
}

/// Reads a page of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetHistory {
    /// The session.
    pub target: Target,
    /// Messages on the page.
    pub limit: Limit,
    /// Messages to skip, counted back from the end; absent: the plain tail.
    pub offset: Option<u64>,
    /// The end of the walk, as a sequence.
    pub snapshot: Option<u64>,
    /// Whether tool calls and results are shown.
    pub include_tools: bool,
}

impl GetHistory {
    /// Reads the request.
    ///
    /// # Errors
    /// With every field that is missing or malformed.
    ///
    /// Source: D20, D22, run:H4, run:H5.
    pub fn parse(wire: proto::GetHistoryRequest) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        refuse_filters(&wire, &mut violations);
        let target = violations.keep(Target::required(wire.target, "target"));
        let limit = wire::limits::limit_from_wire(
            wire.limit,
            HISTORY_LIMIT_DEFAULT,
            HISTORY_LIMIT_MAX,
            "limit",
            &mut violations,
        );
        let offset = count_from_wire(wire.offset, "offset", &mut violations);
        let snapshot = count_from_wire(wire.snapshot, "snapshot", &mut violations);
        violations.finish()?;
        let target = target.unwrap_or_default();
        Ok(Self {
            target,
            limit,
            offset,
            snapshot,
            include_tools: wire.include_tools,
        })
    }
}

/// A filter that this version does not know must not be passed over: the answer would hold what the
/// caller did not ask for.
fn refuse_filters(wire: &proto::GetHistoryRequest, violations: &mut Violations) {
    let given = [
        ("anchorSeq", wire.anchor_seq.is_some()),
        ("roles", !wire.roles.is_empty()),
        ("after", wire.after.is_some()),
        ("before", wire.before.is_some()),
    ];
    for (field, _) in given.into_iter().filter(|(_, given)| *given) {
        let text =
            format!("{field} is not offered by this server: leave it out, and page by offset");
        violations.push(field, text);
    }
}

impl Governed for GetHistory {
    fn action(&self) -> Action {
        Action::History
    }

    fn about(&self) -> About {
        About::One(self.target.clone())
    }
}

/// Reads the ends of many transcripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailSessions {
    /// The sessions, in the order of the answer.
    pub keys: Vec<SessionKey>,
    /// Messages of each.
    pub limit: u32,
    /// Whether the first message of a person is wanted too.
    pub first_of_person: bool,
}

impl TailSessions {
    /// Reads the request.
    ///
    /// # Errors
    /// With every field that is missing or malformed.
    pub fn parse(wire: &proto::TailSessionsRequest) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        let given = wire.session_keys.len();
        if given == 0 || given > TAILS_SESSIONS_MAX {
            let text = format!("sessionKeys has {given} entries: give 1 to {TAILS_SESSIONS_MAX}");
            return Err(RpcError::invalid_field("sessionKeys", text));
        }
        let mut keys = Vec::with_capacity(given);
        for (index, text) in wire.session_keys.iter().enumerate() {
            let path = format!("sessionKeys[{index}]");
            keys.extend(wire::fields::key_from_wire(text, &path, &mut violations));
        }
        let limit = violations.keep(tail_limit(wire.limit)).unwrap_or_default();
        violations.finish()?;
        Ok(Self {
            keys,
            limit,
            first_of_person: wire.include_first_user_message,
        })
    }
}

fn tail_limit(given: i32) -> Result<u32, Violation> {
    let limit = u32::try_from(given)
        .ok()
        .filter(|limit| (1..=LIST_MESSAGES_MAX).contains(limit));
    limit.ok_or_else(|| {
        Violation::new(
            "limit",
            format!("limit is {given}: give 1 to {LIST_MESSAGES_MAX}"),
        )
    })
}

impl Governed for TailSessions {
    fn action(&self) -> Action {
        Action::History
    }

    fn about(&self) -> About {
        About::Many(self.keys.iter().map(Target::key).collect())
    }
}

/// A transcript: whose messages, and which generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The tenant.
    pub tenant: TenantId,
    /// The generation.
    pub session_id: SessionId,
}

fn count_from_wire(given: Option<i64>, field: &str, violations: &mut Violations) -> Option<u64> {
    let given = given?;
    let count = u64::try_from(given).ok();
    if count.is_none() {
        let text = format!("{field} must be a non-negative integer: {given} is not");
        violations.push(field, text);
    }
    count
}
