//! Section `tools`.

use confab_policy::tool_policy::{Profile, ToolList, ToolPattern};
use confab_policy::visibility::AgentPattern;
use serde_json::Value;

use super::{Report, texts};
use crate::settings::Settings;

pub(super) fn tell(report: &mut Report<'_>, settings: &Settings) {
    let reach = &settings.visibility;
    report.put("tools.sessions.visibility", reach.mode.as_str());
    report.put("tools.agentToAgent.enabled", reach.agent_to_agent.enabled);
    let agents = &reach.agent_to_agent.allow;
    // No list lets every agent in, as `*` does.
    let agents = if agents.is_empty() {
        Value::from(["*"])
    } else {
        texts(agents.iter().map(AgentPattern::as_str))
    };
    report.put("tools.agentToAgent.allow", agents);
    tell_lists(report, "tools", &settings.tools.global);
    tell_lists(report, "tools.subagents.tools", &settings.tools.subagents);
}

/// What one scope says; nothing where it says nothing.
pub(super) fn tell_lists(report: &mut Report<'_>, path: &str, lists: &ToolList) {
    let profile = lists.profile.map(Profile::as_str);
    report.put_some(format!("{path}.profile"), profile);
    let named = [
        ("allow", &lists.allow),
        ("alsoAllow", &lists.also_allow),
        ("deny", &lists.deny),
    ];
    for (name, patterns) in named {
        let given: Option<Value> =
            (!patterns.is_empty()).then(|| texts(patterns.iter().map(ToolPattern::as_str)));
        report.put_some(format!("{path}.{name}"), given);
    }
}
