//! A page of messages.

use std::ops::Range;

use confab_model::id::SessionId;
use confab_model::key::SessionKey;
use confab_model::message::Message;
use confab_rpc::error::RpcError;
use confab_rpc::gate::Admitted;
use confab_text::page::{self, Page};
use confab_text::render::{message_json, placeholder_json};

use crate::commands::GetHistory;
use crate::shown::{Shown, placeholder, show};
use crate::store::{Extract, TranscriptStore, View, Window};
use crate::{Messages, store_failed};

/// One page of messages, as they may be seen.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryPage {
    /// The session's key.
    pub session_key: SessionKey,
    /// The key as the caller may call it.
    pub display_key: String,
    /// The generation.
    pub session_id: SessionId,
    /// The messages.
    pub bounded: Bounded,
    /// The limit in force, where the asked one was lowered.
    pub limit_applied: Option<u32>,
    /// Where the page stands; only where an offset was asked for.
    pub paging: Option<Paging>,
}

/// The messages of a page, within its bounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounded {
    /// Oldest first, each with whether it stands for a message too large to show.
    pub messages: Vec<(Message, bool)>,
    /// Whether messages were left out, or lost their content, to stay under the bound.
    pub dropped_messages: bool,
    /// Whether a text was cut or a part left out.
    pub content_truncated: bool,
    /// Size of the messages as the tool's JSON, in bytes.
    pub bytes: usize,
}

impl Bounded {
    /// Whether anything is missing or cut.
    pub const fn is_truncated(&self) -> bool {
        self.dropped_messages || self.content_truncated
    }
}

/// Where a page stands in a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paging {
    /// The offset asked for.
    pub offset: u64,
    /// Shown messages up to the snapshot.
    pub total_messages: u64,
    /// The offset of the next page; absent on the last one.
    pub next_offset: Option<u64>,
    /// The end of the walk.
    pub snapshot: u64,
}

impl<S: TranscriptStore> Messages<S> {
    /// Reads a page of the admitted session's messages.
    ///
    /// # Errors
    /// When the store fails.
    ///
    /// Source: D20, D21, D22, D24, D26, run:H40, run:H41, run:H42, run:H43, run:H44,
    /// run:H45.
    pub async fn history(&self, call: Admitted<GetHistory>) -> Result<HistoryPage, RpcError> {
        let session = call.session()?;
        let (request, caller) = (call.request(), call.caller());
        let view = if request.include_tools {
            View::All
        } else {
            View::Plain
        };
        let window = Window {
            view,
            snapshot: request.snapshot,
            offset: request.offset.unwrap_or_default(),
            limit: request.limit.value,
        };
        let read = self
            .store
            .read(&caller.tenant, &session.session_id, window)
            .await;
        let Extract {
            messages,
            total,
            snapshot,
        } = read.map_err(store_failed)?;
        let bounded = bound(messages, view);
        let paging = request.offset.map(|offset| {
            let total_messages = total;
            let next_offset = next_offset(offset, bounded.messages.len(), total);
            Paging {
                offset,
                total_messages,
                next_offset,
                snapshot,
            }
        });
        Ok(HistoryPage {
            session_key: session.key.clone(),
            display_key: session.key.display_for(caller.session()).to_owned(),
            session_id: session.session_id.clone(),
            bounded,
            limit_applied: request.limit.applied,
            paging,
        })
    }
}

/// Counted over the messages that are left, so that what the bound on bytes dropped is on the next
/// page (run:H44).
fn next_offset(offset: u64, shown: usize, total: u64) -> Option<u64> {
    let shown = u64::try_from(shown).unwrap_or(u64::MAX);
    let next = offset.saturating_add(shown);
    (shown > 0 && next < total).then_some(next)
}

/// Shows each message, then bounds the page in bytes.
///
/// Source: D24.
pub fn bound(messages: Vec<Message>, view: View) -> Bounded {
    let shown: Vec<Shown> = messages
        .into_iter()
        .map(|message| show(message, view))
        .collect();
    let sizes: Vec<usize> = shown
        .iter()
        .map(|one| message_json(&one.message).to_string().len())
        .collect();
    let size_of_placeholder = |place: usize| {
        shown
            .get(place)
            .map_or(0, |one| placeholder_json(&one.message).to_string().len())
    };
    let page = page::bound(&sizes, size_of_placeholder);
    keep(shown, &page)
}

fn keep(shown: Vec<Shown>, page: &Page) -> Bounded {
    let Range { start, end } = page.kept;
    let mut bounded = Bounded {
        dropped_messages: page.dropped_messages,
        bytes: page.bytes,
        ..Bounded::default()
    };
    for (place, one) in shown.into_iter().enumerate().take(end).skip(start) {
        let too_large = page.placeholders.contains(&place);
        bounded.content_truncated |= one.truncated && !too_large;
        let message = if too_large {
            placeholder(one.message)
        } else {
            one.message
        };
        bounded.messages.push((message, too_large));
    }
    bounded
}

#[cfg(test)]
mod tests;
