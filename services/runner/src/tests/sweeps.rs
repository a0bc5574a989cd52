//! Sessions whose time is over.

use std::sync::Arc;

use confab_policy::lifecycle::Change;
use confab_proto::runner::v1::{SendMessageRequest, SweptSession};
use confab_rpc::error::Reason;
use confab_rpc::gate::Action;
use serde_json::json;

use crate::lifecycle::sweep::Sweeps;
use crate::testing::{CommitFault, House, World, message, reason, route, script};

const OLD: &str = "agent:main:subagent:old";
const DEAD: &str = "agent:main:subagent:dead";
const TENANT: &str = "default";

/// What was told of each session, in order.
fn told(swept: &[SweptSession]) -> Vec<(&str, &str, &str)> {
    let told = swept.iter().map(|one| {
        assert_eq!(one.reason, "its time is over");
        assert_eq!(one.error.is_some(), one.outcome == "failed");
        (
            one.session_key.as_str(),
            one.change.as_str(),
            one.outcome.as_str(),
        )
    });
    told.collect()
}

async fn outcome(house: &House) -> String {
    let mut swept = house.sweep(false).await.unwrap();
    assert_eq!(swept.len(), 1);
    swept.remove(0).outcome
}

#[test]
fn a_sweep_archives_and_deletes_and_a_dry_run_only_tells() {
    World::new().live(&script(&json!([])), async |house| {
        let lives = &house.registry.lives;
        lives.overdue(TENANT, OLD, Change::Archive, true);
        lives.overdue(TENANT, DEAD, Change::Delete, true);
        let planned = house.sweep(true).await.unwrap();
        let wanted = [(OLD, "archive", "planned"), (DEAD, "delete", "planned")];
        assert_eq!(told(&planned), wanted);
        assert_eq!(lives.commits(), 0);
        let done = house.sweep(false).await.unwrap();
        let wanted = [(OLD, "archive", "done"), (DEAD, "delete", "done")];
        assert_eq!(told(&done), wanted);
        assert!(lives.find(OLD).unwrap().archived_at.is_some());
        assert_eq!(lives.find(DEAD), None);
        assert_eq!(house.sweep(false).await.unwrap(), []);
        assert_eq!(lives.commits(), 2);
    });
}

#[test]
fn what_maintenance_only_warns_of_is_told_and_left_alone() {
    World::new().live(&script(&json!([])), async |house| {
        let lives = &house.registry.lives;
        lives.overdue(TENANT, OLD, Change::Delete, false);
        assert_eq!(outcome(house).await, "planned");
        Sweeps::new(Arc::clone(house.context())).maintain().await;
        assert!(lives.find(OLD).is_some());
        assert_eq!(lives.commits(), 0);
    });
}

#[test]
fn a_session_with_work_is_swept_when_it_has_none() {
    let rules = json!([{ "match": "^hang$", "hang": true }]);
    let world = World::new();
    world.live(&script(&rules), async |house| {
        let run = house.human(OLD, "hang").await;
        house.at_work(&run).await;
        house
            .registry
            .lives
            .overdue(TENANT, OLD, Change::Archive, true);
        assert_eq!(outcome(house).await, "busy");
        house.at_work(&run).await;
    });
    world.live(&script(&json!([])), async |house| {
        let run = house.runs().await.remove(0);
        house.ended(&run.run_id).await;
        while outcome(house).await == "busy" {
            // Its session is about to be freed.
        }
        assert!(
            house
                .registry
                .lives
                .find(OLD)
                .unwrap()
                .archived_at
                .is_some()
        );
    });
}

#[test]
fn a_session_that_owes_something_to_a_channel_is_swept_when_it_was_delivered() {
    // B178; an explicit delete does not wait for it.
    let world = World::new();
    world
        .registry
        .refuse(Action::Deliver, Some(Reason::Unavailable));
    world.live(&script(&json!([])), async |house| {
        let request = SendMessageRequest {
            route: Some(route("discord", "group:1")),
            ..message(OLD, "hello")
        };
        let sent = house.operator().send_message(request).await.unwrap();
        let run = sent.into_inner().run.unwrap();
        house.ended(&run.run_id).await;
        house.registry.until_asked(Action::Deliver, OLD).await;
        let lives = &house.registry.lives;
        lives.overdue(TENANT, OLD, Change::Delete, true);
        assert_eq!(outcome(house).await, "busy");
        house.registry.refuse(Action::Deliver, None);
        house.done(&run.flow_id).await;
        while outcome(house).await == "busy" {
            // Its session is about to be freed.
        }
        assert_eq!(lives.find(OLD), None);
        assert_eq!(house.sweep(false).await.unwrap(), []);
    });
}

#[test]
fn a_registry_that_fails_twice_is_asked_a_third_time() {
    // B182
    World::new().live(&script(&json!([])), async |house| {
        let lives = &house.registry.lives;
        let sweeps = Sweeps::new(Arc::clone(house.context()));
        lives.overdue(TENANT, OLD, Change::Archive, true);
        lives.fail_lists(2);
        let refused = house.sweep(false).await.unwrap_err();
        assert_eq!(reason(&refused), Reason::Unavailable);
        sweeps.maintain().await;
        assert_eq!(lives.commits(), 0);
        sweeps.maintain().await;
        assert!(lives.find(OLD).unwrap().archived_at.is_some());
        // The same where it names the session and does not change it.
        lives.overdue(TENANT, DEAD, Change::Delete, true);
        lives.fail(CommitFault::Refused(Reason::Limit));
        for _ in 0..2 {
            let failed = house.sweep(false).await.unwrap();
            assert_eq!(told(&failed), [(DEAD, "delete", "failed")]);
            assert_eq!(failed[0].error.as_deref(), Some("on purpose"));
        }
        lives.mend();
        assert_eq!(outcome(house).await, "done");
        assert_eq!(lives.find(DEAD), None);
    });
}

#[test]
fn a_row_that_was_written_since_it_was_listed_is_looked_at_again() {
    // B181
    World::new().live(&script(&json!([])), async |house| {
        let lives = &house.registry.lives;
        lives.overdue(TENANT, OLD, Change::Delete, true);
        lives.move_after_list(true);
        assert_eq!(outcome(house).await, "busy");
        assert_eq!(lives.commits(), 0);
        lives.move_after_list(false);
        assert_eq!(outcome(house).await, "done");
    });
}

#[test]
fn two_sweeps_at_once_do_what_one_does() {
    World::new().live(&script(&json!([])), async |house| {
        let lives = &house.registry.lives;
        let sessions: Vec<_> = (0..20)
            .map(|number| format!("agent:main:subagent:s{number}"))
            .collect();
        for session in &sessions {
            lives.overdue(TENANT, session, Change::Delete, true);
        }
        let (one, other) = tokio::join!(house.sweep(false), house.sweep(false));
        for swept in one.unwrap().iter().chain(&other.unwrap()) {
            assert!(
                matches!(swept.outcome.as_str(), "done" | "busy"),
                "{swept:?}"
            );
        }
        house.sweep(false).await.unwrap();
        assert!(sessions.iter().all(|one| lives.find(one).is_none()));
        house.until_open().await;
    });
}

#[test]
fn an_operator_sweeps_its_own_tenant_and_maintenance_sweeps_all() {
    World::new().live(&script(&json!([])), async |house| {
        let lives = &house.registry.lives;
        lives.overdue("other", OLD, Change::Delete, true);
        assert_eq!(house.sweep(false).await.unwrap(), []);
        assert_eq!(lives.commits(), 0);
        Sweeps::new(Arc::clone(house.context())).maintain().await;
        assert_eq!(lives.find(OLD), None);
    });
}

#[test]
fn a_main_session_is_never_swept() {
    World::new().live(&script(&json!([])), async |house| {
        let main = "agent:main:main";
        let lives = &house.registry.lives;
        lives.overdue(TENANT, main, Change::Delete, true);
        let swept = house.sweep(false).await.unwrap();
        assert_eq!(told(&swept), [(main, "delete", "failed")]);
        assert!(lives.find(main).is_some());
    });
}
