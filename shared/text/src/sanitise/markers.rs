//! Tool calls and results that were turned into text: `[Tool Call: …]` and its like.

use memchr::memchr_iter;

use super::code::Code;
use super::cuts::{Cuts, past_marks};
use super::json::Values;
use super::scan::{
    Ahead, line_end, rest, skip_blanks, skip_line_end, skip_whitespace, starts_with,
};

/// Takes out `[Tool Call: …]` with its line of arguments, `[Tool Result for ID …]` with what
/// follows up to the next such marker, and `[Historical context: …]` with one line end. Where there
/// was one of them, what is left is trimmed.
///
/// Source: run:Z16, run:Z17, run:Z18.
pub(super) fn strip(text: &str) -> Option<String> {
    let code = Code::of(text);
    let mut pass = Pass {
        text,
        bracket: Ahead::new(text, "]"),
        line_end: Ahead::new(text, "\n"),
        marker: Ahead::new(text, "[Tool "),
        values: Values::new(text, text.len()),
    };
    let mut cuts = Cuts::new(text);
    for start in memchr_iter(b'[', text.as_bytes()) {
        if start >= cuts.end()
            && !code.holds(start)
            && let Some(end) = pass.marker_end(start)
        {
            cuts.push(start..end);
        }
    }
    cuts.apply().map(|left| trimmed(&left).to_owned())
}

fn trimmed(text: &str) -> &str {
    let text = text.trim_end();
    let start = skip_whitespace(text, 0);
    let begun = if start == 0 {
        0
    } else {
        past_marks(text, start)
    };
    rest(text, begun)
}

#[derive(Debug)]
struct Pass<'t> {
    text: &'t str,
    bracket: Ahead<'t>,
    line_end: Ahead<'t>,
    marker: Ahead<'t>,
    values: Values<'t>,
}

impl Pass<'_> {
    fn marker_end(&mut self, start: usize) -> Option<usize> {
        if starts_with(self.text, start, "[Tool Call:") {
            let end = self.bracket_end(start)?;
            Some(self.arguments_end(end).unwrap_or(end))
        } else if starts_with(self.text, start, "[Tool Result for ID") {
            let end = self.bracket_end(start)?;
            Some(self.marker.start(end).unwrap_or(self.text.len()))
        } else if starts_with(self.text, start, "[Historical context:") {
            let end = self.bracket_end(start)?;
            Some(skip_line_end(self.text, end))
        } else {
            None
        }
    }

    /// Behind the bracket that closes a marker, on the same line.
    fn bracket_end(&mut self, start: usize) -> Option<usize> {
        let end = self.bracket.end(start)?;
        let line_end = self.line_end.start(start);
        line_end
            .is_none_or(|line_end| end <= line_end)
            .then_some(end)
    }

    /// Where the arguments end that follow a call: a JSON value, or else their line.
    fn arguments_end(&mut self, call_end: usize) -> Option<usize> {
        let next_line = skip_line_end(self.text, skip_blanks(self.text, call_end));
        let word = skip_blanks(self.text, next_line);
        if !starts_with(self.text, word, "Arguments:") {
            return None;
        }
        let after = word + "Arguments:".len();
        let value = self.values.end(skip_whitespace(self.text, after));
        Some(value.unwrap_or_else(|| line_end(self.text, after)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_go() {
        let cases = [
            ("A\n[Tool Call: x]\nB", "A\n\nB", "run:Z16"),
            (
                "[tool call: x (ID: 1)]\narguments: {\"a\":\n1}\nB",
                "B",
                "run:Z16",
            ),
            (
                "[Tool Call: x]\r\nArguments: bare words\r\nB",
                "B",
                "run:Z16",
            ),
            ("[Tool Call: x] Arguments: {\"a\nB", "B", "run:Z16"),
            (
                "A [Tool Result for ID 1]\nx\n[Tool Call: y]\nB",
                "A \nB",
                "run:Z17",
            ),
            ("A [Tool Result for ID 1]\nx", "A", "run:Z17"),
            ("[Historical context: x]\r\n\nA ", "A", "run:Z18"),
            ("[Historical context: x] \u{301}A", "A", "run:Z18 B216"),
        ];
        for (text, expected, id) in cases {
            assert_eq!(strip(text).as_deref(), Some(expected), "{id} {text:?}");
        }
    }

    #[test]
    fn lookalikes_and_code_stay() {
        let cases = [
            " [Tool Call: x",
            "[Tool Call: x\n]",
            "[Tool Calls: x]",
            "[Tool Result for x]",
            " `[Tool Call: x]`",
            "[Historical note: x]",
        ];
        for text in cases {
            assert_eq!(strip(text), None, "run:Z16 run:Z18 {text:?}");
        }
    }
}
