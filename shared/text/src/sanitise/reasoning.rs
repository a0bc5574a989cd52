//! Reasoning that a model wrote into its answer: `<think>` and its like, and `<final>` markers.

use std::ops::Range;

use super::code::Code;
use super::cuts::Cuts;
use super::scan::{part, spend};
use super::tags::{Head, Tail, heads, past_attributes};

/// What vendors set before the names, all but `antthinking`.
const PREFIXES: [&str; 2] = ["antml:", "mm:"];

/// Takes out reasoning with its tags, and `<final>` markers alone.
///
/// Blocks nest. What stands before a closing tag that nothing opened is reasoning whose beginning
/// was lost, where text stands on both sides of it. What follows a tag that nothing closes goes,
/// unless nothing would be left to see: then the tag goes alone.
///
/// Source: run:Z2, run:Z3, run:Z4, run:Z5, B152, B154, B155, B156.
pub(super) fn strip(text: &str) -> Option<String> {
    let code = Code::of(text);
    let mut pass = Pass {
        text,
        cuts: Cuts::new(text),
        open: Vec::new(),
        strays: Vec::new(),
    };
    for head in heads(text, &code).filter(|head| is_name(head.name)) {
        if let Some(tail) = head.tail(text) {
            pass.take(&head, tail);
        }
    }
    pass.drop_unclosed();
    pass.drop_before_stray();
    pass.cuts.apply()
}

/// Whether the tag's name is one of reasoning, or `final`.
pub(super) fn is_name(name: &str) -> bool {
    is_final(name) || is_reasoning(name)
}

fn is_final(name: &str) -> bool {
    name.eq_ignore_ascii_case("final")
}

fn is_reasoning(name: &str) -> bool {
    if name.eq_ignore_ascii_case("antthinking") {
        return true;
    }
    let plain = PREFIXES.iter().find_map(|prefix| {
        let (start, plain) = name.split_at_checked(prefix.len())?;
        start.eq_ignore_ascii_case(prefix).then_some(plain)
    });
    let plain = plain.unwrap_or(name);
    ["think", "thinking", "thought"]
        .iter()
        .any(|known| plain.eq_ignore_ascii_case(known))
}

#[derive(Debug)]
struct Pass<'t> {
    text: &'t str,
    cuts: Cuts<'t>,
    /// Where the blocks start that are open, the outermost first.
    open: Vec<usize>,
    /// Closing tags that nothing opened.
    strays: Vec<Range<usize>>,
}

impl Pass<'_> {
    fn take(&mut self, head: &Head<'_>, tail: Tail<'_>) {
        let tag = head.start..tail.end;
        if is_final(head.name) {
            if past_attributes(tail.attributes, true).is_empty() {
                self.cuts.push(tag);
            }
        } else if !head.closes {
            if !tail.closes_itself {
                self.open.push(tag.start);
            }
            self.cuts.push(tag);
        } else if let Some(start) = self.open.pop() {
            self.cuts.uncover(start);
            self.cuts.push(start..tag.end);
        } else {
            self.strays.push(tag.clone());
            self.cuts.push(tag);
        }
    }

    fn drop_unclosed(&mut self) {
        let Some(start) = self.open.first().copied() else {
            return;
        };
        let shown = self.visible();
        if shown.first().is_some_and(|piece| piece.start < start) {
            self.cuts.uncover(start);
            self.cuts.push(start..self.text.len());
        }
    }

    fn drop_before_stray(&mut self) {
        if self.strays.is_empty() {
            return;
        }
        let shown = self.visible();
        let (Some(first), Some(last)) = (shown.first(), shown.last()) else {
            return;
        };
        let mut latest_first = self.strays.iter().rev();
        let between = latest_first.find(|tag| first.end <= tag.start && tag.end <= last.start);
        if let Some(tag) = between {
            self.cuts.cover_start(tag.end);
        }
    }

    /// The pieces that stay and have more in them than whitespace.
    fn visible(&self) -> Vec<Range<usize>> {
        spend(self.text.len());
        let mut kept = self.cuts.kept();
        kept.retain(|piece| !part(self.text, piece.clone()).trim().is_empty());
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_block_goes() {
        let names = [
            "think",
            "thinking",
            "thought",
            "antthinking",
            "THINK",
            "Thinking",
            "mm:think",
            "mm:thinking",
            "mm:thought",
            "MM:Think",
        ];
        let vendor = ["think", "thinking", "thought"].map(|name| format!("antml:{name}"));
        let names = names.into_iter().chain(vendor.iter().map(String::as_str));
        for name in names {
            for open in [
                format!("<{name}>"),
                format!("< {name} >"),
                format!("<\t{name}\n>"),
                format!("<{name} type=\"deep\" id='1'>"),
            ] {
                for close in [format!("</{name}>"), format!("< / {name} >")] {
                    let text = format!("a{open}secret{close}b");
                    assert_eq!(strip(&text).as_deref(), Some("ab"), "run:Z2 B152 {text}");
                }
            }
        }
    }

    #[test]
    fn half_open_blocks_leave_what_was_said() {
        let cases = [
            ("plan </think>answer", "answer", "run:Z5 B154"),
            ("a</think>b</think>c", "c", "run:Z5"),
            ("a</think>b</think> ", "b ", "run:Z5"),
            ("</think>a</think>", "a", "run:Z5"),
            ("a</think><think>b</think>", "a", "run:Z5"),
            ("Answer. <think>b", "Answer. ", "run:Z4 B155"),
            ("<think>a", "a", "run:Z4 B155"),
            (" <think>a <think>b</think> c", " a  c", "run:Z4"),
            ("<think><think>a", "a", "run:Z4"),
            ("<think>a</think>", "", "run:Z2"),
            ("Hi <think/>there", "Hi there", "run:Z2"),
            ("<final>a<think>b</think></final>", "a", "run:Z3"),
        ];
        for (text, expected, id) in cases {
            assert_eq!(strip(text).as_deref(), Some(expected), "{id} {text:?}");
        }
    }

    #[test]
    fn lookalikes_and_code_stay() {
        let cases = [
            "<thinker>",
            "<finally>",
            "<final \"x\">",
            "`<think>`",
            "<think",
            "<think-x>",
            "<antml>",
            "<mm:antthinking>x",
        ];
        for text in cases {
            assert_eq!(strip(text), None, "run:Z1 run:Z3 {text:?}");
        }
    }
}
