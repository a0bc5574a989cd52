//! `session.sendPolicy`: which messages may go where.
//!
//! Source: reg:P1, D17.

use confab_model::channel::ChatType;
use confab_model::session::SendAction;
use confab_policy::send_policy::{SendPolicy, SendPolicyReach, SendRule};

use crate::schema::section::Section;

pub(super) fn read(section: &mut Section<'_, '_>) -> Option<SendPolicy> {
    let reaches = [
        ("all", SendPolicyReach::All),
        ("delivery", SendPolicyReach::Delivery),
    ];
    let actions = actions();
    let policy = SendPolicy {
        default: section
            .folded_word("default", &actions)
            .unwrap_or(SendAction::Allow),
        applies_to: section
            .folded_word("appliesTo", &reaches)
            .unwrap_or(SendPolicyReach::All),
        rules: section.objects("rules", read_rule).unwrap_or_default(),
    };
    section.is_given().then_some(policy)
}

fn actions() -> [(&'static str, SendAction); 2] {
    SendAction::ALL.map(|action| (action.as_str(), action))
}

fn read_rule(section: &mut Section<'_, '_>) -> SendRule {
    section.require("action", "allow, deny");
    let action = section
        .folded_word("action", &actions())
        .unwrap_or(SendAction::Deny);
    let chat_types = [
        ("direct", ChatType::Direct),
        ("group", ChatType::Group),
        ("channel", ChatType::Channel),
        ("dm", ChatType::Direct),
    ];
    section.object("match", |section| SendRule {
        action,
        channel: folded_text(section, "channel"),
        chat_type: section.folded_word("chatType", &chat_types),
        key_prefix: folded_text(section, "keyPrefix"),
        raw_key_prefix: folded_text(section, "rawKeyPrefix"),
    })
}

/// A text trimmed and folded; empty is absent (reg:P1).
fn folded_text(section: &mut Section<'_, '_>, name: &'static str) -> Option<String> {
    let text = section.any_text(name)?.trim().to_lowercase();
    (!text.is_empty()).then_some(text)
}
