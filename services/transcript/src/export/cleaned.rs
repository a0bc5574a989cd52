//! A message as an export for readers has it: as a history shows it, and not cut.

use confab_model::message::{Block, NewMessage, Role};
use confab_text::redact::Redactor;
use confab_text::sanitise::sanitise;

use crate::shown::is_shown;
use crate::store::View;

/// The message, cleaned and masked, without private reasoning; nothing where a history with tools
/// shows nothing of it.
///
/// Source: D20, D21, D23, D60.
pub(super) fn cleaned(message: NewMessage, redactor: &Redactor) -> Option<NewMessage> {
    if !is_shown(&message, View::All) {
        return None;
    }
    let role = message.role;
    let blocks = message.blocks.into_iter();
    Some(NewMessage {
        blocks: blocks
            .filter_map(|block| cleaned_block(block, role, redactor))
            .collect(),
        usage: None,
        ..message
    })
}

fn cleaned_block(block: Block, role: Role, redactor: &Redactor) -> Option<Block> {
    Some(match block {
        Block::Thinking(_) => return None,
        Block::Text(text) => Block::Text(match role {
            Role::Assistant => redactor.redact(&sanitise(&text)).into_owned(),
            Role::User | Role::ToolResult => redactor.redact(&text).into_owned(),
        }),
        Block::ToolCall {
            id,
            name,
            arguments,
        } => Block::ToolCall {
            id,
            name,
            arguments: redactor.redact_json(&arguments).unwrap_or(arguments),
        },
        image @ Block::Image { .. } => image,
    })
}
