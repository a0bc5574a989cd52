//! How records travel: conversions between the model and the protos.
//!
//! Two kinds of faults are kept apart. A [`WireError`] is about what another service or our own
//! database wrote: the caller can do nothing about it. A violation is about what a caller wrote:
//! functions named `…_from_wire` note all of them, with paths in the caller's own spelling.

pub mod authorize;
pub mod delivery;
pub mod enums;
pub mod fields;
pub mod flow;
pub mod json;
pub mod limits;
pub mod message;
pub mod numbers;
pub mod patch;
pub mod route;
pub mod run;
pub mod session;
pub mod time;

#[cfg(test)]
mod tests;

use std::error::Error as StdError;

use confab_model::id::{AgentId, AgentIdError, RunId};
use confab_model::key::SessionKey;
use prost::Message;

use crate::error::RpcError;

/// Why a record that another service sent, or that our own database holds, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// A field that every record has is not there.
    #[error("field {field} is missing")]
    Missing {
        /// Its path in the record.
        field: &'static str,
    },
    /// A field holds what it cannot hold.
    #[error("field {field} is malformed")]
    Malformed {
        /// Its path in the record.
        field: &'static str,
        /// What is wrong with it.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// An enum's number that this version does not know.
    #[error("field {field} has the unknown enum number {number}")]
    UnknownNumber {
        /// Its path in the record.
        field: &'static str,
        /// The number.
        number: i32,
    },
    /// A word that this version does not know.
    #[error("field {field} has the unknown word `{word}`")]
    UnknownWord {
        /// Its path in the record.
        field: &'static str,
        /// The word.
        word: String,
    },
    /// A number outside of what the model can hold.
    #[error("field {field} is out of range: {given}")]
    OutOfRange {
        /// Its path in the record.
        field: &'static str,
        /// The number.
        given: i64,
    },
    /// Bytes that are no such record.
    #[error("the bytes of a packed {record} cannot be decoded")]
    Undecodable {
        /// What they should hold.
        record: &'static str,
        /// Where decoding stopped.
        source: prost::DecodeError,
    },
}

impl From<WireError> for RpcError {
    fn from(error: WireError) -> Self {
        Self::internal(error)
    }
}

/// The value of a field that every record has.
fn required<T>(value: Option<T>, field: &'static str) -> Result<T, WireError> {
    value.ok_or(WireError::Missing { field })
}

/// Names the field that a parser refused.
fn parsed<T, E>(result: Result<T, E>, field: &'static str) -> Result<T, WireError>
where
    E: StdError + Send + Sync + 'static,
{
    result.map_err(|source| WireError::Malformed {
        field,
        source: Box::new(source),
    })
}

fn key(text: &str, field: &'static str) -> Result<SessionKey, WireError> {
    parsed(SessionKey::parse(text), field)
}

fn optional_key(text: Option<&str>, field: &'static str) -> Result<Option<SessionKey>, WireError> {
    text.map(|text| key(text, field)).transpose()
}

fn optional_run(text: Option<String>, field: &'static str) -> Result<Option<RunId>, WireError> {
    text.map(|text| parsed(RunId::parse(text), field))
        .transpose()
}

/// Reads an agent's id as the model knows it: one that begins with `_` is repaired into itself.
fn agent(text: &str) -> Result<AgentId, AgentIdError> {
    AgentId::parse_strict(text).or_else(|error| {
        let repaired = AgentId::normalise(text);
        if repaired.as_str() == text {
            Ok(repaired)
        } else {
            Err(error)
        }
    })
}

fn decoded<M: Message + Default>(bytes: &[u8], record: &'static str) -> Result<M, WireError> {
    M::decode(bytes).map_err(|source| WireError::Undecodable { record, source })
}
