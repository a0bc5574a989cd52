//! Signed tokens: what they claim, how they are checked, how they are made.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use confab_config::settings::Auth;
use confab_model::clock::{Clock, Timestamp};
use confab_model::id::RunId;
use confab_model::key::KeyRules;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, EncodingKey, Header, Validation};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::keys::{KeyError, VerifyingKey, encoding, signing};
use super::named::{agent_id, role_of};
use super::{tenant_of, unauthenticated};
use crate::caller::{Caller, Identity, Role};
use crate::error::RpcError;
use crate::wire::route::channel_folded;

/// How far the clocks of two machines may be apart, in seconds.
const CLOCK_SKEW_SECONDS: i64 = 30;

/// What a token says.
///
/// Source: contract, Identity.
#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    channel: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sub: Option<String>,
    /// Not valid before, in seconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nbf: Option<i64>,
    /// When it was made, in seconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    iat: Option<i64>,
    /// When it ends, in seconds since the epoch.
    exp: i64,
}

/// Checks a token and tells whose it is.
pub(super) fn verify(
    token: &str,
    keys: &[VerifyingKey],
    now: Timestamp,
    rules: &(dyn Fn() -> KeyRules + Send + Sync),
) -> Result<Caller, RpcError> {
    let header = jsonwebtoken::decode_header(token)
        .map_err(|_| unauthenticated("the token is no JWT; make one with `confab token mint`"))?;
    let key = key_of(header.kid.as_deref(), keys)?;
    let mut validation = Validation::new(key.algorithm);
    // Times are judged below, by the clock that is a parameter.
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_aud = false;
    let claims = jsonwebtoken::decode::<Claims>(token, &key.key, &validation)
        .map_err(|error| unauthenticated(refusal(error.kind())))?
        .claims;
    check_times(&claims, now)?;
    caller_of(claims, rules)
}

fn key_of<'a>(kid: Option<&str>, keys: &'a [VerifyingKey]) -> Result<&'a VerifyingKey, RpcError> {
    match (kid, keys) {
        (Some(kid), _) => keys.iter().find(|key| key.kid == kid).ok_or_else(|| {
            unauthenticated("the token's kid names no key of confab.auth.keys; use one of those")
        }),
        (None, [only]) => Ok(only),
        (None, _) => Err(unauthenticated(
            "the token's header has no kid and there are several keys; name the key that signed it",
        )),
    }
}

/// Why the library refuses a token, without a word of the token.
#[expect(clippy::wildcard_enum_match_arm, reason = "the library's list is open")]
const fn refusal(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::InvalidSignature => {
            "the token's signature is wrong; it was changed, or signed with another secret"
        },
        ErrorKind::InvalidAlgorithm => {
            "the token's alg is not that of its key; sign it with the alg of confab.auth.keys"
        },
        ErrorKind::Json(_)
        | ErrorKind::MissingRequiredClaim(_)
        | ErrorKind::InvalidClaimFormat(_) => {
            "the token's claims are incomplete; they need role and exp (seconds since the epoch), \
             and text for tenant, session, agent, run, channel and sub"
        },
        _ => "the token is no valid JWT; make one with `confab token mint`",
    }
}

fn check_times(claims: &Claims, now: Timestamp) -> Result<(), RpcError> {
    let now = now.millis().div_euclid(1000);
    if claims.exp.saturating_add(CLOCK_SKEW_SECONDS) <= now {
        return Err(unauthenticated("the token has expired; get a new one"));
    }
    match claims.nbf {
        Some(start) if start.saturating_sub(CLOCK_SKEW_SECONDS) > now => Err(unauthenticated(
            "the token is not valid yet; compare the clocks",
        )),
        Some(_) | None => Ok(()),
    }
}

fn caller_of(
    claims: Claims,
    rules: &(dyn Fn() -> KeyRules + Send + Sync),
) -> Result<Caller, RpcError> {
    let tenant = claims
        .tenant
        .map(tenant_of)
        .transpose()?
        .unwrap_or_default();
    let identity = match role_of(&claims.role)? {
        Role::Operator => Identity::Operator,
        Role::Service => Identity::Service,
        Role::Agent => {
            let session = needed(claims.session, "agent", "session")?;
            let session = rules()
                .canonicalise(&session, None, None)
                .map_err(|error| unauthenticated(format!("the token's session: {error}")))?;
            let run = claims.run.map(RunId::parse).transpose();
            let run = run.map_err(|error| unauthenticated(format!("the token's run: {error}")))?;
            Identity::Agent { session, run }
        },
        Role::Channel => Identity::Channel {
            channel: channel_folded(&needed(claims.channel, "channel", "channel")?),
        },
        Role::Worker => Identity::Worker {
            agent: agent_id(&needed(claims.agent, "worker", "agent")?)?,
        },
    };
    Ok(Caller {
        tenant,
        identity,
        subject: claims.sub,
    })
}

fn needed(claim: Option<String>, role: &str, name: &str) -> Result<String, RpcError> {
    claim
        .filter(|claim| !claim.trim().is_empty())
        .ok_or_else(|| {
            unauthenticated(format!(
                "a token of role {role} needs the claim {name}; mint it with one"
            ))
        })
}

/// Makes tokens: the services' own, those of runs, and those of `confab token mint`.
#[derive(Clone)]
pub struct Minter {
    kid: String,
    key: EncodingKey,
    clock: Arc<dyn Clock>,
}

/// Why a token could not be made.
#[derive(Debug, thiserror::Error)]
#[error("the token could not be signed")]
pub struct MintError(#[from] jsonwebtoken::errors::Error);

impl Minter {
    /// Signs with HMAC and SHA-256.
    ///
    /// # Errors
    /// When the secret is no key.
    pub fn hs256(
        kid: impl Into<String>,
        secret: &SecretString,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, KeyError> {
        let kid = kid.into();
        let key = encoding(&kid, secret)?;
        Ok(Self { kid, key, clock })
    }

    /// Signs with the first configured key that can; absent in open mode, where nobody needs to.
    ///
    /// # Errors
    /// When no key can sign, or its secret is not there.
    pub fn configured(auth: &Auth, clock: Arc<dyn Clock>) -> Result<Option<Self>, KeyError> {
        match auth {
            Auth::Open => Ok(None),
            Auth::Jwt { keys } => {
                let (kid, key) = signing(keys)?;
                Ok(Some(Self { kid, key, clock }))
            },
        }
    }

    /// A token that says `caller` calls, for `lifetime` (whole seconds, rounded up).
    ///
    /// # Errors
    /// When it cannot be signed.
    pub fn mint(&self, caller: &Caller, lifetime: Duration) -> Result<String, MintError> {
        let now = self.clock.now();
        let lifetime = i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX);
        let end = now
            .plus_millis(lifetime)
            .plus_millis(999)
            .millis()
            .div_euclid(1000);
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some(self.kid.clone());
        let claims = claims_of(caller, now.millis().div_euclid(1000), end);
        Ok(jsonwebtoken::encode(&header, &claims, &self.key)?)
    }
}

impl fmt::Debug for Minter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Minter")
            .field("kid", &self.kid)
            .finish_non_exhaustive()
    }
}

fn claims_of(caller: &Caller, now: i64, end: i64) -> Claims {
    let mut claims = Claims {
        tenant: Some(caller.tenant.to_string()),
        role: caller.role().as_str().to_owned(),
        session: None,
        agent: None,
        run: None,
        channel: None,
        sub: caller.subject.clone(),
        nbf: None,
        iat: Some(now),
        exp: end,
    };
    match &caller.identity {
        Identity::Operator | Identity::Service | Identity::System { .. } => {},
        Identity::Agent { session, run } => {
            claims.session = Some(session.to_string());
            claims.run = run.as_ref().map(ToString::to_string);
        },
        Identity::Channel { channel } => claims.channel = Some(channel.clone()),
        Identity::Worker { agent } => claims.agent = Some(agent.to_string()),
    }
    claims
}
