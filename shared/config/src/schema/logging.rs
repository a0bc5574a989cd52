//! Section `logging`: what is hidden from what leaves.
//!
//! Source: run:R0, run:R18, run:K23.

use confab_text::redact::{RedactionRules, Redactor};
use serde_json::Value;

use super::section::{LIST, Section};

/// The two words of `redactSensitive`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sensitive {
    Off,
    Tools,
}

/// The patterns of the section; faulty ones are reported, all of them.
pub(super) fn read(section: &mut Section<'_, '_>) -> Vec<String> {
    read_sensitive(section);
    let patterns = section.texts("redactPatterns").unwrap_or_default();
    report_patterns(section);
    patterns
}

/// Nothing switches the hiding off, which the file may not know (run:R0).
fn read_sensitive(section: &mut Section<'_, '_>) {
    let words = [("off", Sensitive::Off), ("tools", Sensitive::Tools)];
    match section.word("redactSensitive", &words) {
        Some(Sensitive::Off) => {
            let words = "is ignored: credentials are hidden from what leaves, whatever it says";
            section.warn("redactSensitive", words);
        },
        Some(Sensitive::Tools) | None => {},
    }
}

fn report_patterns(section: &mut Section<'_, '_>) {
    let patterns = section.value("redactPatterns", LIST, |value| Ok(in_place(value)));
    let rules = RedactionRules {
        patterns: patterns.unwrap_or_default(),
        secrets: Vec::new(),
    };
    for fault in Redactor::new(&rules).err().into_iter().flatten() {
        let entry = format!("redactPatterns[{}]", fault.index);
        section.fault(&entry, fault.given, &fault.allowed);
    }
}

/// Each text of the list in its place; what is no text has been reported, and counts as empty.
fn in_place(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items
        .map(|item| item.as_str().unwrap_or("").to_owned())
        .collect()
}
