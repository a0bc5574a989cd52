//! Requests as they were read: every field checked, every fault told together.

mod export;
pub mod fork;
mod history;
mod import;
pub mod search;

use confab_model::id::{SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::limits::{LIST_MESSAGES_MAX, TAILS_SESSIONS_MAX};
use confab_model::message::{Blob, NewMessage};
use confab_proto::transcript::v1 as proto;
use confab_proto::types::v1::SessionTarget;
use confab_rpc::caller::Role;
use confab_rpc::error::{RpcError, Violation, Violations};
use confab_rpc::gate::{About, Action, Governed, Target};
use confab_rpc::wire;
use confab_rpc::wire::message::Incoming;

pub use self::export::ExportTranscript;
pub use self::history::{Filter, GetHistory, Part};
pub use self::import::ImportTranscript;

/// Appends messages.
#[derive(Clone, Debug, PartialEq)]
pub struct AppendMessages {
    /// The session, where it must be resolved; a service that names the generation needs none.
    pub target: Option<Target>,
    /// The generation the messages are meant for; absent: the present one.
    pub session_id: Option<SessionId>,
    /// The session's key, where a service that is taken at its word names it.
    pub session_key: Option<SessionKey>,
    /// The messages, in order; at least one.
    pub messages: Vec<NewMessage>,
    /// The pictures that they name, as far as their bytes were given.
    pub blobs: Vec<Blob>,
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
        let session_key = wire.target.as_ref().filter(|_| trusted).and_then(named_key);
        let target = if trusted {
            None
        } else {
            violations.keep(Target::required(wire.target, "target"))
        };
        let incoming = wire::message::incoming_from_wire(wire.messages, &mut violations);
        violations.finish()?;
        let Incoming { messages, blobs } = incoming;
        Ok(Self {
            target,
            session_id,
            session_key,
            messages,
            blobs,
        })
    }
}

/// The key that a service gives beside the generation; what cannot be read as one is of no use here.
fn named_key(target: &SessionTarget) -> Option<SessionKey> {
    SessionKey::parse(target.session_key.as_deref()?).ok()
}

impl Governed for AppendMessages {
    fn action(&self) -> Action {
        Action::Append
    }

    fn about(&self) -> About {
        self.target.clone().map_or(About::Nothing, About::One)
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
    /// The session, where it is known.
    pub session_key: Option<SessionKey>,
}
