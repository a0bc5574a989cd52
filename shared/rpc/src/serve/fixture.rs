//! A small service for tests, served over the network and in process.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use confab_model::clock::{ManualClock, Timestamp};
use confab_model::id::{AgentId, RunId};
use confab_model::key::{KeyRules, Scope};
use confab_proto::registry::v1::registry_service_server::{RegistryService, RegistryServiceServer};
use confab_proto::registry::v1::{
    AuthorizeRequest, AuthorizeResponse, GetStatusRequest, GetStatusResponse, ListAgentsRequest,
    ListAgentsResponse, WatchSessionsRequest, WatchSessionsResponse,
};
use confab_telemetry::Metrics;
use futures::StreamExt as _;
use secrecy::SecretString;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::codegen::BoxStream;
use tonic::{Request, Response, Status};

use super::{HttpListen, HttpSide, Listen, ServeError, Server, Services};
use crate::caller::Caller;
use crate::clients::{Call, Credentials, RegistryClient, Transport, connect};
use crate::gate::caller_of;
use crate::identity::{Authenticator, Minter, Named, RunTokens, VerifyingKey};
use crate::layer::Stack;

pub(crate) const SECRET: &str = "a secret of thirty-two bytes, or more";
pub(crate) const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// What a test serves.
pub(crate) struct Fixture {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) metrics: Metrics,
    pub(crate) stack: Stack,
    pub(crate) services: Services,
    /// Told whenever a `GetStatus` has begun.
    pub(crate) entered: mpsc::UnboundedReceiver<()>,
    /// Lets one `GetStatus` end with each permit.
    pub(crate) release: Arc<Semaphore>,
}

/// A fixture that is served.
pub(crate) struct Running {
    pub(crate) grpc: SocketAddr,
    pub(crate) http: SocketAddr,
    pub(crate) ready_line: String,
    pub(crate) stop: CancellationToken,
    pub(crate) served: JoinHandle<Result<(), ServeError>>,
}

/// Knows one run: its token is `live`, unless it is over.
#[derive(Debug)]
pub(crate) struct OneRun {
    pub(crate) caller: Caller,
    pub(crate) alive: bool,
}

impl RunTokens for OneRun {
    fn resolve(&self, token: &str) -> Option<Caller> {
        (token == "live" && self.alive).then(|| self.caller.clone())
    }

    fn is_alive(&self, _run: &RunId) -> bool {
        self.alive
    }
}

pub(crate) fn rules() -> KeyRules {
    let agent = AgentId::normalise("writer");
    KeyRules {
        agents: vec![agent.clone()],
        default_agent: agent,
        scope: Scope::PerSender,
    }
}

pub(crate) fn open() -> Authenticator {
    Authenticator::open(Arc::new(rules))
}

pub(crate) fn jwt(clock: &Arc<ManualClock>) -> Authenticator {
    let key = VerifyingKey::hs256("k1", &SecretString::from(SECRET)).unwrap();
    let clock = Arc::clone(clock);
    Authenticator::jwt(vec![key], Arc::new(rules), clock)
}

pub(crate) fn minter(clock: &Arc<ManualClock>) -> Minter {
    let clock = Arc::clone(clock);
    Minter::hs256("k1", &SecretString::from(SECRET), clock).unwrap()
}

impl Fixture {
    pub(crate) fn open() -> Self {
        let clock = Arc::new(ManualClock::starting_at(START));
        Self::new(open(), clock)
    }

    pub(crate) fn jwt() -> Self {
        let clock = Arc::new(ManualClock::starting_at(START));
        Self::new(jwt(&clock), clock)
    }

    fn new(authenticator: Authenticator, clock: Arc<ManualClock>) -> Self {
        let metrics = Metrics::unexported().unwrap();
        let stack = Stack::new(Arc::new(authenticator), &metrics);
        let (begun, entered) = mpsc::unbounded_channel();
        let release = Arc::new(Semaphore::new(0));
        let registry = Registry {
            begun,
            release: Arc::clone(&release),
        };
        let mut services = Services::default();
        services.add(crate::server!(RegistryServiceServer::new(registry)));
        Self {
            clock,
            metrics,
            stack,
            services,
            entered,
            release,
        }
    }

    /// The service in process.
    pub(crate) fn in_process(&self) -> Transport {
        self.stack.in_process(self.services.routes())
    }

    pub(crate) fn server(&self) -> Server {
        Server {
            name: "confab-registry",
            stack: self.stack.clone(),
            services: self.services.clone(),
            listen: Listen::new(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), None),
            http: HttpSide {
                fingerprint: Arc::new(|| "0123456789ab".to_owned()),
                checks: Vec::new(),
                metrics: self.metrics.clone(),
            },
        }
    }

    /// The service on a free port.
    pub(crate) async fn serve(&self) -> Running {
        start(self.server()).await
    }

    /// The same service over the network and in process, each with a name.
    pub(crate) async fn both(&self) -> [(&'static str, Transport); 2] {
        let running = self.serve().await;
        [
            ("over the network", running.transport()),
            ("in process", self.in_process()),
        ]
    }
}

pub(crate) async fn start(server: Server) -> Running {
    let listening = server.bind().await.unwrap();
    let stop = CancellationToken::new();
    Running {
        grpc: listening.grpc_address(),
        http: listening.http_address().unwrap(),
        ready_line: listening.ready_line(),
        stop: stop.clone(),
        served: TaskTracker::new().spawn(listening.serve(stop)),
    }
}

impl Running {
    pub(crate) fn transport(&self) -> Transport {
        connect(&format!("http://{}", self.grpc)).unwrap()
    }
}

pub(crate) fn client(transport: &Transport, credentials: Credentials) -> RegistryClient {
    RegistryClient::new(Call::new(transport.clone(), credentials))
}

/// A client that names itself as `named` says.
pub(crate) fn named(transport: &Transport, named: Named) -> RegistryClient {
    client(transport, Credentials::Named(named))
}

pub(crate) fn bearer(token: &str) -> Credentials {
    Credentials::Bearer(SecretString::from(token))
}

/// Whom the service takes the client for.
pub(crate) async fn seen(client: &RegistryClient) -> Result<String, Status> {
    let answer = client
        .clone()
        .list_agents(ListAgentsRequest::default())
        .await?;
    Ok(answer.into_inner().requester.unwrap())
}

/// A caller in one line.
pub(crate) fn line(caller: &Caller) -> String {
    let session = caller.session().map_or("-", |session| session.as_str());
    let run = caller.run().map_or("-", RunId::as_str);
    let subject = caller.subject.as_deref().unwrap_or("-");
    format!(
        "{} {} {session} {run} {subject}",
        caller.role().as_str(),
        caller.tenant
    )
}

#[derive(Debug)]
struct Registry {
    begun: mpsc::UnboundedSender<()>,
    release: Arc<Semaphore>,
}

#[tonic::async_trait]
impl RegistryService for Registry {
    /// Tells whom it takes the caller for.
    async fn list_agents(
        &self,
        request: Request<ListAgentsRequest>,
    ) -> Result<Response<ListAgentsResponse>, Status> {
        let caller = caller_of(&request)?;
        Ok(Response::new(ListAgentsResponse {
            requester: Some(line(&caller)),
            allow_any: false,
            agents: Vec::new(),
        }))
    }

    /// Answers when it is let.
    async fn get_status(
        &self,
        _request: Request<GetStatusRequest>,
    ) -> Result<Response<GetStatusResponse>, Status> {
        self.begun.send(()).unwrap();
        self.release.acquire().await.unwrap().forget();
        Ok(Response::new(GetStatusResponse::default()))
    }

    async fn authorize(
        &self,
        _request: Request<AuthorizeRequest>,
    ) -> Result<Response<AuthorizeResponse>, Status> {
        Ok(Response::new(AuthorizeResponse::default()))
    }

    /// One change and then nothing, without end.
    async fn watch_sessions(
        &self,
        _request: Request<WatchSessionsRequest>,
    ) -> Result<Response<BoxStream<WatchSessionsResponse>>, Status> {
        let one = futures::stream::iter([Ok(WatchSessionsResponse::default())]);
        Ok(Response::new(Box::pin(
            one.chain(futures::stream::pending()),
        )))
    }
}

/// Long enough for a slow machine, short enough for a test that must fail.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Listens on every address, for a test of what may not.
pub(crate) fn everywhere() -> Listen {
    Listen {
        grpc: SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        http: HttpListen::Off,
    }
}
