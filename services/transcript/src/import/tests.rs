//! Files, as they come in and as they come out again.

use bytes::Bytes;
use confab_model::message::{Block, Role};
use confab_rpc::error::{Reason, RpcError};
use serde_json::{Value, json};

use super::Tally;
use crate::testing::files::{conversation, entry, everything, file_of, header};
use crate::testing::{DESK, House, of, said};

mod damaged;
mod kinds;

const OTHER: &str = "agent:writer:other";

async fn house() -> House {
    House::with(&[DESK, OTHER]).await
}

/// `imported repeated skipped kept_aside`.
fn counts(tally: &Tally) -> [u64; 4] {
    let counts = [
        tally.imported,
        tally.repeated,
        tally.skipped,
        tally.kept_aside,
    ];
    assert_eq!(counts.iter().sum::<u64>(), tally.lines, "{tally:?}");
    counts
}

fn texts(blocks: &[Block]) -> String {
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(text.as_str()),
        Block::Thinking(_) | Block::ToolCall { .. } | Block::Image { .. } => None,
    });
    texts.collect()
}

/// What a history of the desk says.
async fn words(house: &House) -> Vec<String> {
    let page = house.history(of(DESK)).await.unwrap();
    let messages = page.bounded.messages.iter();
    messages
        .map(|(message, _)| texts(&message.body.blocks))
        .collect()
}

#[tokio::test]
async fn an_import_again_stores_nothing_twice() {
    let house = house().await;
    let file = file_of(&everything());
    let first = house.import(DESK, &file).await.unwrap();
    assert_eq!(counts(&first), [5, 0, 0, 12], "D36");
    let exported = house.export(DESK, true).await;
    let again = house.import(DESK, &file).await.unwrap();
    assert_eq!(counts(&again), [0, 5, 0, 12], "D36");
    assert_eq!(house.export(DESK, true).await, exported);
}

#[tokio::test]
async fn a_file_that_grew_brings_what_is_new() {
    let house = house().await;
    let lines = conversation(2_500);
    for (known, count) in [(0, 3), (2, 1_500), (1_499, 2_501)] {
        let tally = house.import(DESK, &file_of(&lines[..count])).await.unwrap();
        let new = u64::try_from(count).unwrap() - 1 - known;
        assert_eq!(counts(&tally), [new, known, 0, 1], "D36");
        assert_eq!(house.export(DESK, true).await, lines[..count]);
    }
}

/// Which lines are messages is a matter of the leaf, and the leaf of a longer file is another one.
#[tokio::test]
async fn a_branch_that_is_taken_up_again_becomes_messages() {
    let house = house().await;
    let mut lines = vec![
        header(),
        entry("a", "", "a"),
        entry("b", "a", "b"),
        entry("c", "a", "c"),
    ];
    let first = house.import(DESK, &file_of(&lines)).await.unwrap();
    assert_eq!(counts(&first), [2, 0, 0, 2], "run:T14");
    lines.push(entry("d", "b", "d"));
    let second = house.import(DESK, &file_of(&lines)).await.unwrap();
    assert_eq!(counts(&second), [2, 1, 0, 2], "run:T14");
    let mut exported = house.export(DESK, true).await;
    exported.sort_by_key(|line| line["id"].to_string());
    lines.sort_by_key(|line| line["id"].to_string());
    assert_eq!(exported, lines, "every line once");
}

#[tokio::test]
async fn a_rehearsal_tells_the_same_and_stores_nothing() {
    let house = house().await;
    let file = file_of(&conversation(20));
    let pieces = || vec![Ok(Bytes::from(file.clone()))];
    let rehearsed = house.import_pieces(DESK, true, pieces()).await.unwrap();
    assert_eq!(counts(&rehearsed), [20, 0, 0, 1]);
    assert_eq!(house.seqs().await, Vec::<u64>::new());
    assert_eq!(house.export(DESK, true).await.len(), 1, "a header alone");
    let real = house.import_pieces(DESK, false, pieces()).await.unwrap();
    assert_eq!(real, rehearsed);
    let again = house.import_pieces(DESK, true, pieces()).await.unwrap();
    assert_eq!(counts(&again), [0, 20, 0, 1]);
}

#[tokio::test]
async fn a_transcript_that_began_here_takes_no_import() {
    let house = house().await;
    house
        .append(DESK, &[said("own", Role::User, "mine")])
        .await
        .unwrap();
    let before = house.export(DESK, true).await;
    for dry_run in [true, false] {
        let pieces = vec![Ok(Bytes::from(file_of(&conversation(3))))];
        let refused = house.import_pieces(DESK, dry_run, pieces).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.reason, Reason::TranscriptNotEmpty);
        assert!(
            refused.message.contains("id of agent:writer:desk"),
            "{refused:?}"
        );
    }
    assert_eq!(house.export(DESK, true).await, before);
}

#[tokio::test]
async fn what_was_said_behind_an_import_does_not_stop_the_same_one() {
    let house = house().await;
    let lines = conversation(3);
    house.import(DESK, &file_of(&lines[..3])).await.unwrap();
    house
        .append(DESK, &[said("own", Role::User, "mine")])
        .await
        .unwrap();
    let again = house.import(DESK, &file_of(&lines)).await.unwrap();
    assert_eq!(counts(&again), [1, 2, 0, 1], "D36");
    assert_eq!(
        words(&house).await,
        ["words 0", "words 1", "mine", "words 2"]
    );
    let exported = house.export(DESK, true).await;
    assert_eq!(exported[..3], lines[..3]);
    assert_eq!(exported[3]["parentId"], "e1", "run:T3");
    assert_eq!(exported[4], lines[3]);
}

#[tokio::test]
async fn a_stream_that_breaks_leaves_nothing_behind() {
    let house = house().await;
    let lines = file_of(&conversation(3));
    let broken = RpcError::new(Reason::Unavailable, "the caller is gone");
    let pieces = vec![Ok(Bytes::from(lines)), Err(broken)];
    let refused = house.import_pieces(DESK, false, pieces).await.unwrap_err();
    assert_eq!(refused.reason, Reason::Unavailable);
    assert_eq!(house.seqs().await, Vec::<u64>::new());
    assert_eq!(house.export(DESK, true).await.len(), 1, "a header alone");
}

#[tokio::test]
async fn a_message_that_is_stored_otherwise_stands_and_is_told() {
    let house = house().await;
    let mut lines = conversation(3);
    house.import(DESK, &file_of(&lines)).await.unwrap();
    let before = house.export(DESK, true).await;
    lines[2] = entry("e1", "e0", "other words");
    let tally = house.import(DESK, &file_of(&lines)).await.unwrap();
    assert_eq!(counts(&tally), [0, 2, 1, 1], "D36");
    let faults = tally.faults();
    assert_eq!(faults[0].line, 3);
    assert_eq!(
        faults[0].reason,
        "the line is stored already with other content, which stands"
    );
    assert_eq!(house.export(DESK, true).await, before);
}

#[tokio::test]
async fn what_is_imported_is_searched_and_read_like_any_message() {
    let house = house().await;
    house.import(DESK, &file_of(&everything())).await.unwrap();
    assert_eq!(
        words(&house).await,
        ["first", "I look", "end"],
        "run:T14 D21"
    );
    let mut asked = of(DESK);
    asked.active_view = true;
    asked.include_tools = true;
    let page = house.history(asked).await.unwrap();
    let compaction = page.compaction.unwrap();
    assert_eq!(compaction.summary, "so far", "run:T15");
    assert_eq!(compaction.first_kept_seq, Some(3), "run:T15");
}

#[tokio::test]
async fn a_session_without_an_id_in_its_lines_is_stored_once_too() {
    let house = house().await;
    let lines: Vec<Value> = ["7", "line:3", "sha256:x", "import:1"]
        .into_iter()
        .map(|id| json!({ "type": "message", "id": id, "message": { "role": "user", "content": id } }))
        .chain((0..4).map(|_| json!({ "role": "user", "content": "no id" })))
        .collect();
    for expected in [[8, 0, 0, 0], [0, 8, 0, 0]] {
        let tally = house.import(DESK, &file_of(&lines)).await.unwrap();
        assert_eq!(counts(&tally), expected, "run:T3");
    }
    assert_eq!(house.export(DESK, true).await[1..], lines);
}
