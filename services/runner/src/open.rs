//! The runner as a whole: opened, started, closed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use confab_config::Live;
use confab_model::clock::Clock;
use confab_model::id::Ids;
use confab_proto::runner::v1::delivery_service_server::DeliveryServiceServer;
use confab_proto::runner::v1::runner_service_server::RunnerServiceServer;
use confab_proto::runner::v1::worker_service_server::WorkerServiceServer;
use confab_proto::tools::v1::tools_service_server::ToolsServiceServer;
use confab_rpc::clients::{
    Call, Credentials, RegistryAuthority, RegistryClient, RunnerClient, TranscriptClient, Transport,
};
use confab_rpc::gate::Gate;
use confab_rpc::identity::Minter;
use confab_rpc::layer::Stack;
use confab_rpc::serve::{Check, Services, database_check};
use confab_store::StoreError;
use confab_store::sqlite::OpenError;
use confab_tools::{Clients, Toolbox, ToolsServer};
use futures::FutureExt as _;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::context::Context;
use crate::driver::Drivers;
use crate::service::{DeliveryApi, RunnerApi, WorkerApi};
use crate::store::sqlite::SqliteRunnerStore;
use crate::tokens::LiveRuns;
use crate::wait_graph::WaitGraph;
use crate::wakeups::Wakeups;
use crate::{notices, outbox, queue, tidy};

/// The service's name: of its database, its lock and its log lines.
pub const NAME: &str = "runner";

/// How long the runs at work may go on when the process stops, once no call is in flight.
const LAST_RUNS: Duration = Duration::from_secs(1);

/// What the runner needs to open.
#[derive(Debug)]
pub struct RunnerOptions {
    /// Where `runner.db` lies; the caller holds the owner lock of the directory.
    pub data_dir: PathBuf,
    /// The settings in force.
    pub settings: Live,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New identifiers.
    pub ids: Arc<dyn Ids>,
    /// The registry, as service.
    pub registry: RegistryClient,
    /// The transcript, as service.
    pub transcript: TranscriptClient,
    /// The runs at work and their tokens, shared with the authenticator of this runner's server.
    pub runs: LiveRuns,
    /// Keeps the writer's task.
    pub tracker: TaskTracker,
    /// Ends the loops: nothing is claimed from there on.
    pub stop: CancellationToken,
}

/// An open runner; clones share it.
#[derive(Clone, Debug)]
pub struct Runner {
    context: Arc<Context<SqliteRunnerStore>>,
}

impl Runner {
    /// Opens the database and brings it to this version's schema. Nothing runs before
    /// [`Self::start`].
    ///
    /// # Errors
    /// When the database cannot be opened.
    pub async fn open(options: RunnerOptions) -> Result<Self, OpenError> {
        let wakeups = Wakeups::default();
        // The writer outlives the loops: what they finish while they stop must still be stored.
        let writer_stop = CancellationToken::new();
        let store = SqliteRunnerStore::open(
            &options.data_dir,
            &options.tracker,
            &writer_stop,
            wakeups.clone(),
            Arc::clone(&options.ids),
        );
        let store = store.await?;
        let context = Context {
            store,
            wakeups,
            live: options.settings,
            clock: options.clock,
            ids: options.ids,
            gate: Gate::new(RegistryAuthority::new(options.registry.clone())),
            registry: options.registry,
            transcript: options.transcript,
            runs: options.runs,
            waits: WaitGraph::default(),
            tasks: TaskTracker::new(),
            stop: options.stop,
        };
        Ok(Self {
            context: Arc::new(context),
        })
    }

    /// Adds the runner's services to what a server serves.
    ///
    /// The tools reach this runner by way of `stack`, like anybody: with the service's
    /// `credentials` and on behalf of whoever calls them.
    pub fn add_to(&self, services: &mut Services, stack: &Stack, credentials: Credentials) {
        let mut own = Services::default();
        self.add_talk_to(&mut own);
        let runner = Call::new(stack.in_process(own.routes()), credentials);
        let toolbox = Toolbox::new(Clients {
            registry: self.context.registry.clone(),
            transcript: self.context.transcript.clone(),
            runner: RunnerClient::new(runner),
        });
        self.add_talk_to(services);
        services
            .add(confab_rpc::server!(WorkerServiceServer::new(WorkerApi)))
            .add(confab_rpc::server!(ToolsServiceServer::new(ToolsServer(
                toolbox
            ))));
    }

    /// The services that the tools use.
    fn add_talk_to(&self, services: &mut Services) {
        let context = &self.context;
        services
            .add(confab_rpc::server!(RunnerServiceServer::new(
                RunnerApi::new(context)
            )))
            .add(confab_rpc::server!(DeliveryServiceServer::new(
                DeliveryApi::new(context)
            )));
    }

    /// What every part of this runner works with.
    #[cfg(test)]
    pub(crate) const fn context(&self) -> &Arc<Context<SqliteRunnerStore>> {
        &self.context
    }

    /// What must work before the service is ready.
    pub fn checks(&self) -> Vec<Arc<dyn Check>> {
        let database = self.context.store.clone();
        let ask = move || {
            let database = database.clone();
            async move { database.answers().await }.boxed()
        };
        vec![database_check(NAME, ask)]
    }

    /// Settles what an earlier life left, and starts the queue, the outbox and the leases. `tools`
    /// is the way for the agents' tool calls: this runner's own services, layers included.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn start(&self, tools: Transport, minter: Option<Minter>) -> Result<(), StoreError> {
        let context = &self.context;
        let drivers = Arc::new(Drivers::new(tools, minter, Arc::clone(&context.ids)));
        queue::recover(context).await?;
        context
            .tasks
            .spawn(queue::serve(Arc::clone(context), drivers));
        context.tasks.spawn(queue::keep_leases(Arc::clone(context)));
        context.tasks.spawn(tidy::serve(Arc::clone(context)));
        context.tasks.spawn(outbox::deliver(Arc::clone(context)));
        context
            .tasks
            .spawn(outbox::report_activity(Arc::clone(context)));
        context.tasks.spawn(notices::receive(Arc::clone(context)));
        context.tasks.spawn(notices::wake(Arc::clone(context)));
        context
            .tasks
            .spawn(notices::acknowledge(Arc::clone(context)));
        Ok(())
    }

    /// Lets the runs at work finish for a moment, then closes the database. A run that is cut off
    /// is taken up again at the next start.
    pub async fn close(&self) {
        self.context.stop.cancel();
        self.context.tasks.close();
        if timeout(LAST_RUNS, self.context.tasks.wait()).await.is_err() {
            tracing::warn!(runs = self.context.runs.count(), "runs were cut off");
        }
        self.context.store.close().await;
    }
}
