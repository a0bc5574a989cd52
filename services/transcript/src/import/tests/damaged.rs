//! Files with something wrong in them.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{counts, house, words};
use crate::limits::IMPORT_FAULTS_MAX;
use crate::testing::DESK;
use crate::testing::files::{conversation, entry, file_of, header};

/// A file, and what becomes of it.
struct Case {
    name: &'static str,
    file: Vec<u8>,
    /// `imported repeated skipped kept_aside`.
    counts: [u64; 4],
    /// The faults: a line's number, and how the reason begins.
    faults: Vec<(u64, &'static str)>,
}

fn line(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}

/// Three messages, with `between` behind the first.
fn around(between: &[u8]) -> Vec<u8> {
    [
        &line(&header()),
        &line(&entry("a", "", "one")),
        between,
        &line(&entry("b", "a", "two")),
        &line(&entry("c", "b", "three")),
    ]
    .concat()
}

/// Files that are whole, in the ways in which one can be written.
fn whole() -> Vec<Case> {
    let file = around(b"");
    let good = |name, file: Vec<u8>| Case {
        name,
        file,
        counts: [3, 0, 0, 1],
        faults: vec![],
    };
    let with_returns = String::from_utf8(file.clone())
        .unwrap()
        .replace('\n', "\r\n");
    let mut picture = entry("c", "a", "look");
    picture["message"]["content"] = json!([
        { "type": "image", "data": "QUJD".repeat(10 * 1024 * 1024 / 4), "mimeType": "image/png" },
    ]);
    let with_picture = [
        line(&header()),
        line(&entry("a", "", "one")),
        line(&picture),
        line(&entry("b", "c", "two")),
    ];
    vec![
        good("blank lines", around(b"\n  \n\r\n")),
        good("a byte order mark", [b"\xEF\xBB\xBF", &file[..]].concat()),
        good("line ends of another system", with_returns.into_bytes()),
        good("no line end at the end", file[..file.len() - 1].to_vec()),
        good("a picture of 10 MB", with_picture.concat()),
        good("nothing wrong", file),
        Case {
            counts: [0, 0, 0, 0],
            ..good("an empty file", Vec::new())
        },
    ]
}

/// One line that cannot be read, behind the first message, and why.
fn wrong_lines() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let nul = [b"\0".repeat(4_096), b"\n".to_vec()].concat();
    let long = line(&entry("x", "a", &"x".repeat(17 * 1024 * 1024)));
    vec![
        (
            "garbage",
            b"<<<<<<< HEAD\n".to_vec(),
            "is not JSON: wrong at column 1",
        ),
        (
            "half a line",
            b"{\"type\":\"message\",\"id\":\"x\n".to_vec(),
            "is not JSON",
        ),
        (
            "wrong UTF-8",
            b"{\"type\":\"\xFF\"}\n".to_vec(),
            "is not UTF-8 from byte 10 on",
        ),
        ("NUL bytes", nul, "has NUL bytes"),
        ("a list", b"[1, 2]\n".to_vec(), "is JSON, but no object"),
        ("no entry", b"{\"a\":1}\n".to_vec(), "is an object without"),
        (
            "an id again",
            line(&entry("a", "", "again")),
            "has the id of an earlier line",
        ),
        (
            "a header again",
            line(&header()),
            "has the id of an earlier line",
        ),
        ("a line that is too long", long, "has 17825"),
    ]
}

fn cases() -> Vec<Case> {
    let file = around(b"");
    let words = "x".repeat(10 * 1024 * 1024);
    let mut cases = whole();
    cases.extend(wrong_lines().into_iter().map(|(name, wrong, reason)| Case {
        name,
        file: around(&wrong),
        counts: [3, 0, 1, 1],
        faults: vec![(3, reason)],
    }));
    cases.extend([
        Case {
            name: "a last line that was cut",
            file: file[..file.len() - 20].to_vec(),
            counts: [2, 0, 1, 1],
            faults: vec![(4, "ends in the middle of its JSON")],
        },
        Case {
            name: "10 MB of words",
            file: line(&entry("x", "", &words)),
            counts: [0, 0, 1, 0],
            faults: vec![(
                1,
                "has 10485760 bytes of content; at most 1048576 are allowed",
            )],
        },
        // A branch that was left is no message, and none that is too large.
        Case {
            name: "10 MB of words that nobody reads",
            file: around(&line(&entry("x", "a", &words))),
            counts: [3, 0, 0, 2],
            faults: vec![],
        },
    ]);
    cases
}

#[tokio::test]
async fn what_can_be_read_goes_in_and_what_cannot_is_told() {
    for Case {
        name,
        file,
        counts: expected,
        faults,
    } in cases()
    {
        let house = house().await;
        let tally = house.import(DESK, &file).await.unwrap();
        assert_eq!(counts(&tally), expected, "B146 run:T28 {name}");
        let told = tally.faults();
        assert_eq!(told.len(), faults.len(), "{name}: {told:?}");
        for (told, (line, reason)) in told.iter().zip(faults) {
            assert_eq!(told.line, line, "{name}");
            let reason = format!("the line {reason}");
            assert!(told.reason.starts_with(&reason), "{name}: {told:?}");
        }
        let exported = house.export(DESK, true).await.len();
        let kept = usize::try_from(expected[0] + expected[3]).unwrap();
        assert_eq!(exported, kept.max(1), "B147 {name}");
    }
}

/// Whoever hung on the line that is gone hangs on the one before it.
#[tokio::test]
async fn a_line_that_is_gone_takes_no_other_one_out_of_the_conversation() {
    let house = house().await;
    let mut lines = file_of(&conversation(2));
    lines.extend_from_slice(b"garbage\n");
    lines.extend(line(&entry("x", "the id in the garbage", "after")));
    let tally = house.import(DESK, &lines).await.unwrap();
    assert_eq!(counts(&tally), [3, 0, 1, 1], "B146");
    assert_eq!(words(&house).await, ["words 0", "words 1", "after"]);
}

#[tokio::test]
async fn the_first_faults_are_told_and_all_are_counted() {
    let house = house().await;
    let faults = IMPORT_FAULTS_MAX * 30;
    let tally = house
        .import(DESK, "?\n".repeat(faults).as_bytes())
        .await
        .unwrap();
    assert_eq!(counts(&tally)[2], u64::try_from(faults).unwrap(), "B146");
    let told: Vec<u64> = tally.faults().iter().map(|fault| fault.line).collect();
    let first: Vec<u64> = (1..).take(IMPORT_FAULTS_MAX).collect();
    assert_eq!(told, first);
}

#[tokio::test]
async fn no_fault_repeats_what_its_line_says() {
    let house = house().await;
    let file = b"secret-7\n[\"secret-7\"]\n{\"secret-7\":1}\n{\"type\":\"message\",\"message\":\"secret-7\"}\n";
    let tally = house.import(DESK, file).await.unwrap();
    assert_eq!(counts(&tally), [0, 0, 4, 0]);
    assert!(!format!("{tally:?}").contains("secret"), "{tally:?}");
}

/// A line of a file: a good one, or whatever bytes there are but a line break.
fn any_line() -> impl Strategy<Value = Option<Vec<u8>>> {
    let garbage = proptest::collection::vec(any::<u8>(), 1..40)
        .prop_map(|bytes| bytes.into_iter().filter(|byte| *byte != b'\n').collect());
    let almost = "[{}\\[\\]\",:a-z0-9\\\\]{1,40}".prop_map(String::into_bytes);
    prop_oneof![
        2 => Just(None),
        1 => garbage.prop_map(Some),
        1 => almost.prop_map(Some),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Good lines that stand among any bytes are all kept, in order, and no bytes break an import.
    #[test]
    fn good_lines_survive_any_neighbours(lines in proptest::collection::vec(any_line(), 0..24)) {
        let mut good = Vec::new();
        let mut file = Vec::new();
        for line in lines {
            let bytes = line.unwrap_or_else(|| {
                let parent = good.last().map_or("", |_| "before");
                let id = format!("good-{}", good.len());
                let entry = entry(&id, parent, &id);
                good.push(entry.clone());
                entry.to_string().into_bytes()
            });
            file.extend(bytes);
            file.push(b'\n');
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let house = house().await;
            let tally = house.import(DESK, &file).await.unwrap();
            counts(&tally);
            let exported = house.export(DESK, true).await.into_iter();
            let is_good = |line: &Value| line["id"].as_str().is_some_and(|id| id.starts_with("good-"));
            assert_eq!(exported.filter(is_good).collect::<Vec<_>>(), good);
            let again = house.import(DESK, &file).await.unwrap();
            assert_eq!((again.imported, again.skipped), (0, tally.skipped));
        });
    }

    #[test]
    fn any_bytes_are_counted_line_by_line(file in proptest::collection::vec(any::<u8>(), 0..400)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let house = house().await;
            let tally = house.import(DESK, &file).await.unwrap();
            counts(&tally);
        });
    }
}
