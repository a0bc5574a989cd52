//! `confab`: reads the command line, does it, and ends with the status of the contract.

use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ErrorKind;
use confab::cli::Cli;
use confab::commands;
use confab::exit::{Exit, Failure};
use confab::render::screen::{Screen, complain};
use confab_model::clock::Clock as _;
use confab_store::clock::SystemClock;
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    confab_store::activate_failpoints();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return misunderstood(&error).into(),
    };
    let json = cli.connection.json;
    let mut screen = Screen::standard(json, SystemClock.now());
    let ended = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::broken("the program cannot start", &error))
        .and_then(|runtime| runtime.block_on(Box::pin(commands::run(cli, &mut screen))));
    ended
        .unwrap_or_else(|failure| complain(&failure, json))
        .into()
}

/// Shows help and versions as they were asked for, everything else as a usage error.
fn misunderstood(error: &clap::Error) -> Exit {
    let json = std::env::args_os().any(|argument| argument == "--json");
    if !error.use_stderr()
        || !json
        || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    {
        // Nobody is left to tell that the output is closed.
        drop(error.print());
        return if error.use_stderr() {
            Exit::Usage
        } else {
            Exit::Done
        };
    }
    let told = error.to_string();
    let message = told.strip_prefix("error: ").unwrap_or(&told).trim_end();
    complain(&Failure::usage(message), json)
}
