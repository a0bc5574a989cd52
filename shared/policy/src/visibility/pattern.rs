//! Patterns for agent ids.

use confab_model::id::AgentId;
use confab_model::limits::AGENT_ID_CHARS_MAX;

use crate::glob;

/// An agent id, or a pattern in which `*` stands for any run of characters, the empty one included.
///
/// Source: D53, reg:V10.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPattern(String);

/// Why a text can be neither an agent id nor a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{given}` is neither an agent id nor a pattern: write 1 to {AGENT_ID_CHARS_MAX} letters, \
     digits, _ or -, and * for any run of them, for example `{hint}`"
)]
pub struct PatternError {
    /// The text as given.
    pub given: String,
    /// The agent id that comes nearest.
    pub hint: AgentId,
}

impl AgentPattern {
    /// Folds and checks `raw`.
    ///
    /// # Errors
    /// When `raw` is blank, too long, or holds a character that no agent id has and that is no `*`.
    pub fn parse(raw: &str) -> Result<Self, PatternError> {
        let literal = raw.chars().filter(|character| *character != '*').count();
        let fits = !raw.is_empty()
            && literal <= AGENT_ID_CHARS_MAX
            && raw.chars().all(|character| {
                character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '*')
            });
        if fits {
            Ok(Self::unchecked(raw))
        } else {
            Err(PatternError {
                given: raw.to_owned(),
                hint: AgentId::normalise(raw),
            })
        }
    }

    /// Folds `raw` without a check: a text that can be no pattern matches no agent.
    pub fn unchecked(raw: &str) -> Self {
        Self(raw.to_ascii_lowercase())
    }

    /// The pattern, in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it fits the whole of `agent`.
    pub fn matches(&self, agent: &AgentId) -> bool {
        glob::matches(&self.0, agent.as_str())
    }
}
