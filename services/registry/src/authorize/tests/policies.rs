//! The send policy and the tool policy at the gate, and what is explained of them.

use confab_model::key::SessionKey;
use confab_policy::send_policy;
use confab_proto::policy::v1::ExplainRequest;
use confab_rpc::gate::{Reach, Target};

use super::*;
use crate::authorize::Explanation;
use crate::commands::Explain;

/// Denies discord groups; `{applies}` is where the policy applies.
fn denying(applies: &str) -> String {
    format!(
        r#"{{
        agents: {{ list: [{{ id: "writer", default: true }}, {{ id: "editor" }}] }},
        session: {{ sendPolicy: {{ appliesTo: "{applies}", rules: [
            {{ action: "allow" }},
            {{ action: "deny", match: {{ channel: "discord", chatType: "group" }} }},
        ] }} }},
        tools: {{ sessions: {{ visibility: "all" }}, agentToAgent: {{ enabled: true }} }},
    }}"#
    )
}

const GROUP: &str = "agent:writer:discord:group:1";

async fn reason(house: &House, caller: Caller, action: Action, key: &str) -> Option<Reason> {
    let decided = house.decide(caller, action, Target::reference(key)).await;
    decided.err().map(|refusal| refusal.reason)
}

#[tokio::test]
async fn the_send_policy_stops_messages_and_deliveries_and_nothing_else_d17() {
    let denied = Some(Reason::SendPolicy);
    let table = [
        ("all", Action::HumanMessage, denied),
        ("all", Action::StartRun, denied),
        ("all", Action::Send, denied),
        ("all", Action::Deliver, denied),
        ("all", Action::FlowRun, None),
        ("all", Action::History, None),
        ("all", Action::Status, None),
        ("all", Action::Patch, None),
        ("all", Action::Lifecycle, None),
        ("delivery", Action::HumanMessage, None),
        ("delivery", Action::StartRun, None),
        ("delivery", Action::Send, None),
        ("delivery", Action::Deliver, denied),
    ];
    for (applies, action, expected) in table {
        let house = House::with(&denying(applies)).await;
        house.made(GROUP).await;
        let got = reason(&house, operator(), action, GROUP).await;
        assert_eq!(got, expected, "{applies} {action:?}");
    }
}

#[tokio::test]
async fn a_refusal_has_the_well_known_text_and_a_denied_first_contact_makes_nothing_d18() {
    let house = House::with(&denying("all")).await;
    let target = Target::reference(GROUP);
    let refused = house.decide(operator(), Action::HumanMessage, target).await;
    assert_eq!(refused.unwrap_err().message, send_policy::REFUSAL);
    assert!(house.keys().await.is_empty());
}

#[tokio::test]
async fn the_channel_of_the_call_outranks_that_of_the_session_p6() {
    let house = House::with(
        r#"{ agents: { list: [{ id: "writer" }] }, session: { sendPolicy: { rules: [
            { action: "deny", match: { channel: "telegram" } } ] } } }"#,
    )
    .await;
    house.made("agent:writer:main").await;
    let ask = async |channel: Option<&str>| {
        let question = Question {
            caller: operator(),
            action: Action::HumanMessage,
            about: About::One(Target::reference("main")),
            channel: channel.map(str::to_owned),
        };
        house.sessions.authorize(question).await.unwrap().decisions[0].is_ok()
    };
    assert!(ask(None).await);
    assert!(ask(Some("slack")).await);
    assert!(!ask(Some("Telegram")).await);
}

#[tokio::test]
async fn each_call_of_an_agent_stands_behind_a_tool_a5() {
    let calls = [
        Action::Read,
        Action::History,
        Action::Status,
        Action::Send,
        Action::Patch,
        Action::Record,
        Action::Search,
    ];
    // The profile, then which of the calls above it leaves.
    let table = [
        ("full", [true, true, true, true, true, true, true]),
        ("messaging", [true, true, true, true, true, true, true]),
        ("minimal", [true, false, true, false, true, true, false]),
    ];
    for (profile, expected) in table {
        let house = House::with(&format!(
            r#"{{ agents: {{ list: [{{ id: "writer" }}] }}, tools: {{ profile: "{profile}" }} }}"#
        ))
        .await;
        house.made("agent:writer:main").await;
        for (action, allowed) in calls.into_iter().zip(expected) {
            let got = reason(&house, agent("agent:writer:main"), action, "main").await;
            let wanted = (!allowed).then_some(Reason::ToolPolicy);
            assert_eq!(got, wanted, "{profile} {action:?}");
        }
    }
}

#[tokio::test]
async fn a_list_and_a_search_need_their_own_tools() {
    let house = House::with(
        r#"{ agents: { list: [{ id: "writer" }] }, tools: { deny: ["sessions_search"] } }"#,
    )
    .await;
    house.made("agent:writer:main").await;
    let ask = async |action, about| {
        let question = Question {
            caller: agent("agent:writer:main"),
            action,
            about,
            channel: None,
        };
        let answer = house.sessions.authorize(question).await;
        answer.err().map(|refusal| refusal.reason)
    };
    let one = || About::One(target("main", "", ""));
    assert_eq!(ask(Action::List, About::Scope).await, None);
    assert_eq!(ask(Action::History, one()).await, None);
    for about in [About::Scope, one()] {
        assert_eq!(ask(Action::Search, about).await, Some(Reason::ToolPolicy));
    }
}

impl House {
    async fn explain(&self, request: ExplainRequest) -> Result<Explanation, RpcError> {
        let call = self.admitted(operator(), Explain::parse(request)?).await?;
        self.sessions.explain(call).await
    }
}

fn explain(key: &str, as_session: &str, tool: &str) -> ExplainRequest {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    ExplainRequest {
        target: Some(target(key, "", "").into()),
        as_session_key: given(as_session),
        tool: given(tool),
        channel: None,
    }
}

fn gates(explanation: &Explanation) -> Vec<(&'static str, bool)> {
    let verdicts = explanation.verdicts.iter();
    verdicts.map(|one| (one.gate, one.allowed)).collect()
}

#[tokio::test]
async fn an_explanation_names_every_gate_and_the_deciding_rule_also_without_a_row_d16() {
    let house = House::with(&denying("all")).await;
    let explained = house.explain(explain(GROUP, "", "")).await.unwrap();
    assert_eq!(explained.session_key, key(GROUP));
    assert!(!explained.exists && !explained.allowed());
    assert_eq!(
        gates(&explained),
        [
            ("role", true),
            ("session", true),
            ("visibility", true),
            ("archived", true),
            ("send_policy", false),
        ]
    );
    let last = &explained.verdicts[4];
    assert_eq!(last.rule_index, Some(1));
    assert!(last.reason.contains("rules[1]"), "{}", last.reason);
    assert!(!last.remedy.is_empty());
    assert!(house.keys().await.is_empty(), "explaining makes nothing");
}

#[tokio::test]
async fn every_unmet_gate_is_explained_at_once_b064() {
    let house = House::with(
        r#"{
        agents: { list: [{ id: "writer", default: true }, { id: "editor" }] },
        tools: { agentToAgent: { allow: ["editor"] }, deny: ["sessions_send"] },
    }"#,
    )
    .await;
    house.made("agent:editor:main").await;
    let request = explain("agent:editor:main", "agent:writer:main", "sessions_send");
    let explained = house.explain(request).await.unwrap();
    assert_eq!(
        gates(&explained),
        [
            ("role", true),
            ("tool_policy", false),
            ("session", true),
            ("thread", true),
            ("visibility", false),
            ("agent_to_agent", false),
            ("archived", true),
            ("send_policy", true),
        ]
    );
    let between = &explained.verdicts[5];
    assert!(
        between.reason.contains("enabled is false"),
        "{}",
        between.reason
    );
    assert!(between.reason.contains("requester"), "{}", between.reason);
    assert!(!between.reason.contains("target"), "{}", between.reason);
}

#[tokio::test]
async fn an_explanation_agrees_with_the_decision() {
    let configs = [
        denying("all"),
        denying("delivery"),
        OPEN_HOUSE.to_owned(),
        DEFAULTS.to_owned(),
    ];
    let targets = [
        GROUP,
        "agent:editor:main",
        "agent:writer:main",
        "agent:ghost:main",
    ];
    let callers = [
        None,
        Some("agent:writer:main"),
        Some("agent:editor:main"),
        // It has no row (D51).
        Some("agent:editor:desk"),
    ];
    let tools = [
        ("sessions_send", Action::Send),
        ("sessions_history", Action::History),
        ("sessions_search", Action::Search),
        ("session_status", Action::Status),
    ];
    for config in &configs {
        let house = House::with(config).await;
        house.made(GROUP).await;
        house.made("agent:editor:main").await;
        for target in targets {
            for caller in callers {
                for (tool, action) in tools {
                    let request = explain(target, caller.unwrap_or_default(), tool);
                    let explained = house.explain(request).await.unwrap();
                    let asking = caller.map_or_else(operator, agent);
                    let decided = reason(&house, asking, action, target).await;
                    assert_eq!(
                        explained.allowed(),
                        decided.is_none(),
                        "{caller:?} {tool} {target}: {decided:?}, {:?}",
                        gates(&explained)
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn nobody_speaks_for_an_agent_that_is_not_configured_d51() {
    let house = House::with(OPEN_HOUSE).await;
    house.made("agent:editor:main").await;
    for action in [Action::History, Action::Status, Action::Read, Action::Send] {
        let ghost = agent("agent:ghost:main");
        let refused = reason(&house, ghost, action, "agent:editor:main").await;
        assert_eq!(refused, Some(Reason::SessionNotFound), "{action:?}");
    }
    let request = explain("agent:editor:main", "agent:ghost:main", "sessions_history");
    assert!(!house.explain(request).await.unwrap().allowed());
}

#[tokio::test]
async fn an_unknown_tool_and_an_unknown_session_id_are_refused() {
    let house = House::with(DEFAULTS).await;
    let refused = house.explain(explain("main", "", "sessions_fly")).await;
    assert_eq!(refused.unwrap_err().violations[0].field, "tool");
    let missing = "0b6b2c1e-7b1d-4a55-9a5d-2f5f1b0c9d01";
    let refused = house.explain(explain(missing, "", "")).await;
    assert_eq!(refused.unwrap_err().reason, Reason::SessionNotFound);
}

#[tokio::test]
async fn a_label_is_explained_where_it_names_one_session_d6() {
    let house = House::with(OPEN_HOUSE).await;
    house.labelled("agent:writer:desk", "Desk").await;
    house.labelled("agent:editor:desk", "Desk").await;
    let of = |agent_id: &str| ExplainRequest {
        target: Some(target("", "Desk", agent_id).into()),
        ..Default::default()
    };
    let explained = house.explain(of("writer")).await.unwrap();
    assert_eq!(explained.session_key, key("agent:writer:desk"));
    let refused = house.explain(of("")).await.unwrap_err();
    assert_eq!(refused.reason, Reason::Ambiguous);
}

/// The scope and the decisions about what lies in it are one rule.
#[tokio::test]
async fn a_search_reaches_in_every_mode_what_a_history_of_it_would_d9_d11() {
    let everything = [
        "agent:writer:main",
        "agent:writer:desk",
        "agent:editor:main",
        "agent:editor:child",
    ];
    for (mode, reached) in [
        ("self", vec![everything[0]]),
        ("tree", vec![everything[0], everything[3]]),
        ("agent", vec![everything[0], everything[1]]),
        ("all", everything.to_vec()),
    ] {
        let house = House::with(&format!(
            r#"{{
                agents: {{ list: [{{ id: "writer" }}, {{ id: "editor" }}] }},
                tools: {{ sessions: {{ visibility: "{mode}" }}, agentToAgent: {{ enabled: true }} }},
            }}"#
        ))
        .await;
        for key in &everything[..3] {
            house.made(key).await;
        }
        let child = CreateSessionRequest {
            spawned_by: Some(everything[0].to_owned()),
            ..named(everything[3])
        };
        house.create(child).await.unwrap();
        let in_scope = house.searched(everything[0]).await;
        for text in everything {
            let expected = reached.contains(&text);
            for action in [Action::Search, Action::History] {
                let refused = reason(&house, agent(everything[0]), action, text).await;
                let wanted = (!expected).then_some(Reason::Visibility);
                assert_eq!(refused, wanted, "{mode} {text}");
            }
            assert_eq!(reaches(&in_scope, &key(text)), expected, "{mode} {text}");
        }
    }
}

impl House {
    /// The scope of a search, as a service that cannot follow spawns is told it.
    async fn searched(&self, session: &str) -> Reach {
        let question = Question {
            caller: agent(session),
            action: Action::Search,
            about: About::Scope,
            channel: None,
        };
        let answer = self.sessions.authorize(question).await.unwrap();
        let tenant = TenantId::default();
        let scope = self.sessions.spell_out(&tenant, answer.scope.unwrap());
        scope.await.unwrap().reach
    }
}

fn reaches(reach: &Reach, key: &SessionKey) -> bool {
    match reach {
        Reach::All => true,
        Reach::Among(among) => {
            assert_eq!(among.family, None, "spelled out");
            among.keys.contains(key)
                || key
                    .agent_id()
                    .is_some_and(|agent| among.agents.contains(&agent))
        },
    }
}
