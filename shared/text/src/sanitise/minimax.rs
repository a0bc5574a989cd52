//! Tool calls in the manner of one vendor: `<minimax:tool_call>`, and calls with its marks.

use super::code::Code;
use super::cuts::Cuts;
use super::scan::{Ahead, byte, rest, skip_whitespace, starts_with};
use super::tags::{Head, Tail, heads};

/// What the vendor's transport sets before each tag.
const MARK: &str = "]<]minimax[>[";
/// How far the bracket `<` stands in the mark.
const MARK_BRACKET: usize = 1;

/// Takes out tool calls in the manner of one vendor.
///
/// A call with marks goes if it is complete, from the mark of its opening tag to its closing tag; a
/// mark elsewhere stays. Where the text names `minimax:tool_call`, its tags go, and so does each
/// `<invoke …>…</invoke>`.
///
/// Source: run:Z14, B159, B160.
pub(super) fn strip(text: &str) -> Option<String> {
    let code = Code::of(text);
    let mut pass = Pass {
        text,
        cuts: Cuts::new(text),
        marked_close: Ahead::new(text, "]<]minimax[>[</tool_call"),
        invoke_close: Ahead::new(text, "</invoke>"),
        call_close: Ahead::new(text, "</minimax:tool_call>"),
        is_named: heads(text, &code).any(|head| is_name(head.name)),
    };
    for at in memchr::memchr_iter(b'<', text.as_bytes()) {
        if at >= pass.cuts.end() && !code.holds(at) {
            pass.look(at);
        }
    }
    pass.cuts.apply()
}

/// Whether the tag's name is the vendor's.
pub(super) fn is_name(name: &str) -> bool {
    name.eq_ignore_ascii_case("minimax:tool_call")
}

/// Whether the bracket at `at` is that of a mark.
pub(super) fn has_mark(text: &str, at: usize) -> bool {
    at.checked_sub(MARK_BRACKET)
        .is_some_and(|start| starts_with(text, start, MARK))
}

#[derive(Debug)]
struct Pass<'t> {
    text: &'t str,
    cuts: Cuts<'t>,
    marked_close: Ahead<'t>,
    invoke_close: Ahead<'t>,
    call_close: Ahead<'t>,
    is_named: bool,
}

impl Pass<'_> {
    fn look(&mut self, at: usize) {
        if has_mark(self.text, at) {
            self.look_at_mark(at - MARK_BRACKET);
        } else if self.is_named {
            self.look_at_tag(at);
        }
    }

    fn look_at_mark(&mut self, mark: usize) {
        let tag = mark + MARK.len();
        if byte(self.text, tag) != Some(b'<') {
            return;
        }
        let opens = Head::read(self.text, tag).is_some_and(|head| {
            let names_call = ["tool_call", "tool_calls"]
                .iter()
                .any(|name| head.name.eq_ignore_ascii_case(name));
            names_call && !head.closes && head.tail(self.text).is_some()
        });
        if !opens {
            return;
        }
        let Some(close) = self.marked_close.start(tag) else {
            return;
        };
        if let Some((_, tail)) = tag_at(self.text, close + MARK.len()) {
            self.cuts.push(mark..tail.end);
        }
    }

    fn look_at_tag(&mut self, at: usize) {
        let Some((head, tail)) = tag_at(self.text, at) else {
            return;
        };
        if is_name(head.name) {
            let end = self.call_end(&head, tail);
            self.cuts.push(at..end);
        } else if head.name.eq_ignore_ascii_case("invoke")
            && !head.closes
            && let Some(end) = self.invoke_close.end(tail.end)
        {
            self.cuts.push(at..end);
        }
    }

    /// Where the call ends that begins with this tag, or else the tag alone.
    fn call_end(&mut self, head: &Head<'_>, tail: Tail<'_>) -> usize {
        let payload = skip_whitespace(self.text, tail.end);
        let has_payload =
            rest(self.text, payload).starts_with('{') || starts_with(self.text, payload, "<invoke");
        let is_block = !head.closes && !tail.closes_itself && has_payload;
        let closed = is_block.then(|| self.call_close.end(payload));
        closed.flatten().unwrap_or(tail.end)
    }
}

fn tag_at(text: &str, at: usize) -> Option<(Head<'_>, Tail<'_>)> {
    let head = Head::read(text, at)?;
    let tail = head.tail(text)?;
    Some((head, tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_the_vendor_go() {
        let cases = [
            (
                "A<minimax:tool_call>\n<invoke name=\"x\">1</invoke>\n</minimax:tool_call>B",
                "AB",
            ),
            ("A<minimax:tool_call>{\"a\":1}</minimax:tool_call>B", "AB"),
            ("A<minimax:tool_call>text</minimax:tool_call>B", "AtextB"),
            ("A<MiniMax:Tool_Call><invoke name=\"x\">1</invoke>B", "AB"),
            (
                "A]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"r\">x]<]minimax[>[</tool_call>B",
                "AB",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(
                strip(text).as_deref(),
                Some(expected),
                "run:Z14 B160 {text:?}"
            );
        }
    }

    #[test]
    fn marks_without_a_complete_call_and_code_stay() {
        let cases = [
            "The mark ]<]minimax[>[ stands before tags.",
            "]<]minimax[>[<tool_call> and no end",
            "`]<]minimax[>[<tool_call>x]<]minimax[>[</tool_call>`",
            "<invoke name=\"x\">1</invoke>",
        ];
        for text in cases {
            assert_eq!(strip(text), None, "B160 {text:?}");
        }
    }
}
