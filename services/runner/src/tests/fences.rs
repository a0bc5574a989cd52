//! Changes that race work, race one another, or lose their process.

use std::sync::Arc;

use confab_model::id::TenantId;
use confab_model::message::Role;
use confab_proto::runner::v1 as proto;
use confab_proto::types::v1::{Run, RunState};
use confab_rpc::caller::Caller;
use confab_rpc::error::Reason;
use confab_rpc::gate::Action;
use futures::future::join_all;
use serde_json::json;
use tonic::Request;

use crate::accept::Acceptance;
use crate::commands::{ChangeSession, HumanMessage, SendToSession, StartRun};
use crate::lifecycle::Lifecycle;
use crate::send::Sends;
use crate::testing::{
    CommitFault, Fault, House, World, about, by_force, message, reason, script, send, target,
};

const MAIN: &str = "agent:main:main";
const DM: &str = "agent:main:direct:ada";

/// A call as it comes through the layers.
fn called<P>(body: P) -> Request<P> {
    let mut request = Request::new(body);
    let operator = Caller::operator(TenantId::default());
    request.extensions_mut().insert(operator);
    request
}

/// That each run that answered is in the generation that it names, once, and that no generation is
/// written to after the next one.
fn check_generations(house: &House, runs: &[Run]) {
    let all = house.transcript.all();
    for run in runs {
        let key = format!("run:{}:input", run.run_id);
        let stored: Vec<_> = all.iter().filter(|(_, one)| one.key == key).collect();
        assert!(stored.len() <= 1, "{run:?}");
        if run.state() == RunState::Succeeded {
            assert_eq!(stored.len(), 1, "{run:?}");
        }
        for (generation, _) in stored {
            assert_eq!(Some(generation), run.session_id.as_ref());
        }
    }
    let mut generations: Vec<_> = all.iter().map(|(generation, _)| generation).collect();
    generations.dedup();
    let written = generations.len();
    generations.sort();
    generations.dedup();
    assert_eq!(
        generations.len(),
        written,
        "an old generation was written to"
    );
}

#[test]
fn a_hundred_sends_that_race_resets_run_once_each_in_the_generation_they_name() {
    // B224
    World::new().live(&script(&json!([])), async |house| {
        for number in 0..100 {
            let mut client = house.operator();
            let (sent, reset) =
                tokio::join!(client.send(send(MAIN, &format!("m{number}"))), async {
                    let known = || house.registry.lives.find(MAIN).is_some();
                    while !known() {
                        tokio::task::yield_now().await;
                    }
                    loop {
                        match house.reset(&about(MAIN)).await {
                            Err(busy) if reason(&busy) == Reason::SessionBusy => {},
                            reset => break reset,
                        }
                    }
                });
            let sent = sent.unwrap().into_inner();
            assert_eq!(sent.reply, Some(format!("echo: m{number}")));
            reset.unwrap();
        }
        let runs = house.runs().await;
        assert_eq!(runs.len(), 100);
        assert!(runs.iter().all(|run| run.state() == RunState::Succeeded));
        check_generations(house, &runs);
        assert_eq!(house.transcript.all().len(), 200);
        assert_eq!(house.registry.lives.commits(), 100);
    });
}

#[test]
fn a_hundred_sends_at_once_that_race_forced_resets_end_once_each() {
    World::new().live(&script(&json!([])), async |house| {
        house.registry.lives.know(MAIN);
        let sends = (0..100).map(|number| async move {
            let text = format!("m{number}");
            let sent = house.operator().send(send(MAIN, &text)).await;
            sent.unwrap().into_inner().run_id
        });
        let (sent, ()) = tokio::join!(join_all(sends), async {
            for _ in 0..10 {
                house.reset(&by_force(MAIN)).await.unwrap();
            }
        });
        let runs = house.runs().await;
        assert_eq!(runs.len(), sent.len());
        assert!(
            runs.iter()
                .all(|run| matches!(run.state(), RunState::Succeeded | RunState::Cancelled))
        );
        check_generations(house, &runs);
        assert_eq!(house.registry.lives.commits(), 10);
        let last = house.human(MAIN, "last").await;
        let last = house.ended(&last.run_id).await;
        let row = house.registry.lives.find(MAIN).unwrap();
        assert_eq!(last.session_id, Some(row.session_id.to_string()));
    });
}

#[test]
fn what_was_admitted_before_a_reset_runs_in_the_generation_after_it() {
    // B224
    World::new().live(&script(&json!([])), async |house| {
        let acceptance = Acceptance::new(Arc::clone(house.context()));
        let sends = Sends::new(Arc::clone(house.context()));
        let person = acceptance.admit(called(message(MAIN, "person")), HumanMessage::parse);
        let person = person.await.unwrap();
        let backend = proto::StartRunRequest {
            target: Some(target(MAIN)),
            input: "backend".to_owned(),
            ..Default::default()
        };
        let backend = acceptance.admit(called(backend), |_, wire| StartRun::parse(wire));
        let backend = backend.await.unwrap();
        let sent = called(send(MAIN, "sent"));
        let sent = acceptance.admit(sent, |_, wire| SendToSession::parse(wire));
        let sent = sent.await.unwrap();
        let row = house.reset(&about(MAIN)).await.unwrap();
        let sent = sends.send(sent).await.unwrap();
        assert_eq!(sent.reply.as_deref(), Some("echo: sent"));
        let runs = [
            acceptance.human_message(person).await.unwrap().run_id,
            acceptance.start_run(backend).await.unwrap().run_id,
            sent.run_id,
        ];
        for run in runs {
            let run = house.ended(run.as_str()).await;
            assert_eq!(run.session_id.as_ref(), Some(&row.session_id));
        }
        assert!(house.transcript.lines(MAIN).is_empty());
        assert_eq!(house.runs().await.len(), 3);
    });
}

#[test]
fn what_comes_while_a_session_is_fenced_runs_after_the_change() {
    World::new().live(&script(&json!([])), async |house| {
        house.registry.lives.know(MAIN);
        house.registry.lives.fail(CommitFault::Held);
        let (mut sender, mut person) = (house.operator(), house.operator());
        let (asked, runs) = (about(MAIN), async {
            house.registry.lives.asked(1).await;
            let (sent, brought, ()) = tokio::join!(
                sender.send(send(MAIN, "sent")),
                person.send_message(message(MAIN, "brought")),
                async {
                    house.registry.until_asked(Action::Send, MAIN).await;
                    house.registry.until_asked(Action::HumanMessage, MAIN).await;
                    assert!(house.runs().await.is_empty());
                    house.registry.lives.mend();
                }
            );
            let brought = brought.unwrap().into_inner().run.unwrap().run_id;
            [sent.unwrap().into_inner().run_id, brought]
        });
        let (row, runs) = tokio::join!(house.reset(&asked), runs);
        let row = row.unwrap();
        for run in runs {
            let run = house.ended(&run).await;
            assert_eq!(run.state(), RunState::Succeeded);
            assert_eq!(run.session_id, Some(row.session_id.clone()));
        }
    });
}

#[test]
fn a_message_that_comes_while_its_session_is_archived_is_refused_after_it() {
    World::new().live(&script(&json!([])), async |house| {
        house.registry.lives.know(DM);
        house.registry.lives.fail(CommitFault::Held);
        let mut person = house.operator();
        let asked = about(DM);
        let (archived, brought) = tokio::join!(house.archive(&asked), async {
            house.registry.lives.asked(1).await;
            let (brought, ()) = tokio::join!(person.send_message(message(DM, "x")), async {
                house.registry.until_asked(Action::HumanMessage, DM).await;
                house.registry.lives.mend();
            });
            brought
        });
        archived.unwrap();
        let refused = brought.unwrap_err();
        assert_eq!(reason(&refused), Reason::SessionArchived);
        assert!(house.runs().await.is_empty());
    });
}

#[test]
fn who_comes_too_late_twice_is_told_so() {
    World::new().live(&script(&json!([])), async |house| {
        house.registry.lives.know(DM);
        house.registry.lives.fail(CommitFault::Held);
        let asked = about(DM);
        let (reset, ()) = tokio::join!(house.reset(&asked), async {
            house.registry.lives.asked(1).await;
            let hasty = Acceptance::hasty(Arc::clone(house.context()));
            let request = called(message(DM, "x"));
            let admitted = hasty.admit(request, HumanMessage::parse).await.unwrap();
            let refused = hasty.human_message(admitted).await.unwrap_err();
            assert_eq!(refused.reason, Reason::Stale);
            assert_eq!(
                refused.message,
                format!(
                    "session {DM} is about to be reset, archived, restored or deleted; try again \
                     in a moment"
                )
            );
            let hasty = Lifecycle::hasty(Arc::clone(house.context()));
            let request = proto::ArchiveSessionRequest {
                target: Some(target(DM)),
                ..Default::default()
            };
            let refused = hasty.change(called(request), ChangeSession::archive).await;
            let refused = refused.unwrap_err();
            assert_eq!(refused.reason, Reason::SessionBusy);
            assert_eq!(
                refused.message,
                format!("Session {DM} is being changed by another call; try again in a moment.")
            );
            house.registry.lives.mend();
        });
        reset.unwrap();
    });
}

#[test]
fn changes_at_once_happen_one_after_the_other_and_the_same_one_happens_once() {
    World::new().live(&script(&json!([])), async |house| {
        house.registry.lives.know(DM);
        house.registry.lives.fail(CommitFault::Held);
        let (plain, named) = (about(DM), about(DM).named("k"));
        let (first, second, third, ()) = tokio::join!(
            house.reset(&named),
            house.reset(&plain),
            house.reset(&named),
            async {
                house.registry.lives.asked(1).await;
                house.registry.lives.mend();
            }
        );
        let (first, second, third) = (first.unwrap(), second.unwrap(), third.unwrap());
        assert_eq!(first, third);
        assert_ne!(first.session_id, second.session_id);
        assert_eq!(first.work_epoch + second.work_epoch, 3);
        assert_eq!(house.registry.lives.commits(), 2);
    });
}

#[test]
fn a_session_that_is_not_free_in_time_stays_as_it_was() {
    World::new().live(&script(&json!([])), async |house| {
        house.transcript.fail(Role::Assistant, Fault::Held);
        let run = house.human(DM, "hello").await;
        house.transcript.until_met(1).await;
        let hasty = Lifecycle::hasty(Arc::clone(house.context()));
        let request = proto::ResetSessionRequest {
            target: Some(target(DM)),
            force: true,
            ..Default::default()
        };
        let refused = hasty.change(called(request), ChangeSession::reset).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.reason, Reason::SessionBusy);
        assert_eq!(
            refused.message,
            format!(
                "Session {DM} is still active; try again in a moment. Its work was told to end and \
                 has not ended yet."
            )
        );
        assert_eq!(house.registry.lives.commits(), 0);
        house.until_open().await;
        house.transcript.mend();
        house.ended(&run.run_id).await;
        house.reset(&by_force(DM)).await.unwrap();
    });
}

#[test]
fn a_change_goes_its_way_when_its_caller_leaves() {
    World::new().live(&script(&json!([])), async |house| {
        house.registry.lives.know(DM);
        house.registry.lives.fail(CommitFault::Held);
        let asked = about(DM).named("k");
        tokio::select! {
            answered = house.reset(&asked) => panic!("{answered:?}"),
            _ = house.registry.lives.asked(1) => {},
        }
        house.registry.lives.mend();
        house.until_open().await;
        let row = house.registry.lives.find(DM).unwrap();
        assert_eq!(row.work_epoch, 1);
        let answer = house.reset(&asked).await.unwrap();
        assert_eq!(answer.session_id, row.session_id.as_str());
        assert_eq!(house.registry.lives.commits(), 1);
    });
}

#[test]
fn a_change_whose_answer_was_lost_is_asked_for_again_under_its_name() {
    // D47
    World::new().live(&script(&json!([])), async |house| {
        house.registry.lives.know(DM);
        house.registry.lives.fail(CommitFault::Lost);
        let asked = about(DM);
        let (row, ()) = tokio::join!(house.reset(&asked), async {
            house.registry.lives.asked(2).await;
            house.registry.lives.mend();
        });
        let row = row.unwrap();
        assert_eq!(row.work_epoch, 1);
        let stored = house.registry.lives.find(DM).unwrap();
        assert_eq!(row.session_id, stored.session_id.as_str());
        let asked = house.registry.lives.asked(3).await;
        assert!(asked.iter().all(|one| *one == asked[0]));
    });
}

#[test]
fn a_fence_that_waited_for_work_when_its_process_died_is_lifted() {
    let world = World::new();
    let config = script(&json!([]));
    let asked = by_force(DM).named("k");
    let run = world.live(&config, async |house| {
        house.transcript.fail(Role::Assistant, Fault::Held);
        let run = house.human(DM, "hello").await;
        house.transcript.until_met(1).await;
        tokio::select! {
            answered = house.reset(&asked) => panic!("{answered:?}"),
            () = house.until_fenced(DM) => {},
        }
        run
    });
    world.transcript.mend();
    world.live(&config, async |house| {
        // Recovery came before everything else.
        assert!(house.is_open().await);
        let ended = house.ended(&run.run_id).await;
        assert_eq!(ended.state(), RunState::Succeeded);
        assert_eq!(house.registry.lives.commits(), 0);
        let next = house.human(DM, "next").await;
        let next = house.ended(&next.run_id).await;
        assert_eq!(next.session_id, run.session_id);
        // The key is unused: the call is made now.
        let row = house.reset(&asked).await.unwrap();
        assert_eq!(row.work_epoch, 1);
    });
}

#[test]
fn a_change_whose_process_died_while_the_registry_was_asked_happens_once() {
    for fault in [CommitFault::Held, CommitFault::Lost] {
        let world = World::new();
        let config = script(&json!([]));
        let asked = about(DM).named("k");
        world.live(&config, async |house| {
            house.registry.lives.know(DM);
            house.registry.lives.fail(fault);
            tokio::select! {
                answered = house.reset(&asked) => panic!("{answered:?}"),
                _ = house.registry.lives.asked(1) => {},
            }
        });
        let before = world.registry.lives.commits();
        world.live(&config, async |house| {
            // Nothing is accepted while the outcome is not known.
            house.registry.lives.asked(before + 1).await;
            let hasty = Acceptance::hasty(Arc::clone(house.context()));
            let request = called(message(DM, "x"));
            let admitted = hasty.admit(request, HumanMessage::parse).await.unwrap();
            let refused = hasty.human_message(admitted).await.unwrap_err();
            assert_eq!(refused.reason, Reason::Stale);
            house.registry.lives.mend();
            house.until_open().await;
            let row = house.registry.lives.find(DM).unwrap();
            assert_eq!(row.work_epoch, 1);
            let answer = house.reset(&asked).await.unwrap();
            assert_eq!(answer.session_id, row.session_id.as_str());
            let run = house.human(DM, "hello").await;
            let run = house.ended(&run.run_id).await;
            assert_eq!(run.session_id, Some(answer.session_id));
            let commits = house.registry.lives.asked(1).await;
            assert!(commits.iter().all(|one| *one == commits[0]));
        });
    }
}
