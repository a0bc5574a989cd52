//! Callers that name themselves, in open mode.

use confab_model::id::{AgentId, TenantId};
use confab_model::key::{KeyRules, SessionKey};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::{AGENT, CHANNEL, ROLE, SESSION, TENANT, percent, tenant_of, unauthenticated};
use crate::caller::{Caller, Identity, Role};
use crate::error::RpcError;
use crate::wire::route::channel_folded;

/// What a client names itself: the writing side of open mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The role; absent: an agent where a session is named, else an operator.
    pub role: Option<Role>,
    /// An agent's session, as a person writes it: a key or `main`.
    pub session: Option<String>,
    /// The tenant; absent: `default`.
    pub tenant: Option<String>,
    /// A channel adapter's channel.
    pub channel: Option<String>,
    /// A worker's agent.
    pub agent: Option<String>,
}

impl Named {
    /// Writes the names into metadata.
    pub fn write(&self, headers: &mut HeaderMap) {
        let fields = [
            (ROLE, self.role.map(Role::as_str)),
            (SESSION, self.session.as_deref()),
            (TENANT, self.tenant.as_deref()),
            (CHANNEL, self.channel.as_deref()),
            (AGENT, self.agent.as_deref()),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                headers.insert(name, encoded(value));
            }
        }
    }
}

/// A text as the value of a header.
pub(crate) fn encoded(text: &str) -> HeaderValue {
    // Percent-encoding leaves nothing that a header cannot hold.
    HeaderValue::try_from(percent::encode(text)).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// The caller that the metadata names; without any name an operator of tenant `default`.
pub(super) fn read(headers: &HeaderMap, rules: &KeyRules) -> Result<Caller, RpcError> {
    let tenant = tenant(headers)?.unwrap_or_default();
    let session = text(headers, &SESSION)?;
    let role = role(headers, session.is_some())?;
    if session.is_some() && role != Role::Agent {
        return Err(unauthenticated(format!(
            "confab-session is for role agent and confab-role says {}; leave one of them out",
            role.as_str()
        )));
    }
    let identity = match role {
        Role::Operator => Identity::Operator,
        Role::Service => Identity::Service,
        Role::Agent => {
            let session = needed(session, "agent", &SESSION)?;
            Identity::Agent {
                session: session_key(&session, rules)?,
                run: None,
            }
        },
        Role::Channel => Identity::Channel {
            channel: channel_folded(&needed(text(headers, &CHANNEL)?, "channel", &CHANNEL)?),
        },
        Role::Worker => Identity::Worker {
            agent: agent_id(&needed(text(headers, &AGENT)?, "worker", &AGENT)?)?,
        },
    };
    Ok(Caller {
        tenant,
        identity,
        subject: None,
    })
}

/// The tenant that the metadata names.
pub(super) fn tenant(headers: &HeaderMap) -> Result<Option<TenantId>, RpcError> {
    text(headers, &TENANT)?.map(tenant_of).transpose()
}

fn role(headers: &HeaderMap, has_session: bool) -> Result<Role, RpcError> {
    match text(headers, &ROLE)? {
        Some(word) => role_of(&word),
        None if has_session => Ok(Role::Agent),
        None => Ok(Role::Operator),
    }
}

pub(super) fn role_of(word: &str) -> Result<Role, RpcError> {
    Role::parse(word).ok_or_else(|| {
        let roles = Role::ALL.map(Role::as_str).join(", ");
        unauthenticated(format!("there is no role {word:?}; it is one of {roles}"))
    })
}

fn needed(value: Option<String>, role: &str, field: &HeaderName) -> Result<String, RpcError> {
    value.ok_or_else(|| unauthenticated(format!("role {role} needs {field}; say which one calls")))
}

fn session_key(raw: &str, rules: &KeyRules) -> Result<SessionKey, RpcError> {
    rules
        .canonicalise(raw, None, None)
        .map_err(|error| RpcError::invalid_field(SESSION.as_str(), error.to_string()))
}

pub(super) fn agent_id(raw: &str) -> Result<AgentId, RpcError> {
    AgentId::parse_strict(raw).map_err(|error| unauthenticated(error.to_string()))
}

/// A field of the metadata, decoded; a blank one counts as absent (D7).
fn text(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, RpcError> {
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };
    let text = percent::decode(value.as_bytes()).ok_or_else(|| {
        unauthenticated(format!(
            "{name} is not UTF-8; percent-encode its bytes, for example %C3%A9"
        ))
    })?;
    let text = text.trim();
    Ok((!text.is_empty()).then(|| text.to_owned()))
}
