//! Hiding credentials in what leaves.
//!
//! One pass finds everything that may be a part of a credential, and only there is anything read:
//! the work grows with the text and not with the number of families. What was hidden is read again
//! until nothing changes, so that a text that was redacted once stays as it is.
//!
//! Source: D23, D76, run:R0, run:R1, run:R18, run:R19.

mod addresses;
mod back_references;
mod fields;
mod headers;
mod json;
mod mask;
mod names;
mod parameters;
mod patterns;
mod pem;
mod reader;
mod scan;
mod shapes;
mod spans;
#[cfg(test)]
mod tests;
mod tokens;
mod values;

use std::borrow::Cow;
use std::fmt;

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

pub use self::patterns::{PATTERN_BYTES_MAX, PATTERNS_MAX, PatternFault};
use self::patterns::{Pattern, compile};
use self::scan::Scan;
use self::spans::{Cover, Span, covered};

/// Raised when the rules change in a way that their tables do not show.
const RULES_VERSION: u32 = 1;
/// Exact values shorter than this are not hidden, in bytes: they would be found in ordinary words.
pub const SECRET_BYTES_MIN: usize = 8;
/// How often a text is read at most; each time leaves less that could be hidden.
const ROUNDS_MAX: usize = 8;
/// How many hexadecimal digits identify the rules.
const FINGERPRINT_DIGITS: usize = 16;

/// What is hidden beyond the built-in families.
#[derive(Clone, Default)]
pub struct RedactionRules {
    /// `logging.redactPatterns`: regular expressions, bare (case does not matter) or
    /// `/expression/flags` (run:R18).
    pub patterns: Vec<String>,
    /// Values that are hidden wherever they stand, from [`SECRET_BYTES_MIN`] bytes on (run:R17).
    pub secrets: Vec<String>,
}

impl fmt::Debug for RedactionRules {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RedactionRules")
            .field("patterns", &self.patterns.len())
            .field("secrets", &self.secrets.len())
            .finish()
    }
}

/// Hides credentials; compiled once and shared.
pub struct Redactor {
    patterns: Vec<Pattern>,
    /// The exact values; absent when there are none.
    secrets: Option<AhoCorasick>,
    fingerprint: String,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Redactor")
            .field("patterns", &self.patterns.len())
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

impl Redactor {
    /// The built-in families alone, which nothing switches off (run:R0).
    pub fn built_in() -> Self {
        let rules = RedactionRules::default();
        Self {
            patterns: Vec::new(),
            secrets: None,
            fingerprint: fingerprint(&rules),
        }
    }

    /// The built-in families and what `rules` add to them.
    ///
    /// # Errors
    /// With everything that is wrong with the patterns.
    ///
    /// Source: run:R17, run:R18.
    pub fn new(rules: &RedactionRules) -> Result<Self, Vec<PatternFault>> {
        Ok(Self {
            patterns: compile(&rules.patterns)?,
            secrets: automaton(&rules.secrets),
            fingerprint: fingerprint(rules),
        })
    }

    /// `text` with its credentials hidden; borrowed when it holds none.
    ///
    /// It takes the whole text: what is cut first may lose the part that gives a secret away
    /// (run:R19).
    ///
    /// Source: run:R1, run:R18.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut shown = Cow::Borrowed(text);
        for _ in 0..ROUNDS_MAX {
            let Some(next) = self.round(&shown) else {
                break;
            };
            shown = Cow::Owned(next);
        }
        shown
    }

    /// The arguments of a tool call with every text redacted, and the value of every secret field
    /// hidden whole, whatever it is; absent when nothing was hidden.
    ///
    /// Source: run:R9, D61.
    pub fn redact_json(&self, value: &Map<String, Value>) -> Option<Map<String, Value>> {
        json::object(self, value, 0)
    }

    /// Identifies the rules: what was redacted under another fingerprint is out of date.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// `text` after one reading; absent when that changes nothing.
    fn round(&self, text: &str) -> Option<String> {
        let spans = self.spans(Scan::of(text));
        if spans.is_empty() {
            return None;
        }
        covered(text, spans)
    }

    /// The places of the built-in families, with those of the configuration.
    fn spans(&self, scan: Scan<'_>) -> Vec<Span> {
        let text = scan.reader.text();
        let mut spans = scan.spans;
        for found in self
            .secrets
            .iter()
            .flat_map(|secrets| secrets.find_iter(text))
        {
            spans.push(Span {
                range: found.range(),
                cover: Cover::Masked,
            });
        }
        for pattern in &self.patterns {
            pattern.spans(text, &mut spans);
        }
        spans
    }
}

/// Finds the longest of `secrets` at each place.
fn automaton(secrets: &[String]) -> Option<AhoCorasick> {
    let long: Vec<&String> = secrets
        .iter()
        .filter(|secret| secret.len() >= SECRET_BYTES_MIN)
        .collect();
    let automaton = AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(&long)
        .expect("the secrets of a configuration are few and short");
    (!long.is_empty()).then_some(automaton)
}

fn fingerprint(rules: &RedactionRules) -> String {
    let digest = digest(rules);
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .take(FINGERPRINT_DIGITS)
        .collect()
}

/// The digest of everything that decides what is hidden, each part with its length before it.
fn digest(rules: &RedactionRules) -> Vec<u8> {
    let tables = names::TABLES.iter().map(|table| table.join(" "));
    let tokens = tokens::TOKENS.iter().map(|token| token.prefix.to_owned());
    let shapes = shapes::SHAPES.iter().map(|shape| shape.pattern.to_owned());
    let built_in = tables.chain(tokens).chain(shapes);
    let given = rules.patterns.iter().cloned();
    let secrets = rules.secrets.iter().cloned();
    let between = [String::new()];
    let mut digest = Sha256::new();
    for part in [RULES_VERSION.to_string()]
        .into_iter()
        .chain(built_in)
        .chain(given)
        .chain(between)
        .chain(secrets)
    {
        digest.update(part.len().to_be_bytes());
        digest.update(part);
    }
    digest.finalize().to_vec()
}
