//! Records as answers.

use std::borrow::Cow;

use confab_model::delivery::Delivery;
use confab_model::flow::Flow;
use confab_model::id::RunId;
use confab_model::limits::PAGE_BYTES_MAX;
use confab_proto::runner::v1 as proto;
use confab_proto::types::v1 as types;
use confab_rpc::wire::{self, run::Prompt};
use confab_text::truncate::truncate;
use prost::Message;

use crate::commands::{ListDeliveries, ListFlows, ListRuns};
use crate::lifecycle::sweep::{SweepOutcome, Swept};
use crate::pages;
use crate::records::{RunRecord, Sent};
use crate::store::{FlowDetail, Page};

/// A run with what became of its flow's outbound message.
pub(super) fn run(record: &RunRecord) -> types::Run {
    let delivery = record.flow.as_ref().map(wire::flow::summary);
    wire::run::to_proto(&record.stored.run, delivery, Prompt::LeftOut)
}

/// The same run with its texts cut, as lists and flows show it.
fn run_in_short(record: &RunRecord) -> types::Run {
    in_short(run(record))
}

/// A run with its texts cut: many whole ones would not fit into one answer.
fn in_short(mut run: types::Run) -> types::Run {
    let error = run.error.iter_mut().map(|error| &mut error.message);
    run.reply.iter_mut().chain(error).for_each(cut);
    cut(&mut run.input);
    run
}

/// A delivery with its texts cut.
fn delivery_in_short(delivery: &Delivery) -> types::Delivery {
    let mut delivery = wire::delivery::to_proto(delivery);
    cut(&mut delivery.text);
    delivery.last_error.iter_mut().for_each(cut);
    delivery
}

/// Cuts a text as a history cuts its texts.
fn cut(text: &mut String) {
    if let (Cow::Owned(short), _) = truncate(text) {
        *text = short;
    }
}

/// A flow with its runs and deliveries, their texts cut.
#[derive(Clone, Debug)]
pub(super) struct FlowInShort {
    /// The record.
    pub(super) flow: types::Flow,
    /// Its runs.
    pub(super) runs: Vec<types::Run>,
    /// Its deliveries.
    pub(super) deliveries: Vec<types::Delivery>,
}

impl FlowInShort {
    fn bytes(&self) -> usize {
        let runs = self.runs.iter().map(Message::encoded_len);
        let deliveries = self.deliveries.iter().map(Message::encoded_len);
        let bytes: usize = runs.chain(deliveries).sum();
        bytes.saturating_add(self.flow.encoded_len())
    }
}

/// A flow with its runs and deliveries.
pub(super) fn flow_in_short(detail: &FlowDetail) -> FlowInShort {
    let summary = wire::flow::summary(&detail.flow);
    let run = |run| in_short(wire::run::to_proto(run, Some(summary), Prompt::LeftOut));
    FlowInShort {
        flow: flow(detail),
        runs: detail.runs.iter().map(run).collect(),
        deliveries: detail.deliveries.iter().map(delivery_in_short).collect(),
    }
}

/// A flow's record.
fn flow(detail: &FlowDetail) -> types::Flow {
    let runs: Vec<RunId> = detail.runs.iter().map(|run| run.id.clone()).collect();
    let deliveries: Vec<_> = detail.delivery_ids().cloned().collect();
    wire::flow::to_proto(&detail.flow, &runs, &deliveries)
}

/// What came of a send.
pub(super) fn sent(sent: &Sent) -> proto::SendResponse {
    proto::SendResponse {
        run_id: sent.run_id.to_string(),
        flow_id: sent.flow_id.to_string(),
        status: sent.status.into(),
        session_key: sent.session_key.to_string(),
        display_key: sent.display_key.clone(),
        reply: sent.reply.clone(),
        error: sent.error.clone(),
        delivery: sent.flow.as_ref().map(summary),
        watched: sent.watched,
    }
}

fn summary(flow: &Flow) -> types::DeliverySummary {
    wire::flow::summary(flow)
}

/// A page of runs.
pub(super) fn runs(page: &Page<RunRecord>) -> proto::ListRunsResponse {
    let page = pages::fit(page, PAGE_BYTES_MAX, run_in_short, Message::encoded_len);
    proto::ListRunsResponse {
        runs: page.rows,
        next_page_token: page.next.map(pages::token::<ListRuns>),
    }
}

/// A page of flows.
pub(super) fn flows(page: &Page<FlowDetail>) -> proto::ListFlowsResponse {
    let page = pages::fit(page, PAGE_BYTES_MAX, flow_in_short, FlowInShort::bytes);
    let mut response = proto::ListFlowsResponse {
        next_page_token: page.next.map(pages::token::<ListFlows>),
        ..proto::ListFlowsResponse::default()
    };
    for row in page.rows {
        response.flows.push(row.flow);
        response.runs.extend(row.runs);
        response.deliveries.extend(row.deliveries);
    }
    response
}

/// A page of deliveries.
pub(super) fn deliveries(page: &Page<Delivery>) -> proto::ListDeliveriesResponse {
    let page = pages::fit(
        page,
        PAGE_BYTES_MAX,
        delivery_in_short,
        Message::encoded_len,
    );
    proto::ListDeliveriesResponse {
        deliveries: page.rows,
        next_page_token: page.next.map(pages::token::<ListDeliveries>),
    }
}

/// What a sweep did.
pub(super) fn swept(swept: &[Swept]) -> proto::SweepSessionsResponse {
    proto::SweepSessionsResponse {
        sessions: swept.iter().map(swept_session).collect(),
    }
}

fn swept_session(one: &Swept) -> proto::SweptSession {
    let error = match &one.outcome {
        SweepOutcome::Failed(message) => Some(message.clone()),
        SweepOutcome::Done | SweepOutcome::Planned | SweepOutcome::Busy => None,
    };
    proto::SweptSession {
        session_key: one.session_key.to_string(),
        change: one.change.as_str().to_owned(),
        reason: one.reason.clone(),
        outcome: one.outcome.as_str().to_owned(),
        error,
    }
}
