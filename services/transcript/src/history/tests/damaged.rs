//! Rows that cannot be read.

use confab_model::message::{Message, Role};
use confab_proto::transcript::v1::{GetHistoryRequest, TailSessionsRequest};
use confab_rpc::wire::enums::Numbered as _;
use confab_text::page::UNREADABLE;
use confab_text::render::{message_json, placeholder_json};
use serde_json::Value;

use crate::testing::{DESK, House, START, marker, of, said, seqs, text};

/// No message is packed like this, and neither is this.
const DAMAGES: [&[u8]; 3] = [b"\xff\xff\xff", b"\x0a\x7fcut", b""];

async fn house() -> House {
    let house = House::with(&[DESK]).await;
    for seq in 1..=5 {
        let message = said(&format!("k{seq}"), Role::User, &format!("m{seq}"));
        house.append(DESK, &[message]).await.unwrap();
    }
    house
}

fn shown(messages: &[(Message, bool)]) -> Vec<Value> {
    let shown = messages.iter().map(|(message, placeholder)| {
        if *placeholder {
            placeholder_json(message)
        } else {
            message_json(message)
        }
    });
    shown.collect()
}

#[tokio::test]
async fn a_placeholder_stands_in_its_place_and_its_neighbours_stay() {
    for packed in DAMAGES {
        let house = house().await;
        let whole = house.history(of(DESK)).await.unwrap();
        house.damage(DESK, 2, packed).await;
        house.damage(DESK, 5, packed).await;
        let page = house.history(of(DESK)).await.unwrap();
        assert_eq!(seqs(&page), [1, 2, 3, 4, 5]);
        assert_eq!(page.bounded.skipped_rows, 2);
        assert!(page.bounded.is_truncated());
        let flags = (
            page.bounded.content_truncated,
            page.bounded.dropped_messages,
        );
        assert_eq!(flags, (false, false));
        let (message, placeholder) = &page.bounded.messages[1];
        assert!(*placeholder);
        assert_eq!(message.body.blocks, [text(UNREADABLE)]);
        assert_eq!(
            (&message.id, message.at),
            (&whole.bounded.messages[1].0.id, START)
        );
        for place in [0, 2, 3] {
            assert_eq!(page.bounded.messages[place], whole.bounded.messages[place]);
        }
        let shown = shown(&page.bounded.messages);
        assert_eq!(shown[1]["content"], UNREADABLE);
        assert_eq!(page.bounded.bytes, Value::Array(shown).to_string().len());
    }
}

#[tokio::test]
async fn it_counts_where_it_is_shown_and_pages_go_on_as_before() {
    let house = house().await;
    house.damage(DESK, 2, b"\xff").await;
    let page = |offset| GetHistoryRequest {
        limit: Some(2),
        offset: Some(offset),
        ..of(DESK)
    };
    for (offset, expected, skipped, next) in [
        (0, vec![4, 5], 0, Some(2)),
        (2, vec![2, 3], 1, Some(4)),
        (4, vec![1], 0, None),
    ] {
        let page = house.history(page(offset)).await.unwrap();
        assert_eq!(seqs(&page), expected);
        assert_eq!(page.bounded.skipped_rows, skipped, "{offset}");
        assert_eq!(page.paging.unwrap().next_offset, next);
    }
    // Nobody knows whose it was.
    let request = GetHistoryRequest {
        roles: vec![Role::Assistant.number()],
        ..of(DESK)
    };
    assert_eq!(seqs(&house.history(request).await.unwrap()), [2]);
    // Appends go on behind the damage.
    let next = said("k6", Role::Assistant, "m6");
    assert_eq!(house.append(DESK, &[next]).await.unwrap()[0].seq, 6);
}

#[tokio::test]
async fn a_marker_that_cannot_be_read_hides_nothing() {
    let house = house().await;
    house.append(DESK, &[marker("c", Some(3))]).await.unwrap();
    let request = GetHistoryRequest {
        active_view: true,
        ..of(DESK)
    };
    assert_eq!(
        seqs(&house.history(request.clone()).await.unwrap()),
        [3, 4, 5]
    );
    house.damage(DESK, 6, b"\xff").await;
    let page = house.history(request).await.unwrap();
    assert_eq!((seqs(&page), page.compaction), (vec![1, 2, 3, 4, 5], None));
}

#[tokio::test]
async fn the_end_of_a_transcript_is_told_likewise() {
    let house = house().await;
    house.damage(DESK, 1, b"\xff").await;
    house.damage(DESK, 5, b"\xff").await;
    let request = TailSessionsRequest {
        session_keys: vec![DESK.to_owned()],
        limit: 2,
        include_first_user_message: true,
    };
    let tails = house.tails(request).await.unwrap();
    let blocks: Vec<_> = tails[0]
        .messages
        .iter()
        .map(|one| &one.body.blocks)
        .collect();
    assert_eq!(blocks, [&vec![text("m4")], &vec![text(UNREADABLE)]]);
    assert_eq!(tails[0].first_user_text, None);
}
