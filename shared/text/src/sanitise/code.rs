//! Where a text is code, so that no pass takes anything out of it.

use std::collections::BTreeMap;
use std::ops::Range;

use memchr::memchr2;

use super::scan::spend;

/// How many marks open a fence.
const FENCE_MARKS_MIN: usize = 3;

/// The stretches of a text that are code: fenced blocks, and code spans within one paragraph.
///
/// A fence begins a line with three or more backticks or tildes and ends with such a line of its
/// own, or with the text. A code span ends with a run of exactly as many backticks as begin it.
///
/// Source: run:Z1.
#[derive(Debug, Default)]
pub(super) struct Code {
    spans: Vec<Range<usize>>,
}

impl Code {
    /// Finds all code of `text`, in one reading.
    pub(super) fn of(text: &str) -> Self {
        spend(text.len());
        let mut code = Self::default();
        if memchr2(b'`', b'~', text.as_bytes()).is_some() {
            code.read(text);
        }
        code
    }

    /// Whether the character at `at` is code.
    pub(super) fn holds(&self, at: usize) -> bool {
        let next = self.spans.partition_point(|span| span.end <= at);
        self.spans.get(next).is_some_and(|span| span.start <= at)
    }

    fn read(&mut self, text: &str) {
        let mut open: Option<Fence> = None;
        let mut paragraph = Runs::default();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let end = start + line.len();
            if let Some(fence) = open.take() {
                if fence.is_closed_by(line) {
                    self.spans.push(fence.start..end);
                } else {
                    open = Some(fence);
                }
            } else if let Some(fence) = Fence::opened_by(line, start) {
                paragraph.close(&mut self.spans);
                open = Some(fence);
            } else if line.trim().is_empty() {
                paragraph.close(&mut self.spans);
            } else {
                paragraph.read(line, start);
            }
            start = end;
        }
        paragraph.close(&mut self.spans);
        self.spans.extend(open.map(|fence| fence.start..text.len()));
    }
}

/// A fence that is open.
#[derive(Clone, Copy, Debug)]
struct Fence {
    start: usize,
    mark: char,
    marks: usize,
}

impl Fence {
    fn opened_by(line: &str, start: usize) -> Option<Self> {
        let mark = line.chars().next().filter(|mark| "`~".contains(*mark))?;
        let marks = leading(line, mark);
        let is_fence = marks >= FENCE_MARKS_MIN;
        // A line such as "```code``` and prose" holds a code span.
        let is_span = mark == '`' && line.trim_start_matches(mark).contains(mark);
        (is_fence && !is_span).then_some(Self { start, mark, marks })
    }

    fn is_closed_by(self, line: &str) -> bool {
        let marks = leading(line, self.mark);
        marks >= self.marks && line.trim_end().len() == marks
    }
}

fn leading(line: &str, mark: char) -> usize {
    line.len() - line.trim_start_matches(mark).len()
}

/// The runs of backticks of one paragraph, in order.
#[derive(Debug, Default)]
struct Runs {
    runs: Vec<Range<usize>>,
}

impl Runs {
    fn read(&mut self, line: &str, start: usize) {
        for (at, _) in line.match_indices('`') {
            let at = start + at;
            match self.runs.last_mut() {
                Some(run) if run.end == at => run.end += 1,
                Some(_) | None => self.runs.push(at..at + 1),
            }
        }
    }

    /// Pairs the runs, and begins a new paragraph.
    fn close(&mut self, spans: &mut Vec<Range<usize>>) {
        let mates = self.mates();
        let mut free_from = 0;
        for (run, mate) in self.runs.drain(..).zip(mates) {
            if let Some(end) = mate
                && run.start >= free_from
            {
                free_from = end;
                spans.push(run.start..end);
            }
        }
    }

    /// For each run, where the next one of its length ends.
    fn mates(&self) -> Vec<Option<usize>> {
        let mut next: BTreeMap<usize, usize> = BTreeMap::new();
        let backwards = self.runs.iter().rev();
        let mut mates: Vec<Option<usize>> = backwards
            .map(|run| next.insert(run.len(), run.end))
            .collect();
        mates.reverse();
        mates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Vec<&str> {
        let spans = Code::of(text).spans;
        spans.into_iter().map(|span| &text[span]).collect()
    }

    #[test]
    fn fences_and_spans_are_code() {
        let cases: [(&str, &[&str]); 12] = [
            ("a `b` c", &["`b`"]),
            ("``a ` b`` c", &["``a ` b``"]),
            ("a ` b `` c", &[]),
            ("`a\nb`", &["`a\nb`"]),
            ("a ` b\n\nc ` d", &[]),
            ("```\na\n```\nb", &["```\na\n```\n"]),
            ("~~~~\n~~~\n~~~~", &["~~~~\n~~~\n~~~~"]),
            ("```\na\n~~~\nb", &["```\na\n~~~\nb"]),
            ("```a``` b", &["```a```"]),
            ("a\r\n```\r\nb\r\n```\r\nc", &["```\r\nb\r\n```\r\n"]),
            ("a ``` b", &[]),
            ("`` `a` ``", &["`` `a` ``"]),
        ];
        for (text, expected) in cases {
            assert_eq!(code(text), expected, "run:Z1 {text:?}");
        }
    }

    #[test]
    fn a_place_is_held_from_the_first_mark_to_the_last() {
        let code = Code::of("a `b` c");
        let held: Vec<usize> = (0..7).filter(|at| code.holds(*at)).collect();
        assert_eq!(held, [2, 3, 4]);
    }
}
