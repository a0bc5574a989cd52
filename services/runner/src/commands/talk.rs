//! Requests that bring a message to a session.

use std::time::Duration;

use confab_model::channel::Route;
use confab_model::id::IdempotencyKey;
use confab_model::limits::ROUTE_FIELD_BYTES_MAX;
use confab_proto::runner::v1::{AnnounceChoice, SendMessageRequest, SendRequest, StartRunRequest};
use confab_rpc::caller::{Caller, Identity};
use confab_rpc::error::{Reason, RpcError, Violations};
use confab_rpc::gate::{About, Action, Governed, Target};
use confab_rpc::wire;
use prost::Message as _;

use confab_rpc::fingerprint::fingerprint;

/// A call that changes something: it has a name of its own, or none, and says something (D36).
pub trait Keyed {
    /// The caller's name for the call.
    fn key(&self) -> Option<&IdempotencyKey>;
    /// What the call says, without the name and without how long the caller waits.
    fn fingerprint(&self) -> &str;
}

macro_rules! keyed {
    ($($command:ty),+) => {
        $(impl Keyed for $command {
            fn key(&self) -> Option<&IdempotencyKey> {
                self.key.as_ref()
            }

            fn fingerprint(&self) -> &str {
                &self.fingerprint
            }
        })+
    };
}

keyed!(HumanMessage, StartRun, SendToSession);

/// A person's message.
#[derive(Clone, Debug)]
pub struct HumanMessage {
    /// The session.
    pub target: Target,
    /// What is said.
    pub text: String,
    /// Where it came from and the answer goes.
    pub route: Option<Route>,
    /// The person.
    pub sender: Option<String>,
    /// The caller's name for the call.
    pub key: Option<IdempotencyKey>,
    /// What the call says.
    pub fingerprint: String,
}

impl HumanMessage {
    /// Reads a request.
    ///
    /// # Errors
    /// When fields are malformed; all of them are told. When a channel adapter speaks for another
    /// channel than its own.
    pub fn parse(caller: &Caller, request: SendMessageRequest) -> Result<Self, RpcError> {
        let said = SendMessageRequest {
            idempotency_key: None,
            ..request.clone()
        };
        let mut violations = Violations::default();
        let target = violations.keep(Target::required(request.target, "sessionKey"));
        let text = super::text(request.text, "text", &mut violations);
        let route = wire::route::route_from_wire(request.route, "route", &mut violations);
        let sender = wire::fields::optional_from_wire(
            request.sender,
            ROUTE_FIELD_BYTES_MAX,
            "sender",
            &mut violations,
        );
        let key = super::key(request.idempotency_key, "idempotencyKey", &mut violations);
        violations.finish()?;
        let (Some(target), Some(text)) = (target, text) else {
            return Err(unread());
        };
        check_channel(caller, route.as_ref())?;
        let fingerprint = fingerprint("SendMessage", &said.encode_to_vec());
        Ok(Self {
            target,
            text,
            route,
            sender,
            key,
            fingerprint,
        })
    }
}

impl Governed for HumanMessage {
    fn action(&self) -> Action {
        Action::HumanMessage
    }

    fn about(&self) -> About {
        About::One(self.target.clone())
    }

    fn channel(&self) -> Option<&str> {
        self.route.as_ref().map(|route| route.channel.as_str())
    }
}

/// A run that a backend starts.
#[derive(Clone, Debug)]
pub struct StartRun {
    /// The session.
    pub target: Target,
    /// The input.
    pub input: String,
    /// Where the answer goes.
    pub route: Option<Route>,
    /// The caller's name for the call.
    pub key: Option<IdempotencyKey>,
    /// What the call says.
    pub fingerprint: String,
}

impl StartRun {
    /// Reads a request.
    ///
    /// # Errors
    /// When fields are malformed; all of them are told.
    pub fn parse(request: StartRunRequest) -> Result<Self, RpcError> {
        let said = StartRunRequest {
            idempotency_key: None,
            ..request.clone()
        };
        let mut violations = Violations::default();
        let target = violations.keep(Target::required(request.target, "sessionKey"));
        let input = super::text(request.input, "input", &mut violations);
        let route = wire::route::route_from_wire(request.route, "route", &mut violations);
        let key = super::key(request.idempotency_key, "idempotencyKey", &mut violations);
        violations.finish()?;
        let (Some(target), Some(input)) = (target, input) else {
            return Err(unread());
        };
        let fingerprint = fingerprint("StartRun", &said.encode_to_vec());
        Ok(Self {
            target,
            input,
            route,
            key,
            fingerprint,
        })
    }
}

impl Governed for StartRun {
    fn action(&self) -> Action {
        Action::StartRun
    }

    fn about(&self) -> About {
        About::One(self.target.clone())
    }

    fn channel(&self) -> Option<&str> {
        self.route.as_ref().map(|route| route.channel.as_str())
    }
}

/// A message from one session to another.
#[derive(Clone, Debug)]
pub struct SendToSession {
    /// The session to write to.
    pub target: Target,
    /// What is said.
    pub message: String,
    /// How long the caller waits; zero does not wait.
    pub timeout: Duration,
    /// Whether the caller asks to watch the target.
    pub watch: bool,
    /// Whether the target may speak to its channel at the end.
    pub announce: bool,
    /// The caller's name for the call.
    pub key: Option<IdempotencyKey>,
    /// What the call says, whatever it waits (D36).
    pub fingerprint: String,
}

impl SendToSession {
    /// Reads a request.
    ///
    /// # Errors
    /// When fields are malformed; all of them are told.
    pub fn parse(request: SendRequest) -> Result<Self, RpcError> {
        let said = SendRequest {
            idempotency_key: None,
            timeout_seconds: None,
            ..request.clone()
        };
        let mut violations = Violations::default();
        if AnnounceChoice::try_from(request.announce).is_err() {
            violations.push("announce", "announce is unknown; give CHANNEL or NONE");
        }
        let announce = request.announce() != AnnounceChoice::None;
        let target = violations.keep(Target::required(request.target, "sessionKey"));
        let message = super::text(request.message, "message", &mut violations);
        let timeout = wire::limits::timeout_from_wire(
            request.timeout_seconds,
            "timeoutSeconds",
            &mut violations,
        );
        let key = super::key(request.idempotency_key, "idempotencyKey", &mut violations);
        violations.finish()?;
        let (Some(target), Some(message)) = (target, message) else {
            return Err(unread());
        };
        let fingerprint = fingerprint("Send", &said.encode_to_vec());
        Ok(Self {
            target,
            message,
            timeout,
            watch: request.watch,
            announce,
            key,
            fingerprint,
        })
    }
}

impl Governed for SendToSession {
    fn action(&self) -> Action {
        Action::Send
    }

    fn about(&self) -> About {
        About::One(self.target.clone())
    }
}

/// Cannot be met: a field that is missing has left a violation.
pub(super) fn unread() -> RpcError {
    RpcError::invalid_field("request", "the request could not be read")
}

/// A channel adapter speaks for its own channel only (contract, Identity).
fn check_channel(caller: &Caller, route: Option<&Route>) -> Result<(), RpcError> {
    let Identity::Channel { channel } = &caller.identity else {
        return Ok(());
    };
    match route {
        Some(route) if route.channel == *channel => Ok(()),
        Some(route) => Err(RpcError::new(
            Reason::Role,
            format!(
                "a message through channel {} cannot be brought by the adapter of channel \
                 {channel}; give route.channel {channel}",
                route.channel
            ),
        )),
        None => Err(RpcError::invalid_field(
            "route",
            format!("route is missing; the adapter of channel {channel} gives the whole route"),
        )),
    }
}
