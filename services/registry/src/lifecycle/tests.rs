//! Committing lifecycle changes.

use confab_model::limits::IDEMPOTENCY_HOURS;
use confab_model::session::Session;
use confab_proto::registry::v1::{
    ActivityRecord, CommitLifecycleRequest, LifecycleChange as Change, PatchSessionRequest,
    SessionPatch,
};
use confab_proto::types::v1 as types;
use confab_rpc::error::Reason;
use confab_rpc::gate::Action;
use confab_rpc::wire;

use crate::testing::{DEFAULTS, House, change_of, operator, target};

const KEY: &str = "agent:writer:desk";

async fn house_with_desk() -> (House, Session) {
    let house = House::with(DEFAULTS).await;
    let row = house.labelled(KEY, "Desk").await;
    (house, row)
}

async fn reach_history(house: &House, session_id: &str) -> Result<Session, Reason> {
    let decided = house
        .decide(operator(), Action::History, target(session_id, "", ""))
        .await;
    decided.map_err(|refused| refused.reason)
}

fn ran(began: i64, ended: i64) -> ActivityRecord {
    let at = |millis: i64| {
        let moment = crate::testing::START.plus_millis(millis);
        Some(wire::time::to_proto(moment))
    };
    ActivityRecord {
        session_key: KEY.to_owned(),
        run_id: format!("r-{began}"),
        state: types::RunState::Succeeded.into(),
        occurred_at: at(ended),
        started_at: at(began),
        ended_at: at(ended),
        tenant: "default".to_owned(),
        ..Default::default()
    }
}

#[tokio::test]
async fn a_reset_begins_a_new_generation_and_the_old_one_stays_readable() {
    let (house, old) = house_with_desk().await;
    house.told(ran(1, 2)).await;
    house.clock.advance_millis(5);
    let after = house
        .commit(change_of(&old, Change::Reset, "c"))
        .await
        .unwrap()
        .session
        .unwrap();
    assert_ne!(after.session_id, old.session_id.as_str());
    let row = house.row(KEY).await.unwrap();
    assert_eq!(row.session_id.as_str(), after.session_id);
    assert_eq!(row.work_epoch, old.work_epoch + 1);
    assert_eq!(row.session_started_at, old.created_at.plus_millis(5));
    assert_eq!((&row.label, &row.last_run), (&old.label, &None));

    // D26: both generations lead to the session.
    for session_id in [old.session_id.as_str(), &after.session_id] {
        let found = reach_history(&house, session_id).await.unwrap();
        assert_eq!(
            (found.key.as_str(), found.session_id.as_str()),
            (KEY, session_id)
        );
    }
    // What is told late of the old generation's run is not the new one's.
    house.told(ran(1, 2)).await;
    assert_eq!(house.row(KEY).await.unwrap().last_run, None);
    house.told(ran(6, 7)).await;
    assert!(house.row(KEY).await.unwrap().last_run.is_some());
}

#[tokio::test]
async fn a_change_that_is_committed_again_meets_its_first_answer() {
    let (house, row) = house_with_desk().await;
    let reset = change_of(&row, Change::Reset, "c-1");
    let first = house.commit(reset.clone()).await.unwrap();
    assert_eq!(house.commit(reset.clone()).await.unwrap(), first);
    let house = house.reopened().await;
    assert_eq!(house.commit(reset.clone()).await.unwrap(), first);
    let now = house.row(KEY).await.unwrap();
    assert_eq!(now.work_epoch, 1);

    // A later change does not make it forgotten.
    house.clock.advance_millis(1);
    let archive = change_of(&now, Change::Archive, "c-2");
    let last = house.commit(archive.clone()).await.unwrap();
    assert_eq!(house.commit(reset).await.unwrap(), first);
    let other = change_of(&now, Change::Delete, "c-1");
    let refused = house.commit(other).await.unwrap_err();
    assert_eq!(refused.reason, Reason::KeyReused);

    house
        .clock
        .advance_millis(i64::from(IDEMPOTENCY_HOURS) * 3_600_000);
    let refused = house
        .commit(change_of(&row, Change::Reset, "c-1"))
        .await
        .unwrap_err();
    assert_eq!(refused.reason, Reason::SessionArchived);
    // The newest change of a key is remembered for a runner that was away however long.
    assert_eq!(house.commit(archive).await.unwrap(), last);
}

#[tokio::test]
async fn a_change_of_a_row_that_was_written_since_is_stale_where_the_version_is_named_b181() {
    let (house, row) = house_with_desk().await;
    let pin = SessionPatch {
        pinned: Some(true),
        ..SessionPatch::default()
    };
    let request = PatchSessionRequest {
        target: Some(target(KEY, "", "").into()),
        patch: Some(pin),
        ..PatchSessionRequest::default()
    };
    house.patch(operator(), request).await.unwrap();
    let seen = CommitLifecycleRequest {
        expected_row_version: i64::try_from(row.row_version).ok(),
        ..change_of(&row, Change::Archive, "c-1")
    };
    let refused = house.commit(seen.clone()).await.unwrap_err();
    assert_eq!(refused.reason, Reason::Stale);
    assert!(house.row(KEY).await.unwrap().pinned_at.is_some());
    let whatever = CommitLifecycleRequest {
        expected_row_version: None,
        ..seen
    };
    house.commit(whatever).await.unwrap();
}

#[tokio::test]
async fn a_change_of_another_generation_or_epoch_is_stale() {
    let (house, row) = house_with_desk().await;
    let restore_and_archive = [Change::Archive, Change::Restore];
    for (number, change) in restore_and_archive.into_iter().enumerate() {
        let now = house.row(KEY).await.unwrap();
        let request = change_of(&now, change, &format!("c-{number}"));
        house.commit(request).await.unwrap();
    }
    for (change, noun) in [
        (Change::Reset, "reset"),
        (Change::Archive, "archive"),
        (Change::Restore, "restore"),
        (Change::Delete, "deletion"),
    ] {
        let epoch = change_of(&row, change, "old epoch");
        let generation = CommitLifecycleRequest {
            expected_session_id: "another".to_owned(),
            expected_work_epoch: 2,
            ..change_of(&row, change, "other generation")
        };
        for request in [epoch, generation] {
            let refused = house.commit(request).await.unwrap_err();
            assert_eq!(refused.reason, Reason::Stale, "{change:?}");
            assert_eq!(
                refused.message,
                format!("Session {KEY} changed before {noun}. Retry."),
                "reg:C10"
            );
        }
    }
    assert_eq!(house.row(KEY).await.unwrap().work_epoch, 2);
}

#[tokio::test]
async fn an_archived_session_is_closed_once_and_opened_once() {
    let (house, row) = house_with_desk().await;
    house.clock.advance_millis(3);
    let archived = house
        .commit(change_of(&row, Change::Archive, "c-1"))
        .await
        .unwrap()
        .session
        .unwrap();
    assert_eq!((archived.work_epoch, archived.row_version), (1, 2));
    let row = house.row(KEY).await.unwrap();
    assert_eq!(row.archived_at, Some(row.created_at.plus_millis(3)));

    house.clock.advance_millis(3);
    let again = house.commit(change_of(&row, Change::Archive, "c-2")).await;
    assert_eq!(again.unwrap().session.unwrap(), archived, "reg:M13");
    let refused = house
        .commit(change_of(&row, Change::Reset, "c-3"))
        .await
        .unwrap_err();
    assert_eq!(refused.reason, Reason::SessionArchived, "D55, reg:M16");

    let opened = house
        .commit(change_of(&row, Change::Restore, "c-4"))
        .await
        .unwrap()
        .session
        .unwrap();
    assert_eq!((opened.work_epoch, opened.row_version), (2, 3));
    let row = house.row(KEY).await.unwrap();
    let again = house.commit(change_of(&row, Change::Restore, "c-5")).await;
    assert_eq!(again.unwrap().session.unwrap(), opened);
}

#[tokio::test]
async fn fields_are_set_in_the_same_commit_or_nothing_is_done() {
    let (house, row) = house_with_desk().await;
    house.labelled("agent:writer:bench", "Bench").await;
    let with = |row: &Session, change, id: &str, patch| CommitLifecycleRequest {
        patch: Some(patch),
        ..change_of(row, change, id)
    };
    let label = |label: &str| SessionPatch {
        label: Some(label.to_owned()),
        archived: Some(true),
        ..Default::default()
    };
    let pinned = SessionPatch {
        pinned: Some(true),
        ..Default::default()
    };
    for (patch, reason) in [
        (label("Bench"), Reason::LabelInUse),
        (pinned.clone(), Reason::SessionArchived),
    ] {
        let refused = house
            .commit(with(&row, Change::Archive, "c-1", patch))
            .await
            .unwrap_err();
        assert_eq!(refused.reason, reason);
        assert_eq!(house.row(KEY).await.as_ref(), Some(&row));
    }
    let archive = with(&row, Change::Archive, "c-1", label("Old desk"));
    let archived = house.commit(archive).await.unwrap().session.unwrap();
    assert_eq!(archived.label.as_deref(), Some("Old desk"));
    assert_eq!((archived.work_epoch, archived.row_version), (1, 2));

    // reg:M14: it is open before it is pinned.
    let row = house.row(KEY).await.unwrap();
    let restore = with(&row, Change::Restore, "c-2", pinned);
    let opened = house.commit(restore).await.unwrap().session.unwrap();
    assert!(opened.pinned_at.is_some() && opened.archived_at.is_none());
}

#[tokio::test]
async fn fields_go_with_archive_and_restore_and_do_not_contradict_them() {
    let (house, row) = house_with_desk().await;
    let archived = |archived: bool| SessionPatch {
        archived: Some(archived),
        ..Default::default()
    };
    for (change, patch, field) in [
        (Change::Reset, archived(true), "patch"),
        (Change::Delete, archived(true), "patch"),
        (Change::Archive, archived(false), "patch.archived"),
        (Change::Restore, archived(true), "patch.archived"),
    ] {
        let request = CommitLifecycleRequest {
            patch: Some(patch),
            ..change_of(&row, change, "c")
        };
        let refused = house.commit(request).await.unwrap_err();
        assert_eq!(refused.violations[0].field, field, "{change:?}");
    }
}

#[tokio::test]
async fn a_deleted_session_is_gone_by_key_and_by_every_session_id() {
    let (house, old) = house_with_desk().await;
    house
        .commit(change_of(&old, Change::Reset, "c-1"))
        .await
        .unwrap();
    let row = house.row(KEY).await.unwrap();
    let delete = change_of(&row, Change::Delete, "c-2");
    assert_eq!(house.commit(delete.clone()).await.unwrap().session, None);
    assert_eq!(house.row(KEY).await, None);
    let gone = change_of(&row, Change::Delete, "c-3");
    let refused = house.commit(gone).await.unwrap_err();
    assert_eq!(refused.reason, Reason::SessionNotFound, "D51");
    assert_eq!(refused.message, format!("No session found: {KEY}"));

    // The epoch goes on, so that nothing meant for the old session fits the new one.
    let new = house.labelled(KEY, "Desk").await;
    assert_eq!(new.work_epoch, row.work_epoch + 1);
    let refused = house
        .commit(change_of(&row, Change::Archive, "c-4"))
        .await
        .unwrap_err();
    assert_eq!(refused.reason, Reason::Stale);
    for session_id in [old.session_id.as_str(), row.session_id.as_str()] {
        let found = reach_history(&house, session_id).await;
        assert_eq!(found.unwrap_err(), Reason::SessionNotFound, "reg:C11");
    }
    let house = house.reopened().await;
    assert_eq!(house.commit(delete).await.unwrap().session, None);
    assert_eq!(house.row(KEY).await, Some(new));
}

#[tokio::test]
async fn the_epoch_goes_on_over_several_deletes() {
    let (house, mut row) = house_with_desk().await;
    for time in 0..3_u64 {
        assert_eq!(row.work_epoch, time);
        let delete = change_of(&row, Change::Delete, &format!("c-{time}"));
        house.commit(delete).await.unwrap();
        row = house.made(KEY).await;
    }
}

#[tokio::test]
async fn only_an_archived_session_is_deleted_where_that_is_asked() {
    let (house, row) = house_with_desk().await;
    let only = |row: &Session, id: &str| CommitLifecycleRequest {
        archived_only: true,
        ..change_of(row, Change::Delete, id)
    };
    let refused = house.commit(only(&row, "c-1")).await.unwrap_err();
    assert_eq!(refused.reason, Reason::Protected);
    assert_eq!(
        refused.message,
        format!("Session {KEY} is not archived. Archive it first, then delete it.")
    );
    let archive = change_of(&row, Change::Archive, "c-2");
    house.commit(archive).await.unwrap();
    let row = house.row(KEY).await.unwrap();
    house.commit(only(&row, "c-3")).await.unwrap();
    assert_eq!(house.row(KEY).await, None);
}

#[tokio::test]
async fn a_main_session_is_reset_but_neither_archived_nor_deleted() {
    let house = House::with(DEFAULTS).await;
    for key in ["agent:writer:main", "agent:editor:main"] {
        let row = house.made(key).await;
        for change in [Change::Archive, Change::Delete] {
            let refused = house
                .commit(change_of(&row, change, "c"))
                .await
                .unwrap_err();
            assert_eq!(refused.reason, Reason::Protected, "{key} {change:?}");
        }
        house
            .commit(change_of(&row, Change::Reset, "c"))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn every_fault_of_a_request_is_told_together() {
    let (house, _) = house_with_desk().await;
    let request = CommitLifecycleRequest {
        session_key: "main".to_owned(),
        expected_work_epoch: -1,
        ..Default::default()
    };
    let refused = house.commit(request).await.unwrap_err();
    let fields: Vec<&str> = refused
        .violations
        .iter()
        .map(|one| one.field.as_str())
        .collect();
    assert_eq!(
        fields,
        [
            "sessionKey",
            "change",
            "expectedSessionId",
            "expectedWorkEpoch",
            "changeId"
        ]
    );
}

/// Models are known at first, and are others later.
#[tokio::test]
async fn the_models_fault_is_told_with_the_rows_and_does_not_outlive_a_commit() {
    let config = r#"{ agents: { list: [{ id: "writer", default: true }] },
        confab: { models: ["m-1"] } }"#;
    let house = House::with(config).await;
    let row = house.made(KEY).await;
    let with = |id: &str, patch| CommitLifecycleRequest {
        patch: Some(patch),
        ..change_of(&row, Change::Archive, id)
    };
    let model = |name: &str| SessionPatch {
        model: Some(name.to_owned()),
        ..Default::default()
    };
    let twice_wrong = SessionPatch {
        spawn_depth: Some(1),
        ..model("m-9")
    };
    let refused = house.commit(with("c-1", twice_wrong)).await.unwrap_err();
    let fields: Vec<&str> = refused
        .violations
        .iter()
        .map(|one| one.field.as_str())
        .collect();
    assert_eq!(fields, ["spawnDepth", "model"]);
    assert_eq!(house.row(KEY).await.as_ref(), Some(&row));

    let archive = with("c-1", model("m-1"));
    let first = house.commit(archive.clone()).await.unwrap();
    let later = house.reopened_with(&config.replace("m-1", "m-2")).await;
    assert_eq!(later.commit(archive).await.unwrap(), first);
}
