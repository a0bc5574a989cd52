//! The ends of many transcripts, for lists.

use confab_model::key::SessionKey;
use confab_model::message::{Block, Message};
use confab_model::session::Session;
use confab_rpc::error::RpcError;
use confab_rpc::gate::Admitted;
use confab_text::render::message_json;

use crate::commands::TailSessions;
use crate::limits::{FIRST_TEXT_BYTES_MAX, TAILS_BYTES_MAX};
use crate::shown::{placeholder, show};
use crate::store::{Tail, TailQuery, TranscriptStore, View};
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
    /// Source: D12, reg:L34, reg:L35, reg:L37.
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
        let mut tails = Vec::with_capacity(seen.len());
        for session in seen {
            let tail = found.remove(&session.session_id).unwrap_or_default();
            tails.push(present(session, tail, share));
        }
        Ok(tails)
    }
}

fn present(session: &Session, tail: Tail, share: usize) -> SessionTail {
    SessionTail {
        session_key: session.key.clone(),
        messages: fit(tail.messages, share),
        first_user_text: tail.first_of_person.as_ref().map(beginning),
    }
}

/// The newest messages that fit into `bytes_max`, cut as a history would cut them. The newest one
/// stays in any case, as a placeholder where it alone is too large.
fn fit(messages: Vec<Message>, bytes_max: usize) -> Vec<Message> {
    let mut kept = Vec::with_capacity(messages.len());
    let mut used = 0_usize;
    for message in messages.into_iter().rev() {
        let shown = show(message, View::Plain).message;
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

/// The beginning of a message's text.
fn beginning(message: &Message) -> String {
    let mut text = String::new();
    for block in &message.body.blocks {
        match block {
            Block::Text(part) if text.is_empty() => text.push_str(part),
            Block::Text(part) => {
                text.push('\n');
                text.push_str(part);
            },
            Block::Thinking(_) | Block::ToolCall { .. } | Block::Image { .. } => {},
        }
        if text.len() >= FIRST_TEXT_BYTES_MAX {
            break;
        }
    }
    text.truncate(text.floor_char_boundary(FIRST_TEXT_BYTES_MAX));
    text
}

#[cfg(test)]
mod tests;
