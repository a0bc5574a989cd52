//! Acceptance and claims.

use confab_model::clock::Timestamp;
use confab_model::id::TenantId;
use confab_model::run::{RunState, Step};

use super::{Backend, Bench, at, key, lease, named, queued, said, tenant};
use crate::store::{NewFlow, OpenError, Opened, RunnerStore as _};

const A: &str = "agent:a:main";
const B: &str = "agent:b:main";
const HOUR: i64 = 3600;

pub(crate) async fn a_flow_is_accepted_whole_and_claimed_once(backend: &impl Backend) {
    let mut bench = Bench::new(backend).await;
    let new = bench.send(A, B, at(0));
    let run = bench.accept(&new).await;
    bench.crash().await;
    let stored = bench.read(&run).await;
    assert_eq!(
        (stored.run.state, stored.run.step),
        (RunState::Queued, Step::Send)
    );
    assert_eq!(stored.run.session_id.as_ref(), Some(&new.session_id));
    assert!(stored.store_input);
    assert_eq!(bench.store.queued_sessions().await.unwrap(), [queued(B)]);
    let flow = bench
        .store
        .flow(&tenant(), &new.flow.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(flow, new.flow);
    let claimed = bench.claim(B, 1).await.unwrap();
    assert_eq!(claimed.run.id, run);
    assert_eq!(
        (claimed.run.attempts, claimed.run.started_at),
        (1, Some(at(1)))
    );
    assert_eq!(bench.read(&run).await, claimed);
    bench.crash().await;
    assert_eq!(bench.claim(B, 2).await, None);
    assert!(bench.store.queued_sessions().await.unwrap().is_empty());
}

pub(crate) async fn people_go_first_then_the_order_of_acceptance(backend: &impl Backend) {
    let bench = Bench::new(backend).await;
    let mut accepted = Vec::new();
    // The clock stands still, or goes back: acceptance decides.
    for (person, seconds) in [(false, 9), (false, 5), (true, 5), (false, 5), (true, 1)] {
        let new = if person {
            bench.human(B, at(seconds))
        } else {
            bench.send(A, B, at(seconds))
        };
        accepted.push(bench.accept(&new).await);
    }
    let mut order = Vec::new();
    for seconds in 10..15 {
        order.push(bench.run(B, seconds, said("")).await.run.id);
    }
    let wanted = [2, 4, 0, 1, 3].map(|place: usize| accepted[place].clone());
    assert_eq!(order, wanted);
    assert_eq!(bench.claim(B, 20).await, None);
}

pub(crate) async fn a_session_is_held_by_one_run_until_it_is_freed(backend: &impl Backend) {
    let mut bench = Bench::new(backend).await;
    for _ in 0..2 {
        bench.accept(&bench.human(B, at(0))).await;
    }
    let first = bench.claim(B, 1).await.unwrap();
    assert_eq!(bench.claim(B, 2).await, None);
    let ended = bench
        .store
        .end_run(&first.run.id, first.lease_epoch, said("x"), at(3))
        .await;
    assert!(ended.unwrap());
    bench.crash().await;
    // Its reply may not be in the transcript yet.
    assert_eq!(bench.claim(B, 4).await, None);
    let unfinished = bench.store.unfinished().await.unwrap();
    assert_eq!(unfinished, [bench.read(&first.run.id).await]);
    bench
        .store
        .release_session(&first.run.id, first.lease_epoch)
        .await
        .unwrap();
    bench
        .store
        .release_session(&first.run.id, first.lease_epoch)
        .await
        .unwrap();
    assert!(bench.store.unfinished().await.unwrap().is_empty());
    let second = bench.claim(B, 5).await.unwrap();
    assert_ne!(second.run.id, first.run.id);
    // A late repetition of the release frees nothing.
    bench
        .store
        .release_session(&first.run.id, first.lease_epoch)
        .await
        .unwrap();
    bench.accept(&bench.human(B, at(5))).await;
    assert_eq!(bench.claim(B, 6).await, None);
}

pub(crate) async fn sessions_do_not_wait_for_one_another(backend: &impl Backend) {
    let bench = Bench::new(backend).await;
    for session in [A, B, A, B] {
        bench.accept(&bench.human(session, at(0))).await;
    }
    let sessions = vec![queued(A), queued("agent:nobody:main"), queued(B)];
    let claimed = bench.store.claim(sessions.clone(), lease(1)).await.unwrap();
    let held: Vec<_> = claimed
        .iter()
        .map(|one| one.0.run.session_key.clone())
        .collect();
    assert_eq!(held, [key(A), key(B)]);
    assert!(
        bench
            .store
            .claim(sessions, lease(2))
            .await
            .unwrap()
            .is_empty()
    );
}

pub(crate) async fn a_full_queue_takes_no_more(backend: &impl Backend) {
    let bench = Bench::new(backend).await;
    let full = |new: NewFlow| NewFlow {
        queue_max: 2,
        ..new
    };
    for _ in 0..2 {
        bench.accept(&full(bench.human(B, at(0)))).await;
    }
    let refused = full(named(&bench.human(B, at(0)), A, "x", at(HOUR)));
    let error = bench.store.open_flow(refused.clone()).await.unwrap_err();
    assert!(
        matches!(error, OpenError::QueueFull { waiting: 2, .. }),
        "{error:?}"
    );
    let kept = bench.store.flow(&tenant(), &refused.flow.id).await.unwrap();
    assert_eq!(kept, None);
    bench.accept(&full(bench.human(A, at(0)))).await;
    // A run that has begun does not wait, and the refused call left its key unused.
    bench.claim(B, 1).await.unwrap();
    bench.accept(&refused).await;
}

pub(crate) async fn a_key_answers_with_the_first_run_and_refuses_other_content(
    backend: &impl Backend,
) {
    let mut bench = Bench::new(backend).await;
    let first = bench
        .accept(&named(&bench.human(B, at(0)), A, "x", at(HOUR)))
        .await;
    for crash in [false, true] {
        if crash {
            bench.crash().await;
        }
        let again = named(&bench.human(B, at(1)), A, "x", at(HOUR));
        let opened = bench.store.open_flow(again.clone()).await.unwrap();
        assert_eq!(opened, Opened::Repeated(first.clone()));
        assert_eq!(
            bench.store.flow(&tenant(), &again.flow.id).await.unwrap(),
            None
        );
        let other = named(&bench.human(B, at(1)), A, "y", at(HOUR));
        let error = bench.store.open_flow(other).await.unwrap_err();
        assert!(matches!(error, OpenError::KeyReused { .. }), "{error:?}");
        if !crash {
            bench.run(B, 2, said("done")).await;
        }
    }
    assert_eq!(bench.claim(B, 3).await, None);
}

pub(crate) async fn a_key_belongs_to_its_owner_and_its_tenant(backend: &impl Backend) {
    let bench = Bench::new(backend).await;
    bench
        .accept(&named(&bench.human(B, at(0)), A, "x", at(HOUR)))
        .await;
    bench
        .accept(&named(&bench.human(B, at(0)), "somebody", "y", at(HOUR)))
        .await;
    let elsewhere = named(&bench.human(B, at(0)), A, "z", at(HOUR));
    bench
        .accept(&NewFlow {
            tenant: TenantId::parse("other").unwrap(),
            ..elsewhere
        })
        .await;
}

pub(crate) async fn a_key_is_forgotten_when_its_time_is_over(backend: &impl Backend) {
    let bench = Bench::new(backend).await;
    let used = |now: Timestamp, fingerprint: &str| {
        named(
            &bench.human(B, now),
            A,
            fingerprint,
            now.plus_millis(HOUR * 1000),
        )
    };
    let first = bench.accept(&used(at(0), "x")).await;
    let repeated = bench
        .store
        .open_flow(used(at(HOUR - 1), "x"))
        .await
        .unwrap();
    assert_eq!(repeated, Opened::Repeated(first));
    // Nobody swept, and the time is over all the same.
    let second = bench.accept(&used(at(HOUR), "y")).await;
    bench.store.forget_keys(at(2 * HOUR - 1)).await.unwrap();
    let repeated = bench
        .store
        .open_flow(used(at(2 * HOUR - 1), "y"))
        .await
        .unwrap();
    assert_eq!(repeated, Opened::Repeated(second));
    bench.store.forget_keys(at(2 * HOUR)).await.unwrap();
    bench.accept(&used(at(2 * HOUR - 1), "z")).await;
}
