//! Changes of rows, and what maintenance finds.

use confab_model::clock::Timestamp;
use confab_model::id::{IdempotencyKey, RunId, SessionId, TenantId};
use confab_model::run::RunState;
use confab_model::session::levels::SpawnMode;
use confab_model::session::patch::{self, Patch};
use confab_model::session::{Label, LastRun, Session, Spawn};
use confab_policy::lifecycle::Change;

use super::{by_key, labelled, put, session, tenant};
use crate::store::change::{ChangeError, Commit, Expected, KeyUse, Patching};
use crate::store::upkeep::{Kept, Place};
use crate::store::{Creation, Lookup, RegistryStore};
use crate::testing::START;

fn expected(session: &Session) -> Expected {
    Expected {
        session_id: session.session_id.clone(),
        work_epoch: session.work_epoch,
        row_version: None,
    }
}

fn named(text: &str) -> IdempotencyKey {
    IdempotencyKey::parse(text).unwrap()
}

fn labelling(session: &Session, label: &str) -> Patching {
    Patching {
        key: session.key.clone(),
        expected: expected(session),
        patch: Patch {
            label: Some(patch::Change::Set(Label::parse(label).unwrap())),
            ..Patch::default()
        },
        faults: Vec::new(),
        key_use: None,
        now: START,
    }
}

fn commit(session: &Session, change: Change, id: &str) -> Commit {
    Commit {
        key: session.key.clone(),
        change,
        change_id: named(id),
        expected: expected(session),
        patch: Patch::default(),
        faults: Vec::new(),
        archived_only: false,
        next_session_id: SessionId::parse(format!("{id} of {}", session.key)).unwrap(),
        expires_at: START.plus_millis(10),
        now: START,
    }
}

pub(crate) async fn a_patch_is_applied_to_the_row_that_is_stored(store: impl RegistryStore) {
    let row = put(&store, session("agent:a:1")).await;
    let first = labelling(&row, "One");
    assert!(store.patch(&tenant(), first.clone()).await.unwrap().changed);
    let again = store.patch(&tenant(), first).await.unwrap();
    assert!(!again.changed);
    let stored = by_key(&store, "agent:a:1").await.unwrap();
    assert_eq!(again.session, stored);
    assert_eq!((stored.row_version, stored.updated_at), (2, row.updated_at));

    let mut based = labelling(&row, "Two");
    based.expected.row_version = Some(1);
    let refused = store.patch(&tenant(), based).await.unwrap_err();
    assert!(matches!(
        refused,
        ChangeError::OtherVersion {
            stored: 2,
            expected: 1,
            ..
        }
    ));
    let reset = commit(&row, Change::Reset, "c");
    store.commit(&tenant(), reset).await.unwrap();
    let refused = store.patch(&tenant(), labelling(&row, "Two")).await;
    assert!(matches!(
        refused.unwrap_err(),
        ChangeError::Stale {
            change: "patch",
            ..
        }
    ));
    let missing = labelling(&session("agent:a:0"), "x");
    let refused = store.patch(&tenant(), missing).await.unwrap_err();
    assert!(matches!(refused, ChangeError::Missing(_)));
}

pub(crate) async fn a_taken_label_is_not_given_twice(store: impl RegistryStore) {
    put(&store, labelled("agent:a:1", "One")).await;
    let row = put(&store, session("agent:a:2")).await;
    let other = put(&store, session("agent:b:1")).await;
    let refused = store.patch(&tenant(), labelling(&row, "One")).await;
    assert!(matches!(refused.unwrap_err(), ChangeError::LabelInUse(_)));
    assert_eq!(by_key(&store, "agent:a:2").await, Some(row));
    let other = labelling(&other, "One");
    assert!(store.patch(&tenant(), other).await.unwrap().changed);
}

pub(crate) async fn a_callers_name_for_a_call_is_kept_with_the_effect(store: impl RegistryStore) {
    let row = put(&store, session("agent:a:1")).await;
    let keyed = |label: &str, fingerprint: &str, now: Timestamp| Patching {
        key_use: Some(KeyUse {
            owner: "me".to_owned(),
            key: named("k"),
            fingerprint: fingerprint.to_owned(),
            expires_at: now.plus_millis(10),
        }),
        now,
        ..labelling(&row, label)
    };
    let used = async |tenant: &TenantId, owner: &str, now: Timestamp| {
        store
            .used_key(tenant, owner, &named("k"), now)
            .await
            .unwrap()
    };
    assert_eq!(used(&tenant(), "me", START).await, None);
    let first = store
        .patch(&tenant(), keyed("One", "f", START))
        .await
        .unwrap();
    let found = used(&tenant(), "me", START.plus_millis(9)).await.unwrap();
    assert_eq!((found.fingerprint.as_str(), &found.answer), ("f", &first));
    assert_eq!(used(&tenant(), "me", START.plus_millis(10)).await, None);
    assert_eq!(used(&tenant(), "you", START).await, None);
    let stranger = TenantId::parse("other").unwrap();
    assert_eq!(used(&stranger, "me", START).await, None);

    store
        .patch(&tenant(), labelling(&row, "Two"))
        .await
        .unwrap();
    let again = store.patch(&tenant(), keyed("One", "f", START)).await;
    assert_eq!(again.unwrap(), first);
    let refused = store.patch(&tenant(), keyed("One", "g", START)).await;
    assert!(matches!(refused.unwrap_err(), ChangeError::KeyReused(_)));
    let later = START.plus_millis(10);
    let anew = store.patch(&tenant(), keyed("Three", "g", later)).await;
    assert!(anew.unwrap().changed);
}

pub(crate) async fn a_lifecycle_change_is_committed_once(store: impl RegistryStore) {
    let row = put(&store, session("agent:a:1")).await;
    let reset = commit(&row, Change::Reset, "c-1");
    let first = store.commit(&tenant(), reset.clone()).await.unwrap();
    assert_eq!(store.commit(&tenant(), reset.clone()).await.unwrap(), first);
    let after = by_key(&store, "agent:a:1").await.unwrap();
    assert_eq!(first.session.as_ref(), Some(&after));
    assert_eq!((after.work_epoch, after.row_version), (1, 2));

    let ids = vec![row.session_id.to_string(), after.session_id.to_string()];
    let lookup = Lookup {
        session_ids: ids.clone(),
        ..Lookup::default()
    };
    let found = store.look_up(&tenant(), &lookup).await.unwrap();
    assert_eq!(found.by_session_id.len(), 2, "D26");

    let delete = commit(&after, Change::Delete, "c-2");
    let gone = store.commit(&tenant(), delete.clone()).await.unwrap();
    assert_eq!((gone.session.as_ref(), gone.changed), (None, true));
    let new = put(&store, session_with_id("agent:a:1", "new")).await;
    assert_eq!(new.work_epoch, 2);
    assert_eq!(store.commit(&tenant(), delete).await.unwrap(), gone);
    assert_eq!(by_key(&store, "agent:a:1").await, Some(new));
    let found = store.look_up(&tenant(), &lookup).await.unwrap();
    assert_eq!(found.by_session_id.len(), 0);
    // A deleted generation's sessionId is nobody else's.
    let thief = session_with_id("agent:a:2", &ids[0]);
    assert!(store.create(&tenant(), thief).await.is_err());
    assert_eq!(by_key(&store, "agent:a:2").await, None);
}

fn session_with_id(text: &str, id: &str) -> Session {
    Session {
        session_id: SessionId::parse(id).unwrap(),
        ..session(text)
    }
}

fn done(text: &str, millis: i64) -> Session {
    Session {
        spawn: Spawn {
            mode: Some(SpawnMode::Run),
            ..Spawn::default()
        },
        last_run: Some(LastRun {
            run_id: RunId::parse("r").unwrap(),
            state: RunState::Succeeded,
            started_at: Some(START),
            ended_at: Some(START.plus_millis(millis)),
            model: None,
            total_tokens: None,
            input_tokens: None,
            output_tokens: None,
        }),
        ..session(text)
    }
}

fn keys(kept: &[Kept]) -> Vec<&str> {
    kept.iter()
        .map(|kept| kept.row.session.key.as_str())
        .collect()
}

pub(crate) async fn rows_are_found_in_the_order_in_which_their_time_runs_out(
    store: impl RegistryStore,
) {
    let moved = |text: &str, millis: i64| Session {
        updated_at: START.plus_millis(millis),
        ..session(text)
    };
    for row in [
        done("agent:a:subagent:1", 7),
        done("agent:a:subagent:2", 5),
        moved("agent:a:main", -9),
        moved("agent:a:3", -3),
        moved("agent:a:4", -4),
        moved("agent:a:5", -4),
    ] {
        put(&store, row).await;
    }
    let stranger = TenantId::parse("other").unwrap();
    let created = store.create(&stranger, moved("agent:a:6", -5)).await;
    assert!(matches!(created.unwrap(), Creation::Created(_)));

    let done = async |millis: i64| {
        let moment = START.plus_millis(millis);
        store.done_since(None, moment, 9).await.unwrap()
    };
    assert_eq!(done(4).await, []);
    assert_eq!(keys(&done(5).await), ["agent:a:subagent:2"]);
    assert_eq!(
        keys(&done(7).await),
        ["agent:a:subagent:2", "agent:a:subagent:1"]
    );

    let unmoved = async |tenant: Option<&TenantId>, after: Option<&Place>, limit: usize| {
        let found = store.unmoved_before(tenant, START, after, limit).await;
        found.unwrap()
    };
    let all = ["agent:a:6", "agent:a:4", "agent:a:5", "agent:a:3"];
    assert_eq!(keys(&unmoved(None, None, 9).await), all);
    assert_eq!(keys(&unmoved(Some(&tenant()), None, 9).await), all[1..]);
    let mut after = None;
    for expected in all {
        let page = unmoved(None, after.as_ref(), 1).await;
        assert_eq!(keys(&page), [expected]);
        after = Some(Place::of(&page[0]));
    }
    assert_eq!(unmoved(None, after.as_ref(), 1).await, []);

    let mut counts = store.row_counts().await.unwrap();
    counts.sort_by(|one, other| one.0.as_str().cmp(other.0.as_str()));
    assert_eq!(counts, [(tenant(), 6), (stranger, 1)]);
}
