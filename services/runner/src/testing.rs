//! What the tests of this crate stand on: a real runner over a real database, between a registry
//! and a transcript that are fakes.
//!
//! A [`World`] outlives the runner's process; a [`House`] is one life of it. A life ends the way a
//! killed process does: its tasks are dropped wherever they stand, and nothing is closed.

mod changes;
mod lives;
mod notices;
mod registry;
mod transcript;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use confab_config::{Live, Source};
use confab_model::clock::{ManualClock, Timestamp};
use confab_model::id::{RunId, TenantId};
use confab_model::key::SessionKey;
use confab_proto::registry::v1::registry_service_server::RegistryServiceServer;
use confab_proto::runner::v1 as proto;
use confab_proto::transcript::v1::transcript_service_server::TranscriptServiceServer;
use confab_proto::types::v1::{Delivery, Flow, Route, Run, RunState, SessionTarget};
use confab_rpc::caller::{Caller, Role};
use confab_rpc::clients::{
    Call, Credentials, DeliveryClient, RegistryClient, RunnerClient, TranscriptClient, Transport,
};
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::identity::{Authenticator, Named, rules_of};
use confab_rpc::layer::Stack;
use confab_rpc::serve::Services;
use confab_store::ids::SequentialIds;
use confab_telemetry::Metrics;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::Status;

use crate::context::Context;
use crate::store::sqlite::SqliteRunnerStore;
use crate::store::{QueuedSession, RunnerStore as _};
use crate::{LiveRuns, NAME, Runner, RunnerOptions};

pub(crate) use changes::{Asked, about, by_force};
pub(crate) use lives::CommitFault;
pub(crate) use notices::{line, notice};
pub(crate) use registry::FakeRegistry;
pub(crate) use transcript::{FakeTranscript, Fault};

/// Long enough for a slow machine, short enough for a test that must fail.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long a test's calls wait for a run or a flow, in seconds.
const WAIT_SECONDS: i32 = 45;
/// When every test begins.
const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// What is still there when the runner's process goes away.
pub(crate) struct World {
    pub(crate) registry: FakeRegistry,
    pub(crate) transcript: FakeTranscript,
    pub(crate) clock: Arc<ManualClock>,
    ids: Arc<SequentialIds>,
    directory: TempDir,
}

/// One life of a runner.
pub(crate) struct House {
    pub(crate) registry: FakeRegistry,
    pub(crate) transcript: FakeTranscript,
    runner: Runner,
    transport: Transport,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            registry: FakeRegistry::default(),
            transcript: FakeTranscript::default(),
            clock: Arc::new(ManualClock::starting_at(START)),
            ids: Arc::default(),
            directory: tempfile::tempdir().unwrap(),
        }
    }

    /// Runs `act` in a runner's life with this configuration, then kills it.
    pub(crate) fn live<T>(&self, config: &Value, act: impl AsyncFnOnce(&House) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let lived = runtime.block_on(async {
            tokio::time::timeout(PATIENCE, async {
                let house = self.open(config).await;
                act(&house).await
            })
            .await
        });
        runtime.shutdown_timeout(PATIENCE);
        lived.expect("the test takes too long")
    }

    async fn open(&self, config: &Value) -> House {
        std::fs::write(self.config_file(), config.to_string()).unwrap();
        let settings = Live::start(Source::of(Some(self.config_file()), []));
        let settings = settings.map_err(|error| error.report()).unwrap().0;
        let metrics = Metrics::unexported().unwrap();
        let open = || Authenticator::open(rules_of(&settings));
        let others = Stack::new(Arc::new(open()), &metrics);
        let mut services = Services::default();
        services.add(confab_rpc::server!(RegistryServiceServer::new(
            self.registry.clone()
        )));
        services.add(confab_rpc::server!(TranscriptServiceServer::new(
            self.transcript.clone()
        )));
        let call = Call::new(
            others.in_process(services.routes()),
            Credentials::service(NAME, None),
        );
        let runs = LiveRuns::default();
        let runner = Runner::open(RunnerOptions {
            data_dir: self.directory.path().to_owned(),
            settings: settings.clone(),
            clock: Arc::<ManualClock>::clone(&self.clock),
            ids: Arc::<SequentialIds>::clone(&self.ids),
            registry: RegistryClient::new(call.clone()),
            transcript: TranscriptClient::new(call),
            runs: runs.clone(),
            tracker: TaskTracker::new(),
            stop: CancellationToken::new(),
        });
        let runner = runner.await.unwrap();
        let stack = Stack::new(Arc::new(open().with_runs(Arc::new(runs))), &metrics);
        let mut services = Services::default();
        runner.add_to(&mut services, &stack, Credentials::service(NAME, None));
        let transport = stack.in_process(services.routes());
        runner.start(transport.clone(), None).await.unwrap();
        let (registry, transcript) = (self.registry.clone(), self.transcript.clone());
        House {
            registry,
            transcript,
            runner,
            transport,
        }
    }

    fn config_file(&self) -> PathBuf {
        self.directory.path().join("confab.json")
    }

    /// Puts another configuration in force while a runner lives.
    pub(crate) fn reload(&self, house: &House, config: &Value) {
        std::fs::write(self.config_file(), config.to_string()).unwrap();
        let reloaded = house.runner.context().live.reload();
        assert!(reloaded.map_err(|error| error.report()).unwrap().changed);
    }
}

/// A configuration whose channels take everything; `rules` are those of agent `main`, which answers
/// `echo: …` where none fits.
pub(crate) fn script(rules: &Value) -> Value {
    agents(&json!({ "main": rules }))
}

/// The same with several agents.
pub(crate) fn agents(rules: &Value) -> Value {
    let agents = rules.as_object().unwrap().iter().map(|(id, rules)| {
        let driver = json!({ "type": "script", "rules": rules, "default": "echo: {message}" });
        json!({ "id": id, "driver": driver })
    });
    let sinks = json!([{ "channel": "*", "type": "discard" }]);
    json!({
        "agents": { "list": agents.collect::<Vec<_>>() },
        "session": { "agentToAgent": { "maxPingPongTurns": 0 } },
        "confab": { "deliveries": { "sinks": sinks } },
    })
}

/// A copy of a configuration with another value at a JSON pointer.
pub(crate) fn with(mut config: Value, section: &str, value: Value) -> Value {
    let mut place = &mut config;
    for name in section.split('.') {
        place = &mut place[name];
    }
    *place = value;
    config
}

pub(crate) fn key(text: &str) -> SessionKey {
    SessionKey::parse(text).unwrap()
}

pub(crate) fn target(text: &str) -> SessionTarget {
    SessionTarget {
        session_key: Some(text.to_owned()),
        ..SessionTarget::default()
    }
}

pub(crate) fn route(channel: &str, to: &str) -> Route {
    Route {
        channel: channel.to_owned(),
        to: to.to_owned(),
        ..Route::default()
    }
}

/// A person's message.
pub(crate) fn message(session: &str, text: &str) -> proto::SendMessageRequest {
    proto::SendMessageRequest {
        target: Some(target(session)),
        text: text.to_owned(),
        ..proto::SendMessageRequest::default()
    }
}

/// A send that waits for its answer.
pub(crate) fn send(session: &str, text: &str) -> proto::SendRequest {
    proto::SendRequest {
        target: Some(target(session)),
        message: text.to_owned(),
        timeout_seconds: Some(WAIT_SECONDS),
        ..proto::SendRequest::default()
    }
}

/// The same without a wait.
pub(crate) fn post(session: &str, text: &str) -> proto::SendRequest {
    proto::SendRequest {
        timeout_seconds: Some(0),
        ..send(session, text)
    }
}

impl House {
    fn call(&self, credentials: Credentials) -> Call {
        Call::new(self.transport.clone(), credentials).waiting(PATIENCE)
    }

    pub(crate) fn operator(&self) -> RunnerClient {
        self.named(Named::default())
    }

    pub(crate) fn named(&self, named: Named) -> RunnerClient {
        RunnerClient::new(self.call(Credentials::Named(named)))
    }

    /// An agent that names itself: no run makes its calls.
    pub(crate) fn agent(&self, session: &str) -> RunnerClient {
        self.named(Named {
            session: Some(session.to_owned()),
            ..Named::default()
        })
    }

    /// The agent of a run.
    pub(crate) fn agent_in(&self, run: &Run) -> RunnerClient {
        let run_id = RunId::parse(run.run_id.clone()).unwrap();
        let caller = Caller::agent(TenantId::default(), key(&run.session_key), Some(run_id));
        let service = Credentials::service("tools", None);
        RunnerClient::new(self.call(service).on_behalf_of(&caller))
    }

    /// A channel's adapter.
    pub(crate) fn channel(&self, channel: &str) -> RunnerClient {
        let channel = Some(channel.to_owned());
        self.named(Named {
            role: Some(Role::Channel),
            channel,
            ..Named::default()
        })
    }

    /// Begins to stop, as a process does that was asked to.
    pub(crate) fn stop(&self) {
        self.runner.context().stop.cancel();
    }

    /// Tidies up, as the runner does every minute.
    pub(crate) async fn tidy(&self) {
        crate::tidy::once(self.runner.context()).await.unwrap();
    }

    /// What the runner's parts work with.
    pub(crate) fn context(&self) -> &Arc<Context<SqliteRunnerStore>> {
        self.runner.context()
    }

    /// Until a session is fenced.
    pub(crate) async fn until_fenced(&self, session: &str) {
        let session = QueuedSession::new(&TenantId::default(), &key(session));
        let store = &self.runner.context().store;
        while store.fence_of(&session).await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
    }

    /// Whether no session is fenced.
    pub(crate) async fn is_open(&self) -> bool {
        self.context().store.fences().await.unwrap().is_empty()
    }

    /// Until no session is fenced.
    pub(crate) async fn until_open(&self) {
        while !self.is_open().await {
            tokio::task::yield_now().await;
        }
    }

    /// Brings a person's message.
    pub(crate) async fn human(&self, session: &str, text: &str) -> Run {
        let sent = self
            .operator()
            .send_message(message(session, text))
            .await
            .unwrap();
        sent.into_inner().run.unwrap()
    }

    pub(crate) async fn get_run(&self, run_id: &str) -> Run {
        let request = proto::GetRunRequest {
            run_id: run_id.to_owned(),
        };
        self.operator()
            .get_run(request)
            .await
            .unwrap()
            .into_inner()
            .run
            .unwrap()
    }

    /// The run when it has ended.
    pub(crate) async fn ended(&self, run_id: &str) -> Run {
        let request = wait_run(run_id, WAIT_SECONDS);
        let waited = self
            .operator()
            .wait_run(request)
            .await
            .unwrap()
            .into_inner();
        assert!(!waited.timed_out, "{waited:?}");
        waited.run.unwrap()
    }

    /// The flow when it is done, with its runs.
    pub(crate) async fn done(&self, flow_id: &str) -> (Flow, Vec<Run>) {
        let request = proto::WaitFlowRequest {
            flow_id: flow_id.to_owned(),
            timeout_seconds: Some(WAIT_SECONDS),
        };
        let waited = self
            .operator()
            .wait_flow(request)
            .await
            .unwrap()
            .into_inner();
        assert!(!waited.timed_out, "{waited:?}");
        (waited.flow.unwrap(), waited.runs)
    }

    pub(crate) fn delivery_operator(&self) -> DeliveryClient {
        DeliveryClient::new(self.call(Credentials::Named(Named::default())))
    }

    /// Every delivery, oldest first.
    pub(crate) async fn deliveries(&self) -> Vec<Delivery> {
        let request = proto::ListDeliveriesRequest::default();
        let mut listed = self
            .delivery_operator()
            .list_deliveries(request)
            .await
            .unwrap()
            .into_inner()
            .deliveries;
        listed.reverse();
        listed
    }

    /// Every run, in the order of acceptance.
    pub(crate) async fn runs(&self) -> Vec<Run> {
        let request = proto::ListRunsRequest {
            limit: Some(200),
            ..Default::default()
        };
        let listed = self.operator().list_runs(request).await.unwrap();
        let mut runs = listed.into_inner().runs;
        runs.reverse();
        runs
    }

    /// Until the input of a run is in the transcript: it is at work then.
    pub(crate) async fn at_work(&self, run: &Run) -> Run {
        self.transcript
            .until_stored(&format!("run:{}:input", run.run_id))
            .await;
        let run = self.get_run(&run.run_id).await;
        assert_eq!(run.state(), RunState::Running);
        run
    }
}

pub(crate) fn wait_run(run_id: &str, seconds: i32) -> proto::WaitRunRequest {
    proto::WaitRunRequest {
        run_id: run_id.to_owned(),
        timeout_seconds: Some(seconds),
    }
}

/// Why a call was refused.
pub(crate) fn reason(status: &Status) -> Reason {
    RpcError::from_status(status).reason
}
