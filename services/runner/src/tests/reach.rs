//! Who may bring what, and read what.

use confab_model::message::Role;
use confab_proto::runner::v1::{
    GetFlowRequest, GetRunRequest, ListFlowsRequest, ListRunsRequest, SendMessageRequest,
    WaitFlowRequest,
};
use confab_rpc::error::Reason;
use serde_json::json;
use tonic::{Code, Status};

use crate::testing::{Fault, World, agents, message, post, reason, route, script, wait_run};

const MAIN: &str = "agent:main:main";
const B: &str = "agent:b:main";

fn get(run_id: &str) -> GetRunRequest {
    GetRunRequest {
        run_id: run_id.to_owned(),
    }
}

fn flow(flow_id: &str) -> GetFlowRequest {
    GetFlowRequest {
        flow_id: flow_id.to_owned(),
    }
}

fn wait_flow(flow_id: &str) -> WaitFlowRequest {
    WaitFlowRequest {
        flow_id: flow_id.to_owned(),
        timeout_seconds: Some(40),
    }
}

/// A status without the identifier that was asked for.
fn without(status: &Status, id: &str) -> (Code, Reason, String) {
    assert!(status.message().contains(id), "{status:?}");
    (
        status.code(),
        reason(status),
        status.message().replace(id, "…"),
    )
}

#[test]
fn a_channel_speaks_for_itself_only() {
    World::new().live(&script(&json!([])), async |house| {
        let mut discord = house.channel("discord");
        let through = |channel: Option<&str>| SendMessageRequest {
            route: channel.map(|channel| route(channel, "group:1")),
            ..message(MAIN, "hello")
        };
        let refused = discord
            .send_message(through(Some("slack")))
            .await
            .unwrap_err();
        assert_eq!(reason(&refused), Reason::Role);
        let refused = discord.send_message(through(None)).await.unwrap_err();
        assert_eq!(reason(&refused), Reason::InvalidArgument);
        assert!(house.runs().await.is_empty());
        // Whoever is asked could make the session of a call that is refused.
        assert_eq!(house.registry.questions(), 0);
        let sent = discord
            .send_message(through(Some("discord")))
            .await
            .unwrap()
            .into_inner();
        let run_id = sent.run.unwrap().run_id;
        let waited = discord
            .wait_run(wait_run(&run_id, 40))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(waited.run.unwrap().reply.as_deref(), Some("echo: hello"));
        discord.get_run(get(&run_id)).await.unwrap();

        // Runs of another channel, of nobody's channel and of no session at all answer alike.
        let plain = house.human(MAIN, "hello").await.run_id;
        // An operator's message through the channel is not the adapter's either.
        let through_slack = through(Some("slack"));
        let sent = house.operator().send_message(through_slack).await.unwrap();
        let foreign = sent.into_inner().run.unwrap().run_id;
        let mut slack = house.channel("slack");
        let unknown = without(&slack.get_run(get("nobody")).await.unwrap_err(), "nobody");
        assert_eq!(
            (unknown.0, unknown.1),
            (Code::NotFound, Reason::RecordNotFound)
        );
        for run_id in [&run_id, &plain, &foreign] {
            let hidden = slack.get_run(get(run_id)).await.unwrap_err();
            assert_eq!(without(&hidden, run_id), unknown);
            let hidden = slack.wait_run(wait_run(run_id, 40)).await.unwrap_err();
            assert_eq!(without(&hidden, run_id), unknown);
        }
    });
}

#[test]
fn a_hidden_run_answers_like_an_unknown_one_except_to_the_session_that_asked() {
    let world = World::new();
    world.live(&agents(&json!({ "main": [], "b": [] })), async |house| {
        let sent = house
            .agent(MAIN)
            .send(post(B, "hello"))
            .await
            .unwrap()
            .into_inner();
        house.registry.hide(B);
        let mut stranger = house.agent("agent:main:stranger");
        let unknown = without(
            &stranger.get_run(get("nobody")).await.unwrap_err(),
            "nobody",
        );
        assert_eq!(unknown.2, "No run found: …");
        let run_id = &sent.run_id;
        let hidden = stranger.get_run(get(run_id)).await.unwrap_err();
        assert_eq!(without(&hidden, run_id), unknown);
        let hidden = stranger.wait_run(wait_run(run_id, 40)).await.unwrap_err();
        assert_eq!(without(&hidden, run_id), unknown);
        let own = house
            .agent(MAIN)
            .wait_run(wait_run(run_id, 40))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(own.run.unwrap().reply.as_deref(), Some("echo: hello"));
    });
}

#[test]
fn lists_are_for_operators_and_flows_for_no_channel() {
    World::new().live(&script(&json!([])), async |house| {
        let run = house.human(MAIN, "hello").await;
        house.ended(&run.run_id).await;
        for mut client in [house.agent(MAIN), house.channel("discord")] {
            let refused = client
                .list_runs(ListRunsRequest::default())
                .await
                .unwrap_err();
            assert_eq!(reason(&refused), Reason::Role);
            let refused = client
                .list_flows(ListFlowsRequest::default())
                .await
                .unwrap_err();
            assert_eq!(reason(&refused), Reason::Role);
        }
        let refused = house.channel("discord").get_flow(flow(&run.flow_id)).await;
        assert_eq!(reason(&refused.unwrap_err()), Reason::Role);
        let mut operator = house.operator();
        let flows = operator
            .list_flows(ListFlowsRequest::default())
            .await
            .unwrap()
            .into_inner();
        assert_eq!(flows.flows[0].flow_id, run.flow_id);
        assert_eq!(flows.flows[0].run_ids, [run.run_id]);
        let unknown = operator.get_flow(flow("nobody")).await.unwrap_err();
        let unknown = without(&unknown, "nobody");
        let waited = operator.wait_flow(wait_flow("nothing")).await.unwrap_err();
        assert_eq!(without(&waited, "nothing"), unknown);
        assert_eq!(unknown.2, "No flow found: …");
    });
}

#[test]
fn a_hidden_flow_answers_like_an_unknown_one_except_to_the_session_that_asked() {
    let world = World::new();
    world.live(&agents(&json!({ "main": [], "b": [] })), async |house| {
        let mut asking = house.agent(MAIN);
        let sent = asking.send(post(B, "hello")).await.unwrap().into_inner();
        house.registry.hide(B);
        let flow_id = &sent.flow_id;
        let mut stranger = house.agent("agent:main:stranger");
        let unknown = stranger.get_flow(flow("nobody")).await.unwrap_err();
        assert_eq!(unknown.code(), Code::NotFound);
        let unknown = without(&unknown, "nobody");
        let hidden = stranger.get_flow(flow(flow_id)).await.unwrap_err();
        assert_eq!(without(&hidden, flow_id), unknown);
        let hidden = stranger.wait_flow(wait_flow(flow_id)).await.unwrap_err();
        assert_eq!(without(&hidden, flow_id), unknown);

        let waited = asking.wait_flow(wait_flow(flow_id)).await.unwrap();
        assert_eq!(&waited.into_inner().flow.unwrap().flow_id, flow_id);
        let read = asking.get_flow(flow(flow_id)).await.unwrap().into_inner();
        assert_eq!(&read.flow.unwrap().flow_id, flow_id);
        assert_eq!(read.runs[0].run_id, sent.run_id);
    });
}

#[test]
fn a_list_goes_on_behind_its_last_page() {
    World::new().live(&script(&json!([])), async |house| {
        let mut accepted = Vec::new();
        for text in ["one", "two", "three"] {
            accepted.insert(0, house.human(MAIN, text).await.run_id);
        }
        let mut listed = Vec::new();
        let mut token = None;
        loop {
            let request = ListRunsRequest {
                limit: Some(1),
                page_token: token,
                ..ListRunsRequest::default()
            };
            let page = house
                .operator()
                .list_runs(request)
                .await
                .unwrap()
                .into_inner();
            listed.extend(page.runs.into_iter().map(|run| run.run_id));
            token = page.next_page_token;
            if token.is_none() {
                break;
            }
        }
        assert_eq!(listed, accepted);
        let request = ListRunsRequest {
            page_token: Some("nonsense".to_owned()),
            limit: Some(0),
            ..ListRunsRequest::default()
        };
        let refused = house.operator().list_runs(request).await.unwrap_err();
        assert_eq!(reason(&refused), Reason::InvalidArgument);
        assert!(refused.message().contains("limit") && refused.message().contains("page"));
    });
}

#[test]
fn a_wait_of_no_seconds_looks_once() {
    World::new().live(&script(&json!([])), async |house| {
        house.transcript.fail(Role::User, Fault::Held);
        let run = house.human(MAIN, "hello").await;
        let looked = house
            .operator()
            .wait_run(wait_run(&run.run_id, 0))
            .await
            .unwrap();
        assert!(looked.into_inner().timed_out);
    });
}
