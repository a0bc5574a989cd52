//! Exporting a transcript as lines.

use confab_proto::transcript::v1 as proto;
use confab_rpc::caller::Role;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::{About, Action, Governed, Target};

/// Writes a transcript as lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportTranscript {
    /// The session; a sessionId names one generation.
    pub target: Target,
    /// As stored; otherwise as it may be shown.
    pub raw: bool,
}

impl ExportTranscript {
    /// Reads a request of a caller in the given role.
    ///
    /// # Errors
    /// When it names no session, or asks for what only an operator may have.
    ///
    /// Source: D60.
    pub fn parse(wire: proto::ExportTranscriptRequest, role: Role) -> Result<Self, RpcError> {
        let target = Target::required(wire.target, "target")
            .map_err(|violation| RpcError::invalid(vec![violation]))?;
        if wire.raw && role != Role::Operator {
            return Err(RpcError::new(
                Reason::Role,
                "raw holds private reasoning and unmasked text, and is for operators only: leave \
                 raw out, or call as an operator",
            ));
        }
        Ok(Self {
            target,
            raw: wire.raw,
        })
    }
}

impl Governed for ExportTranscript {
    fn action(&self) -> Action {
        Action::History
    }

    fn about(&self) -> About {
        About::One(self.target.clone())
    }
}
