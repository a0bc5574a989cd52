//! Services that answer what a test tells them to, behind the layer that finds the caller.

use std::sync::{Arc, Mutex, MutexGuard};

use confab_model::id::{AgentId, RunId, TenantId};
use confab_model::key::{KeyRules, Scope, SessionKey};
use confab_proto::registry::v1::registry_service_server::{RegistryService, RegistryServiceServer};
use confab_proto::registry::v1::{
    GetStatusRequest, GetStatusResponse, GetToolPolicyRequest, GetToolPolicyResponse,
    ListAgentsRequest, ListAgentsResponse, ListSessionsRequest, ListSessionsResponse,
    PatchSessionRequest, PatchSessionResponse,
};
use confab_proto::runner::v1::runner_service_server::{RunnerService, RunnerServiceServer};
use confab_proto::runner::v1::{
    GetFlowRequest, GetFlowResponse, GetRunRequest, GetRunResponse, SendRequest, SendResponse,
};
use confab_proto::tools::v1::tools_service_server::ToolsServiceServer;
use confab_proto::transcript::v1::transcript_service_server::{
    TranscriptService, TranscriptServiceServer,
};
use confab_proto::transcript::v1::{
    GetHistoryRequest, GetHistoryResponse, SearchMessagesRequest, SearchMessagesResponse,
    TailSessionsRequest, TailSessionsResponse,
};
use confab_rpc::caller::Caller;
use confab_rpc::clients::{
    Call, Credentials, RegistryClient, RunnerClient, ToolsClient, TranscriptClient, Transport,
};
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::caller_of;
use confab_rpc::identity::{Authenticator, Named};
use confab_rpc::layer::{AroundLayer, Callers};
use confab_tools::{Clients, Toolbox, ToolsServer};
use tonic::service::Routes;
use tonic::{Request, Response, Status};
use tower::util::BoxCloneSyncService;
use tower::{Layer as _, ServiceExt as _};

/// A request as it reached a service.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Asked {
    List(ListSessionsRequest),
    Tails(TailSessionsRequest),
    History(GetHistoryRequest),
    Search(SearchMessagesRequest),
    Send(SendRequest),
    Status(GetStatusRequest),
    Patch(Box<PatchSessionRequest>),
    Agents,
    Policy,
    Run(GetRunRequest),
    Flow(GetFlowRequest),
}

/// What the services answer, and what they were asked.
#[derive(Clone, Debug)]
pub(crate) struct Fakes {
    pub(crate) sessions: Result<ListSessionsResponse, RpcError>,
    pub(crate) tails: Result<TailSessionsResponse, RpcError>,
    pub(crate) history: Result<GetHistoryResponse, RpcError>,
    pub(crate) found: Result<SearchMessagesResponse, RpcError>,
    pub(crate) sent: Result<SendResponse, RpcError>,
    /// Its changes are told to those who ask for some.
    pub(crate) status: Result<GetStatusResponse, RpcError>,
    pub(crate) patched: Result<PatchSessionResponse, RpcError>,
    pub(crate) agents: Result<ListAgentsResponse, RpcError>,
    pub(crate) policy: Result<GetToolPolicyResponse, RpcError>,
    pub(crate) run: Result<GetRunResponse, RpcError>,
    pub(crate) flow: Result<GetFlowResponse, RpcError>,
    pub(crate) log: Arc<Mutex<Vec<(Caller, Asked)>>>,
}

impl Default for Fakes {
    fn default() -> Self {
        let nothing = || RpcError::new(Reason::Internal, "the test gave no answer");
        Self {
            sessions: Err(nothing()),
            tails: Err(nothing()),
            history: Err(nothing()),
            found: Err(nothing()),
            sent: Err(nothing()),
            status: Err(nothing()),
            patched: Err(nothing()),
            agents: Err(nothing()),
            policy: Err(nothing()),
            run: Err(nothing()),
            flow: Err(nothing()),
            log: Arc::default(),
        }
    }
}

impl Fakes {
    /// The tools over these services.
    pub(crate) fn toolbox(&self) -> Toolbox {
        let registry = Routes::new(RegistryServiceServer::new(self.clone()));
        let transcript = Routes::new(TranscriptServiceServer::new(self.clone()));
        let runner = Routes::new(RunnerServiceServer::new(self.clone()));
        let service = || Credentials::service("runner", None);
        Toolbox::new(Clients {
            registry: RegistryClient::new(Call::new(transport(registry), service())),
            transcript: TranscriptClient::new(Call::new(transport(transcript), service())),
            runner: RunnerClient::new(Call::new(transport(runner), service())),
        })
    }

    /// A client of the tools as a service, for the agent of `session`.
    pub(crate) fn served(&self, session: &str) -> ToolsClient {
        let routes = Routes::new(ToolsServiceServer::new(ToolsServer(self.toolbox())));
        let named = Named {
            session: Some(session.to_owned()),
            ..Named::default()
        };
        ToolsClient::new(Call::new(transport(routes), Credentials::Named(named)))
    }

    fn log(&self) -> MutexGuard<'_, Vec<(Caller, Asked)>> {
        self.log
            .lock()
            .expect("no test panics while it holds the log")
    }

    /// What the services were asked, each with the caller that was judged.
    pub(crate) fn asked(&self) -> Vec<(Caller, Asked)> {
        self.log().clone()
    }

    /// What the services were asked.
    pub(crate) fn requests(&self) -> Vec<Asked> {
        self.asked().into_iter().map(|(_, asked)| asked).collect()
    }

    fn answer<P, A: Clone>(
        &self,
        request: Request<P>,
        asked: impl FnOnce(P) -> Asked,
        answer: &Result<A, RpcError>,
    ) -> Result<Response<A>, Status> {
        let caller = caller_of(&request)?;
        self.log().push((caller, asked(request.into_inner())));
        Ok(Response::new(answer.clone()?))
    }
}

/// The agent of `session`, without a run.
pub(crate) fn agent(session: &str) -> Caller {
    Caller::agent(
        TenantId::default(),
        SessionKey::parse(session).expect("a key"),
        None,
    )
}

/// The agent of `session`, in a run of it.
pub(crate) fn agent_in(session: &str, run: &str) -> Caller {
    Caller::agent(
        TenantId::default(),
        SessionKey::parse(session).expect("a key"),
        Some(RunId::parse(run).expect("an identifier")),
    )
}

fn transport(routes: Routes) -> Transport {
    let rules = || KeyRules {
        agents: vec![AgentId::normalise("writer")],
        default_agent: AgentId::normalise("writer"),
        scope: Scope::PerSender,
    };
    let callers = Callers(Arc::new(Authenticator::open(Arc::new(rules))));
    let service = AroundLayer(callers).layer(routes.prepare());
    BoxCloneSyncService::new(service.map_err(|never| match never {}))
}

#[tonic::async_trait]
impl RegistryService for Fakes {
    async fn list_sessions(
        &self,
        request: Request<ListSessionsRequest>,
    ) -> Result<Response<ListSessionsResponse>, Status> {
        self.answer(request, Asked::List, &self.sessions)
    }

    async fn get_status(
        &self,
        request: Request<GetStatusRequest>,
    ) -> Result<Response<GetStatusResponse>, Status> {
        let told = request.get_ref().changes_since.is_some();
        let status = self.status.clone().map(|status| GetStatusResponse {
            changes: status.changes.filter(|_| told),
            ..status
        });
        self.answer(request, Asked::Status, &status)
    }

    async fn patch_session(
        &self,
        request: Request<PatchSessionRequest>,
    ) -> Result<Response<PatchSessionResponse>, Status> {
        self.answer(
            request,
            |patch| Asked::Patch(Box::new(patch)),
            &self.patched,
        )
    }

    async fn list_agents(
        &self,
        request: Request<ListAgentsRequest>,
    ) -> Result<Response<ListAgentsResponse>, Status> {
        self.answer(request, |_| Asked::Agents, &self.agents)
    }

    async fn get_tool_policy(
        &self,
        request: Request<GetToolPolicyRequest>,
    ) -> Result<Response<GetToolPolicyResponse>, Status> {
        self.answer(request, |_| Asked::Policy, &self.policy)
    }
}

#[tonic::async_trait]
impl TranscriptService for Fakes {
    async fn tail_sessions(
        &self,
        request: Request<TailSessionsRequest>,
    ) -> Result<Response<TailSessionsResponse>, Status> {
        self.answer(request, Asked::Tails, &self.tails)
    }

    async fn get_history(
        &self,
        request: Request<GetHistoryRequest>,
    ) -> Result<Response<GetHistoryResponse>, Status> {
        self.answer(request, Asked::History, &self.history)
    }

    async fn search_messages(
        &self,
        request: Request<SearchMessagesRequest>,
    ) -> Result<Response<SearchMessagesResponse>, Status> {
        self.answer(request, Asked::Search, &self.found)
    }
}

#[tonic::async_trait]
impl RunnerService for Fakes {
    async fn send(&self, request: Request<SendRequest>) -> Result<Response<SendResponse>, Status> {
        self.answer(request, Asked::Send, &self.sent)
    }

    async fn get_run(
        &self,
        request: Request<GetRunRequest>,
    ) -> Result<Response<GetRunResponse>, Status> {
        self.answer(request, Asked::Run, &self.run)
    }

    async fn get_flow(
        &self,
        request: Request<GetFlowRequest>,
    ) -> Result<Response<GetFlowResponse>, Status> {
        self.answer(request, Asked::Flow, &self.flow)
    }
}
