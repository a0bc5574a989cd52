//! Every vector of `agents_list.json`.

use confab_model::id::AgentId;
use confab_policy::spawn_policy::{AllowAgents, Spawnable, spawnable};
use confab_vectors::{AGENTS_LIST, Case};
use serde_json::{Value, json};

fn id(agent: &Value) -> AgentId {
    AgentId::normalise(agent["id"].as_str().expect("an id"))
}

/// The list in `subagents` of an agent, or of the defaults.
fn allow(section: &Value) -> Option<AllowAgents> {
    let list = section.pointer("/subagents/allowAgents")?.as_array()?;
    Some(AllowAgents::parse(list.iter().filter_map(Value::as_str)))
}

fn decide_case(input: &Value) -> Spawnable {
    let requester = AgentId::normalise(input["requester"].as_str().expect("an id"));
    let agents = input
        .pointer("/agents/list")
        .and_then(Value::as_array)
        .expect("agents");
    let own = agents.iter().find(|agent| id(agent) == requester);
    let list = own
        .and_then(allow)
        .or_else(|| allow(input.pointer("/agents/defaults")?));
    let configured: Vec<AgentId> = agents.iter().map(id).collect();
    spawnable(&requester, list.as_ref(), &configured)
}

fn shown(requester: Option<&Value>, spawnable: &Spawnable) -> Value {
    let agents: Vec<Value> = spawnable
        .agents
        .iter()
        .map(|id| json!({ "id": id.as_str(), "configured": true }))
        .collect();
    json!({ "requester": requester, "allowAny": spawnable.allow_any, "agents": agents })
}

#[test]
fn every_case_of_the_agents_list_vectors_holds() {
    let cases: Vec<Case> = AGENTS_LIST.cases().unwrap();
    let differences = |case: &Case| {
        let found = decide_case(&case.given);
        case.differences(&shown(case.given.get("requester"), &found))
    };
    let failures: Vec<String> = cases.iter().flat_map(differences).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
