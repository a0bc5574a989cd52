//! Which session tools a calling session has: every call of an agent stands behind one of them.

use confab_config::Settings;
use confab_model::key::SessionKey;
use confab_model::session::Session;
use confab_policy::tool_policy::{self, SessionTool, ToolDecision, ToolPattern, ToolSubject};
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::Action;

use super::asking::Asking;

/// What the tools of a session depend on, beside the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// How far below a session that nobody spawned it stands; 0 for one that is no subagent.
    subagent_depth: u32,
    inherited_allow: Vec<ToolPattern>,
    inherited_deny: Vec<ToolPattern>,
}

impl Standing {
    /// That of the session `key`; what only a row can tell is told by `row`.
    ///
    /// Source: reg:V20, reg:M8.
    pub(crate) fn of(key: &SessionKey, row: Option<&Session>) -> Self {
        let Some(row) = row else {
            return Self {
                subagent_depth: if key.bears_lineage() {
                    key.depth().max(1)
                } else {
                    0
                },
                ..Self::default()
            };
        };
        Self {
            subagent_depth: row.subagent_depth(),
            inherited_allow: patterns(&row.spawn.inherited_tool_allow),
            inherited_deny: patterns(&row.spawn.inherited_tool_deny),
        }
    }

    /// Whether the session `key` has `tool`, and which layer says so.
    ///
    /// Source: reg:A5, reg:A7, reg:A8, reg:A11, reg:A14.
    pub(crate) fn decide(
        &self,
        settings: &Settings,
        key: &SessionKey,
        sandboxed: bool,
        tool: SessionTool,
    ) -> ToolDecision {
        let agent = key.agent_id();
        let agent = agent.as_ref().and_then(|agent| settings.agents.get(agent));
        let subject = ToolSubject {
            agent: agent.and_then(|agent| agent.tools.as_ref()),
            subagent_depth: self.subagent_depth,
            sandboxed,
            inherited_allow: &self.inherited_allow,
            inherited_deny: &self.inherited_deny,
        };
        tool_policy::decide(&settings.tools, &subject, tool)
    }
}

/// Names were checked when they were stored; one that this version cannot read names no tool.
fn patterns(names: &[String]) -> Vec<ToolPattern> {
    names
        .iter()
        .filter_map(|name| ToolPattern::parse(name).ok())
        .collect()
}

/// The tools behind an action: whoever has one of them may do it. Empty: no tool is needed, because
/// only roles without tools have the call, or because it follows up what a tool began (D73).
pub(super) const fn tools_behind(action: Action) -> &'static [SessionTool] {
    use SessionTool::{SessionStatus, SessionsHistory, SessionsList, SessionsSearch, SessionsSend};
    match action {
        Action::Read => &[SessionsList, SessionStatus, SessionsHistory, SessionsSend],
        Action::History => &[SessionsHistory],
        Action::Status | Action::Patch => &[SessionStatus],
        Action::List => &[SessionsList],
        Action::Search => &[SessionsSearch],
        Action::Send => &[SessionsSend],
        Action::HumanMessage
        | Action::StartRun
        | Action::Create
        | Action::Lifecycle
        | Action::Record
        | Action::Append
        | Action::FlowRun
        | Action::Deliver => &[],
    }
}

/// Refuses an agent whose session has none of the tools behind the action.
pub(super) fn refuse_tools(
    settings: &Settings,
    asking: &Asking,
    action: Action,
) -> Result<(), RpcError> {
    let Asking::Session(session) = asking else {
        return Ok(());
    };
    let mut first = None;
    for tool in tools_behind(action) {
        let standing = &session.standing;
        let decision = standing.decide(settings, &session.key, session.sandboxed, *tool);
        if decision.allowed {
            return Ok(());
        }
        first.get_or_insert(decision);
    }
    first.map_or(Ok(()), |decision| Err(refusal(&decision)))
}

/// What a caller is told who does not have a tool.
pub(crate) fn refusal(decision: &ToolDecision) -> RpcError {
    let text = format!("{} {}", decision.reason, decision.remedy);
    RpcError::new(Reason::ToolPolicy, text.trim_end())
}
