use confab_model::channel::Route;
use confab_model::clock::Timestamp;
use confab_model::delivery::DeliveryState;
use confab_model::id::{DeliveryId, FlowId};
use confab_model::key::SessionKey;
use confab_policy::lifecycle::Change;
use confab_proto::runner::v1::SendStatus;
use confab_text::truncate::MARKER;

use super::*;

/// Most UTF-16 units of a text in a list.
const PREVIEW_UNITS: usize = 4000;

/// What a driver or a channel may repeat of what it was given, what of it is secret, and what is told
/// instead.
fn secrets() -> [(&'static str, String, String, String); 4] {
    let body = "q7Wz3Kd9Xv5Rt1Hb".repeat(2);
    let token = format!("ghp_{body}");
    let whole = |before: &str, secret: &str, after: &str| format!("{before}{secret}{after}");
    [
        (
            "a token",
            whole("401 for ", &token, ""),
            token.clone(),
            "401 for ghp_q7…t1Hb".to_owned(),
        ),
        (
            "an assignment",
            whole("run with API_KEY=", &body, " failed"),
            body.clone(),
            "run with API_KEY=q7Wz3K…t1Hb failed".to_owned(),
        ),
        (
            "an address",
            whole("cannot reach postgres://ann:", &body, "@db/x"),
            body.clone(),
            "cannot reach postgres://ann:q7Wz3K…t1Hb@db/x".to_owned(),
        ),
        (
            "nothing",
            "429: come back later".to_owned(),
            token,
            "429: come back later".to_owned(),
        ),
    ]
}

fn renderer() -> Renderer {
    Renderer(Arc::new(Redactor::built_in()))
}

fn key() -> SessionKey {
    SessionKey::parse("agent:main:main").unwrap()
}

fn sent(reply: &str, error: &str) -> Sent {
    Sent {
        run_id: RunId::parse("r").unwrap(),
        flow_id: FlowId::parse("f").unwrap(),
        status: SendStatus::Error,
        session_key: key(),
        display_key: "main".to_owned(),
        reply: Some(reply.to_owned()),
        error: Some(error.to_owned()),
        flow: None,
        watched: None,
    }
}

fn delivery(text: &str, last_error: &str) -> Delivery {
    Delivery {
        id: DeliveryId::parse("d").unwrap(),
        flow_id: FlowId::parse("f").unwrap(),
        run_id: RunId::parse("r").unwrap(),
        session_key: key(),
        route: Route {
            channel: "discord".to_owned(),
            to: "group:1".to_owned(),
            account_id: None,
            thread_id: None,
        },
        text: text.to_owned(),
        state: DeliveryState::Failed,
        attempts: 1,
        next_attempt_at: None,
        last_error: Some(last_error.to_owned()),
        created_at: Timestamp::from_millis(1),
        ended_at: None,
    }
}

fn swept(error: &str) -> Swept {
    Swept {
        session_key: key(),
        change: Change::Archive,
        reason: "idle".to_owned(),
        outcome: SweepOutcome::Failed(error.to_owned()),
    }
}

#[test]
fn errors_are_told_masked_r0_and_what_was_said_as_it_was_said_b169() {
    let renderer = renderer();
    for (case, text, secret, masked) in secrets() {
        let answer = renderer.sent(&sent(&text, &text));
        assert_eq!(answer.error.as_deref(), Some(masked.as_str()), "{case}");
        assert_eq!(answer.reply.as_deref(), Some(text.as_str()), "{case}");

        let page = Page {
            rows: vec![delivery(&text, &text)],
            next: None,
        };
        let shown = renderer.deliveries(&page).deliveries;
        assert_eq!(
            shown[0].last_error.as_deref(),
            Some(masked.as_str()),
            "{case}"
        );
        assert_eq!(shown[0].text, text, "{case}");

        let told = renderer.swept(&[swept(&text)]).sessions;
        assert_eq!(told[0].error.as_deref(), Some(masked.as_str()), "{case}");
        assert!(!masked.contains(&secret), "{case}");
    }
}

/// Source: run:R19.
#[test]
fn an_error_is_masked_before_it_is_cut() {
    for (case, text, secret, masked) in secrets() {
        for inside in 1..secret.len() {
            let filler = "x ".repeat((PREVIEW_UNITS - inside) / 2);
            let shown = renderer().delivery_in_short(&delivery("", &format!("{filler}{text}")));
            let error = shown.last_error.unwrap();
            let kept = error.strip_suffix(MARKER).unwrap_or(&error);
            let expected: String = format!("{filler}{masked}");
            assert!(expected.starts_with(kept), "{case}, {inside}: {kept}");
        }
    }
}
