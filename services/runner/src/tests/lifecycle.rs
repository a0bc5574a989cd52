//! Resets, archives, restores, deletes.

use confab_model::message::Role;
use confab_policy::lifecycle::Change;
use confab_proto::registry::v1::SessionPatch;
use confab_proto::runner::v1::{
    ArchiveSessionRequest, ResetSessionRequest, RestoreSessionRequest, SendStatus,
};
use confab_proto::types::v1::{DeliveryStatus, FlowState, RunState};
use confab_rpc::error::{Reason, RpcError};
use serde_json::json;

use crate::testing::{
    Asked, CommitFault, Fault, House, World, about, agents, by_force, message, post, reason,
    script, send, target, with,
};

const MAIN: &str = "agent:main:main";
const B: &str = "agent:b:main";
const DM: &str = "agent:main:direct:ada";

/// A configuration whose agent hangs on `hang`.
fn hanging() -> serde_json::Value {
    script(&json!([{ "match": "^hang$", "hang": true }]))
}

#[test]
fn a_reset_makes_a_generation_in_which_the_next_message_runs() {
    // D26, reg:C7: a main session can be reset.
    World::new().live(&script(&json!([])), async |house| {
        let old = house.human(MAIN, "old").await;
        let old = house.ended(&old.run_id).await;
        let row = house.reset(&about(MAIN)).await.unwrap();
        assert_eq!((row.key.as_str(), row.work_epoch), (MAIN, 1));
        assert_ne!(Some(&row.session_id), old.session_id.as_ref());
        let new = house.human(MAIN, "new").await;
        let new = house.ended(&new.run_id).await;
        assert_eq!(new.session_id, Some(row.session_id));
        assert_eq!(new.ordinal, 2);
        // The old generation's transcript and runs stay.
        let lines = ["User: old", "Assistant: echo: old"];
        assert_eq!(house.transcript.lines(MAIN), lines);
        assert_eq!(house.runs().await.len(), 2);
    });
}

#[test]
fn an_archived_session_takes_no_work_until_it_is_restored() {
    // D55, reg:M16
    World::new().live(&script(&json!([])), async |house| {
        house.registry.lives.know(DM);
        let archived = house.archive(&about(DM)).await.unwrap();
        assert!(archived.archived_at.is_some());
        let text = format!("Session \"{DM}\" is archived. Restore it before starting new work.");
        let refused = house.operator().send_message(message(DM, "x")).await;
        let refused = refused.unwrap_err();
        assert_eq!(reason(&refused), Reason::SessionArchived);
        assert_eq!(refused.message(), text);
        let again = house.archive(&about(DM)).await.unwrap();
        assert_eq!(again.archived_at, archived.archived_at);
        assert_eq!(again.work_epoch, archived.work_epoch);
        let restored = house.restore(&about(DM)).await.unwrap();
        assert_eq!((restored.archived_at, restored.work_epoch), (None, 2));
        let open = house.restore(&about(DM)).await.unwrap();
        assert_eq!(open.work_epoch, 2);
        let run = house.human(DM, "hello").await;
        let run = house.ended(&run.run_id).await;
        assert_eq!(run.reply.as_deref(), Some("echo: hello"));
        assert_eq!(run.session_id, Some(archived.session_id));
    });
}

#[test]
fn a_deleted_session_is_gone_and_its_records_stay() {
    // D26, D51, reg:C11
    World::new().live(&script(&json!([])), async |house| {
        let run = house.human(DM, "hello").await;
        let run = house.ended(&run.run_id).await;
        house.delete(&about(DM)).await.unwrap();
        assert_eq!(house.registry.lives.find(DM), None);
        let gone = house.delete(&about(DM)).await.unwrap_err();
        assert_eq!(reason(&gone), Reason::SessionNotFound);
        assert_eq!(house.get_run(&run.run_id).await, run);
        let (flow, _) = house.done(&run.flow_id).await;
        assert_eq!(flow.state(), FlowState::Done);
        assert_eq!(house.transcript.lines(DM).len(), 2);
        // A person's message makes a session of its own under the key.
        let next = house.human(DM, "again").await;
        let next = house.ended(&next.run_id).await;
        assert_eq!(next.reply.as_deref(), Some("echo: again"));
        assert_ne!(next.session_id, run.session_id);
    });
}

/// A change that is refused before anything is touched.
struct Guarded {
    change: Change,
    asked: Asked,
    archived: bool,
    reason: Reason,
    text: String,
}

fn guarded(change: Change, asked: Asked, reason: Reason, text: String) -> Guarded {
    Guarded {
        change,
        asked,
        archived: false,
        reason,
        text,
    }
}

/// reg:M15, reg:M16, reg:C7, reg:C9, reg:C10, D51.
fn guards() -> Vec<Guarded> {
    let stale = |change, word: &str| {
        let asked = Asked {
            expected_session_id: Some("another".to_owned()),
            ..by_force(DM)
        };
        let text = format!("Session {DM} changed before {word}. Retry.");
        guarded(change, asked, Reason::Stale, text)
    };
    let unknown = |change| {
        let session = "agent:main:direct:nobody";
        let text = format!("No session found: {session}");
        guarded(change, by_force(session), Reason::SessionNotFound, text)
    };
    let protected = |change, text: &str| {
        let (asked, reason) = (by_force(MAIN), Reason::Protected);
        guarded(change, asked, reason, text.to_owned())
    };
    let open = Asked {
        archived_only: true,
        ..by_force(DM)
    };
    let open_text = format!("Session {DM} is not archived. Archive it first, then delete it.");
    let archived = format!("Session \"{DM}\" is archived. Restore it before starting new work.");
    let mut all = vec![
        protected(Change::Archive, "Cannot archive an agent's main session."),
        protected(
            Change::Delete,
            "Cannot delete the main session (agent:main:main).",
        ),
        guarded(Change::Delete, open, Reason::Protected, open_text),
        stale(Change::Reset, "reset"),
        stale(Change::Archive, "archive"),
        stale(Change::Delete, "deletion"),
        Guarded {
            archived: true,
            ..guarded(
                Change::Reset,
                by_force(DM),
                Reason::SessionArchived,
                archived,
            )
        },
    ];
    all.extend(Change::ALL.map(unknown));
    all
}

#[test]
fn a_change_that_cannot_be_touches_nothing_whatever_force_it_has() {
    for case in guards() {
        World::new().live(&hanging(), async |house| {
            house.registry.lives.know(DM);
            let mut at_work = Vec::new();
            if case.archived {
                house.archive(&by_force(DM)).await.unwrap();
            } else {
                for session in [MAIN, DM] {
                    let run = house.human(session, "hang").await;
                    at_work.push(house.at_work(&run).await);
                }
            }
            let commits = house.registry.lives.commits();
            let refused = house.change(case.change, &case.asked).await.unwrap_err();
            let told = (reason(&refused), refused.message());
            assert_eq!(told, (case.reason, case.text.as_str()));
            assert_eq!(house.registry.lives.commits(), commits);
            for run in at_work {
                assert_eq!(house.get_run(&run.run_id).await, run);
            }
        });
    }
}

#[test]
fn every_fault_of_a_request_is_told() {
    World::new().live(&script(&json!([])), async |house| {
        let request = ResetSessionRequest {
            target: Some(target(" ")),
            expected_session_id: Some("x".repeat(300)),
            idempotency_key: Some("\u{7}".to_owned()),
            force: false,
        };
        let refused = house.operator().reset_session(request).await.unwrap_err();
        let error = RpcError::from_status(&refused);
        let fields: Vec<_> = error.violations.iter().map(|one| &one.field).collect();
        assert_eq!(
            fields,
            ["sessionKey", "expectedSessionId", "idempotencyKey"]
        );
        // Blank fields are absent ones (D7).
        house.registry.lives.know(DM);
        let blank = Asked {
            expected_session_id: Some(" ".to_owned()),
            ..about(DM).named("")
        };
        house.reset(&blank).await.unwrap();
    });
}

const BUSY: [(Change, &str); 3] = [
    (
        Change::Reset,
        "Session agent:main:direct:ada is still active; try again in a moment.",
    ),
    (
        Change::Archive,
        "Cannot archive a session with an active run.",
    ),
    (
        Change::Delete,
        "Session agent:main:direct:ada is still active; try again in a moment.",
    ),
];

async fn check_busy(house: &House, more: &str) {
    for (change, text) in BUSY {
        let refused = house.change(change, &about(DM)).await.unwrap_err();
        assert_eq!(reason(&refused), Reason::SessionBusy);
        assert_eq!(refused.message(), format!("{text} {more}"));
    }
    assert_eq!(house.registry.lives.commits(), 0);
}

#[test]
fn a_session_with_work_is_changed_later_or_by_force() {
    // D56, reg:M15, reg:C7
    World::new().live(&hanging(), async |house| {
        let at_work = house.human(DM, "hang").await;
        house.at_work(&at_work).await;
        check_busy(house, "Runs not ended: 1; force aborts them first.").await;
        let waiting = house.human(DM, "behind").await;
        check_busy(house, "Runs not ended: 2; force aborts them first.").await;
        house.at_work(&at_work).await;
        assert_eq!(
            house.get_run(&waiting.run_id).await.state(),
            RunState::Queued
        );
        // A restore takes work from nobody.
        house.restore(&about(DM)).await.unwrap();
    });
}

#[test]
fn a_session_that_owes_its_reply_to_the_transcript_has_work() {
    World::new().live(&script(&json!([])), async |house| {
        house.transcript.fail(Role::Assistant, Fault::Held);
        let run = house.human(DM, "hello").await;
        house.transcript.until_met(1).await;
        check_busy(house, "Runs not ended: 1; force aborts them first.").await;
        house.transcript.mend();
        house.ended(&run.run_id).await;
        // Force waits for the reply and loses nothing.
        house.delete(&by_force(DM)).await.unwrap();
        assert_eq!(house.transcript.lines(DM).len(), 2);
    });
}

#[test]
fn force_ends_what_waits_and_what_hangs_and_everybody_who_waits_is_told() {
    let words = [
        (Change::Reset, "the session was reset"),
        (Change::Archive, "the session was archived"),
        (Change::Delete, "the session was deleted"),
    ];
    for (change, why) in words {
        World::new().live(&hanging(), async |house| {
            let at_work = house.human(DM, "hang").await;
            house.at_work(&at_work).await;
            let mut waiting = vec![house.human(DM, "first").await];
            let mut client = house.operator();
            let (sent, changed) = tokio::join!(client.send(send(DM, "waits")), async {
                while house.runs().await.len() < 3 {
                    tokio::task::yield_now().await;
                }
                house.change(change, &by_force(DM)).await
            });
            changed.unwrap();
            let sent = sent.unwrap().into_inner();
            assert_eq!(sent.status(), SendStatus::Error);
            assert_eq!(sent.error, Some(format!("cancelled: {why}")));
            waiting.push(at_work);
            for run in waiting {
                let run = house.ended(&run.run_id).await;
                assert_eq!(run.state(), RunState::Cancelled);
                let error = run.error.unwrap();
                assert_eq!(
                    (error.class.as_str(), error.message.as_str()),
                    ("cancelled", why)
                );
            }
            assert_eq!(house.transcript.lines(DM), ["User: hang"]);
            if change == Change::Archive {
                house.restore(&about(DM)).await.unwrap();
            }
            let next = house.human(DM, "next").await;
            let next = house.ended(&next.run_id).await;
            assert_eq!(next.reply.as_deref(), Some("echo: next"));
            let row = house.registry.lives.find(DM).unwrap();
            assert_eq!(next.session_id, Some(row.session_id.to_string()));
        });
    }
}

#[test]
fn a_flow_whose_run_was_ended_by_force_goes_on_to_its_end() {
    let rules = json!({ "main": [], "b": [{ "match": "^hang$", "hang": true }] });
    World::new().live(&agents(&rules), async |house| {
        let sent = house.agent(MAIN).send(post(B, "hang")).await.unwrap();
        let sent = sent.into_inner();
        let run = house.get_run(&sent.run_id).await;
        house.at_work(&run).await;
        house.reset(&by_force(B)).await.unwrap();
        let (flow, runs) = house.done(&sent.flow_id).await;
        assert_eq!(flow.state(), FlowState::Done);
        assert_eq!(flow.delivery.unwrap().status(), DeliveryStatus::Skipped);
        assert_eq!(runs.len(), 1);
        assert_eq!(runs[0].state(), RunState::Cancelled);
    });
}

#[test]
fn a_turn_that_a_flow_adds_runs_after_the_change_in_the_new_generation() {
    let rules = json!({
        "main": [{ "match": "^hang$", "hang": true }],
        "b": [{ "step": "announce", "reply": "ANNOUNCE_SKIP" }],
    });
    let config = with(
        agents(&rules),
        "session.agentToAgent.maxPingPongTurns",
        json!(1),
    );
    World::new().live(&config, async |house| {
        let hangs = house.human(MAIN, "hang").await;
        house.at_work(&hangs).await;
        house.registry.lives.fail(CommitFault::Held);
        let (mut sender, forced) = (house.agent(MAIN), by_force(MAIN));
        let (row, flow_id) = tokio::join!(house.reset(&forced), async {
            house.registry.lives.asked(1).await;
            // Round one answers, and the requester's turn of the loop is queued behind the fence.
            let sent = sender.send(send(B, "ping")).await.unwrap().into_inner();
            assert_eq!(sent.status(), SendStatus::Ok);
            while house.runs().await.len() < 3 {
                tokio::task::yield_now().await;
            }
            let turn = house.runs().await.pop().unwrap();
            assert_eq!((turn.state(), turn.session_id), (RunState::Queued, None));
            house.registry.lives.mend();
            sent.flow_id
        });
        let (flow, runs) = house.done(&flow_id).await;
        assert_eq!(flow.turns, 1);
        let turn = runs.iter().find(|run| run.session_key == MAIN).unwrap();
        assert_eq!(turn.state(), RunState::Succeeded);
        assert_eq!(turn.session_id, Some(row.unwrap().session_id));
    });
}

#[test]
fn a_repeated_change_meets_its_first_answer_after_a_restart_too() {
    // D36, B222
    let world = World::new();
    let config = script(&json!([]));
    let asked = || about(DM).named("k");
    let first = world.live(&config, async |house| {
        house.registry.lives.know(DM);
        let first = house.reset(&asked()).await.unwrap();
        assert_eq!(house.reset(&asked()).await.unwrap(), first);
        house.reset(&about(DM)).await.unwrap();
        house.delete(&about(DM).named("d")).await.unwrap();
        first
    });
    world.live(&config, async |house| {
        // The session is gone meanwhile, and its second delete has nothing to find.
        assert_eq!(house.reset(&asked()).await.unwrap(), first);
        house.delete(&about(DM).named("d")).await.unwrap();
        let gone = house.delete(&about(DM)).await.unwrap_err();
        assert_eq!(reason(&gone), Reason::SessionNotFound);
        assert_eq!(house.registry.lives.commits(), 3);
        for (change, asked) in [
            (Change::Reset, by_force(DM).named("k")),
            (Change::Reset, about(MAIN).named("k")),
            (Change::Delete, about(DM).named("k")),
            (Change::Archive, about(DM).named("k")),
        ] {
            let reused = house.change(change, &asked).await.unwrap_err();
            assert_eq!(reason(&reused), Reason::KeyReused);
        }
    });
}

#[test]
fn a_key_names_a_message_or_a_change() {
    World::new().live(&script(&json!([])), async |house| {
        let named = |key: &str| confab_proto::runner::v1::SendMessageRequest {
            idempotency_key: Some(key.to_owned()),
            ..message(DM, "hello")
        };
        let mut client = house.operator();
        let sent = client.send_message(named("k")).await.unwrap().into_inner();
        house.ended(&sent.run.unwrap().run_id).await;
        let reused = house.reset(&about(DM).named("k")).await.unwrap_err();
        assert_eq!(reason(&reused), Reason::KeyReused);
        house.reset(&about(DM).named("c")).await.unwrap();
        let reused = client.send_message(named("c")).await.unwrap_err();
        assert_eq!(reason(&reused), Reason::KeyReused);
    });
}

#[test]
fn a_change_that_the_registry_refuses_leaves_the_session_as_it_was() {
    // B184
    World::new().live(&script(&json!([])), async |house| {
        let before = house.registry.lives.know(DM);
        let asked = about(DM).named("k");
        house
            .registry
            .lives
            .fail(CommitFault::Refused(Reason::LabelInUse));
        for _ in 0..2 {
            let refused = house.archive(&asked).await.unwrap_err();
            assert_eq!(reason(&refused), Reason::LabelInUse);
            assert_eq!(refused.message(), "on purpose");
        }
        house.registry.lives.mend();
        assert_eq!(house.registry.lives.find(DM), Some(before));
        let run = house.human(DM, "hello").await;
        house.ended(&run.run_id).await;
        house.archive(&asked).await.unwrap();
        let asked = house.registry.lives.asked(3).await;
        // A call that was refused is another change when it is made again.
        assert_ne!(asked[0].change_id, asked[2].change_id);
    });
}

#[test]
fn further_fields_are_set_in_the_same_commit() {
    World::new().live(&script(&json!([])), async |house| {
        house.registry.lives.know(DM);
        let patch = |label: &str| SessionPatch {
            label: Some(label.to_owned()),
            ..SessionPatch::default()
        };
        let mask = prost_types::FieldMask {
            paths: vec!["label".to_owned()],
        };
        let archive = ArchiveSessionRequest {
            target: Some(target(DM)),
            patch: Some(patch("old")),
            update_mask: Some(mask.clone()),
            ..ArchiveSessionRequest::default()
        };
        let archived = house.operator().archive_session(archive).await.unwrap();
        let row = archived.into_inner().session.unwrap();
        assert_eq!(row.label.as_deref(), Some("old"));
        let restore = RestoreSessionRequest {
            target: Some(target(DM)),
            patch: Some(patch("new")),
            update_mask: Some(mask.clone()),
            idempotency_key: None,
        };
        let restored = house.operator().restore_session(restore).await.unwrap();
        let row = restored.into_inner().session.unwrap();
        assert_eq!(row.label.as_deref(), Some("new"));
        let asked = house.registry.lives.asked(2).await;
        assert!(
            asked
                .iter()
                .all(|one| one.update_mask == Some(mask.clone()))
        );
    });
}

#[test]
fn a_patch_that_is_refused_costs_no_work_however_forced_the_change_is() {
    World::new().live(&hanging(), async |house| {
        let run = house.human(DM, "hang").await;
        let run = house.at_work(&run).await;
        let bad = [
            (
                SessionPatch {
                    label: Some(" ".to_owned()),
                    ..SessionPatch::default()
                },
                "label",
            ),
            (
                SessionPatch {
                    pinned: Some(true),
                    ..SessionPatch::default()
                },
                "pinned",
            ),
            (
                SessionPatch {
                    archived: Some(true),
                    ..SessionPatch::default()
                },
                "archived",
            ),
        ];
        for (patch, field) in bad {
            let archive = ArchiveSessionRequest {
                target: Some(target(DM)),
                force: true,
                patch: Some(patch),
                ..ArchiveSessionRequest::default()
            };
            let refused = house.operator().archive_session(archive).await.unwrap_err();
            let faults = RpcError::from_status(&refused).violations;
            assert!(faults[0].field.contains(field), "{field}: {faults:?}");
        }
        assert_eq!(house.get_run(&run.run_id).await.state(), RunState::Running);
        assert_eq!(house.registry.lives.commits(), 0);
    });
}
