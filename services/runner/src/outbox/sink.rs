//! Where deliveries go. Another kind of channel is another arm of [`send`].

use confab_config::settings::{Settings, SinkKind};
use confab_model::delivery::Delivery;

/// What a sink does with a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taking {
    /// It takes what it is handed.
    Takes,
    /// It asks for deliveries itself: they stay pending until then (D79).
    Fetches,
}

/// What came of handing a delivery over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Receipt {
    /// The sink accepted it.
    Accepted,
}

/// How the sink of a channel takes deliveries. A channel without a sink is like one whose sink
/// never asks.
pub(super) fn taking(settings: &Settings, channel: &str) -> Taking {
    match settings.sink_for(channel).map(|sink| &sink.kind) {
        Some(SinkKind::Discard) => Taking::Takes,
        None | Some(SinkKind::Stream | SinkKind::Webhook { .. }) => Taking::Fetches,
    }
}

/// Hands a delivery to a sink that takes it. The one there is takes everything and keeps nothing
/// (D71).
pub(super) fn send(delivery: &Delivery) -> Receipt {
    tracing::info!(delivery.id = %delivery.id, channel = delivery.route.channel, "discarded");
    Receipt::Accepted
}
