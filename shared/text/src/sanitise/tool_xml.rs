//! Tool calls and their results in XML: `<tool_call>`, `<function_calls>`, `<invoke>` and their like.

mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::cuts::Cuts;
use super::scan::{before_blanks, begins_line, part, rest, skip_blanks};
use read::{Name, Payload, Quotes, Shape, Tag};

/// Takes out tool calls and results that are written as XML.
///
/// - A block goes if what follows its opening tag looks like a payload; prose that names a tag stays,
///   and so does the closing tag that belongs to it.
/// - A closing tag in a JSON string ends nothing.
/// - A block that is cut off goes with all that follows, but a `<function …>` stays.
/// - Tags that close themselves, closing tags without a block, and the tags of a parameter go alone.
///
/// Source: run:Z7, run:Z8, run:Z9, run:Z10, run:Z11, run:Z12, run:Z13, B159.
pub(super) fn strip(text: &str) -> Option<String> {
    let tags = read::tags(text);
    let mut pass = Pass::new(text, &tags);
    let mut next = 0;
    while let Some(tag) = tags.get(next) {
        next = pass.take(next, tag);
    }
    pass.cuts.apply()
}

/// Whether the tag's name is one of tools.
pub(super) fn is_name(name: &str) -> bool {
    Name::parse(name).is_some()
}

/// Places of closing tags among all tags, by name and by the quotes before.
type Closings = BTreeMap<(Name, Quotes), Vec<usize>>;

#[derive(Debug)]
struct Pass<'t> {
    text: &'t str,
    tags: &'t [Tag],
    closings: Closings,
    cuts: Cuts<'t>,
    /// Opening tags that stay, each of which may keep its closing tag.
    kept: BTreeMap<Name, usize>,
    /// Whether a `<function …>` that nothing closes stays, and its parameters with it.
    in_function: bool,
}

impl<'t> Pass<'t> {
    fn new(text: &'t str, tags: &'t [Tag]) -> Self {
        let mut closings = Closings::new();
        for (place, tag) in tags.iter().enumerate() {
            if tag.shape == Shape::Close {
                let same = closings.entry((tag.name, tag.quotes_before)).or_default();
                same.push(place);
            }
        }
        Self {
            text,
            tags,
            closings,
            cuts: Cuts::new(text),
            kept: BTreeMap::new(),
            in_function: false,
        }
    }

    /// Decides about the tag at `place`, and tells which one is next.
    fn take(&mut self, place: usize, tag: &Tag) -> usize {
        if tag.in_code {
            return place + 1;
        }
        match tag.shape {
            Shape::Open(payload) => return self.open(place, tag, payload),
            Shape::Close => self.close(tag),
            Shape::ClosesItself => self.cuts.push(tag.start..tag.end),
            Shape::CutOff => {
                if tag.name != Name::Function {
                    self.cuts.push(tag.start..self.text.len());
                }
            },
        }
        place + 1
    }

    fn close(&mut self, tag: &Tag) {
        match self.kept.get_mut(&tag.name) {
            Some(open) if *open > 0 => *open -= 1,
            Some(_) | None => self.cuts.push(tag.start..tag.end),
        }
    }

    fn open(&mut self, place: usize, tag: &Tag, payload: Option<Payload>) -> usize {
        if tag.name == Name::Parameter && !self.in_function {
            self.cuts.push(tag.start..tag.end);
            return place + 1;
        }
        if !self.begins_block(tag, payload) {
            self.keep(tag);
            return place + 1;
        }
        if let Some((closing, end)) = self.closing(place, tag, payload) {
            self.cuts.push(tag.start..end);
            return closing + 1;
        }
        if tag.name == Name::Function || !self.may_be_cut_off(tag, payload) {
            self.in_function |= tag.name == Name::Function;
            self.keep(tag);
            return place + 1;
        }
        self.cuts.push(tag.start..self.text.len());
        self.tags.len()
    }

    fn keep(&mut self, tag: &Tag) {
        *self.kept.entry(tag.name).or_default() += 1;
    }

    fn begins_block(&self, tag: &Tag, payload: Option<Payload>) -> bool {
        match tag.name {
            Name::Parameter => false,
            Name::Function => tag.is_named && payload.is_some() && self.begins_sentence(tag),
            Name::Invoke => tag.is_named && payload.is_some(),
            Name::FunctionResponse => {
                payload == Some(Payload::Json)
                    || begins_line(self.text, tag.start)
                    || self.follows_cut(tag)
            },
            Name::ToolResult => payload == Some(Payload::Json),
            Name::ToolCall | Name::ToolCalls | Name::FunctionCall | Name::FunctionCalls => {
                payload.is_some()
            },
        }
    }

    /// Whether the tag stands where a sentence would begin (run:Z11).
    fn begins_sentence(&self, tag: &Tag) -> bool {
        let before = before_blanks(self.text, tag.start);
        before.is_empty() || before.ends_with(['\n', '.', '!', '?', ':']) || self.follows_cut(tag)
    }

    /// Whether nothing but whitespace stands between the last cut and the tag.
    fn follows_cut(&self, tag: &Tag) -> bool {
        let end = self.cuts.end();
        end > 0 && part(self.text, end..tag.start).trim_end().is_empty()
    }

    /// The first tag that ends the block, and where it ends.
    fn closing(&self, place: usize, tag: &Tag, payload: Option<Payload>) -> Option<(usize, usize)> {
        let also = (tag.name == Name::ToolResult).then_some(Name::ToolCall);
        let quotes: &[Quotes] = match payload {
            Some(Payload::Json) => &[tag.quotes_after],
            Some(Payload::Xml) | None => &[Quotes::Even, Quotes::Odd],
        };
        let first = [Some(tag.name), also]
            .into_iter()
            .flatten()
            .flat_map(|name| quotes.iter().map(move |quotes| (name, *quotes)))
            .filter_map(|key| self.closing_of(key, place))
            .min()?;
        self.tags.get(first).map(|closing| (first, closing.end))
    }

    fn closing_of(&self, key: (Name, Quotes), place: usize) -> Option<usize> {
        let places = self.closings.get(&key)?;
        places
            .get(places.partition_point(|closing| *closing <= place))
            .copied()
    }

    /// Whether a block that nothing closes is one: a response without JSON only if its tag stands
    /// alone on its line.
    fn may_be_cut_off(&self, tag: &Tag, payload: Option<Payload>) -> bool {
        let behind = rest(self.text, skip_blanks(self.text, tag.end));
        payload.is_some() || behind.is_empty() || behind.starts_with(['\n', '\r'])
    }
}
