//! `agents_list`: the agents that the caller may spawn.

use confab_proto::registry::v1::{Agent, ListAgentsRequest, ListAgentsResponse};
use confab_rpc::caller::Caller;
use confab_rpc::error::RpcError;
use schemars::JsonSchema;
use serde_json::{Map, Value};

use crate::input::Fields;
use crate::object::Object;
use crate::toolbox::{Clients, answer};

/// Arguments of `agents_list`: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Input {}

impl Input {
    /// Reads the arguments.
    ///
    /// # Errors
    /// When there are any.
    ///
    /// Source: contract, reg:A1.
    pub(crate) fn parse(given: &Map<String, Value>) -> Result<Self, RpcError> {
        Fields::new(given).finish().map(|()| Self {})
    }
}

/// Lists agents for `caller`.
///
/// # Errors
/// When the registry refuses or fails.
pub(crate) async fn call(
    clients: &Clients,
    caller: &Caller,
    Input {}: Input,
) -> Result<Object, RpcError> {
    let mut registry = clients.registry.on_behalf_of(caller);
    answer(registry.list_agents(ListAgentsRequest {}).await).map(result)
}

/// The agents as JSON, in the registry's order.
///
/// Source: contract, reg:A1, reg:A3.
fn result(list: ListAgentsResponse) -> Object {
    let agents: Vec<Value> = list.agents.into_iter().map(agent).collect();
    Object::default()
        .set_if("requester", list.requester)
        .set("allowAny", list.allow_any)
        .set("agents", agents)
}

fn agent(agent: Agent) -> Value {
    Object::default()
        .set("id", agent.agent_id)
        .set_if("name", agent.name)
        .set("configured", agent.configured)
        .set_if("model", agent.model)
        .set("driver", agent.driver)
        .into()
}
