//! Importing over the wire.

use confab_proto::transcript::v1 as proto;
use confab_rpc::caller::Caller;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::{Admitted, Authority, caller_of};
use confab_rpc::wire;
use futures::{StreamExt as _, stream};
use tonic::{Request, Response, Status, Streaming};

use super::TranscriptApi;
use crate::commands::ImportTranscript;
use crate::import::Tally;
use crate::store::TranscriptStore;
use crate::store::imports::ImportStore;

/// Takes the stream in; its first piece is what the gate judges. A stream without a piece is an empty
/// file for nobody.
pub(super) async fn import<S: TranscriptStore + ImportStore, A: Authority>(
    api: &TranscriptApi<S, A>,
    request: Request<Streaming<proto::ImportTranscriptRequest>>,
) -> Result<Response<proto::ImportTranscriptResponse>, Status> {
    let caller = caller_of(&request)?;
    let mut pieces = request.into_inner();
    let Some(first) = pieces.message().await? else {
        return Ok(Response::new(proto::ImportTranscriptResponse::default()));
    };
    let (request, lines) = ImportTranscript::parse(first)?;
    let call = admit(api, caller, &request).await?;
    let rest = pieces.map(move |piece| match piece {
        Ok(piece) => request.follow(piece),
        Err(status) => Err(RpcError::from_status(&status)),
    });
    let pieces = stream::iter([Ok(lines)]).chain(rest);
    let tally = api.messages.import(call, pieces).await?;
    Ok(Response::new(to_proto(&tally)))
}

/// Admits the import to the generation that it names. An earlier one is found by its sessionId, and
/// must be of the very session: a sessionId may read like another session's key.
///
/// Source: D26.
async fn admit<S: TranscriptStore + ImportStore, A: Authority>(
    api: &TranscriptApi<S, A>,
    caller: Caller,
    request: &ImportTranscript,
) -> Result<Admitted<ImportTranscript>, RpcError> {
    let call = api.gate.admit_as(caller.clone(), request.clone()).await?;
    let present = call.session()?.clone();
    let Some(named) = &request.session_id else {
        return Ok(call);
    };
    if present.session_id == *named {
        return Ok(call);
    }
    let agent = present.key.agent_id().map(|agent| agent.to_string());
    let earlier = request.by_generation(named, agent)?;
    let call = api.gate.admit_as(caller, earlier).await?;
    let found = call.session()?;
    if found.key == present.key && found.session_id == *named {
        return Ok(call);
    }
    Err(RpcError::new(
        Reason::SessionNotFound,
        format!(
            "session {} has no generation {named}: give one of its sessionIds, or leave sessionId out",
            present.key
        ),
    ))
}

fn to_proto(tally: &Tally) -> proto::ImportTranscriptResponse {
    let faults = tally.faults().into_iter();
    proto::ImportTranscriptResponse {
        imported: wire::numbers::to_i64(tally.imported),
        repeated: wire::numbers::to_i64(tally.repeated),
        skipped: wire::numbers::to_i64(tally.skipped),
        lines: wire::numbers::to_i64(tally.lines),
        kept_aside: wire::numbers::to_i64(tally.kept_aside),
        faults: faults
            .map(|fault| proto::ImportFault {
                line: wire::numbers::to_i64(fault.line),
                reason: fault.reason,
            })
            .collect(),
    }
}
