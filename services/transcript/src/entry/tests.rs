//! Lines, one at a time.

use confab_model::clock::Timestamp;
use confab_model::id::MessageId;
use confab_model::message::{Block, Message, NewMessage, ProvenanceKind, Role, Usage};
use serde_json::{Value, json};

use super::head::{Head, Link, Sort};
use super::read::{self, FirstKept, Meaning};
use super::write::{self, Manner, Parent, Pictures};
use super::{Fault, json as parse, pictures, time};

fn message(entry: &Value) -> NewMessage {
    let mut entry = entry.clone();
    let blobs = pictures::take_out(&mut entry);
    match read::message(&entry, "import:e".to_owned(), &blobs).unwrap() {
        Meaning::Message(message) => *message,
        other @ (Meaning::Compaction(..) | Meaning::Aside) => panic!("{other:?}"),
    }
}

fn said(message: &Value) -> Value {
    json!({ "type": "message", "id": "e", "parentId": null, "message": message })
}

#[test]
fn a_line_is_told_by_its_type_and_older_messages_by_their_role() {
    for (line, expected) in [
        (json!({"type": "session", "id": "s"}), Sort::Header),
        (json!({"type": "message", "message": {}}), Sort::Message),
        (json!({"message": {"role": "user"}}), Sort::Message),
        (json!({"role": "user", "content": "hi"}), Sort::Message),
        (json!({"type": "compaction"}), Sort::Compaction),
        (json!({"type": "leaf"}), Sort::Leaf),
        (json!({"type": "model_change"}), Sort::Note),
        (json!({"type": "of another day"}), Sort::Unknown),
    ] {
        assert_eq!(
            Head::read(&line.to_string()).unwrap().sort,
            expected,
            "run:T4 {line}"
        );
    }
}

#[test]
fn a_parent_is_absent_nothing_or_named() {
    for (line, expected) in [
        (r#"{"type":"message"}"#, Link::Absent),
        (r#"{"type":"message","parentId":7}"#, Link::Absent),
        (r#"{"type":"message","parentId":""}"#, Link::Absent),
        (r#"{"type":"message","parentId":null}"#, Link::Root),
        (
            r#"{"type":"message","parentId":"a"}"#,
            Link::Named("a".to_owned()),
        ),
        (
            r#"{"type":"leaf","parentId":"a","targetId":"b"}"#,
            Link::Named("b".to_owned()),
        ),
        (
            r#"{"type":"leaf","parentId":"a","targetId":null}"#,
            Link::Root,
        ),
        // Of a field that is there twice, the last counts.
        (
            r#"{"type":"message","parentId":null,"parentId":"b"}"#,
            Link::Named("b".to_owned()),
        ),
    ] {
        assert_eq!(Head::read(line).unwrap().link, expected, "run:T3 {line}");
    }
}

#[test]
fn what_is_no_entry_is_told_without_its_words() {
    for (line, expected) in [
        ("{\"type\":\"message\",", "is not JSON: wrong at column 18"),
        ("secret", "is not JSON: wrong at column 1"),
        ("[\"secret\"]", "is JSON, but no object"),
        ("\"secret\"", "is JSON, but no object"),
        ("17", "is JSON, but no object"),
        (
            "{\"secret\":1}",
            "is an object without `type`, `role` or `message`",
        ),
        ("{}", "is an object without `type`, `role` or `message`"),
        (
            "{\"type\":5}",
            "is an object without `type`, `role` or `message`",
        ),
    ] {
        let fault = Head::read(line).unwrap_err();
        assert_eq!(fault.to_string(), expected, "run:T28 {line}");
    }
}

#[test]
fn every_part_of_a_message_is_read() {
    let read = message(&said(&json!({
        "role": "assistant",
        "content": [
            { "type": "text", "text": "hi", "textSignature": "s" },
            { "type": "thinking", "thinking": "hm", "thinkingSignature": "s" },
            { "type": "toolCall", "id": "c", "name": "read", "arguments": { "n": 1 } },
            { "type": "image", "data": "aGk=", "mimeType": "image/png" },
            { "type": "of another day", "text": "?" },
        ],
        "model": "m", "usage": { "input": 3, "output": 4, "cost": { "total": 1 } },
        "stopReason": "toolUse", "timestamp": 1_500,
    })));
    let arguments = json!({ "n": 1 }).as_object().unwrap().clone();
    let expected = NewMessage {
        blocks: vec![
            Block::Text("hi".to_owned()),
            Block::Thinking("hm".to_owned()),
            Block::ToolCall {
                id: "c".to_owned(),
                name: "read".to_owned(),
                arguments,
            },
            Block::Image {
                mime_type: "image/png".to_owned(),
                reference: super::key::of_picture(b"hi"),
                bytes: 2,
            },
        ],
        model: Some("m".to_owned()),
        usage: Some(Usage {
            input: 3,
            output: 4,
        }),
        stop_reason: Some("toolUse".to_owned()),
        at: Some(Timestamp::from_millis(1_500)),
        ..NewMessage::text("import:e", Role::Assistant, "")
    };
    assert_eq!(read, expected, "run:T9 run:T11 run:T13");
}

#[test]
fn a_tools_result_names_its_call_by_either_role() {
    for role in ["toolResult", "tool"] {
        let read = message(&said(&json!({
            "role": role, "content": "done", "toolCallId": "c", "toolName": "read", "isError": true,
        })));
        assert_eq!(read.role, Role::ToolResult, "run:T7");
        assert_eq!(
            (read.tool_call_id.as_deref(), read.tool_name.as_deref()),
            (Some("c"), Some("read")),
            "run:T10"
        );
        assert!(read.is_error);
    }
}

#[test]
fn what_only_a_prompt_has_is_no_message() {
    for role in [
        "custom",
        "hookMessage",
        "compactionSummary",
        "bashExecution",
    ] {
        let entry = said(&json!({ "role": role, "content": "x" }));
        let meaning = read::message(&entry, "k".to_owned(), &[]).unwrap();
        assert_eq!(meaning, Meaning::Aside, "run:T7 {role}");
    }
}

#[test]
fn an_origin_is_kept_as_far_as_it_is_one() {
    let origin = |given: Value| {
        message(&said(
            &json!({ "role": "user", "content": "x", "provenance": given }),
        ))
        .provenance
    };
    assert_eq!(origin(json!({ "kind": "by magic" })), None, "run:T18");
    let kept = origin(json!({ "kind": "inter_session", "sourceSessionKey": "agent:x" })).unwrap();
    assert_eq!(
        (kept.kind, kept.source_session_key),
        (ProvenanceKind::InterSession, None)
    );
    let whole = origin(json!({
        "kind": "inter_session", "sourceSessionKey": "agent:a:main", "sourceTool": "sessions_send",
    }));
    let whole = whole.unwrap();
    assert_eq!(whole.source_session_key.unwrap().as_str(), "agent:a:main");
    assert_eq!(whole.source_tool.as_deref(), Some("sessions_send"));
}

#[test]
fn the_senders_line_is_no_part_of_the_body() {
    let sentence = "This content was routed by OpenClaw from another session or internal tool.";
    let line = "[Inter-session message] sourceSession=agent:a:main isUser=false";
    let sent = |kind: &str, text: String| {
        let origin = json!({ "kind": kind });
        let read = message(&said(
            &json!({ "role": "user", "content": text, "provenance": origin }),
        ));
        match &read.blocks[0] {
            Block::Text(text) => text.clone(),
            other @ (Block::Thinking(_) | Block::ToolCall { .. } | Block::Image { .. }) => {
                panic!("{other:?}")
            },
        }
    };
    for (text, expected) in [
        (format!("{line}\n{sentence}\nhi\nthere"), "hi\nthere"),
        (format!("{line}\n{sentence}\n\nhi"), "hi"),
        (format!("{line}\nhi"), "hi"),
        (line.to_owned(), ""),
        (
            "hi\n[Inter-session message] x".to_owned(),
            "hi\n[Inter-session message] x",
        ),
    ] {
        assert_eq!(sent("inter_session", text), expected, "D25 run:T21");
    }
    // A person may write it.
    assert_eq!(
        sent("external_user", format!("{line}\nhi")),
        format!("{line}\nhi")
    );
}

#[test]
fn a_message_is_said_when_it_says_or_when_it_was_written_down() {
    let at = |said: Value, written: Value| {
        let entry = json!({
            "type": "message", "timestamp": written,
            "message": { "role": "user", "content": "x", "timestamp": said },
        });
        message(&entry).at.map(Timestamp::millis)
    };
    assert_eq!(
        at(json!(5), json!("1970-01-01T00:00:09Z")),
        Some(5),
        "run:T6"
    );
    assert_eq!(
        at(json!("1970-01-01T00:00:01.5Z"), Value::Null),
        Some(1_500)
    );
    assert_eq!(at(Value::Null, json!("1970-01-01T00:00:09Z")), Some(9_000));
    assert_eq!(at(json!(1e300), json!("soon")), None);
}

#[test]
fn moments_are_read_and_written() {
    for (text, millis) in [
        ("1970-01-01T00:00:00.000Z", 0),
        ("2000-02-29T12:34:56.789Z", 951_827_696_789),
        ("2026-12-31T23:59:59.999Z", 1_798_761_599_999),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ] {
        let moment = Timestamp::from_millis(millis);
        assert_eq!(time::text(moment), text);
        assert_eq!(time::read(&json!(text)), Some(moment));
    }
    for (text, millis) in [
        ("1970-01-01T02:00:00+02:00", Some(0)),
        ("1970-01-01T00:00:00.12345678", Some(123)),
        ("1970-01-01 00:01", Some(60_000)),
        ("1970-13-01T00:00:00Z", None),
        ("1969-12-31T23:59:59Z", None),
        ("1970-01-01", None),
        ("1970-01-01T25:00:00Z", None),
        ("", None),
    ] {
        let read = time::read(&json!(text)).map(Timestamp::millis);
        assert_eq!(read, millis, "{text}");
    }
}

#[test]
fn what_is_too_large_or_misshapen_is_told_with_numbers() {
    let fault = |given: Value| read::message(&said(&given), "k".to_owned(), &[]).unwrap_err();
    let long = "x".repeat(1024 * 1024 + 1);
    assert_eq!(
        fault(json!({ "role": "user", "content": long })).to_string(),
        "has 1048577 bytes of content; at most 1048576 are allowed"
    );
    let parts = vec![json!({ "type": "text", "text": "" }); 1025];
    assert_eq!(
        fault(json!({ "role": "user", "content": parts })).to_string(),
        "has 1025 blocks; at most 1024 are allowed"
    );
    assert_eq!(
        fault(json!({ "role": "user", "content": 7 })).to_string(),
        "is a message whose `content` is a number; a text or a list is allowed"
    );
    assert_eq!(
        fault(json!({ "content": "x" })).to_string(),
        "is a message whose `role` is null; a text is allowed"
    );
}

#[test]
fn half_of_a_pair_costs_one_character_and_not_the_line() {
    for (line, expected) in [
        (r#"{"t":"a\ud83d"}"#, "a\u{FFFD}"),
        (r#"{"t":"\ude00b"}"#, "\u{FFFD}b"),
        (r#"{"t":"\ud83d\ud83d\ude00"}"#, "\u{FFFD}\u{1F600}"),
        (r#"{"t":"\\ud83d\n\ud83dx"}"#, "\\ud83d\n\u{FFFD}x"),
        (r#"{"t":"é\ud800\é"}"#, ""),
    ] {
        match parse(line) {
            Ok(value) => assert_eq!(value["t"], expected, "B146 {line}"),
            Err(fault) => assert!(expected.is_empty() && matches!(fault, Fault::Syntax(_))),
        }
    }
}

#[test]
fn the_bytes_of_pictures_leave_a_line_and_come_back() {
    let line = json!({
        "type": "custom_message",
        "content": [
            { "type": "image", "data": "aGk=", "mimeType": "image/png" },
            { "type": "image", "source": { "type": "base64", "media_type": "image/gif", "data": "aG8=" } },
            { "type": "image", "data": "not base64!", "mimeType": "image/png" },
            { "type": "text", "text": "aGk=", "data": "aGk=" },
        ],
    });
    let mut kept = line.clone();
    let blobs = pictures::take_out(&mut kept);
    assert_eq!(blobs.len(), 3);
    for text in ["aGk=\",\"mimeType", "aG8=", "not base64!"] {
        assert!(!kept.to_string().contains(text), "{kept}");
    }
    let names: Vec<String> = pictures::named(&mut kept)
        .into_iter()
        .map(|one| one.blob)
        .collect();
    let given: Vec<String> = blobs.iter().map(|blob| blob.reference.clone()).collect();
    assert_eq!(names, given);
    pictures::put_back(&mut kept, &|reference| {
        let blob = blobs.iter().find(|blob| blob.reference == reference.blob);
        blob.map(|blob| reference.text(blob.bytes.clone()))
    });
    assert_eq!(kept, line);
}

#[test]
fn a_compaction_names_what_it_keeps_by_id_or_by_place() {
    let read = |entry: Value| read::compaction(&entry, "k".to_owned()).unwrap();
    let kept = |meaning| match meaning {
        Meaning::Compaction(_, kept) => kept,
        other @ (Meaning::Message(_) | Meaning::Aside) => panic!("{other:?}"),
    };
    let by_id = json!({ "summary": "s", "firstKeptEntryId": "a", "tokensBefore": 9 });
    assert_eq!(
        kept(read(by_id)),
        Some(FirstKept::Id("a".to_owned())),
        "run:T15"
    );
    let by_place = json!({ "summary": "s", "firstKeptEntryIndex": 2 });
    assert_eq!(kept(read(by_place)), Some(FirstKept::Index(2)));
    assert_eq!(read(json!({ "summary": "" })), Meaning::Aside);
}

#[test]
fn a_message_is_written_as_it_would_be_read() {
    let body = NewMessage {
        at: Some(Timestamp::from_millis(1_500)),
        usage: Some(Usage {
            input: 1,
            output: 2,
        }),
        blocks: vec![
            Block::Text("hi".to_owned()),
            Block::Thinking("hm".to_owned()),
        ],
        ..NewMessage::text("import:e", Role::Assistant, "")
    };
    let stored = Message {
        id: MessageId::parse("m").unwrap(),
        seq: 1,
        at: Timestamp::from_millis(1_500),
        body: body.clone(),
    };
    for (parent, expected) in [
        (Parent::Root, Some(Value::Null)),
        (Parent::Entry("d".to_owned()), Some(json!("d"))),
        (Parent::Unnamed, None),
    ] {
        let manner = Manner {
            parent: &parent,
            first_kept: None,
            pictures: Pictures::Referenced,
        };
        let entry = write::entry(&stored, &manner);
        assert_eq!(entry.get("parentId").cloned(), expected, "run:T3");
        assert_eq!(entry["id"], "e");
        assert_eq!(entry["timestamp"], "1970-01-01T00:00:01.500Z");
        assert_eq!(entry["message"]["usage"]["totalTokens"], 3);
        assert_eq!(message(&entry), body);
    }
}
