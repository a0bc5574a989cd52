//! `sessions_list`.

use confab_model::message::Role;
use confab_proto::registry::v1::{ListSessionsRequest, ListSessionsResponse, VisibilityNote};
use confab_proto::transcript::v1::{SessionTail, TailSessionsRequest, TailSessionsResponse};
use confab_proto::types::v1::{ChatType, Origin, Route, SendPolicy, Session, SessionKind};
use confab_rpc::error::{Reason, RpcError};
use serde_json::{Value, json};

use crate::fakes::{Asked, Fakes, agent};
use crate::messages::{text, tool_call};

const WRITER: &str = "agent:writer:main";

fn at(seconds: i64) -> prost_types::Timestamp {
    prost_types::Timestamp {
        seconds,
        nanos: 5_000_000,
    }
}

/// A row with nothing but what every row has.
fn plain(key: &str) -> Session {
    Session {
        key: key.to_owned(),
        display_key: key.to_owned(),
        session_id: "7c9e6679-7425-40de-944b-e07fc1f90ae7".to_owned(),
        agent_id: "editor".to_owned(),
        kind: SessionKind::Other.into(),
        channel: "unknown".to_owned(),
        updated_at: Some(at(1_783_891_429)),
        ..Session::default()
    }
}

/// A row with every field.
fn full() -> Session {
    Session {
        display_key: "main".to_owned(),
        kind: SessionKind::Main.into(),
        channel: "discord".to_owned(),
        label: Some("Desk".to_owned()),
        display_name: Some("Desk".to_owned()),
        spawned_by: Some(WRITER.to_owned()),
        parent_session_key: Some("agent:editor:main".to_owned()),
        sandboxed: true,
        chat_type: ChatType::Group.into(),
        origin: Some(Origin {
            provider: Some("discord".to_owned()),
            account_id: Some("bot".to_owned()),
            thread_id: None,
        }),
        delivery_context: Some(Route {
            channel: "discord".to_owned(),
            to: "group:42".to_owned(),
            account_id: Some("bot".to_owned()),
            thread_id: Some("7".to_owned()),
        }),
        archived_at: Some(at(3)),
        pinned_at: Some(at(4)),
        state_version: 9,
        model: Some("ran-with".to_owned()),
        model_override: Some("own".to_owned()),
        context_tokens: Some(1000),
        total_tokens: Some(12),
        estimated_cost_usd: Some(0.5),
        status: Some("done".to_owned()),
        started_at: Some(at(5)),
        ended_at: Some(at(6)),
        runtime_ms: Some(1000),
        child_sessions: vec!["agent:editor:subagent:x".to_owned()],
        thinking_level: Some("high".to_owned()),
        fast_mode: Some("true".to_owned()),
        verbose_level: Some("full".to_owned()),
        reasoning_level: Some("on".to_owned()),
        elevated_level: Some("ask".to_owned()),
        response_usage: Some("tokens".to_owned()),
        system_sent: Some(true),
        aborted_last_run: Some(false),
        send_policy: SendPolicy::Deny.into(),
        transcript_path: Some("t.db#7c9e".to_owned()),
        ..plain(WRITER)
    }
}

fn page(sessions: Vec<Session>) -> ListSessionsResponse {
    ListSessionsResponse {
        sessions,
        ..ListSessionsResponse::default()
    }
}

async fn invoke(fakes: &Fakes, arguments: Value) -> Value {
    let toolbox = fakes.toolbox();
    let arguments = arguments.to_string();
    let answer = toolbox
        .invoke(&agent(WRITER), "sessions_list", &arguments, None)
        .await;
    assert!(!answer.is_error, "{}", answer.result);
    answer.result
}

#[tokio::test]
async fn a_row_without_anything_special_has_no_field_too_many() {
    let fakes = Fakes {
        sessions: Ok(page(vec![plain("agent:editor:desk")])),
        ..Fakes::default()
    };
    let result = invoke(&fakes, json!({})).await;
    let expected = json!({
        "count": 1,
        "sessions": [{
            "key": "agent:editor:desk",
            "agentId": "editor",
            "kind": "other",
            "channel": "unknown",
            "updatedAt": 1_783_891_429_005_i64,
            "archived": false,
            "pinned": false,
            "sessionId": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
        }],
        "hasMore": false,
    });
    assert_eq!(result.to_string(), expected.to_string());
    assert_eq!(
        fakes.requests(),
        [Asked::List(ListSessionsRequest::default())]
    );
}

#[tokio::test]
async fn a_row_shows_every_field_it_has_and_keys_as_the_caller_may_call_them() {
    let fakes = Fakes {
        sessions: Ok(page(vec![full()])),
        ..Fakes::default()
    };
    let result = invoke(&fakes, json!({})).await;
    let expected = json!({
        "key": "main",
        "agentId": "editor",
        "kind": "main",
        "channel": "discord",
        "origin": { "provider": "discord", "accountId": "bot" },
        "spawnedBy": "main",
        "label": "Desk",
        "displayName": "Desk",
        "parentSessionKey": "agent:editor:main",
        "deliveryContext": {
            "channel": "discord", "to": "group:42", "accountId": "bot", "threadId": "7",
        },
        "updatedAt": 1_783_891_429_005_i64,
        "archived": true,
        "archivedAt": 3005,
        "pinned": true,
        "pinnedAt": 4005,
        "sessionId": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
        "stateVersion": 9,
        "model": "own",
        "contextTokens": 1000,
        "totalTokens": 12,
        "estimatedCostUsd": 0.5,
        "status": "done",
        "startedAt": 5005,
        "endedAt": 6005,
        "runtimeMs": 1000,
        "childSessions": ["agent:editor:subagent:x"],
        "thinkingLevel": "high",
        "fastMode": true,
        "verboseLevel": "full",
        "reasoningLevel": "on",
        "elevatedLevel": "ask",
        "responseUsage": "tokens",
        "systemSent": true,
        "abortedLastRun": false,
        "sendPolicy": "deny",
        "lastChannel": "discord",
        "lastTo": "group:42",
        "lastAccountId": "bot",
        "transcriptPath": "t.db#7c9e",
    });
    assert_eq!(result["sessions"][0].to_string(), expected.to_string());
}

#[tokio::test]
async fn what_is_asked_reaches_the_registry_for_the_caller() {
    let fakes = Fakes {
        sessions: Ok(page(Vec::new())),
        ..Fakes::default()
    };
    let arguments = json!({
        "kinds": ["Main", "group"], "limit": "500", "active_minutes": 5, "label": "  Desk ",
        "agentId": "editor", "search": "notes", "archived": true, "pageToken": "next",
        "messageLimit": 3, "includeDerivedTitles": true,
    });
    invoke(&fakes, arguments).await;
    let request = ListSessionsRequest {
        kinds: vec![SessionKind::Main.into(), SessionKind::Group.into()],
        limit: Some(500),
        active_minutes: Some(5),
        label: Some("Desk".to_owned()),
        agent_id: Some("editor".to_owned()),
        search: Some("notes".to_owned()),
        archived: Some(true),
        page_token: Some("next".to_owned()),
    };
    // No row, no look into any transcript.
    assert_eq!(fakes.asked(), [(agent(WRITER), Asked::List(request))]);
}

#[tokio::test]
async fn paging_lowered_limits_and_visibility_are_told() {
    let sessions = ListSessionsResponse {
        has_more: true,
        next_page_token: Some("next".to_owned()),
        limit_applied: Some(200),
        visibility: Some(VisibilityNote {
            mode: "self".to_owned(),
            restricted: true,
            warning: "Session visibility is restricted.".to_owned(),
        }),
        ..page(Vec::new())
    };
    let fakes = Fakes {
        sessions: Ok(sessions),
        ..Fakes::default()
    };
    let result = invoke(&fakes, json!({ "limit": 500, "messageLimit": 21 })).await;
    let expected = json!({
        "count": 0,
        "sessions": [],
        "hasMore": true,
        "nextPageToken": "next",
        "limitApplied": 200,
        "visibility": {
            "mode": "self", "restricted": true, "warning": "Session visibility is restricted.",
        },
        "messageLimitApplied": 20,
    });
    assert_eq!(result, expected);
}

/// Two rows; the second has a transcript whose newest messages have no text.
fn with_tails() -> Fakes {
    let rows = vec![plain("agent:editor:silent"), plain("agent:editor:desk")];
    let tail = SessionTail {
        session_key: "agent:editor:desk".to_owned(),
        messages: vec![
            text(1, Role::User, "please review"),
            text(2, Role::Assistant, "reviewed"),
            text(3, Role::ToolResult, "found"),
            tool_call(4),
        ],
        first_user_text: Some("please review".to_owned()),
    };
    Fakes {
        sessions: Ok(page(rows)),
        tails: Ok(TailSessionsResponse { tails: vec![tail] }),
        ..Fakes::default()
    }
}

#[tokio::test]
async fn messages_titles_and_previews_come_from_one_batch_over_the_rows_shown() {
    let fakes = with_tails();
    let arguments = json!({
        "messageLimit": 2, "includeDerivedTitles": true, "includeLastMessage": true,
    });
    let result = invoke(&fakes, arguments).await;
    let (silent, desk) = (&result["sessions"][0], &result["sessions"][1]);
    assert_eq!(silent["derivedTitle"], "7c9e6679 (2026-07-12)");
    assert_eq!(silent.get("lastMessagePreview"), None);
    assert_eq!(silent["messages"], json!([]));
    assert_eq!(desk["derivedTitle"], "please review");
    assert_eq!(desk["lastMessagePreview"], "reviewed");
    let expected = json!([
        {
            "role": "assistant", "content": [{ "type": "text", "text": "reviewed" }],
            "timestamp": 2000, "seq": 2, "id": "m-2",
        },
        {
            "role": "assistant",
            "content": [{
                "type": "toolCall", "id": "call-1", "name": "look",
                "arguments": { "a": [true], "b": 1 },
            }],
            "timestamp": 4000, "seq": 4, "id": "m-4",
        },
    ]);
    assert_eq!(desk["messages"].to_string(), expected.to_string());
    let request = TailSessionsRequest {
        session_keys: vec![
            "agent:editor:silent".to_owned(),
            "agent:editor:desk".to_owned(),
        ],
        limit: 20,
        include_first_user_message: true,
    };
    assert_eq!(fakes.asked()[1..], [(agent(WRITER), Asked::Tails(request))]);
}

#[tokio::test]
async fn only_what_was_asked_for_is_read_and_shown() {
    let cases = [
        (json!({ "messageLimit": 1 }), 1, false, ["messages"]),
        (
            json!({ "includeDerivedTitles": true }),
            1,
            true,
            ["derivedTitle"],
        ),
        (
            json!({ "includeLastMessage": true }),
            20,
            false,
            ["lastMessagePreview"],
        ),
    ];
    for (arguments, limit, first, shown) in cases {
        let fakes = with_tails();
        let result = invoke(&fakes, arguments).await;
        let row = result["sessions"][1].as_object().unwrap();
        let extra: Vec<&str> = ["messages", "derivedTitle", "lastMessagePreview"]
            .into_iter()
            .filter(|field| row.contains_key(*field))
            .collect();
        assert_eq!(extra, shown);
        let [_, Asked::Tails(request)] = &fakes.requests()[..] else {
            panic!("two requests")
        };
        assert_eq!(
            (request.limit, request.include_first_user_message),
            (limit, first)
        );
    }
}

#[tokio::test]
async fn the_first_hundred_rows_have_titles() {
    let rows = (0..101)
        .map(|place| plain(&format!("agent:editor:desk-{place}")))
        .collect();
    let fakes = Fakes {
        sessions: Ok(page(rows)),
        tails: Ok(TailSessionsResponse::default()),
        ..Fakes::default()
    };
    let result = invoke(&fakes, json!({ "includeDerivedTitles": true })).await;
    let titled: Vec<bool> = result["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row.get("derivedTitle").is_some())
        .collect();
    assert_eq!(titled.iter().filter(|titled| **titled).count(), 100);
    assert_eq!(titled.last(), Some(&false));
}

#[tokio::test]
async fn a_refusal_of_either_service_is_an_error_result() {
    let stale = RpcError::new(Reason::Unavailable, "the service is stopping");
    let mut without_tails = with_tails();
    without_tails.tails = Err(stale.clone());
    let without_rows = Fakes {
        sessions: Err(stale),
        ..Fakes::default()
    };
    for fakes in [without_rows, without_tails] {
        let toolbox = fakes.toolbox();
        let arguments = r#"{"messageLimit":1}"#;
        let answer = toolbox
            .invoke(&agent(WRITER), "sessions_list", arguments, None)
            .await;
        assert!(answer.is_error);
        assert_eq!(
            answer.result,
            json!({
                "status": "error", "error": "the service is stopping", "reason": "UNAVAILABLE",
            })
        );
    }
}
