//! Listing sessions.

use confab_model::clock::Clock as _;
use confab_model::id::{SessionId, TenantId};
use confab_model::key::SessionKind;
use confab_model::session::Session;
use confab_proto::registry::v1::{CreateSessionRequest, ListSessionsRequest};
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::wire::enums::Numbered as _;

use crate::list::SessionPage;
use crate::store::RegistryStore as _;
use crate::testing::{DEFAULTS, House, OPEN_HOUSE, agent, key, named, operator};

fn keys(page: &SessionPage) -> Vec<&str> {
    page.sessions
        .iter()
        .map(|row| row.session.key.as_str())
        .collect()
}

async fn listed(house: &House, request: ListSessionsRequest) -> Vec<String> {
    let page = house.list(operator(), request).await.unwrap();
    keys(&page).into_iter().map(str::to_owned).collect()
}

fn all() -> ListSessionsRequest {
    ListSessionsRequest::default()
}

/// A house with sessions made one after the other, a minute apart.
async fn house_with(config: &str, sessions: &[&str]) -> House {
    let house = House::with(config).await;
    for text in sessions {
        house.made(text).await;
        house.clock.advance_millis(60_000);
    }
    house
}

#[tokio::test]
async fn the_last_to_move_comes_first() {
    let house = house_with(
        DEFAULTS,
        &["agent:writer:a", "agent:editor:b", "agent:writer:c"],
    )
    .await;
    assert_eq!(
        listed(&house, all()).await,
        ["agent:writer:c", "agent:editor:b", "agent:writer:a"]
    );
}

#[tokio::test]
async fn each_filter_narrows_the_list() {
    let house = house_with(
        DEFAULTS,
        &[
            "agent:writer:main",
            "agent:editor:discord:group:7",
            "agent:writer:cron:daily",
        ],
    )
    .await;
    house.labelled("agent:editor:desk", "Ärger am Tisch").await;

    let kinds = vec![SessionKind::Main.number(), SessionKind::Cron.number()];
    let request = ListSessionsRequest { kinds, ..all() };
    assert_eq!(
        listed(&house, request).await,
        ["agent:writer:cron:daily", "agent:writer:main"]
    );
    let request = ListSessionsRequest {
        agent_id: Some("Editor".to_owned()),
        ..all()
    };
    assert_eq!(
        listed(&house, request).await,
        ["agent:editor:desk", "agent:editor:discord:group:7"]
    );
    let request = ListSessionsRequest {
        label: Some("Ärger am Tisch".to_owned()),
        ..all()
    };
    assert_eq!(listed(&house, request).await, ["agent:editor:desk"]);
    let request = ListSessionsRequest {
        label: Some("ärger am tisch".to_owned()),
        ..all()
    };
    assert_eq!(listed(&house, request).await, Vec::<String>::new());
    let request = ListSessionsRequest {
        search: Some("ÄRGER".to_owned()),
        ..all()
    };
    assert_eq!(listed(&house, request).await, ["agent:editor:desk"]);
    let request = ListSessionsRequest {
        search: Some("%".to_owned()),
        ..all()
    };
    assert_eq!(listed(&house, request).await, Vec::<String>::new());
    let request = ListSessionsRequest {
        archived: Some(true),
        ..all()
    };
    assert_eq!(listed(&house, request).await, Vec::<String>::new());
}

#[tokio::test]
async fn active_minutes_count_back_from_now_and_include_their_end() {
    let house = house_with(DEFAULTS, &["agent:writer:a", "agent:writer:b"]).await;
    let within = |minutes| ListSessionsRequest {
        active_minutes: Some(minutes),
        ..all()
    };
    assert_eq!(listed(&house, within(1)).await, ["agent:writer:b"]);
    assert_eq!(
        listed(&house, within(2)).await,
        ["agent:writer:b", "agent:writer:a"]
    );
    assert_eq!(listed(&house, within(i32::MAX)).await.len(), 2);
}

#[tokio::test]
async fn a_walk_shows_every_row_once_and_ends() {
    let house = House::with(DEFAULTS).await;
    // All of one moment: the key alone tells them apart.
    for number in 0..7 {
        house.made(&format!("agent:writer:{number}")).await;
    }
    let (mut seen, mut token) = (Vec::new(), None);
    for expected in [3, 3, 1] {
        let request = ListSessionsRequest {
            limit: Some(3),
            page_token: token,
            ..all()
        };
        let page = house.list(operator(), request).await.unwrap();
        assert_eq!(page.sessions.len(), expected);
        seen.extend(keys(&page).into_iter().map(str::to_owned));
        token = page.next_page_token;
    }
    assert_eq!(token, None);
    assert_eq!(seen.len(), 7);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 7);
}

#[tokio::test]
async fn a_page_that_is_exactly_full_has_no_next_one() {
    let house = house_with(DEFAULTS, &["agent:writer:a", "agent:writer:b"]).await;
    let request = |limit| ListSessionsRequest {
        limit: Some(limit),
        ..all()
    };
    assert_eq!(
        house
            .list(operator(), request(2))
            .await
            .unwrap()
            .next_page_token,
        None
    );
    assert!(
        house
            .list(operator(), request(1))
            .await
            .unwrap()
            .next_page_token
            .is_some()
    );
}

#[tokio::test]
async fn a_limit_is_lowered_and_told_only_when_it_was_lowered() {
    let house = House::with(DEFAULTS).await;
    for number in 0..201 {
        house.made(&format!("agent:writer:{number}")).await;
    }
    for (limit, rows, applied) in [
        (None, 100, None),
        (Some(200), 200, None),
        (Some(201), 200, Some(200)),
    ] {
        let page = house
            .list(operator(), ListSessionsRequest { limit, ..all() })
            .await
            .unwrap();
        assert_eq!(
            (page.sessions.len(), page.limit_applied),
            (rows, applied),
            "{limit:?}"
        );
    }
}

#[tokio::test]
async fn the_session_of_one_run_of_a_job_is_never_listed() {
    let house = house_with(
        DEFAULTS,
        &[
            "agent:writer:cron:daily",
            "agent:writer:cron:daily:run:1",
            "agent:writer:internal-session-effects:1",
        ],
    )
    .await;
    assert_eq!(listed(&house, all()).await, ["agent:writer:cron:daily"]);
    let request = ListSessionsRequest {
        search: Some("run:1".to_owned()),
        ..all()
    };
    assert_eq!(listed(&house, request).await, Vec::<String>::new());
}

#[tokio::test]
async fn an_agent_sees_itself_by_default_and_is_told_that_the_list_is_narrowed() {
    let house = house_with(DEFAULTS, &["agent:writer:main", "agent:writer:other"]).await;
    let page = house.list(agent("agent:writer:main"), all()).await.unwrap();
    assert_eq!(keys(&page), ["agent:writer:main"]);
    let note = page.note.unwrap();
    assert_eq!(note.mode, "tree");
    assert!(note.warning.starts_with(
        "Session visibility is restricted (effective tools.sessions.visibility=tree). Results may \
         omit sessions outside the current scope."
    ));
    assert_eq!(house.list(operator(), all()).await.unwrap().note, None);
}

#[tokio::test]
async fn what_is_hidden_counts_for_no_limit_and_no_further_page() {
    let house = house_with(DEFAULTS, &["agent:writer:main"]).await;
    for number in 0..5 {
        house.made(&format!("agent:editor:{number}")).await;
    }
    let request = ListSessionsRequest {
        limit: Some(1),
        ..all()
    };
    let page = house
        .list(agent("agent:writer:main"), request)
        .await
        .unwrap();
    assert_eq!(
        (keys(&page), page.next_page_token.clone()),
        (vec!["agent:writer:main"], None)
    );
}

#[tokio::test]
async fn a_tree_holds_descendants_of_any_depth_and_agent() {
    let config = r#"{ agents: {
        list: [{ id: "writer", default: true }, { id: "editor" }],
        defaults: { subagents: { maxSpawnDepth: 3 } },
    } }"#;
    let house = house_with(config, &["agent:writer:main", "agent:writer:other"]).await;
    for (child, parent) in [
        ("agent:writer:subagent:1", "agent:writer:main"),
        ("agent:editor:subagent:2", "agent:writer:subagent:1"),
        ("agent:editor:subagent:3", "agent:writer:other"),
    ] {
        let request = CreateSessionRequest {
            spawned_by: Some(parent.to_owned()),
            ..named(child)
        };
        house.create(request).await.unwrap();
    }
    let page = house.list(agent("agent:writer:main"), all()).await.unwrap();
    let mut seen = keys(&page);
    seen.sort_unstable();
    assert_eq!(
        seen,
        [
            "agent:editor:subagent:2",
            "agent:writer:main",
            "agent:writer:subagent:1"
        ]
    );
    // A parent is not in its child's tree.
    let page = house
        .list(agent("agent:writer:subagent:1"), all())
        .await
        .unwrap();
    assert_eq!(page.sessions.len(), 2);
}

#[tokio::test]
async fn an_open_house_shows_everything_without_a_note() {
    let house = house_with(OPEN_HOUSE, &["agent:writer:main", "agent:editor:main"]).await;
    let page = house.list(agent("agent:writer:main"), all()).await.unwrap();
    assert_eq!((page.sessions.len(), page.note), (2, None));
}

#[tokio::test]
async fn an_allow_list_of_agents_narrows_what_all_means() {
    let config = r#"{
        agents: { list: [{ id: "writer", default: true }, { id: "editor" }, { id: "ops" }] },
        tools: { sessions: { visibility: "all" },
                 agentToAgent: { enabled: true, allow: ["writer", "ed*"] } },
    }"#;
    let house = house_with(config, &["agent:writer:x", "agent:editor:x", "agent:ops:x"]).await;
    house.made("agent:writer:main").await;
    house.made("agent:ops:main").await;
    let page = house.list(agent("agent:writer:main"), all()).await.unwrap();
    assert_eq!(
        keys(&page),
        ["agent:writer:main", "agent:editor:x", "agent:writer:x"]
    );
    let page = house.list(agent("agent:ops:main"), all()).await.unwrap();
    assert_eq!(keys(&page), ["agent:ops:main", "agent:ops:x"]);
}

#[tokio::test]
async fn a_caller_without_a_session_of_its_own_sees_nothing() {
    let house = house_with(OPEN_HOUSE, &["agent:writer:main"]).await;
    let page = house
        .list(agent("agent:writer:nowhere"), all())
        .await
        .unwrap();
    assert_eq!(page.sessions, Vec::new());
    // A main session is there as soon as it is used (D51).
    assert_eq!(
        house
            .list(agent("agent:editor:main"), all())
            .await
            .unwrap()
            .sessions
            .len(),
        1
    );
}

#[tokio::test]
async fn bad_fields_are_told_together_with_what_is_allowed() {
    let house = House::with(DEFAULTS).await;
    let request = ListSessionsRequest {
        kinds: vec![99],
        limit: Some(0),
        active_minutes: Some(-1),
        agent_id: Some("x".repeat(65)),
        page_token: Some("garbage".to_owned()),
        ..all()
    };
    let refused: RpcError = house.list(operator(), request).await.unwrap_err();
    assert_eq!(refused.reason, Reason::InvalidArgument);
    let fields: Vec<&str> = refused
        .violations
        .iter()
        .map(|one| one.field.as_str())
        .collect();
    assert_eq!(
        fields,
        ["kinds[0]", "limit", "activeMinutes", "agentId", "pageToken"]
    );
    assert!(refused.message.contains("SESSION_KIND_MAIN"), "{refused}");
}

/// Source: D53.
#[tokio::test]
async fn descendants_of_other_agents_are_shown_though_agents_are_closed_to_each_other() {
    for access in [
        "",
        r#", agentToAgent: { enabled: true, allow: ["writer"] }"#,
    ] {
        let config = format!(
            r#"{{
                agents: {{ list: [{{ id: "writer", default: true }}, {{ id: "editor" }}] }},
                tools: {{ sessions: {{ visibility: "all" }}{access} }},
            }}"#
        );
        let house = house_with(&config, &["agent:writer:main", "agent:editor:desk"]).await;
        let request = CreateSessionRequest {
            spawned_by: Some("agent:writer:main".to_owned()),
            ..named("agent:editor:subagent:1")
        };
        house.create(request).await.unwrap();
        let page = house.list(agent("agent:writer:main"), all()).await.unwrap();
        assert_eq!(
            keys(&page),
            ["agent:editor:subagent:1", "agent:writer:main"]
        );
        let parent = &page.sessions[1];
        assert_eq!(parent.children.len(), 1, "{access}");
    }
}

/// Source: B136.
#[tokio::test]
async fn a_session_of_an_agent_that_is_configured_no_longer_is_marked_and_counted() {
    let house = house_with(DEFAULTS, &["agent:writer:a", "agent:editor:b"]).await;
    let gone = Session::fresh(
        key("agent:gone:c"),
        SessionId::parse("c").unwrap(),
        house.clock.now(),
    );
    house
        .sessions
        .store
        .create(&TenantId::default(), gone)
        .await
        .unwrap();
    let page = house.list(operator(), all()).await.unwrap();
    assert_eq!(
        keys(&page),
        ["agent:gone:c", "agent:editor:b", "agent:writer:a"]
    );
    assert_eq!(page.faulty, 1);
    let fault = page.sessions[0].fault.as_deref().unwrap();
    assert_eq!(
        fault,
        "its agent gone is not configured: add it to agents.list, or delete the session"
    );
    assert_eq!(page.sessions[1].fault, None);
}

/// Source: B128.
#[tokio::test]
async fn a_limit_counts_what_passes_the_filters() {
    let house = House::with(DEFAULTS).await;
    for number in 0..5 {
        house.made(&format!("agent:writer:desk {number}")).await;
    }
    house.clock.advance_millis(60_000);
    for number in 0..20 {
        house.made(&format!("agent:writer:cron:{number}")).await;
    }
    let request = ListSessionsRequest {
        kinds: vec![SessionKind::Other.number()],
        limit: Some(5),
        ..all()
    };
    assert_eq!(listed(&house, request).await.len(), 5);
}
