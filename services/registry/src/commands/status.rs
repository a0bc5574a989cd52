//! Requests about one session's status.

use confab_proto::registry::v1 as proto;
use confab_rpc::error::{RpcError, Violations};
use confab_rpc::gate::{About, Action, Governed, Target};

/// Reads a session's status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetStatus {
    /// The session; `current` where none is named.
    pub target: Target,
    /// Tell the state events after this sequence.
    pub changes_since: Option<u64>,
}

impl GetStatus {
    /// Reads the request.
    ///
    /// # Errors
    /// When `changesSince` is negative.
    ///
    /// Source: reg:S1, reg:S2.
    pub fn parse(wire: proto::GetStatusRequest) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        let changes_since = wire.changes_since.and_then(|given| {
            let since = u64::try_from(given).ok();
            if since.is_none() {
                violations.push(
                    "changesSince",
                    format!("changesSince must be a non-negative integer: {given} is not"),
                );
            }
            since
        });
        violations.finish()?;
        Ok(Self {
            target: Target::optional(wire.target).unwrap_or_else(|| Target::reference("current")),
            changes_since,
        })
    }
}

impl Governed for GetStatus {
    fn action(&self) -> Action {
        Action::Status
    }

    fn about(&self) -> About {
        About::One(self.target.clone())
    }
}
