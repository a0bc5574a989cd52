//! Appending messages.

use confab_model::id::TenantId;
use confab_model::message::Role;
use confab_proto::transcript::v1::AppendMessagesRequest;
use confab_rpc::caller::Caller;
use confab_rpc::error::Reason;

use crate::testing::{DESK, House, START, of, operator, request, said, session_id};

#[tokio::test]
async fn messages_are_numbered_without_gaps_and_stamped_with_the_time() {
    let house = House::with(&[DESK]).await;
    let two = [said("a", Role::User, "1"), said("b", Role::Assistant, "2")];
    let first = house.append(DESK, &two).await.unwrap();
    house.clock.advance_millis(5);
    let second = house
        .append(DESK, &[said("c", Role::User, "3")])
        .await
        .unwrap();
    let seqs: Vec<u64> = first
        .iter()
        .chain(&second)
        .map(|message| message.seq)
        .collect();
    assert_eq!(seqs, [1, 2, 3]);
    assert_eq!((first[0].at, second[0].at), (START, START.plus_millis(5)));

    let told = confab_model::message::NewMessage {
        at: Some(START.plus_millis(-9)),
        ..said("d", Role::User, "4")
    };
    let third = house.append(DESK, &[told]).await.unwrap();
    assert_eq!(third[0].at, START.plus_millis(-9));
}

#[tokio::test]
async fn the_same_key_and_content_is_the_same_message() {
    let house = House::with(&[DESK]).await;
    let once = house
        .append(DESK, &[said("a", Role::User, "1")])
        .await
        .unwrap();
    house.clock.advance_millis(5);
    let again = house
        .append(
            DESK,
            &[said("a", Role::User, "1"), said("b", Role::User, "2")],
        )
        .await;
    let again = again.unwrap();
    assert_eq!(again[0], once[0]);
    assert_eq!(again[1].seq, 2);
    // The same key twice in one call is one message too.
    let twice = house
        .append(
            DESK,
            &[said("c", Role::User, "3"), said("c", Role::User, "3")],
        )
        .await;
    let twice = twice.unwrap();
    assert_eq!((twice[0].seq, &twice[0]), (3, &twice[1]));
    assert_eq!(house.seqs().await, [1, 2, 3]);
}

#[tokio::test]
async fn the_same_key_with_other_content_is_refused_and_nothing_is_kept() {
    let house = House::with(&[DESK]).await;
    house
        .append(DESK, &[said("a", Role::User, "1")])
        .await
        .unwrap();
    for messages in [
        vec![said("b", Role::User, "2"), said("a", Role::User, "other")],
        vec![said("b", Role::User, "2"), said("a", Role::Assistant, "1")],
        vec![said("b", Role::User, "2"), said("b", Role::User, "other")],
    ] {
        let refused = house.append(DESK, &messages).await.unwrap_err();
        assert_eq!(refused.reason, Reason::KeyReused, "{messages:?}");
    }
    assert_eq!(house.seqs().await, [1]);
}

#[tokio::test]
async fn one_key_may_stand_in_two_sessions() {
    let house = House::with(&[DESK, "agent:writer:main"]).await;
    house
        .append(DESK, &[said("a", Role::User, "1")])
        .await
        .unwrap();
    let other = house
        .append("agent:writer:main", &[said("a", Role::User, "2")])
        .await
        .unwrap();
    assert_eq!(other[0].seq, 1);
}

#[tokio::test]
async fn a_session_that_is_not_found_or_was_reset_gets_nothing() {
    let house = House::with(&[DESK]).await;
    let messages = [said("a", Role::User, "1")];
    let refused = house
        .append("agent:writer:missing", &messages)
        .await
        .unwrap_err();
    assert_eq!(refused.reason, Reason::SessionNotFound);

    let session_id = Some("an older one".to_owned());
    let stale = AppendMessagesRequest {
        session_id,
        ..request(DESK, &messages)
    };
    let refused = house.append_as(operator(), stale).await.unwrap_err();
    assert_eq!(refused.reason, Reason::Stale);
    assert_eq!(house.seqs().await, Vec::<u64>::new());

    let session_id = Some(session_id_of_desk());
    let present = AppendMessagesRequest {
        session_id,
        ..request(DESK, &messages)
    };
    house.append_as(operator(), present).await.unwrap();
    assert_eq!(house.seqs().await, [1]);
}

fn session_id_of_desk() -> String {
    session_id(DESK).to_string()
}

#[tokio::test]
async fn a_service_names_the_generation_and_is_asked_for_no_session() {
    let house = House::with(&[DESK]).await;
    let service = || Caller::system("test", TenantId::default());
    let named = AppendMessagesRequest {
        target: None,
        session_id: Some(session_id_of_desk()),
        ..request(DESK, &[said("a", Role::User, "1")])
    };
    house.append_as(service(), named.clone()).await.unwrap();
    assert_eq!(house.seqs().await, [1]);
    // Nobody else may do that, and a service that names no generation names a session.
    let refused = house
        .append_as(operator(), named.clone())
        .await
        .unwrap_err();
    assert_eq!(refused.violations[0].field, "target");
    let nameless = AppendMessagesRequest {
        session_id: None,
        ..named
    };
    let refused = house.append_as(service(), nameless).await.unwrap_err();
    assert_eq!(refused.violations[0].field, "target");
}

#[tokio::test]
async fn a_malformed_message_is_refused_with_its_place_and_nothing_is_kept() {
    let house = House::with(&[DESK]).await;
    let messages = [said("a", Role::User, "1"), said("", Role::User, "2")];
    let refused = house.append(DESK, &messages).await.unwrap_err();
    assert_eq!(refused.reason, Reason::InvalidArgument);
    assert!(
        refused.violations[0].field.starts_with("messages[1]"),
        "{refused:?}"
    );
    let refused = house.append(DESK, &[]).await.unwrap_err();
    assert_eq!(refused.violations[0].field, "messages");
    assert_eq!(
        house.history(of(DESK)).await.unwrap().bounded.messages,
        Vec::new()
    );
}
