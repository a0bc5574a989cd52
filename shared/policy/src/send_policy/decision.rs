//! The answer, and how it puts itself into words.

use confab_model::channel::ChatType;
use confab_model::key::SessionKey;
use confab_model::session::SendAction;

use super::SendRule;

/// What decided.
///
/// Source: D16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecidedBy {
    /// The session's own override.
    Override,
    /// There is no `session.sendPolicy`.
    NotConfigured,
    /// The key can be read in several ways, so that no rule can be trusted to meet it.
    AmbiguousKey,
    /// The rule at this place of `session.sendPolicy.rules`, counted from 0.
    Rule(usize),
    /// `session.sendPolicy.default`.
    Default,
}

/// The answer to one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What happens to the message.
    pub action: SendAction,
    /// What decided.
    pub by: DecidedBy,
    key: SessionKey,
    /// What the deciding rule asks for; empty where no rule decided, or it asks for nothing.
    conditions: Vec<String>,
}

impl Decision {
    pub(super) fn new(key: &SessionKey, action: SendAction, by: DecidedBy) -> Self {
        Self {
            action,
            by,
            key: key.clone(),
            conditions: Vec::new(),
        }
    }

    pub(super) fn by_rule(key: &SessionKey, index: usize, rule: &SendRule) -> Self {
        Self {
            conditions: conditions(rule),
            ..Self::new(key, rule.action, DecidedBy::Rule(index))
        }
    }

    /// Whether the message passes.
    pub fn is_allowed(&self) -> bool {
        match self.action {
            SendAction::Allow => true,
            SendAction::Deny => false,
        }
    }

    /// One sentence: what decided, and what it matched.
    ///
    /// Source: D16.
    pub fn reason(&self) -> String {
        let (key, action) = (&self.key, self.action.as_str());
        match self.by {
            DecidedBy::Override => {
                format!("The sendPolicy of session {key} itself is {action}.")
            },
            DecidedBy::NotConfigured => {
                "session.sendPolicy is not configured, so every message passes.".to_owned()
            },
            DecidedBy::AmbiguousKey => format!(
                "The key {key} can be read in several ways, and session.sendPolicy denies every \
                 session whose chat it cannot tell for certain."
            ),
            DecidedBy::Rule(index) if self.conditions.is_empty() => format!(
                "session.sendPolicy.rules[{index}] ({action}) matches every session, {key} too."
            ),
            DecidedBy::Rule(index) => format!(
                "session.sendPolicy.rules[{index}] ({action}) matches session {key} by {}.",
                self.conditions.join(", ")
            ),
            DecidedBy::Default => format!(
                "No rule of session.sendPolicy matches session {key}, and \
                 session.sendPolicy.default is {action}."
            ),
        }
    }

    /// One sentence: what would let the message pass; empty where it passes.
    pub fn remedy(&self) -> String {
        if self.is_allowed() {
            return String::new();
        }
        let own = format!("set the sendPolicy of session {} to allow", self.key);
        match self.by {
            DecidedBy::Override => format!("To allow it, clear this override or {own}."),
            DecidedBy::AmbiguousKey => {
                format!("To allow it, {own}, or use a key that can be read in one way only.")
            },
            DecidedBy::Rule(index) => format!(
                "To allow it, narrow or remove session.sendPolicy.rules[{index}], or {own}; an \
                 allow rule does not outweigh a deny rule."
            ),
            // Without a policy everything passes, so the last case is the default's alone.
            DecidedBy::Default | DecidedBy::NotConfigured => format!(
                "To allow it, add an allow rule that matches it to session.sendPolicy.rules, set \
                 session.sendPolicy.default to allow, or {own}."
            ),
        }
    }
}

/// The fields of a rule as `name=value`.
fn conditions(rule: &SendRule) -> Vec<String> {
    let fields = [
        ("channel", rule.channel.as_deref()),
        ("chatType", rule.chat_type.map(ChatType::as_str)),
        ("keyPrefix", rule.key_prefix.as_deref()),
        ("rawKeyPrefix", rule.raw_key_prefix.as_deref()),
    ];
    fields
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", value?)))
        .collect()
}
