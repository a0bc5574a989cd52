//! The parts of a tag, as models write them: `< / name attributes >`.

use memchr::memchr;

use super::code::Code;
use super::scan::{byte, part, rest, skip, skip_whitespace, spend};

/// The longest name that is read, in bytes; no known one is longer.
const NAME_BYTES_MAX: usize = 32;

/// The beginning of a tag: its bracket, whether it closes, and its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head<'t> {
    /// Where its bracket stands.
    pub(super) start: usize,
    /// Whether it is a closing tag.
    pub(super) closes: bool,
    /// The name, in the case it was written in, with its prefix.
    pub(super) name: &'t str,
    /// Where the name ends.
    pub(super) name_end: usize,
}

impl<'t> Head<'t> {
    /// Reads the beginning of a tag at a bracket.
    pub(super) fn read(text: &'t str, start: usize) -> Option<Self> {
        let mut at = skip_whitespace(text, start + 1);
        let closes = byte(text, at) == Some(b'/');
        if closes {
            at = skip_whitespace(text, at + 1);
        }
        let name_end = name_end(text, at)?;
        Some(Self {
            start,
            closes,
            name: part(text, at..name_end),
            name_end,
        })
    }

    /// What follows the name up to the end of the tag; `None` where the tag does not end, or its
    /// name goes on.
    ///
    /// A tag holds no other bracket `<`, so all tags together are read once.
    pub(super) fn tail(&self, text: &'t str) -> Option<Tail<'t>> {
        let after = self.body(text);
        let bounds = |first: char| first.is_whitespace() || "/>".contains(first);
        if !after.starts_with(bounds) {
            return None;
        }
        let length = unquoted_end(after).or_else(|| memchr(b'>', after.as_bytes()))?;
        let inside = part(after, 0..length);
        let open = inside.strip_suffix('/');
        Some(Tail {
            end: self.name_end + length + 1,
            attributes: open.unwrap_or(inside),
            closes_itself: open.is_some(),
        })
    }

    /// What follows the name, up to the next bracket `<` or the end of the text.
    pub(super) fn body(&self, text: &'t str) -> &'t str {
        let after = rest(text, self.name_end);
        let length = memchr(b'<', after.as_bytes()).unwrap_or(after.len());
        spend(length + 1);
        part(after, 0..length)
    }
}

/// The end of a tag and what it holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail<'t> {
    /// Behind the closing bracket.
    pub(super) end: usize,
    /// Between the name and the closing bracket, without the slash of a tag that closes itself.
    pub(super) attributes: &'t str,
    /// Whether the tag ends with `/>`.
    pub(super) closes_itself: bool,
}

/// The beginnings of all tags of `text` that are no code.
pub(super) fn heads<'t>(text: &'t str, code: &Code) -> impl Iterator<Item = Head<'t>> {
    memchr::memchr_iter(b'<', text.as_bytes())
        .filter(|start| !code.holds(*start))
        .filter_map(|start| Head::read(text, start))
}

/// Whether an attribute called `name` has a value among `attributes`.
pub(super) fn has_attribute(attributes: &str, name: &str) -> bool {
    let folded = attributes.to_ascii_lowercase();
    spend(folded.len());
    folded.match_indices(name).any(|(at, _)| {
        let before = part(&folded, 0..at);
        let after = rest(&folded, at + name.len());
        before.ends_with(char::is_whitespace) && after.trim_start().starts_with('=')
    })
}

/// What is left of `attributes` behind the last well-formed one, without blanks.
///
/// A value is quoted, or has neither blanks nor quotes nor `=` in it; without `bare`, each
/// attribute has a value.
pub(super) fn past_attributes(attributes: &str, bare: bool) -> &str {
    let mut at = 0;
    while let Some(end) = attribute_end(attributes, at, bare) {
        at = end;
    }
    rest(attributes, at).trim_start()
}

fn attribute_end(text: &str, at: usize, bare: bool) -> Option<usize> {
    let name = skip_whitespace(text, at);
    let name_end = skip(text, name, |letter| {
        letter.is_alphanumeric() || "_:.-".contains(letter)
    });
    if name == at || name_end == name {
        return None;
    }
    let equals = skip_whitespace(text, name_end);
    if byte(text, equals) != Some(b'=') {
        return bare.then_some(name_end);
    }
    value_end(text, skip_whitespace(text, equals + 1))
}

fn value_end(text: &str, at: usize) -> Option<usize> {
    if let Some(quote @ (b'"' | b'\'')) = byte(text, at) {
        let inside = rest(text, at + 1);
        let length = memchr(quote, inside.as_bytes())?;
        spend(length + 1);
        return Some(at + 1 + length + 1);
    }
    let end = skip(text, at, |letter| {
        !letter.is_whitespace() && !"\"'=<>`{[".contains(letter)
    });
    (end > at).then_some(end)
}

fn name_end(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes().get(at..)?;
    let letters = bytes
        .iter()
        .take(NAME_BYTES_MAX + 1)
        .take_while(|letter| letter.is_ascii_alphabetic() || b"_-:".contains(letter))
        .count();
    (1..=NAME_BYTES_MAX)
        .contains(&letters)
        .then(|| at + letters)
}

/// The closing bracket of a tag that stands in no quoted value.
fn unquoted_end(after: &str) -> Option<usize> {
    spend(after.len());
    let mut quote = None;
    let mut last = b' ';
    for (at, letter) in after.bytes().enumerate() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') if last == b'=' => quote = Some(letter),
            (Some(_) | None, _) => {},
        }
        if !letter.is_ascii_whitespace() {
            last = letter;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether it closes, its name, and where it ends what it holds and whether it closes itself.
    type Read<'t> = (bool, &'t str, Option<(&'t str, bool)>);

    fn read(text: &str) -> Option<Read<'_>> {
        let head = Head::read(text, 0)?;
        let tail = head.tail(text).filter(|tail| tail.end == text.len());
        let inside = tail.map(|tail| (tail.attributes, tail.closes_itself));
        Some((head.closes, head.name, inside))
    }

    #[test]
    fn a_tag_is_read_as_models_write_it() {
        let cases = [
            ("<think>", Some((false, "think", Some(("", false))))),
            ("< / think >", Some((true, "think", Some((" ", false))))),
            ("<final/>", Some((false, "final", Some(("", true))))),
            (
                "<a b=\"c>d\">",
                Some((false, "a", Some((" b=\"c>d\"", false)))),
            ),
            ("<a b=\">", Some((false, "a", Some((" b=\"", false))))),
            ("<a it's>", Some((false, "a", Some((" it's", false))))),
            ("<think", Some((false, "think", None))),
            ("<think <b>", Some((false, "think", None))),
            ("<think=1>", Some((false, "think", None))),
            ("< 3", None),
            ("<>", None),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), expected, "run:Z2 {text:?}");
        }
    }

    #[test]
    fn attributes_are_read_as_far_as_they_are_well_formed() {
        let cases = [
            ("", true, ""),
            (" a=\"1\" b='2' c=3 d", true, ""),
            (" \"x\"", true, "\"x\""),
            (" a = \"1\" {\"b\"", true, "{\"b\""),
            (" a b", false, "a b"),
            (" a=\"1", true, "a=\"1"),
        ];
        for (attributes, bare, expected) in cases {
            assert_eq!(
                past_attributes(attributes, bare),
                expected,
                "{attributes:?}"
            );
        }
    }

    #[test]
    fn an_attribute_is_found_by_its_whole_name() {
        assert!(has_attribute(" id=1 Name = \"x\"", "name"));
        assert!(!has_attribute(" rename=\"x\"", "name"));
        assert!(!has_attribute(" name", "name"));
    }
}
