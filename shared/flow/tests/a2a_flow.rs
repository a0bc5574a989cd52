//! The published cases of a send with its reply loop and announce step, each run through the
//! machine by a driver that does at once whatever it is asked for.

#![expect(
    clippy::unwrap_used,
    reason = "the cases are ours; one that does not parse is a failure"
)]

use std::collections::VecDeque;

use confab_flow::exchange::{Action, Event, Exchange, ExchangeKind, RunOrder, Terms};
use confab_model::channel::Route;
use confab_model::delivery::DeliveryState;
use confab_model::flow::Party;
use confab_model::key::SessionKey;
use confab_model::limits::PING_PONG_TURNS_DEFAULT;
use confab_model::run::{Outcome, RunError, RunState, Step};
use confab_vectors::{A2A_FLOW, Case};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Given {
    requester: Option<Side>,
    target: Side,
    message: String,
    max_turns: Option<u32>,
    replies: Replies,
    announce_reply: Reply,
    announce: Option<String>,
    send_policy_at_delivery: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Side {
    key: String,
    route: Option<Route>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Replies {
    target: VecDeque<Reply>,
    requester: VecDeque<Reply>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Reply {
    Text(String),
    Failure { error: String },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WantedRun {
    session: String,
    step: String,
    #[serde(default)]
    turn: u32,
    input_contains: Vec<String>,
}

/// What the world saw.
struct Seen {
    exchange: Exchange,
    runs: Vec<RunOrder>,
    primary: Option<Outcome>,
    outbox: Vec<Value>,
}

fn key(text: &str) -> SessionKey {
    SessionKey::try_from(text.to_owned()).unwrap()
}

fn terms(given: &Given) -> Terms {
    let channel = |side: &Side| side.route.as_ref().map(|route| route.channel.clone());
    Terms {
        kind: ExchangeKind::Send,
        requester: given.requester.as_ref().map(|side| key(&side.key)),
        requester_channel: given.requester.as_ref().and_then(channel),
        target: key(&given.target.key),
        target_channel: channel(&given.target),
        request: given.message.clone(),
        provenance: None,
        turns_max: given.max_turns.unwrap_or(PING_PONG_TURNS_DEFAULT),
        route: given.target.route.clone(),
        announce: given.announce.as_deref() != Some("none"),
        kin: false,
    }
}

fn outcome(reply: &Reply) -> Outcome {
    match reply {
        Reply::Text(text) => Outcome::Replied {
            text: text.clone(),
            model: None,
            usage: None,
        },
        Reply::Failure { error } => Outcome::Failed {
            state: RunState::Failed,
            error: RunError {
                class: error.clone(),
                message: String::new(),
            },
        },
    }
}

fn answer(given: &mut Given, order: &RunOrder) -> Outcome {
    if order.step == Step::Announce {
        return outcome(&given.announce_reply);
    }
    let replies = match order.party {
        Party::Requester => &mut given.replies.requester,
        Party::Target => &mut given.replies.target,
    };
    outcome(&replies.pop_front().unwrap())
}

fn run(given: &mut Given) -> Seen {
    let exchange = Exchange::new(terms(given));
    let mut seen = Seen {
        exchange,
        runs: Vec::new(),
        primary: None,
        outbox: Vec::new(),
    };
    let mut events = VecDeque::from([Event::Started]);
    while let Some(event) = events.pop_front() {
        for action in seen.exchange.apply(&event).unwrap() {
            events.push_back(execute(given, &mut seen, action));
        }
    }
    seen
}

fn execute(given: &mut Given, seen: &mut Seen, action: Action) -> Event {
    match action {
        Action::StartRun(order) => {
            let outcome = answer(given, &order);
            let step = order.step_id;
            seen.primary.get_or_insert_with(|| outcome.clone());
            seen.runs.push(order);
            Event::RunEnded { step, outcome }
        },
        Action::Deliver { route, text, .. } => {
            if given.send_policy_at_delivery.as_deref() == Some("deny") {
                return Event::DeliverySettled {
                    state: DeliveryState::Blocked,
                };
            }
            let mut posted = serde_json::to_value(route).unwrap();
            posted
                .as_object_mut()
                .unwrap()
                .insert("text".to_owned(), Value::from(text));
            seen.outbox.push(posted);
            Event::DeliverySettled {
                state: DeliveryState::Delivered,
            }
        },
    }
}

/// What the caller of the send is told (D28, D63).
fn told(primary: Option<&Outcome>) -> (&'static str, Value) {
    match primary {
        Some(Outcome::Replied { text, .. }) if text.trim().is_empty() => ("no_reply", Value::Null),
        Some(Outcome::Replied { text, .. }) => ("ok", Value::from(text.as_str())),
        Some(Outcome::Failed { .. }) | None => ("error", Value::Null),
    }
}

fn results(seen: &Seen) -> Value {
    let progress = seen.exchange.progress();
    let (status, reply) = told(seen.primary.as_ref());
    json!({
        "status": status,
        "reply": reply,
        "stopReason": progress.stop_reason,
        "turnsUsed": progress.turns,
        "lastSpeaker": progress.last_speaker,
        "latestReply": progress.latest_reply,
        "delivery": { "status": progress.delivery },
        "outbox": seen.outbox,
    })
}

fn check_run(id: &str, wanted: &WantedRun, order: &RunOrder) {
    assert_eq!(wanted.session, order.session.to_string(), "{id}: session");
    assert_eq!(wanted.step, order.step.as_str(), "{id}: step");
    assert_eq!(wanted.turn, order.turn, "{id}: turn");
    // The parts come in the order that D62 gives, so each is looked for after the one before.
    let mut rest = order.input.as_str();
    for part in &wanted.input_contains {
        let found = rest.split_once(part.as_str());
        assert!(
            found.is_some(),
            "{id}: `{part}` is missing in `{}`",
            order.input
        );
        rest = found.unwrap().1;
    }
}

fn check(case: &Case<Given>, seen: &Seen) {
    let id = &case.id;
    assert!(seen.exchange.is_done(), "{id}: ends");
    let runs = case.out.get("runs").unwrap().clone();
    let wanted: Vec<WantedRun> = serde_json::from_value(runs).unwrap();
    assert_eq!(wanted.len(), seen.runs.len(), "{id}: number of runs");
    for (wanted, order) in wanted.iter().zip(&seen.runs) {
        check_run(id, wanted, order);
    }
    let results = results(seen);
    for (field, wanted) in case.out.as_object().unwrap() {
        if field != "runs" && field != "announceRun" {
            assert_eq!(Some(wanted), results.get(field), "{id}: {field}");
        }
    }
}

#[test]
fn every_published_case_holds() {
    let mut cases: Vec<Case<Given>> = A2A_FLOW.cases().unwrap();
    for case in &mut cases {
        let seen = run(&mut case.given);
        check(case, &seen);
    }
}
