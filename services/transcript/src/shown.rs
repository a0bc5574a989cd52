//! What of a message may be seen, and by which view.
//!
//! Whether a message is shown at all is decided from its blocks alone, when it is appended; how it
//! looks is decided when it is read. What is stored is never changed.

use std::borrow::Cow;

use confab_model::message::{
    Block, Compaction, Message, NewMessage, ProvenanceKind, Role, SkipWord,
};
use confab_text::page::{PLACEHOLDER, UNREADABLE};
use confab_text::redact::Redactor;
use confab_text::sanitise::sanitise;
use confab_text::truncate::truncate;

use crate::store::{Row, View};

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
    /// The message, cleaned, masked and cut.
    pub message: Message,
    /// Whether a text was cut or a part left out.
    pub truncated: bool,
    /// Whether a secret was masked.
    pub redacted: bool,
    /// Whether the message stands for one that cannot be read.
    pub unreadable: bool,
}

/// Shows a row: its message, or what stands in the place of one that cannot be read.
///
/// Source: B146.
pub fn show_row(row: Row, view: View, redactor: &Redactor) -> Shown {
    let Row { id, seq, at, body } = row;
    if let Some(body) = body {
        return show(Message { id, seq, at, body }, view, redactor);
    }
    let body = NewMessage::text("", Role::Assistant, UNREADABLE);
    Shown {
        message: Message { id, seq, at, body },
        truncated: false,
        redacted: false,
        unreadable: true,
    }
}

/// Cleans, masks and cuts the texts, and leaves private reasoning out, and tool calls where `view`
/// has none.
///
/// What the cleaning takes out sets no flag, since it was never meant to be seen; neither do tool
/// calls that the view leaves out, since they were not asked for. What a model was paid for a message
/// is no part of it.
///
/// Source: D20, D21, D23, D24, D60.
pub fn show(message: Message, view: View, redactor: &Redactor) -> Shown {
    let Message { id, seq, at, body } = message;
    let mut showing = Showing::new(redactor, Cut::Long);
    let body = showing.body(body, view);
    Shown {
        message: Message { id, seq, at, body },
        truncated: showing.truncated,
        redacted: showing.redacted,
        unreadable: false,
    }
}

/// The message as [`show`] has it in the view with tools, and not cut; nothing where that view does
/// not show it.
///
/// Source: D20, D21, D23, D60.
pub fn show_whole(body: NewMessage, redactor: &Redactor) -> Option<NewMessage> {
    is_shown(&body, View::All).then(|| Showing::new(redactor, Cut::Nothing).body(body, View::All))
}

/// A compaction as it may be seen, and whether its summary was cut and whether it was masked. A model
/// wrote the summary, so it is cleaned like everything that an assistant says.
///
/// Source: D23.
pub fn show_compaction(compaction: &Compaction, redactor: &Redactor) -> (Compaction, bool, bool) {
    let mut showing = Showing::new(redactor, Cut::Long);
    let shown = showing.compaction(compaction);
    (shown, showing.truncated, showing.redacted)
}

/// What a message says to a reader: its texts, cleaned and masked and not cut, a line break between
/// them; without reasoning and tool calls.
///
/// Source: D23, D60, D77, run:R19.
pub fn readable_text(message: &NewMessage, redactor: &Redactor) -> String {
    let mut text = String::new();
    for block in &message.blocks {
        let Block::Text(part) = block else { continue };
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&redactor.redact(&clean(part, message.role)));
    }
    text
}

/// What an assistant says is cleaned; what a person or a tool says is not (run:Z22).
fn clean(text: &str, role: Role) -> Cow<'_, str> {
    match role {
        Role::Assistant => sanitise(text),
        Role::User | Role::ToolResult => Cow::Borrowed(text),
    }
}

/// What of a text is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// What is too long for a page.
    Long,
    Nothing,
}

/// What was done so far to the parts of a message.
struct Showing<'r> {
    redactor: &'r Redactor,
    cut: Cut,
    truncated: bool,
    redacted: bool,
}

impl<'r> Showing<'r> {
    const fn new(redactor: &'r Redactor, cut: Cut) -> Self {
        Self {
            redactor,
            cut,
            truncated: false,
            redacted: false,
        }
    }

    fn body(&mut self, body: NewMessage, view: View) -> NewMessage {
        let mut blocks = Vec::with_capacity(body.blocks.len());
        for block in body.blocks {
            if is_visible(&block, view) {
                blocks.push(self.block(block, body.role));
            } else {
                self.truncated |= matches!(block, Block::Thinking(_));
            }
        }
        NewMessage {
            blocks,
            usage: None,
            tool_call_id: body.tool_call_id.map(|id| self.masked(id)),
            tool_name: body.tool_name.map(|name| self.masked(name)),
            model: body.model.map(|model| self.masked(model)),
            compaction: body
                .compaction
                .map(|compaction| self.compaction(&compaction)),
            ..body
        }
    }

    fn compaction(&mut self, compaction: &Compaction) -> Compaction {
        Compaction {
            summary: self.text(&clean(&compaction.summary, Role::Assistant)),
            ..*compaction
        }
    }

    fn block(&mut self, block: Block, role: Role) -> Block {
        match block {
            Block::Text(text) => Block::Text(self.text(&clean(&text, role))),
            Block::ToolCall {
                id,
                name,
                arguments,
            } => {
                let masked = self.redactor.redact_json(&arguments);
                self.redacted |= masked.is_some();
                Block::ToolCall {
                    id: self.masked(id),
                    name: self.masked(name),
                    arguments: masked.unwrap_or(arguments),
                }
            },
            image @ Block::Image { .. } => {
                self.truncated = true;
                image
            },
            // No view shows it.
            thinking @ Block::Thinking(_) => thinking,
        }
    }

    /// A name, which is short and is never cut.
    fn masked(&mut self, name: String) -> String {
        match self.redactor.redact(&name) {
            Cow::Borrowed(_) => name,
            Cow::Owned(masked) => {
                self.redacted = true;
                masked
            },
        }
    }

    /// Masks, then cuts: the other way round a secret at the cut would be halved and escape.
    fn text(&mut self, text: &str) -> String {
        let masked = self.redactor.redact(text);
        self.redacted |= masked != text;
        if self.cut == Cut::Nothing {
            return masked.into_owned();
        }
        let (short, was_cut) = truncate(&masked);
        self.truncated |= was_cut;
        short.into_owned()
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
