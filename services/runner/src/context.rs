//! What every part of the runner works with.

use std::sync::Arc;

use confab_config::Redactor;
use confab_config::live::Live;
use confab_config::settings::Settings;
use confab_model::clock::{Clock, Timestamp};
use confab_model::id::Ids;
use confab_rpc::clients::{RegistryAuthority, RegistryClient, TranscriptClient};
use confab_rpc::error::RpcError;
use confab_rpc::gate::Gate;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::store::RunnerStore;
use crate::tokens::LiveRuns;
use crate::wait_graph::WaitGraph;
use crate::wakeups::Wakeups;

/// What every part of the runner works with. Cheap to share.
#[derive(Debug)]
pub struct Context<S> {
    /// Runs, flows, deliveries.
    pub store: S,
    /// Who is woken by what the store commits.
    pub wakeups: Wakeups,
    /// The configuration in force.
    pub live: Live,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New identifiers.
    pub ids: Arc<dyn Ids>,
    /// Judges calls.
    pub gate: Gate<RegistryAuthority>,
    /// The registry, as service.
    pub registry: RegistryClient,
    /// The transcript, as service.
    pub transcript: TranscriptClient,
    /// The runs that are at work here, and their tokens.
    pub runs: LiveRuns,
    /// Who waits for whom.
    pub waits: WaitGraph,
    /// The tasks that a stop waits for.
    pub tasks: TaskTracker,
    /// Ends the loops.
    pub stop: CancellationToken,
}

impl<S: RunnerStore> Context<S> {
    /// The configuration in force.
    pub fn settings(&self) -> Arc<Settings> {
        self.live.current()
    }

    /// The present moment.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// What broke, or what was refused, as the log may repeat it: a neighbour that refuses what an
    /// agent wrote may quote it.
    ///
    /// Source: run:R0, run:R17.
    pub fn logged(&self, error: &RpcError) -> String {
        logged(&self.settings().redactor, error)
    }
}

fn logged(redactor: &Redactor, error: &RpcError) -> String {
    let said = error.source_chain();
    let said = said.as_deref().unwrap_or(&error.message);
    redactor.redact(said).into_owned()
}

#[cfg(test)]
mod tests {
    use std::io;

    use confab_rpc::error::Reason;

    use super::*;

    #[test]
    fn what_broke_and_what_was_refused_are_logged_without_secrets() {
        let secret = "q7Wz3Kd9Xv5Rt1Hb".repeat(2);
        let quoted = format!("toolName `API_KEY={secret}` is too long");
        let masked = "toolName `API_KEY=q7Wz3K…t1Hb` is too long";
        let refused = RpcError::new(Reason::InvalidArgument, quoted.clone());
        let broken = RpcError::internal(io::Error::other(quoted));
        for error in [refused, broken] {
            assert_eq!(logged(&Redactor::built_in(), &error), masked);
        }
    }
}
