//! The runs at work in this process, the tokens their tool calls carry, and how one is aborted.
//!
//! Source: contract, Identity (a run's token is valid while the run may live).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use confab_model::id::{RunId, TenantId};
use confab_model::key::SessionKey;
use confab_rpc::caller::Caller;
use confab_rpc::identity::RunTokens;
use tokio::sync::watch;

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
    runs: Arc<Mutex<Runs>>,
}

#[derive(Debug, Default)]
struct Runs {
    at_work: BTreeMap<RunId, Entry>,
    /// Runs that must end, and why, whether they are at work or about to be.
    aborted: BTreeMap<RunId, String>,
}

#[derive(Debug)]
struct Entry {
    live: LiveRun,
    abort: watch::Sender<Option<String>>,
}

/// A run that is at work as long as this value lives, however its task ends.
#[derive(Debug)]
pub struct AtWork {
    runs: LiveRuns,
    run: RunId,
    lease_epoch: i64,
    abort: watch::Receiver<Option<String>>,
}

impl AtWork {
    /// Waits until the run is aborted; answers why.
    pub async fn aborted(&self) -> String {
        let mut abort = self.abort.clone();
        let told = abort.wait_for(Option::is_some).await;
        match told.ok().and_then(|why| why.clone()) {
            Some(why) => why,
            // Another attempt has the run: nobody aborts this one any more.
            None => std::future::pending().await,
        }
    }
}

/// A run that must end, as long as this value lives, although it may be at work only later.
#[derive(Debug)]
pub struct Aborted {
    runs: LiveRuns,
    run: RunId,
}

impl Drop for Aborted {
    fn drop(&mut self) {
        self.runs.lock().aborted.remove(&self.run);
    }
}

impl Drop for AtWork {
    /// The run's token is worth nothing any more, and its lease is not kept. Another attempt of the
    /// run, under a later lease, is left alone.
    fn drop(&mut self) {
        let mut runs = self.runs.lock();
        if runs
            .at_work
            .get(&self.run)
            .is_some_and(|entry| entry.live.lease_epoch == self.lease_epoch)
        {
            runs.at_work.remove(&self.run);
        }
    }
}

impl LiveRuns {
    /// A run begins; it is over when the answer is dropped.
    #[must_use = "the run is over when this is dropped"]
    pub fn begin(&self, run: RunId, live: LiveRun) -> AtWork {
        let lease_epoch = live.lease_epoch;
        let mut runs = self.lock();
        let (sender, abort) = watch::channel(runs.aborted.get(&run).cloned());
        let entry = Entry {
            live,
            abort: sender,
        };
        runs.at_work.insert(run.clone(), entry);
        drop(runs);
        AtWork {
            runs: self.clone(),
            run,
            lease_epoch,
            abort,
        }
    }

    /// Aborts a run: at once where it is at work, else when it begins.
    #[must_use = "a run that begins when this is dropped is not aborted"]
    pub fn abort(&self, run: &RunId, why: &str) -> Aborted {
        let mut runs = self.lock();
        runs.aborted.insert(run.clone(), why.to_owned());
        if let Some(entry) = runs.at_work.get(run) {
            entry.abort.send_replace(Some(why.to_owned()));
        }
        drop(runs);
        Aborted {
            runs: self.clone(),
            run: run.clone(),
        }
    }

    /// How many runs are at work.
    pub fn count(&self) -> usize {
        self.lock().at_work.len()
    }

    /// The leases to keep.
    pub fn leases(&self) -> Vec<(RunId, i64)> {
        self.lock()
            .at_work
            .iter()
            .map(|(run, entry)| (run.clone(), entry.live.lease_epoch))
            .collect()
    }

    /// No code panics while it holds the map, so a poisoned one is still whole.
    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunTokens for LiveRuns {
    fn resolve(&self, token: &str) -> Option<Caller> {
        let runs = self.lock();
        let (id, entry) = runs
            .at_work
            .iter()
            .find(|(_, entry)| entry.live.token.as_deref() == Some(token))?;
        Some(Caller::agent(
            entry.live.tenant.clone(),
            entry.live.session_key.clone(),
            Some(id.clone()),
        ))
    }

    fn is_alive(&self, run: &RunId) -> bool {
        self.lock().at_work.contains_key(run)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

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

    #[tokio::test]
    async fn a_run_is_aborted_at_work_or_as_soon_as_it_begins() {
        let runs = LiveRuns::default();
        let run = RunId::parse("r1").unwrap();
        let at_work = runs.begin(run.clone(), live(1, "first"));
        assert!(at_work.aborted().now_or_never().is_none());
        let aborted = runs.abort(&run, "why");
        assert_eq!(at_work.aborted().await, "why");
        let late = runs.begin(run.clone(), live(2, "second"));
        assert_eq!(late.aborted().await, "why");
        drop(aborted);
        let later = runs.begin(run.clone(), live(3, "third"));
        assert!(later.aborted().now_or_never().is_none());
        let other = runs.begin(RunId::parse("r2").unwrap(), live(1, "other"));
        let _aborted = runs.abort(&run, "again");
        assert!(other.aborted().now_or_never().is_none());
        // An attempt that lost its run to a later one is not the one that is aborted.
        assert!(late.aborted().await == "why" && later.aborted().await == "again");
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
