//! What agents may spawn: `agents.defaults.subagents`, and what an agent says of itself.
//!
//! Source: reg:A2, run:K7, run:K8, run:K9, run:K10, run:K11, run:K12, run:K13, run:K14, run:K15, run:K16.

use confab_model::id::AgentId;
use confab_policy::spawn_policy::AllowAgents;
use serde_json::Value;

use super::read_model;
use crate::schema::findings::Class;
use crate::schema::section::{Section, any_text};
use crate::settings::SubagentSettings;

/// How deep children spawn when nothing is configured (D37).
const SPAWN_DEPTH_DEFAULT: u32 = 1;
/// The deepest that can be configured (D37).
const SPAWN_DEPTH_MAX: u32 = 5;
/// Children of one session when nothing is configured (run:K9).
const CHILDREN_DEFAULT: u32 = 5;
/// Most children of one session that can be configured (run:K9).
const CHILDREN_MAX: u32 = 20;
/// Children at work at the same time when nothing is configured (run:K7).
const CONCURRENT_DEFAULT: u32 = 8;
/// Minutes until an ended child is archived when nothing is configured (D44).
const ARCHIVE_AFTER_MINUTES_DEFAULT: u32 = 60;

/// What an entry of `allowAgents` is, in words.
const AGENT: &str = "an agent id string, or * alone for every configured agent";

/// The keys about which only the defaults are asked.
const FOR_ALL_AGENTS: &str = "it is the same for all agents; set it in agents.defaults.subagents";

/// Limits of [`read_limits`] that only a spawn would ask about.
const LIMITS_OF_SPAWNS: [&str; 4] = [
    "maxChildrenPerAgent",
    "maxConcurrent",
    "runTimeoutSeconds",
    "announceTimeoutMs",
];

/// Section `agents.defaults.subagents`.
pub(super) fn read_defaults(section: &mut Section<'_, '_>) -> SubagentSettings {
    let limits = read_limits(section);
    for name in LIMITS_OF_SPAWNS {
        section.not_yet(name, "act on");
    }
    read_model_of_children(section);
    SubagentSettings {
        require_agent_id: read_require_agent_id(section),
        allow_agents: read_allow_agents(section),
        ..limits
    }
}

/// Section `agents.list[].subagents`: the agents that this one may spawn.
pub(super) fn read_own(section: &mut Section<'_, '_>) -> Option<AllowAgents> {
    read_limits(section);
    for name in ["maxSpawnDepth", "archiveAfterMinutes"]
        .into_iter()
        .chain(LIMITS_OF_SPAWNS)
    {
        section.ignored(name, FOR_ALL_AGENTS);
    }
    read_model_of_children(section);
    read_require_agent_id(section);
    read_allow_agents(section)
}

fn read_limits(section: &mut Section<'_, '_>) -> SubagentSettings {
    let depth = section.integer("maxSpawnDepth", 1..=SPAWN_DEPTH_MAX);
    let children = section.integer("maxChildrenPerAgent", 1..=CHILDREN_MAX);
    let concurrent = section.integer("maxConcurrent", 1..=u32::MAX);
    let archive = section.integer("archiveAfterMinutes", 0..=u32::MAX);
    let timeout = section.integer("runTimeoutSeconds", 0..=u32::MAX);
    section.integer("announceTimeoutMs", 1..=u32::MAX);
    SubagentSettings {
        max_spawn_depth: depth.unwrap_or(SPAWN_DEPTH_DEFAULT),
        max_children_per_agent: children.unwrap_or(CHILDREN_DEFAULT),
        max_concurrent: concurrent.unwrap_or(CONCURRENT_DEFAULT),
        archive_after_minutes: archive.unwrap_or(ARCHIVE_AFTER_MINUTES_DEFAULT),
        run_timeout_seconds: timeout.unwrap_or(0),
        require_agent_id: false,
        allow_agents: None,
    }
}

fn read_require_agent_id(section: &mut Section<'_, '_>) -> bool {
    let required = section.boolean("requireAgentId");
    section.not_yet("requireAgentId", "act on");
    required.unwrap_or(false)
}

fn read_model_of_children(section: &mut Section<'_, '_>) {
    let modes = ["suggest", "prefer"].map(|mode| (mode, ()));
    section.word("delegationMode", &modes);
    section.text("thinking");
    read_model(section);
    for name in ["delegationMode", "thinking", "model"] {
        section.not_yet(name, "act on");
    }
}

fn read_allow_agents(section: &mut Section<'_, '_>) -> Option<AllowAgents> {
    let entries = section.list("allowAgents", AGENT, agent)?;
    let mut allowed = AllowAgents {
        any: false,
        ids: Vec::with_capacity(entries.len()),
    };
    for entry in entries {
        match entry {
            None => allowed.any = true,
            Some(id) if allowed.ids.contains(&id) => {},
            Some(id) => allowed.ids.push(id),
        }
    }
    Some(allowed)
}

/// One entry of `allowAgents`, absent for `*`; other patterns are none, as they would be folded
/// into an id that nobody meant.
fn agent(value: &Value) -> Result<Option<AgentId>, Class> {
    let text = any_text(value)?.trim();
    if text == "*" {
        return Ok(None);
    }
    let has_id = text.contains(|one: char| one.is_ascii_alphanumeric() || one == '_');
    if has_id && !text.contains('*') {
        Ok(Some(AgentId::normalise(text)))
    } else {
        Err(Class::Value)
    }
}
