//! Bytes, cut.

use proptest::prelude::*;

use super::{Cut, Lines};
use crate::limits::IMPORT_LINE_BYTES_MAX;

/// Every line that is not blank: its number, where it begins, and its text.
fn cut(bytes: &[u8]) -> Vec<(u64, u64, Result<String, String>)> {
    let mut lines = Lines::of(bytes);
    let mut found = Vec::new();
    while let Some(cut) = lines.next().unwrap() {
        let text = lines.text(&cut).map(str::to_owned);
        found.push((
            cut.number,
            cut.offset,
            text.map_err(|fault| fault.to_string()),
        ));
    }
    found
}

#[test]
fn lines_keep_their_numbers_and_places() {
    let text = |text: &str| Ok(text.to_owned());
    for (bytes, expected) in [
        ("", vec![]),
        ("\n\n \t\r\n", vec![]),
        ("a", vec![(1, 0, text("a"))]),
        ("a\n", vec![(1, 0, text("a"))]),
        ("a\nb", vec![(1, 0, text("a")), (2, 2, text("b"))]),
        (
            "\n\na\r\n\nb\r\n",
            vec![(3, 2, text("a")), (5, 6, text("b"))],
        ),
        (
            "\u{FEFF}a\n\u{FEFF}b",
            vec![(1, 0, text("a")), (2, 5, text("\u{FEFF}b"))],
        ),
    ] {
        assert_eq!(cut(bytes.as_bytes()), expected, "{bytes:?}");
    }
}

#[test]
fn a_line_tells_whether_it_has_an_end() {
    let mut lines = Lines::of(&b"a\nb"[..]);
    let ends = [
        lines.next().unwrap(),
        lines.next().unwrap(),
        lines.next().unwrap(),
    ];
    assert_eq!(
        ends.map(|cut| cut.map(|cut| cut.ended)),
        [Some(true), Some(false), None]
    );
}

#[test]
fn damage_is_told_where_it_begins() {
    let found = cut(b"ab\xFFc\na\0b\n");
    let reasons = found.into_iter().map(|(.., text)| text.unwrap_err());
    assert_eq!(
        reasons.collect::<Vec<_>>(),
        [
            "is not UTF-8 from byte 3 on",
            "has NUL bytes: the file was damaged here",
        ],
        "B146"
    );
}

/// A line may be as long as it may be and not a byte longer, whatever ends it; what is too long takes
/// no more memory than what is not, and the line behind it is read.
#[test]
fn a_line_takes_as_much_memory_as_a_line_may_have() {
    for (bytes, end, fits) in [
        (IMPORT_LINE_BYTES_MAX, "\n", true),
        (IMPORT_LINE_BYTES_MAX, "\r\n", true),
        (IMPORT_LINE_BYTES_MAX + 1, "\n", false),
        (IMPORT_LINE_BYTES_MAX + 1, "\r\n", false),
        (4 * IMPORT_LINE_BYTES_MAX, "\n", false),
    ] {
        let mut file = vec![b'x'; bytes];
        file.extend_from_slice(end.as_bytes());
        file.extend_from_slice(b"next\n");
        let mut lines = Lines::of(&file[..]);
        let long = lines.next().unwrap().unwrap();
        assert_eq!(lines.text(&long).is_ok(), fits, "{bytes} {end:?}");
        assert!(
            lines.line.len() <= IMPORT_LINE_BYTES_MAX + 2,
            "{bytes} {end:?}"
        );
        let next = lines.next().unwrap().unwrap();
        assert_eq!((next.number, lines.text(&next).unwrap()), (2, "next"));
    }
}

proptest! {
    /// No byte is lost: lines begin where the one before them ends.
    #[test]
    fn any_bytes_are_cut_at_their_line_breaks(bytes in proptest::collection::vec(
        prop_oneof![Just(b'\n'), Just(b'\r'), Just(b' '), any::<u8>()], 0..200,
    )) {
        let mut lines = Lines::of(&bytes[..]);
        while let Some(Cut { offset, number, bytes: length, ended }) = lines.next().unwrap() {
            let start = usize::try_from(offset).unwrap();
            let end = start + usize::try_from(length).unwrap();
            let before = bytes[..start].split(|byte| *byte == b'\n').count();
            prop_assert_eq!(number, u64::try_from(before).unwrap());
            prop_assert!(!bytes[start..end].contains(&b'\n'));
            prop_assert_eq!(bytes.get(end), ended.then_some(&b'\n'));
        }
    }
}
