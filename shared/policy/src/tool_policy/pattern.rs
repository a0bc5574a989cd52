//! Patterns for the names of tools.

use std::fmt;

use super::SessionTool;
use crate::glob;

/// What the name of a group begins with.
const GROUP_PREFIX: &str = "group:";

/// Older names of tools, and the names they stand for.
const ALIASES: [(&str, &str); 2] = [("bash", "exec"), ("apply-patch", "apply_patch")];

/// One entry of a list of tools, folded: a tool's name, a pattern in which `*` stands for any run
/// of characters, or a group such as `group:sessions`.
///
/// Tools and groups that are none of ours are fine: they match no [`SessionTool`].
///
/// Source: reg:A9.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolPattern(String);

/// Why a text can be no entry of a list of tools.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` names no tool: write a tool's name such as `sessions_send`, a pattern such as \
     `sessions_*`, or a group such as `group:sessions`, without blanks inside"
)]
pub struct PatternError {
    /// The text as given.
    pub given: String,
}

impl ToolPattern {
    /// Trims, folds and checks `raw`.
    ///
    /// # Errors
    /// When nothing is left, there are blanks or control characters inside, or `group:` is not
    /// followed by the plain name of a group.
    ///
    /// Source: reg:A9.
    pub fn parse(raw: &str) -> Result<Self, PatternError> {
        let folded = raw.trim().to_lowercase();
        let group = folded.strip_prefix(GROUP_PREFIX);
        let fits = !folded.is_empty()
            && !folded.contains(|one: char| one.is_whitespace() || one.is_control())
            && group.is_none_or(|name| !name.is_empty() && !name.contains('*'));
        if !fits {
            return Err(PatternError {
                given: raw.to_owned(),
            });
        }
        let alias = ALIASES.into_iter().find(|(older, _)| *older == folded);
        Ok(Self(
            alias.map_or(folded, |(_, current)| current.to_owned()),
        ))
    }

    /// The entry, folded.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `tool` is meant, by name, pattern or group.
    ///
    /// Source: reg:A9.
    pub fn matches(&self, tool: SessionTool) -> bool {
        match self.0.strip_prefix(GROUP_PREFIX) {
            Some(group) => group_holds(group, tool),
            None => glob::matches(&self.0, tool.as_str()),
        }
    }

    /// Whether it is the very name of `tool`.
    pub(super) fn names(&self, tool: SessionTool) -> bool {
        self.0 == tool.as_str()
    }
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Whether `tool` is in `group`; groups of other tools hold none of ours.
///
/// Source: reg:A9.
fn group_holds(group: &str, tool: SessionTool) -> bool {
    match group {
        "openclaw" => true,
        "sessions" => tool != SessionTool::AgentsList,
        "agents" => tool == SessionTool::AgentsList,
        _ => false,
    }
}
