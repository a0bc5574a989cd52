//! The lines of a transcript file: whatever stands beside a good line, the good line is read.

use confab_model::clock::Timestamp;
use confab_model::id::MessageId;
use confab_model::limits::{MESSAGE_BLOCKS_MAX, MESSAGE_BYTES_MAX};
use confab_model::message::{Blob, Message, NewMessage};
use confab_transcript::entry::head::{Head, Sort};
use confab_transcript::entry::pictures::{Reference, put_back, take_out};
use confab_transcript::entry::read::{Meaning, compaction, message};
use confab_transcript::entry::tree::{Line, LineSort, Tree};
use confab_transcript::entry::write::{Manner, Parent, Pictures, entry};
use confab_transcript::entry::{Fault, json};
use serde_json::Value;

use crate::Target;

/// Reading a file line by line, and what of it is the conversation.
pub const TARGET: Target = Target {
    name: "import",
    check,
};

/// A good line, whose id no other line has.
const GOOD: &str =
    r#"{"type":"message","id":"planted","message":{"role":"user","content":"here"}}"#;

/// Bytes of the longest sentence about a line.
const FAULT_BYTES_MAX: usize = 200;

const KEY: &str = "key";

fn check(bytes: &[u8]) {
    let lines: Vec<Line> = bytes
        .split(|byte| *byte == b'\n')
        .zip(1..)
        .map(|(line, number)| read(line, number))
        .collect();
    a_bad_line_moves_no_other(&lines, bytes.len());
    a_good_line_behind_it_all_is_in_the_conversation(lines);
}

/// A line as the tree knows it, and everything that can be read from it.
fn read(line: &[u8], number: u32) -> Line {
    let head = std::str::from_utf8(line)
        .map_err(|error| Fault::Encoding(error.valid_up_to()))
        .and_then(|text| Ok((Head::read(text)?, text)));
    match head {
        Ok((head, text)) => {
            take_apart(text, head.sort);
            Line::entry(0, number, &head)
        },
        Err(fault) => {
            told_in_short(&fault);
            Line::broken(0, number)
        },
    }
}

fn told_in_short(fault: &Fault) {
    let told = fault.to_string();
    assert!(told.len() <= FAULT_BYTES_MAX, "{told}");
    assert!(!told.chars().any(char::is_control), "{told:?}");
}

/// What has a place in the file is an object, gives its pictures back, and says what it says.
fn take_apart(line: &str, sort: Sort) {
    let read = match json(line) {
        Ok(read) => read,
        Err(fault) => return told_in_short(&fault),
    };
    assert!(read.is_object(), "a place without an object");
    let mut kept = read.clone();
    let blobs = take_out(&mut kept);
    pictures_come_back(&read, kept.clone(), &blobs);
    let meaning = match sort {
        Sort::Message => message(&kept, KEY.to_owned(), &blobs),
        Sort::Compaction => compaction(&kept, KEY.to_owned()),
        Sort::Header | Sort::Leaf | Sort::Note | Sort::Unknown => return,
    };
    match meaning {
        Ok(Meaning::Message(body)) => written_and_read(*body, &blobs),
        Ok(Meaning::Compaction(body, _)) => assert!(body.blocks.is_empty()),
        Ok(Meaning::Aside) => {},
        Err(fault) => told_in_short(&fault),
    }
}

fn pictures_come_back(read: &Value, mut kept: Value, blobs: &[Blob]) {
    let text = |reference: &Reference| {
        let blob = blobs.iter().find(|blob| blob.reference == reference.blob)?;
        Some(reference.text(blob.bytes.clone()))
    };
    put_back(&mut kept, &text);
    assert_eq!(&kept, read, "a picture changed");
}

/// A message keeps its bounds, and says the same when it was written and is read again.
fn written_and_read(body: NewMessage, blobs: &[Blob]) {
    assert_eq!(body.key, KEY);
    assert!(body.blocks.len() <= MESSAGE_BLOCKS_MAX);
    let stored = Message {
        id: MessageId::parse("message-1").expect("an id"),
        seq: 1,
        at: body.at.unwrap_or(Timestamp::from_millis(0)),
        body,
    };
    let manner = Manner {
        parent: &Parent::Root,
        first_kept: None,
        pictures: Pictures::Referenced,
    };
    let line = entry(&stored, &manner).to_string();
    assert!(line.len() <= 8 * MESSAGE_BYTES_MAX);
    let head = Head::read(&line).expect("what was written has a place");
    assert_eq!(head.sort, Sort::Message);
    let again = json(&line).and_then(|read| message(&read, KEY.to_owned(), blobs));
    let Ok(Meaning::Message(again)) = again else {
        panic!("what was written is no message: {again:?}");
    };
    let expected = NewMessage {
        at: Some(stored.at),
        ..stored.body
    };
    assert_eq!(*again, expected);
}

/// The tree is the same with a bad line between any two of its lines.
fn a_bad_line_moves_no_other(lines: &[Line], anywhere: usize) {
    let at = anywhere % (lines.len() + 1);
    let (before, behind) = lines.split_at(at);
    let damaged = [before, &[Line::broken(0, 0)], behind].concat();
    let (whole, damaged) = (Tree::of(lines.to_vec()), Tree::of(damaged));
    for place in 0..lines.len() {
        let moved = if place < at { place } else { place + 1 };
        let (place, moved) = (number(place), number(moved));
        let same = (whole.is_on_branch(place), whole.is_duplicate(place));
        assert_eq!(
            (damaged.is_on_branch(moved), damaged.is_duplicate(moved)),
            same,
            "line {place} beside a bad one at {at}"
        );
    }
}

fn a_good_line_behind_it_all_is_in_the_conversation(mut lines: Vec<Line>) {
    let place = number(lines.len());
    let good = read(GOOD.as_bytes(), place);
    assert_eq!(good.sort, LineSort::Entry(Sort::Message));
    lines.push(good);
    let tree = Tree::of(lines);
    assert!(tree.is_on_branch(place) && !tree.is_duplicate(place));
    assert_eq!(tree.place_of("planted"), Some(place));
}

fn number(place: usize) -> u32 {
    u32::try_from(place).expect("a file of few lines")
}
