//! `sessions_send`.

use confab_proto::runner::v1::{AnnounceChoice, SendRequest, SendResponse, SendStatus};
use confab_proto::types::v1::{DeliveryMode, DeliveryStatus, DeliverySummary, SessionTarget};
use confab_rpc::error::{Reason, RpcError};
use confab_tools::Invocation;
use serde_json::{Value, json};

use crate::fakes::{Asked, Fakes, agent};

const WRITER: &str = "agent:writer:main";

fn sent(status: SendStatus) -> SendResponse {
    SendResponse {
        run_id: "run-1".to_owned(),
        flow_id: "flow-1".to_owned(),
        status: status.into(),
        session_key: "agent:editor:main".to_owned(),
        display_key: "agent:editor:main".to_owned(),
        delivery: Some(DeliverySummary {
            status: DeliveryStatus::Pending.into(),
            mode: DeliveryMode::Announce.into(),
        }),
        ..SendResponse::default()
    }
}

async fn invoke(fakes: &Fakes, arguments: &Value, key: Option<&str>) -> Invocation {
    let toolbox = fakes.toolbox();
    toolbox
        .invoke(&agent(WRITER), "sessions_send", &arguments.to_string(), key)
        .await
}

#[tokio::test]
async fn an_answer_has_the_reply_and_what_became_of_the_announcement() {
    let answer = SendResponse {
        reply: Some("looks good".to_owned()),
        watched: Some(true),
        ..sent(SendStatus::Ok)
    };
    let fakes = Fakes {
        sent: Ok(answer),
        ..Fakes::default()
    };
    let arguments = json!({ "agentId": "editor", "message": "please review", "watch": true });
    let result = invoke(&fakes, &arguments, None).await;
    assert!(!result.is_error);
    let expected = json!({
        "runId": "run-1",
        "status": "ok",
        "sessionKey": "agent:editor:main",
        "reply": "looks good",
        "delivery": { "status": "pending", "mode": "announce" },
        "watched": true,
    });
    assert_eq!(result.result.to_string(), expected.to_string());
}

#[tokio::test]
async fn every_status_has_its_word_and_only_a_failed_run_is_an_error() {
    let cases = [
        (SendStatus::Accepted, "accepted", false),
        (SendStatus::Ok, "ok", false),
        (SendStatus::NoReply, "no_reply", false),
        (SendStatus::Timeout, "timeout", false),
        (SendStatus::Error, "error", true),
    ];
    for (status, word, is_error) in cases {
        let answer = SendResponse {
            error: Some("why".to_owned()),
            ..sent(status)
        };
        let fakes = Fakes {
            sent: Ok(answer),
            ..Fakes::default()
        };
        let result = invoke(&fakes, &json!({ "label": "Desk", "message": "hi" }), None).await;
        assert_eq!(
            (&result.result["status"], result.is_error),
            (&json!(word), is_error)
        );
        assert_eq!(result.result["runId"], "run-1");
        assert_eq!(result.result["error"], "why");
    }
}

#[tokio::test]
async fn what_is_asked_reaches_the_runner_for_the_caller() {
    let fakes = Fakes {
        sent: Ok(sent(SendStatus::Accepted)),
        ..Fakes::default()
    };
    let arguments = json!({
        "sessionKey": "current", "label": " ", "agentId": "editor", "message": "  as written\n",
        "timeout_seconds": "0", "announce": "none",
    });
    invoke(&fakes, &arguments, Some("call-key")).await;
    let request = SendRequest {
        target: Some(SessionTarget {
            session_key: Some("current".to_owned()),
            label: None,
            agent_id: Some("editor".to_owned()),
        }),
        message: "  as written\n".to_owned(),
        timeout_seconds: Some(0),
        watch: false,
        announce: AnnounceChoice::None.into(),
        idempotency_key: Some("call-key".to_owned()),
    };
    assert_eq!(fakes.asked(), [(agent(WRITER), Asked::Send(request))]);
}

#[tokio::test]
async fn a_key_among_the_arguments_outranks_that_of_the_call() {
    let cases = [
        (json!("own"), Some("call"), Some("own")),
        (json!(""), Some("call"), Some("call")),
        (json!("own"), None, Some("own")),
        (json!(null), Some(" "), None),
    ];
    for (own, call, expected) in cases {
        let fakes = Fakes {
            sent: Ok(sent(SendStatus::Ok)),
            ..Fakes::default()
        };
        let arguments = json!({ "agentId": "editor", "message": "hi", "idempotencyKey": own });
        invoke(&fakes, &arguments, call).await;
        let [Asked::Send(request)] = &fakes.requests()[..] else {
            panic!("one request")
        };
        assert_eq!(request.idempotency_key.as_deref(), expected);
    }
}

#[tokio::test]
async fn a_refusal_names_the_reference_as_written_and_no_run() {
    let cases = [
        (
            Reason::SendPolicy,
            "send blocked by session policy",
            "forbidden",
        ),
        (Reason::Visibility, "not within reach", "forbidden"),
        (Reason::SessionNotFound, "No session found: desk", "error"),
        (Reason::ThreadTarget, "a thread", "error"),
        (Reason::WaitRing, "a ring", "error"),
    ];
    for (reason, message, status) in cases {
        let fakes = Fakes {
            sent: Err(RpcError::new(reason, message)),
            ..Fakes::default()
        };
        let result = invoke(
            &fakes,
            &json!({ "sessionKey": "desk", "message": "hi" }),
            None,
        )
        .await;
        assert!(result.is_error);
        assert_eq!(
            result.result,
            json!({
                "status": status, "error": message, "reason": reason.as_str(),
                "sessionKey": "desk",
            })
        );
    }
}

#[tokio::test]
async fn an_answer_that_no_send_can_have_is_an_error_that_tells_nothing_inside() {
    let fakes = Fakes {
        sent: Ok(sent(SendStatus::Unspecified)),
        ..Fakes::default()
    };
    let result = invoke(
        &fakes,
        &json!({ "agentId": "editor", "message": "hi" }),
        None,
    )
    .await;
    assert!(result.is_error);
    assert_eq!(result.result["reason"], "INTERNAL");
    assert_eq!(
        result.result["error"],
        "internal error; see the service's log"
    );
}
