//! As whom a client calls.

use std::time::Duration;

use confab_model::id::TenantId;
use http::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};

use crate::caller::{Caller, Identity, Role};
use crate::error::RpcError;
use crate::identity::{AUTHORIZATION, Minter, Named};

/// How long a service's own token is valid: it is made anew for each call.
const SERVICE_TOKEN_LIFETIME: Duration = Duration::from_mins(1);

/// As whom a client calls.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// As one of confab's own services.
    Service {
        /// Signs its tokens; absent in open mode, where it names its role.
        minter: Option<Minter>,
        /// Who it is, as the tokens' subject.
        caller: Box<Caller>,
    },
    /// With a token.
    Bearer(SecretString),
    /// As whom it names, in open mode.
    Named(Named),
}

impl Credentials {
    /// Those of the service called `name`; with a minter in jwt mode.
    pub fn service(name: &str, minter: Option<Minter>) -> Self {
        let caller = Caller {
            tenant: TenantId::default(),
            identity: Identity::Service,
            subject: Some(format!("confab-{name}")),
        };
        Self::Service {
            minter,
            caller: Box::new(caller),
        }
    }

    /// Writes them into metadata.
    pub(super) fn write(&self, headers: &mut HeaderMap) -> Result<(), RpcError> {
        match self {
            Self::Service {
                minter: Some(minter),
                caller,
            } => {
                let token = minter.mint(caller, SERVICE_TOKEN_LIFETIME);
                bear(&token.map_err(RpcError::internal)?, headers)
            },
            Self::Service {
                minter: None,
                caller: _,
            } => {
                Named {
                    role: Some(Role::Service),
                    ..Named::default()
                }
                .write(headers);
                Ok(())
            },
            Self::Bearer(token) => bear(token.expose_secret(), headers),
            Self::Named(named) => {
                named.write(headers);
                Ok(())
            },
        }
    }
}

fn bear(token: &str, headers: &mut HeaderMap) -> Result<(), RpcError> {
    let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| {
        RpcError::invalid_field(
            "token",
            "the token holds characters that no token has; copy it anew",
        )
    })?;
    value.set_sensitive(true);
    headers.insert(AUTHORIZATION, value);
    Ok(())
}
