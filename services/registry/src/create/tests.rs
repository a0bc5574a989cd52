//! Making sessions.

use confab_model::key::SessionKey;
use confab_proto::registry::v1::registry_service_server::RegistryService as _;
use confab_proto::registry::v1::{CreateSessionRequest, LifecycleChange};
use confab_proto::types::v1 as types;
use confab_rpc::error::Reason;

use crate::testing::{DEFAULTS, House, START, answered, asked, change_of, key, named, operator};

#[tokio::test]
async fn a_session_is_made_once_and_answered_unchanged_ever_after() {
    let house = House::with(DEFAULTS).await;
    let first = house
        .create(named("AGENT:Editor:Discord:group:42"))
        .await
        .unwrap();
    assert!(first.created);
    assert_eq!(first.session.key.as_str(), "agent:editor:discord:group:42");
    assert_eq!(
        (first.session.created_at, first.session.updated_at),
        (START, START)
    );
    assert_eq!(
        (first.session.row_version, first.session.work_epoch),
        (1, 0)
    );

    house.clock.advance_millis(5);
    let again = house
        .create(named("agent:editor:discord:group:42"))
        .await
        .unwrap();
    assert!(!again.created);
    assert_eq!(again.session, first.session);
}

#[tokio::test]
async fn main_is_the_default_agents_main_session() {
    let house = House::with(DEFAULTS).await;
    assert_eq!(house.made("main").await.key.as_str(), "agent:writer:main");
    assert_eq!(
        house.made("discord:direct:7").await.key.as_str(),
        "agent:writer:discord:direct:7"
    );
}

#[tokio::test]
async fn a_named_call_meets_its_first_answer_and_no_other_call_has_the_name_d36() {
    let house = House::with(DEFAULTS).await;
    let named_call = |key: &str, label: &str| CreateSessionRequest {
        label: Some(label.to_owned()),
        idempotency_key: Some("k".to_owned()),
        ..named(key)
    };
    let call = async |request| {
        let answer = house.api.create_session(asked(operator(), request)).await;
        answered(answer)
    };
    let first = call(named_call("agent:writer:desk", "Desk")).await.unwrap();
    assert!(first.created);

    for other in [
        named_call("agent:writer:desk", "Bench"),
        named_call("agent:writer:bench", "Desk"),
    ] {
        let refused = call(other).await.unwrap_err();
        assert_eq!(refused.reason, Reason::KeyReused);
    }
    assert_eq!(house.keys().await, ["agent:writer:desk"]);

    let row = house.row("agent:writer:desk").await.unwrap();
    let gone = change_of(&row, LifecycleChange::Delete, "c");
    house.commit(gone).await.unwrap();
    let again = call(named_call("agent:writer:desk", "Desk")).await.unwrap();
    assert_eq!(again, first);
    assert_eq!(house.keys().await, Vec::<String>::new());
}

#[tokio::test]
async fn the_spawning_session_is_stored_by_its_one_name_d4() {
    let house = House::with(DEFAULTS).await;
    house.made("main").await;
    // No agent is called main, so its main session is the default agent's (reg:K15).
    let child = CreateSessionRequest {
        spawned_by: Some("agent:main:main".to_owned()),
        ..named("agent:writer:subagent:1")
    };
    let made = house.create(child.clone()).await.unwrap().session;
    let spawner = made.spawned_by.as_ref().map(SessionKey::as_str);
    assert_eq!(spawner, Some("agent:writer:main"));
    assert!(!house.create(child).await.unwrap().created);
}

#[tokio::test]
async fn equal_fields_are_no_conflict_and_others_name_what_differs() {
    let house = House::with(DEFAULTS).await;
    let whole = CreateSessionRequest {
        label: Some("Desk".to_owned()),
        sandboxed: Some(true),
        ..named("agent:writer:desk")
    };
    house.create(whole.clone()).await.unwrap();
    assert!(!house.create(whole.clone()).await.unwrap().created);

    let other = CreateSessionRequest {
        label: Some("Bench".to_owned()),
        sandboxed: Some(false),
        ..whole
    };
    let refused = house.create(other).await.unwrap_err();
    assert_eq!(refused.reason, Reason::SessionExists);
    assert!(
        refused.message.contains("another label, sandboxed"),
        "{refused}"
    );
    assert!(refused.message.contains("leave that out"), "{refused}");
    assert!(
        refused
            .message
            .contains("`confab sessions patch agent:writer:desk`"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_label_is_unique_within_its_agent_only() {
    let house = House::with(DEFAULTS).await;
    house.labelled("agent:writer:a", "Alpha").await;
    house.labelled("agent:editor:a", "Alpha").await;
    house.labelled("agent:writer:b", "alpha").await;
    let request = CreateSessionRequest {
        label: Some("  Alpha ".to_owned()),
        ..named("agent:writer:c")
    };
    let refused = house.create(request).await.unwrap_err();
    assert_eq!(refused.reason, Reason::LabelInUse);
    assert_eq!(refused.message, "label already in use: Alpha");
    assert!(!house.keys().await.contains(&"agent:writer:c".to_owned()));
}

#[tokio::test]
async fn a_session_is_spawned_by_another_that_exists() {
    let house = House::with(DEFAULTS).await;
    let child = |spawner: &str| CreateSessionRequest {
        spawned_by: Some(spawner.to_owned()),
        ..named("agent:writer:subagent:1")
    };
    let refused = house.create(child("agent:writer:main")).await.unwrap_err();
    assert_eq!(refused.reason, Reason::SessionNotFound);
    assert_eq!(refused.message, "No session found: agent:writer:main");
    let refused = house
        .create(child("agent:writer:subagent:1"))
        .await
        .unwrap_err();
    assert_eq!(refused.violations[0].field, "spawnedBy");

    house.made("agent:writer:main").await;
    let made = house.create(child("agent:writer:main")).await.unwrap();
    assert_eq!(
        made.session.spawned_by.unwrap().as_str(),
        "agent:writer:main"
    );
}

#[tokio::test]
async fn an_agent_that_is_not_configured_gets_no_session() {
    let house = House::with(DEFAULTS).await;
    let refused = house.create(named("agent:ghost:main")).await.unwrap_err();
    assert_eq!(refused.reason, Reason::SessionNotFound);
    assert_eq!(refused.message, "agent not found: ghost");
    assert_eq!(house.keys().await, Vec::<String>::new());
}

#[tokio::test]
async fn words_that_are_no_key_are_refused() {
    let house = House::with(DEFAULTS).await;
    for given in [
        "",
        "  ",
        "current",
        "unknown",
        "agent:writer",
        "agent::main",
        "2b0f6bd1-6a5c-4c3f-9c55-0a5b2a6f7c11",
    ] {
        let refused = house.create(named(given)).await.unwrap_err();
        assert_eq!(
            refused.reason,
            Reason::InvalidArgument,
            "{given:?}: {refused}"
        );
        assert_eq!(refused.violations[0].field, "sessionKey", "{given:?}");
    }
}

#[tokio::test]
async fn every_fault_of_a_request_is_told_together() {
    let house = House::with(DEFAULTS).await;
    let request = CreateSessionRequest {
        label: Some("x".repeat(513)),
        delivery_context: Some(types::Route {
            channel: "discord".to_owned(),
            ..Default::default()
        }),
        spawned_by: Some("agent:x".to_owned()),
        ..named("")
    };
    let refused = house.create(request).await.unwrap_err();
    let fields: Vec<&str> = refused
        .violations
        .iter()
        .map(|one| one.field.as_str())
        .collect();
    assert_eq!(
        fields,
        ["sessionKey", "label", "deliveryContext.to", "spawnedBy"]
    );
}

#[tokio::test]
async fn the_configuration_says_which_new_sessions_are_sandboxed() {
    let config = r#"{ agents: { list: [
        { id: "off", default: true }, { id: "all", sandbox: { mode: "all" } },
        { id: "some", sandbox: { mode: "non-main" } },
    ] } }"#;
    let house = House::with(config).await;
    for (text, expected) in [
        ("agent:off:main", false),
        ("agent:off:x", false),
        ("agent:all:main", true),
        ("agent:all:x", true),
        ("agent:some:main", false),
        ("agent:some:x", true),
    ] {
        assert_eq!(house.made(text).await.sandboxed, expected, "{text}");
    }
    let asked = CreateSessionRequest {
        sandboxed: Some(true),
        ..named("agent:off:y")
    };
    assert!(house.create(asked).await.unwrap().session.sandboxed);
}

#[tokio::test]
async fn a_child_stores_its_depth_and_what_it_was_spawned_for() {
    let house = House::with(DEFAULTS).await;
    house.made("agent:writer:main").await;
    let child = |text: &str, by: &str, mode: Option<&str>| CreateSessionRequest {
        spawned_by: Some(by.to_owned()),
        spawn_mode: mode.map(str::to_owned),
        ..named(text)
    };
    // reg:V20: the parent's depth counts, not the key's segments.
    for (text, by, mode, depth) in [
        (
            "agent:writer:subagent:1",
            "agent:writer:main",
            Some(" RUN "),
            Some(1),
        ),
        (
            "agent:editor:subagent:2",
            "agent:writer:subagent:1",
            Some("session"),
            Some(2),
        ),
        (
            "agent:editor:acp:3",
            "agent:editor:subagent:2",
            None,
            Some(3),
        ),
        ("agent:editor:desk", "agent:editor:subagent:2", None, None),
    ] {
        let made = house.create(child(text, by, mode)).await.unwrap().session;
        let word = mode.map(|word| word.trim().to_lowercase());
        assert_eq!(
            made.spawn.mode.map(|mode| mode.as_str().to_owned()),
            word,
            "{text}"
        );
        assert_eq!(made.spawn.depth, depth, "{text}");
        assert_eq!(made.session_started_at, START, "{text}");
    }
    let other = child(
        "agent:writer:subagent:1",
        "agent:writer:main",
        Some("session"),
    );
    let refused = house.create(other).await.unwrap_err();
    assert!(refused.message.contains("another spawnMode"), "{refused}");
}

#[tokio::test]
async fn what_a_session_was_spawned_for_is_a_word_and_goes_with_its_spawner() {
    let house = House::with(DEFAULTS).await;
    let request = CreateSessionRequest {
        spawn_mode: Some("task".to_owned()),
        ..named("agent:writer:subagent:1")
    };
    let refused = house.create(request).await.unwrap_err();
    let told: Vec<&str> = refused
        .violations
        .iter()
        .map(|one| one.description.as_str())
        .collect();
    assert!(
        told[0].starts_with("spawnMode is given without spawnedBy"),
        "{refused}"
    );
    assert_eq!(told[1], "invalid spawnMode (use \"run\"|\"session\")");
}

#[tokio::test]
async fn the_spawning_session_may_be_called_main_d1() {
    let house = House::with(DEFAULTS).await;
    house.made("agent:writer:main").await;
    for (number, by) in ["main", "Agent:Writer:Main"].into_iter().enumerate() {
        let request = CreateSessionRequest {
            spawned_by: Some(by.to_owned()),
            ..named(&format!("agent:writer:subagent:{number}"))
        };
        let made = house.create(request).await.unwrap().session;
        assert_eq!(made.spawned_by, Some(key("agent:writer:main")), "{by}");
    }
}
