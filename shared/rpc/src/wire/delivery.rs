//! Deliveries.

use confab_model::delivery::Delivery;
use confab_model::id::{DeliveryId, FlowId, RunId};
use confab_proto::types::v1 as proto;
use prost::Message as _;

use super::enums::Numbered as _;
use super::{WireError, enums, numbers, route, time};

/// The proto's form of a delivery.
pub fn to_proto(delivery: &Delivery) -> proto::Delivery {
    proto::Delivery {
        delivery_id: delivery.id.to_string(),
        flow_id: delivery.flow_id.to_string(),
        run_id: delivery.run_id.to_string(),
        session_key: delivery.session_key.to_string(),
        route: Some(route::to_proto(&delivery.route)),
        text: delivery.text.clone(),
        state: delivery.state.number(),
        attempts: numbers::to_i32(delivery.attempts),
        next_attempt_at: delivery.next_attempt_at.map(time::to_proto),
        last_error: delivery.last_error.clone(),
        created_at: Some(time::to_proto(delivery.created_at)),
        ended_at: delivery.ended_at.map(time::to_proto),
    }
}

/// Reads a delivery.
///
/// # Errors
/// When a field is missing or malformed.
pub fn from_proto(wire: proto::Delivery) -> Result<Delivery, WireError> {
    Ok(Delivery {
        id: super::parsed(DeliveryId::parse(wire.delivery_id), "delivery.deliveryId")?,
        flow_id: super::parsed(FlowId::parse(wire.flow_id), "delivery.flowId")?,
        run_id: super::parsed(RunId::parse(wire.run_id), "delivery.runId")?,
        session_key: super::key(&wire.session_key, "delivery.sessionKey")?,
        route: route::from_proto(super::required(wire.route, "delivery.route")?)?,
        text: wire.text,
        state: enums::from_proto(wire.state, "delivery.state")?,
        attempts: numbers::from_i32(wire.attempts, "delivery.attempts")?,
        next_attempt_at: time::optional(wire.next_attempt_at, "delivery.nextAttemptAt")?,
        last_error: wire.last_error,
        created_at: time::required(wire.created_at, "delivery.createdAt")?,
        ended_at: time::optional(wire.ended_at, "delivery.endedAt")?,
    })
}

/// The bytes of the runner's packed column.
pub fn pack(delivery: &Delivery) -> Vec<u8> {
    to_proto(delivery).encode_to_vec()
}

/// Reads the runner's packed column.
///
/// # Errors
/// When the bytes hold no delivery.
pub fn unpack(bytes: &[u8]) -> Result<Delivery, WireError> {
    from_proto(super::decoded(bytes, "delivery")?)
}
