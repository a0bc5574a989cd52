//! The messages around a place.

use confab_model::message::Role;
use confab_proto::transcript::v1::GetHistoryRequest;

use crate::testing::{DESK, House, marker, of, result, said, seqs};

fn around(seq: i64, limit: i32) -> GetHistoryRequest {
    GetHistoryRequest {
        anchor_seq: Some(seq),
        limit: Some(limit),
        ..of(DESK)
    }
}

/// 20 messages, of which 8 to 11 are results of tools and 15 is a skip word.
async fn house() -> House {
    let house = House::with(&[DESK]).await;
    for seq in 1..=20 {
        let key = format!("k{seq}");
        let message = match seq {
            8..=11 => result(&key, "r"),
            15 => said(&key, Role::Assistant, "NO_REPLY"),
            _ => said(&key, Role::User, "m"),
        };
        house.append(DESK, &[message]).await.unwrap();
    }
    house
}

#[tokio::test]
async fn half_of_the_page_is_older_and_the_place_is_the_nearest_that_the_view_shows() {
    let house = house().await;
    for (why, seq, limit, tools, expected) in [
        ("in the middle", 5, 4, true, vec![3, 4, 5, 6]),
        ("an odd limit", 5, 5, true, vec![3, 4, 5, 6, 7]),
        ("alone", 5, 1, true, vec![5]),
        ("with its elder", 5, 2, true, vec![4, 5]),
        ("at the beginning", 1, 4, true, vec![1, 2]),
        ("at the end", 20, 4, true, vec![18, 19, 20]),
        ("beyond the end", 99, 4, true, vec![18, 19, 20]),
        ("hidden: the nearest one", 9, 3, false, vec![6, 7, 12]),
        ("hidden: the newer is nearer", 11, 3, false, vec![7, 12, 13]),
        (
            "hidden from both: the older of two",
            15,
            3,
            true,
            vec![13, 14, 16],
        ),
        ("over what is hidden", 7, 4, false, vec![5, 6, 7, 12]),
    ] {
        let request = GetHistoryRequest {
            include_tools: tools,
            ..around(seq, limit)
        };
        let page = house.history(request).await.unwrap();
        assert_eq!(seqs(&page), expected, "{why}");
        assert!(!page.bounded.is_truncated(), "{why}");
        assert_eq!((page.paging, page.next_snapshot), (None, None), "{why}");
    }
    let empty = House::with(&[DESK]).await;
    let page = empty.history(around(3, 4)).await.unwrap();
    assert_eq!((seqs(&page), page.bounded.bytes), (vec![], "[]".len()));
}

#[tokio::test]
async fn a_page_that_is_too_large_grows_from_the_place_to_both_sides() {
    let house = House::with(&[DESK]).await;
    for seq in 1..=20 {
        let long = said(&format!("k{seq}"), Role::Assistant, &"€".repeat(4_000));
        house.append(DESK, &[long]).await.unwrap();
    }
    // Six of them fit: the place, then older and newer in turn.
    for (seq, expected) in [
        (10, 7..=12),
        (2, 1..=6),
        (1, 1..=6),
        (19, 15..=20),
        (20, 15..=20),
    ] {
        let page = house.history(around(seq, 20)).await.unwrap();
        assert_eq!(seqs(&page), expected.collect::<Vec<u64>>(), "{seq}");
        assert!(page.bounded.dropped_messages, "{seq}");
    }
    let page = house.history(around(10, 6)).await.unwrap();
    assert_eq!(seqs(&page), [7, 8, 9, 10, 11, 12]);
    assert!(!page.bounded.dropped_messages);
}

#[tokio::test]
async fn in_the_active_view_the_place_is_in_what_the_agent_still_reads() {
    let house = house().await;
    house.append(DESK, &[marker("c", Some(13))]).await.unwrap();
    for (seq, expected) in [(1, vec![13, 14]), (16, vec![13, 14, 16, 17])] {
        let request = GetHistoryRequest {
            active_view: true,
            ..around(seq, 4)
        };
        let page = house.history(request).await.unwrap();
        assert_eq!(seqs(&page), expected, "{seq}");
        assert!(page.compaction.is_some());
    }
}
