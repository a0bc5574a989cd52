//! `confab-transcript`: the transcript as a process of its own.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Parser;
use confab_rpc::clients::{RegistryAuthority, RegistryClient, connect_to};
use confab_rpc::launch::{Ground, ServerArgs};
use confab_rpc::serve::{Services, probe};
use confab_store::clock::SystemClock;
use confab_store::ids::RandomIds;
use confab_store::lock::OwnerLock;
use confab_transcript::{Transcript, TranscriptOptions, open};
use tokio_util::sync::CancellationToken;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The binary, in logs and on its ready line.
const NAME: &str = "confab-transcript";
/// Where gRPC listens unless told otherwise.
const PORT: u16 = 7422;

/// Owns messages: append, history, tails.
///
/// Prints `confab-transcript ready on http://ADDR http=ADDR` once it answers; logs go to standard
/// error. SIGTERM or Ctrl-C finishes what is in flight for up to 10 seconds, then exits 0.
#[derive(Debug, Parser)]
#[command(name = NAME, version)]
struct Options {
    #[command(flatten)]
    server: ServerArgs,
    /// Where the registry answers.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:7421")]
    registry: String,
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
    serve(options.server, &options.registry).await?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(args: ServerArgs, registry: &str) -> anyhow::Result<()> {
    let ground = Ground::prepare(NAME, PORT, args, Arc::new(SystemClock))?;
    let _lock = OwnerLock::acquire(&ground.data_dir, open::NAME)?;
    let registry = connect_to("the registry", registry)?;
    let registry = RegistryClient::new(ground.call_as(open::NAME, registry));
    let transcript = Transcript::open(TranscriptOptions {
        data_dir: ground.data_dir.clone(),
        clock: Arc::clone(&ground.clock),
        ids: Arc::new(RandomIds),
        settings: ground.settings.clone(),
        tracker: ground.tracker.clone(),
        // The writer ends when the transcript is closed, after the last call.
        stop: CancellationToken::new(),
        authority: RegistryAuthority::new(registry),
    })
    .await
    .context("the transcript cannot open its database")?;
    let mut services = Services::default();
    transcript.add_to(&mut services);
    let stack = ground.stack(ground.authenticator()?);
    let served = ground
        .serve(stack, services, transcript.checks(), announce)
        .await;
    transcript.close().await;
    ground.finish().await;
    Ok(served?)
}

#[expect(clippy::print_stdout, reason = "the one line that scripts wait for")]
fn announce(line: &str) {
    println!("{line}");
}
