//! `sessions_history`.

use confab_model::message::{Block, NewMessage, Role};
use confab_proto::transcript::v1::{
    GetHistoryRequest, GetHistoryResponse, HistoryPaging, ShownMessage,
};
use confab_proto::types::v1::{Message, SessionTarget};
use confab_rpc::error::{Reason, RpcError};
use serde_json::{Value, json};

use crate::fakes::{Asked, Fakes, agent};
use crate::messages::{stored, text};

const WRITER: &str = "agent:writer:main";

fn shown(message: Message, placeholder: bool) -> ShownMessage {
    ShownMessage {
        message: Some(message),
        placeholder,
    }
}

fn page(messages: Vec<ShownMessage>) -> GetHistoryResponse {
    GetHistoryResponse {
        session_key: WRITER.to_owned(),
        display_key: "main".to_owned(),
        session_id: "s-1".to_owned(),
        messages,
        ..GetHistoryResponse::default()
    }
}

async fn invoke(fakes: &Fakes, arguments: &Value) -> Value {
    let toolbox = fakes.toolbox();
    let arguments = arguments.to_string();
    toolbox
        .invoke(&agent(WRITER), "sessions_history", &arguments, None)
        .await
        .result
}

#[tokio::test]
async fn a_tail_has_the_messages_and_the_flags_and_nothing_of_paging() {
    let picture = Block::Image {
        mime_type: "image/png".to_owned(),
        reference: "blob:1".to_owned(),
        bytes: 9,
    };
    let seen = NewMessage {
        blocks: vec![picture],
        ..NewMessage::text("k", Role::Assistant, "")
    };
    let history = GetHistoryResponse {
        truncated: true,
        content_truncated: true,
        limit_applied: Some(1000),
        ..page(vec![
            shown(text(1, Role::User, "häh?"), false),
            shown(stored(2, seen), false),
        ])
    };
    let fakes = Fakes {
        history: Ok(history),
        ..Fakes::default()
    };
    let result = invoke(&fakes, &json!({ "sessionKey": "main", "limit": 2000 })).await;
    let messages = json!([
        {
            "role": "user", "content": [{ "type": "text", "text": "häh?" }],
            "timestamp": 1000, "seq": 1, "id": "m-1",
        },
        {
            "role": "assistant",
            "content": [
                { "type": "image", "omitted": true, "bytes": 9, "mimeType": "image/png" },
            ],
            "timestamp": 2000, "seq": 2, "id": "m-2",
        },
    ]);
    let expected = json!({
        "sessionKey": "main",
        "sessionId": "s-1",
        "messages": messages,
        "truncated": true,
        "droppedMessages": false,
        "contentTruncated": true,
        "contentRedacted": false,
        "bytes": messages.to_string().len(),
        "limitApplied": 1000,
    });
    assert_eq!(result.to_string(), expected.to_string());
}

#[tokio::test]
async fn a_message_too_large_to_show_keeps_its_place_only() {
    let history = GetHistoryResponse {
        truncated: true,
        dropped_messages: true,
        content_redacted: true,
        ..page(vec![shown(text(7, Role::User, "far too large"), true)])
    };
    let fakes = Fakes {
        history: Ok(history),
        ..Fakes::default()
    };
    let result = invoke(&fakes, &json!({ "sessionKey": "main" })).await;
    assert_eq!(
        result["messages"],
        json!([{
            "role": "assistant", "content": "[sessions_history omitted: message too large]",
            "timestamp": 7000, "seq": 7, "id": "m-7",
        }])
    );
    assert_eq!(result["droppedMessages"], true);
    assert_eq!(result["contentRedacted"], true);
}

#[tokio::test]
async fn a_page_of_a_walk_tells_where_it_stands_and_the_last_one_has_no_next() {
    for next in [Some(3), None] {
        let history = GetHistoryResponse {
            paging: Some(HistoryPaging {
                offset: 2,
                total_messages: 9,
                has_more: next.is_some(),
                next_offset: next,
                snapshot: 12,
            }),
            ..page(Vec::new())
        };
        let fakes = Fakes {
            history: Ok(history),
            ..Fakes::default()
        };
        let arguments = json!({
            "session_key": "agent:editor:main", "limit": "1", "offset": 2, "includeTools": true,
            "snapshot": 12,
        });
        let result = invoke(&fakes, &arguments).await;
        assert_eq!(result["bytes"], 2);
        assert_eq!(result["offset"], 2);
        assert_eq!(result["totalMessages"], 9);
        assert_eq!(result["hasMore"], next.is_some());
        assert_eq!(result.get("nextOffset").and_then(Value::as_i64), next);
        assert_eq!(result["snapshot"], 12);
        let request = GetHistoryRequest {
            target: Some(SessionTarget {
                session_key: Some("agent:editor:main".to_owned()),
                ..SessionTarget::default()
            }),
            limit: Some(1),
            offset: Some(2),
            include_tools: true,
            snapshot: Some(12),
            ..GetHistoryRequest::default()
        };
        assert_eq!(fakes.asked(), [(agent(WRITER), Asked::History(request))]);
    }
}

#[tokio::test]
async fn a_refusal_is_forbidden_and_anything_else_an_error() {
    let cases = [
        (Reason::Visibility, "forbidden"),
        (Reason::ToolPolicy, "forbidden"),
        (Reason::SessionNotFound, "error"),
        (Reason::Ambiguous, "error"),
    ];
    for (reason, status) in cases {
        let history = Err(RpcError::new(reason, "the sentence"));
        let fakes = Fakes {
            history,
            ..Fakes::default()
        };
        let toolbox = fakes.toolbox();
        let arguments = r#"{"sessionKey":"agent:editor:main"}"#;
        let answer = toolbox
            .invoke(&agent(WRITER), "sessions_history", arguments, None)
            .await;
        assert!(answer.is_error);
        assert_eq!(
            answer.result,
            json!({ "status": status, "error": "the sentence", "reason": reason.as_str() })
        );
    }
}
