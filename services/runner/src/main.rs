//! `confab-runner`: the runner as a process of its own.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Parser;
use confab_rpc::clients::{Credentials, RegistryClient, TranscriptClient, connect_to};
use confab_rpc::launch::{Ground, ServerArgs};
use confab_rpc::serve::{Services, probe};
use confab_runner::{LiveRuns, NAME, Runner, RunnerOptions};
use confab_store::clock::SystemClock;
use confab_store::ids::RandomIds;
use confab_store::lock::OwnerLock;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The binary, in logs and on its ready line.
const BINARY: &str = "confab-runner";
/// Where gRPC listens unless told otherwise.
const PORT: u16 = 7423;

/// Owns runs, flows, the queue and deliveries; hosts the session tools.
///
/// Prints `confab-runner ready on http://ADDR http=ADDR` once it answers; logs go to standard error.
/// SIGTERM or Ctrl-C finishes what is in flight for up to 10 seconds, then exits 0.
#[derive(Debug, Parser)]
#[command(name = BINARY, version)]
struct Options {
    #[command(flatten)]
    server: ServerArgs,
    /// Where the registry answers.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:7421")]
    registry: String,
    /// Where the transcript answers.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:7422")]
    transcript: String,
    /// Ask a server instead of being one: exits 0 if its URL answers with 200, 1 if not.
    #[arg(long, value_name = "URL")]
    probe: Option<String>,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    confab_store::activate_failpoints();
    let options = Options::parse();
    if let Some(url) = options.probe {
        return Ok(if probe(&url).await {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        });
    }
    serve(options).await?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(options: Options) -> anyhow::Result<()> {
    let ground = Ground::prepare(BINARY, PORT, options.server, Arc::new(SystemClock))?;
    let _lock = OwnerLock::acquire(&ground.data_dir, NAME)?;
    let registry = connect_to("the registry", &options.registry)?;
    let transcript = connect_to("the transcript", &options.transcript)?;
    let runs = LiveRuns::default();
    let runner = Runner::open(RunnerOptions {
        data_dir: ground.data_dir.clone(),
        settings: ground.settings.clone(),
        clock: Arc::clone(&ground.clock),
        ids: Arc::new(RandomIds),
        registry: RegistryClient::new(ground.call_as(NAME, registry)),
        transcript: TranscriptClient::new(ground.call_as(NAME, transcript)),
        runs: runs.clone(),
        tracker: ground.tracker.clone(),
        stop: ground.stop.clone(),
    })
    .await
    .context("the runner cannot open its database")?;
    let stack = ground.stack(ground.authenticator()?.with_runs(Arc::new(runs)));
    let mut services = Services::default();
    runner.add_to(
        &mut services,
        &stack,
        Credentials::service(NAME, ground.minter.clone()),
    );
    let tools = stack.in_process(services.routes());
    runner
        .start(tools, ground.minter.clone())
        .await
        .context("the runner cannot start")?;
    let served = ground
        .serve(stack, services, runner.checks(), announce)
        .await;
    runner.close().await;
    ground.finish().await;
    Ok(served?)
}

#[expect(clippy::print_stdout, reason = "the one line that scripts wait for")]
fn announce(line: &str) {
    println!("{line}");
}
