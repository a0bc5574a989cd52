//! Reading one object of the file: typed access to its keys, and a verdict on the rest.

mod values;

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use self::values::{
    FILLED_TEXT, OBJECT, allowed_keys, describe, escaped, join, listed_words, meaning,
    not_yet_of_type, variable, words,
};
pub(super) use self::values::{LIST, any_text, filled_text, integer};
use super::findings::{Class, Findings, Problem};
use super::nearest::nearest;

/// What a key that nobody knows means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unknown {
    /// An error, always.
    Refused,
    /// An error when it is near a known sibling, else a warning.
    Tolerated,
}

/// One object of the file, while it is read.
///
/// A key without a value, or with `null`, is absent. A value that is faulty is reported and then
/// counts as absent, so that the walk goes on and finds the other faults.
#[derive(Debug)]
pub(super) struct Section<'v, 'f> {
    path: String,
    fields: Option<&'v Map<String, Value>>,
    unknown: Unknown,
    known: Vec<&'static str>,
    findings: &'f mut Findings,
}

impl<'v, 'f> Section<'v, 'f> {
    /// The whole file.
    pub(super) fn root(document: &'v Value, findings: &'f mut Findings) -> Self {
        let fields = document.as_object();
        let mut root = Self {
            path: String::new(),
            fields,
            unknown: Unknown::Tolerated,
            known: Vec::new(),
            findings,
        };
        if fields.is_none() {
            root.report(String::new(), Class::Type, document, OBJECT);
        }
        root
    }

    /// Whether the file says anything about this object.
    pub(super) fn is_given(&self) -> bool {
        self.fields.is_some()
    }

    /// Whether `name` is absent, or was read: it does not count where its value was faulty.
    pub(super) fn holds(&self, name: &str, read: bool) -> bool {
        read || !self.has(name)
    }

    /// Whether the value of `name` is an object.
    pub(super) fn is_object(&self, name: &str) -> bool {
        self.get(name).is_some_and(Value::is_object)
    }

    /// Reports it, if the file says nothing about `name`.
    pub(super) fn require(&mut self, name: &'static str, allowed: &str) {
        if !self.has(name) {
            self.report(self.path_of(name), Class::Type, &Value::Null, allowed);
        }
    }

    /// Whether the file says anything about `name`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Reads the value of `name` with `read`, whose error says what is wrong with it.
    pub(super) fn value<T>(
        &mut self,
        name: &'static str,
        allowed: &str,
        read: impl FnOnce(&'v Value) -> Result<T, Class>,
    ) -> Option<T> {
        self.known.push(name);
        let value = self.get(name)?;
        match read(value) {
            Ok(read) => Some(read),
            Err(class) => {
                self.report(self.path_of(name), class, value, allowed);
                None
            },
        }
    }

    /// A yes or no.
    pub(super) fn boolean(&mut self, name: &'static str) -> Option<bool> {
        self.value(name, "true or false", |value| {
            value.as_bool().ok_or(Class::Type)
        })
    }

    /// A whole number within `range`.
    pub(super) fn integer(
        &mut self,
        name: &'static str,
        range: RangeInclusive<u32>,
    ) -> Option<u32> {
        let allowed = format!("a whole number from {} to {}", range.start(), range.end());
        self.value(name, &allowed, |value| integer(value, &range))
    }

    /// A text that is not blank.
    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        self.value(name, FILLED_TEXT, filled_text)
    }

    /// A text, possibly empty.
    pub(super) fn any_text(&mut self, name: &'static str) -> Option<String> {
        self.value(name, "a text", |value| any_text(value).map(str::to_owned))
    }

    /// A text that is not blank, required.
    pub(super) fn required_text(&mut self, name: &'static str) -> Option<String> {
        self.required(name, FILLED_TEXT, filled_text)
    }

    /// The name of an environment variable.
    pub(super) fn variable(&mut self, name: &'static str) -> Option<String> {
        self.value(name, "the name of an environment variable", variable)
    }

    /// Like [`Self::value`], but absence is a fault of its own.
    pub(super) fn required<T>(
        &mut self,
        name: &'static str,
        allowed: &str,
        read: impl FnOnce(&'v Value) -> Result<T, Class>,
    ) -> Option<T> {
        self.require(name, allowed);
        self.value(name, allowed, read)
    }

    /// One of the words of `table`.
    pub(super) fn word<T: Copy>(
        &mut self,
        name: &'static str,
        table: &[(&'static str, T)],
    ) -> Option<T> {
        self.value(name, &words(table), |value| {
            meaning(any_text(value)?, table)
        })
    }

    /// One of the words of `table`, trimmed and folded to lower case; empty is absent (reg:P1).
    pub(super) fn folded_word<T: Copy>(
        &mut self,
        name: &'static str,
        table: &[(&'static str, T)],
    ) -> Option<T> {
        self.value(name, &words(table), |value| {
            let word = any_text(value)?.trim().to_lowercase();
            if word.is_empty() {
                Ok(None)
            } else {
                meaning(&word, table).map(Some)
            }
        })
        .flatten()
    }

    /// One of the words of `table`, required.
    pub(super) fn required_word<T: Copy>(
        &mut self,
        name: &'static str,
        table: &[(&'static str, T)],
    ) -> Option<T> {
        self.required(name, &words(table), |value| {
            meaning(any_text(value)?, table)
        })
    }

    /// A list of texts that are not blank.
    pub(super) fn texts(&mut self, name: &'static str) -> Option<Vec<String>> {
        self.list(name, FILLED_TEXT, filled_text)
    }

    /// A list, each entry read with `read`; faulty entries are reported and left out.
    ///
    /// Entries of a wrong type are one fault, at the first of them (B213).
    pub(super) fn list<T>(
        &mut self,
        name: &'static str,
        allowed: &str,
        read: impl Fn(&'v Value) -> Result<T, Class>,
    ) -> Option<Vec<T>> {
        let items = self.value(name, LIST, |value| value.as_array().ok_or(Class::Type))?;
        let mut entries = Vec::with_capacity(items.len());
        let mut mistyped = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let path = format!("{}[{index}]", self.path_of(name));
            match read(item) {
                Ok(entry) => entries.push(entry),
                Err(Class::Type) => mistyped.push((path, item)),
                Err(class) => self.report(path, class, item, allowed),
            }
        }
        self.report_mistyped(&mistyped, allowed);
        Some(entries)
    }

    /// An object; absent is read as empty.
    pub(super) fn object<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Section<'v, '_>) -> T,
    ) -> T {
        let fields = self.value(name, OBJECT, |value| value.as_object().ok_or(Class::Type));
        self.nested(self.path_of(name), fields, self.unknown, read)
    }

    /// An object in which, at any depth, an unknown key is an error; absent is read as empty.
    pub(super) fn strict_object<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Section<'v, '_>) -> T,
    ) -> T {
        let fields = self.value(name, OBJECT, |value| value.as_object().ok_or(Class::Type));
        self.nested(self.path_of(name), fields, Unknown::Refused, read)
    }

    /// A list of objects; entries that are none are one fault, at the first of them (B213).
    pub(super) fn objects<T>(
        &mut self,
        name: &'static str,
        mut read: impl FnMut(&mut Section<'v, '_>) -> T,
    ) -> Option<Vec<T>> {
        let items = self.value(name, LIST, |value| value.as_array().ok_or(Class::Type))?;
        let mut entries = Vec::with_capacity(items.len());
        let mut mistyped = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let path = format!("{}[{index}]", self.path_of(name));
            match item.as_object() {
                Some(fields) => {
                    entries.push(self.nested(path, Some(fields), self.unknown, &mut read));
                },
                None => mistyped.push((path, item)),
            }
        }
        self.report_mistyped(&mistyped, OBJECT);
        Some(entries)
    }

    /// An object whose names are free and whose values are objects.
    pub(super) fn named_objects<T>(
        &mut self,
        name: &'static str,
        mut read: impl FnMut(&mut Section<'v, '_>) -> T,
    ) -> Vec<(&'v str, T)> {
        let fields = self.value(name, OBJECT, |value| value.as_object().ok_or(Class::Type));
        let mut entries = Vec::new();
        for (key, item) in fields.into_iter().flatten() {
            let path = join(&self.path_of(name), key);
            match item.as_object() {
                Some(fields) => {
                    let entry = self.nested(path, Some(fields), self.unknown, &mut read);
                    entries.push((key.as_str(), entry));
                },
                None => self.report(path, Class::Type, item, OBJECT),
            }
        }
        entries
    }

    /// Warns about `name`, in words that follow its path.
    pub(super) fn warn(&mut self, name: &str, words: &str) {
        self.findings.warn(self.path_of(name), words);
    }

    /// Leaves the keys that are not taken yet without a verdict: what they should be is unknown.
    pub(super) fn skip_rest(&mut self) {
        self.fields = None;
    }

    /// Reports that `name` contradicts another setting, in words.
    pub(super) fn conflict(&mut self, name: &str, given: String, allowed: &str) {
        self.findings.problems.push(Problem {
            path: self.path_of(name),
            class: Class::Conflict,
            given,
            allowed: allowed.to_owned(),
            nearest: None,
        });
    }

    /// Reports that the value of `name` is not allowed, in words.
    pub(super) fn fault(&mut self, name: &str, given: String, allowed: &str) {
        self.findings.problems.push(Problem {
            path: self.path_of(name),
            class: Class::Value,
            given,
            allowed: allowed.to_owned(),
            nearest: None,
        });
    }

    /// Reports, if `name` is given, that the key is an old one that nobody reads, and what to do.
    pub(super) fn refused(&mut self, name: &'static str, remedy: &str) {
        self.known.push(name);
        if self.has(name) {
            self.findings.problems.push(Problem {
                path: self.path_of(name),
                class: Class::UnknownKey,
                given: String::new(),
                allowed: remedy.to_owned(),
                nearest: None,
            });
        }
    }

    /// Warns, if `name` is given, that this version does not `verb` it yet.
    pub(super) fn not_yet(&mut self, name: &'static str, verb: &str) {
        self.known.push(name);
        if self.has(name) {
            let words = format!("is accepted but this version does not {verb} it yet");
            self.findings.warn(self.path_of(name), &words);
        }
    }

    /// Warns that this version does not `verb` what is of type `word` at `name` yet.
    pub(super) fn not_yet_of_type(&mut self, name: &str, word: &str, verb: &str) {
        self.findings
            .warn(self.path_of(name), &not_yet_of_type(word, verb));
    }

    /// Warns that this version does not `verb` this object, which is of type `word`, yet.
    pub(super) fn not_yet_itself(&mut self, word: &str, verb: &str) {
        self.findings
            .warn(self.path.clone(), &not_yet_of_type(word, verb));
    }

    /// Warns, if `name` is given, that it is ignored and why.
    pub(super) fn ignored(&mut self, name: &'static str, reason: &str) {
        self.known.push(name);
        if self.has(name) {
            self.findings
                .warn(self.path_of(name), &format!("is ignored: {reason}"));
        }
    }

    /// Names in one warning the sections of the file that belong to other programs.
    pub(super) fn finish_foreign(self) {
        let fields = self.fields.into_iter().flatten();
        let (mut foreign, mut mistyped) = (Vec::new(), Vec::new());
        for (name, _) in fields.filter(|(name, _)| !self.known.contains(&name.as_str())) {
            foreign.push(escaped(name));
            mistyped.extend(
                nearest(name, self.known.iter().copied())
                    .map(|meant| format!("; `{}` is near `{meant}`", escaped(name))),
            );
        }
        if !foreign.is_empty() {
            let words = format!(
                "sections ignored: {}{}",
                foreign.join(", "),
                mistyped.concat()
            );
            self.findings.warnings.push(super::Warning {
                path: String::new(),
                message: words,
            });
        }
    }

    fn get(&self, name: &str) -> Option<&'v Value> {
        self.fields?.get(name).filter(|value| !value.is_null())
    }

    fn path_of(&self, name: &str) -> String {
        join(&self.path, name)
    }

    fn nested<T>(
        &mut self,
        path: String,
        fields: Option<&'v Map<String, Value>>,
        unknown: Unknown,
        read: impl FnOnce(&mut Section<'v, '_>) -> T,
    ) -> T {
        let findings = &mut *self.findings;
        let mut section = Section {
            path,
            fields,
            unknown,
            known: Vec::new(),
            findings,
        };
        let read = read(&mut section);
        section.finish();
        read
    }

    /// Judges the keys that nobody took.
    fn finish(self) {
        for (name, _) in self.fields.into_iter().flatten() {
            if self.known.contains(&name.as_str()) {
                continue;
            }
            let path = join(&self.path, name);
            let nearest = nearest(name, self.known.iter().copied());
            if nearest.is_none() && self.unknown == Unknown::Tolerated {
                self.findings.warn(path, "is ignored: unknown key");
                continue;
            }
            self.findings.problems.push(Problem {
                path,
                class: Class::UnknownKey,
                given: String::new(),
                allowed: allowed_keys(&self.known),
                nearest: nearest.map(str::to_owned),
            });
        }
    }

    /// Reports the entries of one list that have a wrong type as one fault, at the first of them.
    fn report_mistyped(&mut self, entries: &[(String, &'v Value)], allowed: &str) {
        let Some(((path, item), others)) = entries.split_first() else {
            return;
        };
        self.report(path.clone(), Class::Type, item, allowed);
        let more = match others.len() {
            0 => return,
            1 => " (and 1 more entry of a wrong type)".to_owned(),
            count => format!(" (and {count} more entries of a wrong type)"),
        };
        if let Some(problem) = self.findings.problems.last_mut() {
            problem.given.push_str(&more);
        }
    }

    fn report(&mut self, path: String, class: Class, value: &Value, allowed: &str) {
        let nearest = match (class, value) {
            (Class::Value, Value::String(given)) => nearest(given, listed_words(allowed)),
            _ => None,
        };
        let given = describe(&path, value, allowed);
        self.findings.problems.push(Problem {
            given,
            path,
            class,
            allowed: allowed.to_owned(),
            nearest: nearest.map(str::to_owned),
        });
    }
}
