//! Importing a file of lines.

use bytes::Bytes;
use confab_model::id::SessionId;
use confab_proto::transcript::v1 as proto;
use confab_proto::types::v1::SessionTarget;
use confab_rpc::error::{RpcError, Violations};
use confab_rpc::gate::{About, Action, Governed, Target};
use confab_rpc::wire;

/// Stores the messages of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportTranscript {
    /// The session; a sessionId names one generation.
    pub target: Target,
    /// The generation of that session; absent: the one that the target names.
    pub session_id: Option<SessionId>,
    /// Whether everything is read and counted, and nothing stored.
    pub dry_run: bool,
}

impl ImportTranscript {
    /// Reads the first piece: the request, and the bytes that came with it.
    ///
    /// # Errors
    /// When it names no session.
    pub fn parse(first: proto::ImportTranscriptRequest) -> Result<(Self, Bytes), RpcError> {
        let mut violations = Violations::default();
        let session_id = wire::fields::optional_id_from_wire(
            first.session_id,
            SessionId::parse,
            "sessionId",
            &mut violations,
        );
        let target = violations.keep(Target::required(first.target, "target"));
        violations.finish()?;
        let Some(target) = target else {
            return Err(RpcError::invalid_field("target", "target is missing"));
        };
        let request = Self {
            target,
            session_id,
            dry_run: first.dry_run,
        };
        Ok((request, first.lines))
    }

    /// The same import by the sessionId alone, for a generation before the present one.
    ///
    /// # Errors
    /// When the sessionId cannot be a reference.
    pub fn by_generation(
        &self,
        named: &SessionId,
        agent_id: Option<String>,
    ) -> Result<Self, RpcError> {
        let target = SessionTarget {
            session_key: Some(named.as_str().to_owned()),
            agent_id,
            ..SessionTarget::default()
        };
        let target = Target::required(Some(target), "sessionId")
            .map_err(|violation| RpcError::invalid(vec![violation]))?;
        Ok(Self {
            target,
            ..self.clone()
        })
    }

    /// The bytes of a later piece.
    ///
    /// # Errors
    /// When it names another session than the first one.
    pub fn follow(&self, piece: proto::ImportTranscriptRequest) -> Result<Bytes, RpcError> {
        match Target::optional(piece.target) {
            Some(other) if other != self.target => Err(RpcError::invalid_field(
                "target",
                "target differs from the first piece's: an import goes into one session, and its \
                 first piece alone has to name it",
            )),
            Some(_) | None => Ok(piece.lines),
        }
    }
}

impl Governed for ImportTranscript {
    /// A generation is named as it is for reading: an archived session takes an import, which is no
    /// new work, and so does a generation before the present one (D26, D55). Who may import at all is
    /// a matter of the role.
    fn action(&self) -> Action {
        Action::History
    }

    fn about(&self) -> About {
        About::One(self.target.clone())
    }
}
