//! Notices: kept, taken by a run, acknowledged.

use confab_flow::exchange::Terms;
use confab_model::id::{IdempotencyKey, TenantId};
use confab_model::run::{RunState, Step};

use super::{Backend, Bench, at, broken, key, said, tenant};
use crate::store::{KeyUse, NewFlow, Notice, Opened, RunnerStore as _, Unwoken};

const A: &str = "agent:a:main";
const B: &str = "agent:b:main";
const C: &str = "agent:c:main";

/// A notice for B, whose id is its text.
fn about(target: &str, id: &str) -> Notice {
    Notice {
        id: id.to_owned(),
        tenant: tenant(),
        watcher: key(B),
        target: key(target),
        text: id.to_owned(),
        wakes: true,
    }
}

impl<B: Backend> Bench<'_, B> {
    async fn keep(&self, notices: &[Notice]) {
        for notice in notices {
            self.store.keep_notice(notice.clone()).await.unwrap();
        }
    }

    /// The notices whose watchers must be woken.
    async fn unwoken(&self) -> Vec<String> {
        let unwoken = self.store.unwoken(10).await.unwrap();
        unwoken.into_iter().map(|one| one.notice_id).collect()
    }

    async fn owed(&self) -> Vec<String> {
        self.store.unacknowledged(10).await.unwrap()
    }

    async fn acknowledge(&self, ids: &[&str], seconds: i64) {
        let ids = ids.iter().map(|id| (*id).to_owned()).collect();
        self.store.acknowledged(ids, at(seconds)).await.unwrap();
    }

    /// The flow that wakes B for a notice.
    fn waking(&self, notice_id: &str, seconds: i64) -> NewFlow {
        let key_use = KeyUse {
            owner: "notices".to_owned(),
            key: IdempotencyKey::parse(format!("notice:{notice_id}")).unwrap(),
            fingerprint: notice_id.to_owned(),
            expires_at: at(seconds + 1000),
        };
        let flow = self.flow(Terms::notice(key("agent:b:main"), None), at(seconds));
        NewFlow {
            key: Some(key_use),
            ..flow
        }
    }

    async fn wake(&self, notice_id: &str, seconds: i64) -> Option<Opened> {
        let flow = self.waking(notice_id, seconds);
        self.store.wake(notice_id, flow).await.unwrap()
    }
}

pub(crate) async fn a_run_takes_every_notice_of_its_session_when_it_begins(backend: &impl Backend) {
    let mut bench = Bench::new(backend).await;
    let elsewhere = Notice {
        watcher: key(C),
        ..about(A, "for c")
    };
    let other_tenant = Notice {
        tenant: TenantId::parse("other").unwrap(),
        ..about(A, "of another tenant")
    };
    // Two targets are two lines; what is newer about a target stands for what is older.
    let notices = [
        about(C, "c1"),
        about(A, "a1"),
        elsewhere,
        other_tenant,
        about(C, "c2"),
    ];
    bench.keep(&notices).await;
    let first = bench.accept(&bench.human(B, at(0))).await;
    let second = bench.accept(&bench.human(B, at(0))).await;
    assert!(bench.read(&first).await.run.notices.is_empty());
    bench.crash().await;
    let claimed = bench.claim(B, 1).await.unwrap();
    assert_eq!(claimed.run.notices, ["a1", "c2"]);
    bench.crash().await;
    assert_eq!(bench.read(&first).await.run.notices, ["a1", "c2"]);
    let ended = bench
        .store
        .end_run(&first, claimed.lease_epoch, said("x"), at(2));
    assert!(ended.await.unwrap());
    bench
        .store
        .release_session(&first, claimed.lease_epoch)
        .await
        .unwrap();
    assert_eq!(bench.read(&first).await.run.notices, ["a1", "c2"]);
    let next = bench.run(B, 3, said("y")).await;
    assert_eq!((next.run.id, next.run.notices), (second, Vec::new()));
}

pub(crate) async fn a_repeated_attempt_keeps_exactly_its_own_notices(backend: &impl Backend) {
    let mut bench = Bench::new(backend).await;
    bench.keep(&[about(A, "early")]).await;
    let run = bench.accept(&bench.human(B, at(0))).await;
    bench.claim(B, 1).await.unwrap();
    bench.crash().await;
    bench.store.requeue(None, 3).await.unwrap();
    bench.keep(&[about(A, "late")]).await;
    // The queued run is no run that will take it.
    assert_eq!(bench.unwoken().await, ["late"]);
    let repeated = bench.run(B, 2, said("x")).await;
    assert_eq!((&repeated.run.id, repeated.run.attempts), (&run, 2));
    assert_eq!(repeated.run.notices, ["early"]);
    bench.accept(&bench.human(B, at(3))).await;
    assert_eq!(bench.run(B, 4, said("y")).await.run.notices, ["late"]);
    // A run without notices gets none by being repeated, either.
    let bare = bench.accept(&bench.human(B, at(5))).await;
    bench.claim(B, 5).await.unwrap();
    bench.store.requeue(None, 3).await.unwrap();
    bench.keep(&[about(C, "later")]).await;
    assert!(bench.claim(B, 6).await.unwrap().run.notices.is_empty());
    assert!(bench.read(&bare).await.run.notices.is_empty());
}

pub(crate) async fn a_notice_is_owed_from_its_run_until_it_was_acknowledged(
    backend: &impl Backend,
) {
    let mut bench = Bench::new(backend).await;
    bench.keep(&[about(A, "a1"), about(C, "c1")]).await;
    assert!(bench.owed().await.is_empty(), "no run has them");
    // What no run has cannot be acknowledged.
    bench.acknowledge(&["a1"], 0).await;
    let run = bench.accept(&bench.human(B, at(0))).await;
    bench.claim(B, 1).await.unwrap();
    bench.crash().await;
    assert_eq!(bench.owed().await, ["a1", "c1"]);
    assert_eq!(bench.store.unacknowledged(1).await.unwrap(), ["a1"]);
    bench.acknowledge(&["a1"], 2).await;
    bench.crash().await;
    assert_eq!(bench.owed().await, ["c1"]);
    bench.acknowledge(&["c1", "unknown"], 2).await;
    assert!(bench.owed().await.is_empty());
    assert_eq!(bench.read(&run).await.run.notices, ["a1", "c1"]);
}

pub(crate) async fn a_notice_that_comes_again_changes_nothing(backend: &impl Backend) {
    let bench = Bench::new(backend).await;
    let again = about(A, "a1");
    let worded_anew = Notice {
        text: "a1 again".to_owned(),
        ..again.clone()
    };
    bench.keep(&[again.clone(), worded_anew]).await;
    bench.accept(&bench.human(B, at(0))).await;
    let shown = bench.run(B, 1, said("x")).await;
    assert_eq!(
        shown.run.notices,
        ["a1 again"],
        "while it waits, its last wording counts"
    );
    // While its run has it, and after it was acknowledged.
    bench.keep(std::slice::from_ref(&again)).await;
    assert!(bench.unwoken().await.is_empty());
    assert_eq!(bench.read(&shown.run.id).await, shown);
    bench.acknowledge(&["a1"], 2).await;
    bench.keep(std::slice::from_ref(&again)).await;
    assert!(bench.unwoken().await.is_empty() && bench.owed().await.is_empty());
    // It is remembered for an hour.
    bench.acknowledge(&[], 3601).await;
    bench.keep(std::slice::from_ref(&again)).await;
    assert!(bench.unwoken().await.is_empty());
    bench.acknowledge(&[], 3602).await;
    bench.keep(&[again]).await;
    assert_eq!(bench.unwoken().await, ["a1"]);
}

pub(crate) async fn a_watcher_is_woken_once_and_only_where_no_run_will_show_the_notice(
    backend: &impl Backend,
) {
    let mut bench = Bench::new(backend).await;
    let quiet = Notice {
        watcher: key("agent:b:subagent:1"),
        wakes: false,
        ..about(A, "quiet")
    };
    bench.keep(&[about(A, "a1"), about(C, "c1"), quiet]).await;
    let expected = Unwoken {
        notice_id: "a1".to_owned(),
        tenant: tenant(),
        watcher: key(B),
    };
    assert_eq!(bench.store.unwoken(10).await.unwrap(), [expected]);
    let Some(Opened::Fresh(run)) = bench.wake("a1", 1).await else {
        panic!("nothing was started");
    };
    // It will take both.
    assert!(bench.unwoken().await.is_empty());
    assert_eq!(bench.wake("a1", 1).await, None);
    assert_eq!(bench.wake("c1", 1).await, None);
    bench.crash().await;
    let woken = bench.run(B, 2, said("seen")).await;
    assert_eq!((&woken.run.id, woken.run.step), (&run, Step::Notice));
    assert_eq!(woken.run.notices, ["a1", "c1"]);
    assert_eq!(bench.wake("a1", 3).await, None, "a run has it");
    assert_eq!(bench.wake("unknown", 3).await, None);
    // A message in the queue shows a notice as well.
    bench.keep(&[about(A, "a2")]).await;
    bench.accept(&bench.human(B, at(4))).await;
    assert!(bench.unwoken().await.is_empty());
    assert_eq!(bench.wake("a2", 4).await, None);
    // While it is at work, what comes needs a run of its own.
    let busy = bench.claim(B, 5).await.unwrap();
    assert_eq!(busy.run.notices, ["a2"]);
    bench.keep(&[about(A, "a3")]).await;
    assert_eq!(bench.unwoken().await, ["a3"]);
    assert!(matches!(bench.wake("a3", 6).await, Some(Opened::Fresh(_))));
}

pub(crate) async fn a_wake_whose_run_ended_before_it_began_is_not_repeated(backend: &impl Backend) {
    let bench = Bench::new(backend).await;
    bench.keep(&[about(A, "a1")]).await;
    let opened = bench.wake("a1", 1).await;
    let Some(Opened::Fresh(run)) = opened else {
        panic!("{opened:?}");
    };
    let epoch = bench.read(&run).await.lease_epoch;
    let ended = bench
        .store
        .end_run(&run, epoch, broken("queue_expired"), at(2));
    assert!(ended.await.unwrap());
    assert_eq!(bench.read(&run).await.run.state, RunState::Failed);
    assert_eq!(bench.unwoken().await, ["a1"]);
    assert_eq!(bench.wake("a1", 3).await, Some(Opened::Repeated(run)));
    bench.store.let_wait("a1").await.unwrap();
    assert!(bench.unwoken().await.is_empty());
    bench.accept(&bench.human(B, at(4))).await;
    assert_eq!(bench.run(B, 5, said("x")).await.run.notices, ["a1"]);
}
