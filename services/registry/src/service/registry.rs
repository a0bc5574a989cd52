//! `confab.registry.v1.RegistryService`.

use std::sync::Arc;

use confab_proto::registry::v1 as proto;
use confab_proto::registry::v1::registry_service_server::RegistryService;
use confab_rpc::gate::{Gate, caller_of};
use confab_rpc::wire;
use tokio_util::sync::CancellationToken;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status};

use crate::Sessions;
use crate::authorize::LocalAuthority;
use crate::awareness::changes_to_proto;
use crate::commands::{
    AckNotices, Authorize, CommitLifecycle, CreateSession, FindSession, GetStatus, GetToolPolicy,
    ImportSession, ListAgents, ListOverdueSessions, ListSessions, ListStateEvents, PatchSession,
    RecordActivity, WatchNotices, WatchSessions, WatchTarget,
};
use crate::service::rows::{Rows, show_agents, show_tool};
use crate::service::streams;
use crate::store::RegistryStore;

/// The registry's methods over its use cases.
#[derive(Debug)]
pub struct RegistryApi<S> {
    sessions: Arc<Sessions<S>>,
    gate: Gate<LocalAuthority<S>>,
    rows: Rows,
    /// Ends the answers that have no end of their own.
    stop: CancellationToken,
}

impl<S: RegistryStore> RegistryApi<S> {
    /// The methods over `sessions`, whose rows are rendered by `rows`; `stop` ends the answers that
    /// have no end of their own.
    pub fn new(sessions: Arc<Sessions<S>>, rows: Rows, stop: CancellationToken) -> Self {
        let gate = Gate::new(LocalAuthority::new(Arc::clone(&sessions)));
        Self {
            sessions,
            gate,
            rows,
            stop,
        }
    }
}

#[tonic::async_trait]
impl<S: RegistryStore> RegistryService for RegistryApi<S> {
    async fn create_session(
        &self,
        request: Request<proto::CreateSessionRequest>,
    ) -> Result<Response<proto::CreateSessionResponse>, Status> {
        let caller = caller_of(&request)?;
        let create = CreateSession::parse(request.get_ref().clone())?;
        let before = self.sessions.created_before(&caller, &create).await?;
        let made = if let Some(answer) = before {
            answer
        } else {
            let call = self.gate.admit(request, |_| Ok(create)).await?;
            self.sessions.create(call).await?
        };
        let session = Some(self.rows.show(&made.session, &caller));
        Ok(Response::new(proto::CreateSessionResponse {
            session,
            created: made.created,
        }))
    }

    async fn import_session(
        &self,
        request: Request<proto::ImportSessionRequest>,
    ) -> Result<Response<proto::ImportSessionResponse>, Status> {
        let settings = self.sessions.settings.current();
        let parse = |wire| ImportSession::parse(&settings, wire);
        let call = self.gate.admit(request, parse).await?;
        let caller = call.caller().clone();
        let imported = self.sessions.import(call).await?;
        Ok(Response::new(self.rows.show_import(imported, &caller)))
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
            sessions: self.rows.show_page(page.sessions, &caller),
            has_more: page.next_page_token.is_some(),
            next_page_token: page.next_page_token,
            limit_applied: page.limit_applied.map(wire::numbers::to_i32),
            faulty_rows: wire::numbers::to_i32(page.faulty),
            visibility: page.note.map(wire::authorize::note_to_proto),
        }))
    }

    async fn get_status(
        &self,
        request: Request<proto::GetStatusRequest>,
    ) -> Result<Response<proto::GetStatusResponse>, Status> {
        let call = self.gate.admit(request, GetStatus::parse).await?;
        let caller = call.caller().clone();
        let status = self.sessions.status(call).await?;
        Ok(Response::new(self.rows.show_status(status, &caller)))
    }

    async fn list_agents(
        &self,
        request: Request<proto::ListAgentsRequest>,
    ) -> Result<Response<proto::ListAgentsResponse>, Status> {
        let call = self.gate.admit(request, ListAgents::parse).await?;
        let page = self.sessions.list_agents(call).await?;
        Ok(Response::new(show_agents(page)))
    }

    async fn get_tool_policy(
        &self,
        request: Request<proto::GetToolPolicyRequest>,
    ) -> Result<Response<proto::GetToolPolicyResponse>, Status> {
        let call = self.gate.admit(request, GetToolPolicy::parse).await?;
        let verdicts = self.sessions.tool_policy(call).await?;
        Ok(Response::new(proto::GetToolPolicyResponse {
            tools: verdicts.into_iter().map(show_tool).collect(),
        }))
    }

    async fn patch_session(
        &self,
        request: Request<proto::PatchSessionRequest>,
    ) -> Result<Response<proto::PatchSessionResponse>, Status> {
        let caller = caller_of(&request)?;
        let settings = self.sessions.settings.current();
        let patch = PatchSession::parse(&settings, &caller, request.get_ref().clone())?;
        let before = self.sessions.patched_before(&caller, &patch).await?;
        let patched = if let Some(answer) = before {
            answer
        } else {
            let use_case = |call| self.sessions.patch(call);
            self.gate
                .carry_out(request, |_| Ok(patch), use_case)
                .await?
        };
        let session = Some(self.rows.show(&patched.session, &caller));
        Ok(Response::new(proto::PatchSessionResponse {
            session,
            changed: patched.changed,
        }))
    }

    async fn commit_lifecycle(
        &self,
        request: Request<proto::CommitLifecycleRequest>,
    ) -> Result<Response<proto::CommitLifecycleResponse>, Status> {
        let settings = self.sessions.settings.current();
        let parse = |wire| CommitLifecycle::parse(&settings, wire);
        let call = self.gate.admit(request, parse).await?;
        let caller = call.caller().clone();
        let committed = self.sessions.commit_lifecycle(call).await?;
        let session = committed
            .session
            .map(|session| self.rows.show(&session, &caller));
        Ok(Response::new(proto::CommitLifecycleResponse { session }))
    }

    async fn list_overdue_sessions(
        &self,
        request: Request<proto::ListOverdueSessionsRequest>,
    ) -> Result<Response<proto::ListOverdueSessionsResponse>, Status> {
        let call = self.gate.admit(request, ListOverdueSessions::parse).await?;
        let caller = call.caller().clone();
        let overdue = self.sessions.overdue(call).await?;
        Ok(Response::new(proto::ListOverdueSessionsResponse {
            sessions: overdue
                .into_iter()
                .map(|one| self.rows.show_overdue(one, &caller))
                .collect(),
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
        let tenant = call.question.caller.tenant.clone();
        let mut answer = self.sessions.authorize(call.question).await?;
        if let Some(scope) = answer.scope.take() {
            answer.scope = Some(self.sessions.spell_out(&tenant, scope).await?);
        }
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

    async fn list_state_events(
        &self,
        request: Request<proto::ListStateEventsRequest>,
    ) -> Result<Response<proto::ListStateEventsResponse>, Status> {
        let call = self.gate.admit(request, ListStateEvents::parse).await?;
        let changes = self.sessions.list_state_events(call).await?;
        Ok(Response::new(proto::ListStateEventsResponse {
            changes: Some(changes_to_proto(changes)),
        }))
    }

    async fn watch_target(
        &self,
        request: Request<proto::WatchTargetRequest>,
    ) -> Result<Response<proto::WatchTargetResponse>, Status> {
        let call = self.gate.admit(request, WatchTarget::parse).await?;
        let watched = self.sessions.watch_target(call).await?;
        Ok(Response::new(proto::WatchTargetResponse { watched }))
    }

    async fn watch_notices(
        &self,
        request: Request<proto::WatchNoticesRequest>,
    ) -> Result<Response<BoxStream<proto::WatchNoticesResponse>>, Status> {
        let call = self.gate.admit(request, WatchNotices::parse).await?;
        let notices = self.sessions.notices(&call);
        Ok(Response::new(streams::notices(notices, self.stop.clone())))
    }

    async fn ack_notices(
        &self,
        request: Request<proto::AckNoticesRequest>,
    ) -> Result<Response<proto::AckNoticesResponse>, Status> {
        let call = self.gate.admit(request, AckNotices::parse).await?;
        self.sessions.acknowledge(call).await?;
        Ok(Response::new(proto::AckNoticesResponse {}))
    }

    async fn watch_sessions(
        &self,
        request: Request<proto::WatchSessionsRequest>,
    ) -> Result<Response<BoxStream<proto::WatchSessionsResponse>>, Status> {
        let call = self.gate.admit(request, WatchSessions::parse).await?;
        let (sessions, rows) = (Arc::clone(&self.sessions), self.rows.clone());
        let told = streams::sessions(sessions, rows, call, self.stop.clone()).await?;
        Ok(Response::new(told))
    }
}
