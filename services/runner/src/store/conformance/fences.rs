//! Fences, epochs, and the keys of lifecycle changes.

use confab_model::clock::Timestamp;
use confab_model::delivery::DeliveryState;
use confab_model::id::{IdempotencyKey, SessionId, TenantId};
use confab_proto::registry::v1::{CommitLifecycleRequest, LifecycleChange};

use super::{Backend, Bench, at, named, queued, said, tenant};
use crate::store::{
    Fence, FenceError, Fenced, FirstUse, KeyUse, Lift, LiveWork, NewFence, NewFlow, OpenError,
    Opened, QueuedSession, RunnerStore as _, Stage,
};

const A: &str = "agent:a:main";
const B: &str = "agent:b:main";
const HOUR: i64 = 3600;

fn commit(change_id: &str, epoch: i64) -> CommitLifecycleRequest {
    CommitLifecycleRequest {
        session_key: B.to_owned(),
        change: LifecycleChange::Reset.into(),
        expected_session_id: "generation 1".to_owned(),
        expected_work_epoch: epoch,
        change_id: change_id.to_owned(),
        patch: None,
        update_mask: None,
        archived_only: false,
        expected_row_version: None,
    }
}

fn fence(live_work: LiveWork) -> NewFence {
    NewFence {
        session: queued(B),
        commit: commit("c1", 0),
        live_work,
        key: None,
        now: at(1),
    }
}

fn keyed(key: &str, fingerprint: &str, now: Timestamp) -> NewFence {
    let key = KeyUse {
        owner: A.to_owned(),
        key: IdempotencyKey::parse(key).unwrap(),
        fingerprint: fingerprint.to_owned(),
        expires_at: now.plus_millis(HOUR * 1000),
    };
    NewFence {
        key: Some(key),
        now,
        ..fence(LiveWork::Refuses)
    }
}

async fn first_use<B: Backend>(bench: &Bench<'_, B>, key: &str, seconds: i64) -> Option<FirstUse> {
    let (tenant, key) = (tenant(), IdempotencyKey::parse(key).unwrap());
    let used = bench.store.used_key(&tenant, A, &key, at(seconds));
    used.await.unwrap().map(|used| used.first)
}

fn done(work_epoch: i64, answer: &[u8]) -> Lift {
    Lift::Done {
        work_epoch,
        answer: answer.to_vec(),
    }
}

pub(crate) async fn a_fenced_session_gives_and_takes_nothing_until_the_fence_is_lifted(
    backend: &impl Backend,
) {
    let mut bench = Bench::new(backend).await;
    bench.accept(&bench.human(B, at(0))).await;
    let fenced = bench.store.fence(fence(LiveWork::Ignored)).await.unwrap();
    assert_eq!(fenced, Fenced::Fresh(Vec::new()));
    let mut standing = Fence {
        session: queued(B),
        stage: Stage::Fenced,
        commit: commit("c1", 0),
    };
    assert_eq!(bench.store.fences().await.unwrap(), [standing.clone()]);
    bench.store.begin_commit(&queued(B)).await.unwrap();
    standing.stage = Stage::Committing;
    for _ in 0..2 {
        bench.crash().await;
        assert_eq!(bench.store.fences().await.unwrap(), [standing.clone()]);
        assert_eq!(bench.claim(B, 2).await, None);
        let refused = bench.store.open_flow(bench.human(B, at(2))).await;
        assert!(
            matches!(refused, Err(OpenError::Fenced { .. })),
            "{refused:?}"
        );
    }
    // Other sessions, and the same key elsewhere, go on.
    bench.accept(&bench.human(A, at(2))).await;
    assert!(bench.claim(A, 2).await.is_some());
    let elsewhere = TenantId::parse("other").unwrap();
    let other = NewFlow {
        tenant: elsewhere.clone(),
        ..bench.human(B, at(2))
    };
    bench.accept(&other).await;
    let other = QueuedSession::new(&elsewhere, &queued(B).session_key);
    assert_eq!(bench.store.fence_of(&other).await.unwrap(), None);
    assert_eq!(
        bench.store.fence_of(&queued(B)).await.unwrap(),
        Some(standing)
    );
    bench.store.lift(&queued(B), Lift::Undone).await.unwrap();
    bench.crash().await;
    assert!(bench.store.fences().await.unwrap().is_empty());
    bench.accept(&bench.human(B, at(3))).await;
    assert!(bench.claim(B, 3).await.is_some());
}

pub(crate) async fn a_fence_waits_for_live_work_and_for_what_is_owed(backend: &impl Backend) {
    let bench = Bench::new(backend).await;
    let busy = async |runs_wanted: u32| {
        for live_work in [LiveWork::Refuses, LiveWork::RefusesOwed] {
            let refused = bench.store.fence(fence(live_work)).await.unwrap_err();
            assert!(
                matches!(refused, FenceError::Busy { runs, .. } if runs == runs_wanted),
                "{refused:?}"
            );
        }
        assert!(bench.store.fences().await.unwrap().is_empty());
    };
    let first = bench.accept(&bench.human(B, at(0))).await;
    bench.accept(&bench.send(A, A, at(0))).await;
    busy(1).await;
    let claimed = bench.claim(B, 1).await.unwrap();
    busy(1).await;
    let epoch = claimed.lease_epoch;
    let ended = bench.store.end_run(&first, epoch, said("x"), at(1)).await;
    assert!(ended.unwrap());
    // Its reply is on its way into the transcript.
    busy(1).await;
    bench.store.release_session(&first, epoch).await.unwrap();
    // A person's answer is owed to the person's channel.
    let owing = bench.store.fence(fence(LiveWork::RefusesOwed)).await;
    assert!(
        matches!(owing, Err(FenceError::Owing { deliveries: 1, .. })),
        "{owing:?}"
    );
    let (_, delivery) = bench
        .store
        .due_deliveries(at(1), 9)
        .await
        .unwrap()
        .remove(0);
    let begun = bench
        .store
        .begin_attempt(&delivery.id, at(1))
        .await
        .unwrap();
    assert!(begun.is_some());
    let owing = bench.store.fence(fence(LiveWork::RefusesOwed)).await;
    assert!(matches!(owing, Err(FenceError::Owing { .. })), "{owing:?}");
    let state = DeliveryState::Delivered;
    let settled = bench
        .store
        .settle_delivery(&delivery.id, state, None, at(2));
    settled.await.unwrap();
    let fenced = bench.store.fence(fence(LiveWork::RefusesOwed)).await;
    assert_eq!(fenced.unwrap(), Fenced::Fresh(Vec::new()));
}

pub(crate) async fn a_forced_fence_names_the_runs_to_be_ended(backend: &impl Backend) {
    let bench = Bench::new(backend).await;
    let running = bench.accept(&bench.human(B, at(0))).await;
    let claimed = bench.claim(B, 0).await.unwrap();
    let waiting = bench.accept(&bench.human(B, at(0))).await;
    bench.accept(&bench.human(A, at(0))).await;
    let mut live = vec![running.clone(), waiting.clone()];
    live.sort();
    let named = async || {
        let live = bench.store.live_runs(&queued(B)).await.unwrap();
        let mut ids: Vec<_> = live.into_iter().map(|one| one.run.id).collect();
        ids.sort();
        ids
    };
    assert_eq!(named().await, live);
    let Fenced::Fresh(mut doomed) = bench.store.fence(fence(LiveWork::Aborted)).await.unwrap()
    else {
        panic!("nobody made this change before");
    };
    doomed.sort();
    assert_eq!(doomed, live);
    // One that has ended and owes its reply is live, and not to be ended again.
    let epoch = claimed.lease_epoch;
    bench
        .store
        .end_run(&running, epoch, said("x"), at(1))
        .await
        .unwrap();
    assert_eq!(named().await, live);
    bench.store.lift(&queued(B), Lift::Undone).await.unwrap();
    let again = bench.store.fence(fence(LiveWork::Aborted)).await.unwrap();
    assert_eq!(again, Fenced::Fresh(vec![waiting]));
}

pub(crate) async fn one_change_of_a_session_is_under_way_at_a_time(backend: &impl Backend) {
    let mut bench = Bench::new(backend).await;
    bench.store.fence(fence(LiveWork::Refuses)).await.unwrap();
    bench.crash().await;
    let all = [
        LiveWork::Refuses,
        LiveWork::RefusesOwed,
        LiveWork::Aborted,
        LiveWork::Ignored,
    ];
    for live_work in all {
        let refused = bench.store.fence(fence(live_work)).await;
        assert!(
            matches!(refused, Err(FenceError::UnderWay { .. })),
            "{refused:?}"
        );
    }
    let other = NewFence {
        session: queued(A),
        ..fence(LiveWork::Refuses)
    };
    bench.store.fence(other).await.unwrap();
    bench.store.lift(&queued(B), Lift::Undone).await.unwrap();
    bench.store.fence(fence(LiveWork::Refuses)).await.unwrap();
    assert_eq!(bench.store.fences().await.unwrap().len(), 2);
}

pub(crate) async fn what_was_admitted_before_a_change_comes_too_late_after_it(
    backend: &impl Backend,
) {
    let mut bench = Bench::new(backend).await;
    bench.store.fence(fence(LiveWork::Refuses)).await.unwrap();
    bench.store.lift(&queued(B), done(3, b"")).await.unwrap();
    bench.crash().await;
    let admitted = |work_epoch: u64| NewFlow {
        work_epoch,
        session_id: SessionId::parse("generation 2").unwrap(),
        ..bench.human(B, at(1))
    };
    let late = bench.store.open_flow(admitted(2)).await;
    assert!(matches!(late, Err(OpenError::Outdated { .. })), "{late:?}");
    bench.accept(&admitted(3)).await;
    bench.accept(&admitted(4)).await;
    bench.accept(&bench.human(A, at(1))).await;
    let change = |epoch: i64| NewFence {
        commit: commit("c2", epoch),
        ..fence(LiveWork::Ignored)
    };
    let late = bench.store.fence(change(2)).await;
    assert!(matches!(late, Err(FenceError::Outdated { .. })), "{late:?}");
    // An epoch never goes back.
    bench.store.fence(change(3)).await.unwrap();
    bench.store.lift(&queued(B), done(1, b"")).await.unwrap();
    let late = bench.store.open_flow(admitted(2)).await;
    assert!(matches!(late, Err(OpenError::Outdated { .. })), "{late:?}");
}

pub(crate) async fn a_change_takes_its_key_and_answers_it_when_it_is_over(backend: &impl Backend) {
    let mut bench = Bench::new(backend).await;
    // The empty answer is one, too: that of a delete.
    for (key, answer, epoch) in [("full", b"row".as_slice(), 1), ("empty", b"", 2)] {
        let new = NewFence {
            commit: commit(key, epoch - 1),
            ..keyed(key, "x", at(0))
        };
        let fenced = bench.store.fence(new.clone()).await.unwrap();
        assert_eq!(fenced, Fenced::Fresh(Vec::new()));
        let open = bench.store.fence(new.clone()).await;
        assert!(matches!(open, Err(FenceError::UnderWay { .. })), "{open:?}");
        let first = |answer: Option<Vec<u8>>| FirstUse::Change {
            session_key: queued(B).session_key,
            answer,
        };
        assert_eq!(first_use(&bench, key, 1).await, Some(first(None)));
        bench
            .store
            .lift(&queued(B), done(epoch, answer))
            .await
            .unwrap();
        bench.crash().await;
        let wanted = Some(first(Some(answer.to_vec())));
        assert_eq!(first_use(&bench, key, 1).await, wanted);
        assert_eq!(first_use(&bench, key, HOUR).await, None);
        let repeated = bench.store.fence(new).await.unwrap();
        assert_eq!(repeated, Fenced::Repeated(answer.to_vec()));
        let other = bench.store.fence(keyed(key, "y", at(1))).await;
        assert!(
            matches!(other, Err(FenceError::KeyReused { .. })),
            "{other:?}"
        );
    }
    assert!(bench.store.fences().await.unwrap().is_empty());
    // A key names a run or a change, whatever is said with it.
    let run = NewFlow {
        work_epoch: 2,
        ..named(&bench.human(B, at(1)), A, "x", at(HOUR))
    };
    let run_id = bench.accept(&run).await;
    let change = bench.store.fence(keyed("k", "x", at(1))).await;
    assert!(
        matches!(change, Err(FenceError::KeyReused { .. })),
        "{change:?}"
    );
    let mut run = run;
    assert_eq!(
        bench.store.open_flow(run.clone()).await.unwrap(),
        Opened::Repeated(run_id)
    );
    if let Some(key) = &mut run.key {
        key.key = IdempotencyKey::parse("full").unwrap();
    }
    let run = bench.store.open_flow(run).await;
    assert!(matches!(run, Err(OpenError::KeyReused { .. })), "{run:?}");
}

pub(crate) async fn a_key_of_a_change_that_did_not_happen_is_unused(backend: &impl Backend) {
    let mut bench = Bench::new(backend).await;
    bench.store.fence(keyed("k", "x", at(0))).await.unwrap();
    bench.crash().await;
    bench.store.lift(&queued(B), Lift::Undone).await.unwrap();
    let other = bench.store.fence(keyed("k", "y", at(1))).await.unwrap();
    assert_eq!(other, Fenced::Fresh(Vec::new()));
    bench.store.lift(&queued(B), done(1, b"row")).await.unwrap();
    // A change that did not happen takes no earlier answer with it.
    let next = NewFence {
        commit: commit("c2", 1),
        ..keyed("next", "x", at(1))
    };
    bench.store.fence(next).await.unwrap();
    bench.store.lift(&queued(B), Lift::Undone).await.unwrap();
    let repeated = bench.store.fence(keyed("k", "y", at(1))).await.unwrap();
    assert_eq!(repeated, Fenced::Repeated(b"row".to_vec()));
    // A refused fence takes no key.
    bench
        .accept(&NewFlow {
            work_epoch: 1,
            ..bench.human(B, at(1))
        })
        .await;
    let busy = NewFence {
        commit: commit("c3", 1),
        ..keyed("busy", "x", at(1))
    };
    let refused = bench.store.fence(busy).await;
    assert!(
        matches!(refused, Err(FenceError::Busy { .. })),
        "{refused:?}"
    );
    let free = NewFence {
        session: queued(A),
        ..keyed("busy", "y", at(1))
    };
    bench.store.fence(free).await.unwrap();
}
