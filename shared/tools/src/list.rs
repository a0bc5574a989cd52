//! `sessions_list`: rows from the registry, joined with the newest messages from the transcript.

pub(crate) mod row;
mod tails;

use confab_model::key::SessionKind;
use confab_model::limits::{
    AGENT_ID_CHARS_MAX, LABEL_UNITS_MAX, LIST_LIMIT_DEFAULT, LIST_MESSAGES_MAX,
};
use confab_proto::registry::v1::{ListSessionsRequest, ListSessionsResponse, VisibilityNote};
use confab_rpc::caller::Caller;
use confab_rpc::error::RpcError;
use confab_rpc::wire::enums::Numbered as _;
use schemars::JsonSchema;
use serde_json::{Map, Value};

use self::tails::{Tails, Wanted};
use crate::input::{Fields, Length, Whole};
use crate::limits::{PAGE_TOKEN_BYTES_MAX, SEARCH_BYTES_MAX};
use crate::object::Object;
use crate::toolbox::{Clients, answer};

/// Arguments of `sessions_list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Input {
    /// Only sessions of these kinds; left out: all kinds.
    #[schemars(
        with = "Option<Vec<String>>",
        extend("items" = { "type": "string", "enum": SessionKind::ALL.map(SessionKind::as_str) })
    )]
    pub(crate) kinds: Vec<SessionKind>,
    /// Most rows to return; more than 200 are lowered to 200.
    #[schemars(range(min = 1), extend("default" = LIST_LIMIT_DEFAULT))]
    pub(crate) limit: Option<i32>,
    /// Only sessions that were active within this many minutes.
    #[schemars(range(min = 1))]
    pub(crate) active_minutes: Option<i32>,
    /// Newest messages to return with each row, tool messages left out; more than 20 are lowered
    /// to 20.
    #[schemars(with = "Option<u32>", extend("default" = 0))]
    pub(crate) message_limit: u32,
    /// Only the session with exactly this label; upper and lower case differ.
    #[schemars(length(min = 1, max = LABEL_UNITS_MAX))]
    pub(crate) label: Option<String>,
    /// Only sessions of this agent.
    #[schemars(length(min = 1, max = AGENT_ID_CHARS_MAX))]
    pub(crate) agent_id: Option<String>,
    /// Only sessions whose key, label, display name, `sessionId` or model contains this text, in
    /// upper or lower case.
    #[schemars(length(min = 1, max = SEARCH_BYTES_MAX))]
    pub(crate) search: Option<String>,
    /// True: only archived sessions; otherwise only open ones.
    #[schemars(with = "Option<bool>", extend("default" = false))]
    pub(crate) archived: bool,
    /// Add `derivedTitle`, a short title, to the first 100 rows.
    #[schemars(with = "Option<bool>", extend("default" = false))]
    pub(crate) include_derived_titles: bool,
    /// Add `lastMessagePreview`, the text of the newest message, to each row.
    #[schemars(with = "Option<bool>", extend("default" = false))]
    pub(crate) include_last_message: bool,
    /// The `nextPageToken` of the last page, with the other arguments unchanged.
    #[schemars(length(min = 1, max = PAGE_TOKEN_BYTES_MAX))]
    pub(crate) page_token: Option<String>,
}

impl Input {
    /// Reads the arguments.
    ///
    /// # Errors
    /// When anything is wrong with them; all of it is told.
    ///
    /// Source: contract, D14, D15, reg:L1, reg:L2, reg:L4, reg:L5, reg:L6, reg:L7.
    pub(crate) fn parse(given: &Map<String, Value>) -> Result<Self, RpcError> {
        let mut fields = Fields::new(given);
        let input = Self {
            kinds: fields.words(
                "kinds",
                &SessionKind::ALL.map(SessionKind::as_str),
                SessionKind::parse,
            ),
            limit: fields.small_whole("limit", Whole::Positive),
            active_minutes: fields.small_whole("activeMinutes", Whole::Positive),
            message_limit: fields
                .whole("messageLimit", Whole::NotNegative)
                .map_or(0, |number| u32::try_from(number).unwrap_or(u32::MAX)),
            label: fields.text("label", Length::Units(LABEL_UNITS_MAX)),
            agent_id: fields.text("agentId", Length::Characters(AGENT_ID_CHARS_MAX)),
            search: fields.text("search", Length::Bytes(SEARCH_BYTES_MAX)),
            archived: fields.flag("archived"),
            include_derived_titles: fields.flag("includeDerivedTitles"),
            include_last_message: fields.flag("includeLastMessage"),
            page_token: fields.text("pageToken", Length::Bytes(PAGE_TOKEN_BYTES_MAX)),
        };
        fields.finish()?;
        Ok(input)
    }

    /// What the rows need of the transcript.
    fn wanted(&self) -> Wanted {
        Wanted {
            messages: self.message_limit.min(LIST_MESSAGES_MAX),
            titles: self.include_derived_titles,
            previews: self.include_last_message,
        }
    }

    fn into_request(self) -> ListSessionsRequest {
        ListSessionsRequest {
            kinds: self.kinds.into_iter().map(SessionKind::number).collect(),
            limit: self.limit,
            active_minutes: self.active_minutes,
            label: self.label.map(|label| label.trim().to_owned()),
            agent_id: self.agent_id,
            search: self.search,
            archived: self.archived.then_some(true),
            page_token: self.page_token,
        }
    }
}

/// Lists sessions for `caller`.
///
/// # Errors
/// When the registry refuses, or a service fails.
///
/// Source: D54, reg:L34, reg:L35, reg:L36, reg:L37, reg:L38, reg:L39.
pub(crate) async fn call(
    clients: &Clients,
    caller: &Caller,
    input: Input,
) -> Result<Object, RpcError> {
    let wanted = input.wanted();
    let lowered = input.message_limit > wanted.messages;
    let mut registry = clients.registry.on_behalf_of(caller);
    let page = answer(registry.list_sessions(input.into_request()).await)?;
    let faulty = page.faulty_rows;
    let tails = Tails::read(clients, caller, &page.sessions, wanted).await?;
    let rows = page.sessions.iter().enumerate().map(|(place, session)| {
        Ok(tails
            .enrich(place, session, row::of(session, caller.session())?)?
            .into())
    });
    let rows = rows.collect::<Result<Vec<Value>, RpcError>>()?;
    Ok(result(page, rows)
        .set_if("messageLimitApplied", lowered.then_some(wanted.messages))
        .set_if("faultyRows", (faulty > 0).then_some(faulty))
        .set_if("enrichmentRefused", tails.refusal()))
}

fn result(page: ListSessionsResponse, rows: Vec<Value>) -> Object {
    Object::default()
        .set("count", rows.len())
        .set("sessions", rows)
        .set("hasMore", page.has_more)
        .set_if("nextPageToken", page.next_page_token)
        .set_if("limitApplied", page.limit_applied)
        .set_if("visibility", page.visibility.map(visibility))
}

fn visibility(note: VisibilityNote) -> Value {
    Object::default()
        .set("mode", note.mode)
        .set("restricted", note.restricted)
        .set("warning", note.warning)
        .into()
}
