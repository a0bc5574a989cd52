//! A service on a loopback socket, with the layers of every server, and its clients.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use confab_config::Live;
use confab_rpc::clients::{Call, Credentials, connect};
use confab_rpc::identity::{Authenticator, Named};
use confab_rpc::layer::Stack;
use confab_rpc::serve::{Check, HttpListen, HttpSide, Listen, Server, Services};
use confab_telemetry::Metrics;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What is served.
pub struct Service {
    /// Its name.
    pub name: &'static str,
    /// Its methods.
    pub services: Services,
    /// What must work before it is ready.
    pub checks: Vec<Arc<dyn Check>>,
    /// Its settings.
    pub settings: Live,
}

impl Service {
    /// Serves on a free port until `stop`; answers with the address.
    pub async fn start(self, tasks: &TaskTracker, stop: &CancellationToken) -> String {
        let settings = self.settings;
        let rules = Arc::new(move || settings.current().key_rules());
        let metrics = Metrics::unexported().unwrap();
        let server = Server {
            name: self.name,
            stack: Stack::new(Arc::new(Authenticator::open(rules)), &metrics),
            services: self.services,
            listen: Listen::new(
                SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
                Some(HttpListen::Off),
            ),
            http: HttpSide {
                fingerprint: Arc::new(String::new),
                checks: self.checks,
                metrics,
            },
        };
        let listening = server.bind().await.unwrap();
        let url = format!("http://{}", listening.grpc_address());
        tasks.spawn(listening.serve(stop.clone()));
        url
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Service")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A client on a connection of its own: of the agent in `session`, or an operator.
pub fn client(url: &str, session: Option<&str>) -> Call {
    let named = Named {
        session: session.map(str::to_owned),
        ..Named::default()
    };
    Call::new(connect(url).unwrap(), Credentials::Named(named))
}
