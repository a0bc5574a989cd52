//! Pictures and markers of compactions on their way into a transcript.

use confab_model::message::{Blob, Block, Compaction, NewMessage, Role};
use confab_proto::types::v1 as proto;
use confab_proto::types::v1::block::Content;

use crate::error::Violations;
use crate::wire::message::{Incoming, incoming_from_wire, new_to_proto, pack};

/// The SHA-256 of `png`.
const NAME: &str = "sha256:8f8cbb7dcf46e0bc7d53265749a6c17d116093a6ba95e442764060c76fd4a86c";

fn picture(data: &[u8]) -> proto::ImageBlock {
    proto::ImageBlock {
        mime_type: "image/png".to_owned(),
        reference: String::new(),
        bytes: 0,
        data: Some(data.to_vec().into()),
    }
}

fn with(pictures: Vec<proto::ImageBlock>) -> proto::NewMessage {
    let blocks = pictures.into_iter().map(|picture| proto::Block {
        content: Some(Content::Image(picture)),
    });
    proto::NewMessage {
        blocks: blocks.collect(),
        ..new_to_proto(&NewMessage::text("k", Role::User, ""))
    }
}

fn marker(compaction: proto::Compaction) -> proto::NewMessage {
    proto::NewMessage {
        blocks: Vec::new(),
        compaction: Some(compaction),
        ..new_to_proto(&NewMessage::text("k", Role::Assistant, ""))
    }
}

fn summary(text: &str) -> proto::Compaction {
    proto::Compaction {
        summary: text.to_owned(),
        ..Default::default()
    }
}

fn read(messages: Vec<proto::NewMessage>) -> Result<Incoming, Vec<(String, String)>> {
    let mut violations = Violations::default();
    let incoming = incoming_from_wire(messages, &mut violations);
    match violations.finish() {
        Ok(()) => Ok(incoming),
        Err(error) => Err(error
            .violations
            .into_iter()
            .map(|one| (one.field, one.description))
            .collect()),
    }
}

#[test]
fn the_bytes_of_a_picture_are_taken_out_of_its_message_and_kept_once() {
    let told = proto::ImageBlock {
        bytes: 3,
        ..picture(b"png")
    };
    let incoming = read(vec![with(vec![picture(b"png")]), with(vec![told])]).unwrap();
    let kept = Blob {
        reference: NAME.to_owned(),
        bytes: b"png".to_vec(),
    };
    assert_eq!(incoming.blobs, [kept]);
    let image = Block::Image {
        mime_type: "image/png".to_owned(),
        reference: NAME.to_owned(),
        bytes: 3,
    };
    for message in &incoming.messages {
        assert_eq!(message.blocks, std::slice::from_ref(&image));
    }
}

#[test]
fn a_packed_message_does_not_grow_with_its_picture() {
    let size = |bytes: usize| {
        let incoming = read(vec![with(vec![picture(&vec![7; bytes])])]).unwrap();
        pack(&incoming.messages[0]).len()
    };
    assert!(size(1_000_000) < size(1) + 10);
}

#[test]
fn a_picture_that_is_stored_is_named_by_its_reference_alone() {
    let stored = proto::ImageBlock {
        reference: NAME.to_owned(),
        bytes: 3,
        data: None,
        ..picture(b"")
    };
    let incoming = read(vec![with(vec![stored])]).unwrap();
    assert_eq!(incoming.blobs, []);
    assert!(matches!(
        &incoming.messages[0].blocks[..],
        [Block::Image { reference, bytes: 3, .. }] if reference == NAME
    ));
}

#[test]
fn a_picture_at_fault_is_told_with_what_to_give() {
    let image = "messages[0].blocks[0].image";
    for (given, field, words) in [
        (
            proto::ImageBlock {
                reference: NAME.to_owned(),
                ..picture(b"png")
            },
            "data",
            "both data and reference",
        ),
        (picture(b""), "data", "is empty"),
        (
            proto::ImageBlock {
                bytes: 4,
                ..picture(b"png")
            },
            "data",
            "is 4, but data has 3 bytes",
        ),
        (
            proto::ImageBlock {
                data: None,
                ..picture(b"")
            },
            "reference",
            "neither data nor reference",
        ),
    ] {
        let faults = read(vec![with(vec![given])]).unwrap_err();
        let [(path, description)] = &faults[..] else {
            panic!("{faults:?}")
        };
        assert_eq!(*path, format!("{image}.{field}"));
        assert!(description.contains(words), "{description}");
    }
}

#[test]
fn an_append_may_bring_three_mebibytes_of_pictures_and_no_more() {
    const MAX: usize = 3 * 1024 * 1024;
    let halves = |second: usize| {
        let first = with(vec![picture(&vec![1; MAX / 2])]);
        vec![first, with(vec![picture(&vec![2; second])])]
    };
    assert_eq!(read(halves(MAX / 2)).unwrap().blobs.len(), 2);
    let faults = read(halves(MAX / 2 + 1)).unwrap_err();
    assert_eq!(faults[0].0, "messages");
    assert!(faults[0].1.contains("3145729") && faults[0].1.contains("several calls"));
}

#[test]
fn a_marker_is_read_as_it_was_given() {
    let given = proto::Compaction {
        first_kept_seq: Some(1),
        tokens_before: Some(0),
        ..summary("short")
    };
    let incoming = read(vec![marker(given), marker(summary("s"))]).unwrap();
    let expected = Compaction {
        summary: "short".to_owned(),
        first_kept_seq: Some(1),
        tokens_before: Some(0),
    };
    assert_eq!(incoming.messages[0].compaction, Some(expected));
    let second = incoming.messages[1].compaction.as_ref().unwrap();
    assert_eq!((second.first_kept_seq, second.tokens_before), (None, None));
}

#[test]
fn every_fault_of_a_marker_is_told() {
    let compaction = proto::Compaction {
        summary: String::new(),
        first_kept_seq: Some(0),
        tokens_before: Some(-1),
    };
    let message = proto::NewMessage {
        compaction: Some(compaction),
        ..new_to_proto(&NewMessage::text("k", Role::User, "hi"))
    };
    let faults = read(vec![message]).unwrap_err();
    let fields: Vec<&str> = faults.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "messages[0].role",
            "messages[0].blocks",
            "messages[0].compaction.summary",
            "messages[0].compaction.firstKeptSeq",
            "messages[0].compaction.tokensBefore",
        ]
    );
}
