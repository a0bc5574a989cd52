//! Notices of watched sessions: they reach their watchers, each in one run.

use confab_model::message::Role;
use confab_proto::registry::v1::WatchNoticesResponse;
use confab_proto::types::v1::{DeliveryStatus, FlowKind, FlowState, Lane, Run, RunState, Step};
use confab_rpc::error::Reason;
use confab_rpc::gate::Action;
use serde_json::{Value, json};

use crate::testing::{Fault, House, World, about, agents, line, notice};

const MAIN: &str = "agent:main:main";
const B: &str = "agent:b:main";
const C: &str = "agent:c:main";

/// Agents that say what they were given.
fn telling() -> Value {
    let rules = json!([{ "reply": "{step} of {message}, notices {notices}, prompt {prompt}" }]);
    agents(&json!({ "main": rules, "b": [], "c": [] }))
}

impl House {
    /// Until everything that was pushed before is kept: notices come one after the other, and this
    /// one's watcher has nothing else to do.
    async fn until_kept(&self, marker: &str) {
        self.registry.notices.push(&notice(marker, C, B));
        self.registry.notices.until_acknowledged(&[marker]).await;
    }

    async fn runs_of(&self, session: &str) -> Vec<Run> {
        let mut runs = self.runs().await;
        runs.retain(|run| run.session_key == session);
        runs
    }

    /// The first run of a session when it has ended.
    async fn woken(&self, session: &str) -> Run {
        let run = self.runs_of(session).await.remove(0);
        self.ended(&run.run_id).await
    }
}

/// How many runs show this line.
fn shown(runs: &[Run], line: &str) -> usize {
    let lines = runs.iter().flat_map(|run| &run.notices);
    lines.filter(|one| *one == line).count()
}

#[test]
fn an_idle_main_session_is_woken_once_and_its_reply_goes_nowhere() {
    // D57, D62, D74, reg:W21
    World::new().live(&telling(), async |house| {
        house.registry.notices.push(&notice("n1", MAIN, B));
        house.registry.notices.until_acknowledged(&["n1"]).await;
        let run = house.woken(MAIN).await;
        assert_eq!((run.step(), run.lane()), (Step::Notice, Lane::Main));
        let line = line("n1", B);
        assert_eq!(run.notices, [line.as_str()]);
        let input = &run.input;
        assert!(!input.contains(&line), "{input}");
        let reply = format!("notice of {input}, notices {line}, prompt {line}\n\n{input}");
        assert_eq!(run.reply.as_ref(), Some(&reply));
        let (flow, runs) = house.done(&run.flow_id).await;
        assert_eq!(
            (flow.kind(), flow.state()),
            (FlowKind::Human, FlowState::Done)
        );
        assert_eq!(flow.delivery.unwrap().status(), DeliveryStatus::None);
        assert_eq!((runs.len(), house.runs().await.len()), (1, 1));
        assert_eq!(runs[0].notices, [line], "a flow shows them too");
        assert_eq!(
            house.transcript.lines(MAIN),
            [format!("Assistant: {reply}")]
        );
        assert_eq!(house.registry.notices.acknowledged(), ["n1"]);
    });
}

#[test]
fn a_busy_session_is_woken_after_its_run_for_all_that_waits_a_line_a_target() {
    World::new().live(&telling(), async |house| {
        house.transcript.fail(Role::User, Fault::Held);
        let busy = house.human(MAIN, "hello").await;
        house.transcript.until_met(1).await;
        for (id, target) in [("n1", B), ("n2", C), ("n3", B)] {
            house.registry.notices.push(&notice(id, MAIN, target));
        }
        house.until_kept("marker").await;
        house.registry.until_asked(Action::FlowRun, MAIN).await;
        house.transcript.mend();
        house
            .registry
            .notices
            .until_acknowledged(&["n2", "n3"])
            .await;
        let runs = house.runs_of(MAIN).await;
        assert_eq!(runs.len(), 2, "{runs:?}");
        assert_eq!((&runs[0].run_id, runs[0].notices.len()), (&busy.run_id, 0));
        assert_eq!(runs[1].step(), Step::Notice);
        assert_eq!(runs[1].notices, [line("n2", C), line("n3", B)]);
    });
}

#[test]
fn a_queued_run_shows_what_comes_meanwhile_and_nobody_is_woken() {
    World::new().live(&telling(), async |house| {
        house.transcript.fail(Role::User, Fault::Held);
        house.human(MAIN, "first").await;
        house.transcript.until_met(1).await;
        let queued = house.human(MAIN, "second").await;
        house.registry.notices.push(&notice("n1", MAIN, B));
        house.until_kept("marker").await;
        house.transcript.mend();
        let ended = house.ended(&queued.run_id).await;
        let line = line("n1", B);
        assert_eq!(ended.notices, [line.as_str()]);
        assert_eq!(ended.input, "second");
        let reply = format!("human of second, notices {line}, prompt {line}\n\nsecond");
        assert_eq!(ended.reply, Some(reply));
        assert_eq!(house.transcript.lines(MAIN)[2], "User: second");
        house.registry.notices.until_acknowledged(&["n1"]).await;
        assert_eq!(house.runs_of(MAIN).await.len(), 2);
    });
}

#[test]
fn a_wake_that_a_person_came_before_asks_nobody() {
    // D50, D57
    World::new().live(&telling(), async |house| {
        house.transcript.fail(Role::User, Fault::Held);
        house.human(MAIN, "first").await;
        house.transcript.until_met(1).await;
        house.registry.notices.push(&notice("n1", MAIN, B));
        house.registry.until_asked(Action::FlowRun, MAIN).await;
        while house.runs_of(MAIN).await.len() < 2 {
            tokio::task::yield_now().await;
        }
        let second = house.human(MAIN, "second").await;
        house.transcript.mend();
        let line = line("n1", B);
        assert_eq!(house.ended(&second.run_id).await.notices, [line.as_str()]);
        let wake = house.runs_of(MAIN).await.remove(1);
        let wake = house.ended(&wake.run_id).await;
        assert_eq!((wake.step(), wake.notices.len()), (Step::Notice, 0));
        assert_eq!(
            (wake.state(), wake.reply),
            (RunState::Succeeded, Some(String::new()))
        );
        let lines = house.transcript.lines(MAIN);
        assert_eq!(lines.len(), 4, "{lines:?}");
    });
}

#[test]
fn a_deletion_ends_what_others_were_still_to_be_told_of_the_session_w16() {
    World::new().live(&telling(), async |house| {
        let (watcher, gone) = ("agent:main:subagent:1", "agent:b:direct:ada");
        house.registry.lives.know(gone);
        for (id, target) in [("n1", gone), ("n2", C)] {
            house.registry.notices.push(&notice(id, watcher, target));
        }
        house.until_kept("marker").await;
        house.delete(&about(gone)).await.unwrap();
        let run = house.human(watcher, "hello").await;
        assert_eq!(house.ended(&run.run_id).await.notices, [line("n2", C)]);
    });
}

#[test]
fn a_watcher_that_is_no_main_session_sees_a_notice_with_whatever_runs_next() {
    World::new().live(&telling(), async |house| {
        let watchers = ["agent:main:subagent:1", "agent:main:discord:group:1"];
        for (id, watcher) in ["n1", "n2"].into_iter().zip(watchers) {
            house.registry.notices.push(&notice(id, watcher, B));
        }
        house.until_kept("marker").await;
        assert_eq!(house.runs().await.len(), 1, "the marker's alone");
        for (id, watcher) in ["n1", "n2"].into_iter().zip(watchers) {
            let run = house.human(watcher, "hello").await;
            let ended = house.ended(&run.run_id).await;
            assert_eq!(ended.notices, [line(id, B)]);
        }
        house
            .registry
            .notices
            .until_acknowledged(&["n1", "n2"])
            .await;
    });
}

#[test]
fn a_watcher_that_may_not_be_woken_sees_a_notice_with_whatever_runs_next() {
    World::new().live(&telling(), async |house| {
        let archived = Some(Reason::SessionArchived);
        house.registry.refuse(Action::FlowRun, archived);
        house.registry.notices.push(&notice("n1", MAIN, B));
        house.registry.until_asked(Action::FlowRun, MAIN).await;
        let run = house.human(MAIN, "hello").await;
        assert_eq!(house.ended(&run.run_id).await.notices, [line("n1", B)]);
        assert_eq!(house.runs().await.len(), 1);
    });
}

#[test]
fn a_notice_is_in_one_run_when_the_process_dies_before_a_run_takes_it() {
    let world = World::new();
    let busy = world.live(&telling(), async |house| {
        house.transcript.fail(Role::User, Fault::Held);
        let busy = house.human(MAIN, "hello").await;
        house.transcript.until_met(1).await;
        house.registry.notices.push(&notice("n1", MAIN, B));
        house.until_kept("marker").await;
        busy
    });
    world.transcript.mend();
    world.live(&telling(), async |house| {
        house.registry.notices.until_acknowledged(&["n1"]).await;
        let runs = house.runs_of(MAIN).await;
        assert_eq!(shown(&runs, &line("n1", B)), 1, "{runs:?}");
        let repeated = house.ended(&busy.run_id).await;
        assert_eq!((repeated.attempts, repeated.notices.len()), (2, 0));
        house.until_kept("second marker").await;
        assert_eq!(house.runs_of(MAIN).await.len(), 2);
    });
}

#[test]
fn a_notice_is_in_one_run_when_the_process_dies_before_it_was_acknowledged() {
    let world = World::new();
    let hanging = json!([{ "step": "notice", "hang": true }]);
    let hanging = agents(&json!({ "main": hanging, "b": [], "c": [] }));
    let run = world.live(&hanging, async |house| {
        house.registry.notices.be_deaf(true);
        house.registry.notices.push(&notice("n1", MAIN, B));
        house.registry.notices.until_unheard(1).await;
        house.runs_of(MAIN).await.remove(0)
    });
    assert_eq!((run.state(), run.notices.len()), (RunState::Running, 1));
    assert!(world.registry.notices.acknowledged().is_empty());
    world.registry.notices.be_deaf(false);
    world.live(&telling(), async |house| {
        house.registry.notices.until_acknowledged(&["n1"]).await;
        let ended = house.ended(&run.run_id).await;
        assert_eq!((ended.attempts, &ended.notices), (2, &run.notices));
        house.until_kept("marker").await;
        assert_eq!(house.runs_of(MAIN).await.len(), 1);
    });
}

#[test]
fn an_acknowledgement_is_repeated_until_it_is_answered() {
    World::new().live(&telling(), async |house| {
        house.registry.notices.be_deaf(true);
        house.registry.notices.push(&notice("n1", MAIN, B));
        house.registry.notices.until_unheard(2).await;
        // The run did not wait for that.
        assert_eq!(house.woken(MAIN).await.state(), RunState::Succeeded);
        house.registry.notices.be_deaf(false);
        house.registry.notices.until_acknowledged(&["n1"]).await;
    });
}

#[test]
fn a_stream_that_was_cut_is_opened_again_and_nothing_is_missed_or_shown_twice() {
    World::new().live(&telling(), async |house| {
        let notices = &house.registry.notices;
        notices.until_opened(1).await;
        notices.push(&notice("n1", MAIN, B));
        notices.until_acknowledged(&["n1"]).await;
        house.woken(MAIN).await;
        notices.cut();
        notices.push(&notice("n2", MAIN, B));
        notices.until_opened(2).await;
        notices.until_acknowledged(&["n2"]).await;
        // It was on its way when it was acknowledged.
        notices.bring_again(&notice("n1", MAIN, B));
        house.until_kept("marker").await;
        let last = house.human(MAIN, "hello").await;
        assert!(house.ended(&last.run_id).await.notices.is_empty());
        let runs = house.runs_of(MAIN).await;
        assert_eq!(runs.len(), 3, "{runs:?}");
        for id in ["n1", "n2"] {
            assert_eq!(shown(&runs, &line(id, B)), 1, "{id} {runs:?}");
        }
    });
}

#[test]
fn a_notice_that_cannot_be_read_holds_up_no_other() {
    World::new().live(&telling(), async |house| {
        let good = notice("n1", MAIN, B);
        let bad = [
            WatchNoticesResponse {
                watcher_key: String::new(),
                ..good.clone()
            },
            WatchNoticesResponse {
                target_key: String::new(),
                ..good.clone()
            },
            WatchNoticesResponse {
                tenant: String::new(),
                ..good.clone()
            },
        ];
        for notice in bad.into_iter().chain([good]) {
            house.registry.notices.push(&notice);
        }
        house.registry.notices.until_acknowledged(&["n1"]).await;
        assert_eq!(house.runs().await.len(), 1);
    });
}

#[test]
fn an_identifier_may_be_longer_than_a_key() {
    World::new().live(&telling(), async |house| {
        let id = "n".repeat(2000);
        house.registry.notices.push(&notice(&id, MAIN, B));
        house.registry.notices.until_acknowledged(&[&id]).await;
        assert_eq!(house.woken(MAIN).await.notices, [line(&id, B)]);
    });
}

#[test]
fn a_reset_ends_what_the_session_was_still_to_be_told_w16() {
    const ROOM: &str = "agent:main:slack:group:1";
    World::new().live(&telling(), async |house| {
        house.registry.lives.know(ROOM);
        house.registry.notices.push(&notice("n1", ROOM, B));
        house.until_kept("marker").await;
        house.reset(&about(ROOM)).await.unwrap();
        let run = house.human(ROOM, "hello").await;
        let run = house.ended(&run.run_id).await;
        assert_eq!(run.notices, [""; 0]);
    });
}
