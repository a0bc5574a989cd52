//! The tags of tools in a text, read once.

use memchr::{memchr_iter, memrchr};

use crate::sanitise::code::Code;
use crate::sanitise::scan::{byte, part, rest, skip_whitespace, spend, starts_with};
use crate::sanitise::tags::{Head, has_attribute, past_attributes};

/// A vendor's prefix, which each name may have.
const PREFIX: &str = "antml:";

/// What the tags inside a call without JSON begin with.
const INNER: [&str; 6] = [
    "function",
    "invoke",
    "parameter",
    "arguments",
    "tool_call",
    "tool_name",
];

/// The names of tools' tags, with or without their prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Name {
    /// `tool_call`.
    ToolCall,
    /// `tool_calls`.
    ToolCalls,
    /// `function_call`.
    FunctionCall,
    /// `function_calls`.
    FunctionCalls,
    /// `function`.
    Function,
    /// `tool_result`.
    ToolResult,
    /// `function_response`.
    FunctionResponse,
    /// `invoke`.
    Invoke,
    /// `parameter`.
    Parameter,
}

impl Name {
    /// The name as it was written, in any case.
    pub(super) fn parse(written: &str) -> Option<Self> {
        let prefixed = starts_with(written, 0, PREFIX);
        let plain = if prefixed {
            rest(written, PREFIX.len())
        } else {
            written
        };
        let known = [
            ("tool_call", Self::ToolCall),
            ("tool_calls", Self::ToolCalls),
            ("function_call", Self::FunctionCall),
            ("function_calls", Self::FunctionCalls),
            ("function", Self::Function),
            ("tool_result", Self::ToolResult),
            ("function_response", Self::FunctionResponse),
            ("invoke", Self::Invoke),
            ("parameter", Self::Parameter),
        ];
        let mut known = known.into_iter();
        known.find_map(|(name, tag)| plain.eq_ignore_ascii_case(name).then_some(tag))
    }
}

/// What follows an opening tag and shows that it begins a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload {
    /// An object or array.
    Json,
    /// Further tags.
    Xml,
}

/// What kind of tag it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// An opening tag, with what follows it.
    Open(Option<Payload>),
    /// A closing tag.
    Close,
    /// A tag such as `<tool_call/>`.
    ClosesItself,
    /// A tag that the end of the text cuts off.
    CutOff,
}

/// One tag of a tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag {
    /// Where its bracket stands.
    pub(super) start: usize,
    /// Behind it; where its payload begins, if the tag itself does not end before.
    pub(super) end: usize,
    /// Whose tag it is.
    pub(super) name: Name,
    /// What kind of tag it is.
    pub(super) shape: Shape,
    /// Whether it is code.
    pub(super) in_code: bool,
    /// Whether it has an attribute `name`.
    pub(super) is_named: bool,
    /// The quotes that stand before it.
    pub(super) quotes_before: Quotes,
    /// The quotes that stand before its end.
    pub(super) quotes_after: Quotes,
}

/// How many quotes stand before a place: in a JSON value that begins at one place, another is in no
/// string if both have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Quotes {
    /// An even number.
    Even,
    /// An odd number.
    Odd,
}

/// All tags of tools, those in code as well.
pub(super) fn tags(text: &str) -> Vec<Tag> {
    let code = Code::of(text);
    let mut quotes = QuoteCount::new(text);
    let mut tags = Vec::new();
    for start in memchr_iter(b'<', text.as_bytes()) {
        let Some(head) = Head::read(text, start) else {
            continue;
        };
        let Some(name) = Name::parse(head.name) else {
            continue;
        };
        if let Some((end, shape)) = shape(text, &head) {
            tags.push(Tag {
                start,
                end,
                name,
                shape,
                in_code: code.holds(start),
                is_named: has_attribute(part(text, head.name_end..end), "name"),
                quotes_before: quotes.before(start),
                quotes_after: quotes.before(end),
            });
        }
    }
    tags
}

fn shape(text: &str, head: &Head<'_>) -> Option<(usize, Shape)> {
    if let Some(payload) = payload_in_tag(text, head) {
        return Some((payload, Shape::Open(Some(Payload::Json))));
    }
    let Some(tail) = head.tail(text) else {
        return is_cut_off(text, head).then_some((text.len(), Shape::CutOff));
    };
    let shape = if head.closes {
        Shape::Close
    } else if tail.closes_itself {
        Shape::ClosesItself
    } else {
        Shape::Open(payload(text, tail.end))
    };
    Some((tail.end, shape))
}

/// Where the JSON begins that follows a name and its attributes before the tag has ended.
fn payload_in_tag(text: &str, head: &Head<'_>) -> Option<usize> {
    let body = head.body(text);
    let left = past_attributes(body, false);
    let is_payload = !head.closes && left.starts_with(['{', '[']);
    is_payload.then(|| head.name_end + body.len() - left.len())
}

/// Whether the text ends within the tag: behind its name, or within an attribute with a value.
fn is_cut_off(text: &str, head: &Head<'_>) -> bool {
    let body = head.body(text);
    let left = past_attributes(body, false);
    let is_last = head.name_end + body.len() == text.len();
    let is_bounded = body.is_empty() || body.starts_with(char::is_whitespace);
    is_last && is_bounded && (left.is_empty() || is_attribute_cut_off(left))
}

fn is_attribute_cut_off(left: &str) -> bool {
    let Some((name, value)) = left.split_once('=') else {
        return false;
    };
    let is_name = |letter: char| letter.is_alphanumeric() || "_:.-".contains(letter);
    let value = value.trim_start();
    let begins_value = value.is_empty() || value.starts_with(['"', '\'']);
    begins_value && !value.contains('\n') && name.trim_end().chars().all(is_name)
}

fn payload(text: &str, end: usize) -> Option<Payload> {
    let at = skip_whitespace(text, end);
    match byte(text, at)? {
        b'{' => Some(Payload::Json),
        b'[' => begins_array(text, at).then_some(Payload::Json),
        b'<' => begins_inner(text, at).then_some(Payload::Xml),
        _ => None,
    }
}

/// Whether an array begins at the bracket, and not a reference such as `[1]`.
fn begins_array(text: &str, bracket: usize) -> bool {
    let first = byte(text, skip_whitespace(text, bracket + 1));
    matches!(first, None | Some(b'{' | b'[' | b'"' | b']'))
}

fn begins_inner(text: &str, bracket: usize) -> bool {
    let Some(head) = Head::read(text, bracket).filter(|head| !head.closes) else {
        return false;
    };
    let prefixed = starts_with(head.name, 0, PREFIX);
    let start = if prefixed { PREFIX.len() } else { 0 };
    INNER
        .iter()
        .any(|inner| starts_with(head.name, start, inner))
}

/// Counts the quotes of a text that no backslash stands before, from its start on.
#[derive(Debug)]
struct QuoteCount<'t> {
    text: &'t str,
    read_to: usize,
    is_odd: bool,
}

impl<'t> QuoteCount<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            read_to: 0,
            is_odd: false,
        }
    }

    /// Those before `at`, which never grows smaller.
    fn before(&mut self, at: usize) -> Quotes {
        spend(at.saturating_sub(self.read_to));
        let ahead = part(self.text, self.read_to..at);
        for quote in memchr_iter(b'"', ahead.as_bytes()) {
            self.is_odd ^= !is_escaped(self.text, self.read_to + quote);
        }
        self.read_to = self.read_to.max(at);
        if self.is_odd {
            Quotes::Odd
        } else {
            Quotes::Even
        }
    }
}

fn is_escaped(text: &str, at: usize) -> bool {
    let before = part(text, 0..at).as_bytes();
    if memrchr(
        b'\\',
        before.get(at.saturating_sub(1)..).unwrap_or_default(),
    )
    .is_none()
    {
        return false;
    }
    let backslashes = before
        .iter()
        .rev()
        .take_while(|byte| **byte == b'\\')
        .count();
    spend(backslashes);
    backslashes % 2 == 1
}
