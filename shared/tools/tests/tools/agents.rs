//! `agents_list`.

use confab_model::id::TenantId;
use confab_proto::registry::v1::{Agent, ListAgentsResponse};
use confab_rpc::caller::Caller;
use serde_json::json;

use crate::fakes::{Asked, Fakes, agent};

const WRITER: &str = "agent:writer:main";

#[tokio::test]
async fn agents_are_told_with_what_is_known_of_them_in_the_registrys_order() {
    let writer = Agent {
        agent_id: "writer".to_owned(),
        name: Some("Writer".to_owned()),
        configured: true,
        model: Some("m1".to_owned()),
        driver: "openai".to_owned(),
        may_spawn: None,
    };
    let editor = Agent {
        agent_id: "editor".to_owned(),
        configured: true,
        driver: "worker".to_owned(),
        ..Agent::default()
    };
    let fakes = Fakes {
        agents: Ok(ListAgentsResponse {
            requester: Some("writer".to_owned()),
            allow_any: true,
            agents: vec![writer, editor],
        }),
        ..Fakes::default()
    };
    let toolbox = fakes.toolbox();
    let answer = toolbox
        .invoke(&agent(WRITER), "agents_list", "", None)
        .await;
    assert!(!answer.is_error);
    let expected = json!({
        "requester": "writer",
        "allowAny": true,
        "agents": [
            {
                "id": "writer", "name": "Writer", "configured": true, "model": "m1",
                "driver": "openai",
            },
            { "id": "editor", "configured": true, "driver": "worker" },
        ],
    });
    assert_eq!(answer.result.to_string(), expected.to_string());
    assert_eq!(fakes.asked(), [(agent(WRITER), Asked::Agents)]);
}

#[tokio::test]
async fn an_operator_is_no_requester() {
    let fakes = Fakes {
        agents: Ok(ListAgentsResponse::default()),
        ..Fakes::default()
    };
    let operator = Caller::operator(TenantId::default());
    let toolbox = fakes.toolbox();
    let answer = toolbox.invoke(&operator, "agents_list", "{}", None).await;
    assert_eq!(answer.result, json!({ "allowAny": false, "agents": [] }));
}

#[tokio::test]
async fn arguments_are_refused_reg_a1() {
    let fakes = Fakes::default();
    let toolbox = fakes.toolbox();
    let answer = toolbox
        .invoke(&agent(WRITER), "agents_list", r#"{"agentId":"a"}"#, None)
        .await;
    assert!(answer.is_error);
    assert_eq!(
        answer.result["error"],
        "unknown field \"agentId\"; this tool takes no arguments"
    );
    assert_eq!(fakes.requests(), []);
}
