//! Flows.

use confab_model::flow::{DeliveryMode, DeliveryStatus, Flow};
use confab_model::id::{ChainId, DeliveryId, FlowId, RunId};
use confab_proto::types::v1 as proto;
use prost::Message as _;

use super::enums::Numbered as _;
use super::{WireError, enums, numbers, route, time};

/// The proto's form of a flow with its runs and deliveries, each in the order they came up.
pub fn to_proto(flow: &Flow, runs: &[RunId], deliveries: &[DeliveryId]) -> proto::Flow {
    proto::Flow {
        flow_id: flow.id.to_string(),
        kind: flow.kind.number(),
        requester: flow.requester.as_ref().map(ToString::to_string),
        target: flow.target.to_string(),
        state: flow.state.number(),
        turns: numbers::to_i32(flow.turns),
        stop_reason: enums::optional_number(flow.stop_reason),
        last_speaker: enums::optional_number(flow.last_speaker),
        delivery: Some(summary(flow)),
        chain_id: flow.chain_id.to_string(),
        hop: numbers::to_i32(flow.hop),
        route: flow.route.as_ref().map(route::to_proto),
        run_ids: runs.iter().map(ToString::to_string).collect(),
        delivery_ids: deliveries.iter().map(ToString::to_string).collect(),
        created_at: Some(time::to_proto(flow.created_at)),
        ended_at: flow.ended_at.map(time::to_proto),
        started_by_channel: flow.started_by_channel.clone(),
    }
}

/// Reads a flow, without the lists of its runs and deliveries.
///
/// # Errors
/// When a field is missing or malformed.
pub fn from_proto(wire: proto::Flow) -> Result<Flow, WireError> {
    let (delivery, mode) = summary_from_proto(super::required(wire.delivery, "flow.delivery")?)?;
    Ok(Flow {
        id: super::parsed(FlowId::parse(wire.flow_id), "flow.flowId")?,
        kind: enums::from_proto(wire.kind, "flow.kind")?,
        requester: super::optional_key(wire.requester.as_deref(), "flow.requester")?,
        target: super::key(&wire.target, "flow.target")?,
        route: wire.route.map(route::from_proto).transpose()?,
        mode,
        chain_id: super::parsed(ChainId::parse(wire.chain_id), "flow.chainId")?,
        hop: numbers::from_i32(wire.hop, "flow.hop")?,
        started_by_channel: wire.started_by_channel,
        created_at: time::required(wire.created_at, "flow.createdAt")?,
        state: enums::from_proto(wire.state, "flow.state")?,
        turns: numbers::from_i32(wire.turns, "flow.turns")?,
        stop_reason: enums::optional_from_proto(wire.stop_reason, "flow.stopReason")?,
        last_speaker: enums::optional_from_proto(wire.last_speaker, "flow.lastSpeaker")?,
        delivery,
        ended_at: time::optional(wire.ended_at, "flow.endedAt")?,
    })
}

/// The bytes of the runner's packed column.
pub fn pack(flow: &Flow) -> Vec<u8> {
    to_proto(flow, &[], &[]).encode_to_vec()
}

/// Reads the runner's packed column.
///
/// # Errors
/// When the bytes hold no flow.
pub fn unpack(bytes: &[u8]) -> Result<Flow, WireError> {
    from_proto(super::decoded(bytes, "flow")?)
}

/// What became of a flow's outbound message, as every run of the flow shows it.
pub fn summary(flow: &Flow) -> proto::DeliverySummary {
    summary_to_proto(flow.delivery, flow.mode)
}

/// The proto's form of what became of an outbound message, and how it was meant to leave.
pub fn summary_to_proto(status: DeliveryStatus, mode: DeliveryMode) -> proto::DeliverySummary {
    proto::DeliverySummary {
        status: status.number(),
        mode: mode.number(),
    }
}

/// Reads what became of an outbound message, and how it was meant to leave.
///
/// # Errors
/// When either is not told or not known.
pub fn summary_from_proto(
    wire: proto::DeliverySummary,
) -> Result<(DeliveryStatus, DeliveryMode), WireError> {
    let status = enums::from_proto(wire.status, "delivery.status")?;
    Ok((status, enums::from_proto(wire.mode, "delivery.mode")?))
}
