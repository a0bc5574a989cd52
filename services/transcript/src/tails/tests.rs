//! The ends of many transcripts.

use confab_model::key::SessionKey;
use confab_model::message::{Block, NewMessage, Provenance, Role};
use confab_proto::transcript::v1::TailSessionsRequest;

use crate::limits::{FIRST_TEXT_BYTES_MAX, TAILS_BYTES_MAX};
use crate::tails::SessionTail;
use crate::testing::{DESK, House, result, said, text, thinking, with_blocks};

const MAIN: &str = "agent:writer:main";

fn wanted(keys: &[&str], limit: i32) -> TailSessionsRequest {
    TailSessionsRequest {
        session_keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        limit,
        include_first_user_message: true,
    }
}

fn seqs(tail: &SessionTail) -> Vec<u64> {
    tail.messages.iter().map(|message| message.seq).collect()
}

#[tokio::test]
async fn each_session_that_may_be_seen_is_told_in_the_order_asked() {
    let house = House::with(&[DESK, MAIN, "agent:writer:empty"]).await;
    let messages = [
        said("a", Role::User, "one"),
        said("b", Role::Assistant, "two"),
        result("c", "tool"),
        said("d", Role::Assistant, "NO_REPLY"),
        said("e", Role::Assistant, "five"),
    ];
    house.append(DESK, &messages).await.unwrap();
    house
        .append(MAIN, &[said("a", Role::User, "only")])
        .await
        .unwrap();
    let keys = ["agent:writer:empty", MAIN, "agent:writer:hidden", DESK];
    let tails = house.tails(wanted(&keys, 2)).await.unwrap();
    let told: Vec<(&str, Vec<u64>, Option<&str>)> = tails
        .iter()
        .map(|tail| {
            (
                tail.session_key.as_str(),
                seqs(tail),
                tail.first_user_text.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("agent:writer:empty", vec![], None),
            (MAIN, vec![1], Some("only")),
            (DESK, vec![2, 5], Some("one")),
        ]
    );
}

#[tokio::test]
async fn the_first_text_is_a_persons_and_only_its_beginning() {
    let house = House::with(&[DESK]).await;
    let source = SessionKey::parse(MAIN).unwrap();
    let sent = NewMessage {
        provenance: Some(Provenance::inter_session(source, None, "sessions_send")),
        ..said("a", Role::User, "from a session")
    };
    let long = "ü".repeat(FIRST_TEXT_BYTES_MAX);
    let person = with_blocks("c", Role::User, vec![text("first"), text(&long)]);
    house
        .append(DESK, &[sent, said("b", Role::Assistant, "yes"), person])
        .await
        .unwrap();
    house
        .append(DESK, &[said("d", Role::User, "later")])
        .await
        .unwrap();
    let tails = house.tails(wanted(&[DESK], 1)).await.unwrap();
    let told = tails[0].first_user_text.clone().unwrap();
    assert!(told.starts_with("first\nüüü"), "{told}");
    assert!((FIRST_TEXT_BYTES_MAX - 1..=FIRST_TEXT_BYTES_MAX).contains(&told.len()));

    let mut request = wanted(&[DESK], 1);
    request.include_first_user_message = false;
    assert_eq!(house.tails(request).await.unwrap()[0].first_user_text, None);
}

#[tokio::test]
async fn the_answer_stays_below_its_bound_whatever_the_messages() {
    let keys: Vec<String> = (0..200)
        .map(|place| format!("agent:writer:{place}"))
        .collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let house = House::with(&keys).await;
    let large = || {
        let blocks: Vec<Block> = (0..9).map(|_| text(&"€".repeat(4_000))).collect();
        with_blocks("large", Role::Assistant, blocks)
    };
    for key in &keys {
        let long = said("long", Role::Assistant, &"€".repeat(4_000));
        house
            .append(key, &[long, large(), said("small", Role::Assistant, "s")])
            .await
            .unwrap();
    }
    house
        .append(
            keys[0],
            &[NewMessage {
                key: "last".to_owned(),
                ..large()
            }],
        )
        .await
        .unwrap();
    let tails = house.tails(wanted(&keys, 20)).await.unwrap();
    let bytes: usize = tails
        .iter()
        .flat_map(|tail| &tail.messages)
        .map(|message| confab_text::render::message_json(message).to_string().len())
        .sum();
    assert!(bytes <= TAILS_BYTES_MAX, "{bytes}");
    assert_eq!(seqs(&tails[1]), [3]);
    // The newest one stays, as a placeholder.
    assert_eq!(seqs(&tails[0]), [4]);
    let shown = &tails[0].messages[0].body.blocks;
    assert_eq!(
        *shown,
        [text("[sessions_history omitted: message too large]")]
    );
}

#[tokio::test]
async fn what_is_asked_wrongly_is_told_by_field() {
    let house = House::with(&[DESK]).await;
    for (request, field) in [
        (wanted(&[], 1), "sessionKeys"),
        (wanted(&[DESK; 201], 1), "sessionKeys"),
        (wanted(&["agent:x"], 1), "sessionKeys[0]"),
        (wanted(&[DESK], 0), "limit"),
        (wanted(&[DESK], 21), "limit"),
    ] {
        let refused = house.tails(request.clone()).await.unwrap_err();
        assert_eq!(refused.violations[0].field, field, "{request:?}");
    }
}

#[tokio::test]
async fn previews_and_titles_are_cleaned_and_masked_and_hold_no_reasoning() {
    let house = House::with(&[DESK]).await;
    let planted = "A".repeat(36);
    let secret = format!("key ghp_{planted} ok");
    // A secret that lies across the end of what a title is made of.
    let filler = "a".repeat(FIRST_TEXT_BYTES_MAX - 20);
    let reply = with_blocks(
        "b",
        Role::Assistant,
        vec![
            thinking("private"),
            text(&format!("<think>leaked</think>{secret}<|im_end|>")),
        ],
    );
    let person = said("a", Role::User, &format!("{filler} ghp_{planted}"));
    house.append(DESK, &[person, reply]).await.unwrap();
    let tails = house.tails(wanted(&[DESK], 20)).await.unwrap();
    let told = format!("{tails:?}");
    for gone in ["AAAAAAA", "private", "leaked", "im_end"] {
        assert!(!told.contains(gone), "{gone}: {told}");
    }
    let [Block::Text(shown)] = &tails[0].messages[1].body.blocks[..] else {
        panic!("{told}")
    };
    assert!(
        shown.starts_with("key ghp_AA") && shown.ends_with(" ok"),
        "{shown}"
    );
}

#[tokio::test]
async fn the_first_text_ends_between_visible_characters() {
    let accent = "e\u{301}";
    let family = "👨\u{200d}👩\u{200d}👧";
    for (sign, filler_end) in [("👍", 1..=4), (accent, 1..=3), (family, 1..=18)] {
        for missing in filler_end {
            let house = House::with(&[DESK]).await;
            let filler = "a".repeat(FIRST_TEXT_BYTES_MAX - missing);
            let long = format!("{filler}{sign} and more");
            house
                .append(DESK, &[said("k", Role::User, &long)])
                .await
                .unwrap();
            let tails = house.tails(wanted(&[DESK], 1)).await.unwrap();
            let told = tails[0].first_user_text.clone().unwrap();
            let whole = sign.len() <= missing;
            let rest = told.strip_prefix(&filler).unwrap();
            // Both or none of its parts (B215, B216).
            assert_eq!(rest.contains(sign), whole, "{sign:?} {missing}");
            assert!(whole || rest.is_empty(), "{rest:?}");
        }
    }
}
