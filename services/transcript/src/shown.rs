//! What of a message may be seen, and by which view.
//!
//! Whether a message is shown at all is decided from its blocks alone, when it is appended; how it
//! looks is decided when it is read. What is stored is never changed.

use std::borrow::Cow;

use confab_model::message::{Block, Message, NewMessage, ProvenanceKind, Role, SkipWord};
use confab_text::page::PLACEHOLDER;
use confab_text::truncate::truncate;

use crate::store::View;

/// Whether `view` shows a message.
///
/// Tool results, and what is left without content once tool calls are taken away, are for the view
/// with tools. A reply that is exactly a skip word is for none, and so is one that is nothing but
/// private reasoning.
///
/// Source: D20, D21, D33, D60, D74.
pub fn is_shown(message: &NewMessage, view: View) -> bool {
    match (message.role, view) {
        (Role::User, _) | (Role::ToolResult, View::All) => true,
        (Role::ToolResult, View::Plain) => false,
        (Role::Assistant, _) => {
            let mut visible = message
                .blocks
                .iter()
                .filter(|block| is_visible(block, view));
            visible.next().is_some() && !is_skip_word(message, view)
        },
    }
}

/// Whether `view` shows a part of a message.
const fn is_visible(block: &Block, view: View) -> bool {
    match (block, view) {
        (Block::Text(_) | Block::Image { .. }, _) | (Block::ToolCall { .. }, View::All) => true,
        (Block::Thinking(_), _) | (Block::ToolCall { .. }, View::Plain) => false,
    }
}

/// Whether what `view` would show is a skip word and nothing else.
fn is_skip_word(message: &NewMessage, view: View) -> bool {
    let mut text = String::new();
    for block in message
        .blocks
        .iter()
        .filter(|block| is_visible(block, view))
    {
        match block {
            Block::Text(part) => text.push_str(part),
            Block::Thinking(_) | Block::ToolCall { .. } | Block::Image { .. } => return false,
        }
    }
    SkipWord::of(&text).is_some()
}

/// Whether a person wrote it: what titles are made of.
///
/// Source: reg:L35.
pub fn is_from_person(message: &NewMessage) -> bool {
    let kind = message
        .provenance
        .as_ref()
        .map(|provenance| provenance.kind);
    message.role == Role::User && matches!(kind, None | Some(ProvenanceKind::ExternalUser))
}

/// A message as it may be seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// The message, cut and cleaned.
    pub message: Message,
    /// Whether a text was cut or a part left out.
    pub truncated: bool,
}

/// Cuts long texts, leaves private reasoning out, and tool calls where `view` has none.
///
/// Tool calls that the view leaves out set no flag: they were not asked for. What a model was paid
/// for a message is no part of it.
///
/// Source: D21, D23, D24, D60.
pub fn show(message: Message, view: View) -> Shown {
    let mut truncated = false;
    let mut blocks = Vec::with_capacity(message.body.blocks.len());
    for block in message.body.blocks {
        if !is_visible(&block, view) {
            truncated |= matches!(block, Block::Thinking(_));
            continue;
        }
        truncated |= matches!(block, Block::Image { .. });
        blocks.push(match block {
            Block::Text(text) => {
                let (text, cut) = cut(text);
                truncated |= cut;
                Block::Text(text)
            },
            other @ (Block::Thinking(_) | Block::ToolCall { .. } | Block::Image { .. }) => other,
        });
    }
    let body = NewMessage {
        blocks,
        usage: None,
        ..message.body
    };
    Shown {
        message: Message { body, ..message },
        truncated,
    }
}

fn cut(text: String) -> (String, bool) {
    match truncate(&text) {
        (Cow::Owned(short), was_cut) => (short, was_cut),
        (Cow::Borrowed(_), was_cut) => (text, was_cut),
    }
}

/// What stands in the place of a message that is too large to show.
///
/// Source: D24, run:H29.
pub fn placeholder(message: Message) -> Message {
    let body = NewMessage::text(message.body.key, Role::Assistant, PLACEHOLDER);
    Message { body, ..message }
}

#[cfg(test)]
mod tests;
