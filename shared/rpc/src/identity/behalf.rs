//! For whom a service calls: a [`Caller`] in one field of metadata.
//!
//! `tenant=default&role=agent&session=agent:main:main`, every value percent-encoded.

use std::collections::BTreeMap;

use confab_model::id::RunId;
use confab_model::key::SessionKey;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::named::{agent_id, role_of};
use super::{TENANT, named, percent, tenant_of, unauthenticated};
use crate::caller::{Caller, Identity, Role};
use crate::error::RpcError;

/// Where it travels.
pub const ON_BEHALF_OF: HeaderName = HeaderName::from_static("confab-on-behalf-of");

/// What a service says of the one it calls for: the field's name and its value.
///
/// Of a service, or a part of one that acts on its own, only the tenant is told: the call is then
/// the service's own.
pub fn write(caller: &Caller) -> (HeaderName, HeaderValue) {
    match &caller.identity {
        Identity::Service | Identity::System { .. } => {
            (TENANT, named::encoded(caller.tenant.as_str()))
        },
        Identity::Operator => (ON_BEHALF_OF, fields(caller, &[])),
        Identity::Agent { session, run } => {
            let run = run.as_ref().map_or("", RunId::as_str);
            (
                ON_BEHALF_OF,
                fields(caller, &[("session", session.as_str()), ("run", run)]),
            )
        },
        Identity::Channel { channel } => (ON_BEHALF_OF, fields(caller, &[("channel", channel)])),
        Identity::Worker { agent } => (ON_BEHALF_OF, fields(caller, &[("agent", agent.as_str())])),
    }
}

fn fields(caller: &Caller, own: &[(&str, &str)]) -> HeaderValue {
    let subject = caller.subject.as_deref().unwrap_or_default();
    let common = [
        ("tenant", caller.tenant.as_str()),
        ("role", caller.role().as_str()),
        ("sub", subject),
    ];
    let pairs: Vec<String> = common
        .iter()
        .chain(own)
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{name}={}", percent::encode(value)))
        .collect();
    // Percent-encoding leaves nothing that a header cannot hold.
    HeaderValue::try_from(pairs.join("&")).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Whom the metadata names; absent where it has no such field.
pub(super) fn read(headers: &HeaderMap) -> Option<Result<Caller, RpcError>> {
    headers
        .get(ON_BEHALF_OF)
        .map(|value| parse(value.as_bytes()))
}

fn parse(value: &[u8]) -> Result<Caller, RpcError> {
    let mut fields = Fields::split(value)?;
    let tenant = tenant_of(fields.needed("tenant")?)?;
    let identity = match role_of(&fields.needed("role")?)? {
        Role::Operator => Identity::Operator,
        Role::Agent => Identity::Agent {
            session: SessionKey::parse(&fields.needed("session")?)
                .map_err(|error| malformed(&error.to_string()))?,
            run: fields
                .optional("run")
                .map(RunId::parse)
                .transpose()
                .map_err(|error| malformed(&error.to_string()))?,
        },
        Role::Channel => Identity::Channel {
            channel: fields.needed("channel")?,
        },
        Role::Worker => Identity::Worker {
            agent: agent_id(&fields.needed("agent")?)?,
        },
        Role::Service => return Err(malformed("a service calls in its own name")),
    };
    Ok(Caller {
        tenant,
        identity,
        subject: fields.optional("sub"),
    })
}

struct Fields(BTreeMap<String, String>);

impl Fields {
    fn split(value: &[u8]) -> Result<Self, RpcError> {
        let mut fields = BTreeMap::new();
        for pair in value.split(|byte| *byte == b'&') {
            let text = std::str::from_utf8(pair)
                .ok()
                .and_then(|pair| pair.split_once('='));
            let decoded = text.and_then(|(name, value)| {
                Some((name.to_owned(), percent::decode(value.as_bytes())?))
            });
            let (name, value) = decoded.ok_or_else(|| malformed("it is no list of name=value"))?;
            fields.insert(name, value);
        }
        Ok(Self(fields))
    }

    fn optional(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    fn needed(&mut self, name: &str) -> Result<String, RpcError> {
        self.optional(name)
            .ok_or_else(|| malformed(&format!("it has no {name}")))
    }
}

fn malformed(why: &str) -> RpcError {
    unauthenticated(format!("confab-on-behalf-of is malformed: {why}"))
}
