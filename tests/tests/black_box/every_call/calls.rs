//! The calls of the walk: one session acts on another in every way there is.

use std::collections::BTreeMap;

use confab_proto::policy::v1 as policy;
use confab_proto::registry::v1 as registry;
use confab_proto::runner::v1 as runner;
use confab_proto::tools::v1 as tools;
use confab_proto::transcript::v1 as transcript;
use confab_proto::types::v1::SessionTarget;
use confab_tests::grpc::{Caller, POLICY, REGISTRY, RUNNER, Services, TOOLS, TRANSCRIPT, reason};
use prost::Message;
use prost_types::FieldMask;
use serde_json::{Value, json};
use tonic::{Code, Status};

use super::oracle::{Form, Verdict};

/// What was said in every session of the walk.
pub(super) const GREETING: &str = "hello";

/// What names nothing.
const ABSENT_ID: &str = "0198c1a2-7b3c-7000-8000-00000000abcd";

/// A call of the walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Read(Read),
    PatchSession,
    Send,
    Record(Record),
    Tool(Tool),
    Shown(Shown),
}

/// Reads something of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    GetSession,
    ResolveSession,
    GetStatus,
    ListStateEvents,
    GetHistory,
    SearchMessages,
}

/// Reads a record of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    GetRun,
    WaitRun,
    GetFlow,
    WaitFlow,
}

/// Calls a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    History,
    Send,
    Status,
}

/// Shows sessions, or what a call would come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    ListSessions,
    SearchMessages,
    TailSessions,
    Explain,
}

/// What its end tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Telling {
    /// The verdict itself.
    Verdict,
    /// A record, which is not found where its session is out of reach.
    Record,
    /// Only whether the call would pass or the session is among those shown.
    Shown,
    /// The same, of a list: a caller without a row is shown nothing.
    Listed,
}

impl Call {
    pub(super) const fn telling(self) -> Telling {
        match self {
            Self::Read(_) | Self::PatchSession | Self::Send | Self::Tool(_) => Telling::Verdict,
            Self::Record(_) => Telling::Record,
            Self::Shown(Shown::TailSessions | Shown::Explain) => Telling::Shown,
            Self::Shown(Shown::ListSessions | Shown::SearchMessages) => Telling::Listed,
        }
    }

    /// Whether it changes something, which a caller without a row may not.
    pub(super) const fn changes(self) -> bool {
        matches!(
            self,
            Self::PatchSession | Self::Send | Self::Tool(Tool::Send)
        )
    }

    /// Whether it can name its target so.
    pub(super) const fn takes(self, form: Form) -> bool {
        match form {
            Form::Key => true,
            Form::SessionId => matches!(self.telling(), Telling::Verdict),
            Form::Label => {
                matches!(self.telling(), Telling::Verdict)
                    && !matches!(self, Self::Tool(Tool::History | Tool::Status))
            },
        }
    }
}

/// What a session is known by, beside its key.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) generation: String,
    pub(super) run: String,
    pub(super) flow: String,
}

/// Makes calls and reads how they end.
#[derive(Debug)]
pub(super) struct Walker {
    pub(super) services: Services,
    pub(super) known: BTreeMap<String, Known>,
}

impl Walker {
    /// Makes one call; without a caller it is the operator's.
    pub(super) async fn ask(
        &self,
        call: Call,
        caller: Option<&str>,
        target: (&str, Form),
    ) -> Verdict {
        let asked = match call {
            Call::Read(read) => self.read(read, caller, target).await,
            Call::PatchSession => self.patch(caller, target).await,
            Call::Send => self.send(caller, target).await,
            Call::Record(record) => self.record(record, caller, target.0).await,
            Call::Tool(tool) => self.tool(tool, caller, target).await,
            Call::Shown(shown) => self.shown(shown, caller, target.0).await,
        };
        asked.unwrap_or_else(|status| refused(&status))
    }

    fn id(&self, target: &str, of: impl Fn(&Known) -> &String) -> String {
        self.known
            .get(target)
            .map_or_else(|| ABSENT_ID.to_owned(), |known| of(known).clone())
    }

    fn named(&self, (target, form): (&str, Form)) -> SessionTarget {
        let mut named = SessionTarget::default();
        match form {
            Form::Key => named.session_key = Some(target.to_owned()),
            Form::SessionId => named.session_key = Some(self.id(target, |known| &known.generation)),
            Form::Label => named.label = Some(label(target)),
        }
        named
    }

    async fn made<Q, A>(
        &self,
        (service, method): (&str, &str),
        caller: Option<&str>,
        message: Q,
    ) -> Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let caller = caller.map_or_else(Caller::operator, Caller::agent);
        self.services.call(service, method, message, &caller).await
    }

    async fn read(
        &self,
        call: Read,
        caller: Option<&str>,
        target: (&str, Form),
    ) -> Result<Verdict, Status> {
        let target = Some(self.named(target));
        match call {
            Read::ResolveSession => {
                let asked = registry::ResolveSessionRequest { target };
                let method = (REGISTRY, "ResolveSession");
                let _: registry::ResolveSessionResponse = self.made(method, caller, asked).await?;
            },
            Read::GetStatus => {
                let asked = registry::GetStatusRequest {
                    target,
                    changes_since: Some(0),
                };
                let method = (REGISTRY, "GetStatus");
                let _: registry::GetStatusResponse = self.made(method, caller, asked).await?;
            },
            Read::ListStateEvents => {
                let asked = registry::ListStateEventsRequest {
                    target,
                    ..Default::default()
                };
                let method = (REGISTRY, "ListStateEvents");
                let _: registry::ListStateEventsResponse = self.made(method, caller, asked).await?;
            },
            Read::GetHistory => {
                let asked = transcript::GetHistoryRequest {
                    target,
                    ..Default::default()
                };
                let method = (TRANSCRIPT, "GetHistory");
                let _: transcript::GetHistoryResponse = self.made(method, caller, asked).await?;
            },
            Read::SearchMessages => {
                let asked = transcript::SearchMessagesRequest {
                    query: GREETING.to_owned(),
                    target,
                    ..Default::default()
                };
                let method = (TRANSCRIPT, "SearchMessages");
                let _: transcript::SearchMessagesResponse =
                    self.made(method, caller, asked).await?;
            },
            Read::GetSession => {
                let asked = registry::GetSessionRequest { target };
                let method = (REGISTRY, "GetSession");
                let _: registry::GetSessionResponse = self.made(method, caller, asked).await?;
            },
        }
        Ok(Verdict::Allowed)
    }

    async fn patch(&self, caller: Option<&str>, target: (&str, Form)) -> Result<Verdict, Status> {
        let asked = registry::PatchSessionRequest {
            target: Some(self.named(target)),
            patch: Some(registry::SessionPatch {
                model: Some("m1".to_owned()),
                ..Default::default()
            }),
            update_mask: Some(FieldMask {
                paths: vec!["model".to_owned()],
            }),
            ..Default::default()
        };
        let method = (REGISTRY, "PatchSession");
        let _: registry::PatchSessionResponse = self.made(method, caller, asked).await?;
        Ok(Verdict::Allowed)
    }

    async fn send(&self, caller: Option<&str>, target: (&str, Form)) -> Result<Verdict, Status> {
        let asked = runner::SendRequest {
            target: Some(self.named(target)),
            message: "psst".to_owned(),
            timeout_seconds: Some(0),
            announce: runner::AnnounceChoice::None.into(),
            ..Default::default()
        };
        let _: runner::SendResponse = self.made((RUNNER, "Send"), caller, asked).await?;
        Ok(Verdict::Allowed)
    }

    async fn record(
        &self,
        call: Record,
        caller: Option<&str>,
        target: &str,
    ) -> Result<Verdict, Status> {
        let run_id = self.id(target, |known| &known.run);
        let flow_id = self.id(target, |known| &known.flow);
        match call {
            Record::WaitRun => {
                let asked = runner::WaitRunRequest {
                    run_id,
                    timeout_seconds: Some(0),
                };
                let method = (RUNNER, "WaitRun");
                let _: runner::WaitRunResponse = self.made(method, caller, asked).await?;
            },
            Record::GetFlow => {
                let asked = runner::GetFlowRequest { flow_id };
                let method = (RUNNER, "GetFlow");
                let _: runner::GetFlowResponse = self.made(method, caller, asked).await?;
            },
            Record::WaitFlow => {
                let asked = runner::WaitFlowRequest {
                    flow_id,
                    timeout_seconds: Some(0),
                };
                let method = (RUNNER, "WaitFlow");
                let _: runner::WaitFlowResponse = self.made(method, caller, asked).await?;
            },
            Record::GetRun => {
                let asked = runner::GetRunRequest { run_id };
                let method = (RUNNER, "GetRun");
                let _: runner::GetRunResponse = self.made(method, caller, asked).await?;
            },
        }
        Ok(Verdict::Allowed)
    }

    /// Whether the target is among what a call shows, or would pass.
    async fn shown(
        &self,
        call: Shown,
        caller: Option<&str>,
        target: &str,
    ) -> Result<Verdict, Status> {
        let shown = match call {
            Shown::TailSessions => {
                let asked = transcript::TailSessionsRequest {
                    session_keys: vec![target.to_owned()],
                    limit: 1,
                    include_first_user_message: false,
                };
                let method = (TRANSCRIPT, "TailSessions");
                let told: transcript::TailSessionsResponse =
                    self.made(method, caller, asked).await?;
                told.tails.iter().any(|tail| tail.session_key == target)
            },
            Shown::Explain => {
                let asked = policy::ExplainRequest {
                    target: Some(self.named((target, Form::Key))),
                    as_session_key: caller.map(str::to_owned),
                    tool: Some("sessions_history".to_owned()),
                    channel: None,
                };
                // An operator asks what the caller may do.
                let told: policy::ExplainResponse =
                    self.made((POLICY, "Explain"), None, asked).await?;
                told.allowed
            },
            Shown::ListSessions => {
                let asked = registry::ListSessionsRequest {
                    limit: Some(200),
                    ..Default::default()
                };
                let method = (REGISTRY, "ListSessions");
                let told: registry::ListSessionsResponse = self.made(method, caller, asked).await?;
                told.sessions.iter().any(|session| session.key == target)
            },
            Shown::SearchMessages => {
                let asked = transcript::SearchMessagesRequest {
                    query: GREETING.to_owned(),
                    limit: Some(100),
                    ..Default::default()
                };
                let method = (TRANSCRIPT, "SearchMessages");
                let told: transcript::SearchMessagesResponse =
                    self.made(method, caller, asked).await?;
                told.matches.iter().any(|hit| hit.session_key == target)
            },
        };
        Ok(if shown {
            Verdict::Allowed
        } else {
            Verdict::NotFound
        })
    }

    async fn tool(
        &self,
        call: Tool,
        caller: Option<&str>,
        target: (&str, Form),
    ) -> Result<Verdict, Status> {
        let named = self.named(target);
        let mut arguments = json!({});
        if let Some(fields) = arguments.as_object_mut() {
            fields.extend(
                named
                    .session_key
                    .map(|key| ("sessionKey".to_owned(), key.into())),
            );
            fields.extend(named.label.map(|label| ("label".to_owned(), label.into())));
        }
        let name = match call {
            Tool::Send => {
                let words = json!({ "message": "psst", "timeoutSeconds": 0, "announce": "none" });
                confab_tests::json::merge(&mut arguments, words);
                "sessions_send"
            },
            Tool::Status => "session_status",
            Tool::History => "sessions_history",
        };
        let asked = tools::InvokeToolRequest {
            name: name.to_owned(),
            arguments_json: arguments.to_string(),
            idempotency_key: None,
        };
        let told: tools::InvokeToolResponse =
            self.made((TOOLS, "InvokeTool"), caller, asked).await?;
        Ok(tool_verdict(&told))
    }
}

/// The label that a session of the walk has.
pub(super) fn label(key: &str) -> String {
    format!("label of {key}")
}

fn tool_verdict(told: &tools::InvokeToolResponse) -> Verdict {
    if !told.is_error {
        return Verdict::Allowed;
    }
    let result: Value = serde_json::from_str(&told.result_json).unwrap_or_default();
    let word = |name| result.get(name).and_then(Value::as_str).unwrap_or_default();
    match (word("status"), word("reason")) {
        ("forbidden", "VISIBILITY") => Verdict::Forbidden,
        ("error", "SESSION_NOT_FOUND") => Verdict::NotFound,
        _ => Verdict::Other(told.result_json.clone()),
    }
}

fn refused(status: &Status) -> Verdict {
    match (status.code(), reason(status).as_str()) {
        (Code::PermissionDenied, "VISIBILITY") => Verdict::Forbidden,
        (Code::NotFound, "SESSION_NOT_FOUND" | "RECORD_NOT_FOUND") => Verdict::NotFound,
        (code, reason) => Verdict::Other(format!("{code:?} {reason}: {}", status.message())),
    }
}
