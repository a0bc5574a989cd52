//! The three services in one process: each with its own database and owner lock, calling one
//! another through the same layers as over the network.
//!
//! Source: contract (Binaries), D70.

use std::sync::Arc;

use confab_registry::{Registry, RegistryOptions};
use confab_rpc::clients::{
    Credentials, RegistryAuthority, RegistryClient, TranscriptClient, Transport,
};
use confab_rpc::launch::Ground;
use confab_rpc::layer::Stack;
use confab_rpc::serve::{Check, Services};
use confab_runner::tokens::LiveRuns;
use confab_runner::{Runner, RunnerOptions};
use confab_store::ids::RandomIds;
use confab_store::lock::OwnerLock;
use confab_transcript::{Transcript, TranscriptOptions};
use tokio_util::sync::CancellationToken;

use crate::exit::Failure;
use crate::up::refused;

/// The services' names: of their databases, their locks, and as which they call.
const REGISTRY: &str = confab_registry::open::NAME;
const TRANSCRIPT: &str = confab_transcript::open::NAME;
const RUNNER: &str = confab_runner::NAME;

/// Opens the services on `ground`, serves them until the process is told to stop, and closes them.
/// `tell` is handed the ready line.
///
/// # Errors
/// When a service cannot open, an address is not to be had, or the transport ends by itself.
pub(crate) async fn serve(ground: &Ground, tell: impl FnOnce(&str)) -> Result<(), Failure> {
    let _locks = [
        lock(ground, REGISTRY)?,
        lock(ground, TRANSCRIPT)?,
        lock(ground, RUNNER)?,
    ];
    let house = Box::pin(House::open(ground)).await?;
    let served = house.serve(ground, tell).await;
    house.close().await;
    served
}

fn lock(ground: &Ground, service: &str) -> Result<OwnerLock, Failure> {
    let lock = OwnerLock::acquire(&ground.data_dir, service);
    lock.map_err(|error| Failure::broken("the server cannot start", &error))
}

/// The open services.
struct House {
    registry: Registry,
    transcript: Transcript<RegistryAuthority>,
    runner: Runner,
    stack: Stack,
}

impl House {
    async fn open(ground: &Ground) -> Result<Self, Failure> {
        let runs = LiveRuns::default();
        let authenticator = ground.authenticator().map_err(|error| refused(&error))?;
        let stack = ground.stack(authenticator.with_runs(Arc::new(runs.clone())));

        let registry = open_registry(ground).await?;
        let to_registry = in_process(&stack, |services| registry.add_to(services));
        let registry_for =
            |service| RegistryClient::new(ground.call_as(service, to_registry.clone()));

        let transcript = open_transcript(ground, registry_for(TRANSCRIPT)).await?;
        let to_transcript = in_process(&stack, |services| transcript.add_to(services));

        let runner = Runner::open(RunnerOptions {
            data_dir: ground.data_dir.clone(),
            settings: ground.settings.clone(),
            clock: Arc::clone(&ground.clock),
            ids: Arc::new(RandomIds),
            registry: registry_for(RUNNER),
            transcript: TranscriptClient::new(ground.call_as(RUNNER, to_transcript)),
            runs,
            tracker: ground.tracker.clone(),
            stop: ground.stop.clone(),
        });
        let runner = runner
            .await
            .map_err(|error| Failure::broken(CANNOT_OPEN, &error))?;
        Ok(Self {
            registry,
            transcript,
            runner,
            stack,
        })
    }

    async fn serve(&self, ground: &Ground, tell: impl FnOnce(&str)) -> Result<(), Failure> {
        let credentials = Credentials::service(RUNNER, ground.minter.clone());
        let mut services = Services::default();
        self.runner.add_to(&mut services, &self.stack, credentials);
        let tools = self.stack.in_process(services.routes());
        self.runner
            .start(tools, ground.minter.clone())
            .await
            .map_err(|error| Failure::broken("the runner cannot start", &error))?;
        self.registry.add_to(&mut services);
        self.transcript.add_to(&mut services);
        let served = ground.serve(self.stack.clone(), services, self.checks(), tell);
        Box::pin(served).await.map_err(|error| refused(&error))
    }

    fn checks(&self) -> Vec<Arc<dyn Check>> {
        [
            self.registry.checks(),
            self.transcript.checks(),
            self.runner.checks(),
        ]
        .concat()
    }

    /// The runner first, because it writes into the others.
    async fn close(&self) {
        self.runner.close().await;
        self.transcript.close().await;
        self.registry.close().await;
    }
}

/// What is told of a database that cannot be opened; the cause names the file.
const CANNOT_OPEN: &str = "a database cannot be opened";

async fn open_registry(ground: &Ground) -> Result<Registry, Failure> {
    let registry = Registry::open(RegistryOptions {
        data_dir: ground.data_dir.clone(),
        settings: ground.settings.clone(),
        clock: Arc::clone(&ground.clock),
        ids: Arc::new(RandomIds),
        tracker: ground.tracker.clone(),
        // The writer ends when the registry is closed, after the last call.
        stop: CancellationToken::new(),
        transcript_database: Some(ground.data_dir.join(TRANSCRIPT).with_extension("db")),
    });
    let registry = registry
        .await
        .map_err(|error| Failure::broken(CANNOT_OPEN, &error))?;
    // Who follows changes would otherwise hold up the drain.
    Ok(registry.streams_end_with(ground.stop.clone()))
}

async fn open_transcript(
    ground: &Ground,
    registry: RegistryClient,
) -> Result<Transcript<RegistryAuthority>, Failure> {
    let transcript = Transcript::open(TranscriptOptions {
        data_dir: ground.data_dir.clone(),
        clock: Arc::clone(&ground.clock),
        ids: Arc::new(RandomIds),
        settings: ground.settings.clone(),
        tracker: ground.tracker.clone(),
        // The writer ends when the transcript is closed, after the last call.
        stop: CancellationToken::new(),
        authority: RegistryAuthority::new(registry),
    });
    transcript
        .await
        .map_err(|error| Failure::broken(CANNOT_OPEN, &error))
}

/// The way to services in this process, layers included.
fn in_process(stack: &Stack, add_to: impl FnOnce(&mut Services)) -> Transport {
    let mut services = Services::default();
    add_to(&mut services);
    stack.in_process(services.routes())
}
