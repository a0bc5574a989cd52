//! What of a message may be seen.

use confab_model::clock::Timestamp;
use confab_model::id::MessageId;
use confab_model::key::SessionKey;
use confab_model::message::{Block, Message, NewMessage, Provenance, ProvenanceKind, Role, Usage};
use confab_text::redact::Redactor;

use super::{is_from_person, is_shown, placeholder, show, show_whole};
use crate::store::View;
use crate::testing::{call, image, result, said, text, thinking, with_blocks};

fn views(message: &NewMessage) -> (bool, bool) {
    (is_shown(message, View::All), is_shown(message, View::Plain))
}

fn assistant(blocks: Vec<Block>) -> NewMessage {
    with_blocks("k", Role::Assistant, blocks)
}

#[test]
fn each_sort_of_message_is_in_its_views() {
    for (message, expected) in [
        (said("k", Role::User, "hi"), (true, true)),
        (said("k", Role::User, "NO_REPLY"), (true, true)),
        (said("k", Role::User, ""), (true, true)),
        (result("k", "r"), (true, false)),
        (said("k", Role::Assistant, "hi"), (true, true)),
        (said("k", Role::Assistant, ""), (true, true)),
        (assistant(vec![image()]), (true, true)),
        (assistant(vec![call("read")]), (true, false)),
        (assistant(vec![text("hi"), call("read")]), (true, true)),
        (assistant(vec![thinking("hm")]), (false, false)),
        (assistant(vec![thinking("hm"), call("read")]), (true, false)),
        (assistant(vec![]), (false, false)),
    ] {
        assert_eq!(views(&message), expected, "{message:?}");
    }
}

#[test]
fn a_reply_that_is_exactly_a_skip_word_is_in_no_view() {
    for word in ["REPLY_SKIP", "ANNOUNCE_SKIP", "NO_REPLY", "  NO_REPLY\n"] {
        assert_eq!(
            views(&said("k", Role::Assistant, word)),
            (false, false),
            "{word:?}"
        );
        let blocks = vec![thinking("hm"), text(word)];
        assert_eq!(views(&assistant(blocks)), (false, false), "{word:?}");
        // With a tool call it is more than the word; without it the word is all there is.
        assert_eq!(
            views(&assistant(vec![text(word), call("read")])),
            (true, false),
            "{word:?}"
        );
        assert_eq!(
            views(&assistant(vec![text(word), image()])),
            (true, true),
            "{word:?}"
        );
    }
    for words in ["NO_REPLY please", "no_reply", "NO REPLY"] {
        assert_eq!(
            views(&said("k", Role::Assistant, words)),
            (true, true),
            "{words:?}"
        );
    }
    assert_eq!(
        views(&assistant(vec![text("NO_"), text("REPLY")])),
        (false, false)
    );
}

#[test]
fn only_a_person_writes_a_first_message() {
    let from = |kind| NewMessage {
        provenance: Some(Provenance {
            kind,
            source_session_key: None,
            source_channel: None,
            source_tool: None,
            sender: None,
        }),
        ..said("k", Role::User, "hi")
    };
    assert!(is_from_person(&said("k", Role::User, "hi")));
    assert!(is_from_person(&from(ProvenanceKind::ExternalUser)));
    assert!(!is_from_person(&from(ProvenanceKind::InterSession)));
    assert!(!is_from_person(&from(ProvenanceKind::InternalSystem)));
    assert!(!is_from_person(&said("k", Role::Assistant, "hi")));
}

fn stored(body: NewMessage) -> Message {
    let id = MessageId::parse("m-7").unwrap();
    Message {
        id,
        seq: 7,
        at: Timestamp::from_millis(7),
        body,
    }
}

#[test]
fn what_is_left_out_or_cut_is_flagged_unless_it_was_not_asked_for() {
    for (blocks, view, shown, truncated) in [
        (vec![text("hi")], View::All, vec![text("hi")], false),
        (
            vec![text("hi"), call("read")],
            View::All,
            vec![text("hi"), call("read")],
            false,
        ),
        (
            vec![text("hi"), call("read")],
            View::Plain,
            vec![text("hi")],
            false,
        ),
        (
            vec![thinking("hm"), text("hi")],
            View::Plain,
            vec![text("hi")],
            true,
        ),
        (
            vec![thinking("hm"), text("hi")],
            View::All,
            vec![text("hi")],
            true,
        ),
        (vec![image()], View::Plain, vec![image()], true),
    ] {
        let seen = show(
            stored(assistant(blocks.clone())),
            view,
            &Redactor::built_in(),
        );
        assert_eq!(
            (seen.message.body.blocks, seen.truncated),
            (shown, truncated),
            "{blocks:?}"
        );
    }
}

#[test]
fn a_text_is_cut_at_its_bound_and_what_it_cost_is_no_part_of_it() {
    let long = "a".repeat(4_001);
    let body = NewMessage {
        usage: Some(Usage {
            input: 1,
            output: 1,
        }),
        provenance: Some(Provenance::inter_session(
            SessionKey::parse("agent:a:main").unwrap(),
            None,
            "sessions_send",
        )),
        ..said("k", Role::User, &long)
    };
    let seen = show(stored(body.clone()), View::Plain, &Redactor::built_in());
    assert!(seen.truncated);
    assert_eq!(
        seen.message.body.blocks,
        [text(&format!("{}\n…(truncated)…", "a".repeat(4_000)))]
    );
    assert_eq!(seen.message.body.usage, None);
    assert_eq!(seen.message.body.provenance, body.provenance);
}

#[test]
fn a_placeholder_keeps_the_place_and_says_why_it_is_there() {
    let message = placeholder(stored(result("k", "long")));
    assert_eq!((message.seq, message.id.as_str()), (7, "m-7"));
    assert_eq!(message.body.role, Role::Assistant);
    assert_eq!(
        message.body.blocks,
        [text("[sessions_history omitted: message too large]")]
    );
    assert_eq!(message.body.tool_name, None);
}

#[test]
fn names_that_hold_a_secret_are_masked_alike_on_both_ends_of_a_call() {
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let mut called = assistant(vec![Block::ToolCall {
        id: secret.to_owned(),
        name: secret.to_owned(),
        arguments: serde_json::Map::new(),
    }]);
    called.model = Some(secret.to_owned());
    let mut result = result("r", "done");
    result.tool_call_id = Some(secret.to_owned());
    result.tool_name = Some(secret.to_owned());
    for body in [called, result] {
        let exported = body.clone();
        let shown = show(stored(body), View::All, &Redactor::built_in());
        assert!(shown.redacted);
        assert!(!format!("{shown:?}").contains("klmnopqrst"), "{shown:?}");
        let whole = show_whole(exported, &Redactor::built_in());
        assert!(!format!("{whole:?}").contains("klmnopqrst"), "{whole:?}");
    }
}
