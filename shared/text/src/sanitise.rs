//! Making an assistant's text fit to show: without reasoning, scaffolding and the text of tool calls.
//!
//! Each pass is one file below and knows one family of marks. Every pass leaves code alone, reads a
//! text a bounded number of times, and takes out, never adds; so a text settles, in linear time.

mod code;
mod control;
mod cuts;
mod families;
mod json;
mod legacy;
mod markers;
mod memories;
mod minimax;
mod reasoning;
mod scan;
mod standalone;
mod tag_calls;
mod tags;
#[cfg(test)]
mod tests;
mod tool_xml;
mod trace;

use std::borrow::Cow;

use crate::truncate::cluster_start;

use families::{Families, Family};

/// How often all passes run before a text that still changes is cut.
const ROUNDS_MAX: usize = 4;

/// What one pass leaves of a text; `None` where it changes nothing.
type Pass = fn(&str) -> Option<String>;

/// The passes in their order: marks that hold others go before those, reasoning last.
const PASSES: [(Family, Pass); 10] = [
    (Family::Minimax, minimax::strip),
    (Family::TagCalls, tag_calls::strip),
    (Family::ControlTokens, control::strip),
    (Family::Memories, memories::strip),
    (Family::ToolXml, tool_xml::strip),
    (Family::Traces, trace::strip),
    (Family::LegacyBlocks, legacy::strip),
    (Family::Standalone, standalone::strip),
    (Family::Markers, markers::strip),
    (Family::Reasoning, reasoning::strip),
];

/// What of an assistant's `text` is shown: without reasoning, memories, control tokens, and the
/// calls and results of tools that a model wrote as text. Code and prose about such marks stay.
///
/// A text that has nothing of these is borrowed. What is left is clean: sanitising it once more
/// changes nothing. A text that does not settle within a few rounds is cut where it still changes.
/// Texts of people must not be given to this.
///
/// Source: D23, D76, run:Z1, run:Z22.
pub fn sanitise(text: &str) -> Cow<'_, str> {
    let mut settled = Cow::Borrowed(text);
    for _ in 0..ROUNDS_MAX {
        let Some(next) = round(&settled) else {
            return settled;
        };
        settled = Cow::Owned(next);
    }
    cut_where_unsettled(settled)
}

/// Runs each pass that may find something, once.
fn round(text: &str) -> Option<String> {
    let families = Families::of(text);
    if families.is_empty() {
        return None;
    }
    let mut changed: Option<String> = None;
    for (_, strip) in PASSES.iter().filter(|(family, _)| families.has(*family)) {
        let left = strip(changed.as_deref().unwrap_or(text));
        changed = left.or(changed);
    }
    changed
}

/// Drops the text from the point on where it still changes, until nothing does.
///
/// Each cut but the first halves the text at least, so all together read it a few times.
fn cut_where_unsettled(mut text: Cow<'_, str>) -> Cow<'_, str> {
    let mut length_max = text.len();
    while let Some(next) = round(&text) {
        let cut = common_length(&text, &next).min(length_max);
        let cut = cluster_start(&text, text.floor_char_boundary(cut));
        text = Cow::Owned(text.get(..cut).unwrap_or_default().to_owned());
        length_max = cut / 2;
    }
    text
}

fn common_length(one: &str, other: &str) -> usize {
    scan::spend(other.len());
    let pairs = one.bytes().zip(other.bytes());
    pairs.take_while(|(one, other)| one == other).count()
}
