use confab_policy::tool_policy::SessionTool;
use confab_rpc::error::Reason;

use super::*;
use crate::testing::{House, agent, operator};

const THREE: &str = r#"{ agents: {
    defaults: { model: "m1", subagents: { allowAgents: ["web"] } },
    list: [
        { id: "main", default: true, name: " Chief ", subagents: { allowAgents: ["ops", "*"] } },
        { id: "web", driver: { type: "script", default: "x" } },
        { id: "ops", model: "m2", tools: { deny: ["agents_list"] } },
    ],
} }"#;

impl House {
    async fn agents(&self, caller: Caller) -> Result<AgentsPage, RpcError> {
        let call = self.admitted(caller, ListAgents).await?;
        self.sessions.list_agents(call).await
    }

    async fn tools(&self, session: &str) -> Vec<&'static str> {
        let call = self.admitted(agent(session), GetToolPolicy).await.unwrap();
        let verdicts = self.sessions.tool_policy(call).await.unwrap();
        let allowed = verdicts.into_iter().filter(|verdict| verdict.allowed);
        allowed.map(|verdict| verdict.tool.as_str()).collect()
    }
}

fn ids(page: &AgentsPage) -> Vec<&str> {
    page.agents.iter().map(|agent| agent.id.as_str()).collect()
}

#[tokio::test]
async fn the_requester_comes_first_and_the_own_list_outranks_the_defaults_a1_a2_a3() {
    let house = House::with(THREE).await;
    let page = house.agents(agent("agent:main:main")).await.unwrap();
    assert_eq!(page.requester, Some(AgentId::normalise("main")));
    assert!(page.allow_any);
    assert_eq!(ids(&page), ["main", "ops", "web"]);
    let chief = AgentEntry {
        id: AgentId::normalise("main"),
        name: Some("Chief".to_owned()),
        model: Some("m1".to_owned()),
        driver: "worker",
        may_spawn: None,
    };
    assert_eq!(page.agents[0], chief);
    assert_eq!(page.agents[1].model.as_deref(), Some("m2"));
    assert_eq!(page.agents[2].driver, "script");

    let page = house.agents(agent("agent:web:main")).await.unwrap();
    assert!(!page.allow_any);
    assert_eq!(ids(&page), ["web"], "by the defaults");
}

#[tokio::test]
async fn an_operator_may_use_every_agent_and_is_none() {
    let house = House::with(THREE).await;
    let page = house.agents(operator()).await.unwrap();
    assert_eq!(page.requester, None);
    assert!(page.allow_any);
    assert_eq!(ids(&page), ["main", "ops", "web"]);
    let told = page.agents.iter().map(|agent| {
        let spawns = agent.may_spawn.as_ref().expect("told to operators");
        let ids: Vec<&str> = spawns.agents.iter().map(AgentId::as_str).collect();
        (spawns.allow_any, ids.join(" "))
    });
    let told: Vec<(bool, String)> = told.collect();
    let by_default = (false, "web".to_owned());
    let expected = [
        (true, "main ops web".to_owned()),
        by_default.clone(),
        by_default,
    ];
    assert_eq!(told, expected, "whatever tools the agents have");
}

#[tokio::test]
async fn a_session_without_the_tool_is_told_which_list_took_it() {
    let house = House::with(THREE).await;
    let refused = house.agents(agent("agent:ops:main")).await.unwrap_err();
    assert_eq!(refused.reason, Reason::ToolPolicy);
    assert!(
        refused.message.contains("agents_list"),
        "{}",
        refused.message
    );
    assert!(refused.message.contains("deny"), "{}", refused.message);
}

#[tokio::test]
async fn the_tools_of_a_session_follow_profile_agent_sandbox_and_depth_a5_a11_a14() {
    let house = House::with(
        r#"{
        agents: { list: [
            { id: "main", default: true },
            { id: "box", sandbox: { mode: "all" } },
            { id: "talk", tools: { profile: "messaging" } },
        ] },
        tools: { deny: ["subagents"] },
    }"#,
    )
    .await;
    let most: Vec<&str> = SessionTool::ALL
        .map(SessionTool::as_str)
        .into_iter()
        .filter(|tool| *tool != "subagents")
        .collect();
    assert_eq!(house.tools("agent:main:main").await, most);
    let without_agents: Vec<&str> = most
        .iter()
        .copied()
        .filter(|tool| *tool != "agents_list")
        .collect();
    assert_eq!(house.tools("agent:box:main").await, without_agents);
    assert_eq!(
        house.tools("agent:talk:main").await,
        [
            "sessions_list",
            "sessions_history",
            "sessions_search",
            "sessions_send",
            "session_status"
        ]
    );
    assert_eq!(
        house.tools("agent:main:subagent:1").await,
        ["sessions_yield"; 0],
        "a leaf has nothing to wait for (D72)"
    );
}
