//! `confab up`: the server that a person starts.
//!
//! Source: contract, Binaries.

use std::sync::Arc;

use confab_config::LoadError;
use confab_rpc::error::Violation;
use confab_rpc::launch::{Ground, LaunchError, ServerArgs};
use confab_store::clock::SystemClock;

use crate::assembly;
use crate::cli::server::Up;
use crate::exit::{Exit, Failure};
use crate::render::screen::Screen;

/// The binary, in logs and on its ready line.
const NAME: &str = "confab";
/// Where gRPC listens unless told otherwise.
const PORT: u16 = 7420;

/// Serves until the process is told to stop.
///
/// # Errors
/// When the server cannot start, or ends by itself.
pub async fn run(args: Up, screen: &mut Screen) -> Result<Exit, Failure> {
    let ground = prepare(args.server)?;
    let served = assembly::serve(&ground, |line| {
        if let Err(failure) = screen.say(line) {
            tracing::warn!(
                error = failure.message,
                "nobody reads that the server is ready"
            );
        }
    });
    let served = Box::pin(served).await;
    ground.finish().await;
    served?;
    Ok(Exit::Done)
}

/// The ground of a server of all three services.
///
/// # Errors
/// When the options or the configuration cannot be used.
pub fn prepare(args: ServerArgs) -> Result<Ground, Failure> {
    Ground::prepare(NAME, PORT, args, Arc::new(SystemClock)).map_err(|error| refused(&error))
}

/// A server that cannot start; every problem of a configuration on its own line.
pub fn refused(error: &LaunchError) -> Failure {
    let LaunchError::Config(LoadError::Invalid(problems)) = error else {
        return Failure::broken("the server cannot run", error);
    };
    let fields = problems.list().iter();
    let fields = fields
        .map(|one| Violation::new(one.path.clone(), one.to_string()))
        .collect();
    Failure {
        fields,
        ..Failure::new(Exit::Failed, error.to_string())
    }
    .hint("`confab config check FILE` tells the same without starting anything")
}
