//! Decisions, over a real store.

mod policies;

use confab_model::id::{AgentId, SessionId, TenantId};
use confab_model::session::Session;
use confab_proto::registry::v1::CreateSessionRequest;
use confab_rpc::caller::{Caller, Identity};
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::{About, Action, Question, Target};

use super::asking::Asking;
use super::judge::{Judge, Verdict};
use crate::meaning::Reader;
use crate::store::Found;
use crate::testing::{DEFAULTS, House, OPEN_HOUSE, START, agent, key, named, operator, target};

fn by_key(text: &str) -> Target {
    target(text, "", "")
}

fn found(decision: Result<Session, RpcError>) -> String {
    decision.unwrap().key.to_string()
}

#[track_caller]
fn assert_refused(decision: Result<Session, RpcError>, reason: Reason, text: &str) {
    let refused = decision.unwrap_err();
    assert_eq!(refused.reason, reason, "{refused}");
    assert!(refused.message.contains(text), "{refused}");
}

#[tokio::test]
async fn every_way_to_name_a_session_leads_to_it() {
    let house = House::with(OPEN_HOUSE).await;
    let main = house.made("agent:writer:main").await;
    let desk = house.labelled("agent:editor:desk", "Desk").await;
    house.made("agent:editor:main").await;
    let writer = || agent("agent:writer:main");
    for (given, expected) in [
        (by_key("agent:editor:desk"), "agent:editor:desk"),
        (by_key(" AGENT:Editor:Desk "), "agent:editor:desk"),
        (by_key("main"), "agent:writer:main"),
        (by_key("current"), "agent:writer:main"),
        (by_key(desk.session_id.as_str()), "agent:editor:desk"),
        (target("desk", "", "editor"), "agent:editor:desk"),
        (target("main", "", "editor"), "agent:editor:main"),
        (target("", "Desk", ""), "agent:editor:desk"),
        (target("", "Desk", "editor"), "agent:editor:desk"),
        (target("", "", "editor"), "agent:editor:main"),
        (
            target("agent:editor:desk", "Desk", "editor"),
            "agent:editor:desk",
        ),
        (
            target(main.session_id.as_str(), "", "writer"),
            "agent:writer:main",
        ),
    ] {
        let decision = house.decide(writer(), Action::Read, given.clone()).await;
        assert_eq!(found(decision), expected, "{given:?}");
    }
}

#[tokio::test]
async fn main_belongs_to_whoever_asks() {
    let house = House::with(OPEN_HOUSE).await;
    house.made("agent:writer:main").await;
    house.made("agent:editor:main").await;
    let asked = |caller| house.decide(caller, Action::History, by_key("main"));
    assert_eq!(
        found(asked(agent("agent:editor:desk")).await),
        "agent:editor:main"
    );
    assert_eq!(found(asked(operator()).await), "agent:writer:main");
}

#[tokio::test]
async fn an_operator_has_no_current_session() {
    let house = House::with(OPEN_HOUSE).await;
    let refused = house
        .decide(operator(), Action::Read, by_key("current"))
        .await
        .unwrap_err();
    assert_eq!(refused.reason, Reason::InvalidArgument);
    assert_eq!(refused.violations[0].field, "sessionKey");
}

#[tokio::test]
async fn fields_that_disagree_are_refused_naming_both() {
    let house = House::with(OPEN_HOUSE).await;
    let main = house.made("agent:writer:main").await;
    house.labelled("agent:editor:desk", "Desk").await;
    let caller = || agent("agent:writer:main");
    for (given, texts) in [
        (
            target("agent:writer:main", "Desk", ""),
            [
                "sessionKey `agent:writer:main`",
                "label `Desk`",
                "agent:editor:desk",
            ],
        ),
        (
            target("agent:writer:main", "", "editor"),
            ["agent:writer:main", "agentId `editor`", "not a session of"],
        ),
        (
            target("current", "", "editor"),
            ["agent:writer:main", "agentId `editor`", "not a session of"],
        ),
        (
            target(main.session_id.as_str(), "", "editor"),
            [
                main.session_id.as_str(),
                "agentId `editor`",
                "agent:writer:main",
            ],
        ),
    ] {
        let refused = house
            .decide(caller(), Action::Read, given.clone())
            .await
            .unwrap_err();
        assert_eq!(
            refused.reason,
            Reason::InvalidArgument,
            "{given:?}: {refused}"
        );
        for text in texts {
            assert!(refused.message.contains(text), "{text}: {refused}");
        }
    }
}

#[tokio::test]
async fn an_ambiguous_label_names_the_visible_candidates_only() {
    let config = r#"{
        agents: { list: [{ id: "writer", default: true }, { id: "editor" }, { id: "ops" }] },
        tools: { sessions: { visibility: "all" },
                 agentToAgent: { enabled: true, allow: ["writer", "editor"] } },
    }"#;
    let house = House::with(config).await;
    for owner in ["writer", "editor", "ops"] {
        house.labelled(&format!("agent:{owner}:desk"), "Desk").await;
    }
    house.labelled("agent:ops:bench", "Bench").await;
    let caller = || agent("agent:writer:desk");
    let decision = house
        .decide(caller(), Action::Read, target("", "Desk", ""))
        .await;
    assert_refused(
        decision.clone(),
        Reason::Ambiguous,
        "Multiple sessions found with label: Desk (agent:editor:desk, agent:writer:desk)",
    );
    assert!(!decision.unwrap_err().message.contains("ops"));
    // A key, or the agent, tells them apart; what is hidden is not there.
    let decision = house
        .decide(
            caller(),
            Action::Read,
            target("agent:editor:desk", "Desk", ""),
        )
        .await;
    assert_eq!(found(decision), "agent:editor:desk");
    let decision = house
        .decide(caller(), Action::Read, target("", "Desk", "editor"))
        .await;
    assert_eq!(found(decision), "agent:editor:desk");
    let decision = house
        .decide(caller(), Action::Read, target("", "Bench", ""))
        .await;
    assert_refused(decision, Reason::SessionNotFound, "No session found: Bench");
}

#[tokio::test]
async fn a_key_out_of_reach_is_forbidden_whether_it_exists_or_not() {
    let house = House::with(DEFAULTS).await;
    house.made("agent:writer:main").await;
    let there = house.labelled("agent:editor:there", "There").await;
    let caller = || agent("agent:writer:main");
    for text in ["agent:editor:there", "agent:editor:missing"] {
        let decision = house.decide(caller(), Action::History, by_key(text)).await;
        assert_refused(
            decision,
            Reason::Visibility,
            "Session history visibility is restricted.",
        );
    }
    // By sessionId or label, hidden and missing are the same.
    for given in [
        by_key(there.session_id.as_str()),
        by_key("no-such-id"),
        target("", "There", ""),
    ] {
        let decision = house.decide(caller(), Action::History, given.clone()).await;
        let input = given.session_key.or(given.label).unwrap();
        assert_refused(
            decision,
            Reason::SessionNotFound,
            &format!("No session found: {input}"),
        );
    }
    // Within reach, missing is missing.
    let decision = house
        .decide(operator(), Action::History, by_key("agent:editor:missing"))
        .await;
    assert_refused(
        decision,
        Reason::SessionNotFound,
        "No session found: agent:editor:missing",
    );
}

#[tokio::test]
async fn first_uses_create_main_sessions_and_a_persons_message_any() {
    let creates = [
        Action::Send,
        Action::StartRun,
        Action::FlowRun,
        Action::HumanMessage,
    ];
    for action in Action::ALL {
        let house = House::with(OPEN_HOUSE).await;
        let decision = house
            .decide(operator(), action, by_key("agent:editor:main"))
            .await;
        assert_eq!(decision.is_ok(), creates.contains(&action), "{action:?}");
        let other = house
            .decide(operator(), action, by_key("agent:editor:discord:direct:7"))
            .await;
        assert_eq!(other.is_ok(), action == Action::HumanMessage, "{action:?}");
        let expected = usize::from(decision.is_ok()) + usize::from(other.is_ok());
        assert_eq!(house.keys().await.len(), expected, "{action:?}");
    }
}

#[tokio::test]
async fn a_session_made_on_first_use_is_found_ever_after() {
    let house = House::with(OPEN_HOUSE).await;
    let made = house.decide(
        agent("agent:writer:main"),
        Action::Send,
        by_key("agent:editor:main"),
    );
    let made = made.await.unwrap();
    assert_eq!((made.created_at, made.row_version), (START, 1));
    let again = house
        .decide(operator(), Action::HumanMessage, target("", "", "editor"))
        .await;
    assert_eq!(again.unwrap(), made);
}

#[tokio::test]
async fn what_is_hidden_is_not_created() {
    let house = House::with(DEFAULTS).await;
    house.made("agent:writer:main").await;
    let decision = house
        .decide(
            agent("agent:writer:main"),
            Action::Send,
            by_key("agent:editor:main"),
        )
        .await;
    assert_refused(
        decision,
        Reason::Visibility,
        "Session send visibility is restricted.",
    );
    assert_eq!(house.keys().await, ["agent:writer:main"]);
}

#[tokio::test]
async fn an_agent_that_is_not_configured_is_found_on_no_path_and_never_created() {
    let house = House::with(OPEN_HOUSE).await;
    let main = house.made("agent:writer:main").await;
    for (action, given) in [
        (Action::Send, by_key("agent:ghost:main")),
        (Action::HumanMessage, by_key("agent:ghost:discord:direct:7")),
        (Action::Send, target("", "", "ghost")),
        (Action::Send, target("", "Ghost", "ghost")),
        (Action::Send, by_key("ghost-session-id")),
    ] {
        for caller in [operator(), agent("agent:writer:main")] {
            let decision = house.decide(caller, action, given.clone()).await;
            assert_refused(decision, Reason::SessionNotFound, "ound: ");
        }
    }
    assert_eq!(house.keys().await, [main.key.to_string()]);
}

#[tokio::test]
async fn a_uuid_is_a_session_id_and_creates_nothing() {
    let house = House::with(OPEN_HOUSE).await;
    let text = "2b0f6bd1-6a5c-4c3f-9c55-0a5b2a6f7c11";
    let decision = house
        .decide(operator(), Action::HumanMessage, by_key(text))
        .await;
    assert_refused(decision, Reason::SessionNotFound, text);
    let decision = house
        .decide(operator(), Action::HumanMessage, by_key("discord:direct:7"))
        .await;
    assert_eq!(found(decision), "agent:writer:discord:direct:7");
}

#[tokio::test]
async fn a_thread_is_no_target_and_the_refusal_names_its_parent_before_anything_else() {
    let text = "sessions_send cannot target a thread session for inter-agent coordination. Use the \
                parent channel session key instead.";
    let parent = "agent:editor:discord:channel:1";
    let thread = format!("{parent}:thread:9");
    for config in [DEFAULTS, OPEN_HOUSE] {
        let house = House::with(config).await;
        house.made("agent:writer:main").await;
        let decision = house
            .decide(agent("agent:writer:main"), Action::Send, by_key(&thread))
            .await;
        assert_refused(decision.clone(), Reason::ThreadTarget, text);
        assert!(decision.unwrap_err().message.contains(parent));
    }
    // Named by label it is a thread too; and a person may write to it.
    let house = House::with(OPEN_HOUSE).await;
    house.labelled(&thread, "Thread").await;
    let decision = house
        .decide(operator(), Action::Send, target("", "Thread", ""))
        .await;
    assert_refused(decision, Reason::ThreadTarget, text);
    let decision = house
        .decide(operator(), Action::HumanMessage, by_key(&thread))
        .await;
    assert_eq!(found(decision), thread);
}

#[tokio::test]
async fn a_hidden_thread_named_by_its_session_id_stays_hidden() {
    let house = House::with(DEFAULTS).await;
    house.made("agent:writer:main").await;
    let thread = house.made("agent:editor:discord:channel:1:thread:9").await;
    let given = by_key(thread.session_id.as_str());
    let decision = house
        .decide(agent("agent:writer:main"), Action::Send, given)
        .await;
    assert_refused(decision, Reason::SessionNotFound, "No session found: ");
}

/// What an operator may do to the session that `found` holds.
fn judged(house: &House, found: &Found, action: Action, given: &str) -> Option<Session> {
    let settings = house.sessions.settings.current();
    let rules = settings.key_rules();
    let meaning = Reader {
        rules: &rules,
        requester: None,
    }
    .read(&by_key(given))
    .unwrap();
    let judge = Judge {
        rules: &rules,
        visibility: &settings.visibility,
        send_policy: None,
        channel: None,
        action,
        asking: &Asking::Owner,
        found,
    };
    match judge.decide(&meaning) {
        Ok(Verdict::Session(session)) => Some(*session),
        Ok(Verdict::Create(key)) => panic!("would create {key}"),
        Err(refused) => {
            assert_refused(
                Err(refused),
                Reason::SessionArchived,
                "Session \"agent:editor:main\" is archived. Restore it before starting new work.",
            );
            None
        },
    }
}

#[tokio::test]
async fn an_archived_session_takes_no_new_work_and_stays_readable() {
    let house = House::with(OPEN_HOUSE).await;
    let stored = house.made("agent:editor:main").await;
    let archived = Session {
        archived_at: Some(START),
        ..stored
    };
    let mut found = Found::default();
    found.by_key.insert(archived.key.clone(), archived);
    for action in Action::ALL {
        let session = judged(&house, &found, action, "agent:editor:main");
        assert_eq!(session.is_none(), action.is_new_work(), "{action:?}");
    }
}

#[tokio::test]
async fn an_older_session_id_names_its_own_generation_for_reading_only() {
    let house = House::with(OPEN_HOUSE).await;
    let present = house.made("agent:editor:main").await;
    let older = SessionId::parse("an older one").unwrap();
    let mut found = Found::default();
    found
        .by_session_id
        .insert(older.to_string(), (older.clone(), present.clone()));
    for (action, expected) in [
        (Action::History, &older),
        (Action::Search, &older),
        (Action::Send, &present.session_id),
    ] {
        let session = judged(&house, &found, action, "an older one").unwrap();
        assert_eq!(
            (&session.key, &session.session_id),
            (&present.key, expected),
            "{action:?}"
        );
    }
}

#[tokio::test]
async fn a_caller_without_a_row_changes_nothing_unless_it_is_a_main_session() {
    let house = House::with(OPEN_HOUSE).await;
    house.made("agent:editor:main").await;
    let send = |caller| house.decide(caller, Action::Send, by_key("agent:editor:main"));
    assert_refused(
        send(agent("agent:writer:nowhere")).await,
        Reason::SessionNotFound,
        "No session found: agent:writer:nowhere",
    );
    assert_refused(
        send(agent("agent:ghost:main")).await,
        Reason::SessionNotFound,
        "No session found: agent:ghost:main",
    );
    assert_eq!(
        found(send(agent("agent:writer:main")).await),
        "agent:editor:main"
    );
    // Being named as a caller creates nothing (D51).
    assert_eq!(house.keys().await, ["agent:editor:main"]);
}

#[tokio::test]
async fn descendants_are_within_reach_and_ancestors_are_not() {
    let house = House::with(DEFAULTS).await;
    house.made("agent:writer:main").await;
    let child = CreateSessionRequest {
        spawned_by: Some("agent:writer:main".to_owned()),
        ..named("agent:editor:work:1")
    };
    house.create(child).await.unwrap();
    let grandchild = CreateSessionRequest {
        spawned_by: Some("agent:editor:work:1".to_owned()),
        ..named("agent:editor:work:2")
    };
    house.create(grandchild).await.unwrap();
    let read = |from: &str, to: &str| house.decide(agent(from), Action::History, by_key(to));
    assert!(
        read("agent:writer:main", "agent:editor:work:2")
            .await
            .is_ok()
    );
    assert_refused(
        read("agent:editor:work:1", "agent:writer:main").await,
        Reason::Visibility,
        "Session history visibility is restricted.",
    );
}

#[tokio::test]
async fn many_targets_have_a_decision_each_in_their_order() {
    let house = House::with(OPEN_HOUSE).await;
    let main = house.made("agent:writer:main").await;
    let about = About::Many(vec![
        by_key("agent:writer:missing"),
        by_key(main.session_id.as_str()),
        by_key("agent::"),
        by_key("main"),
    ]);
    let question = Question {
        caller: agent("agent:writer:main"),
        action: Action::Read,
        about,
        channel: None,
    };
    let answer = house.sessions.authorize(question).await.unwrap();
    let reasons: Vec<Option<Reason>> = answer
        .decisions
        .iter()
        .map(|one| one.as_ref().err().map(|error| error.reason))
        .collect();
    let expected = [
        Some(Reason::SessionNotFound),
        None,
        Some(Reason::InvalidArgument),
        None,
    ];
    assert_eq!(reasons, expected);
}

#[tokio::test]
async fn a_thousand_targets_are_decided_and_one_more_is_too_many() {
    let house = House::with(OPEN_HOUSE).await;
    let ask = |number: usize| {
        let targets = (0..number)
            .map(|place| by_key(&format!("agent:writer:{place}")))
            .collect();
        let about = About::Many(targets);
        house.sessions.authorize(Question {
            caller: operator(),
            action: Action::Read,
            about,
            channel: None,
        })
    };
    assert_eq!(ask(1_000).await.unwrap().decisions.len(), 1_000);
    assert_eq!(ask(1_001).await.unwrap_err().violations[0].field, "targets");
}

#[tokio::test]
async fn a_channel_brings_messages_and_a_worker_acts_on_nothing() {
    let house = House::with(DEFAULTS).await;
    let caller = |identity| Caller {
        tenant: TenantId::default(),
        identity,
        subject: None,
    };
    let channel = || {
        caller(Identity::Channel {
            channel: "discord".to_owned(),
        })
    };
    let worker = || {
        caller(Identity::Worker {
            agent: AgentId::normalise("writer"),
        })
    };
    for action in Action::ALL {
        let decision = house
            .decide(channel(), action, by_key("agent:writer:main"))
            .await;
        let allowed = matches!(action, Action::HumanMessage | Action::Record);
        // The first of the two makes the session.
        let reason = decision.err().map(|error| error.reason);
        assert_eq!(reason == Some(Reason::Role), !allowed, "{action:?}");
        let refused = house
            .decide(worker(), action, by_key("agent:writer:main"))
            .await;
        assert_eq!(refused.unwrap_err().reason, Reason::Role, "{action:?}");
    }
    assert_eq!(house.keys().await, ["agent:writer:main"]);
}

#[tokio::test]
async fn one_tenant_sees_nothing_of_another() {
    let house = House::with(OPEN_HOUSE).await;
    let made = house.labelled("agent:writer:main", "Desk").await;
    let other = Caller::operator(TenantId::parse("other").unwrap());
    for given in [
        by_key("agent:writer:main"),
        by_key(made.session_id.as_str()),
        target("", "Desk", ""),
    ] {
        let decision = house.decide(other.clone(), Action::Read, given).await;
        assert_refused(decision, Reason::SessionNotFound, "No session found: ");
    }
}

#[tokio::test]
async fn under_a_global_scope_every_main_session_is_the_one() {
    let config = r#"{
        agents: { list: [{ id: "writer", default: true }, { id: "editor" }] },
        session: { scope: "global" },
    }"#;
    let house = House::with(config).await;
    let made = house
        .decide(operator(), Action::HumanMessage, by_key("main"))
        .await
        .unwrap();
    assert_eq!(made.key, key("global"));
    for text in ["main", "global", "agent:editor:main"] {
        let decision = house
            .decide(agent("agent:editor:main"), Action::Read, by_key(text))
            .await;
        assert_eq!(decision.unwrap().key, key("global"), "{text}");
    }
    assert_eq!(house.keys().await, ["global"]);
}
