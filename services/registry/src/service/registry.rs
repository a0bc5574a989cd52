//! `confab.registry.v1.RegistryService`.

use std::sync::Arc;

use confab_proto::registry::v1 as proto;
use confab_proto::registry::v1::registry_service_server::RegistryService;
use confab_rpc::gate::Gate;
use confab_rpc::wire;
use tonic::{Request, Response, Status};

use crate::Sessions;
use crate::authorize::LocalAuthority;
use crate::commands::{Authorize, CreateSession, FindSession, ListSessions, RecordActivity};
use crate::service::Rows;
use crate::store::RegistryStore;

/// The registry's methods over its use cases.
#[derive(Debug)]
pub struct RegistryApi<S> {
    sessions: Arc<Sessions<S>>,
    gate: Gate<LocalAuthority<S>>,
    rows: Rows,
}

impl<S: RegistryStore> RegistryApi<S> {
    /// The methods over `sessions`, whose rows are rendered by `rows`.
    pub fn new(sessions: Arc<Sessions<S>>, rows: Rows) -> Self {
        let gate = Gate::new(LocalAuthority::new(Arc::clone(&sessions)));
        Self {
            sessions,
            gate,
            rows,
        }
    }
}

#[tonic::async_trait]
impl<S: RegistryStore> RegistryService for RegistryApi<S> {
    async fn create_session(
        &self,
        request: Request<proto::CreateSessionRequest>,
    ) -> Result<Response<proto::CreateSessionResponse>, Status> {
        let call = self.gate.admit(request, CreateSession::parse).await?;
        let caller = call.caller().clone();
        let made = self.sessions.create(call).await?;
        let session = Some(self.rows.show(&made.session, &caller));
        Ok(Response::new(proto::CreateSessionResponse {
            session,
            created: made.created,
        }))
    }

    async fn get_session(
        &self,
        request: Request<proto::GetSessionRequest>,
    ) -> Result<Response<proto::GetSessionResponse>, Status> {
        let call = self.gate.admit(request, FindSession::get).await?;
        let session = Some(self.rows.show(call.session()?, call.caller()));
        Ok(Response::new(proto::GetSessionResponse { session }))
    }

    async fn resolve_session(
        &self,
        request: Request<proto::ResolveSessionRequest>,
    ) -> Result<Response<proto::ResolveSessionResponse>, Status> {
        let call = self.gate.admit(request, FindSession::resolve).await?;
        let session = Some(self.rows.show(call.session()?, call.caller()));
        Ok(Response::new(proto::ResolveSessionResponse { session }))
    }

    async fn list_sessions(
        &self,
        request: Request<proto::ListSessionsRequest>,
    ) -> Result<Response<proto::ListSessionsResponse>, Status> {
        let call = self.gate.admit(request, ListSessions::parse).await?;
        let caller = call.caller().clone();
        let page = self.sessions.list(call).await?;
        Ok(Response::new(proto::ListSessionsResponse {
            sessions: page
                .sessions
                .iter()
                .map(|row| self.rows.show(row, &caller))
                .collect(),
            has_more: page.next_page_token.is_some(),
            next_page_token: page.next_page_token,
            limit_applied: page.limit_applied.map(wire::numbers::to_i32),
            visibility: page.note.map(wire::authorize::note_to_proto),
        }))
    }

    async fn authorize(
        &self,
        request: Request<proto::AuthorizeRequest>,
    ) -> Result<Response<proto::AuthorizeResponse>, Status> {
        let (call, ..) = self
            .gate
            .admit(request, Authorize::parse)
            .await?
            .into_parts();
        let answer = self.sessions.authorize(call.question).await?;
        Ok(Response::new(wire::authorize::answer_to_proto(answer)))
    }

    async fn record_activity(
        &self,
        request: Request<proto::RecordActivityRequest>,
    ) -> Result<Response<proto::RecordActivityResponse>, Status> {
        let call = self.gate.admit(request, RecordActivity::parse).await?;
        self.sessions.record_activity(call).await?;
        Ok(Response::new(proto::RecordActivityResponse {}))
    }
}
