use confab_model::id::RunId;
use confab_model::key::SessionKey;
use confab_model::run::RunState;
use confab_model::session::LastRun;
use confab_model::session::levels::ThinkingLevel;
use confab_proto::registry::v1::GetStatusRequest;
use confab_rpc::caller::Caller;
use confab_rpc::error::Reason;

use super::*;
use crate::testing::{House, START, agent, key, operator, target};

const TWO_MODELS: &str = r#"{ agents: { defaults: { model: "m1" }, list: [{ id: "writer" }] } }"#;

impl House {
    async fn status(&self, caller: Caller, request: GetStatusRequest) -> Result<Status, RpcError> {
        let request = GetStatus::parse(request)?;
        let call = self.admitted(caller, request).await?;
        self.sessions.status(call).await
    }
}

fn of(session_key: &str) -> GetStatusRequest {
    GetStatusRequest {
        target: Some(target(session_key, "", "").into()),
        changes_since: None,
    }
}

fn session(key: SessionKey) -> Session {
    let session_id = confab_model::id::SessionId::parse("s").unwrap();
    Session::fresh(key, session_id, START)
}

fn ran() -> LastRun {
    LastRun {
        run_id: RunId::parse("r").unwrap(),
        state: RunState::Succeeded,
        started_at: Some(START),
        ended_at: Some(START.plus_millis(1_250)),
        model: Some("m2".to_owned()),
        total_tokens: Some(30_000),
        input_tokens: Some(120),
        output_tokens: Some(34),
    }
}

#[test]
fn the_model_that_ran_comes_first_and_override_and_default_stand_apart_b188() {
    let mut session = session(key("agent:writer:main"));
    session.last_run = Some(ran());
    session.tuning.model = Some("m3".to_owned());
    session.tuning.thinking_level = Some(ThinkingLevel::High);
    let card = card::Card {
        session: &session,
        shown_as: "main",
        default_model: Some("m1"),
        now: START.plus_millis(185_000),
    };
    let expected = format!(
        "confab {}\n🧠 Model: m2 (override m3, default m1)\n🧮 Tokens: 120 in / 34 out\n\
         📚 Context: 30000/?\n🧵 Session: main • updated 3m ago\n🏃 Last run: done in 1.2 s\n\
         ⚙️ Execution: Think: high",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(card.to_string(), expected);
}

#[test]
fn a_session_without_activity_says_no_more_than_is_known() {
    let session = session(key("agent:writer:slack:group:1"));
    let card = card::Card {
        session: &session,
        shown_as: "agent:writer:slack:group:1",
        default_model: None,
        now: START,
    };
    let card = card.to_string();
    assert!(card.contains("🧠 Model: n/a\n"), "{card}");
    assert!(
        card.ends_with("🧵 Session: agent:writer:slack:group:1 • no activity"),
        "{card}"
    );
}

#[tokio::test]
async fn the_own_session_is_meant_where_none_is_named_s2() {
    let house = House::with(TWO_MODELS).await;
    house.made("agent:writer:main").await;
    let own = house
        .status(agent("agent:writer:main"), GetStatusRequest::default())
        .await
        .unwrap();
    assert_eq!(own.session.key, key("agent:writer:main"));
    assert_eq!(own.default_model.as_deref(), Some("m1"));
    assert_eq!(own.changes, None);
    let nobody = house.status(operator(), GetStatusRequest::default()).await;
    assert_eq!(nobody.unwrap_err().reason, Reason::InvalidArgument);
}

#[tokio::test]
async fn status_creates_nothing_and_knows_no_missing_session_d5_d51() {
    let house = House::with(TWO_MODELS).await;
    for caller in [operator(), agent("agent:writer:main")] {
        let missing = house.status(caller, of("agent:writer:main")).await;
        assert_eq!(missing.unwrap_err().reason, Reason::SessionNotFound);
    }
    assert!(house.keys().await.is_empty());
}

#[tokio::test]
async fn changes_since_is_not_negative_s1() {
    let house = House::with(TWO_MODELS).await;
    house.made("agent:writer:main").await;
    let request = GetStatusRequest {
        changes_since: Some(-1),
        ..of("main")
    };
    let refused = house.status(operator(), request).await.unwrap_err();
    assert_eq!(refused.violations[0].field, "changesSince");
    assert!(
        refused
            .message
            .starts_with("changesSince must be a non-negative integer")
    );
    let request = GetStatusRequest {
        changes_since: Some(7),
        ..of("main")
    };
    let changes = house.status(operator(), request).await.unwrap().changes;
    let changes = changes.expect("asked for");
    assert!(changes.events.is_empty() && !changes.truncated && !changes.history_gap);
}
