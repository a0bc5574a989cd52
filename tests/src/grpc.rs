//! Typed gRPC, as any client speaks it that was generated from the protos.

use std::future::Future;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use confab_proto::types::v1::SessionTarget;
use prost::Message;
use tokio::runtime::Runtime;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::MetadataMap;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status, Streaming};
use tonic_prost::ProstCodec;
use tonic_types::StatusExt as _;

use crate::deployment::Deployment;
use crate::process::Server;

/// The registry's service.
pub const REGISTRY: &str = "confab.registry.v1.RegistryService";
/// The transcript's service.
pub const TRANSCRIPT: &str = "confab.transcript.v1.TranscriptService";
/// The runner's service.
pub const RUNNER: &str = "confab.runner.v1.RunnerService";
/// The service that explains decisions, on the registry.
pub const POLICY: &str = "confab.policy.v1.PolicyService";
/// The service of the session tools, on the runner.
pub const TOOLS: &str = "confab.tools.v1.ToolsService";

/// Longest time a call may take, in seconds: more than any wait it asks for.
const CALL_SECONDS_MAX: u64 = 180;

/// Whom a call names as its caller, in open mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller(Vec<(&'static str, String)>);

impl Caller {
    /// A person, or a backend that runs the installation: who says nothing.
    pub const fn operator() -> Self {
        Self(Vec::new())
    }

    /// The agent of a session.
    pub fn agent(session: &str) -> Self {
        Self(vec![
            ("confab-role", "agent".to_owned()),
            ("confab-session", session.to_owned()),
        ])
    }

    /// A channel adapter.
    pub fn channel(channel: &str) -> Self {
        Self(vec![
            ("confab-role", "channel".to_owned()),
            ("confab-channel", channel.to_owned()),
        ])
    }

    /// A worker of an agent.
    pub fn worker(agent: &str) -> Self {
        Self(vec![
            ("confab-role", "worker".to_owned()),
            ("confab-agent", agent.to_owned()),
        ])
    }

    /// One of the services.
    pub fn service() -> Self {
        Self(vec![("confab-role", "service".to_owned())])
    }

    /// The same in another tenant.
    #[must_use]
    pub fn of_tenant(mut self, tenant: &str) -> Self {
        self.0.push(("confab-tenant", tenant.to_owned()));
        self
    }

    fn write(&self, metadata: &mut MetadataMap) -> Result<(), Status> {
        for (name, value) in &self.0 {
            let value = value.parse();
            let value = value.map_err(|_| Status::internal("a caller's name is no header"))?;
            metadata.insert(*name, value);
        }
        Ok(())
    }
}

/// Connections to the services, for asynchronous tests.
#[derive(Clone, Debug)]
pub struct Services {
    registry: Channel,
    transcript: Channel,
    runner: Channel,
}

impl Services {
    /// The connection to the service `name`.
    fn of(&self, name: &str) -> Channel {
        match name {
            REGISTRY | POLICY => self.registry.clone(),
            TRANSCRIPT => self.transcript.clone(),
            _ => self.runner.clone(),
        }
    }

    /// Makes a unary call.
    ///
    /// # Errors
    /// The refusal.
    pub async fn call<Q, A>(
        &self,
        service: &str,
        method: &str,
        message: Q,
        caller: &Caller,
    ) -> Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let path = path(service, method)?;
        let mut grpc = tonic::client::Grpc::new(self.of(service));
        ready(&mut grpc).await?;
        let codec = ProstCodec::<Q, A>::default();
        let answer = grpc.unary(request(message, caller)?, path, codec).await?;
        Ok(answer.into_inner())
    }

    /// Begins a call that is answered by a stream; every other call may be begun so too.
    ///
    /// # Errors
    /// The refusal.
    pub async fn stream<Q, A>(
        &self,
        service: &str,
        method: &str,
        message: Q,
        caller: &Caller,
    ) -> Result<Streaming<A>, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let path = path(service, method)?;
        let mut grpc = tonic::client::Grpc::new(self.of(service));
        ready(&mut grpc).await?;
        let codec = ProstCodec::<Q, A>::default();
        let request = request(message, caller)?;
        let answer = grpc.server_streaming(request, path, codec).await?;
        Ok(answer.into_inner())
    }
}

async fn ready(grpc: &mut tonic::client::Grpc<Channel>) -> Result<(), Status> {
    let ready = grpc.ready().await;
    ready.map_err(|error| Status::unavailable(error.to_string()))
}

fn path(service: &str, method: &str) -> Result<PathAndQuery, Status> {
    let path = PathAndQuery::try_from(format!("/{service}/{method}"));
    path.map_err(|_| Status::internal(format!("{service}/{method} is no path")))
}

fn request<Q>(message: Q, caller: &Caller) -> Result<Request<Q>, Status> {
    let mut request = Request::new(message);
    request.set_timeout(Duration::from_secs(CALL_SECONDS_MAX));
    caller.write(request.metadata_mut())?;
    Ok(request)
}

/// Typed calls to a deployment, for tests that wait for each.
#[derive(Debug)]
pub struct Grpc {
    runtime: Runtime,
    /// The connections.
    pub services: Services,
}

impl Grpc {
    /// Calls to the services of `deployment`.
    ///
    /// # Errors
    /// When it is not ready.
    pub fn to(deployment: &Deployment) -> anyhow::Result<Self> {
        let addresses = deployment.servers.iter().map(Server::grpc);
        Self::at(addresses.collect::<anyhow::Result<Vec<String>>>()?)
    }

    /// Calls to the services at these addresses: one for all, or registry, transcript and runner.
    ///
    /// # Errors
    /// When one is no address.
    pub fn at(addresses: Vec<String>) -> anyhow::Result<Self> {
        let runtime = Runtime::new()?;
        let inside = runtime.enter();
        let mut channels = Vec::new();
        for address in addresses {
            channels.push(Endpoint::from_shared(address)?.connect_lazy());
        }
        drop(inside);
        // One process is all three; three processes stand in the order in which they start.
        let of = |place: usize| {
            let channel = channels.get(place).or_else(|| channels.first());
            channel.cloned().context("no process")
        };
        let services = Services {
            registry: of(0)?,
            transcript: of(1)?,
            runner: of(2)?,
        };
        Ok(Self { runtime, services })
    }

    /// Makes a unary call.
    ///
    /// # Errors
    /// The refusal.
    pub fn call<Q, A>(
        &self,
        service: &str,
        method: &str,
        message: Q,
        caller: &Caller,
    ) -> Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        self.block_on(self.services.call(service, method, message, caller))
    }

    /// Runs asynchronous work to its end.
    pub fn block_on<F: Future>(&self, work: F) -> F::Output {
        self.runtime.block_on(work)
    }
}

/// The session under a key.
pub fn session(key: &str) -> SessionTarget {
    SessionTarget {
        session_key: Some(key.to_owned()),
        ..SessionTarget::default()
    }
}

/// The word that says why a call was refused; empty where the refusal carries none.
pub fn reason(status: &Status) -> String {
    let details = status.get_error_details();
    details
        .error_info()
        .map(|info| info.reason.clone())
        .unwrap_or_default()
}

/// What a call was refused with.
///
/// # Errors
/// When it was not.
pub fn refusal<A>(answer: Result<A, Status>) -> anyhow::Result<Status> {
    match answer {
        Ok(_) => Err(anyhow!("the call was not refused")),
        Err(status) => Ok(status),
    }
}
