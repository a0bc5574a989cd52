//! Thin tonic adapters: parse, admit, one call, render.

mod export;
mod history;
mod import;
mod search;

use std::sync::Arc;

use confab_proto::transcript::v1 as proto;
use confab_proto::transcript::v1::transcript_service_server::TranscriptService;
use confab_rpc::gate::{Authority, Gate, caller_of};
use confab_rpc::wire;
use tonic::{Request, Response, Status, Streaming};

use crate::Messages;
use crate::commands::fork::ForkTranscript;
use crate::commands::search::SearchMessages;
use crate::commands::{AppendMessages, GetHistory, TailSessions};
use crate::store::TranscriptStore;
use crate::store::fork::ForkStore;
use crate::store::imports::ImportStore;
use crate::store::search::SearchStore;

/// The transcript's methods over its use cases.
#[derive(Debug)]
pub struct TranscriptApi<S, A> {
    messages: Arc<Messages<S>>,
    gate: Gate<A>,
}

impl<S, A: Authority> TranscriptApi<S, A> {
    /// The methods over `messages`, behind a gate that asks `authority`.
    pub const fn new(messages: Arc<Messages<S>>, authority: A) -> Self {
        Self {
            messages,
            gate: Gate::new(authority),
        }
    }
}

#[tonic::async_trait]
impl<S, A> TranscriptService for TranscriptApi<S, A>
where
    S: TranscriptStore + SearchStore + ForkStore + ImportStore,
    A: Authority,
{
    async fn append_messages(
        &self,
        request: Request<proto::AppendMessagesRequest>,
    ) -> Result<Response<proto::AppendMessagesResponse>, Status> {
        let role = caller_of(&request)?.role();
        let call = self
            .gate
            .admit(request, |wire| AppendMessages::parse(wire, role))
            .await?;
        let stored = self.messages.append(call).await?;
        let messages = stored.iter().map(wire::message::to_proto).collect();
        Ok(Response::new(proto::AppendMessagesResponse { messages }))
    }

    async fn get_history(
        &self,
        request: Request<proto::GetHistoryRequest>,
    ) -> Result<Response<proto::GetHistoryResponse>, Status> {
        let call = self.gate.admit(request, GetHistory::parse).await?;
        let page = self.messages.history(call).await?;
        Ok(Response::new(history::page_to_proto(page)))
    }

    async fn tail_sessions(
        &self,
        request: Request<proto::TailSessionsRequest>,
    ) -> Result<Response<proto::TailSessionsResponse>, Status> {
        let call = self
            .gate
            .admit(request, |wire| TailSessions::parse(&wire))
            .await?;
        let tails = self.messages.tails(call).await?;
        let tails = tails.into_iter().map(history::tail_to_proto).collect();
        Ok(Response::new(proto::TailSessionsResponse { tails }))
    }

    async fn search_messages(
        &self,
        request: Request<proto::SearchMessagesRequest>,
    ) -> Result<Response<proto::SearchMessagesResponse>, Status> {
        let call = self.gate.admit(request, SearchMessages::parse).await?;
        let page = self.messages.search(&self.gate, call).await?;
        Ok(Response::new(search::page_to_proto(page)))
    }

    async fn fork_transcript(
        &self,
        request: Request<proto::ForkTranscriptRequest>,
    ) -> Result<Response<proto::ForkTranscriptResponse>, Status> {
        let caller = caller_of(&request)?;
        let asked = ForkTranscript::parse(request.into_inner())?;
        let admission = self.messages.admit_fork(&self.gate, caller, asked).await?;
        let messages = self.messages.fork(admission).await?;
        let messages = wire::numbers::to_i64(messages);
        Ok(Response::new(proto::ForkTranscriptResponse { messages }))
    }

    async fn export_transcript(
        &self,
        request: Request<proto::ExportTranscriptRequest>,
    ) -> Result<Response<export::Pieces>, Status> {
        export::export(self, request).await
    }

    async fn import_transcript(
        &self,
        request: Request<Streaming<proto::ImportTranscriptRequest>>,
    ) -> Result<Response<proto::ImportTranscriptResponse>, Status> {
        import::import(self, request).await
    }
}
