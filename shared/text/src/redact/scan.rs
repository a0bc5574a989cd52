//! One pass over a text: anchors are found all at once, and only around them is anything read.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::names::ENDINGS;
use super::parameters::INVISIBLE;
use super::reader::{Reader, is_quote};
use super::shapes::{Matcher, SHAPES};
use super::spans::{Cover, Span};
use super::tokens::{TOKENS, Token};
use super::{addresses, fields, headers, parameters, pem, shapes, tokens};

/// What an anchor may be a part of.
#[derive(Clone, Copy, Debug)]
enum Anchor {
    Token(&'static Token),
    Shape(&'static Matcher),
    /// The end of a name.
    Name,
    /// The word `Bearer`.
    Bearer,
    /// `://`.
    Address,
    /// A digit and a colon.
    Bot,
    /// Something that disguises a name.
    Disguise,
    KeyBegins,
    KeyEnds,
}

/// Everything that is found in a text, and where it is found.
struct Anchors {
    automaton: AhoCorasick,
    /// By the number of the pattern in the automaton.
    meanings: Vec<Anchor>,
}

static MATCHERS: LazyLock<Vec<Matcher>> =
    LazyLock::new(|| SHAPES.iter().copied().map(Matcher::of).collect());
static ANCHORS: LazyLock<Anchors> = LazyLock::new(Anchors::all);

impl Anchors {
    fn all() -> Self {
        let mut patterns: Vec<(String, Anchor)> = vec![
            ("bearer".to_owned(), Anchor::Bearer),
            ("://".to_owned(), Anchor::Address),
            ("%".to_owned(), Anchor::Disguise),
            (pem::BEGIN.to_owned(), Anchor::KeyBegins),
            (pem::END.to_owned(), Anchor::KeyEnds),
        ];
        let families = TOKENS.iter();
        patterns.extend(families.map(|token| (token.prefix.to_owned(), Anchor::Token(token))));
        let shapes = MATCHERS.iter();
        patterns.extend(shapes.map(|shape| (shape.anchor().to_owned(), Anchor::Shape(shape))));
        patterns.extend(
            ENDINGS
                .iter()
                .map(|ending| ((*ending).to_owned(), Anchor::Name)),
        );
        patterns.extend((0..=9).map(|digit| (format!("{digit}:"), Anchor::Bot)));
        patterns.extend(INVISIBLE.map(|letter| (letter.to_string(), Anchor::Disguise)));
        let automaton = AhoCorasick::builder()
            .kind(Some(AhoCorasickKind::DFA))
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(true)
            .build(patterns.iter().map(|(pattern, _)| pattern))
            .expect("the anchors are fixed, and few");
        let meanings = patterns.into_iter().map(|(_, meaning)| meaning).collect();
        Self {
            automaton,
            meanings,
        }
    }
}

/// A text while it is read.
#[derive(Debug)]
pub(super) struct Scan<'t> {
    pub(super) reader: Reader<'t>,
    pub(super) spans: Vec<Span>,
    /// The first line of a private key whose end was not met yet.
    pub(super) key: Option<Range<usize>>,
    /// Up to where disguised names were read.
    pub(super) keys_read: usize,
    /// Up to where the text is covered: what begins before is part of a secret already.
    covered_to: usize,
    /// Up to where it was asked, and whether the word there is an address.
    word: (usize, bool),
}

impl<'t> Scan<'t> {
    /// Reads the whole of `text`.
    pub(super) fn of(text: &'t str) -> Self {
        let mut scan = Self {
            reader: Reader::new(text),
            spans: Vec::new(),
            key: None,
            keys_read: 0,
            covered_to: 0,
            word: (0, false),
        };
        let anchors = &*ANCHORS;
        for found in anchors.automaton.find_overlapping_iter(text) {
            let meaning = anchors.meanings.get(found.pattern().as_usize());
            if let Some(meaning) = meaning {
                scan.meet(*meaning, found.start(), found.end());
            }
        }
        pem::settle(&mut scan, text.len());
        scan
    }

    fn meet(&mut self, anchor: Anchor, start: usize, end: usize) {
        let is_new = start >= self.covered_to;
        match anchor {
            // A key may begin within what looks like a value, and is hidden line by line.
            Anchor::KeyBegins => pem::begins(self, start),
            Anchor::KeyEnds => pem::ends(self, start),
            Anchor::Token(family) if is_new => tokens::found(self, family, start),
            Anchor::Shape(shape) if is_new => shape.found(self, start),
            Anchor::Name if is_new => fields::found(self, end),
            Anchor::Bearer if is_new => headers::bearer(self, start, end),
            Anchor::Address if is_new => addresses::found(self, start, end),
            Anchor::Bot if is_new => shapes::bot_token(self, start + 1),
            Anchor::Disguise if is_new => parameters::disguised(self, start),
            Anchor::Token(_)
            | Anchor::Shape(_)
            | Anchor::Name
            | Anchor::Bearer
            | Anchor::Address
            | Anchor::Bot
            | Anchor::Disguise => {},
        }
    }

    /// Covers a place; an empty one is none.
    pub(super) fn claim(&mut self, range: Range<usize>, cover: Cover) {
        if !range.is_empty() {
            self.covered_to = self.covered_to.max(range.end);
            self.spans.push(Span { range, cover });
        }
    }

    /// Whether the word that `at` lies in is an address up to there: `…://…` or `…?…`.
    pub(super) fn in_address(&mut self, at: usize) -> bool {
        let (known_to, known) = self.word;
        let fresh = at.saturating_sub(known_to);
        let start = self.reader.run_back(at, fresh, |byte| {
            !byte.is_ascii_whitespace() && !is_quote(byte)
        });
        let seen = self.reader.slice(start, at);
        let goes_on = start == known_to && known;
        let is_address = goes_on || seen.contains('?') || seen.contains("://");
        self.word = (at.max(known_to), is_address);
        is_address
    }
}
