//! What a list tells of transcripts: last messages, titles, previews; read in one batch.

use std::collections::BTreeMap;

use confab_model::limits::LIST_MESSAGES_MAX;
use confab_model::message::{Block, Message, Role};
use confab_proto::transcript::v1::{SessionTail, TailSessionsRequest};
use confab_proto::types::v1::Session;
use confab_rpc::caller::Caller;
use confab_rpc::error::RpcError;
use confab_rpc::wire::{message, numbers, time};
use confab_text::render::message_json;
use serde_json::Value;
use tonic::Code;

use super::row::display_name;
use crate::limits::TITLED_ROWS_MAX;
use crate::object::Object;
use crate::title::{Known, derived_title};
use crate::toolbox::{Clients, answer};

/// What the rows of a list shall tell of their transcripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Newest messages of each row; 0: the field is absent.
    pub(crate) messages: u32,
    /// A title for each row.
    pub(crate) titles: bool,
    /// The text of the newest message of each row.
    pub(crate) previews: bool,
}

impl Wanted {
    const fn is_nothing(self) -> bool {
        self.messages == 0 && !self.titles && !self.previews
    }

    /// How many messages of each session to ask for. The newest message that has text may lie
    /// behind others that have none.
    const fn depth(self) -> u32 {
        if self.previews {
            LIST_MESSAGES_MAX
        } else if self.messages == 0 {
            1
        } else {
            self.messages
        }
    }
}

/// What was read of one transcript.
#[derive(Debug, Default)]
struct Tail {
    messages: Vec<Message>,
    first_user_text: Option<String>,
}

/// What was read of the transcripts of a page.
#[derive(Debug)]
pub(crate) struct Tails {
    wanted: Wanted,
    by_key: BTreeMap<String, Tail>,
    /// Why the caller may not read any of them.
    refused: Option<String>,
}

impl Tails {
    /// Reads what is `wanted` of the transcripts of `sessions`, and of no others.
    ///
    /// A caller that may list but not read gets its list without them: a refusal is kept and told.
    ///
    /// # Errors
    /// When the transcript service fails.
    ///
    /// Source: reg:L34, reg:L37, B126.
    pub(crate) async fn read(
        clients: &Clients,
        caller: &Caller,
        sessions: &[Session],
        wanted: Wanted,
    ) -> Result<Self, RpcError> {
        let mut read = Self {
            wanted,
            by_key: BTreeMap::new(),
            refused: None,
        };
        if wanted.is_nothing() || sessions.is_empty() {
            return Ok(read);
        }
        let request = TailSessionsRequest {
            session_keys: sessions.iter().map(|session| session.key.clone()).collect(),
            limit: numbers::to_i32(wanted.depth()),
            include_first_user_message: wanted.titles,
        };
        let mut transcript = clients.transcript.on_behalf_of(caller);
        match answer(transcript.tail_sessions(request).await) {
            Ok(answered) => {
                for tail in answered.tails {
                    read.by_key
                        .insert(tail.session_key.clone(), Tail::from_proto(tail)?);
                }
            },
            Err(refusal) if refusal.reason.code() == Code::PermissionDenied => {
                read.refused = Some(refusal.message);
            },
            Err(failure) => return Err(failure),
        }
        Ok(read)
    }

    /// What the caller is told where it may not read transcripts.
    pub(crate) fn refusal(&self) -> Option<String> {
        let refused = self.refused.as_deref()?;
        Some(format!(
            "Rows are without messages and previews, and titles do not come from messages. {refused}"
        ))
    }

    /// Adds to the row of `session`, the `place`-th of its page, what is told of its transcript.
    ///
    /// # Errors
    /// When the registry told a moment that no session can have.
    ///
    /// Source: reg:L34, reg:L35, reg:L36.
    pub(crate) fn enrich(
        &self,
        place: usize,
        session: &Session,
        row: Object,
    ) -> Result<Object, RpcError> {
        let nothing = Tail::default();
        let tail = self.by_key.get(&session.key).unwrap_or(&nothing);
        let titled = self.wanted.titles && place < TITLED_ROWS_MAX;
        let title = if titled { title(session, tail)? } else { None };
        let preview = if self.wanted.previews {
            tail.preview()
        } else {
            None
        };
        let told = self.wanted.messages > 0 && self.refused.is_none();
        let messages = told.then(|| tail.newest(self.wanted.messages));
        Ok(row
            .set_if("derivedTitle", title)
            .set_if("lastMessagePreview", preview)
            .set_if("messages", messages))
    }
}

impl Tail {
    fn from_proto(wire: SessionTail) -> Result<Self, RpcError> {
        let messages = wire.messages.into_iter().map(message::from_proto);
        let mut messages = messages.collect::<Result<Vec<_>, _>>()?;
        messages.retain(|message| message.body.role != Role::ToolResult);
        Ok(Self {
            messages,
            first_user_text: wire.first_user_text,
        })
    }

    fn newest(&self, limit: u32) -> Vec<Value> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let skipped = self.messages.len().saturating_sub(limit);
        self.messages
            .iter()
            .skip(skipped)
            .map(message_json)
            .collect()
    }

    fn preview(&self) -> Option<String> {
        self.messages.iter().rev().find_map(text_of)
    }
}

/// The text of a message; `None` where there is none.
fn text_of(message: &Message) -> Option<String> {
    let texts = message.body.blocks.iter().filter_map(|block| match block {
        Block::Text(text) if !text.trim().is_empty() => Some(text.as_str()),
        Block::Text(_) | Block::Thinking(_) | Block::ToolCall { .. } | Block::Image { .. } => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    (!text.is_empty()).then_some(text)
}

fn title(session: &Session, tail: &Tail) -> Result<Option<String>, RpcError> {
    if session.session_id.is_empty() {
        return Ok(None);
    }
    Ok(Some(derived_title(&Known {
        label: session.label.as_deref(),
        display_name: display_name(session),
        // The title of a group is part of its display name.
        subject: None,
        first_user_text: tail.first_user_text.as_deref(),
        session_id: &session.session_id,
        updated_at: time::optional(session.updated_at, "session.updated_at")?,
    })))
}
