//! Lines in which a program tells what a tool does.

use super::code::Code;
use super::cuts::Cuts;
use super::families::TRACE_WORDS;
use super::scan::{line_end, line_start, part, rest, skip_blanks, skip_line_end};

/// What such a line begins with: a picture, or a name in one of its usual cases.
pub(super) const BEGINNINGS: [&str; 13] = [
    "🛠",
    "📖",
    "📝",
    "🔍",
    "🔎",
    "⚙",
    "📊",
    "tool_",
    "Tool_",
    "TOOL_",
    "function_",
    "Function_",
    "FUNCTION_",
];

/// What tools are called in such lines, with blanks between words.
const LABELS: [&str; 26] = [
    "apply patch",
    "bash",
    "browser",
    "command",
    "edit",
    "exec",
    "fetch",
    "find",
    "function call",
    "glob",
    "grep",
    "ls",
    "memory get",
    "memory search",
    "patch",
    "process",
    "read",
    "run",
    "search",
    "shell",
    "tool",
    "tool call",
    "tool result",
    "web fetch",
    "web search",
    "write",
];

/// Names that begin such a line without a picture.
const PREFIXES: [&str; 6] = [
    "tool_call",
    "tool_calls",
    "tool_result",
    "function_call",
    "function_calls",
    "function_response",
];

/// The longest label that is read, in bytes.
const LABEL_BYTES_MAX: usize = 64;

/// Takes out each whole line that begins with a picture, a tool's label and a colon, or with a name
/// such as `tool_call:`.
///
/// Source: run:Z21.
pub(super) fn strip(text: &str) -> Option<String> {
    let code = Code::of(text);
    let mut cuts = Cuts::new(text);
    for word in TRACE_WORDS.find_iter(text) {
        let at = word.start();
        if at < cuts.end() || code.holds(at) || !is_trace(text, at) {
            continue;
        }
        if let Some(start) = line_start(text, at) {
            cuts.push(start..skip_line_end(text, line_end(text, at)));
        }
    }
    cuts.apply()
}

/// Whether the line that begins at `at`, but for blanks, tells what a tool does.
pub(super) fn is_trace(text: &str, at: usize) -> bool {
    let picture = rest(text, at).chars().next().unwrap_or_default();
    if picture.is_ascii() {
        return label(text, at).is_some_and(|label| is_one_of(&PREFIXES, label));
    }
    let mut start = at + picture.len_utf8();
    if rest(text, start).starts_with('\u{fe0f}') {
        start += '\u{fe0f}'.len_utf8();
    }
    label(text, skip_blanks(text, start)).is_some_and(is_tool)
}

/// What stands before the colon, in letters, digits and what joins words.
fn label(text: &str, start: usize) -> Option<&str> {
    let bytes = text.as_bytes().get(start..)?.iter().take(LABEL_BYTES_MAX);
    let is_label = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_- ".contains(byte);
    let end = start + bytes.take_while(is_label).count();
    rest(text, end)
        .starts_with(':')
        .then(|| part(text, start..end).trim_end())
}

/// Whether this is a known label, or a name such as only tools have.
fn is_tool(label: &str) -> bool {
    let words = label.replace(['_', '-'], " ");
    let is_name = label.contains('_') && !label.contains(' ');
    is_one_of(&LABELS, &words) || is_name
}

fn is_one_of(known: &[&str], label: &str) -> bool {
    known.iter().any(|known| label.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_about_tools_go() {
        let cases = [
            ("A\n🔍 Search: x\nB", "A\nB"),
            ("🛠️ Exec: ls", ""),
            ("A\r\n⚙️ web_fetch: x\r\nB", "A\r\nB"),
            ("A\n  📖 Read: x", "A\n"),
            ("🔎Web Search: x\n📝 Write: y\n", ""),
            ("📊 sessions_list: x", ""),
            ("Tool_Call: read\nB", "B"),
            ("function_response: {}\nB", "B"),
        ];
        for (text, expected) in cases {
            assert_eq!(strip(text).as_deref(), Some(expected), "run:Z21 {text:?}");
        }
    }

    #[test]
    fn what_people_are_told_stays() {
        let cases = [
            "📊 Results of the survey: good",
            "📝 Note: buy milk",
            "See 🔍 Search: x",
            "```\n🔍 Search: x\n```",
            "tool_choice: auto",
            "📖",
            "🔍 Search",
        ];
        for text in cases {
            assert_eq!(strip(text), None, "run:Z21 {text:?}");
        }
    }
}
