//! The runner service.

use std::sync::Arc;

use confab_proto::runner::v1::runner_service_server::RunnerService;
use confab_proto::runner::v1::{
    ArchiveSessionRequest, ArchiveSessionResponse, DeleteSessionRequest, DeleteSessionResponse,
    GetFlowRequest, GetFlowResponse, GetRunRequest, GetRunResponse, ListFlowsRequest,
    ListFlowsResponse, ListRunsRequest, ListRunsResponse, ResetSessionRequest,
    ResetSessionResponse, RestoreSessionRequest, RestoreSessionResponse, SendMessageRequest,
    SendMessageResponse, SendRequest, SendResponse, StartRunRequest, StartRunResponse,
    SweepSessionsRequest, SweepSessionsResponse, WaitFlowRequest, WaitFlowResponse, WaitRunRequest,
    WaitRunResponse,
};
use tonic::{Request, Response, Status};

use super::render::Renderer;
use crate::accept::Acceptance;
use crate::commands::{
    ChangeSession, GetFlow, GetRun, HumanMessage, ListFlows, ListRuns, SendToSession, StartRun,
    SweepSessions, WaitFlow, WaitRun,
};
use crate::context::Context;
use crate::lifecycle::Lifecycle;
use crate::lifecycle::sweep::Sweeps;
use crate::records::Records;
use crate::send::Sends;
use crate::store::RunnerStore;

/// The runner service.
#[derive(Debug)]
pub struct RunnerApi<S> {
    context: Arc<Context<S>>,
    acceptance: Acceptance<S>,
    sends: Sends<S>,
    lifecycle: Lifecycle<S>,
    sweeps: Sweeps<S>,
    records: Records<S>,
}

impl<S: RunnerStore> RunnerApi<S> {
    /// Over the runner's context.
    pub fn new(context: &Arc<Context<S>>) -> Self {
        Self {
            context: Arc::clone(context),
            acceptance: Acceptance::new(Arc::clone(context)),
            sends: Sends::new(Arc::clone(context)),
            lifecycle: Lifecycle::new(Arc::clone(context)),
            sweeps: Sweeps::new(Arc::clone(context)),
            records: Records::new(Arc::clone(context)),
        }
    }

    fn renderer(&self) -> Renderer {
        Renderer::of(&self.context.settings())
    }
}

#[tonic::async_trait]
impl<S: RunnerStore> RunnerService for RunnerApi<S> {
    async fn send_message(
        &self,
        request: Request<SendMessageRequest>,
    ) -> Result<Response<SendMessageResponse>, Status> {
        let admission = self.acceptance.admit(request, HumanMessage::parse).await?;
        let admission = self.lifecycle.refresh(&self.acceptance, admission).await?;
        let accepted = self.acceptance.human_message(admission).await?;
        let record = self.records.own_run(&accepted).await?;
        Ok(Response::new(SendMessageResponse {
            run: Some(self.renderer().run(&record)),
        }))
    }

    async fn start_run(
        &self,
        request: Request<StartRunRequest>,
    ) -> Result<Response<StartRunResponse>, Status> {
        let admission = self
            .acceptance
            .admit(request, |_, wire| StartRun::parse(wire))
            .await?;
        let accepted = self.acceptance.start_run(admission).await?;
        let record = self.records.own_run(&accepted).await?;
        Ok(Response::new(StartRunResponse {
            run: Some(self.renderer().run(&record)),
        }))
    }

    async fn send(&self, request: Request<SendRequest>) -> Result<Response<SendResponse>, Status> {
        let admission = self
            .acceptance
            .admit(request, |_, wire| SendToSession::parse(wire))
            .await?;
        let sent = self.sends.send(admission).await?;
        Ok(Response::new(self.renderer().sent(&sent)))
    }

    async fn wait_run(
        &self,
        request: Request<WaitRunRequest>,
    ) -> Result<Response<WaitRunResponse>, Status> {
        let waited = self.records.wait_run(request, WaitRun::parse).await?;
        let run = Some(self.renderer().run(&waited.record));
        Ok(Response::new(WaitRunResponse {
            run,
            timed_out: waited.timed_out,
        }))
    }

    async fn get_run(
        &self,
        request: Request<GetRunRequest>,
    ) -> Result<Response<GetRunResponse>, Status> {
        let record = self.records.run(request, GetRun::parse).await?;
        Ok(Response::new(GetRunResponse {
            run: Some(self.renderer().run(&record)),
        }))
    }

    async fn list_runs(
        &self,
        request: Request<ListRunsRequest>,
    ) -> Result<Response<ListRunsResponse>, Status> {
        let admitted = self.context.gate.admit(request, ListRuns::parse).await?;
        let page = self.records.runs(&admitted).await?;
        Ok(Response::new(self.renderer().runs(&page)))
    }

    async fn get_flow(
        &self,
        request: Request<GetFlowRequest>,
    ) -> Result<Response<GetFlowResponse>, Status> {
        let detail = self.records.flow(request, GetFlow::parse).await?;
        let shown = self.renderer().flow_in_short(&detail);
        Ok(Response::new(GetFlowResponse {
            flow: Some(shown.flow),
            runs: shown.runs,
            deliveries: shown.deliveries,
        }))
    }

    async fn list_flows(
        &self,
        request: Request<ListFlowsRequest>,
    ) -> Result<Response<ListFlowsResponse>, Status> {
        let admitted = self.context.gate.admit(request, ListFlows::parse).await?;
        let page = self.records.flows(&admitted).await?;
        Ok(Response::new(self.renderer().flows(&page)))
    }

    async fn wait_flow(
        &self,
        request: Request<WaitFlowRequest>,
    ) -> Result<Response<WaitFlowResponse>, Status> {
        let waited = self.records.wait_flow(request, WaitFlow::parse).await?;
        let shown = self.renderer().flow_in_short(&waited.record);
        Ok(Response::new(WaitFlowResponse {
            flow: Some(shown.flow),
            runs: shown.runs,
            deliveries: shown.deliveries,
            timed_out: waited.timed_out,
        }))
    }

    async fn reset_session(
        &self,
        request: Request<ResetSessionRequest>,
    ) -> Result<Response<ResetSessionResponse>, Status> {
        let session = self.lifecycle.change(request, ChangeSession::reset).await?;
        Ok(Response::new(ResetSessionResponse { session }))
    }

    async fn archive_session(
        &self,
        request: Request<ArchiveSessionRequest>,
    ) -> Result<Response<ArchiveSessionResponse>, Status> {
        let session = self
            .lifecycle
            .change(request, ChangeSession::archive)
            .await?;
        Ok(Response::new(ArchiveSessionResponse { session }))
    }

    async fn restore_session(
        &self,
        request: Request<RestoreSessionRequest>,
    ) -> Result<Response<RestoreSessionResponse>, Status> {
        let session = self
            .lifecycle
            .change(request, ChangeSession::restore)
            .await?;
        Ok(Response::new(RestoreSessionResponse { session }))
    }

    async fn delete_session(
        &self,
        request: Request<DeleteSessionRequest>,
    ) -> Result<Response<DeleteSessionResponse>, Status> {
        self.lifecycle
            .change(request, ChangeSession::delete)
            .await?;
        Ok(Response::new(DeleteSessionResponse {}))
    }

    async fn sweep_sessions(
        &self,
        request: Request<SweepSessionsRequest>,
    ) -> Result<Response<SweepSessionsResponse>, Status> {
        let parse = |wire| Ok(SweepSessions::from(wire));
        let admitted = self.context.gate.admit(request, parse).await?;
        let swept = self.sweeps.sweep(&admitted).await?;
        Ok(Response::new(self.renderer().swept(&swept)))
    }
}
