//! Looking ahead in a text without ever looking at the same stretch twice.

use std::ops::Range;

use memchr::{memchr, memrchr};

/// The next place of one needle, in any ASCII case, at or after a place that only grows.
///
/// What was found, or that nothing was, is remembered: all questions together read the text once.
#[derive(Debug)]
pub(super) struct Ahead<'t> {
    text: &'t str,
    needle: &'static str,
    asked_from: usize,
    found: Option<usize>,
}

impl<'t> Ahead<'t> {
    /// A search for `needle`, which begins with an ASCII character that is no letter.
    pub(super) fn new(text: &'t str, needle: &'static str) -> Self {
        let mut ahead = Self {
            text,
            needle,
            asked_from: 0,
            found: None,
        };
        ahead.search(0);
        ahead
    }

    /// Where the needle next begins.
    pub(super) fn start(&mut self, from: usize) -> Option<usize> {
        let known = from >= self.asked_from && self.found.is_none_or(|found| from <= found);
        if !known {
            self.search(from);
        }
        self.found
    }

    /// Where the needle next ends.
    pub(super) fn end(&mut self, from: usize) -> Option<usize> {
        self.start(from).map(|start| start + self.needle.len())
    }

    fn search(&mut self, from: usize) {
        self.asked_from = from;
        self.found = self.find(from);
        spend(self.found.unwrap_or(self.text.len()).saturating_sub(from) + 1);
    }

    fn find(&self, from: usize) -> Option<usize> {
        let first = *self.needle.as_bytes().first()?;
        let mut at = from;
        loop {
            at += memchr(first, self.text.as_bytes().get(at..)?)?;
            if starts_with(self.text, at, self.needle) {
                return Some(at);
            }
            at += 1;
        }
    }
}

/// The text of `range`, or nothing where the range is no part of the text.
pub(super) fn part(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}

/// The text from `at` on.
pub(super) fn rest(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

/// The byte at `at`.
pub(super) fn byte(text: &str, at: usize) -> Option<u8> {
    text.as_bytes().get(at).copied()
}

/// Whether `word` stands at `at`, in any ASCII case.
pub(super) fn starts_with(text: &str, at: usize, word: &str) -> bool {
    let bytes = text.as_bytes().get(at..at + word.len());
    bytes.is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
}

/// The end of the run of characters from `at` on that `is_one` holds for.
pub(super) fn skip(text: &str, at: usize, is_one: impl Fn(char) -> bool) -> usize {
    let after = rest(text, at);
    let length = after
        .find(|character| !is_one(character))
        .unwrap_or(after.len());
    spend(length + 1);
    at + length
}

/// The end of the whitespace from `at` on, line ends included.
pub(super) fn skip_whitespace(text: &str, at: usize) -> usize {
    skip(text, at, char::is_whitespace)
}

/// The end of the blanks from `at` on, on the same line.
pub(super) fn skip_blanks(text: &str, at: usize) -> usize {
    skip(text, at, is_blank)
}

/// The place behind a line end at `at`, or `at` where there is none.
pub(super) fn skip_line_end(text: &str, at: usize) -> usize {
    let after = rest(text, at);
    if after.starts_with("\r\n") {
        at + 2
    } else if after.starts_with('\n') {
        at + 1
    } else {
        at
    }
}

/// Where the line that holds `at` ends, before its line end.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let after = rest(text, at);
    let length = memchr(b'\n', after.as_bytes()).unwrap_or(after.len());
    spend(length + 1);
    at + length
}

/// What stands before `at`, without the blanks between.
pub(super) fn before_blanks(text: &str, at: usize) -> &str {
    let before = part(text, 0..at);
    let trimmed = before.trim_end_matches(is_blank);
    spend(before.len() - trimmed.len() + 1);
    trimmed
}

/// Whether nothing but blanks stands before `at` in its line.
pub(super) fn begins_line(text: &str, at: usize) -> bool {
    let before = before_blanks(text, at);
    before.is_empty() || before.ends_with('\n')
}

/// Where the line that holds `at` starts, if only blanks stand before it.
pub(super) fn line_start(text: &str, at: usize) -> Option<usize> {
    let before = before_blanks(text, at);
    (before.is_empty() || before.ends_with('\n')).then_some(before.len())
}

/// Whether `at` is the first place of a line.
pub(super) fn is_line_start(text: &str, at: usize) -> bool {
    memrchr(b'\n', part(text, at.saturating_sub(1)..at).as_bytes()).is_some() || at == 0
}

fn is_blank(character: char) -> bool {
    character == ' ' || character == '\t'
}

/// Counts work that was done; free outside this crate's own tests.
#[cfg(not(test))]
pub(super) fn spend(_steps: usize) {}

#[cfg(test)]
pub(super) use counted::spend;

#[cfg(test)]
pub(super) mod counted {
    //! How many bytes were looked at, so that tests can hold it against a text's length.

    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    /// Counts `steps` more.
    pub(in crate::sanitise) fn spend(steps: usize) {
        STEPS.with(|total| total.set(total.get() + steps));
    }

    /// What was counted since the last call.
    pub(in crate::sanitise) fn take() -> usize {
        STEPS.with(Cell::take)
    }
}
