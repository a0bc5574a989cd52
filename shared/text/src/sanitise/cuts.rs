//! Taking stretches out of a text.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::scan::{part, rest, spend};

/// Stretches that one pass takes out, in the order of the text.
#[derive(Debug)]
pub(super) struct Cuts<'t> {
    text: &'t str,
    cuts: Vec<Cut>,
}

#[derive(Debug)]
struct Cut {
    range: Range<usize>,
    parts_words: bool,
}

impl<'t> Cuts<'t> {
    /// Nothing is taken out yet.
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            cuts: Vec::new(),
        }
    }

    /// Takes `range` out.
    pub(super) fn push(&mut self, range: Range<usize>) {
        self.cuts.push(Cut {
            range,
            parts_words: false,
        });
    }

    /// Takes `range` out; a blank stays where it stood between two letters or digits (D59).
    pub(super) fn push_between_words(&mut self, range: Range<usize>) {
        self.cuts.push(Cut {
            range,
            parts_words: true,
        });
    }

    /// Gives back the stretches from `from` on, since a larger one covers them.
    pub(super) fn uncover(&mut self, from: usize) {
        while self.cuts.pop_if(|cut| cut.range.start >= from).is_some() {}
    }

    /// Takes out everything before `end`.
    pub(super) fn cover_start(&mut self, end: usize) {
        self.cuts.retain(|cut| cut.range.start >= end);
        let start = Cut {
            range: 0..end,
            parts_words: false,
        };
        self.cuts.insert(0, start);
    }

    /// The end of the last stretch.
    pub(super) fn end(&self) -> usize {
        self.cuts.last().map_or(0, |cut| cut.range.end)
    }

    /// What stays, piece by piece.
    pub(super) fn kept(&self) -> Vec<Range<usize>> {
        let mut from = 0;
        let mut kept = Vec::new();
        for cut in &self.cuts {
            kept.push(from..cut.range.start);
            from = cut.range.end;
        }
        kept.push(from..self.text.len());
        kept
    }

    /// The text without the stretches; `None` where there are none.
    ///
    /// Marks that would join what stands before a stretch, or begin the text, go with it.
    ///
    /// Source: B216, D59.
    pub(super) fn apply(self) -> Option<String> {
        if self.cuts.is_empty() {
            return None;
        }
        spend(self.text.len());
        let mut left = String::with_capacity(self.text.len());
        let mut from = 0;
        let mut cuts = self.cuts.into_iter().peekable();
        while let Some(cut) = cuts.next() {
            left.push_str(part(self.text, from..cut.range.start));
            from = past_marks(self.text, cut.range.end.max(from));
            let mut parts_words = cut.parts_words;
            while let Some(next) = cuts.next_if(|next| next.range.start <= from) {
                from = past_marks(self.text, next.range.end.max(from));
                parts_words |= next.parts_words;
            }
            if parts_words && left.ends_with(is_word) && rest(self.text, from).starts_with(is_word)
            {
                left.push(' ');
            }
        }
        left.push_str(rest(self.text, from));
        Some(left)
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric()
}

/// The end of the marks from `at` on that would join the character before them.
pub(super) fn past_marks(text: &str, at: usize) -> usize {
    let after = rest(text, at);
    let length = after
        .find(|character| !joins(character))
        .unwrap_or(after.len());
    at + length
}

/// Whether `character` is shown as a part of the one before it.
fn joins(character: char) -> bool {
    if character.is_ascii() {
        return false;
    }
    let pair = String::from_iter(['a', character]);
    pair.graphemes(true).nth(1).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text without its dashes, each taken out by itself.
    fn without_dashes(text: &str) -> Option<String> {
        let mut cuts = Cuts::new(text);
        for (at, dash) in text.match_indices('-') {
            cuts.push_between_words(at..at + dash.len());
        }
        cuts.apply()
    }

    #[test]
    fn a_blank_stays_between_words_alone() {
        let cases = [
            ("ab--cd", "ab cd"),
            ("ab--", "ab"),
            ("--cd", "cd"),
            ("a.--cd", "a.cd"),
            ("ab--.", "ab."),
            ("ä--7", "ä 7"),
        ];
        for (text, expected) in cases {
            let left = without_dashes(text);
            assert_eq!(left.as_deref(), Some(expected), "D59 {text:?}");
        }
    }

    #[test]
    fn marks_behind_a_cut_go_with_it() {
        let text = "e--\u{301}\u{200d}x-\u{301}-";
        assert_eq!(without_dashes(text).as_deref(), Some("e x"), "B216");
        let first = "--\u{301}x";
        assert_eq!(without_dashes(first).as_deref(), Some("x"), "B216");
    }

    #[test]
    fn without_a_cut_nothing_is_made() {
        assert_eq!(without_dashes("text"), None);
    }

    #[test]
    fn an_uncovered_cut_is_not_made() {
        let mut cuts = Cuts::new("abcdef");
        cuts.push(0..1);
        cuts.push(2..3);
        cuts.uncover(1);
        assert_eq!(cuts.kept(), [0..0, 1..6]);
    }
}
