//! The request to store a session that another system kept.

mod fields;

use confab_config::Settings;
use confab_model::clock::Timestamp;
use confab_model::id::SessionId;
use confab_model::key::SessionKey;
use confab_proto::registry::v1 as proto;
use confab_proto::types::v1 as types;
use confab_rpc::error::{RpcError, Violations};
use confab_rpc::gate::{About, Action, Governed};
use confab_rpc::wire;

use crate::create::named_key;
use crate::import::refuse_unknown_agent;
use crate::limits::{EARLIER_GENERATIONS_MAX, IMPORTED_MILLIS_MAX};

pub use fields::{ImportedFields, ImportedRun};

/// Stores a session that another system kept.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportSession {
    /// The one name of its key; its agent may not be configured.
    pub key: SessionKey,
    /// The present generation.
    pub session_id: SessionId,
    /// Generations before it, each once, oldest first.
    pub earlier: Vec<SessionId>,
    /// When things happened to it.
    pub times: ImportedTimes,
    /// What else is to be kept of its row.
    pub fields: ImportedFields,
    /// What was given and cannot be kept, a sentence each.
    pub left_out: Vec<String>,
    /// The row as given, of which sentences speak.
    pub given: types::Session,
    /// Whether a session that exists with other content gives way.
    pub replace: bool,
    /// Whether to tell what would be done, and do nothing.
    pub dry_run: bool,
}

/// When things happened to a session; absent: not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportedTimes {
    /// When it was made.
    pub created_at: Option<Timestamp>,
    /// When it last moved.
    pub updated_at: Option<Timestamp>,
    /// When it was archived.
    pub archived_at: Option<Timestamp>,
    /// When it was pinned.
    pub pinned_at: Option<Timestamp>,
    /// When its present generation began.
    pub session_started_at: Option<Timestamp>,
}

impl ImportSession {
    /// Reads the request. What names the session and says when must be right; of the rest of the row,
    /// what cannot be kept is left out, because a session without its label is worth more than none.
    ///
    /// # Errors
    /// With everything that is wrong with the key, the sessionIds and the times.
    ///
    /// Source: D3, D4, D26.
    pub fn parse(settings: &Settings, wire: proto::ImportSessionRequest) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        let given = wire.session.unwrap_or_default();
        let key = key_from_wire(settings, &given.key, &mut violations);
        let session_id = wire::fields::id_from_wire(
            given.session_id.clone(),
            SessionId::parse,
            "session.sessionId",
            &mut violations,
        );
        let earlier = generations_from_wire(wire.earlier_session_ids, &mut violations);
        let times = ImportedTimes::from_wire(&given, &mut violations);
        violations.finish()?;
        // Before its one name: that gives the key of an unknown `main` to the default agent.
        if let Ok(as_given) = SessionKey::parse(&given.key.to_lowercase()) {
            refuse_unknown_agent(settings, &as_given)?;
        }
        let (Some(key), Some(session_id)) = (key, session_id) else {
            return Err(RpcError::invalid_field("session", "session is missing"));
        };
        let (fields, left_out) = ImportedFields::gather(settings, &key, &given);
        Ok(Self {
            earlier: distinct(earlier, &session_id),
            key,
            session_id,
            times,
            fields,
            left_out,
            given,
            replace: wire.replace,
            dry_run: wire.dry_run,
        })
    }
}

impl Governed for ImportSession {
    fn action(&self) -> Action {
        Action::Create
    }

    /// The session need not exist, and only roles that see everything may import.
    fn about(&self) -> About {
        About::Nothing
    }
}

impl ImportedTimes {
    fn from_wire(given: &types::Session, violations: &mut Violations) -> Self {
        let mut read = |wire, field| moment_from_wire(wire, field, violations);
        Self {
            created_at: read(given.created_at, "session.createdAt"),
            updated_at: read(given.updated_at, "session.updatedAt"),
            archived_at: read(given.archived_at, "session.archivedAt"),
            pinned_at: read(given.pinned_at, "session.pinnedAt"),
            session_started_at: read(given.session_started_at, "session.sessionStartedAt"),
        }
    }
}

fn key_from_wire(
    settings: &Settings,
    given: &str,
    violations: &mut Violations,
) -> Option<SessionKey> {
    if given.trim().is_empty() {
        violations.push(
            "session.key",
            "session.key is missing: write agent:<agentId>:<rest>, for example agent:main:main",
        );
        return None;
    }
    match named_key(settings, given) {
        Ok(key) => Some(key),
        Err(error) => {
            violations.push("session.key", format!("session.key: {error}"));
            None
        },
    }
}

fn generations_from_wire(given: Vec<String>, violations: &mut Violations) -> Vec<SessionId> {
    let count = given.len();
    if count > EARLIER_GENERATIONS_MAX {
        violations.push(
            "earlierSessionIds",
            format!(
                "earlierSessionIds has {count} entries: at most {EARLIER_GENERATIONS_MAX} are \
                 allowed; leave the oldest out"
            ),
        );
        return Vec::new();
    }
    let mut read = Vec::with_capacity(count);
    for (index, text) in given.into_iter().enumerate() {
        let field = format!("earlierSessionIds[{index}]");
        read.extend(wire::fields::id_from_wire(
            text,
            SessionId::parse,
            &field,
            violations,
        ));
    }
    read
}

/// Each generation once, in the order given, without the present one.
fn distinct(given: Vec<SessionId>, present: &SessionId) -> Vec<SessionId> {
    let mut seen = std::collections::BTreeSet::from([present.as_str().to_owned()]);
    let mut earlier = given;
    earlier.retain(|session_id| seen.insert(session_id.as_str().to_owned()));
    earlier
}

/// Reads a moment between 1970 and the end of the year 9999, the last that every form of a time has.
fn moment_from_wire(
    wire: Option<prost_types::Timestamp>,
    field: &str,
    violations: &mut Violations,
) -> Option<Timestamp> {
    let moment = wire::time::time_from_wire(wire, field, violations)?;
    if (0..=IMPORTED_MILLIS_MAX).contains(&moment.millis()) {
        return Some(moment);
    }
    violations.push(
        field,
        format!(
            "{field} is out of range ({moment} milliseconds since 1970): give a moment from 1970 to \
             9999"
        ),
    );
    None
}
