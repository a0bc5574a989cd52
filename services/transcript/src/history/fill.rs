//! Filling a page: each message is shown once, and reading ends where the page is full.

use confab_model::id::SessionId;
use confab_model::limits::HISTORY_BYTES_MAX;
use confab_model::message::Message;
use confab_text::page;
use confab_text::redact::Redactor;
use confab_text::render::{message_json, placeholder_json};

use super::Bounded;
use crate::shown::{Shown, placeholder, show_row};
use crate::store::{Row, View};

/// The brackets of an array, which a message alone on its page has around it.
const ARRAY_BYTES: usize = 2;

/// A page that is being filled, the message that must stay first.
#[derive(Debug)]
pub(super) struct Fill<'f> {
    view: View,
    redactor: &'f Redactor,
    session_id: &'f SessionId,
    leaves: Vec<Leaf>,
    /// What has been offered is at least this large.
    bytes_at_least: usize,
}

/// A message that was offered, no larger than it may be.
#[derive(Debug)]
struct Leaf {
    message: Message,
    /// Size of the whole message as JSON.
    size: usize,
    stands_for: StandsFor,
    truncated: bool,
    redacted: bool,
}

/// What a message on a page stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StandsFor {
    Itself,
    /// A message that is too large to show.
    Larger,
    /// A message that cannot be read.
    Unreadable,
}

impl<'f> Fill<'f> {
    pub(super) const fn new(view: View, redactor: &'f Redactor, session_id: &'f SessionId) -> Self {
        Self {
            view,
            redactor,
            session_id,
            leaves: Vec::new(),
            bytes_at_least: 0,
        }
    }

    /// Offers a message; whether there may be room for another one.
    pub(super) fn offer(&mut self, row: Row) -> bool {
        let leaf = Leaf::of(show_row(row, self.view, self.redactor));
        if leaf.stands_for != StandsFor::Larger {
            self.bytes_at_least = self.bytes_at_least.saturating_add(leaf.size);
        }
        self.leaves.push(leaf);
        self.bytes_at_least <= HISTORY_BYTES_MAX
    }

    /// The page: what was offered first stays first, until the bound on bytes is reached.
    ///
    /// Source: D24, run:H28, run:H34, B146.
    pub(super) fn finish(mut self) -> Bounded {
        self.leaves.reverse();
        let sizes: Vec<usize> = self.leaves.iter().map(|leaf| leaf.size).collect();
        let size_of_placeholder = |place: usize| {
            let leaf = self.leaves.get(place);
            leaf.map_or(0, |leaf| placeholder_size(&leaf.message))
        };
        let page = page::bound(&sizes, size_of_placeholder);
        let mut bounded = Bounded {
            dropped_messages: page.dropped_messages,
            bytes: page.bytes,
            ..Bounded::default()
        };
        for leaf in self.leaves.drain(page.kept) {
            bounded.add(leaf, self.session_id);
        }
        bounded.messages.sort_by_key(|(message, _)| message.seq);
        bounded
    }
}

impl Leaf {
    fn of(shown: Shown) -> Self {
        let size = if shown.unreadable {
            placeholder_size(&shown.message)
        } else {
            message_json(&shown.message).to_string().len()
        };
        let too_large = ARRAY_BYTES + size > HISTORY_BYTES_MAX;
        let (message, stands_for) = if too_large {
            (placeholder(shown.message), StandsFor::Larger)
        } else if shown.unreadable {
            (shown.message, StandsFor::Unreadable)
        } else {
            (shown.message, StandsFor::Itself)
        };
        Self {
            message,
            size,
            stands_for,
            truncated: shown.truncated && !too_large,
            redacted: shown.redacted && !too_large,
        }
    }
}

fn placeholder_size(message: &Message) -> usize {
    placeholder_json(message).to_string().len()
}

impl Bounded {
    fn add(&mut self, leaf: Leaf, session_id: &SessionId) {
        self.content_truncated |= leaf.truncated;
        self.content_redacted |= leaf.redacted;
        if leaf.stands_for == StandsFor::Unreadable {
            self.skipped_rows = self.skipped_rows.saturating_add(1);
            let seq = leaf.message.seq;
            tracing::warn!(session.id = %session_id, seq, "a message cannot be read");
        }
        let placeholder = leaf.stands_for != StandsFor::Itself;
        self.messages.push((leaf.message, placeholder));
    }
}
