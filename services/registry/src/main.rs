//! `confab-registry`: the registry as a process of its own.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Parser;
use confab_registry::{Registry, RegistryOptions, open};
use confab_rpc::launch::{Ground, ServerArgs};
use confab_rpc::serve::{Services, probe};
use confab_store::clock::SystemClock;
use confab_store::ids::RandomIds;
use confab_store::lock::OwnerLock;
use tokio_util::sync::CancellationToken;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The binary, in logs and on its ready line.
const NAME: &str = "confab-registry";
/// Where gRPC listens unless told otherwise.
const PORT: u16 = 7421;

/// Owns sessions, and decides who may see and reach whom.
///
/// Prints `confab-registry ready on http://ADDR http=ADDR` once it answers; logs go to standard
/// error. SIGTERM or Ctrl-C finishes what is in flight for up to 10 seconds, then exits 0.
#[derive(Debug, Parser)]
#[command(name = NAME, version)]
struct Options {
    #[command(flatten)]
    server: ServerArgs,
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
    serve(options.server).await?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(args: ServerArgs) -> anyhow::Result<()> {
    let ground = Ground::prepare(NAME, PORT, args, Arc::new(SystemClock))?;
    let _lock = OwnerLock::acquire(&ground.data_dir, open::NAME)?;
    let registry = Registry::open(RegistryOptions {
        data_dir: ground.data_dir.clone(),
        settings: ground.settings.clone(),
        clock: Arc::clone(&ground.clock),
        ids: Arc::new(RandomIds),
        tracker: ground.tracker.clone(),
        // The writer ends when the registry is closed, after the last call.
        stop: CancellationToken::new(),
        transcript_database: Some(ground.data_dir.join("transcript.db")),
    })
    .await
    .context("the registry cannot open its database")?;
    let stack = ground.stack(ground.authenticator()?);
    let registry = registry.streams_end_with(stack.drain().started().clone());
    let mut services = Services::default();
    registry.add_to(&mut services);
    let served = ground
        .serve(stack, services, registry.checks(), announce)
        .await;
    registry.close().await;
    ground.finish().await;
    Ok(served?)
}

#[expect(clippy::print_stdout, reason = "the one line that scripts wait for")]
fn announce(line: &str) {
    println!("{line}");
}
