//! What the agent itself still reads.

use confab_model::message::{Compaction, NewMessage, Role};
use confab_proto::transcript::v1::GetHistoryRequest;

use crate::testing::{DESK, House, call, marker, of, result, said, seqs, with_blocks};

fn active() -> GetHistoryRequest {
    GetHistoryRequest {
        active_view: true,
        ..of(DESK)
    }
}

/// A question, a call, its result, an answer; twice.
fn turns() -> Vec<NewMessage> {
    let turn = |name: &str| {
        vec![
            said(&format!("{name} q"), Role::User, "q"),
            with_blocks(&format!("{name} c"), Role::Assistant, vec![call("read")]),
            result(&format!("{name} r"), "r"),
            said(&format!("{name} a"), Role::Assistant, "a"),
        ]
    };
    [turn("first"), turn("second")].concat()
}

#[tokio::test]
async fn it_begins_with_the_first_message_that_the_last_compaction_kept() {
    for (why, first_kept, later, plain, all) in [
        ("the second turn", Some(5), 0, vec![5, 8], vec![5, 6, 7, 8]),
        ("a hidden message", Some(6), 0, vec![8], vec![6, 7, 8]),
        (
            "everything",
            Some(1),
            0,
            vec![1, 4, 5, 8],
            (1..=8).collect(),
        ),
        ("the marker itself", Some(9), 1, vec![10], vec![10]),
        ("nothing before it", None, 1, vec![10], vec![10]),
        ("nothing at all", None, 0, vec![], vec![]),
    ] {
        let house = House::with(&[DESK]).await;
        house.append(DESK, &turns()).await.unwrap();
        house
            .append(DESK, &[marker("c", first_kept)])
            .await
            .unwrap();
        for place in 0..later {
            let next = said(&format!("later {place}"), Role::User, "q");
            house.append(DESK, &[next]).await.unwrap();
        }
        for (include_tools, expected) in [(false, plain), (true, all)] {
            let request = GetHistoryRequest {
                include_tools,
                offset: Some(0),
                ..active()
            };
            let page = house.history(request).await.unwrap();
            assert_eq!(seqs(&page), expected, "{why}");
            let total = u64::try_from(expected.len()).unwrap();
            assert_eq!(page.paging.unwrap().total_messages, total, "{why}");
            let told = page.compaction.unwrap();
            assert_eq!(told.summary, "summary of c");
            assert_eq!(told.first_kept_seq, first_kept);
        }
        // Whoever does not ask for it sees everything, and nothing of the marker.
        let page = house.history(of(DESK)).await.unwrap();
        assert_eq!(seqs(&page)[..4], [1, 4, 5, 8]);
        assert_eq!(page.compaction, None);
    }
}

#[tokio::test]
async fn a_transcript_without_a_compaction_is_active_as_a_whole() {
    let house = House::with(&[DESK]).await;
    house.append(DESK, &turns()).await.unwrap();
    let page = house.history(active()).await.unwrap();
    assert_eq!((seqs(&page), page.compaction), (vec![1, 4, 5, 8], None));
}

#[tokio::test]
async fn a_walk_keeps_the_compaction_that_it_began_with() {
    let house = House::with(&[DESK]).await;
    house.append(DESK, &turns()).await.unwrap();
    house.append(DESK, &[marker("c", Some(4))]).await.unwrap();
    let page = |offset, snapshot| GetHistoryRequest {
        limit: Some(2),
        offset: Some(offset),
        snapshot,
        ..active()
    };
    let first = house.history(page(0, None)).await.unwrap();
    assert_eq!(seqs(&first), [5, 8]);
    let paging = first.paging.unwrap();
    assert_eq!((paging.next_offset, paging.snapshot), (Some(2), 9));
    house.append(DESK, &[marker("d", None)]).await.unwrap();
    let second = house.history(page(2, Some(9))).await.unwrap();
    assert_eq!(seqs(&second), [4]);
    assert_eq!(second.paging.unwrap().next_offset, None);
    assert_eq!(second.compaction.unwrap().summary, "summary of c");
    let live = house.history(active()).await.unwrap();
    assert_eq!(seqs(&live), Vec::<u64>::new());
}

#[tokio::test]
async fn a_summary_is_cleaned_masked_and_cut_like_every_text_of_the_page() {
    let secret = format!("ghp_{}", "A".repeat(36));
    let long = "a".repeat(4_001);
    for (summary, flags) in [
        ("short".to_owned(), (false, false)),
        (format!("key {secret} ok"), (false, true)),
        (long, (true, false)),
        ("<think>private</think>a plan".to_owned(), (false, false)),
    ] {
        let house = House::with(&[DESK]).await;
        let compaction = Compaction {
            summary,
            first_kept_seq: None,
            tokens_before: Some(7),
        };
        let marker = NewMessage {
            compaction: Some(compaction),
            ..marker("c", None)
        };
        house.append(DESK, &[marker]).await.unwrap();
        let page = house.history(active()).await.unwrap();
        let bounded = &page.bounded;
        assert_eq!((bounded.content_truncated, bounded.content_redacted), flags);
        let told = page.compaction.unwrap();
        assert!(!told.summary.contains(&secret) && !told.summary.contains("private"));
        assert!(told.summary.len() < 4_100);
        assert_eq!(told.tokens_before, Some(7));
    }
}
