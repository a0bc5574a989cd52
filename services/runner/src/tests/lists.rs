//! Lists: their page tokens, and what they show of large texts.

use confab_model::limits::{MESSAGE_BYTES_MAX, PAGE_BYTES_MAX};
use confab_proto::runner::v1::{
    GetFlowRequest, ListDeliveriesRequest, ListFlowsRequest, ListRunsRequest, SendMessageRequest,
};
use confab_rpc::error::{Reason, RpcError};
use confab_text::truncate::MARKER;
use prost::Message as _;
use serde_json::json;
use tonic::Status;

use crate::testing::{World, message, route, script};

const MAIN: &str = "agent:main:main";
/// Most UTF-16 units of a text in a list.
const PREVIEW_UNITS: usize = 4000;

fn runs(limit: i32, page_token: Option<String>) -> ListRunsRequest {
    ListRunsRequest {
        limit: Some(limit),
        page_token,
        ..ListRunsRequest::default()
    }
}

fn flows(limit: i32, page_token: Option<String>) -> ListFlowsRequest {
    ListFlowsRequest {
        limit: Some(limit),
        page_token,
        ..ListFlowsRequest::default()
    }
}

fn deliveries(limit: i32, page_token: Option<String>) -> ListDeliveriesRequest {
    ListDeliveriesRequest {
        limit: Some(limit),
        page_token,
        ..ListDeliveriesRequest::default()
    }
}

/// A message whose answer goes to a channel.
fn routed(text: &str) -> SendMessageRequest {
    SendMessageRequest {
        route: Some(route("discord", "group:1")),
        ..message(MAIN, text)
    }
}

fn check_foreign(refused: &Status, own: &str, foreign: &str) {
    let refused = RpcError::from_status(refused);
    assert_eq!(refused.reason, Reason::InvalidArgument);
    let [violation] = refused.violations.as_slice() else {
        panic!("{refused:?}")
    };
    assert_eq!(violation.field, "pageToken");
    let named = format!("pageToken belongs to the list \"{own}\", not to \"{foreign}\"");
    assert!(refused.message.contains(&named), "{}", refused.message);
}

#[test]
fn a_page_token_is_good_for_its_own_list_only() {
    World::new().live(&script(&json!([])), async |house| {
        let (mut runner, mut outbox) = (house.operator(), house.delivery_operator());
        for text in ["one", "two"] {
            let sent = runner.send_message(routed(text)).await.unwrap();
            house.done(&sent.into_inner().run.unwrap().flow_id).await;
        }
        let of_runs = runner.list_runs(runs(1, None)).await.unwrap().into_inner();
        let of_runs = of_runs.next_page_token;
        let of_flows = runner
            .list_flows(flows(1, None))
            .await
            .unwrap()
            .into_inner();
        let of_flows = of_flows.next_page_token;
        let listed = outbox.list_deliveries(deliveries(1, None)).await.unwrap();
        let of_deliveries = listed.into_inner().next_page_token;

        let refused = runner.list_runs(runs(1, of_flows.clone())).await;
        check_foreign(&refused.unwrap_err(), "flows", "runs");
        let refused = runner.list_flows(flows(1, of_deliveries.clone())).await;
        check_foreign(&refused.unwrap_err(), "deliveries", "flows");
        let refused = outbox.list_deliveries(deliveries(1, of_runs.clone())).await;
        check_foreign(&refused.unwrap_err(), "runs", "deliveries");

        let own = runner.list_runs(runs(1, of_runs)).await.unwrap();
        assert_eq!(own.into_inner().runs[0].input, "one");
        let own = runner.list_flows(flows(1, of_flows)).await.unwrap();
        assert_eq!(own.into_inner().runs[0].input, "one");
        let own = outbox.list_deliveries(deliveries(1, of_deliveries)).await;
        assert_eq!(own.unwrap().into_inner().deliveries[0].text, "echo: one");
    });
}

/// A text's beginning, as lists show it.
fn check_preview(preview: &str, whole: &str) {
    let kept = preview.strip_suffix(MARKER).unwrap();
    assert_eq!(kept.encode_utf16().count(), PREVIEW_UNITS);
    assert!(whole.starts_with(kept));
}

#[test]
fn large_texts_are_cut_in_lists_and_flows_and_whole_in_their_runs() {
    let text = "x".repeat(MESSAGE_BYTES_MAX);
    let rules = json!([{ "reply": "{message}" }]);
    World::new().live(&script(&rules), async |house| {
        let mut runner = house.operator();
        let mut ids = Vec::new();
        for _ in 0..3 {
            let sent = runner.send_message(routed(&text)).await.unwrap();
            let run = sent.into_inner().run.unwrap();
            assert_eq!(run.input, text);
            ids.push((run.run_id, run.flow_id));
        }
        for (run_id, flow_id) in ids {
            // WaitFlow shows a flow like GetFlow.
            let (_, waited) = house.done(&flow_id).await;
            check_preview(waited[0].reply.as_deref().unwrap(), &text);
            let read = runner.get_flow(GetFlowRequest { flow_id }).await.unwrap();
            let read = read.into_inner();
            assert_eq!(read.runs, waited);
            check_preview(&read.deliveries[0].text, &text);
            let run = house.get_run(&run_id).await;
            assert_eq!((run.input, run.reply), (text.clone(), Some(text.clone())));
        }
        let listed = runner.list_runs(runs(50, None)).await.unwrap().into_inner();
        assert_eq!(listed.runs.len(), 3);
        for run in &listed.runs {
            check_preview(&run.input, &text);
            check_preview(run.reply.as_deref().unwrap(), &text);
        }
        let flows = runner
            .list_flows(flows(50, None))
            .await
            .unwrap()
            .into_inner();
        assert_eq!((flows.flows.len(), flows.next_page_token), (3, None));
        check_preview(&flows.runs[0].input, &text);
        check_preview(&flows.deliveries[0].text, &text);
        check_preview(&house.deliveries().await[0].text, &text);
    });
}

#[test]
fn the_error_of_a_run_is_cut_in_lists_and_whole_in_the_run() {
    let text = "e".repeat(PREVIEW_UNITS + 1);
    let rules = json!([{ "error": { "class": "c", "message": text } }]);
    World::new().live(&script(&rules), async |house| {
        let run = house.human(MAIN, "x").await;
        let run = house.ended(&run.run_id).await;
        assert_eq!(run.error.unwrap().message, text);
        let listed = house.runs().await.remove(0);
        check_preview(&listed.error.unwrap().message, &text);
    });
}

#[test]
fn a_page_ends_before_its_rows_are_too_many_bytes_and_the_next_one_goes_on() {
    // A cut text has 12,000 bytes: 140 runs of an input and a reply are more than a page holds.
    let text = "€".repeat(PREVIEW_UNITS);
    let rules = json!([{ "reply": "{message}" }]);
    World::new().live(&script(&rules), async |house| {
        let mut runner = house.operator();
        let mut wanted = Vec::new();
        for number in 0..140 {
            let session = format!("agent:main:{number}");
            let run = house.human(&session, &text).await;
            wanted.insert(0, run.run_id);
        }
        for run_id in &wanted {
            house.ended(run_id).await;
        }
        let first = runner
            .list_runs(runs(200, None))
            .await
            .unwrap()
            .into_inner();
        assert!(first.encoded_len() < PAGE_BYTES_MAX + 10_000);
        assert!(first.encoded_len() > PAGE_BYTES_MAX - 30_000);
        let next = first.next_page_token.clone();
        let second = runner
            .list_runs(runs(200, next))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(second.next_page_token, None);
        let listed = first.runs.into_iter().chain(second.runs);
        let listed: Vec<_> = listed.map(|run| run.run_id).collect();
        assert_eq!(listed, wanted);

        let first = runner
            .list_flows(flows(200, None))
            .await
            .unwrap()
            .into_inner();
        assert_eq!(first.flows.len(), first.runs.len());
        let next = first.next_page_token;
        let second = runner
            .list_flows(flows(200, next))
            .await
            .unwrap()
            .into_inner();
        let listed = first.runs.into_iter().chain(second.runs);
        let listed: Vec<_> = listed.map(|run| run.run_id).collect();
        assert_eq!(listed, wanted);
        assert_eq!(second.next_page_token, None);
    });
}
