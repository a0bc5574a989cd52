//! What of a text may concern which pass, found in one quick reading.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use memchr::memchr2_iter;

use super::scan::{begins_line, is_line_start, rest, spend, starts_with};
use super::tags::Head;
use super::{minimax, reasoning, standalone, tool_xml, trace};

/// What one pass takes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// `minimax:tool_call`, and tool calls with its marks.
    Minimax,
    /// Tool calls that are written with tags, outside XML.
    TagCalls,
    /// `<|…|>`.
    ControlTokens,
    /// `<relevant-memories>`.
    Memories,
    /// `<tool_call>` and its like.
    ToolXml,
    /// Lines that tell what a tool does.
    Traces,
    /// `[TOOL_CALL]` and `[TOOL_RESULT]`.
    LegacyBlocks,
    /// `[name]` and `[tool:name]`.
    Standalone,
    /// `[Tool Call: …]` and its like.
    Markers,
    /// `<think>` and `<final>`.
    Reasoning,
}

impl Family {
    fn bit(self) -> u16 {
        match self {
            Self::Minimax => 1,
            Self::TagCalls => 1 << 1,
            Self::ControlTokens => 1 << 2,
            Self::Memories => 1 << 3,
            Self::ToolXml => 1 << 4,
            Self::Traces => 1 << 5,
            Self::LegacyBlocks => 1 << 6,
            Self::Standalone => 1 << 7,
            Self::Markers => 1 << 8,
            Self::Reasoning => 1 << 9,
        }
    }
}

/// The families that a text may have something of. None of the others has anything in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Families {
    bits: u16,
}

impl Families {
    /// Reads `text` for all families, in linear time and without copying.
    pub(super) fn of(text: &str) -> Self {
        spend(text.len());
        let mut families = Self::default();
        for at in memchr2_iter(b'<', b'[', text.as_bytes()) {
            families.add_bracket(text, at);
        }
        if has_trace(text) {
            families.add(Family::Traces);
        }
        families
    }

    /// Whether there is none.
    pub(super) fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// Whether `family` is among them.
    pub(super) fn has(self, family: Family) -> bool {
        self.bits & family.bit() != 0
    }

    fn add(&mut self, family: Family) {
        self.bits |= family.bit();
    }

    fn add_bracket(&mut self, text: &str, at: usize) {
        match text.as_bytes().get(at..) {
            Some([b'<', b'|' | 0xef, ..]) => self.add_token(text, at),
            Some([b'<', b']', ..]) if minimax::has_mark(text, at) => self.add(Family::Minimax),
            Some([b'<', next, ..]) if may_begin_tag(*next) => self.add_tag(text, at),
            Some([b'[', ..]) => self.add_square_bracket(text, at),
            Some(_) | None => {},
        }
    }

    fn add_token(&mut self, text: &str, at: usize) {
        if rest(text, at + 1).starts_with(['|', '｜']) {
            self.add(Family::ControlTokens);
            self.add(Family::TagCalls);
        }
    }

    fn add_tag(&mut self, text: &str, at: usize) {
        let Some(head) = Head::read(text, at) else {
            return;
        };
        if reasoning::is_name(head.name) {
            self.add(Family::Reasoning);
        } else if super::memories::is_name(head.name) {
            self.add(Family::Memories);
        } else if minimax::is_name(head.name) {
            self.add(Family::Minimax);
        } else if tool_xml::is_name(head.name) {
            self.add(Family::ToolXml);
            if rest(text, head.name_end).starts_with('=') {
                self.add(Family::TagCalls);
            }
        }
    }

    fn add_square_bracket(&mut self, text: &str, at: usize) {
        let word = at + 1;
        if ["tool call:", "tool result for id", "historical context:"]
            .iter()
            .any(|marker| starts_with(text, word, marker))
        {
            self.add(Family::Markers);
        } else if ["tool_call]", "tool_result]"]
            .iter()
            .any(|marker| starts_with(text, word, marker))
        {
            self.add(Family::LegacyBlocks);
        }
        if is_line_start(text, at) && standalone::may_begin(text, at) {
            self.add(Family::Standalone);
        }
    }
}

/// Whether `byte` behind a bracket may lead to a known name: its first letter, a slash or a blank,
/// which may be one beyond ASCII.
fn may_begin_tag(byte: u8) -> bool {
    matches!(
        byte.to_ascii_lowercase(),
        b'a' | b'f' | b'i' | b'm' | b'p' | b'r' | b't' | b'/' | b' ' | b'\t'..=b'\r' | 0x80..
    )
}

/// What the lines of the trace family begin with.
pub(super) static TRACE_WORDS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::new(trace::BEGINNINGS).expect("a handful of short words is an automaton")
});

fn has_trace(text: &str) -> bool {
    TRACE_WORDS
        .find_iter(text)
        .any(|word| begins_line(text, word.start()) && trace::is_trace(text, word.start()))
}
