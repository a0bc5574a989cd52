//! The vectors of `history_page.json` that are about the cap on bytes.
//!
//! Those with a limit, an offset, a snapshot or tool messages are about choosing the page, which
//! is done before; so is the default limit, which applies to more than fifty messages.

use confab_text::page::{PLACEHOLDER, Page, bound};
use confab_text::truncate::truncate;
use confab_vectors::{Case, HISTORY_PAGE};
use serde_json::{Value, json};

const MESSAGES_MAX: usize = 50;

fn is_about_bytes(case: &Case) -> bool {
    let input = case.given.as_object().expect("an in object");
    let messages = messages(case);
    input.keys().all(|field| field == "messages")
        && messages.len() <= MESSAGES_MAX
        && messages
            .iter()
            .all(|message| message.get("toolCalls").is_none())
}

fn messages(case: &Case) -> &[Value] {
    let given = &case.given;
    given["messages"].as_array().map_or(&[], Vec::as_slice)
}

fn texts(message: &Value) -> Vec<&str> {
    let several = message["texts"].as_array().map_or(&[][..], Vec::as_slice);
    std::iter::once(&message["text"])
        .chain(several)
        .filter_map(Value::as_str)
        .collect()
}

fn bytes(message: &Value, texts: &[&str]) -> usize {
    let blocks: Vec<Value> = texts
        .iter()
        .map(|text| json!({"type": "text", "text": truncate(text).0}))
        .collect();
    json!({"role": message["role"], "content": blocks, "seq": message["seq"]})
        .to_string()
        .len()
}

fn show(messages: &[Value]) -> Page {
    let sizes: Vec<usize> = messages
        .iter()
        .map(|message| bytes(message, &texts(message)))
        .collect();
    bound(&sizes, |place| {
        bytes(messages.get(place).expect("a message"), &[PLACEHOLDER])
    })
}

fn faults(case: &Case) -> Vec<String> {
    let messages = messages(case);
    let page = show(messages);
    let seqs = |places: &mut dyn Iterator<Item = usize>| {
        let shown = places.filter_map(|place| messages.get(place));
        Value::Array(shown.map(|message| message["seq"].clone()).collect())
    };
    let cut = messages.iter().flat_map(texts).any(|text| truncate(text).1);
    let shown = json!({
        "seqs": seqs(&mut page.kept.clone()),
        "placeholders": seqs(&mut page.placeholders.iter().copied()),
        "droppedMessages": page.dropped_messages,
        "truncated": page.dropped_messages || cut,
        "bytes": page.bytes,
    });
    let pinned = case.out.as_object().expect("an out object").iter();
    pinned
        .filter(|(field, expected)| shown.get(*field).is_some_and(|value| value != *expected))
        .map(|(field, expected)| format!("{}: {field}: {expected}, {page:?}", case.id))
        .collect()
}

#[test]
fn every_vector_about_the_cap_on_bytes_holds() {
    let mut cases: Vec<Case> = HISTORY_PAGE.cases().unwrap();
    cases.retain(is_about_bytes);
    assert_eq!(cases.len(), 9);
    let failures: Vec<String> = cases.iter().flat_map(faults).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
