//! The route of the run that asks.

use confab_model::id::RunId;
use confab_model::key::SessionKey;
use confab_proto::runner::v1::{GetFlowRequest, GetRunRequest};
use confab_proto::types::v1::Route;
use confab_rpc::caller::Caller;
use confab_rpc::error::RpcError;

use crate::toolbox::{Clients, answer};

/// Where the answer of the caller's run leaves, if `key` is the session that the run is in. Of any
/// other session nothing is live as far as the caller is concerned.
///
/// A status without it is better than none, so a failure only leaves it out.
///
/// Source: reg:S11.
pub(super) async fn route(clients: &Clients, caller: &Caller, key: &str) -> Option<Route> {
    let run = caller.run()?;
    if caller.session().map(SessionKey::as_str) != Some(key) {
        return None;
    }
    read(clients, caller, run, key)
        .await
        .inspect_err(|error| tracing::warn!(run.id = %run, %error, "the route of a run is unknown"))
        .ok()
        .flatten()
}

async fn read(
    clients: &Clients,
    caller: &Caller,
    run: &RunId,
    key: &str,
) -> Result<Option<Route>, RpcError> {
    let mut runner = clients.runner.on_behalf_of(caller);
    let request = GetRunRequest {
        run_id: run.to_string(),
    };
    let run = answer(runner.get_run(request).await)?.run;
    let Some(run) = run.filter(|run| run.ended_at.is_none()) else {
        return Ok(None);
    };
    let request = GetFlowRequest {
        flow_id: run.flow_id,
    };
    let flow = answer(runner.get_flow(request).await)?.flow;
    // A flow's route is its target's; what the requester says in its turns leaves nowhere.
    let flow = flow.filter(|flow| flow.target == key);
    Ok(flow.and_then(|flow| flow.route))
}
