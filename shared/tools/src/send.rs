//! `sessions_send`: a message from one session to another.

use std::time::Duration;

use confab_model::limits::{
    AGENT_ID_CHARS_MAX, ID_BYTES_MAX, KEY_BYTES_MAX, LABEL_UNITS_MAX, MESSAGE_BYTES_MAX,
    SEND_TIMEOUT_SECONDS_DEFAULT, WAIT_SECONDS_MAX,
};
use confab_proto::runner::v1::{AnnounceChoice, SendRequest, SendResponse, SendStatus};
use confab_proto::types::v1::{DeliverySummary, SessionTarget};
use confab_rpc::caller::Caller;
use confab_rpc::error::RpcError;
use confab_rpc::wire::{WireError, flow};
use schemars::JsonSchema;
use serde_json::{Map, Value};

use crate::failure;
use crate::input::{Fields, Length, Whole};
use crate::object::Object;
use crate::toolbox::Clients;

/// Whether the target speaks to its channel at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announce {
    /// The announce step runs.
    Channel,
    /// There is none.
    None,
}

impl Announce {
    const WORDS: [&'static str; 2] = ["channel", "none"];

    fn parse(word: &str) -> Option<Self> {
        match word {
            "channel" => Some(Self::Channel),
            "none" => Some(Self::None),
            _ => None,
        }
    }

    const fn choice(self) -> AnnounceChoice {
        match self {
            Self::Channel => AnnounceChoice::Channel,
            Self::None => AnnounceChoice::None,
        }
    }
}

/// Arguments of `sessions_send`; name the session by `sessionKey`, `label` or `agentId`.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Input {
    /// The session to write to: a key or a `sessionId` from `sessions_list`, or `main`.
    #[schemars(length(min = 1, max = KEY_BYTES_MAX))]
    pub(crate) session_key: Option<String>,
    /// The label of the session to write to; upper and lower case differ.
    #[schemars(length(min = 1, max = LABEL_UNITS_MAX))]
    pub(crate) label: Option<String>,
    /// Beside `sessionKey` or `label`: the agent the session must belong to. Alone: write to that
    /// agent's main session.
    #[schemars(length(min = 1, max = AGENT_ID_CHARS_MAX))]
    pub(crate) agent_id: Option<String>,
    /// What to say; at most 1 MiB.
    #[schemars(length(min = 1, max = MESSAGE_BYTES_MAX))]
    pub(crate) message: String,
    /// Seconds to wait for the answer; 0 does not wait. The work goes on when the time is over.
    #[schemars(
        range(min = 0, max = WAIT_SECONDS_MAX),
        extend("default" = SEND_TIMEOUT_SECONDS_DEFAULT)
    )]
    pub(crate) timeout_seconds: Option<i32>,
    /// Whether to be told of later changes of that session.
    #[schemars(with = "Option<bool>", extend("default" = false))]
    pub(crate) watch: bool,
    /// Whether the other agent may announce the outcome in its own channel.
    #[schemars(
        with = "Option<String>",
        extend("enum" = Announce::WORDS, "default" = "channel")
    )]
    pub(crate) announce: Option<Announce>,
    /// Names this message: the same key again meets the first answer instead of sending twice.
    #[schemars(length(min = 1, max = ID_BYTES_MAX))]
    pub(crate) idempotency_key: Option<String>,
}

impl Input {
    /// Reads the arguments.
    ///
    /// # Errors
    /// When anything is wrong with them; all of it is told.
    ///
    /// Source: contract, D7, D27, run:S1, run:S2, run:S3, run:S9.
    pub(crate) fn parse(given: &Map<String, Value>) -> Result<Self, RpcError> {
        let mut fields = Fields::new(given);
        let input = Self {
            session_key: fields.text("sessionKey", Length::Bytes(KEY_BYTES_MAX)),
            label: fields.text("label", Length::Units(LABEL_UNITS_MAX)),
            agent_id: fields.text("agentId", Length::Characters(AGENT_ID_CHARS_MAX)),
            message: fields.required_text("message", Length::Bytes(MESSAGE_BYTES_MAX)),
            timeout_seconds: fields.small_whole("timeoutSeconds", Whole::UpTo(WAIT_SECONDS_MAX)),
            watch: fields.flag("watch"),
            announce: fields.word("announce", &Announce::WORDS, Announce::parse),
            idempotency_key: fields.text("idempotencyKey", Length::Bytes(ID_BYTES_MAX)),
        };
        if !fields.any_given(&["sessionKey", "label", "agentId"]) {
            fields.note(
                "sessionKey",
                "Either sessionKey or label is required: a session from sessions_list, or agentId \
                 for that agent's main session",
            );
        }
        fields.finish()?;
        Ok(input)
    }

    /// The request; `call_key` names the call where the arguments do not.
    fn into_request(self, call_key: Option<String>) -> SendRequest {
        SendRequest {
            target: Some(SessionTarget {
                session_key: self.session_key,
                label: self.label,
                agent_id: self.agent_id,
            }),
            message: self.message,
            timeout_seconds: self.timeout_seconds,
            watch: self.watch,
            announce: self
                .announce
                .map_or(AnnounceChoice::Unspecified, Announce::choice)
                .into(),
            idempotency_key: self.idempotency_key.or(call_key),
        }
    }

    /// How long the call waits for the answer.
    fn wait(&self) -> Duration {
        let seconds = self
            .timeout_seconds
            .and_then(|seconds| u64::try_from(seconds).ok());
        Duration::from_secs(seconds.unwrap_or_else(|| u64::from(SEND_TIMEOUT_SECONDS_DEFAULT)))
    }
}

/// Sends a message for `caller`.
///
/// A refusal repeats the reference that the caller wrote, never what it was resolved to, and names
/// no run: there is none.
///
/// # Errors
/// When the runner told something that no send can come to.
///
/// Source: contract, D12, D28, D29, run:S10.
pub(crate) async fn call(
    clients: &Clients,
    caller: &Caller,
    input: Input,
    call_key: Option<String>,
) -> Result<Object, RpcError> {
    let reference = input.session_key.clone();
    let mut runner = clients.runner.on_behalf_of(caller).waiting(input.wait());
    match runner.send(input.into_request(call_key)).await {
        Ok(answer) => result(answer.into_inner()),
        Err(status) => {
            let failure = failure::object(&RpcError::from_status(&status));
            Ok(failure.set_if("sessionKey", reference))
        },
    }
}

/// What came of the send, as JSON.
///
/// Source: contract, D28, D29, run:S23, run:S24, run:S25, run:S27.
fn result(answer: SendResponse) -> Result<Object, RpcError> {
    let status = status_word(answer.status)?;
    let delivery = answer.delivery.map(delivery).transpose()?;
    Ok(Object::default()
        .set("runId", answer.run_id)
        .set("status", status)
        .set("sessionKey", answer.display_key)
        .set_if("reply", answer.reply)
        .set_if("error", answer.error)
        .set_if("delivery", delivery)
        .set_if("watched", answer.watched))
}

fn status_word(number: i32) -> Result<&'static str, WireError> {
    let unknown = WireError::UnknownNumber {
        field: "status",
        number,
    };
    match SendStatus::try_from(number) {
        Ok(SendStatus::Accepted) => Ok("accepted"),
        Ok(SendStatus::Ok) => Ok("ok"),
        Ok(SendStatus::NoReply) => Ok("no_reply"),
        Ok(SendStatus::Timeout) => Ok("timeout"),
        Ok(SendStatus::Error) => Ok(failure::ERROR),
        Ok(SendStatus::Unspecified) | Err(_) => Err(unknown),
    }
}

fn delivery(summary: DeliverySummary) -> Result<Value, WireError> {
    let (status, mode) = flow::summary_from_proto(summary)?;
    Ok(Object::default()
        .set("status", status.as_str())
        .set("mode", mode.as_str())
        .into())
}
