//! Batches, as they are read.

use serde_json::json;

use super::{Batch, Content, Reading, Spool};
use crate::limits::{IMPORT_BATCH_BYTES, IMPORT_BATCH_ENTRIES};
use crate::testing::files::{conversation, entry, everything, file_of, header};

fn batches(file: &[u8]) -> Vec<Batch> {
    let directory = tempfile::tempdir().unwrap();
    let spool = Spool::create(directory.path()).unwrap();
    let spool = spool.with(file).unwrap();
    // Nothing is left in the directory, whatever becomes of the import.
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    let mut reading = Reading::of(spool).unwrap();
    let mut batches = Vec::new();
    while let Some(batch) = reading.next_batch().unwrap() {
        batches.push(batch);
    }
    batches
}

#[test]
fn a_batch_has_a_thousand_lines_at_most() {
    let batches = batches(&file_of(&conversation(2_500)));
    let sizes: Vec<usize> = batches.iter().map(|batch| batch.found.len()).collect();
    assert_eq!(
        sizes,
        [IMPORT_BATCH_ENTRIES, IMPORT_BATCH_ENTRIES, 501],
        "B145"
    );
}

#[test]
fn a_batch_ends_with_the_line_that_fills_it() {
    let lines: Vec<_> = (0..40)
        .map(|number| entry(&format!("e{number}"), "", &"x".repeat(300_000)))
        .collect();
    let batches = batches(&file_of(&lines));
    assert!(batches.len() >= 5, "{}", batches.len());
    for batch in batches {
        let but_last: usize = batch
            .found
            .iter()
            .rev()
            .skip(1)
            .map(|found| found.line.len())
            .sum();
        assert!(but_last < IMPORT_BATCH_BYTES, "B145");
    }
}

#[test]
fn the_bytes_of_pictures_fill_a_batch_too() {
    let lines: Vec<_> = (0..4)
        .map(|number| {
            let mut line = entry(&format!("e{number}"), "", "");
            line["message"]["content"] = json!([
                { "type": "image", "data": "QUJD".repeat(1_000_000), "mimeType": "image/png" },
            ]);
            line
        })
        .collect();
    let batches = batches(&file_of(&lines));
    assert_eq!(batches.len(), 4, "B145");
    for found in batches.iter().flat_map(|batch| &batch.found) {
        assert!(found.line.len() < 1_000, "the bytes lie beside the line");
        assert_eq!(found.blobs[0].bytes.len(), 3_000_000);
    }
}

#[test]
fn faults_fill_a_batch_too() {
    let batches = batches("?\n".repeat(2_500).as_bytes());
    let sizes: Vec<usize> = batches.iter().map(|batch| batch.faults.len()).collect();
    assert_eq!(sizes, [1_000, 1_000, 500]);
}

/// Of a usual message, the message alone is stored.
#[test]
fn a_line_that_can_be_written_again_is_told() {
    let mut lines = conversation(3);
    lines[2]["message"]["more"] = json!(1);
    let again: Vec<bool> = batches(&file_of(&lines))
        .iter()
        .flat_map(|batch| &batch.found)
        .filter_map(|found| match &found.content {
            Content::Message(_, _, reproducible) => Some(*reproducible),
            Content::Aside => None,
        })
        .collect();
    assert_eq!(again, [true, false, true]);
}

#[test]
fn a_compaction_keeps_the_first_message_at_or_behind_what_it_names() {
    let kept = |named: &str| {
        let mut lines = everything();
        for line in &mut lines {
            if line["type"] == "compaction" {
                line["firstKeptEntryId"] = json!(named);
            }
        }
        let batches = batches(&file_of(&lines));
        batches
            .into_iter()
            .flat_map(|batch| batch.found)
            .find_map(|found| match found.content {
                Content::Message(body, kept, _) if body.compaction.is_some() => Some(kept),
                Content::Message(..) | Content::Aside => None,
            })
            .unwrap()
    };
    for (named, expected) in [
        ("a", Some("import:a")),
        ("c", Some("import:c")),
        // A setting, a branch that was left, what comes later, and what nobody knows.
        ("t", Some("import:a")),
        ("left", None),
        ("d", None),
        ("nowhere", None),
    ] {
        assert_eq!(kept(named).as_deref(), expected, "run:T15 {named}");
    }
}

#[test]
fn a_second_header_with_the_same_id_is_a_fault() {
    let batches = batches(&file_of(&[header(), header()]));
    let numbers: Vec<u64> = batches[0]
        .faults
        .iter()
        .map(|(number, _)| *number)
        .collect();
    assert_eq!(numbers, [2]);
}
