//! Patches that meet each other, and lifecycle changes.

use std::collections::BTreeMap;

use confab_proto::registry::v1::{LifecycleChange, PatchSessionRequest, SessionPatch};
use confab_proto::types::v1 as types;
use confab_rpc::error::Reason;
use futures::future::join_all;

use super::{CHILD, filed, house_with_child, labelled, modelled, patch_of, text};
use crate::testing::{DEFAULTS, House, change_of, operator};

const TASKS: usize = 64;
const PATCHES: usize = 1_000;

/// Patches one after the other; answers how many changed something.
async fn patch_all(house: &House, requests: Vec<PatchSessionRequest>) -> u64 {
    let mut changed = 0;
    for request in requests {
        let answer = house.patch(operator(), request).await.unwrap();
        changed += u64::from(answer.changed);
    }
    changed
}

/// The numbers below [`PATCHES`] that fall to a task.
fn share(task: usize) -> impl Iterator<Item = usize> {
    (task..PATCHES).step_by(TASKS)
}

#[tokio::test]
async fn a_thousand_patches_of_one_session_are_all_kept() {
    let house = house_with_child(DEFAULTS).await;
    // Four tasks own a field each, which nobody else may undo; the others share one.
    let patch = |task: usize, number: usize| match task {
        0 => labelled(&format!("n{number}")),
        1 => modelled(&format!("n{number}")),
        2 => SessionPatch {
            exec_node: text(&format!("n{number}")),
            ..Default::default()
        },
        3 => SessionPatch {
            inherited_tool_deny: vec![format!("n{number}")],
            ..Default::default()
        },
        _ => filed(&format!("n{number}")),
    };
    let tasks = (0..TASKS).map(|task| {
        let requests = share(task).map(|number| patch_of(CHILD, patch(task, number)));
        patch_all(&house, requests.collect())
    });
    let changed: u64 = join_all(tasks).await.into_iter().sum();
    assert_eq!(changed, u64::try_from(PATCHES).unwrap());
    let row = house.row(CHILD).await.unwrap();
    assert_eq!(row.row_version, 1 + changed);
    let last = |task: usize| format!("n{}", share(task).last().unwrap());
    assert_eq!(row.label.unwrap().as_str(), last(0));
    assert_eq!(row.tuning.model, Some(last(1)));
    assert_eq!(row.tuning.exec_node, Some(last(2)));
    assert_eq!(row.spawn.inherited_tool_deny, [last(3)]);
}

#[tokio::test]
async fn a_thousand_patches_of_as_many_sessions_as_tasks_are_counted_by_each() {
    let house = House::with(DEFAULTS).await;
    let key = |task: usize| format!("agent:writer:desk-{task}");
    for task in 0..TASKS {
        house.made(&key(task)).await;
    }
    let tasks = (0..TASKS).map(|task| {
        let requests = share(task).map(|number| patch_of(&key(task), filed(&format!("n{number}"))));
        patch_all(&house, requests.collect())
    });
    let changed = join_all(tasks).await;
    for (task, changed) in changed.into_iter().enumerate() {
        let row = house.row(&key(task)).await.unwrap();
        assert_eq!(row.row_version, 1 + changed, "{task}");
        let last = share(task).last().unwrap();
        assert_eq!(row.category, Some(format!("n{last}")), "{task}");
    }
}

#[tokio::test]
async fn one_of_many_that_want_a_label_gets_it() {
    let house = House::with(DEFAULTS).await;
    let key = |task: usize| format!("agent:writer:desk-{task}");
    for task in 0..TASKS {
        house.made(&key(task)).await;
    }
    let tasks = (0..TASKS).map(|task| house.patch(operator(), patch_of(&key(task), labelled("X"))));
    let answers = join_all(tasks).await;
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    for refused in lost {
        assert_eq!(refused.unwrap_err().reason, Reason::LabelInUse);
    }
}

/// A patch of two fields, of which a reset keeps one; with a name that tells it from all others.
fn paired(number: usize) -> SessionPatch {
    SessionPatch {
        exec_node: text(&format!("n{number}")),
        ..filed(&format!("n{number}"))
    }
}

/// A call that meets two resets is told so, and is made again by whoever makes it.
async fn patch_until_done(house: &House, number: usize) -> types::Session {
    loop {
        let request = patch_of(CHILD, paired(number));
        match house.patch(operator(), request).await {
            Ok(answer) => return answer.session.unwrap(),
            Err(refused) => assert_eq!(refused.reason, Reason::Stale),
        }
    }
}

/// Resets the session as often as asked, each time as it is; answers with its generations by epoch.
async fn reset_often(house: &House, times: usize) -> BTreeMap<i64, String> {
    let mut generations = BTreeMap::new();
    for time in 0..times {
        let row = house.row(CHILD).await.unwrap();
        let reset = change_of(&row, LifecycleChange::Reset, &format!("c-{time}"));
        let after = house.commit(reset).await.unwrap().session.unwrap();
        generations.insert(after.work_epoch, after.session_id);
    }
    generations
}

#[tokio::test]
async fn a_patch_that_meets_resets_lies_wholly_in_one_generation() {
    const PAIRS: usize = 200;
    const RESETS: usize = 20;
    let house = house_with_child(DEFAULTS).await;
    let first = house.row(CHILD).await.unwrap();
    let patching = (0..PAIRS).map(|number| patch_until_done(&house, number));
    let resetting = reset_often(&house, RESETS);
    let (mut generations, rows) = futures::join!(resetting, join_all(patching));
    generations.insert(0, first.session_id.to_string());
    assert_eq!(generations.len(), RESETS + 1);
    for (number, row) in rows.into_iter().enumerate() {
        let name = text(&format!("n{number}"));
        assert_eq!((&row.category, &row.exec_node), (&name, &name));
        assert_eq!(Some(&row.session_id), generations.get(&row.work_epoch));
    }
    let last = house.row(CHILD).await.unwrap();
    assert_eq!(last.row_version, 1 + u64::try_from(PAIRS + RESETS).unwrap());
    if last.category.is_some() {
        assert_eq!(last.category, last.tuning.exec_node);
    }
}
