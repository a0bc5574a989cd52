//! Forking, and what a fork asks the gate about the session it copies to.

use confab_model::key::SessionKey;
use confab_model::limits::ID_BYTES_MAX;
use confab_proto::transcript::v1 as proto;
use confab_rpc::error::{RpcError, Violations};
use confab_rpc::fingerprint::fingerprint;
use confab_rpc::gate::{About, Action, Governed, Target};
use confab_rpc::wire;
use prost::Message as _;

/// Copies a transcript's active view into another session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkTranscript {
    /// The session to copy from; a sessionId names one generation.
    pub source: Target,
    /// The session to copy to.
    pub into: SessionKey,
    /// Names the call.
    pub idempotency_key: Option<String>,
    /// What is asked for, to be compared with another call of the same key.
    pub fingerprint: String,
}

impl ForkTranscript {
    /// Reads the request.
    ///
    /// # Errors
    /// With every field that is missing or malformed.
    ///
    /// Source: D36.
    pub fn parse(wire: proto::ForkTranscriptRequest) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        let canonical = proto::ForkTranscriptRequest {
            idempotency_key: None,
            ..wire.clone()
        };
        let fingerprint = fingerprint("ForkTranscript", &canonical.encode_to_vec());
        let source = violations.keep(Target::required(wire.source, "source"));
        let into =
            wire::fields::key_from_wire(&wire.into_session_key, "intoSessionKey", &mut violations);
        let idempotency_key = wire::fields::optional_from_wire(
            wire.idempotency_key,
            ID_BYTES_MAX,
            "idempotencyKey",
            &mut violations,
        );
        violations.finish()?;
        let (Some(source), Some(into)) = (source, into) else {
            return Err(RpcError::invalid_field("source", "source is missing"));
        };
        Ok(Self {
            source,
            into,
            idempotency_key,
            fingerprint,
        })
    }
}

impl Governed for ForkTranscript {
    fn action(&self) -> Action {
        Action::History
    }

    fn about(&self) -> About {
        About::One(self.source.clone())
    }
}

/// Asks for the session to copy to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkInto {
    /// The session.
    pub session_key: SessionKey,
}

impl Governed for ForkInto {
    fn action(&self) -> Action {
        Action::Append
    }

    fn about(&self) -> About {
        About::One(Target::key(&self.session_key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(from: &str, into: &str, key: &str) -> proto::ForkTranscriptRequest {
        proto::ForkTranscriptRequest {
            source: Some(Target::reference(from).into()),
            into_session_key: into.to_owned(),
            idempotency_key: Some(key.to_owned()),
        }
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let refusal = ForkTranscript::parse(request(" ", "desk", &"k".repeat(257))).unwrap_err();
        let fields: Vec<_> = refusal.violations.iter().map(|one| &one.field).collect();
        assert_eq!(fields, ["source", "intoSessionKey", "idempotencyKey"]);
    }

    #[test]
    fn calls_are_the_same_whatever_their_key_d36() {
        let read = |from, into, key| {
            let call = ForkTranscript::parse(request(from, into, key)).unwrap();
            call.fingerprint
        };
        let first = read("agent:a:b", "agent:a:c", "1");
        assert_eq!(first, read("agent:a:b", "agent:a:c", "2"));
        assert_ne!(first, read("agent:a:b", "agent:a:d", "1"));
        assert_ne!(first, read("agent:a:x", "agent:a:c", "1"));
    }
}
