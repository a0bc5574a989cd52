//! Section `agents`.

use confab_model::id::AgentId;
use confab_policy::spawn_policy::AllowAgents;
use serde_json::Value;

use super::{Report, texts, tools};
use crate::settings::{AgentSettings, Settings, SubagentSettings};

pub(super) fn tell(report: &mut Report<'_>, settings: &Settings) {
    report.put(
        "agents.defaults.timeoutSeconds",
        settings.runs.timeout_seconds,
    );
    report.put(
        "agents.defaults.sandbox.sessionToolsVisibility",
        settings.visibility.sandbox_clamp.as_str(),
    );
    tell_subagents(report, &settings.subagents);
    for (index, agent) in settings.agents.list().iter().enumerate() {
        tell_agent(report, &format!("agents.list[{index}]"), agent);
    }
}

fn tell_subagents(report: &mut Report<'_>, subagents: &SubagentSettings) {
    let numbers = [
        ("maxSpawnDepth", subagents.max_spawn_depth),
        ("maxChildrenPerAgent", subagents.max_children_per_agent),
        ("maxConcurrent", subagents.max_concurrent),
        ("archiveAfterMinutes", subagents.archive_after_minutes),
        ("runTimeoutSeconds", subagents.run_timeout_seconds),
    ];
    let path = |name: &str| format!("agents.defaults.subagents.{name}");
    for (name, number) in numbers {
        report.put(path(name), number);
    }
    report.put(path("requireAgentId"), subagents.require_agent_id);
    report.put(
        path("allowAgents"),
        allowed(subagents.allow_agents.as_ref()),
    );
}

fn tell_agent(report: &mut Report<'_>, path: &str, agent: &AgentSettings) {
    report.put(format!("{path}.id"), agent.id.as_str());
    report.put(format!("{path}.driver.type"), agent.driver.as_str());
    report.put(format!("{path}.model"), agent.model.clone());
    report.put(format!("{path}.sandbox.mode"), agent.sandbox.as_str());
    if let Some(lists) = &agent.tools {
        tools::tell_lists(report, &format!("{path}.tools"), lists);
    }
    if let Some(own) = &agent.allow_agents {
        report.put(format!("{path}.subagents.allowAgents"), allowed(Some(own)));
    }
}

/// The list as it would be written; null where a session may only spawn its own agent.
fn allowed(agents: Option<&AllowAgents>) -> Value {
    let Some(agents) = agents else {
        return Value::Null;
    };
    if agents.any {
        Value::from(["*"])
    } else {
        texts(agents.ids.iter().map(AgentId::as_str))
    }
}
