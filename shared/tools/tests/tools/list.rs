//! `sessions_list`.

use confab_model::message::Role;
use confab_proto::registry::v1::{ListSessionsRequest, ListSessionsResponse, VisibilityNote};
use confab_proto::transcript::v1::{SessionTail, TailSessionsRequest, TailSessionsResponse};
use confab_proto::types::v1::{Session, SessionKind};
use confab_rpc::error::{Reason, RpcError};
use confab_tools::session_row;
use serde_json::{Value, json};

use crate::fakes::{Asked, Fakes, agent};
use crate::messages::{text, tool_call};
use crate::rows::{full, plain};

const WRITER: &str = "agent:writer:main";

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
async fn rows_are_those_of_the_command_line_as_the_caller_may_call_them() {
    let fakes = Fakes {
        sessions: Ok(page(vec![full(), plain("agent:editor:desk")])),
        ..Fakes::default()
    };
    let asker = agent(WRITER);
    let rows = [full(), plain("agent:editor:desk")]
        .map(|session| session_row(&session, asker.session()).unwrap());
    let result = invoke(&fakes, json!({})).await;
    assert_eq!(result["sessions"].to_string(), json!(rows).to_string());
}

#[tokio::test]
async fn faulty_rows_are_counted_only_where_there_are_any() {
    for (faulty, expected) in [(0, json!(null)), (2, json!(2))] {
        let fakes = Fakes {
            sessions: Ok(ListSessionsResponse {
                faulty_rows: faulty,
                ..page(Vec::new())
            }),
            ..Fakes::default()
        };
        assert_eq!(invoke(&fakes, json!({})).await["faultyRows"], expected);
    }
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
async fn a_caller_that_may_list_but_not_read_gets_its_rows_and_is_told_what_is_missing() {
    let sentence = "The tool sessions_history is not available: refused by the sandbox.";
    let mut fakes = with_tails();
    fakes.tails = Err(RpcError::new(Reason::ToolPolicy, sentence));
    let arguments = json!({
        "messageLimit": 2, "includeDerivedTitles": true, "includeLastMessage": true,
    });
    let result = invoke(&fakes, arguments).await;
    assert_eq!(result["count"], 2);
    for row in result["sessions"].as_array().unwrap() {
        assert_eq!(row["derivedTitle"], "7c9e6679 (2026-07-12)");
        assert_eq!(row.get("messages"), None);
        assert_eq!(row.get("lastMessagePreview"), None);
    }
    assert_eq!(
        result["enrichmentRefused"],
        format!(
            "Rows are without messages and previews, and titles do not come from messages. \
             {sentence}"
        )
    );
    // Whoever asks for nothing of the transcripts is not told either.
    assert_eq!(
        invoke(&fakes, json!({})).await.get("enrichmentRefused"),
        None
    );
}

#[tokio::test]
async fn a_failure_of_either_service_is_an_error_result() {
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
