//! Whether a message may go into a session, or out of it.
//!
//! [`decide`] looks at the session's own override first, then at the shape of its key, then at the
//! rules of `session.sendPolicy` and last at its default. The [`Decision`] says which of them it
//! was, and what would change it.

mod decision;
#[cfg(test)]
mod tests;

use confab_model::channel::ChatType;
use confab_model::key::{SessionKey, Shape};
use confab_model::session::SendAction;

pub use decision::{DecidedBy, Decision};

/// The text of every refusal, whatever the reason.
///
/// Source: D18, reg:P14.
pub const REFUSAL: &str = "send blocked by session policy";

/// Section `session.sendPolicy`, words trimmed and folded to lower case.
///
/// Source: reg:P1, D17.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendPolicy {
    /// What happens where no rule decides.
    pub default: SendAction,
    /// Which messages it is about.
    pub applies_to: SendPolicyReach,
    /// The rules, as ordered in the file.
    pub rules: Vec<SendRule>,
}

/// Which messages the send policy is about (D17).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendPolicyReach {
    /// Messages into a session and deliveries out of it.
    All,
    /// Deliveries only.
    Delivery,
}

impl SendPolicyReach {
    /// Whether messages into a session are judged; deliveries out of it always are.
    ///
    /// Source: D17.
    pub const fn covers_messages(self) -> bool {
        match self {
            Self::All => true,
            Self::Delivery => false,
        }
    }
}

/// One rule of the send policy; a field that is absent matches everything (reg:P4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendRule {
    /// What the rule does.
    pub action: SendAction,
    /// The channel.
    pub channel: Option<String>,
    /// The kind of chat.
    pub chat_type: Option<ChatType>,
    /// How the key begins, with or without `agent:<id>:`.
    pub key_prefix: Option<String>,
    /// How the whole key begins.
    pub raw_key_prefix: Option<String>,
}

/// What is known of the session and the call when the question is asked.
///
/// A blank channel counts as absent; the case of channels does not matter.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// The session.
    pub key: &'a SessionKey,
    /// Its own override of the policy, which a reset keeps (reg:P16).
    pub session_override: Option<SendAction>,
    /// The channel stored with it.
    pub channel: Option<&'a str>,
    /// The channel it last spoke on.
    pub last_channel: Option<&'a str>,
    /// The kind of chat that the call names, or else the stored one.
    pub chat_type: Option<ChatType>,
    /// The channel that the call names.
    pub call_channel: Option<&'a str>,
}

/// Decides one question.
///
/// Whether the message is one of those that the policy is about is the caller's to ask:
/// [`SendPolicyReach::covers_messages`].
///
/// Source: D16, reg:P2, reg:P3, reg:P9.
pub fn decide(policy: Option<&SendPolicy>, facts: &Facts<'_>) -> Decision {
    if let Some(action) = facts.session_override {
        return Decision::new(facts.key, action, DecidedBy::Override);
    }
    let Some(policy) = policy else {
        return Decision::new(facts.key, SendAction::Allow, DecidedBy::NotConfigured);
    };
    let shape = facts.key.shape();
    if shape.ambiguous {
        return Decision::new(facts.key, SendAction::Deny, DecidedBy::AmbiguousKey);
    }
    match deciding_rule(&policy.rules, &Traits::of(facts, shape)) {
        Some((index, rule)) => Decision::by_rule(facts.key, index, rule),
        None => Decision::new(facts.key, policy.default, DecidedBy::Default),
    }
}

/// The first matching rule that denies, wherever it stands; else the first one that allows.
///
/// Source: reg:P3.
fn deciding_rule<'a>(rules: &'a [SendRule], session: &Traits) -> Option<(usize, &'a SendRule)> {
    let first = |action| {
        let mut numbered = rules.iter().enumerate();
        numbered.find(|(_, rule)| rule.action == action && session.fit(rule))
    };
    first(SendAction::Deny).or_else(|| first(SendAction::Allow))
}

/// What the rules are compared with, folded.
struct Traits {
    key: String,
    rest: String,
    channel: Option<String>,
    chat_type: Option<ChatType>,
}

impl Traits {
    fn of(facts: &Facts<'_>, shape: Shape) -> Self {
        Self {
            key: facts.key.as_str().to_lowercase(),
            rest: facts.key.rest().to_lowercase(),
            channel: told_channel(facts).or(shape.channel),
            chat_type: facts.chat_type.or(shape.chat_type),
        }
    }

    /// Whether every field of `rule` fits; what is not known fits no field.
    ///
    /// Source: reg:P4, reg:P5, reg:P6, reg:P8.
    fn fit(&self, rule: &SendRule) -> bool {
        let begins = |prefix: &String| self.key.starts_with(prefix);
        let begins_inside = |prefix: &String| begins(prefix) || self.rest.starts_with(prefix);
        (rule.channel.is_none() || rule.channel == self.channel)
            && (rule.chat_type.is_none() || rule.chat_type == self.chat_type)
            && rule.key_prefix.as_ref().is_none_or(begins_inside)
            && rule.raw_key_prefix.as_ref().is_none_or(begins)
    }
}

/// The channel that was told: the call's, else the stored one, else the last one.
///
/// Source: reg:P6.
fn told_channel(facts: &Facts<'_>) -> Option<String> {
    [facts.call_channel, facts.channel, facts.last_channel]
        .into_iter()
        .flatten()
        .map(str::trim)
        .find(|channel| !channel.is_empty())
        .map(str::to_lowercase)
}
