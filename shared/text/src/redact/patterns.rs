//! Patterns of the configuration.
//!
//! Source: run:R18, run:K23.

use std::fmt;

use regex::{Regex, RegexBuilder};

use super::back_references;
use super::spans::{Cover, Span};

/// Most patterns.
pub const PATTERNS_MAX: usize = 100;
/// Longest pattern, in bytes.
pub const PATTERN_BYTES_MAX: usize = 1000;
/// Largest compiled pattern, and largest cache of one, in bytes.
const COMPILED_BYTES_MAX: usize = 1024 * 1024;
/// Most flags that other engines know.
const FLAGS_MAX: usize = 8;
/// Deepest nesting of groups in a pattern.
const NESTING_MAX: u32 = 50;

/// What is wrong with one pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pattern {index}: {given}; allowed: {allowed}")]
pub struct PatternFault {
    /// Its place in the list, from 0.
    pub index: usize,
    /// What was given, in words; never the pattern itself, which may hold a secret.
    pub given: String,
    /// What would be right, in words.
    pub allowed: String,
}

/// One pattern, compiled.
pub(super) struct Pattern(Regex);

impl fmt::Debug for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Pattern")
    }
}

impl Pattern {
    /// The places that the pattern hides: its last group that holds something, else the whole.
    pub(super) fn spans(&self, text: &str, spans: &mut Vec<Span>) {
        let cover = Cover::Masked;
        if self.0.captures_len() == 1 {
            let found = self.0.find_iter(text).map(|found| found.range());
            spans.extend(
                found
                    .filter(|range| !range.is_empty())
                    .map(|range| Span { range, cover }),
            );
            return;
        }
        for captures in self.0.captures_iter(text) {
            let groups: Vec<_> = captures
                .iter()
                .flatten()
                .map(|found| found.range())
                .collect();
            let last = groups.into_iter().rfind(|range| !range.is_empty());
            spans.extend(last.map(|range| Span { range, cover }));
        }
    }
}

/// Compiles all of `given`, or says what is wrong with each that is wrong.
pub(super) fn compile(given: &[String]) -> Result<Vec<Pattern>, Vec<PatternFault>> {
    let mut patterns = Vec::new();
    let mut faults = Vec::new();
    for (index, raw) in given.iter().enumerate().take(PATTERNS_MAX) {
        match compile_one(raw) {
            Ok(pattern) => patterns.push(pattern),
            Err((given, allowed)) => faults.push(PatternFault {
                index,
                given,
                allowed,
            }),
        }
    }
    if given.len() > PATTERNS_MAX {
        faults.push(PatternFault {
            index: PATTERNS_MAX,
            given: format!("{} patterns", given.len()),
            allowed: format!("at most {PATTERNS_MAX}; join some with `|`"),
        });
    }
    if faults.is_empty() {
        Ok(patterns)
    } else {
        Err(faults)
    }
}

fn compile_one(raw: &str) -> Result<Pattern, (String, String)> {
    if raw.len() > PATTERN_BYTES_MAX {
        let given = format!("a pattern of {} bytes", raw.len());
        let allowed = format!("at most {PATTERN_BYTES_MAX} bytes; split it into several patterns");
        return Err((given, allowed));
    }
    let (source, flags) = parts(raw);
    let source = back_references::spelled_out(source)?;
    let mut builder = RegexBuilder::new(&source);
    builder
        .size_limit(COMPILED_BYTES_MAX)
        .dfa_size_limit(COMPILED_BYTES_MAX)
        .nest_limit(NESTING_MAX);
    for flag in flags.chars() {
        match flag {
            'i' => builder.case_insensitive(true),
            'm' => builder.multi_line(true),
            's' => builder.dot_matches_new_line(true),
            'g' | 'u' => &mut builder,
            other => return Err(unknown_flag(other)),
        };
    }
    builder.build().map(Pattern).map_err(|error| told(&error))
}

/// The expression and the flags of `/re/flags`; a bare expression, such as a path, has `gi`.
fn parts(raw: &str) -> (&str, &str) {
    let slashed = raw.strip_prefix('/').and_then(|rest| rest.rsplit_once('/'));
    slashed
        .filter(|(_, flags)| may_be_flags(flags))
        .unwrap_or((raw, "gi"))
}

/// Whether `flags` are letters of which none stands there twice.
fn may_be_flags(flags: &str) -> bool {
    let is_new = |(at, flag): (usize, u8)| !flags.bytes().take(at).any(|other| other == flag);
    flags.len() <= FLAGS_MAX
        && flags.bytes().all(|flag| flag.is_ascii_alphabetic())
        && flags.bytes().enumerate().all(is_new)
}

fn unknown_flag(flag: char) -> (String, String) {
    let given = format!("the flag {flag:?}");
    let allowed = "the flags g, i, m, s and u after the last `/`; a plain `/` at the beginning is \
                   written `[/]`";
    (given, allowed.to_owned())
}

/// What the compiler says, without the pattern that it repeats.
fn told(error: &regex::Error) -> (String, String) {
    if let regex::Error::CompiledTooBig(_) = error {
        let given = "a pattern that compiles to too much".to_owned();
        let allowed = format!("{COMPILED_BYTES_MAX} bytes compiled; use smaller repetitions");
        return (given, allowed);
    }
    let text = error.to_string();
    let reason = text.rsplit("error: ").next().unwrap_or("").trim();
    let given = format!("a pattern that is no regular expression ({reason})");
    let allowed = "a regular expression without look-around, bare or as /expression/flags";
    (given, allowed.to_owned())
}
