//! The registry behind a real server on a free port, with the layers of every server.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use confab_config::{Live, Source};
use confab_model::clock::{ManualClock, Timestamp};
use confab_model::id::TenantId;
use confab_proto::registry::v1 as proto;
use confab_proto::types::v1::SessionTarget;
use confab_registry::store::{Lookup, RegistryStore as _};
use confab_registry::{Registry, RegistryOptions};
use confab_rpc::caller::Role;
use confab_rpc::clients::{Call, Credentials, RegistryClient, Transport, connect};
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::identity::{Authenticator, Named};
use confab_rpc::layer::Stack;
use confab_rpc::serve::{HttpListen, HttpSide, Listen, Server, Services};
use confab_store::ids::SequentialIds;
use confab_telemetry::Metrics;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::{Code, Status};

const CONFIG: &str = r#"{
    agents: { list: [{ id: "writer", default: true }, { id: "editor" }] },
    tools: { sessions: { visibility: "all" }, agentToAgent: { enabled: true, allow: ["editor"] } },
}"#;

/// A registry that is served until the test ends.
struct Served {
    transport: Transport,
    stop: CancellationToken,
    registry: Registry,
    tasks: TaskTracker,
    directory: TempDir,
}

async fn open(directory: &Path, tasks: &TaskTracker) -> (Registry, Live) {
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
    async fn start() -> Self {
        let (directory, tasks) = (TempDir::new().unwrap(), TaskTracker::new());
        let (registry, settings) = open(directory.path(), &tasks).await;
        let rules = Arc::new(move || settings.current().key_rules());
        let metrics = Metrics::unexported().unwrap();
        let mut services = Services::default();
        registry.add_to(&mut services);
        let server = Server {
            name: "confab-registry",
            stack: Stack::new(Arc::new(Authenticator::open(rules)), &metrics),
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

    fn client(&self, role: Role, session: Option<&str>) -> RegistryClient {
        let named = Named {
            role: Some(role),
            session: session.map(str::to_owned),
            ..Named::default()
        };
        RegistryClient::new(Call::new(self.transport.clone(), Credentials::Named(named)))
    }

    fn operator(&self) -> RegistryClient {
        self.client(Role::Operator, None)
    }

    async fn end(self) -> TempDir {
        self.stop.cancel();
        self.registry.close().await;
        self.tasks.close();
        self.tasks.wait().await;
        self.directory
    }
}

fn create(key: &str) -> proto::CreateSessionRequest {
    proto::CreateSessionRequest {
        session_key: key.to_owned(),
        ..Default::default()
    }
}

fn get(key: &str) -> proto::GetSessionRequest {
    let target = SessionTarget {
        session_key: Some(key.to_owned()),
        ..Default::default()
    };
    proto::GetSessionRequest {
        target: Some(target),
    }
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(outcome: Result<T, Status>, code: Code, reason: Reason) {
    let status = outcome.unwrap_err();
    assert_eq!(status.code(), code, "{status:?}");
    assert_eq!(RpcError::from_status(&status).reason, reason, "{status:?}");
}

#[tokio::test]
async fn a_session_is_created_found_and_listed_as_its_caller_may_call_it() {
    let served = Served::start().await;
    let made = served
        .operator()
        .create_session(create("main"))
        .await
        .unwrap()
        .into_inner();
    assert!(made.created);
    let row = made.session.unwrap();
    assert_eq!(
        (row.key.as_str(), row.display_key.as_str()),
        ("agent:writer:main", "agent:writer:main")
    );
    let path = format!("/data/transcript.db#{}", row.session_id);
    assert_eq!(row.transcript_path.as_deref(), Some(path.as_str()));

    let mut writer = served.client(Role::Agent, Some("agent:writer:main"));
    let row = writer
        .get_session(get("current"))
        .await
        .unwrap()
        .into_inner()
        .session
        .unwrap();
    assert_eq!(
        (row.key.as_str(), row.display_key.as_str()),
        ("agent:writer:main", "main")
    );
    let request = proto::ListSessionsRequest {
        limit: Some(500),
        ..Default::default()
    };
    let page = writer.list_sessions(request).await.unwrap().into_inner();
    assert_eq!(
        (page.sessions.len(), page.has_more, page.limit_applied),
        (1, false, Some(200))
    );
    assert_eq!(page.sessions[0].display_key, "main");
    served.end().await;
}

#[tokio::test]
async fn refusals_carry_their_code_and_reason() {
    let served = Served::start().await;
    let mut writer = served.client(Role::Agent, Some("agent:writer:main"));
    let outcome = writer.create_session(create("agent:writer:x")).await;
    assert_refused(outcome, Code::PermissionDenied, Reason::Role);
    let outcome = writer.get_session(get("agent:editor:main")).await;
    assert_refused(outcome, Code::PermissionDenied, Reason::Visibility);
    let outcome = writer.get_session(get("no-such-id")).await;
    assert_refused(outcome, Code::NotFound, Reason::SessionNotFound);
    let outcome = writer.get_session(get("agent::main")).await;
    assert_refused(outcome, Code::InvalidArgument, Reason::InvalidArgument);
    let outcome = writer
        .get_session(proto::GetSessionRequest::default())
        .await;
    assert_refused(outcome, Code::InvalidArgument, Reason::InvalidArgument);
    let outcome = served
        .operator()
        .record_activity(proto::RecordActivityRequest::default())
        .await;
    assert_refused(outcome, Code::PermissionDenied, Reason::Role);
    served.end().await;
}

#[tokio::test]
async fn a_service_asks_for_others_and_records_what_runs_did() {
    let served = Served::start().await;
    let mut service = served.client(Role::Service, None);
    let agent = proto::Principal {
        role: "agent".to_owned(),
        tenant: "default".to_owned(),
        session_key: Some("agent:editor:main".to_owned()),
        ..Default::default()
    };
    let target = |key: &str| SessionTarget {
        session_key: Some(key.to_owned()),
        ..Default::default()
    };
    let question = proto::AuthorizeRequest {
        caller: Some(agent),
        action: proto::Action::Send.into(),
        targets: vec![target("main"), target("agent:writer:main")],
        scope: false,
    };
    let answer = service.authorize(question).await.unwrap().into_inner();
    let outcomes: Vec<_> = answer
        .decisions
        .into_iter()
        .map(|one| one.outcome.unwrap())
        .collect();
    let [
        proto::decision::Outcome::Session(own),
        proto::decision::Outcome::Refusal(refusal),
    ] = outcomes.as_slice()
    else {
        panic!("{outcomes:?}")
    };
    assert_eq!(own.key, "agent:editor:main");
    assert_eq!(
        (refusal.code, refusal.reason.as_str()),
        (i32::from(Code::PermissionDenied), "VISIBILITY")
    );

    let record = proto::ActivityRecord {
        tenant: "default".to_owned(),
        session_key: "agent:editor:main".to_owned(),
        run_id: "r-1".to_owned(),
        state: confab_proto::types::v1::RunState::Succeeded.into(),
        occurred_at: Some(prost_types::Timestamp {
            seconds: 1_700_000_009,
            nanos: 0,
        }),
        ..Default::default()
    };
    let gone = proto::ActivityRecord {
        session_key: "agent:editor:gone".to_owned(),
        ..record.clone()
    };
    let request = proto::RecordActivityRequest {
        records: vec![record, gone],
    };
    service.record_activity(request).await.unwrap();
    let row = served
        .operator()
        .get_session(get("agent:editor:main"))
        .await
        .unwrap();
    let row = row.into_inner().session.unwrap();
    assert_eq!(
        (row.status.as_deref(), row.last_run_id.as_deref()),
        (Some("done"), Some("r-1"))
    );
    assert_eq!(row.updated_at.unwrap().seconds, 1_700_000_009);
    served.end().await;
}

#[tokio::test]
async fn what_was_answered_is_there_after_a_restart() {
    let served = Served::start().await;
    served
        .operator()
        .create_session(create("agent:editor:desk"))
        .await
        .unwrap();
    let directory = served.end().await;
    let tasks = TaskTracker::new();
    let (registry, _) = open(directory.path(), &tasks).await;
    let lookup = Lookup {
        keys: vec!["agent:editor:desk".parse().unwrap()],
        ..Lookup::default()
    };
    let found = registry
        .sessions()
        .store
        .look_up(&TenantId::default(), &lookup)
        .await
        .unwrap();
    assert_eq!(found.by_key.len(), 1);
    registry.close().await;
}
