//! Tool calls in plain text that begin a line: `[name]` and `[tool:name]` with their JSON.

use memchr::memchr_iter;

use super::code::Code;
use super::cuts::Cuts;
use super::json::Values;
use super::scan::{
    byte, is_line_start, part, skip_blanks, skip_line_end, skip_whitespace, starts_with,
};

/// The longest name of a tool that is read, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// The largest JSON of a call, in bytes (run:Z20).
pub(super) const JSON_BYTES_MAX: usize = 256_000;

/// What stands before a tool's name where the JSON may follow on the same line.
const TOOL_PREFIX: &str = "tool:";

/// Takes out `[name]`, an object on the next line, and `[/name]` or `[END_TOOL_REQUEST]`; and
/// `[tool:name]` with its object.
///
/// Source: run:Z20.
pub(super) fn strip(text: &str) -> Option<String> {
    let code = Code::of(text);
    let mut values = Values::new(text, JSON_BYTES_MAX);
    let mut cuts = Cuts::new(text);
    for start in memchr_iter(b'[', text.as_bytes()) {
        if start >= cuts.end()
            && is_line_start(text, start)
            && !code.holds(start)
            && let Some(end) = call_end(text, start, &mut values)
        {
            cuts.push(start..end);
        }
    }
    cuts.apply()
}

/// Whether a call may begin with the bracket at `start`, which begins a line.
pub(super) fn may_begin(text: &str, start: usize) -> bool {
    Opening::read(text, start).is_some()
}

fn call_end(text: &str, start: usize, values: &mut Values<'_>) -> Option<usize> {
    let opening = Opening::read(text, start)?;
    let json_end = values.end(opening.json)?;
    let close = skip_whitespace(text, json_end);
    match close_end(text, close, opening.name) {
        Some(end) => Some(end),
        None => opening.closes_itself.then_some(json_end),
    }
}

fn close_end(text: &str, close: usize, name: &str) -> Option<usize> {
    ["[END_TOOL_REQUEST]".to_owned(), format!("[/{name}]")]
        .iter()
        .find(|word| starts_with(text, close, word))
        .map(|word| close + word.len())
}

/// `[name]` and the place where its object begins.
#[derive(Clone, Copy, Debug)]
struct Opening<'t> {
    name: &'t str,
    json: usize,
    closes_itself: bool,
}

impl<'t> Opening<'t> {
    fn read(text: &'t str, start: usize) -> Option<Self> {
        let bytes = text
            .as_bytes()
            .get(start + 1..)?
            .iter()
            .take(NAME_BYTES_MAX);
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(byte);
        let name_end = start + 1 + bytes.take_while(is_name).count();
        let name = part(text, start + 1..name_end);
        if name.is_empty() || byte(text, name_end) != Some(b']') {
            return None;
        }
        let closes_itself = starts_with(name, 0, TOOL_PREFIX);
        let line_end = skip_blanks(text, name_end + 1);
        if !closes_itself && skip_line_end(text, line_end) == line_end {
            return None;
        }
        let json = skip_whitespace(text, line_end);
        (byte(text, json) == Some(b'{')).then_some(Self {
            name,
            json,
            closes_itself,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_go() {
        let cases = [
            ("A\n[read]\n{\"a\":\"]}\"}\n[/read]\nB", "A\n\nB"),
            ("[read]\r\n{}\r\n[end_tool_request]", ""),
            ("[tool:read]{\"a\":1}\nB", "\nB"),
            ("[tool:read] {\"a\":1}[/tool:read]B", "B"),
        ];
        for (text, expected) in cases {
            assert_eq!(strip(text).as_deref(), Some(expected), "run:Z20 {text:?}");
        }
    }

    #[test]
    fn brackets_in_prose_and_code_stay() {
        let cases = [
            "A [read]\n{}\n[/read]",
            "[read]{}[/read]",
            "[read]\n{}\n[/write]",
            "[read]\n{\n[/read]",
            "```\n[read]\n{}\n[/read]\n```",
            "[a link](b)",
            "[x]\ntext",
        ];
        for text in cases {
            assert_eq!(strip(text), None, "run:Z20 {text:?}");
        }
    }

    #[test]
    fn an_object_beyond_the_bound_stays() {
        let call = |bytes: usize| format!("[tool:a]{{\"{}\"}}", "x".repeat(bytes - 4));
        assert!(strip(&call(JSON_BYTES_MAX)).is_some());
        assert_eq!(strip(&call(JSON_BYTES_MAX + 1)), None, "run:Z20");
    }
}
