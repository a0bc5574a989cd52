//! Reading a text byte by byte, with the work that it costs counted.

use std::cell::Cell;

use memchr::memchr2;

/// The last bytes of a mask's `…`, after which nothing begins.
const ELLIPSIS: &str = "…";
/// How many letters a mask shows behind its `…`.
const MASK_END_BYTES: usize = 4;

/// A text, and how many bytes of it were looked at.
#[derive(Debug)]
pub(super) struct Reader<'t> {
    text: &'t str,
    work: Cell<usize>,
}

impl<'t> Reader<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            work: Cell::new(text.len()),
        }
    }

    pub(super) fn text(&self) -> &'t str {
        self.text
    }

    /// Bytes looked at so far; what a test of linearity counts.
    #[cfg(test)]
    pub(super) fn work(&self) -> usize {
        self.work.get()
    }

    /// Notes that `bytes` more were looked at.
    pub(super) fn worked(&self, bytes: usize) {
        self.work.set(self.work.get() + bytes);
    }

    /// The byte at `at`; NUL beyond the end.
    pub(super) fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// The byte before `at`; NUL at the beginning.
    pub(super) fn before(&self, at: usize) -> u8 {
        at.checked_sub(1).map_or(0, |at| self.byte(at))
    }

    /// The text from `start` to `end`; empty where there is none.
    pub(super) fn slice(&self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or("")
    }

    /// Where the bytes from `from` on stop being in `class`, at most `max` of them.
    pub(super) fn run(&self, from: usize, max: usize, class: fn(u8) -> bool) -> usize {
        let rest = self.text.as_bytes().get(from..).unwrap_or(&[]);
        let length = rest
            .iter()
            .take(max)
            .take_while(|byte| class(**byte))
            .count();
        self.worked(length + 1);
        from + length
    }

    /// Where the bytes before `to` begin to be in `class`, at most `max` of them.
    pub(super) fn run_back(&self, to: usize, max: usize, class: fn(u8) -> bool) -> usize {
        let rest = self.text.as_bytes().get(..to).unwrap_or(&[]);
        let length = rest
            .iter()
            .rev()
            .take(max)
            .take_while(|byte| class(**byte))
            .count();
        self.worked(length + 1);
        to - length
    }

    /// Where `needle` stands at or after `from`, on the same line.
    pub(super) fn find_on_line(&self, needle: u8, from: usize) -> Option<usize> {
        let rest = self.text.as_bytes().get(from..)?;
        let found = memchr2(needle, b'\n', rest);
        self.worked(found.unwrap_or(rest.len()) + 1);
        let at = from + found?;
        (self.byte(at) == needle).then_some(at)
    }

    /// Whether something can begin at `at`: no letter, digit or mask stands right before it.
    ///
    /// The letter of an escape such as `\n` ends a word although it is a letter.
    pub(super) fn begins(&self, at: usize) -> bool {
        if is_word(self.before(at)) {
            return self.follows_escape(at);
        }
        !self.follows_mask(at)
    }

    /// Whether an escape such as `\n` stands right before `at`.
    pub(super) fn follows_escape(&self, at: usize) -> bool {
        matches!(self.before(at), b'n' | b'r' | b't') && self.before(at - 1) == b'\\'
    }

    /// Whether the `…` of a mask stands right before `at`: what follows it is no longer than the end
    /// that a mask shows.
    pub(super) fn follows_mask(&self, at: usize) -> bool {
        let ellipsis = at.checked_sub(ELLIPSIS.len());
        ellipsis.is_some_and(|start| self.slice(start, at) == ELLIPSIS)
            && self.run(at, MASK_END_BYTES + 1, is_name) <= at + MASK_END_BYTES
    }
}

/// Letters, digits and `_`.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// What the names of fields, flags and headers are made of.
pub(super) fn is_name(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

/// Blanks within a line.
pub(super) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// The characters that quote a value.
pub(super) fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}
