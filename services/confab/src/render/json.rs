//! Records as programs see them: names and order of the contract, absent = absent, times in
//! milliseconds since the epoch.
//!
//! Source: contract, Tools (Records).

use confab_model::clock::Timestamp;
use confab_model::delivery::DeliveryState;
use confab_model::flow::{DeliveryMode, DeliveryStatus, FlowKind, FlowState, Party, StopReason};
use confab_model::run::{Lane, MessageState, RunState, Step};
use confab_proto::types::v1::{Delivery, DeliverySummary, Flow, Run};
use confab_rpc::wire::enums::Numbered;
use serde_json::{Map, Value, json};

use super::time::moment;

/// A JSON object in the making: fields in the order they are put, absent ones left out.
#[derive(Debug, Default)]
pub struct Fields(Map<String, Value>);

impl Fields {
    /// Without any field.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of a field; `None` where it is absent.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Puts a field that is always there.
    #[must_use]
    pub fn put(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Puts a field if it has a value.
    #[must_use]
    pub fn put_some(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.put(name, value),
            None => self,
        }
    }

    /// Puts a moment if there is one.
    #[must_use]
    pub fn put_time(self, name: &str, wire: Option<&prost_types::Timestamp>) -> Self {
        self.put_some(name, moment(wire).map(Timestamp::millis))
    }

    /// Puts the word of an enum unless it is not told.
    #[must_use]
    pub fn put_word<T: Numbered>(
        self,
        name: &str,
        number: i32,
        word: fn(T) -> &'static str,
    ) -> Self {
        self.put_some(name, T::of(number).map(word))
    }
}

impl From<Map<String, Value>> for Fields {
    fn from(fields: Map<String, Value>) -> Self {
        Self(fields)
    }
}

impl From<Fields> for Value {
    fn from(fields: Fields) -> Self {
        Self::Object(fields.0)
    }
}

/// One page of a list under its `name`.
pub fn page(name: &str, records: Vec<Value>, next_page_token: Option<&str>) -> Value {
    Fields::new()
        .put(name, records)
        .put_some("nextPageToken", next_page_token)
        .into()
}

/// A run.
pub fn run(run: &Run) -> Value {
    let error = run.error.as_ref();
    let usage = run.usage.as_ref();
    let message = Fields::new().put_word("state", run.message_state, MessageState::as_str);
    Fields::new()
        .put("runId", run.run_id.as_str())
        .put("sessionKey", run.session_key.as_str())
        .put_some("sessionId", run.session_id.as_deref())
        .put("agentId", run.agent_id.as_str())
        .put_word("step", run.step, Step::as_str)
        .put_word("lane", run.lane, Lane::as_str)
        .put_word("state", run.state, RunState::as_str)
        .put("input", run.input.as_str())
        .put_some(
            "notices",
            (!run.notices.is_empty()).then(|| run.notices.clone()),
        )
        .put_some("reply", run.reply.as_deref())
        .put_some(
            "error",
            error.map(|e| json!({ "class": e.class, "message": e.message })),
        )
        .put("message", message)
        .put("delivery", delivery_summary(run.delivery.as_ref()))
        .put_some(
            "flowId",
            Some(run.flow_id.as_str()).filter(|id| !id.is_empty()),
        )
        .put_some("parentRunId", run.parent_run_id.as_deref())
        .put("chainId", run.chain_id.as_str())
        .put("hop", run.hop)
        .put("attempts", run.attempts)
        .put_some("model", run.model.as_deref())
        .put_some(
            "usage",
            usage.map(|u| json!({ "input": u.input, "output": u.output })),
        )
        .put_time("createdAt", run.created_at.as_ref())
        .put_time("startedAt", run.started_at.as_ref())
        .put_time("endedAt", run.ended_at.as_ref())
        .put_some("runtimeMs", run.runtime_ms)
        .into()
}

/// A flow with the records of its runs and deliveries.
pub fn flow(flow: &Flow, runs: &[Run], deliveries: &[Delivery]) -> Value {
    Fields::new()
        .put("flowId", flow.flow_id.as_str())
        .put_word("kind", flow.kind, FlowKind::as_str)
        .put_some("requester", flow.requester.as_deref())
        .put("target", flow.target.as_str())
        .put_word("state", flow.state, FlowState::as_str)
        .put("turns", flow.turns)
        .put_word("stopReason", flow.stop_reason, StopReason::as_str)
        .put_word("lastSpeaker", flow.last_speaker, Party::as_str)
        .put("delivery", delivery_summary(flow.delivery.as_ref()))
        .put("chainId", flow.chain_id.as_str())
        .put("hop", flow.hop)
        .put("runs", runs.iter().map(run).collect::<Vec<_>>())
        .put(
            "deliveries",
            deliveries.iter().map(delivery).collect::<Vec<_>>(),
        )
        .into()
}

/// A delivery, its route flat.
pub fn delivery(delivery: &Delivery) -> Value {
    let route = delivery.route.as_ref();
    Fields::new()
        .put("deliveryId", delivery.delivery_id.as_str())
        .put("flowId", delivery.flow_id.as_str())
        .put("runId", delivery.run_id.as_str())
        .put("sessionKey", delivery.session_key.as_str())
        .put_some("channel", route.map(|route| route.channel.as_str()))
        .put_some("to", route.map(|route| route.to.as_str()))
        .put_some(
            "accountId",
            route.and_then(|route| route.account_id.as_deref()),
        )
        .put_some(
            "threadId",
            route.and_then(|route| route.thread_id.as_deref()),
        )
        .put("text", delivery.text.as_str())
        .put_word("state", delivery.state, DeliveryState::as_str)
        .put("attempts", delivery.attempts)
        .put_time("nextAttemptAt", delivery.next_attempt_at.as_ref())
        .put_some("lastError", delivery.last_error.as_deref())
        .put_time("createdAt", delivery.created_at.as_ref())
        .put_time("endedAt", delivery.ended_at.as_ref())
        .into()
}

/// What became of an outbound message, and how it was meant to leave.
fn delivery_summary(summary: Option<&DeliverySummary>) -> Fields {
    let summary = summary.copied().unwrap_or_default();
    Fields::new()
        .put_word("status", summary.status, DeliveryStatus::as_str)
        .put_word("mode", summary.mode, DeliveryMode::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::records::samples;

    fn names(value: &Value) -> Vec<&str> {
        value
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect()
    }

    #[test]
    fn a_whole_run_has_every_field_of_the_contract_in_its_order() {
        let shown = run(&samples::run());
        let expected = "runId sessionKey sessionId agentId step lane state input notices reply \
            error message delivery flowId parentRunId chainId hop attempts model usage createdAt \
            startedAt endedAt runtimeMs";
        assert_eq!(
            names(&shown),
            expected.split_whitespace().collect::<Vec<_>>()
        );
        assert_eq!(shown["state"], "timed_out");
        assert_eq!(shown["message"], json!({"state": "replied"}));
        assert_eq!(
            shown["delivery"],
            json!({"status": "delivered", "mode": "announce"})
        );
        assert_eq!(shown["usage"], json!({"input": 7, "output": 5}));
        assert_eq!(shown["createdAt"], 1_500);
    }

    #[test]
    fn what_a_run_lacks_is_absent_and_never_null() {
        let shown = run(&Run::default());
        for absent in [
            "sessionId",
            "reply",
            "error",
            "notices",
            "model",
            "usage",
            "startedAt",
            "runtimeMs",
            "flowId",
        ] {
            assert_eq!(shown.get(absent), None, "{absent}");
        }
        assert!(!shown.to_string().contains("null"), "{shown}");
    }

    #[test]
    fn a_flow_shows_its_loop_its_runs_and_its_deliveries() {
        let shown = flow(&samples::flow(), &[samples::run()], &[samples::delivery()]);
        let expected = "flowId kind requester target state turns stopReason lastSpeaker delivery \
            chainId hop runs deliveries";
        assert_eq!(
            names(&shown),
            expected.split_whitespace().collect::<Vec<_>>()
        );
        assert_eq!(
            (&shown["stopReason"], &shown["turns"]),
            (&json!("reply_skip"), &json!(2))
        );
        assert_eq!(shown["lastSpeaker"], "target");
        assert_eq!(shown["runs"][0]["runId"], "run-1");
        assert_eq!(shown["deliveries"][0]["channel"], "slack");
    }

    #[test]
    fn a_flow_without_a_loop_has_neither_stop_reason_nor_last_speaker() {
        let shown = flow(&Flow::default(), &[], &[]);
        assert_eq!(shown.get("stopReason"), None);
        assert_eq!(shown.get("lastSpeaker"), None);
        assert_eq!((&shown["turns"], &shown["runs"]), (&json!(0), &json!([])));
    }

    #[test]
    fn a_delivery_carries_its_whole_route_flat() {
        let shown = delivery(&samples::delivery());
        let expected = "deliveryId flowId runId sessionKey channel to accountId threadId text \
            state attempts nextAttemptAt lastError createdAt endedAt";
        assert_eq!(
            names(&shown),
            expected.split_whitespace().collect::<Vec<_>>()
        );
        assert_eq!(shown["to"], "channel:reviews");
        assert_eq!(shown["threadId"], "17.4");
    }

    #[test]
    fn only_a_page_that_others_follow_has_a_token() {
        assert_eq!(page("runs", vec![], None), json!({"runs": []}));
        assert_eq!(
            page("runs", vec![], Some("t")),
            json!({"runs": [], "nextPageToken": "t"})
        );
    }
}
