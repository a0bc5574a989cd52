//! `sessions_search`.

use confab_model::id::TenantId;
use confab_model::message::Role;
use confab_proto::transcript::v1::{SearchMatch, SearchMessagesRequest, SearchMessagesResponse};
use confab_proto::types::v1::SessionTarget;
use confab_rpc::caller::Caller;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::wire::enums::Numbered as _;
use serde_json::{Value, json};

use crate::fakes::{Asked, Fakes, agent};

const WRITER: &str = "agent:writer:main";

fn hit(session_key: &str, seq: i64) -> SearchMatch {
    SearchMatch {
        session_key: session_key.to_owned(),
        session_id: "s-1".to_owned(),
        seq,
        role: Role::Assistant.number(),
        excerpt: "…the plan…".to_owned(),
        said_at: Some(prost_types::Timestamp {
            seconds: 1_700_000_000,
            nanos: 5_000_000,
        }),
    }
}

fn finding(matches: Vec<SearchMatch>) -> Fakes {
    Fakes {
        found: Ok(SearchMessagesResponse {
            matches,
            limit_applied: None,
        }),
        ..Fakes::default()
    }
}

async fn invoke(fakes: &Fakes, caller: &Caller, arguments: &Value) -> Value {
    let toolbox = fakes.toolbox();
    let arguments = arguments.to_string();
    let answer = toolbox.invoke(caller, "sessions_search", &arguments, None);
    answer.await.result
}

#[tokio::test]
async fn hits_are_counted_and_shown_in_their_order_with_what_opens_them_d1_d77() {
    let fakes = finding(vec![hit(WRITER, 7), hit("agent:editor:main", 2)]);
    let asked = json!({ "query": "plan" });
    let shown = |key: &str, seq: i64| {
        json!({
            "sessionKey": key, "sessionId": "s-1", "seq": seq, "role": "assistant",
            "excerpt": "…the plan…", "timestamp": 1_700_000_000_005_i64,
        })
    };
    let editor = "agent:editor:main";
    let operator = Caller::operator(TenantId::default());
    for (caller, first) in [(agent(WRITER), "main"), (operator, WRITER)] {
        assert_eq!(
            invoke(&fakes, &caller, &asked).await,
            json!({ "count": 2, "matches": [shown(first, 7), shown(editor, 2)] })
        );
    }
}

#[tokio::test]
async fn nothing_found_is_an_empty_list_and_a_lowered_limit_is_told() {
    let fakes = Fakes {
        found: Ok(SearchMessagesResponse {
            matches: Vec::new(),
            limit_applied: Some(100),
        }),
        ..Fakes::default()
    };
    let asked = json!({ "query": "plan", "limit": 500 });
    assert_eq!(
        invoke(&fakes, &agent(WRITER), &asked).await,
        json!({ "count": 0, "matches": [], "limitApplied": 100 })
    );
}

#[tokio::test]
async fn arguments_reach_the_transcript_as_they_are_given() {
    let bare = SearchMessagesRequest {
        query: "plan".to_owned(),
        ..SearchMessagesRequest::default()
    };
    let main = SessionTarget {
        session_key: Some("main".to_owned()),
        ..SessionTarget::default()
    };
    let cases = [
        (json!({ "query": "plan" }), bare.clone()),
        (
            json!({ "query": "plan", "limit": null, "sessionKey": "", "agentId": " " }),
            bare.clone(),
        ),
        (
            json!({ "query": "plan", "limit": "7", "session_key": "main", "agent_id": "ops" }),
            SearchMessagesRequest {
                limit: Some(7),
                target: Some(main),
                agent_id: Some("ops".to_owned()),
                ..bare.clone()
            },
        ),
        (
            json!({ "query": "plan", "limit": 9_000_000_000_i64 }),
            SearchMessagesRequest {
                limit: Some(i32::MAX),
                ..bare
            },
        ),
        (
            json!({ "query": " \"the plan\" AND dep* " }),
            SearchMessagesRequest {
                query: " \"the plan\" AND dep* ".to_owned(),
                ..SearchMessagesRequest::default()
            },
        ),
    ];
    for (arguments, request) in cases {
        let fakes = finding(Vec::new());
        invoke(&fakes, &agent(WRITER), &arguments).await;
        assert_eq!(
            fakes.asked(),
            [(agent(WRITER), Asked::Search(request))],
            "{arguments}"
        );
    }
}

#[tokio::test]
async fn faulty_arguments_are_refused_and_nobody_is_asked() {
    let long = "a".repeat(513);
    let cases = [
        (json!({}), "query required: a string that is not blank"),
        (
            json!({ "query": " " }),
            "query required: a string that is not blank",
        ),
        (json!({ "query": 5 }), "query must be a string; given: 5"),
        (
            json!({ "query": &long }),
            "query is too long: 513 bytes; allowed: 1 to 512",
        ),
        (
            json!({ "query": "a", "limit": 0 }),
            "limit must be a positive integer; given: 0",
        ),
        (
            json!({ "query": "a", "sessionKey": &long }),
            "sessionKey is too long: 513 bytes; allowed: 1 to 512",
        ),
        (
            json!({ "query": "a", "agentId": "ä".repeat(65) }),
            "agentId is too long: 65 characters; allowed: 1 to 64",
        ),
        (
            json!({ "query": "a", "limits": 5 }),
            "unknown field \"limits\"; did you mean limit? allowed: query, limit, sessionKey, \
             agentId",
        ),
        (
            json!({ "limit": 1.5, "agentId": [] }),
            "query required: a string that is not blank; limit must be a positive integer; given: \
             1.5; agentId must be a string; given: an array",
        ),
    ];
    for (arguments, error) in cases {
        let fakes = Fakes::default();
        let result = invoke(&fakes, &agent(WRITER), &arguments).await;
        assert_eq!(result["error"], error, "{arguments}");
        assert_eq!(
            (&result["status"], &result["reason"]),
            (&json!("error"), &json!("INVALID_ARGUMENT"))
        );
        assert_eq!(fakes.requests(), []);
    }
}

#[tokio::test]
async fn refusals_are_forbidden_and_failures_are_errors() {
    let cases = [
        (Reason::Visibility, "forbidden"),
        (Reason::ToolPolicy, "forbidden"),
        (Reason::SessionNotFound, "error"),
        (Reason::Unavailable, "error"),
    ];
    for (reason, status) in cases {
        let fakes = Fakes {
            found: Err(RpcError::new(reason, "the sentence")),
            ..Fakes::default()
        };
        let result = invoke(&fakes, &agent(WRITER), &json!({ "query": "plan" })).await;
        assert_eq!(
            result,
            json!({ "status": status, "error": "the sentence", "reason": reason.as_str() })
        );
    }
}

#[tokio::test]
async fn an_answer_with_a_role_that_nobody_knows_is_a_fault_of_the_service() {
    let strange = SearchMatch {
        role: 99,
        ..hit(WRITER, 1)
    };
    let fakes = finding(vec![strange]);
    let result = invoke(&fakes, &agent(WRITER), &json!({ "query": "plan" })).await;
    assert_eq!(result["status"], "error");
    assert_eq!(result["reason"], "INTERNAL");
}
