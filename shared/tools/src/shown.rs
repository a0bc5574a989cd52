//! Values that several tools show alike: keys, moments, routes.

use confab_model::clock::Timestamp;
use confab_model::key::SessionKey;
use confab_proto::types::v1::Route;
use confab_rpc::error::RpcError;
use confab_rpc::wire::time;
use serde_json::Value;

use crate::object::Object;

/// The session that asks; absent for operators.
pub(crate) type Asker<'a> = Option<&'a SessionKey>;

/// A key as the caller may call it. What cannot be read as a key is shown as it is, so that one bad
/// row does not spoil a list.
///
/// Source: D1.
pub(crate) fn key(key: &str, asker: Asker<'_>) -> String {
    match SessionKey::parse(key) {
        Ok(parsed) => parsed.display_for(asker).to_owned(),
        Err(_) => key.to_owned(),
    }
}

/// A moment that may be absent, in milliseconds since 1970.
///
/// # Errors
/// When it is out of range.
pub(crate) fn millis(
    moment: Option<prost_types::Timestamp>,
    field: &'static str,
) -> Result<Option<i64>, RpcError> {
    Ok(time::optional(moment, field)?.map(Timestamp::millis))
}

/// One whole address in an outside channel.
///
/// Source: reg:L26, reg:S11, reg:S12.
pub(crate) fn route(route: &Route) -> Value {
    Object::default()
        .set("channel", route.channel.as_str())
        .set("to", route.to.as_str())
        .set_if("accountId", route.account_id.as_deref())
        .set_if("threadId", route.thread_id.as_deref())
        .into()
}
