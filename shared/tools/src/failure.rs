//! A refused or failed call as a result: never a broken connection.

use confab_rpc::error::RpcError;
use serde_json::{Map, Value};
use tonic::Code;

use crate::object::Object;

/// The status of a call that the caller may not make.
pub(crate) const FORBIDDEN: &str = "forbidden";
/// The status of a call that went wrong in any other way.
pub(crate) const ERROR: &str = "error";

/// The result of a call that ended with `error`: `status`, `error`, `reason`, the fields at fault,
/// and when it may work, where waiting helps.
///
/// Source: contract, D12, D18, run:H6.
pub(crate) fn object(error: &RpcError) -> Object {
    if let Some(chain) = error.source_chain() {
        tracing::error!(reason = error.reason.as_str(), error = %chain, "tool call failed");
    }
    let status = if error.reason.code() == Code::PermissionDenied {
        FORBIDDEN
    } else {
        ERROR
    };
    let violations: Vec<Value> = error
        .violations
        .iter()
        .map(|one| {
            let field = Object::default().set("field", one.field.as_str());
            field.set("description", one.description.as_str()).into()
        })
        .collect();
    let wait = error
        .retry_after
        .and_then(|wait| u64::try_from(wait.as_millis()).ok());
    Object::default()
        .set("status", status)
        .set("error", error.message.as_str())
        .set("reason", error.reason.as_str())
        .set_if("violations", (!violations.is_empty()).then_some(violations))
        .set_if("retryAfterMs", wait)
}

/// Whether a result is a refusal or a failure.
pub(crate) fn is_failure(result: &Map<String, Value>) -> bool {
    let status = result.get("status").and_then(Value::as_str);
    status == Some(FORBIDDEN) || status == Some(ERROR)
}
