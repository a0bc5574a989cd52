//! Every version of a file goes in and comes out as it was.

use serde_json::{Value, json};

use super::{counts, house, words};
use crate::testing::DESK;
use crate::testing::files::{conversation, everything, file_of};

/// No ids, no parents; the first entry that a compaction keeps is told by its number.
fn version_1() -> Vec<Value> {
    vec![
        json!({ "type": "session", "id": "s", "timestamp": "2025-11-01T00:00:00.000Z", "cwd": "/" }),
        json!({
            "type": "message", "timestamp": "2025-11-01T00:00:01.000Z",
            "message": { "role": "user", "content": "one" },
        }),
        json!({
            "type": "message", "timestamp": "2025-11-01T00:00:02.000Z",
            "message": { "role": "assistant", "content": [{ "type": "text", "text": "two" }] },
        }),
        json!({
            "type": "compaction", "timestamp": "2025-11-01T00:00:03.000Z", "summary": "short",
            "firstKeptEntryIndex": 2, "tokensBefore": 10,
        }),
        json!({ "type": "model_change", "timestamp": "2025-11-01T00:00:04.000Z", "modelId": "x" }),
        // Older still: a message without an entry around it.
        json!({ "role": "user", "content": "three" }),
    ]
}

/// Ids and parents; roles that version 3 calls otherwise.
fn version_2() -> Vec<Value> {
    let entry = |id: &str, parent: Value, message: Value| {
        json!({
            "type": "message", "id": id, "parentId": parent,
            "timestamp": "2025-12-01T00:00:01.000Z", "message": message,
        })
    };
    vec![
        json!({
            "type": "session", "version": 2, "id": "s", "timestamp": "2025-12-01T00:00:00.000Z",
            "cwd": "/",
        }),
        entry(
            "a",
            Value::Null,
            json!({ "role": "user", "content": "one" }),
        ),
        entry(
            "h",
            json!("a"),
            json!({ "role": "hookMessage", "content": "for the prompt" }),
        ),
        entry(
            "b",
            json!("h"),
            json!({ "role": "tool", "content": "done", "toolCallId": "c" }),
        ),
        entry(
            "c",
            json!("b"),
            json!({ "role": "assistant", "content": [
            { "type": "text", "text": "two" },
        ] }),
        ),
    ]
}

/// Numbers, texts and pictures that JSON can write in more than one way.
fn odd() -> Vec<Value> {
    let mut lines = conversation(3);
    lines[2]["message"]["content"] = json!([
        { "type": "image", "data": "not base64!", "mimeType": "image/png" },
        { "type": "image", "data": "aGk=", "mimeType": "image/png", "more": 1 },
        { "type": "of another day", "text": "\u{1F600}\u{0}\u{7}" },
    ]);
    lines[2]["message"]["big"] = json!(u64::MAX);
    lines[2]["message"]["small"] = json!(-1.5e-7);
    lines[3]["message"]["provenance"] = json!({ "kind": "by magic" });
    lines
}

struct Case {
    name: &'static str,
    lines: Vec<Value>,
    counts: [u64; 4],
    words: &'static [&'static str],
}

fn cases() -> Vec<Case> {
    vec![
        Case {
            name: "version 1",
            lines: version_1(),
            counts: [4, 0, 0, 2],
            words: &["one", "two", "three"],
        },
        Case {
            name: "version 2",
            lines: version_2(),
            counts: [3, 0, 0, 2],
            words: &["one", "two"],
        },
        Case {
            name: "version 3",
            lines: everything(),
            counts: [5, 0, 0, 12],
            words: &["first", "I look", "end"],
        },
        Case {
            name: "a plain conversation",
            lines: conversation(3),
            counts: [3, 0, 0, 1],
            words: &["words 0", "words 1", "words 2"],
        },
        Case {
            name: "odd values",
            lines: odd(),
            counts: [3, 0, 0, 1],
            words: &["words 0", "", "words 2"],
        },
    ]
}

#[tokio::test]
async fn every_version_comes_out_as_it_went_in() {
    for Case {
        name,
        lines,
        counts: expected,
        words: said,
    } in cases()
    {
        let house = house().await;
        let tally = house.import(DESK, &file_of(&lines)).await.unwrap();
        assert_eq!(counts(&tally), expected, "run:T3 run:T4 run:T7 {name}");
        assert_eq!(words(&house).await, said, "run:T14 {name}");
        assert_eq!(house.export(DESK, true).await, lines, "B147 {name}");
    }
}

/// What is exported is a file like any other.
#[tokio::test]
async fn what_came_out_goes_in_again_elsewhere() {
    for Case { name, lines, .. } in cases() {
        let (house, other) = (house().await, house().await);
        house.import(DESK, &file_of(&lines)).await.unwrap();
        let exported = house.export(DESK, true).await;
        other.import(DESK, &file_of(&exported)).await.unwrap();
        assert_eq!(other.export(DESK, true).await, exported, "{name}");
        assert_eq!(words(&other).await, words(&house).await, "{name}");
    }
}
