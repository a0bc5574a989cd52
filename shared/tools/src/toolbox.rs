//! The tools in one place: what there is, and how one is run.

use std::collections::BTreeSet;

use confab_model::limits::ID_BYTES_MAX;
use confab_proto::registry::v1::GetToolPolicyRequest;
use confab_rpc::caller::Caller;
use confab_rpc::clients::{RegistryClient, RunnerClient, TranscriptClient};
use confab_rpc::error::RpcError;
use serde_json::{Map, Value};
use tonic::{Response, Status};

use crate::input::{cut, suggestion};
use crate::limits::ARGUMENTS_BYTES_MAX;
use crate::object::Object;
use crate::tool::{Tool, ToolSpec};
use crate::{agents, failure, history, list, search, send, status};

/// The services that do the tools' work.
#[derive(Clone, Debug)]
pub struct Clients {
    /// Sessions.
    pub registry: RegistryClient,
    /// Messages.
    pub transcript: TranscriptClient,
    /// Runs and flows.
    pub runner: RunnerClient,
}

/// The session tools. Cheap to clone.
///
/// Every call to a service travels for the caller of the tool, so the gates of the services decide
/// what the caller may see and reach.
#[derive(Clone, Debug)]
pub struct Toolbox {
    clients: Clients,
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Invocation {
    /// One JSON object.
    pub result: Value,
    /// Whether the tool refused or failed: the result has `status` `forbidden` or `error`.
    pub is_error: bool,
}

impl Toolbox {
    /// The tools over these clients.
    pub const fn new(clients: Clients) -> Self {
        Self { clients }
    }

    /// What a model is told of the tools that `caller` has, in the order of the documentation. A
    /// caller without a session has all of them; for others the registry decides.
    ///
    /// # Errors
    /// When the registry fails.
    ///
    /// Source: reg:A5, reg:A8.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<ToolSpec>, RpcError> {
        if caller.session().is_none() {
            return Ok(Tool::ALL.map(Tool::spec).into());
        }
        let mut registry = self.clients.registry.on_behalf_of(caller);
        let policy = answer(registry.get_tool_policy(GetToolPolicyRequest {}).await)?;
        let allowed: BTreeSet<&str> = policy
            .tools
            .iter()
            .filter(|verdict| verdict.allowed)
            .map(|verdict| verdict.tool.as_str())
            .collect();
        let has = |tool: &Tool| allowed.contains(tool.as_str());
        Ok(Tool::ALL.into_iter().filter(has).map(Tool::spec).collect())
    }

    /// Runs the tool called `name` for `caller`, with arguments that are one JSON object as text;
    /// an empty text counts as `{}`.
    ///
    /// `idempotency_key` names the call, so that a repetition meets the first answer; one among the
    /// arguments outranks it. A refusal or failure is a result like any other.
    ///
    /// Whether the caller has the tool is not asked here: every tool begins with a call whose
    /// service asks the registry just that, so that a caller that goes around the tools meets the
    /// same answer.
    ///
    /// Source: contract, Tools; D36.
    pub async fn invoke(
        &self,
        caller: &Caller,
        name: &str,
        arguments_json: &str,
        idempotency_key: Option<&str>,
    ) -> Invocation {
        let result = self
            .call(caller, name, arguments_json, idempotency_key)
            .await;
        Invocation::of(result.unwrap_or_else(|error| failure::object(&error)))
    }

    async fn call(
        &self,
        caller: &Caller,
        name: &str,
        arguments_json: &str,
        idempotency_key: Option<&str>,
    ) -> Result<Object, RpcError> {
        let tool = Tool::parse(name).ok_or_else(|| unknown_tool(name))?;
        let given = arguments(arguments_json)?;
        let clients = &self.clients;
        match tool {
            Tool::List => list::call(clients, caller, list::Input::parse(&given)?).await,
            Tool::History => history::call(clients, caller, history::Input::parse(&given)?).await,
            Tool::Search => search::call(clients, caller, search::Input::parse(&given)?).await,
            Tool::Send => {
                let key = call_key(idempotency_key)?;
                send::call(clients, caller, send::Input::parse(&given)?, key).await
            },
            Tool::Status => {
                let key = call_key(idempotency_key)?;
                let input = status::Input::parse(&given, caller.session().is_some())?;
                status::call(clients, caller, input, key).await
            },
            Tool::Agents => agents::call(clients, caller, agents::Input::parse(&given)?).await,
        }
    }
}

impl Invocation {
    fn of(result: Object) -> Self {
        let result = result.into_map();
        Self {
            is_error: failure::is_failure(&result),
            result: Value::Object(result),
        }
    }
}

/// What a service answered, or why it did not.
pub(crate) fn answer<T>(answered: Result<Response<T>, Status>) -> Result<T, RpcError> {
    answered
        .map(Response::into_inner)
        .map_err(|status| RpcError::from_status(&status))
}

fn unknown_tool(name: &str) -> RpcError {
    let known = Tool::ALL.map(Tool::as_str);
    let allowed = known.join(", ");
    let shown = Value::from(cut(name));
    let description = match suggestion(name, &known) {
        Some(near) => format!("unknown tool {shown}; did you mean {near}? allowed: {allowed}"),
        None => format!("unknown tool {shown}; allowed: {allowed}"),
    };
    RpcError::invalid_field("name", description)
}

/// The arguments of a call.
fn arguments(text: &str) -> Result<Map<String, Value>, RpcError> {
    let refuse = |description: String| Err(RpcError::invalid_field("arguments", description));
    if text.len() > ARGUMENTS_BYTES_MAX {
        let given = text.len();
        return refuse(format!(
            "arguments are too long: {given} bytes; allowed: at most {ARGUMENTS_BYTES_MAX}"
        ));
    }
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(given)) => Ok(given),
        Ok(other) => refuse(format!(
            "arguments must be a JSON object; given: {}",
            kind_of(&other)
        )),
        Err(fault) => refuse(format!(
            "arguments are not JSON: {fault}; give one JSON object"
        )),
    }
}

const fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The key that names the call; a blank one is absent.
fn call_key(key: Option<&str>) -> Result<Option<String>, RpcError> {
    match key.filter(|key| !key.trim().is_empty()) {
        Some(key) if key.len() > ID_BYTES_MAX => {
            let given = key.len();
            let fault =
                format!("idempotencyKey is too long: {given} bytes; allowed: 1 to {ID_BYTES_MAX}");
            Err(RpcError::invalid_field("idempotencyKey", fault))
        },
        key => Ok(key.map(str::to_owned)),
    }
}
