//! Thin tonic adapters: parse, admit, one call, render.

use std::sync::Arc;

use confab_proto::transcript::v1 as proto;
use confab_proto::transcript::v1::transcript_service_server::TranscriptService;
use confab_rpc::gate::{Authority, Gate, caller_of};
use confab_rpc::wire;
use tonic::{Request, Response, Status};

use crate::Messages;
use crate::commands::{AppendMessages, GetHistory, TailSessions};
use crate::history::{HistoryPage, Paging};
use crate::store::TranscriptStore;
use crate::tails::SessionTail;

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
impl<S: TranscriptStore, A: Authority> TranscriptService for TranscriptApi<S, A> {
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
        Ok(Response::new(page_to_proto(page)))
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
        let tails = tails.into_iter().map(tail_to_proto).collect();
        Ok(Response::new(proto::TailSessionsResponse { tails }))
    }
}

fn page_to_proto(page: HistoryPage) -> proto::GetHistoryResponse {
    let bounded = page.bounded;
    proto::GetHistoryResponse {
        session_key: page.session_key.to_string(),
        display_key: page.display_key,
        session_id: page.session_id.to_string(),
        truncated: bounded.is_truncated(),
        dropped_messages: bounded.dropped_messages,
        content_truncated: bounded.content_truncated,
        content_redacted: false,
        bytes: i64::try_from(bounded.bytes).unwrap_or(i64::MAX),
        messages: bounded
            .messages
            .iter()
            .map(|(message, placeholder)| proto::ShownMessage {
                message: Some(wire::message::to_proto(message)),
                placeholder: *placeholder,
            })
            .collect(),
        limit_applied: page.limit_applied.map(wire::numbers::to_i32),
        paging: page.paging.map(paging_to_proto),
    }
}

fn paging_to_proto(paging: Paging) -> proto::HistoryPaging {
    proto::HistoryPaging {
        offset: wire::numbers::to_i64(paging.offset),
        total_messages: wire::numbers::to_i64(paging.total_messages),
        has_more: paging.next_offset.is_some(),
        next_offset: paging.next_offset.map(wire::numbers::to_i64),
        snapshot: wire::numbers::to_i64(paging.snapshot),
    }
}

fn tail_to_proto(tail: SessionTail) -> proto::SessionTail {
    proto::SessionTail {
        session_key: tail.session_key.to_string(),
        messages: tail.messages.iter().map(wire::message::to_proto).collect(),
        first_user_text: tail.first_user_text,
    }
}
