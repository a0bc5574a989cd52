//! Records as answers.

use std::borrow::Cow;
use std::sync::Arc;

use confab_config::{Redactor, Settings};
use confab_model::delivery::Delivery;
use confab_model::id::RunId;
use confab_model::limits::PAGE_BYTES_MAX;
use confab_model::run::Run;
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

/// Shows records. The texts of errors leave only redacted, because a driver or a channel may repeat in
/// them what it was given; what people and agents wrote travels as it was stored.
///
/// Source: run:R0, B169.
#[derive(Debug)]
pub(super) struct Renderer(Arc<Redactor>);

impl Renderer {
    /// Shows records as the settings in force say.
    pub(super) fn of(settings: &Settings) -> Self {
        Self(Arc::clone(&settings.redactor))
    }

    /// A run with what became of its flow's outbound message.
    pub(super) fn run(&self, record: &RunRecord) -> types::Run {
        let delivery = record.flow.as_ref().map(wire::flow::summary);
        self.redacted_run(&record.stored.run, delivery)
    }

    /// What came of a send.
    pub(super) fn sent(&self, sent: &Sent) -> proto::SendResponse {
        let error = sent.error.as_ref();
        proto::SendResponse {
            run_id: sent.run_id.to_string(),
            flow_id: sent.flow_id.to_string(),
            status: sent.status.into(),
            session_key: sent.session_key.to_string(),
            display_key: sent.display_key.clone(),
            reply: sent.reply.clone(),
            error: error.map(|error| self.0.redact(error).into_owned()),
            delivery: sent.flow.as_ref().map(wire::flow::summary),
            watched: sent.watched,
        }
    }

    /// A page of runs.
    pub(super) fn runs(&self, page: &Page<RunRecord>) -> proto::ListRunsResponse {
        let show = |record: &RunRecord| in_short(self.run(record));
        let page = pages::fit(page, PAGE_BYTES_MAX, show, Message::encoded_len);
        proto::ListRunsResponse {
            runs: page.rows,
            next_page_token: page.next.map(pages::token::<ListRuns>),
        }
    }

    /// A page of flows.
    pub(super) fn flows(&self, page: &Page<FlowDetail>) -> proto::ListFlowsResponse {
        let show = |detail: &FlowDetail| self.flow_in_short(detail);
        let page = pages::fit(page, PAGE_BYTES_MAX, show, FlowInShort::bytes);
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

    /// A flow with its runs and deliveries.
    pub(super) fn flow_in_short(&self, detail: &FlowDetail) -> FlowInShort {
        let summary = wire::flow::summary(&detail.flow);
        let run = |run| in_short(self.redacted_run(run, Some(summary)));
        let delivery = |delivery| self.delivery_in_short(delivery);
        FlowInShort {
            flow: flow(detail),
            runs: detail.runs.iter().map(run).collect(),
            deliveries: detail.deliveries.iter().map(delivery).collect(),
        }
    }

    /// A page of deliveries.
    pub(super) fn deliveries(&self, page: &Page<Delivery>) -> proto::ListDeliveriesResponse {
        let show = |delivery: &Delivery| self.delivery_in_short(delivery);
        let page = pages::fit(page, PAGE_BYTES_MAX, show, Message::encoded_len);
        proto::ListDeliveriesResponse {
            deliveries: page.rows,
            next_page_token: page.next.map(pages::token::<ListDeliveries>),
        }
    }

    /// What a sweep did.
    pub(super) fn swept(&self, swept: &[Swept]) -> proto::SweepSessionsResponse {
        let show = |one| self.swept_session(one);
        proto::SweepSessionsResponse {
            sessions: swept.iter().map(show).collect(),
        }
    }

    fn swept_session(&self, one: &Swept) -> proto::SweptSession {
        let error = match &one.outcome {
            SweepOutcome::Failed(message) => Some(self.0.redact(message).into_owned()),
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

    fn redacted_run(&self, run: &Run, delivery: Option<types::DeliverySummary>) -> types::Run {
        let mut run = wire::run::to_proto(run, delivery, Prompt::LeftOut);
        if let Some(error) = &mut run.error {
            self.redact(&mut error.message);
        }
        run
    }

    /// A delivery with its texts cut; redacted first, because a secret that is cut is none that is
    /// known.
    fn delivery_in_short(&self, delivery: &Delivery) -> types::Delivery {
        let mut delivery = wire::delivery::to_proto(delivery);
        cut(&mut delivery.text);
        if let Some(error) = &mut delivery.last_error {
            self.redact(error);
            cut(error);
        }
        delivery
    }

    fn redact(&self, text: &mut String) {
        if let Cow::Owned(redacted) = self.0.redact(text) {
            *text = redacted;
        }
    }
}

/// A run with its texts cut: many whole ones would not fit into one answer.
fn in_short(mut run: types::Run) -> types::Run {
    let error = run.error.iter_mut().map(|error| &mut error.message);
    run.reply.iter_mut().chain(error).for_each(cut);
    cut(&mut run.input);
    run
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

/// A flow's record.
fn flow(detail: &FlowDetail) -> types::Flow {
    let runs: Vec<RunId> = detail.runs.iter().map(|run| run.id.clone()).collect();
    let deliveries: Vec<_> = detail.delivery_ids().cloned().collect();
    wire::flow::to_proto(&detail.flow, &runs, &deliveries)
}

#[cfg(test)]
mod tests;
