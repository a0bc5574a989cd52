//! `sessions_search`: the messages in which some words were said.

use confab_model::limits::{
    AGENT_ID_CHARS_MAX, KEY_BYTES_MAX, MESSAGE_SEARCH_BYTES_MAX, MESSAGE_SEARCH_LIMIT_DEFAULT,
};
use confab_model::message::Role;
use confab_proto::transcript::v1::{SearchMatch, SearchMessagesRequest, SearchMessagesResponse};
use confab_proto::types::v1::SessionTarget;
use confab_rpc::caller::Caller;
use confab_rpc::error::RpcError;
use confab_rpc::wire::enums;
use schemars::JsonSchema;
use serde_json::{Map, Value};

use crate::input::{Fields, Length, Whole};
use crate::object::Object;
use crate::shown::{self, Asker};
use crate::toolbox::{Clients, answer};

/// Arguments of `sessions_search`.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Input {
    /// The words, all of which a message must hold; "words in quotes" stand in a row, and a word
    /// with a * behind it is the beginning of one. Case and accents do not matter.
    #[schemars(length(min = 1, max = MESSAGE_SEARCH_BYTES_MAX))]
    pub(crate) query: String,
    /// Most messages to return; more than 100 are lowered to 100.
    #[schemars(range(min = 1), extend("default" = MESSAGE_SEARCH_LIMIT_DEFAULT))]
    pub(crate) limit: Option<i32>,
    /// Only messages of this session: a key, `main` or `current`; a `sessionId` means that
    /// generation alone.
    #[schemars(length(min = 1, max = KEY_BYTES_MAX))]
    pub(crate) session_key: Option<String>,
    /// Only messages of this agent's sessions.
    #[schemars(length(min = 1, max = AGENT_ID_CHARS_MAX))]
    pub(crate) agent_id: Option<String>,
}

impl Input {
    /// Reads the arguments.
    ///
    /// # Errors
    /// When anything is wrong with them; all of it is told.
    ///
    /// Source: contract, D77.
    pub(crate) fn parse(given: &Map<String, Value>) -> Result<Self, RpcError> {
        let mut fields = Fields::new(given);
        let input = Self {
            query: fields.required_text("query", Length::Bytes(MESSAGE_SEARCH_BYTES_MAX)),
            limit: fields.small_whole("limit", Whole::Positive),
            session_key: fields.text("sessionKey", Length::Bytes(KEY_BYTES_MAX)),
            agent_id: fields.text("agentId", Length::Characters(AGENT_ID_CHARS_MAX)),
        };
        fields.finish()?;
        Ok(input)
    }

    fn into_request(self) -> SearchMessagesRequest {
        SearchMessagesRequest {
            query: self.query,
            limit: self.limit,
            target: self.session_key.map(|session_key| SessionTarget {
                session_key: Some(session_key),
                ..SessionTarget::default()
            }),
            agent_id: self.agent_id,
        }
    }
}

/// Searches for `caller`.
///
/// # Errors
/// When the transcript service refuses or fails.
pub(crate) async fn call(
    clients: &Clients,
    caller: &Caller,
    input: Input,
) -> Result<Object, RpcError> {
    let mut transcript = clients.transcript.on_behalf_of(caller);
    let found = answer(transcript.search_messages(input.into_request()).await)?;
    result(found, caller.session())
}

/// The hits as JSON, newest first.
///
/// Source: contract, D77.
fn result(found: SearchMessagesResponse, asker: Asker<'_>) -> Result<Object, RpcError> {
    let matches = found
        .matches
        .into_iter()
        .map(|hit| hit_json(hit, asker))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Object::default()
        .set("count", matches.len())
        .set("matches", matches)
        .set_if("limitApplied", found.limit_applied))
}

fn hit_json(hit: SearchMatch, asker: Asker<'_>) -> Result<Value, RpcError> {
    let role: Role = enums::from_proto(hit.role, "matches.role")?;
    let said_at = shown::millis(hit.said_at, "matches.said_at")?;
    let hit = Object::default()
        .set("sessionKey", shown::key(&hit.session_key, asker))
        .set("sessionId", hit.session_id)
        .set("seq", hit.seq)
        .set("role", role.as_str())
        .set("excerpt", hit.excerpt)
        .set_if("timestamp", said_at);
    Ok(hit.into())
}
