//! The keys that tokens are checked and signed with.

use std::fmt;

use confab_config::settings::{KeyAlgorithm, KeyMaterial, KeySpec};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use secrecy::{ExposeSecret as _, SecretString};

/// Shortest secret that nobody can guess their way to, in bytes (RFC 7518, 3.2).
const SECRET_BYTES_MIN: usize = 32;

/// Why a configured key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The variable with the secret is not set.
    #[error(
        "confab.auth.keys: the secret of key {kid:?} is not there; set the environment variable \
         {variable}"
    )]
    NoSecret {
        /// The key.
        kid: String,
        /// The variable that should hold it.
        variable: String,
    },
    /// The key is of a kind that confab does not check signatures with.
    #[error(
        "confab.auth.keys: key {kid:?} has alg EdDSA, which this version cannot check; use alg \
         HS256 with secretEnv"
    )]
    Unsupported {
        /// The key.
        kid: String,
    },
    /// No key can sign.
    #[error(
        "confab.auth.keys: no key can sign the services' own calls and the runs' tokens; add one \
         with alg HS256 and secretEnv"
    )]
    NoSigningKey,
    /// The material is no key.
    #[error("confab.auth.keys: key {kid:?} cannot be used")]
    Unusable {
        /// The key.
        kid: String,
        /// What is wrong with it.
        source: jsonwebtoken::errors::Error,
    },
}

/// A key that tokens are checked with.
#[derive(Clone)]
pub struct VerifyingKey {
    pub(super) kid: String,
    pub(super) algorithm: Algorithm,
    pub(super) key: DecodingKey,
}

impl VerifyingKey {
    /// A key of HMAC with SHA-256.
    ///
    /// # Errors
    /// When the secret is no key.
    pub fn hs256(kid: impl Into<String>, secret: &SecretString) -> Result<Self, KeyError> {
        let kid = kid.into();
        let key =
            DecodingKey::from_secret(secret.expose_secret().as_bytes()).map_err(|source| {
                KeyError::Unusable {
                    kid: kid.clone(),
                    source,
                }
            })?;
        Ok(Self {
            kid,
            algorithm: Algorithm::HS256,
            key,
        })
    }

    /// The key that the configuration describes; a secret comes from the environment.
    ///
    /// # Errors
    /// When it is not there, or of a kind that cannot be used.
    pub fn configured(spec: &KeySpec) -> Result<Self, KeyError> {
        Self::hs256(spec.kid.clone(), &secret_of(spec)?)
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("VerifyingKey")
            .field("kid", &self.kid)
            .finish_non_exhaustive()
    }
}

/// The secret of an HS256 key.
fn secret_of(spec: &KeySpec) -> Result<SecretString, KeyError> {
    let variable = match (spec.alg, &spec.material) {
        (KeyAlgorithm::Hs256, KeyMaterial::SecretEnv(variable)) => variable,
        (KeyAlgorithm::EdDsa, _) | (KeyAlgorithm::Hs256, KeyMaterial::PublicKeyFile(_)) => {
            return Err(KeyError::Unsupported {
                kid: spec.kid.clone(),
            });
        },
    };
    let secret = confab_config::source::secret(variable).ok_or_else(|| KeyError::NoSecret {
        kid: spec.kid.clone(),
        variable: variable.clone(),
    })?;
    if secret.expose_secret().len() < SECRET_BYTES_MIN {
        tracing::warn!(
            kid = spec.kid,
            variable,
            "the secret is shorter than {SECRET_BYTES_MIN} bytes: it may be guessed",
        );
    }
    Ok(secret)
}

/// The first key that can sign.
pub(super) fn signing(specs: &[KeySpec]) -> Result<(String, EncodingKey), KeyError> {
    let spec = specs.iter().find(|spec| spec.alg == KeyAlgorithm::Hs256);
    let spec = spec.ok_or(KeyError::NoSigningKey)?;
    Ok((spec.kid.clone(), encoding(&spec.kid, &secret_of(spec)?)?))
}

pub(super) fn encoding(kid: &str, secret: &SecretString) -> Result<EncodingKey, KeyError> {
    EncodingKey::from_secret(secret.expose_secret().as_bytes()).map_err(|source| {
        KeyError::Unusable {
            kid: kid.to_owned(),
            source,
        }
    })
}
