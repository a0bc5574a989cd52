//! `sessions_history`: the messages of one session, as they may be shown.

use confab_model::limits::{HISTORY_LIMIT_DEFAULT, KEY_BYTES_MAX};
use confab_proto::transcript::v1::{
    GetHistoryRequest, GetHistoryResponse, HistoryPaging, ShownMessage,
};
use confab_proto::types::v1::SessionTarget;
use confab_rpc::caller::Caller;
use confab_rpc::error::RpcError;
use confab_rpc::wire::{self, message};
use confab_text::render::{message_json, placeholder_json};
use schemars::JsonSchema;
use serde_json::{Map, Value};

use crate::input::{Fields, Length, Whole};
use crate::object::Object;
use crate::toolbox::{Clients, answer};

/// Arguments of `sessions_history`.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Input {
    /// The session: a key or a `sessionId` from `sessions_list`, or `main` or `current`.
    #[schemars(length(min = 1, max = KEY_BYTES_MAX))]
    pub(crate) session_key: String,
    /// Most messages to return; more than 1000 are lowered to 1000.
    #[schemars(range(min = 1), extend("default" = HISTORY_LIMIT_DEFAULT))]
    pub(crate) limit: Option<i32>,
    /// Messages to skip, counted back from the newest. Give 0 to begin a walk through the session.
    #[schemars(range(min = 0))]
    pub(crate) offset: Option<i64>,
    /// Whether to return tool calls and tool results too.
    #[schemars(with = "Option<bool>", extend("default" = false))]
    pub(crate) include_tools: bool,
    /// The snapshot of the first page of a walk, which keeps the pages exact while the session
    /// grows.
    #[schemars(range(min = 0))]
    pub(crate) snapshot: Option<i64>,
}

impl Input {
    /// Reads the arguments.
    ///
    /// # Errors
    /// When anything is wrong with them; all of it is told.
    ///
    /// Source: contract, D20, D22, run:H1, run:H2, run:H5.
    pub(crate) fn parse(given: &Map<String, Value>) -> Result<Self, RpcError> {
        let mut fields = Fields::new(given);
        let input = Self {
            session_key: fields.required_text("sessionKey", Length::Bytes(KEY_BYTES_MAX)),
            limit: fields.small_whole("limit", Whole::Positive),
            offset: fields.whole("offset", Whole::NotNegative),
            include_tools: fields.flag("includeTools"),
            snapshot: fields.whole("snapshot", Whole::NotNegative),
        };
        fields.finish()?;
        Ok(input)
    }

    fn into_request(self) -> GetHistoryRequest {
        let target = SessionTarget {
            session_key: Some(self.session_key),
            ..SessionTarget::default()
        };
        GetHistoryRequest {
            target: Some(target),
            limit: self.limit,
            offset: self.offset,
            include_tools: self.include_tools,
            snapshot: self.snapshot,
            ..GetHistoryRequest::default()
        }
    }
}

/// Reads a page of messages for `caller`.
///
/// # Errors
/// When the transcript service refuses or fails.
pub(crate) async fn call(
    clients: &Clients,
    caller: &Caller,
    input: Input,
) -> Result<Object, RpcError> {
    let mut transcript = clients.transcript.on_behalf_of(caller);
    result(answer(transcript.get_history(input.into_request()).await)?)
}

/// The page as JSON.
///
/// Source: contract, D22, D24, run:H7, run:H40.
fn result(page: GetHistoryResponse) -> Result<Object, RpcError> {
    let messages = page
        .messages
        .into_iter()
        .map(shown)
        .collect::<Result<Vec<_>, _>>()?;
    let messages = Value::Array(messages);
    // Measured on what is handed over, so that it is exact whatever the way here did to numbers.
    let bytes = messages.to_string().len();
    let result = Object::default()
        .set("sessionKey", page.display_key)
        .set("sessionId", page.session_id)
        .set("messages", messages)
        .set("truncated", page.truncated)
        .set("droppedMessages", page.dropped_messages)
        .set("contentTruncated", page.content_truncated)
        .set("contentRedacted", page.content_redacted)
        .set("bytes", bytes)
        .set_if("limitApplied", page.limit_applied);
    Ok(match page.paging {
        Some(paging) => set_paging(result, &paging),
        None => result,
    })
}

fn set_paging(result: Object, paging: &HistoryPaging) -> Object {
    result
        .set("offset", paging.offset)
        .set("totalMessages", paging.total_messages)
        .set("hasMore", paging.has_more)
        .set_if("nextOffset", paging.next_offset)
        .set("snapshot", paging.snapshot)
}

fn shown(wire: ShownMessage) -> Result<Value, RpcError> {
    let message = wire.message.ok_or(wire::WireError::Missing {
        field: "messages.message",
    })?;
    let message = message::from_proto(message)?;
    Ok(if wire.placeholder {
        placeholder_json(&message)
    } else {
        message_json(&message)
    })
}
