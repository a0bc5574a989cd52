//! Requests about what a caller may do.

use confab_model::key::SessionKey;
use confab_model::limits::ROUTE_FIELD_BYTES_MAX;
use confab_policy::tool_policy::SessionTool;
use confab_proto::policy::v1 as proto;
use confab_proto::registry::v1::{GetToolPolicyRequest, ListAgentsRequest};
use confab_rpc::error::{RpcError, Violations};
use confab_rpc::gate::{About, Action, Governed, Target};
use confab_rpc::wire;

/// Explains every gate of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explain {
    /// The session the call would act on.
    pub target: Target,
    /// The session that would call; absent: an operator.
    pub as_session: Option<SessionKey>,
    /// The tool that would be called.
    pub tool: Option<SessionTool>,
    /// The outside channel that the call itself would name.
    pub channel: Option<String>,
}

impl Explain {
    /// Reads the request.
    ///
    /// # Errors
    /// With every field that is missing or malformed.
    pub fn parse(wire: proto::ExplainRequest) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        let target = violations.keep(Target::required(wire.target, "target"));
        let as_session = wire::fields::optional_key_from_wire(
            wire.as_session_key,
            "asSessionKey",
            &mut violations,
        );
        let tool = tool_from_wire(wire.tool, &mut violations);
        let max = ROUTE_FIELD_BYTES_MAX;
        let channel =
            wire::fields::optional_from_wire(wire.channel, max, "channel", &mut violations);
        violations.finish()?;
        Ok(Self {
            target: target.unwrap_or_default(),
            as_session,
            tool,
            channel,
        })
    }
}

fn tool_from_wire(name: Option<String>, violations: &mut Violations) -> Option<SessionTool> {
    let name = name.filter(|name| !name.trim().is_empty())?;
    let tool = SessionTool::parse(name.trim());
    if tool.is_none() {
        let known = SessionTool::ALL.map(SessionTool::as_str).join(", ");
        violations.push("tool", format!("tool is {name:?}; give one of {known}"));
    }
    tool
}

impl Governed for Explain {
    fn action(&self) -> Action {
        Action::Read
    }

    /// Only roles that see everything may ask.
    fn about(&self) -> About {
        About::Nothing
    }
}

/// Lists the agents the caller may spawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListAgents;

impl ListAgents {
    /// Reads the request, which says nothing.
    ///
    /// # Errors
    /// Never.
    pub const fn parse(_: ListAgentsRequest) -> Result<Self, RpcError> {
        Ok(Self)
    }
}

impl Governed for ListAgents {
    fn action(&self) -> Action {
        Action::Read
    }

    fn about(&self) -> About {
        About::Nothing
    }
}

/// Tells which session tools the caller has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GetToolPolicy;

impl GetToolPolicy {
    /// Reads the request, which says nothing.
    ///
    /// # Errors
    /// Never.
    pub const fn parse(_: GetToolPolicyRequest) -> Result<Self, RpcError> {
        Ok(Self)
    }
}

impl Governed for GetToolPolicy {
    fn action(&self) -> Action {
        Action::Read
    }

    fn about(&self) -> About {
        About::Nothing
    }
}
