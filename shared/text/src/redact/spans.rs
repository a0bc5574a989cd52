//! The places that are hidden, and the text with all of them hidden.

use std::borrow::Cow;
use std::ops::Range;

use super::mask::{HIDDEN, mask};

/// What stands for the body of a private key.
pub(super) const BODY: &str = "\n…redacted…\n";
/// What stands for the body of a private key whose end is missing.
pub(super) const OPEN_BODY: &str = "\n…redacted…";

/// What becomes of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cover {
    /// It stays as it is, and nothing within it is looked at: a mask, a reference.
    Kept,
    /// Its mask stands there.
    Masked,
    /// `***` stands there, however long it is.
    Hidden,
    /// A fixed text stands there.
    Replaced(&'static str),
}

impl Cover {
    fn of(self, value: &str) -> Cow<'_, str> {
        match self {
            Self::Kept => Cow::Borrowed(value),
            Self::Masked => mask(value),
            Self::Hidden => Cow::Borrowed(HIDDEN),
            Self::Replaced(text) => Cow::Borrowed(text),
        }
    }
}

/// One place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) range: Range<usize>,
    pub(super) cover: Cover,
}

/// `text` with every place covered; absent when that changes nothing.
pub(super) fn covered(text: &str, spans: Vec<Span>) -> Option<String> {
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    let mut changed = false;
    for Span { range, cover } in merged(spans) {
        let (Some(between), Some(value)) = (text.get(at..range.start), text.get(range.clone()))
        else {
            continue;
        };
        let instead = cover.of(value);
        changed |= instead != value;
        shown.push_str(between);
        shown.push_str(&instead);
        at = range.end;
    }
    shown.push_str(text.get(at..).unwrap_or(""));
    changed.then_some(shown)
}

/// The places in order, none touching another: what lies within a place is part of it, and two that
/// overlap are one.
fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by(|one, other| {
        let longer_first = other.range.end.cmp(&one.range.end);
        one.range.start.cmp(&other.range.start).then(longer_first)
    });
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.range.end <= last.range.end => {},
            Some(last) if span.range.start < last.range.end => {
                last.range.end = span.range.end;
                last.cover = Cover::Masked;
            },
            Some(_) | None => merged.push(span),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(range: Range<usize>, cover: Cover) -> Span {
        Span { range, cover }
    }

    #[test]
    fn places_that_overlap_are_one() {
        let spans = vec![
            span(4..8, Cover::Masked),
            span(0..6, Cover::Kept),
            span(1..3, Cover::Hidden),
            span(9..10, Cover::Hidden),
        ];
        assert_eq!(covered("0123456789a", spans).as_deref(), Some("***8***a"));
    }

    #[test]
    fn what_is_kept_changes_nothing() {
        let spans = vec![span(0..3, Cover::Kept), span(4..7, Cover::Masked)];
        assert_eq!(covered("abc ***", spans), None);
    }
}
