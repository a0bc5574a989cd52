//! Pages of messages: the vectors, and what they leave open.

mod active;
mod around;
mod damaged;
mod filtered;
mod flags;
mod large;
mod walks;

use confab_model::id::TenantId;
use confab_model::message::{Block, NewMessage, Role};
use confab_proto::transcript::v1::GetHistoryRequest;
use confab_rpc::error::{Reason, RpcError};
use confab_text::render::{message_json, placeholder_json};
use confab_vectors::{Case, HISTORY_PAGE};
use serde_json::{Value, json};

use crate::commands::GetHistory;
use crate::history::HistoryPage;
use crate::store::{Stretch, TranscriptStore as _, View};
use crate::testing::{
    DESK, House, call, of, result, said, seqs, session_id, text, thinking, with_blocks,
};

/// The vectors that need another part of confab.
const ELSEWHERE: [(&str, &str); 2] = [
    (
        "history-page-041",
        "a fraction is no number of the proto: refused by the tool",
    ),
    (
        "history-page-043",
        "a word is no number of the proto: refused by the tool",
    ),
];

fn role(word: &str) -> Role {
    match word {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "toolResult" => Role::ToolResult,
        other => panic!("an unknown role {other}"),
    }
}

fn message(given: &Value) -> NewMessage {
    let list = |field: &str| given[field].as_array().cloned().unwrap_or_default();
    let single = given.get("text").cloned();
    let texts = single.into_iter().chain(list("texts"));
    let mut blocks: Vec<Block> = texts.map(|one| text(one.as_str().unwrap())).collect();
    blocks.extend(
        list("toolCalls")
            .iter()
            .map(|name| call(name.as_str().unwrap())),
    );
    let key = given["seq"].to_string();
    match role(given["role"].as_str().unwrap()) {
        Role::ToolResult => NewMessage {
            blocks,
            ..result(&key, "")
        },
        speaker @ (Role::User | Role::Assistant) => with_blocks(&key, speaker, blocks),
    }
}

fn messages(input: &Value) -> Vec<NewMessage> {
    if let Some(given) = input["messages"].as_array() {
        return given.iter().map(message).collect();
    }
    let cycle = input["generate"]["cycle"].as_array().unwrap();
    let count = input["generate"]["count"].as_u64().unwrap();
    (1..=count)
        .zip(cycle.iter().cycle())
        .map(|(seq, one)| message(&json!({ "seq": seq, "role": one["role"], "text": "m" })))
        .collect()
}

fn asked(input: &Value) -> GetHistoryRequest {
    let number = |field: &str| input.get(field).map(|value| value.as_i64().unwrap());
    GetHistoryRequest {
        limit: number("limit").map(|limit| i32::try_from(limit).unwrap()),
        offset: number("offset"),
        snapshot: number("snapshot"),
        include_tools: input["includeTools"].as_bool().unwrap_or_default(),
        ..of(DESK)
    }
}

/// The page in the words of the vectors.
fn told(page: &HistoryPage) -> Value {
    let seqs = seqs(page);
    let placeholders: Vec<u64> = page
        .bounded
        .messages
        .iter()
        .filter(|(_, placeholder)| *placeholder)
        .map(|(message, _)| message.seq)
        .collect();
    let mut told = json!({
        "seqRange": [seqs.first(), seqs.last()], "count": seqs.len(), "seqs": seqs,
        "placeholders": placeholders, "bytes": page.bounded.bytes,
        "truncated": page.bounded.is_truncated(),
        "droppedMessages": page.bounded.dropped_messages,
        "contentTruncated": page.bounded.content_truncated,
        "contentRedacted": page.bounded.content_redacted,
    });
    let fields = told.as_object_mut().unwrap();
    let Some(paging) = page.paging else {
        fields.insert("paging".to_owned(), json!(false));
        return told;
    };
    fields.insert("offset".to_owned(), json!(paging.offset));
    fields.insert("totalMessages".to_owned(), json!(paging.total_messages));
    fields.insert("hasMore".to_owned(), json!(paging.next_offset.is_some()));
    fields.insert("nextOffset".to_owned(), json!(paging.next_offset));
    fields.insert("snapshot".to_owned(), json!(paging.snapshot));
    told
}

/// Does what a case says. A case may look at the paging step alone, before the bound on bytes.
async fn run(input: &Value) -> Result<Value, RpcError> {
    let house = House::with(&[DESK]).await;
    for some in messages(input).chunks(1_000) {
        house.append(DESK, some).await.unwrap();
    }
    let request = asked(input);
    if input["beforeByteCap"] != true {
        return house.history(request).await.map(|page| told(&page));
    }
    let store = &house.messages.store;
    let (tenant, session_id) = (TenantId::default(), session_id(DESK));
    let end = store.end(&tenant, &session_id, None).await.unwrap();
    let limit = u64::from(GetHistory::parse(request)?.limit.value);
    let page = Stretch {
        view: View::Plain,
        first: end.plain.saturating_sub(limit) + 1,
        last: end.plain,
        newest_first: false,
        after: None,
        before: None,
    };
    let rows = store.rows(&tenant, &session_id, page).await.unwrap();
    let seqs: Vec<u64> = rows.iter().map(|row| row.seq).collect();
    Ok(json!({
        "seqRange": [seqs.first(), seqs.last()], "count": seqs.len(), "paging": false,
    }))
}

fn faults(case: &Case, outcome: Result<Value, RpcError>) -> Vec<String> {
    let told = match outcome {
        Ok(told) => told,
        Err(error) => {
            let right =
                case.out["error"] == "INVALID_ARGUMENT" && error.reason == Reason::InvalidArgument;
            return if right {
                Vec::new()
            } else {
                vec![format!("{}: {error}", case.id)]
            };
        },
    };
    // `error` among the expected fields has no counterpart in a page, so it fails here.
    case.differences(&told)
}

#[tokio::test]
async fn every_vector_that_is_about_pages_holds() {
    let cases: Vec<Case> = HISTORY_PAGE.cases().unwrap();
    let mut failures = Vec::new();
    for case in cases {
        if ELSEWHERE.iter().any(|(id, _)| *id == case.id) {
            continue;
        }
        failures.extend(faults(&case, run(&case.given).await));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[tokio::test]
async fn bytes_are_those_of_the_messages_as_json() {
    let house = House::with(&[DESK]).await;
    let large: Vec<Block> = (0..9).map(|_| text(&"€".repeat(4_000))).collect();
    let messages = [
        said("a", Role::User, "quote \" and ü"),
        with_blocks("b", Role::Assistant, large),
        with_blocks(
            "c",
            Role::Assistant,
            vec![thinking("hm"), text("yes"), call("read")],
        ),
        result("d", "line\nline"),
    ];
    house.append(DESK, &messages).await.unwrap();
    let request = GetHistoryRequest {
        include_tools: true,
        ..of(DESK)
    };
    let page = house.history(request).await.unwrap();
    let shown: Vec<Value> = page
        .bounded
        .messages
        .iter()
        .map(|(message, large)| {
            if *large {
                placeholder_json(message)
            } else {
                message_json(message)
            }
        })
        .collect();
    assert_eq!(shown.len(), 4);
    assert_eq!(page.bounded.bytes, Value::Array(shown).to_string().len());
}

#[tokio::test]
async fn a_walk_in_pages_of_bytes_shows_every_message_once_while_the_session_grows() {
    let house = House::with(&[DESK]).await;
    for seq in 0..30 {
        let long = said(&format!("k{seq}"), Role::Assistant, &"€".repeat(4_000));
        house.append(DESK, &[long]).await.unwrap();
    }
    let (mut seen, mut offset, mut snapshot) = (Vec::new(), 0, None);
    loop {
        let request = GetHistoryRequest {
            offset: Some(offset),
            snapshot,
            ..of(DESK)
        };
        let page = house.history(request).await.unwrap();
        seen.splice(0..0, seqs(&page));
        let paging = page.paging.unwrap();
        assert_eq!(paging.total_messages, 30);
        let Some(next) = paging.next_offset else {
            break;
        };
        assert!(page.bounded.dropped_messages);
        (offset, snapshot) = (i64::try_from(next).unwrap(), Some(30));
        let newer = said(&format!("newer {offset}"), Role::User, "hi");
        house.append(DESK, &[newer]).await.unwrap();
    }
    assert_eq!(seen, (1..=30).collect::<Vec<u64>>());
}

#[tokio::test]
async fn a_limit_is_lowered_and_told_only_when_it_was_lowered() {
    let house = House::with(&[DESK]).await;
    for (limit, applied) in [
        (None, None),
        (Some(1_000), None),
        (Some(1_001), Some(1_000)),
    ] {
        let page = house
            .history(GetHistoryRequest { limit, ..of(DESK) })
            .await
            .unwrap();
        assert_eq!(page.limit_applied, applied, "{limit:?}");
    }
}

#[tokio::test]
async fn skip_words_are_stored_and_neither_shown_nor_counted() {
    let house = House::with(&[DESK]).await;
    let messages = [
        said("a", Role::User, "hi"),
        said("b", Role::Assistant, "REPLY_SKIP"),
        said("c", Role::Assistant, "hello"),
    ];
    house.append(DESK, &messages).await.unwrap();
    let page = house
        .history(GetHistoryRequest {
            offset: Some(0),
            ..of(DESK)
        })
        .await
        .unwrap();
    assert_eq!(seqs(&page), [1, 3]);
    let paging = page.paging.unwrap();
    assert_eq!((paging.total_messages, paging.snapshot), (2, 3));
}

#[tokio::test]
async fn a_generation_stays_readable_by_its_session_id_after_a_reset() {
    let mut house = House::with(&[DESK]).await;
    let old = session_id(DESK);
    house
        .append(DESK, &[said("a", Role::User, "before")])
        .await
        .unwrap();
    house.reset(DESK);
    house
        .append(DESK, &[said("a", Role::User, "after")])
        .await
        .unwrap();
    for (reference, session_id, said) in [
        (DESK, format!("next {old}"), "after"),
        (old.as_str(), old.to_string(), "before"),
    ] {
        let page = house.history(of(reference)).await.unwrap();
        assert_eq!(page.session_id.as_str(), session_id, "D26, B149");
        assert_eq!(page.session_key.as_str(), DESK);
        assert_eq!(page.bounded.messages[0].0.body.blocks, [text(said)]);
    }
}
