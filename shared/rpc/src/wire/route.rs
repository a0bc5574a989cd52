//! Routes: whole addresses in outside channels.

use confab_model::channel::Route;
use confab_model::limits::ROUTE_FIELD_BYTES_MAX;
use confab_proto::types::v1 as proto;

use super::{WireError, fields};
use crate::error::Violations;

/// The proto's form of a route.
pub fn to_proto(route: &Route) -> proto::Route {
    proto::Route {
        channel: route.channel.clone(),
        to: route.to.clone(),
        account_id: route.account_id.clone(),
        thread_id: route.thread_id.clone(),
    }
}

/// Reads a stored route.
///
/// # Errors
/// When it has no channel or no recipient.
pub fn from_proto(route: proto::Route) -> Result<Route, WireError> {
    if route.channel.is_empty() {
        return Err(WireError::Missing {
            field: "route.channel",
        });
    }
    if route.to.is_empty() {
        return Err(WireError::Missing { field: "route.to" });
    }
    Ok(Route {
        channel: route.channel,
        to: route.to,
        account_id: route.account_id,
        thread_id: route.thread_id,
    })
}

/// A channel's name as it is kept and compared.
pub(crate) fn channel_folded(name: &str) -> String {
    name.trim().to_lowercase()
}

/// Reads a route that a caller may leave out; one that is given must be whole (D32).
pub fn route_from_wire(
    wire: Option<proto::Route>,
    field: &str,
    violations: &mut Violations,
) -> Option<Route> {
    let wire = wire?;
    let max = ROUTE_FIELD_BYTES_MAX;
    let path = |name: &str| format!("{field}.{name}");
    let channel = channel_folded(&wire.channel);
    let channel = fields::required_from_wire(channel, max, &path("channel"), violations);
    let to = fields::required_from_wire(wire.to, max, &path("to"), violations);
    let account_id =
        fields::optional_from_wire(wire.account_id, max, &path("accountId"), violations);
    let thread_id = fields::optional_from_wire(wire.thread_id, max, &path("threadId"), violations);
    Some(Route {
        channel: channel?,
        to: to?,
        account_id,
        thread_id,
    })
}
