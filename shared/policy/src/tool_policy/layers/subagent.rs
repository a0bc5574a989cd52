//! The layer of spawned children.

use super::super::{SessionTool, ToolList, ToolPattern, ToolRules};
use super::{Verdict, denied};

/// The most that `agents.defaults.subagents.maxSpawnDepth` can be raised to (D37).
const SPAWN_DEPTH_MAX: u32 = 5;

/// What a session at `depth` has; the layer is silent about sessions that nobody spawned.
///
/// Source: reg:A11, reg:A12, reg:A13.
pub(super) fn judge(rules: &ToolRules, depth: u32, tool: SessionTool) -> Verdict {
    if depth == 0 {
        return Verdict::Silent;
    }
    let child = Child {
        list: &rules.subagents,
        depth,
        depth_max: rules.max_spawn_depth,
    };
    denied(("tools.subagents.tools.deny", &child.list.deny), tool)
        .unwrap_or_else(|| child.judge(tool))
}

/// A spawned child.
struct Child<'a> {
    list: &'a ToolList,
    depth: u32,
    depth_max: u32,
}

impl Child<'_> {
    fn judge(&self, tool: SessionTool) -> Verdict {
        let (by, add) = (self.layer(), self.addition(tool));
        if self.lacks(tool) && !self.names(tool) {
            let change = self.deepening(tool) + &add;
            Verdict::Refused { by, change }
        } else if !self.list.allow.is_empty() && !self.adds(tool) {
            Verdict::Refused {
                by: format!("tools.subagents.tools.allow, which does not name it, in {by}"),
                change: add,
            }
        } else {
            Verdict::Granted { by }
        }
    }

    /// Whether it may not spawn.
    const fn is_leaf(&self) -> bool {
        self.depth >= self.depth_max
    }

    /// Whether it has no such tool where the configuration adds none.
    fn lacks(&self, tool: SessionTool) -> bool {
        is_for_no_child(tool) || (self.is_leaf() && is_for_no_leaf(tool))
    }

    /// Whether `tool` is added by its very name, which alone lifts a built-in refusal: a pattern
    /// that was written for other tools must not.
    ///
    /// Source: reg:A12.
    fn names(&self, tool: SessionTool) -> bool {
        self.additions().any(|entry| entry.names(tool))
    }

    /// Whether `tool` is added by name, pattern or group.
    fn adds(&self, tool: SessionTool) -> bool {
        self.additions().any(|entry| entry.matches(tool))
    }

    fn additions(&self) -> impl Iterator<Item = &ToolPattern> {
        self.list.allow.iter().chain(&self.list.also_allow)
    }

    /// The layer in words.
    fn layer(&self) -> String {
        let (depth, depth_max) = (self.depth, self.depth_max);
        let leaf = if self.is_leaf() { ", a leaf" } else { "" };
        format!("the subagent layer (depth {depth} of maxSpawnDepth {depth_max}{leaf})")
    }

    /// How `tool` is added; a scope with an allow list may have no alsoAllow (reg:A10).
    fn addition(&self, tool: SessionTool) -> String {
        let list = if self.list.allow.is_empty() {
            "alsoAllow"
        } else {
            "allow"
        };
        format!(
            "add {} by its full name to tools.subagents.tools.{list}",
            tool.as_str()
        )
    }

    /// The other way to it, where a child that may spawn has it.
    fn deepening(&self, tool: SessionTool) -> String {
        if is_for_no_child(tool) || self.depth >= SPAWN_DEPTH_MAX {
            return String::new();
        }
        let depth = self.depth;
        format!("raise agents.defaults.subagents.maxSpawnDepth above {depth} or ")
    }
}

/// Whether children of every depth lack `tool`.
///
/// Source: reg:A11.
const fn is_for_no_child(tool: SessionTool) -> bool {
    match tool {
        SessionTool::AgentsList | SessionTool::SessionStatus | SessionTool::SessionsSend => true,
        SessionTool::SessionsList
        | SessionTool::SessionsHistory
        | SessionTool::SessionsSearch
        | SessionTool::SessionsSpawn
        | SessionTool::SessionsYield
        | SessionTool::Subagents => false,
    }
}

/// Whether children that may not spawn lack `tool`.
///
/// Source: reg:A11, D72.
const fn is_for_no_leaf(tool: SessionTool) -> bool {
    match tool {
        SessionTool::SessionsList
        | SessionTool::SessionsHistory
        | SessionTool::SessionsSearch
        | SessionTool::SessionsSpawn
        | SessionTool::SessionsYield
        | SessionTool::Subagents => true,
        SessionTool::AgentsList | SessionTool::SessionStatus | SessionTool::SessionsSend => false,
    }
}
