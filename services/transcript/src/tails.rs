//! The ends of many transcripts, for lists.

use confab_model::key::SessionKey;
use confab_model::message::Message;
use confab_model::session::Session;
use confab_rpc::error::RpcError;
use confab_rpc::gate::Admitted;
use confab_text::redact::Redactor;
use confab_text::render::message_json;
use unicode_segmentation::UnicodeSegmentation as _;

use crate::commands::TailSessions;
use crate::limits::{FIRST_TEXT_BYTES_MAX, TAILS_BYTES_MAX};
use crate::shown::{placeholder, readable_text, show_row};
use crate::store::{Row, Tail, TailQuery, TranscriptStore, View};
use crate::{Messages, store_failed};

/// The end of one session's transcript, as it may be seen.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionTail {
    /// The session.
    pub session_key: SessionKey,
    /// Oldest first; tool messages are left out.
    pub messages: Vec<Message>,
    /// The beginning of the first message of a person.
    pub first_user_text: Option<String>,
}

impl<S: TranscriptStore> Messages<S> {
    /// Reads the ends of the sessions the caller may see, in the order asked; the others are left
    /// out, whether they exist or not.
    ///
    /// # Errors
    /// When the store fails.
    ///
    /// Source: D12, D23, reg:L34, reg:L35, reg:L37.
    pub async fn tails(&self, call: Admitted<TailSessions>) -> Result<Vec<SessionTail>, RpcError> {
        let seen: Vec<&Session> = call.sessions()?.iter().flatten().collect();
        let request = call.request();
        let query = TailQuery {
            session_ids: seen
                .iter()
                .map(|session| session.session_id.clone())
                .collect(),
            limit: request.limit,
            first_of_person: request.first_of_person,
        };
        let read = self.store.tails(&call.caller().tenant, &query).await;
        let mut found = read.map_err(store_failed)?;
        let share = TAILS_BYTES_MAX
            .checked_div(seen.len())
            .unwrap_or(TAILS_BYTES_MAX);
        let redactor = self.redactor();
        let mut tails = Vec::with_capacity(seen.len());
        for session in seen {
            let tail = found.remove(&session.session_id).unwrap_or_default();
            tails.push(present(session, tail, share, &redactor));
        }
        Ok(tails)
    }
}

fn present(session: &Session, tail: Tail, share: usize, redactor: &Redactor) -> SessionTail {
    let damaged = tail.messages.iter().filter(|row| row.body.is_none());
    for row in damaged {
        let seq = row.seq;
        tracing::warn!(session.id = %session.session_id, seq, "a message cannot be read");
    }
    let first = tail.first_of_person.and_then(|row| row.body);
    SessionTail {
        session_key: session.key.clone(),
        messages: fit(tail.messages, share, redactor),
        first_user_text: first.map(|message| beginning(&readable_text(&message, redactor))),
    }
}

/// The newest messages that fit into `bytes_max`, as a history would show them. The newest one stays
/// in any case, as a placeholder where it alone is too large.
fn fit(rows: Vec<Row>, bytes_max: usize, redactor: &Redactor) -> Vec<Message> {
    let mut kept = Vec::with_capacity(rows.len());
    let mut used = 0_usize;
    for row in rows.into_iter().rev() {
        let shown = show_row(row, View::Plain, redactor).message;
        let size = message_json(&shown).to_string().len();
        used = used.saturating_add(size);
        if used <= bytes_max {
            kept.push(shown);
            continue;
        }
        if kept.is_empty() {
            kept.push(placeholder(shown));
        }
        break;
    }
    kept.reverse();
    kept
}

/// The beginning of a text, at most [`FIRST_TEXT_BYTES_MAX`] bytes; no visible character is split,
/// save one that is larger than that by itself.
///
/// Source: B215, B216.
fn beginning(text: &str) -> String {
    let signs = text.grapheme_indices(true);
    let ends = signs.map(|(start, sign)| start.saturating_add(sign.len()));
    let whole = ends.take_while(|end| *end <= FIRST_TEXT_BYTES_MAX).last();
    let end = whole.unwrap_or_else(|| text.floor_char_boundary(FIRST_TEXT_BYTES_MAX));
    text.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
