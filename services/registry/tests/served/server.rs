//! The registry behind a real server on a free port, with the layers of every server.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use confab_config::{Live, Source};
use confab_model::clock::{ManualClock, Timestamp};
use confab_proto::registry::v1 as proto;
use confab_registry::{Registry, RegistryOptions};
use confab_rpc::caller::Role;
use confab_rpc::clients::{Call, Credentials, RegistryClient, Transport, connect};
use confab_rpc::identity::{Authenticator, Named};
use confab_rpc::layer::Stack;
use confab_rpc::serve::{HttpListen, HttpSide, Listen, Server, Services};
use confab_store::ids::SequentialIds;
use confab_telemetry::Metrics;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

const CONFIG: &str = r#"{
    agents: { list: [{ id: "writer", default: true }, { id: "editor" }] },
    tools: { sessions: { visibility: "all" }, agentToAgent: { enabled: true, allow: ["editor"] } },
}"#;

/// A registry that is served until the test ends.
pub(crate) struct Served {
    pub(crate) transport: Transport,
    pub(crate) stop: CancellationToken,
    pub(crate) registry: Registry,
    tasks: TaskTracker,
    directory: TempDir,
}

pub(crate) async fn open(directory: &Path, tasks: &TaskTracker) -> (Registry, Live) {
    let (settings, _) = Live::start(Source::inline(CONFIG)).unwrap();
    let registry = Registry::open(RegistryOptions {
        data_dir: directory.to_path_buf(),
        settings: settings.clone(),
        clock: Arc::new(ManualClock::starting_at(Timestamp::from_millis(
            1_700_000_000_000,
        ))),
        ids: Arc::new(SequentialIds::new()),
        tracker: tasks.clone(),
        stop: CancellationToken::new(),
        transcript_database: Some("/data/transcript.db".into()),
    });
    (registry.await.unwrap(), settings)
}

impl Served {
    pub(crate) async fn start() -> Self {
        Self::start_in(TempDir::new().unwrap()).await
    }

    pub(crate) async fn start_in(directory: TempDir) -> Self {
        let tasks = TaskTracker::new();
        let (registry, settings) = open(directory.path(), &tasks).await;
        let rules = Arc::new(move || settings.current().key_rules());
        let metrics = Metrics::unexported().unwrap();
        let stack = Stack::new(Arc::new(Authenticator::open(rules)), &metrics);
        let registry = registry.streams_end_with(stack.drain().started().clone());
        let mut services = Services::default();
        registry.add_to(&mut services);
        let server = Server {
            name: "confab-registry",
            stack,
            services,
            listen: Listen::new(
                SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
                Some(HttpListen::Off),
            ),
            http: HttpSide {
                fingerprint: Arc::new(String::new),
                checks: registry.checks(),
                metrics,
            },
        };
        let listening = server.bind().await.unwrap();
        let transport = connect(&format!("http://{}", listening.grpc_address())).unwrap();
        let stop = CancellationToken::new();
        tasks.spawn(listening.serve(stop.clone()));
        Self {
            transport,
            stop,
            registry,
            tasks,
            directory,
        }
    }

    pub(crate) fn client(&self, role: Role, session: Option<&str>) -> RegistryClient {
        let named = Named {
            role: Some(role),
            session: session.map(str::to_owned),
            ..Named::default()
        };
        RegistryClient::new(Call::new(self.transport.clone(), Credentials::Named(named)))
    }

    pub(crate) fn operator(&self) -> RegistryClient {
        self.client(Role::Operator, None)
    }

    pub(crate) async fn end(self) -> TempDir {
        self.stop.cancel();
        self.registry.close().await;
        self.tasks.close();
        self.tasks.wait().await;
        self.directory
    }
}

pub(crate) fn create(key: &str) -> proto::CreateSessionRequest {
    proto::CreateSessionRequest {
        session_key: key.to_owned(),
        ..Default::default()
    }
}
