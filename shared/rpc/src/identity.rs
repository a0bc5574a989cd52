//! Who calls: from metadata to a [`Caller`], in both modes.
//!
//! - `open` (loopback only): a caller names itself in metadata, or carries a run's opaque token;
//! - `jwt`: a caller carries a signed token and may name nothing.
//!
//! A service says for whom it calls with `confab-on-behalf-of`, in both modes. A message never holds
//! a token.
//!
//! Source: contract, Identity.

pub mod behalf;
mod keys;
mod listener;
mod named;
mod percent;
#[cfg(test)]
mod tests;
mod token;

use std::fmt;
use std::sync::Arc;

use confab_config::Live;
use confab_config::settings::Auth;
use confab_model::clock::Clock;
use confab_model::id::{RunId, TenantId};
use confab_model::key::KeyRules;
use http::{HeaderMap, HeaderName};

use crate::caller::{Caller, Role};
use crate::error::{Reason, RpcError};

pub use keys::{KeyError, VerifyingKey};
pub(crate) use listener::check as check_open;
pub use listener::{ListenerError, check_listener};
pub use named::Named;
pub use token::{MintError, Minter};

/// Where a token travels.
pub(crate) const AUTHORIZATION: HeaderName = HeaderName::from_static("authorization");
/// The role a caller names itself.
pub const ROLE: HeaderName = HeaderName::from_static("confab-role");
/// The session an agent names as its own.
pub const SESSION: HeaderName = HeaderName::from_static("confab-session");
/// The tenant, for callers that name themselves and for services.
pub const TENANT: HeaderName = HeaderName::from_static("confab-tenant");
/// The channel a channel adapter names as its own.
pub const CHANNEL: HeaderName = HeaderName::from_static("confab-channel");
/// The agent a worker names as its own.
pub const AGENT: HeaderName = HeaderName::from_static("confab-agent");

/// The names that a caller with a token may not give; services may give a tenant.
const NAMES: [HeaderName; 4] = [ROLE, SESSION, CHANNEL, AGENT];

/// The fields that tell who calls; each may be given once.
const FIELDS: [HeaderName; 7] = [
    AUTHORIZATION,
    ROLE,
    SESSION,
    TENANT,
    CHANNEL,
    AGENT,
    behalf::ON_BEHALF_OF,
];

/// What the runner knows of runs and their tokens. The methods as given are those of a service
/// without runs.
pub trait RunTokens: fmt::Debug + Send + Sync + 'static {
    /// The agent that an opaque token was handed to, while its run may live. Open mode only.
    fn resolve(&self, _token: &str) -> Option<Caller> {
        None
    }

    /// Whether a run may live; the token of one that may not is refused.
    fn is_alive(&self, _run: &RunId) -> bool {
        true
    }
}

/// Knows no opaque token, and takes every run for alive: for services without runs.
#[derive(Clone, Copy, Debug)]
pub struct NoRuns;

impl RunTokens for NoRuns {}

/// Where the rules for keys come from; asked anew for each call, because a reload changes them.
pub type Rules = Arc<dyn Fn() -> KeyRules + Send + Sync>;

/// The rules of the configuration in force.
pub fn rules_of(live: &Live) -> Rules {
    let live = live.clone();
    Arc::new(move || live.current().key_rules())
}

/// Tells who calls.
#[derive(Clone)]
pub struct Authenticator {
    proof: Proof,
    rules: Rules,
    runs: Arc<dyn RunTokens>,
}

/// How callers prove who they are.
#[derive(Clone)]
enum Proof {
    Open,
    Jwt {
        keys: Arc<[VerifyingKey]>,
        clock: Arc<dyn Clock>,
    },
}

impl Authenticator {
    /// Callers name themselves.
    pub fn open(rules: Rules) -> Self {
        Self {
            proof: Proof::Open,
            rules,
            runs: Arc::new(NoRuns),
        }
    }

    /// Callers carry a token that one of `keys` signed.
    pub fn jwt(keys: Vec<VerifyingKey>, rules: Rules, clock: Arc<dyn Clock>) -> Self {
        Self {
            proof: Proof::Jwt {
                keys: keys.into(),
                clock,
            },
            rules,
            runs: Arc::new(NoRuns),
        }
    }

    /// As the configuration says; the secrets come from the environment.
    ///
    /// # Errors
    /// When a key cannot be found or used.
    pub fn configured(auth: &Auth, rules: Rules, clock: Arc<dyn Clock>) -> Result<Self, KeyError> {
        match auth {
            Auth::Open => Ok(Self::open(rules)),
            Auth::Jwt { keys } => {
                let keys = keys
                    .iter()
                    .map(VerifyingKey::configured)
                    .collect::<Result<_, _>>()?;
                Ok(Self::jwt(keys, rules, clock))
            },
        }
    }

    /// Asks `runs` about the tokens of runs.
    #[must_use]
    pub fn with_runs(mut self, runs: Arc<dyn RunTokens>) -> Self {
        self.runs = runs;
        self
    }

    /// Whether callers name themselves.
    pub const fn is_open(&self) -> bool {
        matches!(self.proof, Proof::Open)
    }

    /// Whose call it is: the caller's own, or that of the one a service calls for.
    ///
    /// # Errors
    /// When the caller is not known, or a field that tells it is given twice: `UNAUTHENTICATED`; when it names a malformed session:
    /// `INVALID_ARGUMENT`.
    pub fn authenticate(&self, headers: &HeaderMap) -> Result<Caller, RpcError> {
        refuse_repeated(headers)?;
        let caller = self.caller(headers)?;
        self.check_run(&caller)?;
        let Some(other) = behalf::read(headers) else {
            return Ok(caller);
        };
        if caller.role() != Role::Service {
            return Err(unauthenticated(
                "confab-on-behalf-of is for confab's own services; call as yourself without it",
            ));
        }
        other
    }

    fn caller(&self, headers: &HeaderMap) -> Result<Caller, RpcError> {
        let bearer = bearer(headers)?;
        match &self.proof {
            Proof::Open => match bearer {
                Some(token) => self.opaque(token, headers),
                None => named::read(headers, &(self.rules)()),
            },
            Proof::Jwt { keys, clock } => {
                let token = bearer.ok_or_else(|| {
                    unauthenticated("no token; send `authorization: Bearer <token>`")
                })?;
                refuse_names(headers)?;
                let caller = token::verify(token, keys, clock.now(), self.rules.as_ref())?;
                in_tenant(caller, headers)
            },
        }
    }

    fn opaque(&self, token: &str, headers: &HeaderMap) -> Result<Caller, RpcError> {
        refuse_names(headers)?;
        self.runs.resolve(token).ok_or_else(|| {
            unauthenticated(
                "the token belongs to no live run; in open mode only a run's own token is known, \
                 and every other caller names itself with confab-role and confab-session",
            )
        })
    }

    fn check_run(&self, caller: &Caller) -> Result<(), RpcError> {
        match caller.run() {
            Some(run) if !self.runs.is_alive(run) => Err(unauthenticated(
                "the token's run is over; only a live run may call",
            )),
            Some(_) | None => Ok(()),
        }
    }
}

impl fmt::Debug for Authenticator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = if self.is_open() { "open" } else { "jwt" };
        formatter
            .debug_struct("Authenticator")
            .field("mode", &mode)
            .finish_non_exhaustive()
    }
}

/// The token in `authorization`; absent where there is no such field.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, RpcError> {
    let Some(value) = headers.get(AUTHORIZATION) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default();
    let token = text
        .split_once(' ')
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    match token
        .map(|(_, token)| token.trim())
        .filter(|token| !token.is_empty())
    {
        Some(token) => Ok(Some(token)),
        None => Err(unauthenticated(
            "authorization has another form than `Bearer <token>`; write the word Bearer, a blank \
             and the token",
        )),
    }
}

/// Of two values the one that is read here need not be the one that a proxy before it has checked.
fn refuse_repeated(headers: &HeaderMap) -> Result<(), RpcError> {
    let repeated = |name: &&HeaderName| headers.get_all(*name).iter().nth(1).is_some();
    match FIELDS.iter().find(repeated) {
        Some(name) => Err(unauthenticated(format!(
            "{name} is given twice; give it once"
        ))),
        None => Ok(()),
    }
}

/// A caller whose token says who it is would believe that a name counts.
fn refuse_names(headers: &HeaderMap) -> Result<(), RpcError> {
    match NAMES.iter().find(|name| headers.contains_key(*name)) {
        Some(name) => Err(unauthenticated(format!(
            "{name} cannot be given beside a token, which says itself who calls; leave {name} out, \
             or use a token of that identity"
        ))),
        None => Ok(()),
    }
}

/// A service serves every tenant and names the one it calls for; others have their token's.
fn in_tenant(caller: Caller, headers: &HeaderMap) -> Result<Caller, RpcError> {
    let Some(tenant) = named::tenant(headers)? else {
        return Ok(caller);
    };
    if caller.role() == Role::Service {
        Ok(Caller { tenant, ..caller })
    } else if caller.tenant == tenant {
        Ok(caller)
    } else {
        Err(unauthenticated(
            "confab-tenant names another tenant than the token; leave confab-tenant out, or use a \
             token of that tenant",
        ))
    }
}

pub(crate) fn unauthenticated(message: impl Into<String>) -> RpcError {
    RpcError::new(Reason::Unauthenticated, message)
}

fn tenant_of(text: String) -> Result<TenantId, RpcError> {
    TenantId::parse(text).map_err(|error| unauthenticated(error.to_string()))
}
