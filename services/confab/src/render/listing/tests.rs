use serde_json::json;

use super::*;

fn shown(result: &Value) -> String {
    page(result, Paint::new(false), Timestamp::from_millis(60_000))
}

fn row() -> Value {
    json!({
        "key": "agent:editor:slack:channel:reviews",
        "kind": "group",
        "channel": "slack",
        "label": "reviews",
        "updatedAt": 0,
        "status": "done",
    })
}

fn with(mut row: Value, fields: &[(&str, Value)]) -> Value {
    for (name, value) in fields {
        row[*name] = value.clone();
    }
    row
}

#[test]
fn a_row_takes_one_line_and_nothing_is_marked_without_need() {
    let told = shown(&json!({ "count": 1, "sessions": [row()], "hasMore": false }));
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 2, "{told}");
    assert!(lines[0].starts_with("SESSION"), "{told}");
    assert!(
        lines[1].starts_with("agent:editor:slack:channel:reviews  group"),
        "{told}"
    );
    assert!(lines[1].ends_with("reviews  done      1 min ago"), "{told}");
    assert_eq!(shown(&json!({ "sessions": [] })), "no sessions");
}

#[test]
fn a_faulty_row_is_marked_and_its_fault_stands_below_the_table() {
    let fault = json!("Agent \"gone\" no longer exists in configuration.");
    let rows = [
        row(),
        with(row(), &[("fault", fault), ("key", json!("agent:gone:x"))]),
    ];
    let told = shown(&json!({ "sessions": rows }));
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[1].starts_with("   agent:editor"), "{told}");
    assert!(lines[2].starts_with("!  agent:gone:x "), "{told}");
    assert_eq!(
        lines[3],
        "! agent:gone:x: Agent \"gone\" no longer exists in configuration."
    );
}

#[test]
fn titles_previews_and_messages_stand_below_their_row() {
    let messages = json!([
        { "role": "user", "content": [{ "type": "text", "text": "one\ntwo" }] },
        { "role": "assistant", "content": [
            { "type": "text", "text": "see" }, { "type": "image" },
        ] },
        { "role": "assistant", "content": "too large" },
    ]);
    let rich = with(
        row(),
        &[
            ("derivedTitle", json!("A draft")),
            ("lastMessagePreview", json!("reviewed")),
            ("messages", messages),
        ],
    );
    let told = shown(&json!({ "sessions": [rich, row()] }));
    let lines: Vec<&str> = told.lines().skip(2).take(5).collect();
    assert_eq!(
        lines,
        [
            "    title: A draft",
            "    last: reviewed",
            "    user: one …",
            "    assistant: see (image)",
            "    assistant: too large",
        ]
    );
    assert_eq!(told.lines().count(), 8, "{told}");
}

#[test]
fn what_was_lowered_narrowed_or_left_for_the_next_page_is_told() {
    let told = shown(&json!({
        "sessions": [row()],
        "hasMore": true,
        "nextPageToken": "t",
        "limitApplied": 200,
        "messageLimitApplied": 20,
        "visibility": { "mode": "tree", "restricted": true, "warning": "Narrowed to the tree." },
    }));
    for note in [
        "--limit was lowered to 200",
        "--messages was lowered to 20",
        "Narrowed to the tree.",
        "--page-token t",
    ] {
        assert!(told.contains(note), "{note}: {told}");
    }
}

#[test]
fn a_list_fits_and_cannot_be_steered_whatever_is_in_it() {
    let contents = [
        "x".repeat(512),
        "界".repeat(200),
        "👩\u{200d}👩\u{200d}👧".repeat(80),
        "e\u{301}\u{301}".repeat(200),
        "\u{1b}]0;x\u{7}\u{202e}\r\n\t".repeat(40),
        format!("{} {}", "\u{0}".repeat(150), "🇩🇪".repeat(100)),
    ];
    for content in contents {
        let text = json!(content);
        let names = [
            "key",
            "kind",
            "channel",
            "label",
            "status",
            "fault",
            "derivedTitle",
            "lastMessagePreview",
        ];
        let mut fields = names.map(|name| (name, text.clone())).to_vec();
        fields.push(("messages", json!([{ "role": text, "content": text }])));
        let told = shown(&json!({
            "sessions": [with(row(), &fields), row()],
            "visibility": { "warning": text },
        }));
        assert!(
            !told.contains(['\u{1b}', '\u{7}', '\u{202e}', '\r']),
            "{told:?}"
        );
        for line in told.lines() {
            let columns = text::width(line);
            assert!(columns <= COLUMNS, "{columns} columns: {line}");
        }
    }
}
