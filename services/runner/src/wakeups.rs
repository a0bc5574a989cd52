//! Who is woken by what the store commits.
//!
//! The writer calls these right after a commit, so that nobody polls. They are hints: whoever is
//! woken looks at the store.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use confab_model::flow::{Flow, FlowState};
use confab_model::id::{FlowId, RunId, TenantId};
use confab_store::signal::{Signals, Watcher};
use tokio::sync::Notify;

use crate::plan::Plan;
use crate::store::QueuedSession;

/// The runner's wake-ups. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Wakeups {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    runs: Signals<RunId>,
    flows: Signals<FlowId>,
    queues: Signals<QueuedSession>,
    queue: Notify,
    sessions: Mutex<Sessions>,
    deliveries: Notify,
    activity: Notify,
    notices: Notify,
    acknowledgements: Notify,
    /// Runs whose outcome is stored but whose reply is not in the transcript yet: for those who
    /// wait they have not ended. Counted, because an attempt that lost its lease can overlap the one
    /// that took its place.
    unfinished: Mutex<Unfinished>,
}

/// How many attempts are unfinished, by run and by flow.
#[derive(Debug, Default)]
struct Unfinished {
    runs: BTreeMap<RunId, usize>,
    flows: BTreeMap<FlowId, usize>,
}

/// The sessions that may have something to do, each once, the one that waits longest first.
#[derive(Debug, Default)]
struct Sessions {
    order: VecDeque<QueuedSession>,
    listed: BTreeSet<QueuedSession>,
}

impl Wakeups {
    /// Watches a run.
    pub fn watch_run(&self, run: &RunId) -> Watcher<RunId> {
        self.shared.runs.subscribe(run.clone())
    }

    /// Watches a flow.
    pub fn watch_flow(&self, flow: &FlowId) -> Watcher<FlowId> {
        self.shared.flows.subscribe(flow.clone())
    }

    /// Watches a session: what runs in it, and whether it is fenced.
    pub fn watch_session(&self, session: &QueuedSession) -> Watcher<QueuedSession> {
        self.shared.queues.subscribe(session.clone())
    }

    /// A session may have something to do.
    pub fn queue_changed(&self, session: QueuedSession) {
        self.shared.queues.notify(&session);
        let mut sessions = lock(&self.shared.sessions);
        if sessions.listed.insert(session.clone()) {
            sessions.order.push_back(session);
        }
        drop(sessions);
        self.shared.queue.notify_one();
    }

    /// The sessions that may have something to do, at most `max`; they are taken off the list.
    pub fn take_sessions(&self, max: usize) -> Vec<QueuedSession> {
        let mut sessions = lock(&self.shared.sessions);
        let mut taken = Vec::new();
        while taken.len() < max {
            let Some(session) = sessions.order.pop_front() else {
                break;
            };
            sessions.listed.remove(&session);
            taken.push(session);
        }
        taken
    }

    /// Waits until a session may have something to do.
    pub async fn queue(&self) {
        self.shared.queue.notified().await;
    }

    /// Waits until a delivery may be due.
    pub async fn deliveries(&self) {
        self.shared.deliveries.notified().await;
    }

    /// A delivery may be due.
    pub fn delivery_due(&self) {
        self.shared.deliveries.notify_one();
    }

    /// Waits until the registry must be told something.
    pub async fn activity(&self) {
        self.shared.activity.notified().await;
    }

    /// The registry must be told something.
    pub fn activity_added(&self) {
        self.shared.activity.notify_one();
    }

    /// Waits until a watcher may have to be woken.
    pub async fn notices(&self) {
        self.shared.notices.notified().await;
    }

    /// A watcher may have to be woken.
    pub fn notice_kept(&self) {
        self.shared.notices.notify_one();
    }

    /// Waits until the registry must be told of notices that a run has.
    pub async fn acknowledgements(&self) {
        self.shared.acknowledgements.notified().await;
    }

    /// The registry must be told of notices that a run has.
    pub fn notices_taken(&self) {
        self.shared.acknowledgements.notify_one();
    }

    /// A run's outcome is about to be stored; it counts as ended when [`Self::run_finished`] says so.
    pub fn run_unfinished(&self, run: &RunId, flow: &FlowId) {
        let mut unfinished = lock(&self.shared.unfinished);
        count(&mut unfinished.runs, run);
        count(&mut unfinished.flows, flow);
    }

    /// What [`Self::run_unfinished`] announced is over: a run's outcome is stored and its reply is in
    /// the transcript, or this attempt has no part in it any more. Its flow may be over with it.
    pub fn run_finished(&self, run: &RunId, flow: &FlowId) {
        let mut unfinished = lock(&self.shared.unfinished);
        discount(&mut unfinished.runs, run);
        discount(&mut unfinished.flows, flow);
        drop(unfinished);
        self.shared.runs.notify(run);
        self.shared.flows.notify(flow);
    }

    /// Whether a run's reply is still on its way into the transcript.
    pub fn is_unfinished(&self, run: &RunId) -> bool {
        lock(&self.shared.unfinished).runs.contains_key(run)
    }

    /// Whether the reply of a run of this flow is still on its way into the transcript.
    pub fn is_flow_unfinished(&self, flow: &FlowId) -> bool {
        lock(&self.shared.unfinished).flows.contains_key(flow)
    }

    /// A plan was written.
    pub fn planned(&self, tenant: &TenantId, plan: &Plan) {
        for planned in &plan.runs {
            self.queue_changed(QueuedSession {
                tenant: tenant.clone(),
                session_key: planned.run.session_key.clone(),
            });
        }
        if !plan.deliveries.is_empty() {
            self.delivery_due();
        }
        self.flow_changed(&plan.flow);
        self.activity_added();
    }

    fn flow_changed(&self, flow: &Flow) {
        if flow.state == FlowState::Done {
            self.shared.flows.notify(&flow.id);
        }
    }
}

fn count<K: Ord + Clone>(counts: &mut BTreeMap<K, usize>, key: &K) {
    let count = counts.entry(key.clone()).or_insert(0);
    *count = count.saturating_add(1);
}

fn discount<K: Ord>(counts: &mut BTreeMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(key);
        }
    }
}

/// No code panics while it holds one of the sets, so a poisoned one is still whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use confab_model::id::TenantId;
    use confab_model::key::SessionKey;
    use futures::FutureExt as _;

    use super::*;

    fn session(key: &str) -> QueuedSession {
        QueuedSession {
            tenant: TenantId::default(),
            session_key: SessionKey::parse(key).unwrap(),
        }
    }

    #[test]
    fn sessions_are_taken_in_the_order_in_which_they_came_each_once() {
        let wakeups = Wakeups::default();
        for key in [
            "agent:z:main",
            "agent:a:main",
            "agent:z:main",
            "agent:m:main",
        ] {
            wakeups.queue_changed(session(key));
        }
        let first = wakeups.take_sessions(2);
        assert_eq!(first, [session("agent:z:main"), session("agent:a:main")]);
        wakeups.queue_changed(session("agent:z:main"));
        let rest = wakeups.take_sessions(10);
        assert_eq!(rest, [session("agent:m:main"), session("agent:z:main")]);
    }

    #[test]
    fn a_run_is_finished_when_every_attempt_says_so() {
        let wakeups = Wakeups::default();
        let (run, flow) = (RunId::parse("r").unwrap(), FlowId::parse("f").unwrap());
        let other = RunId::parse("other").unwrap();
        wakeups.run_unfinished(&other, &flow);
        wakeups.run_finished(&other, &flow);
        assert!(!wakeups.is_flow_unfinished(&flow));
        wakeups.run_unfinished(&run, &flow);
        wakeups.run_unfinished(&run, &flow);
        wakeups.run_finished(&run, &flow);
        assert!(wakeups.is_unfinished(&run) && wakeups.is_flow_unfinished(&flow));
        let (mut of_run, mut of_flow) = (wakeups.watch_run(&run), wakeups.watch_flow(&flow));
        wakeups.run_finished(&run, &flow);
        assert!(!wakeups.is_unfinished(&run) && !wakeups.is_flow_unfinished(&flow));
        // Whoever waits for the flow waits for the replies of its runs too.
        assert!(of_run.notified().now_or_never().is_some());
        assert!(of_flow.notified().now_or_never().is_some());
    }
}
