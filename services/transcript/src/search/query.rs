//! What a person searches for: words, phrases and beginnings of words.

use crate::search::words::{Word, words};
use crate::store::search::Term;

/// What is searched for; at least one term, each of at least one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    terms: Vec<Term>,
}

impl Query {
    /// Reads a query: every word must be there, `"words in quotes"` in a row, and `begin*` stands
    /// for every word that begins so. Nothing else has a meaning: `AND`, `NOT`, brackets and the
    /// like are words or nothing. `None` where there is no word in it.
    ///
    /// Source: D77.
    pub fn parse(text: &str) -> Option<Self> {
        let mut terms: Vec<Term> = Vec::new();
        let mut segments = text.split('"').peekable();
        let mut quoted = false;
        while let Some(segment) = segments.next() {
            if quoted {
                let star = segments.peek().is_some_and(|next| next.starts_with('*'));
                add(&mut terms, segment, star);
            } else {
                for piece in segment.split_whitespace() {
                    add(&mut terms, piece, ends_with_star(piece));
                }
            }
            quoted = !quoted;
        }
        (!terms.is_empty()).then_some(Self { terms })
    }

    /// What must be found, all of it.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The number of words in the longest term.
    pub(crate) fn longest(&self) -> usize {
        let lengths = self.terms.iter().map(|term| term.words.len());
        lengths.max().unwrap_or_default()
    }

    /// Whether `text` begins with a term.
    pub(crate) fn begins<'w>(&self, text: &(impl Iterator<Item = &'w Word> + Clone)) -> bool {
        self.terms.iter().any(|term| is_at(term, text.clone()))
    }
}

fn add(terms: &mut Vec<Term>, text: &str, prefix: bool) {
    let term = Term {
        words: words(text).map(|word| word.folded).collect(),
        prefix,
    };
    if !term.words.is_empty() && !terms.contains(&term) {
        terms.push(term);
    }
}

/// Whether a star follows directly on a word.
fn ends_with_star(piece: &str) -> bool {
    let word = piece.trim_end_matches('*');
    word.len() < piece.len() && word.ends_with(char::is_alphanumeric)
}

fn is_at<'w>(term: &Term, mut text: impl Iterator<Item = &'w Word>) -> bool {
    let Some((last, before)) = term.words.split_last() else {
        return false;
    };
    let all = before
        .iter()
        .all(|wanted| text.next().is_some_and(|word| word.folded == *wanted));
    all && text.next().is_some_and(|word| {
        word.folded == *last || (term.prefix && word.folded.starts_with(last.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Terms as text: words with blanks, a star behind a beginning.
    fn read(text: &str) -> Vec<String> {
        let query = Query::parse(text);
        let terms = query.as_ref().map_or(&[][..], Query::terms);
        terms
            .iter()
            .map(|term| {
                format!(
                    "{}{}",
                    term.words.join(" "),
                    if term.prefix { "*" } else { "" }
                )
            })
            .collect()
    }

    #[test]
    fn words_are_plain_words_and_nothing_is_an_operator_d77() {
        for (text, expected) in [
            ("", vec![]),
            (" \t\"\" * ** () -", vec![]),
            ("Deploy  Friday", vec!["deploy", "friday"]),
            ("a a A", vec!["a"]),
            ("a OR b", vec!["a", "or", "b"]),
            ("NOT a", vec!["not", "a"]),
            ("NEAR(a b, 5)", vec!["near a", "b", "5"]),
            ("body: x", vec!["body", "x"]),
            ("agent:writer:main", vec!["agent writer main"]),
            ("^a + b {c}", vec!["a", "b", "c"]),
            ("\"in a row\" x", vec!["in a row", "x"]),
            ("x\"y z\"w", vec!["x", "y z", "w"]),
            ("\"never closed", vec!["never closed"]),
            ("dep*", vec!["dep*"]),
            ("dep**", vec!["dep*"]),
            ("de*p", vec!["de p"]),
            ("dep-*", vec!["dep"]),
            ("\"in a ro\"* x", vec!["in a ro*", "x"]),
            ("\"in a ro*\"", vec!["in a ro"]),
            ("a* a", vec!["a*", "a"]),
            (
                "'; DROP TABLE messages; --",
                vec!["drop", "table", "messages"],
            ),
            ("東京タワー", vec!["東 京 タ ワ ー"]),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn a_term_is_seen_where_its_words_stand_in_a_row() {
        let text: Vec<Word> = words("we deploy on Friday").collect();
        for (query, from, expected) in [
            ("deploy", 1, true),
            ("deploy", 0, false),
            ("\"deploy on\"", 1, true),
            ("\"on fri\"*", 2, true),
            ("\"on fri\"", 2, false),
            ("\"friday we\"", 3, false),
        ] {
            let query = Query::parse(query).unwrap();
            assert_eq!(query.begins(&text[from..].iter()), expected, "{query:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_typed_leaves_words_of_letters_and_digits(text in "\\PC{0,200}") {
            if let Some(query) = Query::parse(&text) {
                prop_assert!(!query.terms().is_empty());
                for word in query.terms().iter().flat_map(|term| &term.words) {
                    prop_assert!(!word.is_empty());
                    let plain = |one: char| !one.is_ascii() || one.is_ascii_alphanumeric();
                    prop_assert!(word.chars().all(plain), "{word:?}");
                }
            } else {
                prop_assert!(words(&text).next().is_none());
            }
        }

        #[test]
        fn a_text_is_found_by_any_of_its_words(text in "\\PC{0,80}") {
            for word in words(&text) {
                let query = Query::parse(&text[word.at.clone()]).unwrap();
                prop_assert!(query.begins(&[&word].into_iter()));
            }
        }
    }
}
