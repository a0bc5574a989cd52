//! A server's life: bind, serve, drain.
//!
//! Every binary serves in the same way: the generated services behind the [`Stack`], with health,
//! reflection and gRPC-Web on one port, and health, readiness and metrics over HTTP on another.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use confab_config::Live;
//! # use confab_model::clock::Clock;
//! # use confab_proto::registry::v1::registry_service_server::{
//! #     RegistryService, RegistryServiceServer,
//! # };
//! # use confab_rpc::identity::{Authenticator, rules_of};
//! # use confab_rpc::layer::Stack;
//! # use confab_rpc::serve::{HttpSide, Listen, Server, Services, stop_on_signals};
//! # use confab_telemetry::Telemetry;
//! # use tokio_util::sync::CancellationToken;
//! # use tokio_util::task::TaskTracker;
//! # async fn run(
//! #     registry: impl RegistryService, live: Live, telemetry: Telemetry, clock: Arc<dyn Clock>,
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//! let auth = &live.current().auth;
//! let authenticator = Authenticator::configured(auth, rules_of(&live), clock)?;
//! let stack = Stack::new(Arc::new(authenticator), &telemetry.metrics());
//! let mut services = Services::default();
//! services.add(confab_rpc::server!(RegistryServiceServer::new(registry)));
//! let neighbours = stack.in_process(services.routes());
//!
//! let http = HttpSide::new(&live, telemetry.metrics(), Vec::new());
//! let listen = Listen::new("127.0.0.1:7421".parse()?, None);
//! let name = "confab-registry";
//! let server = Server { name, stack, services, listen, http }.bind().await?;
//! let line = server.ready_line();
//! let stop = CancellationToken::new();
//! stop_on_signals(&TaskTracker::new(), stop.clone())?;
//! server.serve(stop).await?;
//! # drop((line, neighbours));
//! # Ok(())
//! # }
//! ```
//!
//! Source: contract, Binaries.

#[cfg(test)]
pub(crate) mod fixture;
mod http_side;
mod listen;
mod probe;
mod services;
mod signals;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use confab_model::limits::{CONCURRENT_STREAMS_MAX, DRAIN_SECONDS};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::codec::CompressionEncoding;
use tonic::transport::server::TcpIncoming;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use tonic_web::GrpcWebLayer;
use tower::ServiceBuilder;

use crate::identity::ListenerError;
use crate::layer::Stack;

pub use http_side::{Check, HttpSide, database_check};
pub use listen::{HttpListen, HttpListenError, Listen, http_listen_default};
pub use probe::probe;
pub use services::Services;
pub use signals::stop_on_signals;

/// Largest message in either direction, in bytes.
pub const MESSAGE_BYTES_MAX: usize = confab_model::limits::GRPC_MESSAGE_BYTES_MAX;
/// The compression for those who ask for it.
pub const GZIP: CompressionEncoding = CompressionEncoding::Gzip;

/// How often an idle connection is checked, so that a dead peer frees its streams.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// How long the check may take.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long what was answered may take to leave, once no call is running.
const FLUSH: Duration = Duration::from_secs(1);

/// A server that is not yet bound.
#[derive(Debug)]
pub struct Server {
    /// What the binary is called, for example `confab-registry`.
    pub name: &'static str,
    /// The layers around every call.
    pub stack: Stack,
    /// What is served.
    pub services: Services,
    /// Where.
    pub listen: Listen,
    /// What the HTTP side tells.
    pub http: HttpSide,
}

/// Why a server cannot start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Others than this machine could reach it and name themselves.
    #[error(transparent)]
    Listener(#[from] ListenerError),
    /// The address is not to be had.
    #[error("cannot listen on {address}; is another program there? choose one with --{option}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The option that names it.
        option: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// The descriptors are broken.
    #[error("the reflection service cannot be built")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// The transport ended by itself.
    #[error("the gRPC server ended")]
    Transport(#[from] tonic::transport::Error),
}

impl Server {
    /// Takes the addresses, so that port 0 is known and a second server fails at once.
    ///
    /// # Errors
    /// When an address is taken, or not allowed in open mode.
    pub async fn bind(self) -> Result<Listening, ServeError> {
        self.listen.check(self.stack.authenticator().is_open())?;
        let (grpc, grpc_address) = bind(self.listen.grpc, "listen").await?;
        let http = match self.listen.http {
            HttpListen::Off => None,
            HttpListen::At(address) => Some(bind(address, "http-listen").await?),
        };
        let (reporter, routes) = self.services.served()?;
        Ok(Listening {
            name: self.name,
            names: self.services.names().to_vec(),
            stack: self.stack,
            routes,
            reporter,
            grpc,
            grpc_address,
            http,
            http_side: self.http,
        })
    }
}

async fn bind(
    address: SocketAddr,
    option: &'static str,
) -> Result<(TcpListener, SocketAddr), ServeError> {
    let failed = |source| ServeError::Bind {
        address,
        option,
        source,
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// A server that holds its addresses and is ready to serve.
#[derive(Debug)]
pub struct Listening {
    name: &'static str,
    names: Vec<&'static str>,
    stack: Stack,
    routes: tonic::service::Routes,
    reporter: HealthReporter,
    grpc: TcpListener,
    grpc_address: SocketAddr,
    http: Option<(TcpListener, SocketAddr)>,
    http_side: HttpSide,
}

impl Listening {
    /// Where gRPC is served.
    pub const fn grpc_address(&self) -> SocketAddr {
        self.grpc_address
    }

    /// Where health, readiness and metrics are served; absent when they are not.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http.as_ref().map(|(_, address)| *address)
    }

    /// The line that tells people and scripts where the server is.
    ///
    /// Source: contract, Binaries.
    pub fn ready_line(&self) -> String {
        let http = self
            .http_address()
            .map_or_else(|| "off".to_owned(), |address| address.to_string());
        format!(
            "{} ready on http://{} http={http}",
            self.name, self.grpc_address
        )
    }

    /// Serves until `stop`, then lets what is in flight finish for [`DRAIN_SECONDS`].
    ///
    /// # Errors
    /// When the transport ends by itself.
    pub async fn serve(self, stop: CancellationToken) -> Result<(), ServeError> {
        for name in &self.names {
            self.reporter
                .set_service_status(name, ServingStatus::Serving)
                .await;
        }
        let drain = self.stack.drain().clone();
        let tasks = TaskTracker::new();
        let closing = CancellationToken::new();
        if let Some((listener, _)) = self.http {
            tasks.spawn(
                self.http_side
                    .serve(listener, drain.clone(), closing.clone()),
            );
        }
        tasks.close();

        let closed = CancellationToken::new();
        let grpc = grpc_server(self.stack, self.routes, self.grpc, closed.clone());
        let mut grpc = pin!(grpc);
        tokio::select! {
            ended = &mut grpc => return ended,
            () = stop.cancelled() => {},
        }
        tracing::info!(
            running = drain.running(),
            "stopping: calls in flight may finish"
        );
        // Told before the port closes: whoever asks for health on an open connection learns it.
        for name in self.names.iter().chain(&[""]) {
            self.reporter
                .set_service_status(name, ServingStatus::NotServing)
                .await;
        }
        drain.start();
        closed.cancel();
        let finish = async {
            if timeout(Duration::from_secs(DRAIN_SECONDS), drain.idle())
                .await
                .is_err()
            {
                tracing::warn!(running = drain.running(), "calls in flight were cut off");
            }
        };
        finish_within(finish, &mut grpc).await?;
        closing.cancel();
        if timeout(FLUSH, tasks.wait()).await.is_err() {
            tracing::debug!("HTTP connections were cut off");
        }
        Ok(())
    }
}

/// Drives the server while the calls finish, and a moment longer for their answers to leave.
async fn finish_within(
    finish: impl Future<Output = ()>,
    grpc: &mut (impl Future<Output = Result<(), ServeError>> + Unpin),
) -> Result<(), ServeError> {
    tokio::select! {
        ended = &mut *grpc => return ended,
        () = finish => {},
    }
    // A connection may stay open for calls that nobody waits for, such as a watch on health.
    timeout(FLUSH, grpc).await.unwrap_or(Ok(()))
}

async fn grpc_server(
    stack: Stack,
    routes: tonic::service::Routes,
    listener: TcpListener,
    closed: CancellationToken,
) -> Result<(), ServeError> {
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    tonic::transport::Server::builder()
        .accept_http1(true)
        .max_concurrent_streams(CONCURRENT_STREAMS_MAX)
        .http2_keepalive_interval(Some(KEEP_ALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(KEEP_ALIVE_TIMEOUT))
        .layer(
            ServiceBuilder::new()
                .layer(GrpcWebLayer::new())
                .layer(stack)
                .into_inner(),
        )
        .add_routes(routes)
        .serve_with_incoming_shutdown(incoming, closed.cancelled_owned())
        .await?;
    Ok(())
}
