//! Exporting over the wire.

use confab_proto::transcript::v1 as proto;
use confab_rpc::gate::{Authority, caller_of};
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use tonic::{Request, Response, Status};

use super::TranscriptApi;
use crate::commands::ExportTranscript;
use crate::store::TranscriptStore;
use crate::store::imports::ImportStore;

/// The pieces of an export.
pub(super) type Pieces = BoxStream<'static, Result<proto::ExportTranscriptResponse, Status>>;

/// Sends the pieces as they are read.
pub(super) async fn export<S: TranscriptStore + ImportStore, A: Authority>(
    api: &TranscriptApi<S, A>,
    request: Request<proto::ExportTranscriptRequest>,
) -> Result<Response<Pieces>, Status> {
    let role = caller_of(&request)?.role();
    let call = api
        .gate
        .admit(request, |wire| ExportTranscript::parse(wire, role))
        .await?;
    let pieces = api.messages.export(call).await?;
    let pieces = pieces
        .map_ok(|lines| proto::ExportTranscriptResponse {
            lines: lines.into(),
        })
        .map_err(Status::from);
    Ok(Response::new(pieces.boxed()))
}
