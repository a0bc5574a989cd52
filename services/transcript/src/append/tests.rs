//! Appending messages.

use confab_model::id::{RunId, TenantId};
use confab_model::key::SessionKey;
use confab_model::message::{Block, NewMessage, Provenance, Role, Usage};
use confab_proto::transcript::v1::AppendMessagesRequest;
use confab_proto::types::v1 as proto;
use confab_rpc::caller::Caller;
use confab_rpc::error::Reason;

use crate::store::TranscriptStore as _;
use crate::testing::{
    DESK, House, START, call, image, marker, of, operator, request, result, said, session_id, text,
    with_blocks,
};

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

    let told = NewMessage {
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

#[tokio::test]
async fn everything_that_a_message_tells_is_kept_as_fields() {
    let house = House::with(&[DESK]).await;
    let source = SessionKey::parse("agent:writer:main").unwrap();
    let provenance = Provenance::inter_session(source, Some("discord".to_owned()), "sessions_send");
    let sent = NewMessage {
        provenance: Some(provenance),
        run_id: Some(RunId::parse("r-1").unwrap()),
        ..said("a", Role::User, "look at this")
    };
    let cut_off = NewMessage {
        model: Some("model".to_owned()),
        usage: Some(Usage {
            input: 12,
            output: 3,
        }),
        stop_reason: Some("aborted".to_owned()),
        ..with_blocks("b", Role::Assistant, vec![text("I shall"), call("read")])
    };
    let failed = NewMessage {
        is_error: true,
        ..result("c", "no such file")
    };
    let messages = [sent, cut_off, failed];
    let stored = house.append(DESK, &messages).await.unwrap();
    // The body is what was sent, without a word about where it came from (D25, B150); a turn that was
    // cut off says so (B210); a result names its call (run:T10).
    for (stored, given) in stored.iter().zip(&messages) {
        assert_eq!(stored.body, *given);
    }
    let (page, again) = (of(DESK), house.append(DESK, &messages).await.unwrap());
    assert_eq!(again, stored);
    let shown = house.history(page).await.unwrap().bounded.messages;
    assert_eq!(shown[0].0.body, messages[0]);
    assert_eq!(shown[1].0.body.stop_reason.as_deref(), Some("aborted"));
}

fn with_picture(key: &str, data: &[u8]) -> proto::NewMessage {
    let block = proto::ImageBlock {
        mime_type: "image/png".to_owned(),
        data: Some(data.to_vec().into()),
        ..Default::default()
    };
    proto::NewMessage {
        blocks: vec![proto::Block {
            content: Some(proto::block::Content::Image(block)),
        }],
        ..confab_rpc::wire::message::new_to_proto(&said(key, Role::User, ""))
    }
}

#[tokio::test]
async fn a_picture_is_kept_beside_the_messages_that_name_it() {
    let house = House::with(&[DESK]).await;
    let sent = AppendMessagesRequest {
        messages: vec![with_picture("a", b"png"), with_picture("b", b"png")],
        ..request(DESK, &[])
    };
    let stored = house.append_as(operator(), sent.clone()).await.unwrap();
    let Block::Image { reference, .. } = &stored[0].body.blocks[0] else {
        panic!("{stored:?}")
    };
    assert!(reference.starts_with("sha256:"), "{reference}");
    assert_eq!(stored[1].body.blocks, stored[0].body.blocks);
    let store = &house.messages.store;
    let bytes = store.blob(&TenantId::default(), reference).await.unwrap();
    assert_eq!(bytes.as_deref(), Some(&b"png"[..]));
    // The same bytes again are the same message; others under the same key are not.
    assert_eq!(house.append_as(operator(), sent).await.unwrap(), stored);
    let other = AppendMessagesRequest {
        messages: vec![with_picture("a", b"gif")],
        ..request(DESK, &[])
    };
    let refused = house.append_as(operator(), other).await.unwrap_err();
    assert_eq!(refused.reason, Reason::KeyReused);
    // A picture may be named again without its bytes.
    let again = with_blocks("c", Role::User, stored[0].body.blocks.clone());
    house
        .append(DESK, &[again, with_blocks("d", Role::User, vec![image()])])
        .await
        .unwrap();
    let page = house.history(of(DESK)).await.unwrap();
    assert!(page.bounded.content_truncated && page.bounded.bytes < 1_000);
}

#[tokio::test]
async fn a_compaction_that_keeps_what_comes_after_it_is_refused_with_what_to_give() {
    let house = House::with(&[DESK]).await;
    house
        .append(DESK, &[said("a", Role::User, "1")])
        .await
        .unwrap();
    let messages = [said("b", Role::User, "2"), marker("c", Some(4))];
    let refused = house.append(DESK, &messages).await.unwrap_err();
    assert_eq!(refused.reason, Reason::InvalidArgument);
    assert_eq!(
        refused.violations[0].field,
        "messages.compaction.firstKeptSeq"
    );
    assert!(
        refused.message.contains("give 1 to 3"),
        "{}",
        refused.message
    );
    assert_eq!(house.seqs().await, [1]);
}

#[tokio::test]
async fn what_cannot_be_stored_is_refused_and_nothing_of_the_database_is_told() {
    let house = House::with(&[DESK]).await;
    house.database().close().await;
    let refused = house
        .append(DESK, &[said("a", Role::User, "1")])
        .await
        .unwrap_err();
    assert!(
        matches!(refused.reason, Reason::Unavailable | Reason::Internal),
        "B207, B208: {refused:?}"
    );
    assert!(
        !refused.message.to_lowercase().contains("sql"),
        "{}",
        refused.message
    );
}

#[tokio::test]
async fn an_append_leaves_a_damaged_row_as_it_is() {
    let house = House::with(&[DESK]).await;
    house
        .append(DESK, &[said("a", Role::User, "1")])
        .await
        .unwrap();
    house.damage(DESK, 1, b"\xff\xffhalf").await;
    house
        .append(DESK, &[said("b", Role::User, "2")])
        .await
        .unwrap();
    let packed: Vec<Vec<u8>> = sqlx::query_scalar("SELECT packed FROM messages WHERE seq = 1")
        .fetch_all(house.database().reader())
        .await
        .unwrap();
    assert_eq!(packed, [b"\xff\xffhalf"], "B147");
    assert_eq!(house.seqs().await, [1, 2]);
}
