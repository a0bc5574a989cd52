//! The flags of a page: each is set by what it is about and by nothing else.

use confab_config::Source;
use confab_model::message::{NewMessage, Role};
use confab_proto::transcript::v1::GetHistoryRequest;
use serde_json::json;

use crate::testing::{DESK, House, call, image, of, result, said, text, thinking, with_blocks};

/// `droppedMessages`, `contentTruncated`, `contentRedacted`.
type Flags = (bool, bool, bool);

fn secret() -> String {
    format!("key ghp_{} ok", "A".repeat(36))
}

fn with_secret_argument() -> NewMessage {
    let mut block = call("read");
    if let confab_model::message::Block::ToolCall { arguments, .. } = &mut block {
        arguments.insert("password".to_owned(), json!("correct horse battery"));
    }
    with_blocks("k", Role::Assistant, vec![text("hi"), block])
}

/// Nine blocks that are each within their bound are together too large for a page.
fn large(role: Role, with: &str) -> NewMessage {
    let block = |_| text(&format!("{with}{}", "€".repeat(3_900)));
    with_blocks("k", role, (0..9).map(block).collect())
}

async fn flags(messages: &[NewMessage], request: GetHistoryRequest) -> Flags {
    let house = House::with(&[DESK]).await;
    for (place, message) in messages.iter().enumerate() {
        let message = NewMessage {
            key: format!("k{place}"),
            ..message.clone()
        };
        house.append(DESK, &[message]).await.unwrap();
    }
    let bounded = house.history(request).await.unwrap().bounded;
    assert_eq!(
        bounded.is_truncated(),
        bounded.dropped_messages || bounded.content_truncated
    );
    (
        bounded.dropped_messages,
        bounded.content_truncated,
        bounded.content_redacted,
    )
}

const NONE: Flags = (false, false, false);
const DROPPED: Flags = (true, false, false);
const CUT: Flags = (false, true, false);
const MASKED: Flags = (false, false, true);

fn assistant(words: &str) -> NewMessage {
    said("k", Role::Assistant, words)
}

fn thought(thoughts: &str) -> NewMessage {
    with_blocks("k", Role::Assistant, vec![thinking(thoughts), text("b")])
}

fn leaked() -> NewMessage {
    said("k", Role::User, &secret())
}

fn with_tools() -> GetHistoryRequest {
    GetHistoryRequest {
        include_tools: true,
        ..of(DESK)
    }
}

#[tokio::test]
async fn a_cut_is_flagged_and_what_was_never_meant_to_be_seen_is_not() {
    let hidden = format!("<think>{}</think>b", "a".repeat(4_001));
    let picture = with_blocks("k", Role::User, vec![image()]);
    for (why, message, expected) in [
        ("plain", assistant("hi"), NONE),
        ("cleaned", assistant("<think>a</think>b"), NONE),
        ("emptied", assistant("<think>a</think>\n<|im_end|>"), NONE),
        ("too long", assistant(&"a".repeat(4_001)), CUT),
        ("as long as allowed", assistant(&"a".repeat(4_000)), NONE),
        ("short once it is cleaned", assistant(&hidden), NONE),
        ("thinking", thought("a"), CUT),
        ("a picture", picture, CUT),
        ("a call not asked for", with_secret_argument(), NONE),
    ] {
        assert_eq!(flags(&[message], of(DESK)).await, expected, "{why}");
    }
    assert_eq!(flags(&[], of(DESK)).await, NONE);
}

#[tokio::test]
async fn a_mask_is_flagged_where_it_is_shown_and_nowhere_else() {
    let cleaned = assistant(&format!("<think>{}</think>b", secret()));
    let straddling = format!("{} ghp_{}", "a".repeat(3_990), "A".repeat(36));
    let output = || result("k", &secret());
    for (why, message, request, expected) in [
        ("of a person", leaked(), of(DESK), MASKED),
        ("of the assistant", assistant(&secret()), of(DESK), MASKED),
        (
            "in an argument",
            with_secret_argument(),
            with_tools(),
            MASKED,
        ),
        ("in a result", output(), with_tools(), MASKED),
        ("in a result not shown", output(), of(DESK), NONE),
        ("cleaned away", cleaned, of(DESK), NONE),
        ("in thinking", thought(&secret()), of(DESK), CUT),
        (
            "at the cut",
            assistant(&straddling),
            of(DESK),
            (false, true, true),
        ),
    ] {
        assert_eq!(flags(&[message], request).await, expected, "{why}");
    }
}

#[tokio::test]
async fn the_flags_are_about_the_messages_that_the_page_shows() {
    let hi = || said("k", Role::User, "hi");
    let last = GetHistoryRequest {
        limit: Some(1),
        ..of(DESK)
    };
    let long = assistant(&"€".repeat(4_000));
    let crowded = [vec![leaked()], vec![long; 7]].concat();
    let large_secret = large(Role::User, &secret());
    for (why, messages, request, expected) in [
        ("outside of the page", vec![leaked(), hi()], last, NONE),
        ("dropped", crowded, of(DESK), DROPPED),
        (
            "too large",
            vec![hi(), large(Role::Assistant, "")],
            of(DESK),
            DROPPED,
        ),
        (
            "a secret in it",
            vec![hi(), large_secret],
            of(DESK),
            DROPPED,
        ),
        (
            "a secret beside it",
            vec![leaked(), large(Role::User, "")],
            of(DESK),
            (true, false, true),
        ),
    ] {
        assert_eq!(flags(&messages, request).await, expected, "{why}");
    }
}

#[tokio::test]
async fn no_secret_is_on_a_page_and_what_is_stored_stays_raw() {
    let house = House::with(&[DESK]).await;
    let planted = "A".repeat(36);
    let messages = [
        said("a", Role::User, &secret()),
        said(
            "b",
            Role::Assistant,
            &format!("{}{}", "a".repeat(3_980), secret()),
        ),
        result("c", &secret()),
        NewMessage {
            key: "d".to_owned(),
            ..with_secret_argument()
        },
    ];
    let stored = house.append(DESK, &messages).await.unwrap();
    let page = house.history(with_tools()).await.unwrap();
    assert!(page.bounded.content_redacted);
    let shown = format!("{:?}", page.bounded.messages);
    assert!(
        !shown.contains(&planted) && !shown.contains("correct horse"),
        "{shown}"
    );
    let raw = house.append(DESK, &messages).await.unwrap();
    assert_eq!(raw, stored);
    assert_eq!(raw[0].body, messages[0]);
}

#[tokio::test]
async fn a_text_that_cleaning_empties_stays_as_an_empty_message() {
    let house = House::with(&[DESK]).await;
    let empty = said("a", Role::Assistant, "<|im_end|>");
    house.append(DESK, &[empty]).await.unwrap();
    let page = house.history(of(DESK)).await.unwrap();
    assert_eq!(page.bounded.messages[0].0.body.blocks, [text("")]);
}

#[tokio::test]
async fn what_is_masked_follows_the_settings_in_force() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("confab.json5");
    std::fs::write(&path, "{}").unwrap();
    let source = Source::of_process(Some(path.clone()));
    let house = House::configured(&[DESK], source).await;
    let message = said("k", Role::User, "the word is rosebud-1941 today");
    house.append(DESK, &[message]).await.unwrap();
    let page = house.history(of(DESK)).await.unwrap();
    assert!(!page.bounded.content_redacted);

    std::fs::write(&path, r#"{logging: {redactPatterns: ["rosebud-\\d+"]}}"#).unwrap();
    house.messages.settings.reload().unwrap();
    let page = house.history(of(DESK)).await.unwrap();
    assert!(page.bounded.content_redacted);
    let shown = format!("{:?}", page.bounded.messages);
    assert!(!shown.contains("rosebud-1941"), "run:R18: {shown}");
}
