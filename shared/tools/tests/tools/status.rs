//! `session_status`.

use confab_model::id::TenantId;
use confab_proto::registry::v1::{
    GetStatusRequest, GetStatusResponse, PatchSessionRequest, PatchSessionResponse, SessionPatch,
    StateChanges, StateEvent,
};
use confab_proto::runner::v1::{GetFlowRequest, GetFlowResponse, GetRunRequest, GetRunResponse};
use confab_proto::types::v1::{Flow, Origin, Route, Run, Session, SessionTarget};
use confab_rpc::caller::Caller;
use confab_rpc::error::{Reason, RpcError};
use confab_tools::Invocation;
use prost_types::FieldMask;
use serde_json::{Value, json};

use crate::fakes::{Asked, Fakes, agent, agent_in};

const WRITER: &str = "agent:writer:main";
const EDITOR: &str = "agent:editor:desk";

fn target(reference: &str) -> SessionTarget {
    SessionTarget {
        session_key: Some(reference.to_owned()),
        ..SessionTarget::default()
    }
}

fn route(channel: &str) -> Route {
    Route {
        channel: channel.to_owned(),
        to: "room".to_owned(),
        ..Route::default()
    }
}

fn session(key: &str) -> Session {
    Session {
        key: key.to_owned(),
        display_key: key.to_owned(),
        ..Session::default()
    }
}

fn status(session: Session) -> GetStatusResponse {
    GetStatusResponse {
        session: Some(session),
        status_text: "the card\nin two lines\n".to_owned(),
        ..GetStatusResponse::default()
    }
}

fn over(status: GetStatusResponse) -> Fakes {
    Fakes {
        status: Ok(status),
        patched: Ok(PatchSessionResponse {
            changed: true,
            ..PatchSessionResponse::default()
        }),
        ..Fakes::default()
    }
}

async fn call(fakes: &Fakes, caller: &Caller, arguments: &Value) -> Invocation {
    let toolbox = fakes.toolbox();
    let arguments = arguments.to_string();
    toolbox
        .invoke(caller, "session_status", &arguments, Some("call-key"))
        .await
}

async fn told(fakes: &Fakes, arguments: &Value) -> Value {
    let answer = call(fakes, &agent(WRITER), arguments).await;
    assert!(!answer.is_error, "{}", answer.result);
    answer.result
}

#[tokio::test]
async fn a_session_of_which_little_is_known_has_no_field_too_many_reg_s13() {
    let fakes = over(status(Session {
        display_key: "main".to_owned(),
        ..session(WRITER)
    }));
    let expected = json!({
        "ok": true,
        "sessionKey": "main",
        "changedModel": false,
        "stateVersion": 0,
        "statusText": "the card\nin two lines",
    });
    assert_eq!(
        told(&fakes, &json!({})).await.to_string(),
        expected.to_string()
    );
    let request = GetStatusRequest {
        target: Some(target(WRITER)),
        changes_since: None,
    };
    assert_eq!(fakes.asked(), [(agent(WRITER), Asked::Status(request))]);
}

#[tokio::test]
async fn what_ran_is_the_model_and_what_is_configured_stands_beside_it_b188() {
    let cases = [
        // Last run, own choice, default; model, provider.
        (
            Some("b/2"),
            Some("a/1"),
            Some("c/3"),
            Some("b/2"),
            Some("b"),
        ),
        (None, Some("a/1"), Some("c/3"), Some("a/1"), Some("a")),
        (None, None, Some("c/3"), Some("c/3"), Some("c")),
        (Some("plain"), None, None, Some("plain"), None),
        (Some("/odd"), None, None, Some("/odd"), None),
        (None, None, None, None, None),
    ];
    for (ran, own, default, model, provider) in cases {
        let text = |value: Option<&str>| value.map(str::to_owned);
        let fakes = over(GetStatusResponse {
            default_model: text(default),
            ..status(Session {
                model: text(ran),
                model_override: text(own),
                ..session(EDITOR)
            })
        });
        let result = told(&fakes, &json!({ "sessionKey": EDITOR })).await;
        let shown = |name| result.get(name).and_then(Value::as_str);
        assert_eq!(shown("model"), model);
        assert_eq!(shown("modelProvider"), provider);
        assert_eq!(shown("modelOverride"), own);
        assert_eq!(shown("defaultModel"), default);
    }
}

#[tokio::test]
async fn a_model_is_set_after_access_is_checked_and_the_status_is_read_anew_reg_s5_reg_s6() {
    let cases = [
        (json!("openai/gpt"), Some("openai/gpt".to_owned())),
        (json!("Default"), None),
        (json!(" "), None),
    ];
    for (word, model) in cases {
        let fakes = over(GetStatusResponse {
            changes: Some(StateChanges::default()),
            ..status(session(EDITOR))
        });
        let arguments = json!({ "sessionKey": EDITOR, "model": word, "changesSince": "3" });
        let result = told(&fakes, &arguments).await;
        assert_eq!(result["changedModel"], true);
        let check = GetStatusRequest {
            target: Some(target(EDITOR)),
            changes_since: None,
        };
        let patch = PatchSessionRequest {
            target: Some(target(EDITOR)),
            patch: Some(SessionPatch {
                model,
                ..SessionPatch::default()
            }),
            update_mask: Some(FieldMask {
                paths: vec!["model".to_owned()],
            }),
            expected_row_version: None,
            idempotency_key: Some("call-key".to_owned()),
        };
        let anew = GetStatusRequest {
            changes_since: Some(3),
            ..check.clone()
        };
        assert_eq!(
            fakes.requests(),
            [
                Asked::Status(check),
                Asked::Patch(Box::new(patch)),
                Asked::Status(anew)
            ]
        );
    }
}

#[tokio::test]
async fn a_model_that_was_set_already_is_no_change() {
    let mut fakes = over(status(session(EDITOR)));
    fakes.patched = Ok(PatchSessionResponse::default());
    let result = told(&fakes, &json!({ "sessionKey": EDITOR, "model": "m" })).await;
    assert_eq!(result["changedModel"], false);
}

#[tokio::test]
async fn who_may_not_see_the_status_changes_no_model_reg_s6() {
    let mut fakes = over(status(session(EDITOR)));
    fakes.status = Err(RpcError::new(Reason::Visibility, "not within reach"));
    let arguments = json!({ "sessionKey": EDITOR, "model": "m" });
    let answer = call(&fakes, &agent(WRITER), &arguments).await;
    assert!(answer.is_error);
    assert_eq!(
        answer.result,
        json!({ "status": "forbidden", "error": "not within reach", "reason": "VISIBILITY" })
    );
    assert_eq!(fakes.requests().len(), 1);
}

#[tokio::test]
async fn a_model_that_is_refused_is_an_error_that_names_the_field() {
    let mut fakes = over(status(session(EDITOR)));
    fakes.patched = Err(RpcError::invalid_field(
        "patch.model",
        "model m is not known",
    ));
    let answer = call(&fakes, &agent(WRITER), &json!({ "model": "m" })).await;
    assert!(answer.is_error);
    assert_eq!(
        answer.result["violations"],
        json!([{ "field": "patch.model", "description": "model m is not known" }])
    );
    assert_eq!(fakes.requests().len(), 2);
}

/// Everything that can be told of changes.
fn changes() -> StateChanges {
    let full = StateEvent {
        sequence: 8,
        session_key: WRITER.to_owned(),
        session_id: Some("s-1".to_owned()),
        kind: "run_failed".to_owned(),
        actor_type: "agent".to_owned(),
        actor_id: Some(EDITOR.to_owned()),
        run_id: Some("run-1".to_owned()),
        occurred_at: Some(prost_types::Timestamp {
            seconds: 2,
            nanos: 5_000_000,
        }),
        summary: "its task ended badly".to_owned(),
        outcome: Some("timeout".to_owned()),
    };
    let bare = StateEvent {
        sequence: 9,
        session_id: None,
        actor_id: None,
        run_id: None,
        outcome: None,
        ..full.clone()
    };
    StateChanges {
        events: vec![full, bare],
        truncated: true,
        earliest_available_sequence: 5,
        history_gap: true,
    }
}

#[tokio::test]
async fn changes_are_told_to_those_who_ask_with_what_is_missing_reg_s14() {
    let fakes = over(GetStatusResponse {
        changes: Some(changes()),
        ..status(Session {
            state_version: 12,
            ..session(EDITOR)
        })
    });
    let expected = json!({
        "events": [
            {
                "sequence": 8, "sessionKey": "main", "sessionId": "s-1", "agentId": "writer",
                "kind": "run_failed", "actorType": "agent", "actorId": EDITOR, "runId": "run-1",
                "occurredAt": 2005, "summary": "its task ended badly", "outcome": "timeout",
            },
            {
                "sequence": 9, "sessionKey": "main", "agentId": "writer", "kind": "run_failed",
                "actorType": "agent", "occurredAt": 2005, "summary": "its task ended badly",
            },
        ],
        "truncated": true,
        "earliestAvailableSequence": 5,
        "historyGap": true,
    });
    let result = told(&fakes, &json!({ "sessionKey": EDITOR, "changesSince": 0 })).await;
    assert_eq!(result["stateVersion"], 12);
    assert_eq!(result["stateChanges"].to_string(), expected.to_string());
    let block = json!({ "stateVersion": 12, "stateChanges": expected });
    assert_eq!(
        result["statusText"],
        format!("the card\nin two lines\n\nSession state changes:\n```json\n{block:#}\n```")
    );
    // Whoever does not ask is told the version alone.
    let result = told(&fakes, &json!({ "sessionKey": EDITOR })).await;
    assert_eq!(result["stateVersion"], 12);
    assert_eq!(result.get("stateChanges"), None);
    assert_eq!(result["statusText"], "the card\nin two lines");
}

#[tokio::test]
async fn a_registry_that_tells_no_changes_to_those_who_ask_is_at_fault() {
    let fakes = over(status(session(EDITOR)));
    let answer = call(&fakes, &agent(WRITER), &json!({ "changesSince": 0 })).await;
    assert!(answer.is_error);
    assert_eq!(answer.result["reason"], "INTERNAL");
}

/// The caller is in a run, whose flow answers to a room in `matrix`.
fn in_a_run(session: Session) -> Fakes {
    Fakes {
        run: Ok(GetRunResponse {
            run: Some(Run {
                run_id: "run-1".to_owned(),
                session_key: WRITER.to_owned(),
                flow_id: "flow-1".to_owned(),
                ..Run::default()
            }),
        }),
        flow: Ok(GetFlowResponse {
            flow: Some(Flow {
                flow_id: "flow-1".to_owned(),
                target: WRITER.to_owned(),
                route: Some(route("matrix")),
                ..Flow::default()
            }),
            ..GetFlowResponse::default()
        }),
        ..over(status(session))
    }
}

#[tokio::test]
async fn origin_active_and_delivery_context_are_kept_apart_and_end_the_text_reg_s9_reg_s12() {
    let fakes = in_a_run(Session {
        origin: Some(Origin {
            provider: Some("slack".to_owned()),
            account_id: Some("acme".to_owned()),
            thread_id: Some("17".to_owned()),
        }),
        delivery_context: Some(Route {
            account_id: Some("bot".to_owned()),
            thread_id: Some("7".to_owned()),
            ..route("discord")
        }),
        ..session(WRITER)
    });
    let caller = agent_in(WRITER, "run-1");
    let result = call(&fakes, &caller, &json!({})).await.result;
    let places = json!({
        "origin": { "provider": "slack", "accountId": "acme", "threadId": "17" },
        "active": { "channel": "matrix", "to": "room" },
        "deliveryContext": {
            "channel": "discord", "to": "room", "accountId": "bot", "threadId": "7",
        },
    });
    for name in ["origin", "active", "deliveryContext"] {
        assert_eq!(result[name], places[name]);
    }
    assert_eq!(
        result["statusText"],
        format!("the card\nin two lines\n\nRoute context:\n```json\n{places:#}\n```")
    );
    let run = GetRunRequest {
        run_id: "run-1".to_owned(),
    };
    let flow = GetFlowRequest {
        flow_id: "flow-1".to_owned(),
    };
    assert_eq!(
        fakes.asked()[1..],
        [
            (caller.clone(), Asked::Run(run)),
            (caller, Asked::Flow(flow))
        ]
    );
}

#[tokio::test]
async fn the_channel_of_the_key_stands_in_for_a_provider_that_nobody_noted_reg_s10() {
    let cases = [
        ("agent:editor:discord:group:42", Some("discord")),
        ("agent:editor:slack:acme:direct:u1", Some("slack")),
        ("agent:editor:main", None),
        ("agent:editor:cron:group:1", None),
        ("agent:editor:subagent:group:1", None),
        ("agent:editor:acp:direct:1", None),
        ("agent:editor:desk", None),
    ];
    for (key, provider) in cases {
        let fakes = over(status(session(key)));
        let result = told(&fakes, &json!({ "sessionKey": key })).await;
        let expected = provider.map(|provider| json!({ "provider": provider }));
        assert_eq!(result.get("origin"), expected.as_ref(), "{key}");
    }
}

#[tokio::test]
async fn the_status_of_another_session_or_without_a_run_asks_the_runner_nothing_reg_s11() {
    let callers = [
        (agent_in(WRITER, "run-1"), EDITOR),
        (agent(WRITER), WRITER),
        (Caller::operator(TenantId::default()), WRITER),
    ];
    for (caller, key) in callers {
        let fakes = in_a_run(session(key));
        let answer = call(&fakes, &caller, &json!({ "sessionKey": key })).await;
        assert!(!answer.is_error);
        assert_eq!(answer.result.get("active"), None);
        assert_eq!(fakes.requests().len(), 1);
    }
}

fn lost() -> RpcError {
    RpcError::new(Reason::Unavailable, "the service is stopping")
}

fn run_of(fakes: &mut Fakes) -> &mut Run {
    let answer = fakes.run.as_mut().expect("an answer");
    answer.run.as_mut().expect("a run")
}

fn flow_of(fakes: &mut Fakes) -> &mut Flow {
    let answer = fakes.flow.as_mut().expect("an answer");
    answer.flow.as_mut().expect("a flow")
}

#[tokio::test]
async fn a_run_without_a_route_that_ended_or_that_nobody_can_read_is_not_active_reg_s11() {
    let changed = |change: fn(&mut Fakes)| {
        let mut fakes = in_a_run(session(WRITER));
        change(&mut fakes);
        fakes
    };
    let cases = vec![
        changed(|fakes| run_of(fakes).ended_at = Some(prost_types::Timestamp::default())),
        changed(|fakes| flow_of(fakes).route = None),
        // The requester's turn in a reply loop: the route is the other session's.
        changed(|fakes| flow_of(fakes).target = EDITOR.to_owned()),
        changed(|fakes| fakes.run = Err(lost())),
        changed(|fakes| fakes.flow = Err(lost())),
    ];
    for fakes in cases {
        let answer = call(&fakes, &agent_in(WRITER, "run-1"), &json!({})).await;
        assert!(!answer.is_error, "{}", answer.result);
        assert_eq!(answer.result.get("active"), None);
    }
}

#[tokio::test]
async fn an_operator_must_name_a_session_reg_s2() {
    let fakes = over(status(session(WRITER)));
    let operator = Caller::operator(TenantId::default());
    let answer = call(&fakes, &operator, &json!({ "model": "m" })).await;
    assert!(answer.is_error);
    let error = answer.result["error"].as_str().unwrap();
    assert!(error.starts_with("sessionKey required"), "{error}");
    assert_eq!(fakes.requests(), []);
}

#[tokio::test]
async fn changes_since_must_be_a_non_negative_integer_reg_s1() {
    for since in [json!(-1), json!(1.5), json!("x"), json!(true)] {
        let fakes = Fakes::default();
        let answer = call(&fakes, &agent(WRITER), &json!({ "changesSince": since })).await;
        let error = answer.result["error"].as_str().unwrap();
        let beginning = "changesSince must be a non-negative integer";
        assert!(error.starts_with(beginning), "{error}");
        assert_eq!(fakes.requests(), []);
    }
}
