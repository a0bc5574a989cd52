//! A whole send, and its delivery.

use confab_model::delivery::{Delivery, DeliveryState};
use confab_model::flow::{DeliveryStatus, FlowState, Party, StopReason};
use confab_model::id::DeliveryId;
use confab_model::run::Step;

use super::{Backend, Bench, at, route, said, tenant};
use crate::store::{FlowDetail, NewFlow, RunnerStore};

const A: &str = "agent:a:main";
const B: &str = "agent:b:main";

/// A whole send; the store is opened again after the step with this number, or after every one.
async fn converse<B_: Backend>(
    bench: &mut Bench<'_, B_>,
    crash_after: Option<usize>,
) -> FlowDetail {
    let new = bench.send(A, B, at(0));
    bench.accept(&new).await;
    let mut step = 0;
    for (session, text) in [(B, "t0"), (A, "r1"), (B, "t2"), (B, " Build is green. ")] {
        crash(bench, &mut step, crash_after).await;
        let claimed = bench.claim(session, 1).await.unwrap();
        crash(bench, &mut step, crash_after).await;
        let (run, epoch) = (&claimed.run.id, claimed.lease_epoch);
        assert!(
            bench
                .store
                .end_run(run, epoch, said(text), at(2))
                .await
                .unwrap()
        );
        crash(bench, &mut step, crash_after).await;
        // A repetition is no news.
        assert!(
            !bench
                .store
                .end_run(run, epoch, said("again"), at(3))
                .await
                .unwrap()
        );
        bench.store.release_session(run, epoch).await.unwrap();
    }
    crash(bench, &mut step, crash_after).await;
    let (_, delivery) = bench
        .store
        .due_deliveries(at(2), 10)
        .await
        .unwrap()
        .remove(0);
    assert!(
        bench
            .store
            .begin_attempt(&delivery.id, at(2))
            .await
            .unwrap()
            .is_some()
    );
    crash(bench, &mut step, crash_after).await;
    settle(&bench.store, &delivery.id, DeliveryState::Delivered).await;
    crash(bench, &mut step, crash_after).await;
    bench
        .store
        .flow_detail(&tenant(), &new.flow.id)
        .await
        .unwrap()
        .unwrap()
}

async fn crash<B_: Backend>(bench: &mut Bench<'_, B_>, step: &mut usize, after: Option<usize>) {
    if after.is_none_or(|after| after == *step) {
        bench.crash().await;
    }
    *step += 1;
}

async fn settle(store: &impl RunnerStore, delivery: &DeliveryId, state: DeliveryState) {
    store
        .settle_delivery(delivery, state, None, at(5))
        .await
        .unwrap();
}

pub(crate) async fn a_conversation_is_the_same_whatever_crashes_between_its_steps(
    backend: &impl Backend,
) {
    let mut bench = Bench::new(backend).await;
    for crash_after in [None, Some(usize::MAX), Some(1), Some(5), Some(8), Some(13)] {
        let detail = converse(&mut bench, crash_after).await;
        let flow = &detail.flow;
        assert_eq!(
            (flow.state, flow.delivery),
            (FlowState::Done, DeliveryStatus::Delivered)
        );
        assert_eq!(
            (flow.turns, flow.stop_reason),
            (2, Some(StopReason::MaxTurns))
        );
        assert_eq!(
            (flow.last_speaker, flow.ended_at),
            (Some(Party::Target), Some(at(5)))
        );
        let runs: Vec<_> = detail
            .runs
            .iter()
            .map(|run| {
                (
                    run.step,
                    run.turn,
                    run.session_key.as_str(),
                    run.reply.as_deref(),
                )
            })
            .collect();
        let wanted = [
            (Step::Send, 0, B, Some("t0")),
            (Step::Reply, 1, A, Some("r1")),
            (Step::Reply, 2, B, Some("t2")),
            (Step::Announce, 0, B, Some(" Build is green. ")),
        ];
        assert_eq!(runs, wanted, "{crash_after:?}");
        assert_eq!(
            detail.runs[1].parent_run_id.as_ref(),
            Some(&detail.runs[0].id)
        );
        let [delivery] = detail.deliveries.as_slice() else {
            panic!("{:?}", detail.deliveries)
        };
        assert_eq!(delivery.text, "Build is green.");
        assert_eq!((&delivery.route, delivery.attempts), (&route(), 1));
        assert_eq!(delivery.run_id, detail.runs[3].id);
    }
    assert!(bench.store.queued_sessions().await.unwrap().is_empty());
    assert!(bench.store.unfinished().await.unwrap().is_empty());
}

/// A person's message whose answer is owed to a channel.
async fn owed(bench: &Bench<'_, impl Backend>, session: &str, text: &str) -> (NewFlow, Delivery) {
    let new = bench.human(session, at(0));
    bench.accept(&new).await;
    bench.run(session, 1, said(text)).await;
    let detail = bench
        .store
        .flow_detail(&tenant(), &new.flow.id)
        .await
        .unwrap()
        .unwrap();
    (new, detail.deliveries[0].clone())
}

pub(crate) async fn a_delivery_is_settled_once(backend: &impl Backend) {
    let mut bench = Bench::new(backend).await;
    let (new, delivery) = owed(&bench, B, "hello").await;
    assert_eq!(delivery.state, DeliveryState::Pending);
    settle(&bench.store, &delivery.id, DeliveryState::Blocked).await;
    let detail = bench
        .store
        .flow_detail(&tenant(), &new.flow.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(detail.flow.delivery, DeliveryStatus::Blocked);
    assert_eq!(detail.deliveries[0].ended_at, Some(at(5)));
    for _ in 0..2 {
        settle(&bench.store, &delivery.id, DeliveryState::Delivered).await;
        let begun = bench
            .store
            .begin_attempt(&delivery.id, at(9))
            .await
            .unwrap();
        assert_eq!(begun, None);
        bench.store.park_delivery(&delivery.id).await.unwrap();
        bench.store.reset_attempts(at(9)).await.unwrap();
        let again = bench
            .store
            .flow_detail(&tenant(), &new.flow.id)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            (&again.flow, &again.deliveries),
            (&detail.flow, &detail.deliveries)
        );
        bench.crash().await;
    }
}

pub(crate) async fn a_delivery_that_was_left_alone_comes_back_at_the_next_start(
    backend: &impl Backend,
) {
    let mut bench = Bench::new(backend).await;
    let (_, parked) = owed(&bench, A, "parked").await;
    let (_, cut_off) = owed(&bench, B, "cut off").await;
    bench.store.park_delivery(&parked.id).await.unwrap();
    bench
        .store
        .begin_attempt(&cut_off.id, at(1))
        .await
        .unwrap()
        .unwrap();
    assert!(
        bench
            .store
            .due_deliveries(at(100), 10)
            .await
            .unwrap()
            .is_empty()
    );
    bench.crash().await;
    bench.store.reset_attempts(at(7)).await.unwrap();
    let due = bench.store.due_deliveries(at(7), 10).await.unwrap();
    let mut texts: Vec<_> = due
        .iter()
        .map(|(_, one)| (one.text.as_str(), one.attempts))
        .collect();
    texts.sort_unstable();
    assert_eq!(texts, [("cut off", 1), ("parked", 0)]);
    // Somebody may take what is parked.
    bench.store.park_delivery(&parked.id).await.unwrap();
    assert!(
        bench
            .store
            .begin_attempt(&parked.id, at(8))
            .await
            .unwrap()
            .is_some()
    );
}

pub(crate) async fn what_was_left_alone_can_be_made_due_and_an_attempt_under_way_goes_on(
    backend: &impl Backend,
) {
    let mut bench = Bench::new(backend).await;
    let (_, parked) = owed(&bench, A, "parked").await;
    let (_, under_way) = owed(&bench, B, "under way").await;
    bench.store.park_delivery(&parked.id).await.unwrap();
    let begun = bench.store.begin_attempt(&under_way.id, at(1)).await;
    assert!(begun.unwrap().is_some());
    bench.store.unpark(at(7)).await.unwrap();
    // What is due already stays due since then.
    bench.store.unpark(at(9)).await.unwrap();
    bench.crash().await;
    let early = bench.store.due_deliveries(at(6), 10).await.unwrap();
    assert!(early.is_empty(), "{early:?}");
    let due = bench.store.due_deliveries(at(7), 10).await.unwrap();
    let texts: Vec<_> = due.iter().map(|(_, one)| one.text.as_str()).collect();
    assert_eq!(texts, ["parked"]);
}

pub(crate) async fn an_attempt_begins_when_it_is_due_and_once(backend: &impl Backend) {
    let bench = Bench::new(backend).await;
    let (_, delivery) = owed(&bench, B, "hello").await;
    assert!(
        bench
            .store
            .due_deliveries(at(0), 10)
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(
        bench
            .store
            .begin_attempt(&delivery.id, at(0))
            .await
            .unwrap(),
        None
    );
    assert_eq!(
        bench.store.due_deliveries(at(1), 10).await.unwrap(),
        [(tenant(), delivery.clone())]
    );
    let begun = bench
        .store
        .begin_attempt(&delivery.id, at(1))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((begun.state, begun.attempts), (DeliveryState::Sending, 1));
    assert_eq!(
        bench
            .store
            .begin_attempt(&delivery.id, at(1))
            .await
            .unwrap(),
        None
    );
    let unknown = DeliveryId::parse("nobody").unwrap();
    assert_eq!(
        bench.store.begin_attempt(&unknown, at(1)).await.unwrap(),
        None
    );
    settle(&bench.store, &unknown, DeliveryState::Delivered).await;
}
