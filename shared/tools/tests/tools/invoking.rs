//! What holds for every tool, and the tools as a service.

use std::time::Duration;

use confab_model::id::TenantId;
use confab_proto::registry::v1::{GetToolPolicyResponse, ToolVerdict};
use confab_proto::runner::v1::{SendResponse, SendStatus};
use confab_proto::tools::v1::{InvokeToolRequest, ListToolsRequest};
use confab_rpc::caller::Caller;
use confab_rpc::error::{Reason, RpcError};
use serde_json::{Value, json};

use crate::fakes::{Asked, Fakes, agent};

const WRITER: &str = "agent:writer:main";

/// The error of a call that no service may see anything of.
async fn refused(name: &str, arguments: &str, key: Option<&str>) -> String {
    let fakes = Fakes::default();
    let answer = fakes
        .toolbox()
        .invoke(&agent(WRITER), name, arguments, key)
        .await;
    assert!(answer.is_error);
    assert_eq!(fakes.requests(), []);
    let told = |field| {
        answer
            .result
            .get(field)
            .and_then(Value::as_str)
            .expect("a text")
    };
    assert_eq!(
        (told("status"), told("reason")),
        ("error", "INVALID_ARGUMENT")
    );
    told("error").to_owned()
}

#[tokio::test]
async fn an_unknown_tool_is_told_with_the_nearest_and_the_list() {
    let list = "allowed: sessions_list, sessions_history, sessions_search, sessions_send, \
                session_status, agents_list";
    assert_eq!(
        refused("session_list", "{}", None).await,
        format!("unknown tool \"session_list\"; did you mean sessions_list? {list}")
    );
    assert_eq!(
        refused("sessions_status", "{}", None).await,
        format!("unknown tool \"sessions_status\"; did you mean session_status? {list}")
    );
    assert_eq!(
        refused("rm", "{}", None).await,
        format!("unknown tool \"rm\"; {list}")
    );
}

#[tokio::test]
async fn arguments_that_are_no_json_object_are_refused() {
    let too_long = format!("{{\"search\":\"{}\"}}", "x".repeat(2 * 1024 * 1024));
    let cases = [
        (
            "{",
            "arguments are not JSON: EOF while parsing an object at line 1 column 1",
        ),
        ("[]", "arguments must be a JSON object; given: an array"),
        ("\"{}\"", "arguments must be a JSON object; given: a string"),
        ("null", "arguments must be a JSON object; given: null"),
        (
            too_long.as_str(),
            "arguments are too long: 2097165 bytes; allowed: at most 2097152",
        ),
    ];
    for (arguments, beginning) in cases {
        let error = refused("sessions_list", arguments, None).await;
        assert!(error.starts_with(beginning), "{error}");
    }
}

#[tokio::test]
async fn all_faults_of_the_arguments_are_told_in_one_answer() {
    let fakes = Fakes::default();
    let arguments = r#"{"sessionKey":"main","message":5,"timeoutSeconds":-1,"mesage":"hi"}"#;
    let toolbox = fakes.toolbox();
    let answer = toolbox
        .invoke(&agent(WRITER), "sessions_send", arguments, None)
        .await;
    let unknown = "unknown field \"mesage\"; did you mean message? allowed: sessionKey, label, \
                   agentId, message, timeoutSeconds, watch, announce, idempotencyKey";
    let violations = json!([
        { "field": "message", "description": "message must be a string; given: 5" },
        {
            "field": "timeoutSeconds",
            "description": "timeoutSeconds must be an integer from 0 to 3600; given: -1",
        },
        { "field": "mesage", "description": unknown },
    ]);
    assert_eq!(answer.result["violations"], violations);
    let error = answer.result["error"].as_str().unwrap();
    for violation in violations.as_array().unwrap() {
        assert!(
            error.contains(violation["description"].as_str().unwrap()),
            "{error}"
        );
    }
    assert_eq!(fakes.requests(), []);
}

#[tokio::test]
async fn an_unknown_kind_is_refused_with_those_there_are() {
    assert_eq!(
        refused("sessions_list", r#"{"kinds":["main","dm"]}"#, None).await,
        "kinds must hold only main, group, cron, hook, node, other; given: \"dm\""
    );
}

#[tokio::test]
async fn a_key_of_the_call_that_is_too_long_is_refused() {
    let arguments = r#"{"agentId":"editor","message":"hi"}"#;
    assert_eq!(
        refused("sessions_send", arguments, Some(&"k".repeat(257))).await,
        "idempotencyKey is too long: 257 bytes; allowed: 1 to 256"
    );
}

#[tokio::test]
async fn when_waiting_helps_the_answer_says_how_long() {
    let limit = RpcError::new(Reason::Limit, "the queue is full");
    let limit = limit.retry_after(Duration::from_millis(1500));
    let fakes = Fakes {
        sessions: Err(limit),
        ..Fakes::default()
    };
    let answer = fakes
        .toolbox()
        .invoke(&agent(WRITER), "sessions_list", "", None)
        .await;
    assert_eq!(
        answer.result,
        json!({
            "status": "error", "error": "the queue is full", "reason": "LIMIT",
            "retryAfterMs": 1500,
        })
    );
}

/// The policy that leaves a session these of all session tools.
fn policy(allowed: &[&str]) -> GetToolPolicyResponse {
    let tools = [
        "sessions_list",
        "sessions_history",
        "sessions_search",
        "sessions_send",
        "sessions_spawn",
        "session_status",
        "agents_list",
    ];
    let tools = tools.map(|tool| ToolVerdict {
        tool: tool.to_owned(),
        allowed: allowed.contains(&tool),
        reason: "The test says so.".to_owned(),
    });
    GetToolPolicyResponse {
        tools: tools.into(),
    }
}

#[tokio::test]
async fn the_service_lists_the_tools_that_the_caller_has_with_their_schemas() {
    let allowed = [
        "session_status",
        "sessions_spawn",
        "sessions_history",
        "sessions_list",
    ];
    let fakes = Fakes {
        policy: Ok(policy(&allowed)),
        ..Fakes::default()
    };
    let answer = fakes.served(WRITER).list_tools(ListToolsRequest {}).await;
    let tools = answer.unwrap().into_inner().tools;
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        ["sessions_list", "sessions_history", "session_status"]
    );
    let specs = fakes.toolbox().list(&agent(WRITER)).await.unwrap();
    for (tool, spec) in tools.iter().zip(specs) {
        assert!(!tool.description.is_empty());
        let schema: Value = serde_json::from_str(&tool.input_schema_json).unwrap();
        assert_eq!(schema, spec.input_schema);
    }
    let asked = (agent(WRITER), Asked::Policy);
    assert_eq!(fakes.asked(), [asked.clone(), asked]);
}

#[tokio::test]
async fn an_operator_has_all_tools_and_nobody_is_asked() {
    let fakes = Fakes::default();
    let operator = Caller::operator(TenantId::default());
    let specs = fakes.toolbox().list(&operator).await.unwrap();
    let names: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
    assert_eq!(
        names,
        [
            "sessions_list",
            "sessions_history",
            "sessions_search",
            "sessions_send",
            "session_status",
            "agents_list",
        ]
    );
    assert_eq!(fakes.requests(), []);
}

#[tokio::test]
async fn a_tool_that_the_caller_lacks_is_forbidden_by_the_first_service_it_asks() {
    let refusal = RpcError::new(Reason::ToolPolicy, "The tool is not available.");
    let fakes = Fakes {
        sessions: Err(refusal.clone()),
        history: Err(refusal.clone()),
        found: Err(refusal.clone()),
        sent: Err(refusal.clone()),
        status: Err(refusal.clone()),
        agents: Err(refusal),
        ..Fakes::default()
    };
    let calls = [
        ("sessions_list", "{}"),
        ("sessions_history", r#"{"sessionKey":"main"}"#),
        ("sessions_search", r#"{"query":"hi"}"#),
        ("sessions_send", r#"{"agentId":"editor","message":"hi"}"#),
        ("session_status", "{}"),
        ("session_status", r#"{"model":"m"}"#),
        ("agents_list", "{}"),
    ];
    let toolbox = fakes.toolbox();
    for (name, arguments) in calls {
        let answer = toolbox.invoke(&agent(WRITER), name, arguments, None).await;
        assert!(answer.is_error, "{name}");
        assert_eq!(answer.result["status"], "forbidden", "{name}");
        assert_eq!(answer.result["reason"], "TOOL_POLICY", "{name}");
        assert_eq!(
            answer.result["error"], "The tool is not available.",
            "{name}"
        );
    }
    assert_eq!(fakes.requests().len(), calls.len());
}

#[tokio::test]
async fn the_service_runs_a_tool_for_whoever_calls_it() {
    let sent = SendResponse {
        status: SendStatus::NoReply.into(),
        ..SendResponse::default()
    };
    let fakes = Fakes {
        sent: Ok(sent),
        ..Fakes::default()
    };
    let request = InvokeToolRequest {
        name: "sessions_send".to_owned(),
        arguments_json: r#"{"agentId":"editor","message":"hi"}"#.to_owned(),
        idempotency_key: Some("k".to_owned()),
    };
    let answer = fakes
        .served(WRITER)
        .invoke_tool(request)
        .await
        .unwrap()
        .into_inner();
    assert!(!answer.is_error);
    let result: Value = serde_json::from_str(&answer.result_json).unwrap();
    assert_eq!(result["status"], "no_reply");
    let asked = fakes.asked();
    assert_eq!(asked[0].0.session(), agent(WRITER).session());
}

#[tokio::test]
async fn the_service_answers_a_refused_tool_with_a_result_and_not_with_a_status() {
    let request = InvokeToolRequest {
        name: "nothing".to_owned(),
        ..InvokeToolRequest::default()
    };
    let answer = Fakes::default()
        .served(WRITER)
        .invoke_tool(request)
        .await
        .unwrap()
        .into_inner();
    assert!(answer.is_error);
    assert!(answer.result_json.contains("unknown tool"));
}
