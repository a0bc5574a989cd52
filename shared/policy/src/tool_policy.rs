//! Which session tools a session has.
//!
//! The lists of tools form layers, and each layer can only take away what the ones before it left
//! (reg:A8): the profile, `tools`, the agent's `tools`, the sandbox, the layer of spawned children
//! and the lists that a session inherited. [`decide`] asks all of them, so that a refusal names
//! every layer that is in the way.

mod layers;
mod pattern;
#[cfg(test)]
mod tests;
mod tool;

pub use layers::Layer;
pub use pattern::{PatternError, ToolPattern};
pub use tool::{Profile, SessionTool};

use layers::Verdict;

/// One scope of the configuration that lists tools.
///
/// An empty list is the same as no list; `allow` and `also_allow` do not stand in one scope.
///
/// Source: reg:A7, reg:A9, reg:A10.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolList {
    /// The named set to start from.
    pub profile: Option<Profile>,
    /// The only tools there are; empty = all.
    pub allow: Vec<ToolPattern>,
    /// Tools beyond those of the profile.
    pub also_allow: Vec<ToolPattern>,
    /// Tools there are not, whatever else is said.
    pub deny: Vec<ToolPattern>,
}

/// What the configuration says about the tools of all sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRules {
    /// Section `tools`.
    pub global: ToolList,
    /// Section `tools.subagents.tools`, for spawned children; its profile is not used.
    pub subagents: ToolList,
    /// How deep children may be spawned, 1 to 5; a child at this depth is a leaf (D37).
    pub max_spawn_depth: u32,
}

/// The session in question.
#[derive(Clone, Copy, Debug)]
pub struct ToolSubject<'a> {
    /// Section `tools` of its agent.
    pub agent: Option<&'a ToolList>,
    /// How many spawns deep it is; 0 = nobody spawned it.
    pub subagent_depth: u32,
    /// Whether its agent runs in a sandbox.
    pub sandboxed: bool,
    /// The only tools that its parent left it; empty = all.
    pub inherited_allow: &'a [ToolPattern],
    /// The tools that its parent took from it.
    pub inherited_deny: &'a [ToolPattern],
}

/// Whether a session has one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolDecision {
    /// Whether it has.
    pub allowed: bool,
    /// The first layer that refused it, or the last one that granted it.
    pub layer: Layer,
    /// One sentence that names every layer that refused it, or the last one that granted it.
    pub reason: String,
    /// What would have to change in each of these layers; empty where it is allowed.
    pub remedy: String,
}

/// Decides whether the session has `tool`.
///
/// Source: reg:A7, reg:A8, reg:A9, reg:A11, reg:A12, reg:A14.
pub fn decide(rules: &ToolRules, subject: &ToolSubject<'_>, tool: SessionTool) -> ToolDecision {
    let mut granted = (
        Layer::Unrestricted,
        "no list of tools restricts it".to_owned(),
    );
    let mut refused = Vec::new();
    for (layer, verdict) in layers::judge(rules, subject, tool) {
        match verdict {
            Verdict::Silent => {},
            Verdict::Granted { by } => granted = (layer, format!("granted by {by}")),
            Verdict::Refused { by, change } => refused.push((layer, by, change)),
        }
    }
    match refused.first() {
        Some((layer, ..)) => refusal(tool, *layer, &refused),
        None => ToolDecision {
            allowed: true,
            layer: granted.0,
            reason: format!("The tool {} is available: {}.", tool.as_str(), granted.1),
            remedy: String::new(),
        },
    }
}

fn refusal(tool: SessionTool, layer: Layer, refused: &[(Layer, String, String)]) -> ToolDecision {
    let by: Vec<&str> = refused.iter().map(|(_, by, _)| by.as_str()).collect();
    let changes: Vec<&str> = refused.iter().map(|(_, _, to)| to.as_str()).collect();
    ToolDecision {
        allowed: false,
        layer,
        reason: format!(
            "The tool {} is not available: refused by {}.",
            tool.as_str(),
            by.join("; and by ")
        ),
        remedy: format!("To allow it, {}.", changes.join("; and ")),
    }
}

/// The tools that the session has, in the order of [`SessionTool::ALL`].
pub fn effective(rules: &ToolRules, subject: &ToolSubject<'_>) -> Vec<SessionTool> {
    SessionTool::ALL
        .into_iter()
        .filter(|tool| decide(rules, subject, *tool).allowed)
        .collect()
}
