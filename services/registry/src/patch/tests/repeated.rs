//! A patch that is called again by its idempotency key (D36).

use confab_model::limits::IDEMPOTENCY_HOURS;
use confab_proto::registry::v1::{LifecycleChange, PatchSessionRequest};
use confab_rpc::error::Reason;

use super::{CHILD, filed, house_with_child, modelled, patch_of};
use crate::testing::{DEFAULTS, OPEN_HOUSE, agent, change_of, operator};

fn keyed(request: PatchSessionRequest) -> PatchSessionRequest {
    PatchSessionRequest {
        idempotency_key: Some("k-1".to_owned()),
        ..request
    }
}

#[tokio::test]
async fn the_same_call_meets_its_first_answer_after_a_reset_a_delete_and_a_restart() {
    let house = house_with_child(DEFAULTS).await;
    let request = keyed(patch_of(CHILD, filed("One")));
    let first = house.patch(operator(), request.clone()).await.unwrap();
    assert!(first.changed);
    house
        .patch(operator(), patch_of(CHILD, filed("Two")))
        .await
        .unwrap();
    let again = house.patch(operator(), request.clone()).await.unwrap();
    assert_eq!(again, first);
    let stored = house.row(CHILD).await.unwrap();
    assert_eq!(stored.category.as_deref(), Some("Two"));

    let reset = change_of(&stored, LifecycleChange::Reset, "c-1");
    house.commit(reset).await.unwrap();
    let house = house.reopened().await;
    assert_eq!(
        house.patch(operator(), request.clone()).await.unwrap(),
        first
    );
    let row = house.row(CHILD).await.unwrap();
    let delete = change_of(&row, LifecycleChange::Delete, "c-2");
    house.commit(delete).await.unwrap();
    // B222: the key is looked at before the session is.
    assert_eq!(house.patch(operator(), request).await.unwrap(), first);
}

#[tokio::test]
async fn the_same_key_with_other_content_is_refused() {
    let house = house_with_child(DEFAULTS).await;
    let request = keyed(patch_of(CHILD, filed("One")));
    house.patch(operator(), request).await.unwrap();
    for other in [
        keyed(patch_of(CHILD, filed("Two"))),
        keyed(patch_of("agent:writer:main", filed("One"))),
        PatchSessionRequest {
            expected_row_version: Some(2),
            ..keyed(patch_of(CHILD, filed("One")))
        },
    ] {
        let refused = house.patch(operator(), other).await.unwrap_err();
        assert_eq!(refused.reason, Reason::KeyReused);
        assert!(refused.message.contains("\"k-1\""), "{refused}");
    }
    let stored = house.row(CHILD).await.unwrap();
    assert_eq!(stored.category.as_deref(), Some("One"));
}

#[tokio::test]
async fn a_key_belongs_to_its_caller() {
    let house = house_with_child(OPEN_HOUSE).await;
    let request = keyed(patch_of(CHILD, modelled("m-1")));
    assert!(
        house
            .patch(operator(), request.clone())
            .await
            .unwrap()
            .changed
    );
    // B218: another caller's call is a call of its own, with whatever content.
    let other = keyed(patch_of(CHILD, modelled("m-2")));
    let set = house
        .patch(agent("agent:writer:main"), other)
        .await
        .unwrap();
    assert!(set.changed);
}

#[tokio::test]
async fn a_refused_call_leaves_its_key_free() {
    let house = house_with_child(DEFAULTS).await;
    let stale = PatchSessionRequest {
        expected_row_version: Some(9),
        ..keyed(patch_of(CHILD, filed("One")))
    };
    let refused = house.patch(operator(), stale).await.unwrap_err();
    assert_eq!(refused.reason, Reason::Stale);
    let request = keyed(patch_of(CHILD, filed("One")));
    assert!(house.patch(operator(), request).await.unwrap().changed);
}

#[tokio::test]
async fn a_key_is_forgotten_after_a_day() {
    let house = house_with_child(DEFAULTS).await;
    let day = i64::from(IDEMPOTENCY_HOURS) * 3_600_000;
    let first = keyed(patch_of(CHILD, filed("One")));
    let other = keyed(patch_of(CHILD, filed("Two")));
    house.patch(operator(), first.clone()).await.unwrap();
    house.clock.advance_millis(day - 1);
    assert!(house.patch(operator(), first).await.unwrap().changed);
    let refused = house.patch(operator(), other.clone()).await.unwrap_err();
    assert_eq!(refused.reason, Reason::KeyReused);
    house.clock.advance_millis(1);
    assert!(house.patch(operator(), other).await.unwrap().changed);
}
