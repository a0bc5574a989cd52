//! The published cases of a send, each through the real queue with scripted agents.

use confab_model::channel::Route;
use confab_model::flow::{DeliveryStatus, Party, StopReason};
use confab_model::message::SkipWord;
use confab_proto::runner::v1::{AnnounceChoice, SendRequest, SendResponse, SendStatus};
use confab_proto::types::v1::{DeliveryState, Flow, Run, Step};
use confab_rpc::error::Reason;
use confab_rpc::gate::Action;
use confab_rpc::wire::enums::Numbered;
use confab_vectors::{A2A_FLOW, Case};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::testing::{House, World, agents, key, send, with};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Given {
    requester: Option<Side>,
    target: Side,
    message: String,
    max_turns: Option<u32>,
    replies: Replies,
    announce_reply: Value,
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
    target: Vec<Value>,
    requester: Vec<Value>,
}

/// A rule that answers once.
fn rule(step: &str, reply: &Value) -> Value {
    let Some(text) = reply.as_str() else {
        let error = json!({ "class": reply["error"], "message": "on purpose" });
        return json!({ "step": step, "error": error, "times": 1 });
    };
    // What a reply says is no placeholder.
    let text = text.replace('{', "{{").replace('$', "$$");
    json!({ "step": step, "reply": text, "times": 1 })
}

/// What the agents of both sides say, by agent: the same one may be on both sides.
fn rules(given: &Given) -> Map<String, Value> {
    let agent = |side: &Side| {
        key(&side.key)
            .agent_id()
            .map_or_else(String::new, String::from)
    };
    let target = agent(&given.target);
    let requester = given
        .requester
        .as_ref()
        .map_or_else(|| target.clone(), agent);
    let mut said = vec![(target.clone(), rule("announce", &given.announce_reply))];
    let [first, later @ ..] = given.replies.target.as_slice() else {
        panic!("nobody answers")
    };
    said.push((target.clone(), rule("send", first)));
    for turn in 0..given.replies.requester.len().max(later.len()) {
        let own = given
            .replies
            .requester
            .get(turn)
            .map(|reply| (&requester, reply));
        let other = later.get(turn).map(|reply| (&target, reply));
        for (agent, reply) in own.into_iter().chain(other) {
            said.push((agent.clone(), rule("reply", reply)));
        }
    }
    let mut rules = Map::new();
    for (agent, rule) in said {
        let entry = rules.entry(agent).or_insert_with(|| json!([]));
        entry.as_array_mut().unwrap().push(rule);
    }
    rules
}

fn request(given: &Given) -> SendRequest {
    let choice = match given.announce.as_deref() {
        Some("none") => AnnounceChoice::None,
        Some(other) => panic!("{other}"),
        None => AnnounceChoice::Channel,
    };
    SendRequest {
        announce: choice.into(),
        ..send(&given.target.key, &given.message)
    }
}

async fn play(house: &House, given: &Given) -> (SendResponse, Flow, Vec<Run>) {
    for side in given.requester.iter().chain([&given.target]) {
        if let Some(route) = &side.route {
            house.registry.route(&side.key, route.clone());
        }
    }
    if given.send_policy_at_delivery.as_deref() == Some("deny") {
        house
            .registry
            .refuse(Action::Deliver, Some(Reason::SendPolicy));
    }
    let mut client = match &given.requester {
        Some(side) => house.agent(&side.key),
        None => house.operator(),
    };
    let sent = client.send(request(given)).await.unwrap().into_inner();
    let (flow, runs) = house.done(&sent.flow_id).await;
    (sent, flow, runs)
}

fn status(sent: &SendResponse) -> &'static str {
    match sent.status() {
        SendStatus::Ok => "ok",
        SendStatus::NoReply => "no_reply",
        SendStatus::Error => "error",
        SendStatus::Unspecified | SendStatus::Accepted | SendStatus::Timeout => "another",
    }
}

/// The last thing either side said; a skip word is not said.
fn latest_reply(runs: &[Run]) -> Option<&str> {
    let said = runs.iter().filter(|run| run.step() != Step::Announce);
    let mut said = said.filter_map(|run| run.reply.as_deref());
    said.rfind(|reply| !reply.trim().is_empty() && SkipWord::of(reply).is_none())
}

async fn outbox(house: &House) -> Vec<Value> {
    let delivered = house.deliveries().await.into_iter();
    delivered
        .filter(|delivery| delivery.state() == DeliveryState::Delivered)
        .map(|delivery| {
            let route = confab_rpc::wire::route::from_proto(delivery.route.unwrap()).unwrap();
            let mut posted = serde_json::to_value(route).unwrap();
            posted["text"] = delivery.text.into();
            posted
        })
        .collect()
}

/// The word of an enum's number; null for none.
fn word<T: Numbered + Serialize>(number: i32) -> Value {
    serde_json::to_value(T::of(number)).unwrap()
}

async fn results(house: &House, sent: &SendResponse, flow: &Flow, runs: &[Run]) -> Value {
    json!({
        "status": status(sent),
        "reply": sent.reply,
        "stopReason": word::<StopReason>(flow.stop_reason),
        "turnsUsed": flow.turns,
        "lastSpeaker": word::<Party>(flow.last_speaker),
        "latestReply": latest_reply(runs),
        "delivery": {
            "status": word::<DeliveryStatus>(flow.delivery.unwrap().status),
        },
        "outbox": outbox(house).await,
    })
}

fn check_runs(id: &str, wanted: &[Value], runs: &[Run]) {
    assert_eq!(wanted.len(), runs.len(), "{id}: {runs:?}");
    for (wanted, run) in wanted.iter().zip(runs) {
        assert_eq!(wanted["session"], run.session_key, "{id}");
        let step = confab_model::run::Step::of(run.step).unwrap();
        assert_eq!(wanted["step"], step.as_str(), "{id}");
        assert_eq!(
            wanted["turn"].as_i64().unwrap_or(0),
            i64::from(run.turn),
            "{id}"
        );
        // The parts come in the order that D62 gives, so each is looked for after the one before.
        let mut rest = run.input.as_str();
        for part in wanted["inputContains"].as_array().unwrap() {
            let (_, after) = rest.split_once(part.as_str().unwrap()).unwrap_or_else(|| {
                panic!("{id}: {part} is missing in {:?}", run.input);
            });
            rest = after;
        }
    }
}

#[test]
fn every_published_case_holds_through_the_queue() {
    let cases: Vec<Case<Given>> = A2A_FLOW.cases().unwrap();
    for case in &cases {
        let (id, given) = (&case.id, &case.given);
        let config = agents(&rules(given).into());
        let turns = given.max_turns.unwrap_or(5);
        let config = with(
            config,
            "session.agentToAgent.maxPingPongTurns",
            turns.into(),
        );
        World::new().live(&config, async |house| {
            let (sent, flow, runs) = play(house, given).await;
            check_runs(id, case.out["runs"].as_array().unwrap(), &runs);
            let results = results(house, &sent, &flow, &runs).await;
            for (field, wanted) in case.out.as_object().unwrap() {
                if field != "runs" && field != "announceRun" {
                    assert_eq!(wanted, &results[field], "{id}: {field}");
                }
            }
        });
    }
}
