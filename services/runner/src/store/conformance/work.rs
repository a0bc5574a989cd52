//! Leases, attempts, and what a run leaves.

use confab_model::id::{RunId, SessionId};
use confab_model::message::Usage;
use confab_model::run::{Outcome, RunState};
use serde_json::{Map, json};

use super::{Backend, Bench, at, broken, queued, said};
use crate::store::{Activity, RunResult, RunnerStore as _, ToolTrace};

const A: &str = "agent:a:main";
const B: &str = "agent:b:main";

pub(crate) async fn an_older_lease_writes_nothing(backend: &impl Backend) {
    let bench = Bench::new(backend).await;
    let run = bench.accept(&bench.human(B, at(0))).await;
    let old = bench.claim(B, 0).await.unwrap();
    assert!(
        bench
            .store
            .requeue(Some(at(16)), 3)
            .await
            .unwrap()
            .is_empty()
    );
    let between = bench.read(&run).await;
    assert_eq!(between.run.state, RunState::Queued);
    let writes = async |epoch: i64| {
        let ended = bench
            .store
            .end_run(&run, epoch, said("late"), at(17))
            .await
            .unwrap();
        bench.store.release_session(&run, epoch).await.unwrap();
        bench
            .store
            .renew_leases(vec![(run.clone(), epoch)], at(999))
            .await
            .unwrap();
        ended
    };
    assert!(!writes(old.lease_epoch).await);
    assert_eq!(bench.read(&run).await, between);
    let new = bench.claim(B, 20).await.unwrap();
    assert!(new.lease_epoch > old.lease_epoch);
    assert_eq!(
        (new.run.attempts, new.run.started_at),
        (2, old.run.started_at)
    );
    assert!(!writes(old.lease_epoch).await);
    assert_eq!(bench.read(&run).await, new);
    // The stale renewal did not keep the new lease, and the stale release did not free the session.
    bench.accept(&bench.human(B, at(20))).await;
    assert_eq!(bench.claim(B, 21).await, None);
    bench.store.requeue(Some(at(36)), 3).await.unwrap();
    assert_eq!(bench.read(&run).await.run.state, RunState::Queued);
}

pub(crate) async fn a_renewed_lease_is_not_lost(backend: &impl Backend) {
    let bench = Bench::new(backend).await;
    let run = bench.accept(&bench.human(B, at(0))).await;
    let claimed = bench.claim(B, 0).await.unwrap();
    bench
        .store
        .renew_leases(vec![(run.clone(), claimed.lease_epoch)], at(40))
        .await
        .unwrap();
    bench.store.requeue(Some(at(40)), 3).await.unwrap();
    assert_eq!(bench.read(&run).await, claimed);
    // At the start of a process no lease counts.
    bench.store.requeue(None, 3).await.unwrap();
    assert_eq!(bench.read(&run).await.run.state, RunState::Queued);
    assert_eq!(bench.store.queued_sessions().await.unwrap(), [queued(B)]);
}

pub(crate) async fn a_run_that_was_begun_too_often_is_given_back_to_be_ended(
    backend: &impl Backend,
) {
    let mut bench = Bench::new(backend).await;
    let run = bench.accept(&bench.human(B, at(0))).await;
    bench.accept(&bench.human(B, at(0))).await;
    for attempt in 1..=3 {
        let claimed = bench.claim(B, attempt).await.unwrap();
        assert_eq!(
            (&claimed.run.id, i64::from(claimed.run.attempts)),
            (&run, attempt)
        );
        bench.crash().await;
        let spent = bench.store.requeue(None, 3).await.unwrap();
        let ids: Vec<&RunId> = spent.iter().map(|stored| &stored.run.id).collect();
        assert_eq!(ids, if attempt == 3 { vec![&run] } else { Vec::new() });
        let Some(spent) = spent.first() else { continue };
        assert_eq!(
            bench.claim(B, 9).await,
            None,
            "it holds its session until it has ended"
        );
        let epoch = spent.lease_epoch;
        assert!(
            bench
                .store
                .end_run(&run, epoch, broken("interrupted"), at(9))
                .await
                .unwrap()
        );
        bench.store.release_session(&run, epoch).await.unwrap();
    }
    assert_ne!(bench.claim(B, 10).await.unwrap().run.id, run);
}

pub(crate) async fn a_run_keeps_the_first_generation_it_found(backend: &impl Backend) {
    let mut bench = Bench::new(backend).await;
    bench.accept(&bench.send(A, B, at(0))).await;
    bench.run(B, 1, said("t0")).await;
    let turn = bench.claim(A, 2).await.unwrap();
    assert_eq!(turn.run.session_id, None);
    for name in ["first", "second"] {
        let generation = SessionId::parse(name).unwrap();
        bench
            .store
            .bind_session(&turn.run.id, &generation, Some(name))
            .await
            .unwrap();
        bench.crash().await;
        let found = bench.read(&turn.run.id).await.run;
        assert_eq!(found.session_id.unwrap().as_str(), "first");
        assert_eq!(found.model.as_deref(), Some("first"));
    }
}

pub(crate) async fn the_ordinal_counts_runs_and_not_attempts(backend: &impl Backend) {
    let mut bench = Bench::new(backend).await;
    for session in [B, B, A, B] {
        bench.accept(&bench.human(session, at(0))).await;
    }
    assert_eq!(bench.claim(B, 1).await.unwrap().run.ordinal, 1);
    bench.crash().await;
    bench.store.requeue(None, 3).await.unwrap();
    assert_eq!(bench.run(B, 2, said("")).await.run.ordinal, 1);
    assert_eq!(bench.run(B, 3, said("")).await.run.ordinal, 2);
    assert_eq!(bench.run(A, 3, said("")).await.run.ordinal, 1);
    assert_eq!(bench.run(B, 4, said("")).await.run.ordinal, 3);
}

async fn hit(
    bench: &Bench<'_, impl Backend>,
    run: &RunId,
    rules: &[(u32, Option<u32>)],
) -> Option<u32> {
    bench.store.hit_rule(run, rules.to_vec()).await.unwrap()
}

pub(crate) async fn a_rule_is_hit_by_runs_and_not_by_attempts(backend: &impl Backend) {
    let mut bench = Bench::new(backend).await;
    let mut runs = Vec::new();
    for session in ["agent:b:one", "agent:b:two", "agent:b:three", A] {
        runs.push(bench.accept(&bench.human(session, at(0))).await);
    }
    let once = vec![(0, Some(1)), (4, Some(1))];
    assert_eq!(hit(&bench, &runs[0], &once).await, Some(0));
    bench.crash().await;
    assert_eq!(
        hit(&bench, &runs[0], &once).await,
        Some(0),
        "the same run again"
    );
    assert_eq!(
        hit(&bench, &runs[1], &once).await,
        Some(4),
        "another session of the agent"
    );
    assert_eq!(hit(&bench, &runs[2], &once).await, None, "used up");
    assert_eq!(hit(&bench, &runs[3], &once).await, Some(0), "another agent");
    let endless = [(0, Some(1)), (7, None)];
    assert_eq!(hit(&bench, &runs[2], &endless).await, Some(7));
    // Under another configuration the remembered rule may not fit any more.
    assert_eq!(hit(&bench, &runs[0], &[(7, None)]).await, Some(7));
}

pub(crate) async fn what_a_run_said_and_called_is_kept(backend: &impl Backend) {
    let mut bench = Bench::new(backend).await;
    bench.accept(&bench.human(B, at(0))).await;
    let trace = ToolTrace {
        call_id: "c1".to_owned(),
        name: "sessions_list".to_owned(),
        arguments: Map::from_iter([("limit".to_owned(), json!(3))]),
        result: json!({"count": 0, "sessions": []}),
        is_error: false,
    };
    let usage = Some(Usage {
        input: 7,
        output: 5,
    });
    let result = RunResult {
        outcome: Outcome::Replied {
            text: "fertig ✅".to_owned(),
            model: Some("m".to_owned()),
            usage,
        },
        trace: vec![trace.clone()],
    };
    let run = bench.run(B, 4, result).await.run.id;
    bench.accept(&bench.human(B, at(5))).await;
    let failed = bench.run(B, 6, broken("rate_limited")).await.run.id;
    bench.crash().await;
    let stored = bench.read(&run).await;
    assert_eq!(stored.trace, [trace]);
    assert_eq!(stored.run.reply.as_deref(), Some("fertig ✅"));
    assert_eq!(
        (stored.run.model.as_deref(), stored.run.usage),
        (Some("m"), usage)
    );
    assert_eq!(
        (stored.run.state, stored.run.ended_at),
        (RunState::Succeeded, Some(at(4)))
    );
    let failed = bench.read(&failed).await.run;
    assert_eq!(failed.error.unwrap().class, "rate_limited");
    assert_eq!((failed.state, failed.reply), (RunState::Failed, None));
}

pub(crate) async fn what_the_registry_must_be_told_is_kept_in_order_until_it_was(
    backend: &impl Backend,
) {
    let mut bench = Bench::new(backend).await;
    let first = bench.accept(&bench.human(B, at(0))).await;
    let second = bench.accept(&bench.human(A, at(1))).await;
    bench.run(B, 2, said("x")).await;
    bench.crash().await;
    let told = |records: &[(i64, Activity)]| {
        let told = records
            .iter()
            .map(|(_, one)| (one.run_id.clone(), one.state, one.occurred_at));
        told.collect::<Vec<_>>()
    };
    let all = bench.store.activity(10).await.unwrap();
    let wanted = [
        (first.clone(), RunState::Queued, at(0)),
        (second, RunState::Queued, at(1)),
        (first.clone(), RunState::Running, at(2)),
        (first, RunState::Succeeded, at(2)),
    ];
    assert_eq!(told(&all), wanted);
    assert_eq!(told(&bench.store.activity(3).await.unwrap()), wanted[..3]);
    bench.store.forget_activity(all[1].0).await.unwrap();
    bench.crash().await;
    assert_eq!(told(&bench.store.activity(10).await.unwrap()), wanted[2..]);
    // A place is never given twice, even when everything was told.
    bench.store.forget_activity(all[3].0).await.unwrap();
    bench.crash().await;
    bench.accept(&bench.human(A, at(9))).await;
    assert!(bench.store.activity(10).await.unwrap()[0].0 > all[3].0);
}
