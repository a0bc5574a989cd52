//! The runs at work in this process, and the tokens their tool calls carry.
//!
//! Source: contract, Identity (a run's token is valid while the run may live).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use confab_model::id::{RunId, TenantId};
use confab_model::key::SessionKey;
use confab_rpc::caller::Caller;
use confab_rpc::identity::RunTokens;

/// One run at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveRun {
    /// The tenant.
    pub tenant: TenantId,
    /// The session it runs in.
    pub session_key: SessionKey,
    /// The lease it holds.
    pub lease_epoch: i64,
    /// The opaque token it was given; absent where tokens are signed.
    pub token: Option<String>,
}

/// The runs at work in this process. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct LiveRuns {
    runs: Arc<Mutex<BTreeMap<RunId, LiveRun>>>,
}

/// A run that is at work as long as this value lives, however its task ends.
#[derive(Debug)]
pub struct AtWork {
    runs: LiveRuns,
    run: RunId,
    lease_epoch: i64,
}

impl Drop for AtWork {
    /// The run's token is worth nothing any more, and its lease is not kept. Another attempt of the
    /// run, under a later lease, is left alone.
    fn drop(&mut self) {
        let mut runs = self.runs.lock();
        if runs
            .get(&self.run)
            .is_some_and(|live| live.lease_epoch == self.lease_epoch)
        {
            runs.remove(&self.run);
        }
    }
}

impl LiveRuns {
    /// A run begins; it is over when the answer is dropped.
    #[must_use = "the run is over when this is dropped"]
    pub fn begin(&self, run: RunId, live: LiveRun) -> AtWork {
        let lease_epoch = live.lease_epoch;
        self.lock().insert(run.clone(), live);
        AtWork {
            runs: self.clone(),
            run,
            lease_epoch,
        }
    }

    /// How many runs are at work.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// The leases to keep.
    pub fn leases(&self) -> Vec<(RunId, i64)> {
        self.lock()
            .iter()
            .map(|(run, live)| (run.clone(), live.lease_epoch))
            .collect()
    }

    /// No code panics while it holds the map, so a poisoned one is still whole.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<RunId, LiveRun>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunTokens for LiveRuns {
    fn resolve(&self, token: &str) -> Option<Caller> {
        let runs = self.lock();
        let (id, run) = runs
            .iter()
            .find(|(_, run)| run.token.as_deref() == Some(token))?;
        Some(Caller::agent(
            run.tenant.clone(),
            run.session_key.clone(),
            Some(id.clone()),
        ))
    }

    fn is_alive(&self, run: &RunId) -> bool {
        self.lock().contains_key(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(lease_epoch: i64, token: &str) -> LiveRun {
        LiveRun {
            tenant: TenantId::default(),
            session_key: SessionKey::parse("agent:a:main").unwrap(),
            lease_epoch,
            token: Some(token.to_owned()),
        }
    }

    #[test]
    fn an_attempt_that_lost_its_lease_leaves_the_later_one_at_work() {
        let runs = LiveRuns::default();
        let run = RunId::parse("r1").unwrap();
        let lost = runs.begin(run.clone(), live(1, "first"));
        let _later = runs.begin(run.clone(), live(3, "second"));
        drop(lost);
        assert_eq!(runs.leases(), [(run, 3)]);
        assert!(runs.resolve("first").is_none());
        assert!(runs.resolve("second").is_some());
    }

    #[test]
    fn a_token_is_worth_something_only_while_its_run_is_at_work() {
        let runs = LiveRuns::default();
        let run = RunId::parse("r1").unwrap();
        let at_work = runs.begin(run.clone(), live(1, "secret"));
        let caller = runs.resolve("secret").unwrap();
        assert_eq!(caller.run(), Some(&run));
        assert!(runs.resolve("other").is_none());
        assert!(runs.is_alive(&run));
        drop(at_work);
        assert!(runs.resolve("secret").is_none());
        assert!(!runs.is_alive(&run));
    }
}
