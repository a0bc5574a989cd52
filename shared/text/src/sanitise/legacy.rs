//! Blocks of an older manner: `[TOOL_CALL]…[/TOOL_CALL]` and `[TOOL_RESULT]…[/TOOL_RESULT]`.

use memchr::{memchr_iter, memmem};

use super::code::Code;
use super::cuts::Cuts;
use super::scan::{Ahead, part, rest, skip_whitespace, spend, starts_with};

/// Takes out the blocks; one that is not closed goes on to the end of the text.
///
/// A call is one only if it says `tool => "…"` and `args =>`.
///
/// Source: run:Z19.
pub(super) fn strip(text: &str) -> Option<String> {
    let code = Code::of(text);
    let arrows = Arrows::of(text);
    let mut call_close = Ahead::new(text, "[/TOOL_CALL]");
    let mut result_close = Ahead::new(text, "[/TOOL_RESULT]");
    let mut cuts = Cuts::new(text);
    for start in memchr_iter(b'[', text.as_bytes()) {
        if start < cuts.end() || code.holds(start) {
            continue;
        }
        if starts_with(text, start, "[TOOL_CALL]") {
            let end = call_close.end(start).unwrap_or(text.len());
            if arrows.make_call(start, end) {
                cuts.push(start..end);
            }
        } else if starts_with(text, start, "[TOOL_RESULT]") {
            cuts.push(start..result_close.end(start).unwrap_or(text.len()));
        }
    }
    cuts.apply()
}

/// Where `tool => "` and `args =>` stand.
#[derive(Debug, Default)]
struct Arrows {
    tools: Vec<usize>,
    arguments: Vec<usize>,
}

impl Arrows {
    fn of(text: &str) -> Self {
        spend(text.len());
        let mut arrows = Self::default();
        for at in memmem::find_iter(text.as_bytes(), "=>") {
            let word_end = part(text, 0..at).trim_end().len();
            spend(at - word_end);
            let word = word_end.saturating_sub("tool".len());
            if starts_with(text, word, "args") {
                arrows.arguments.push(at);
            } else if starts_with(text, word, "tool")
                && rest(text, skip_whitespace(text, at + "=>".len())).starts_with('"')
            {
                arrows.tools.push(at);
            }
        }
        arrows
    }

    fn make_call(&self, start: usize, end: usize) -> bool {
        [&self.tools, &self.arguments].iter().all(|places| {
            let next = places.partition_point(|place| *place < start);
            places.get(next).is_some_and(|place| *place < end)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_go() {
        let cases = [
            ("A[TOOL_CALL]{tool => \"r\", args => {}}[/TOOL_CALL]B", "AB"),
            ("A[tool_call]{tool=>\"r\",args=>{}}[/tool_call]B", "AB"),
            ("A[TOOL_CALL]{tool => \"r\", args => {", "A"),
            ("A[TOOL_RESULT]x[/TOOL_RESULT]B", "AB"),
            ("A[TOOL_RESULT]x", "A"),
        ];
        for (text, expected) in cases {
            assert_eq!(strip(text).as_deref(), Some(expected), "run:Z19 {text:?}");
        }
    }

    #[test]
    fn calls_without_a_tool_or_arguments_and_code_stay() {
        let cases = [
            "[TOOL_CALL]x[/TOOL_CALL]",
            "[TOOL_CALL]tool => \"r\"[/TOOL_CALL] args =>",
            "[TOOL_CALL]args => tool => r",
            "`[TOOL_RESULT]`",
        ];
        for text in cases {
            assert_eq!(strip(text), None, "run:Z19 {text:?}");
        }
    }
}
