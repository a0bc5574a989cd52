//! Judging single values, and putting them into words.

use std::ops::RangeInclusive;

use serde_json::Value;

use crate::schema::findings::Class;

/// Longest text of a value that a message repeats, in characters.
const GIVEN_CHARS_MAX: usize = 40;

/// What an object is called in a message.
pub(super) const OBJECT: &str = "an object";
/// What a list is called in a message.
pub(in crate::schema) const LIST: &str = "a list";
/// What [`filled_text`] accepts, in words.
pub(super) const FILLED_TEXT: &str = "a text that is not empty";

/// A whole number within `range`.
pub(in crate::schema) fn integer(value: &Value, range: &RangeInclusive<u32>) -> Result<u32, Class> {
    if !value.is_i64() && !value.is_u64() {
        return Err(Class::Type);
    }
    value
        .as_u64()
        .and_then(|number| u32::try_from(number).ok())
        .filter(|number| range.contains(number))
        .ok_or(Class::Range)
}

/// A text, possibly empty.
pub(in crate::schema) fn any_text(value: &Value) -> Result<&str, Class> {
    value.as_str().ok_or(Class::Type)
}

/// A text that is not blank.
pub(in crate::schema) fn filled_text(value: &Value) -> Result<String, Class> {
    let text = any_text(value)?;
    if text.trim().is_empty() {
        Err(Class::Value)
    } else {
        Ok(text.to_owned())
    }
}

/// The words of a warning about something that is not built yet.
pub(super) fn not_yet_of_type(word: &str, verb: &str) -> String {
    format!("of type {word} is accepted but this version does not {verb} it yet")
}

/// The name of an environment variable.
pub(super) fn variable(value: &Value) -> Result<String, Class> {
    let name = any_text(value)?;
    let fits = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name
            .bytes()
            .next()
            .is_some_and(|first| !first.is_ascii_digit());
    if fits {
        Ok(name.to_owned())
    } else {
        Err(Class::Value)
    }
}

/// The words of a table, as a message lists them.
pub(super) fn words<T>(table: &[(&'static str, T)]) -> String {
    table
        .iter()
        .map(|(word, _)| *word)
        .collect::<Vec<_>>()
        .join(", ")
}

/// The words that [`words`] listed; none where `allowed` is a sentence.
pub(super) fn listed_words(allowed: &str) -> impl Iterator<Item = &str> {
    let are_words = allowed.split(", ").all(|part| !part.contains(' '));
    allowed.split(", ").filter(move |_| are_words)
}

/// What a word of a table stands for.
pub(super) fn meaning<T: Copy>(given: &str, table: &[(&'static str, T)]) -> Result<T, Class> {
    let entry = table.iter().find(|(word, _)| *word == given);
    entry.map(|(_, meaning)| *meaning).ok_or(Class::Value)
}

/// The path of `name` in the object at `path`.
pub(super) fn join(path: &str, name: &str) -> String {
    let name = escaped(name);
    if path.is_empty() {
        name
    } else {
        format!("{path}.{name}")
    }
}

/// A name as it can be shown on one line.
pub(super) fn escaped(name: &str) -> String {
    if name.chars().any(char::is_control) {
        name.escape_debug().to_string()
    } else {
        name.to_owned()
    }
}

/// The keys that may stand in an object, as a message lists them.
pub(super) fn allowed_keys(known: &[&'static str]) -> String {
    let mut names = known.to_vec();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        "no keys".to_owned()
    } else {
        names.join(", ")
    }
}

/// What was given, in words; a text that may be, or hold, a secret is not repeated.
///
/// That is one where the name says so, and one that stands where a whole section belongs.
pub(super) fn describe(path: &str, value: &Value, allowed: &str) -> String {
    let hidden = may_hold_secret(path) || [OBJECT, LIST].contains(&allowed);
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(given) => given.to_string(),
        Value::Number(given) => given.to_string(),
        Value::String(_) if hidden => "a text (not shown)".to_owned(),
        Value::String(given) if given.chars().count() > GIVEN_CHARS_MAX => "a long text".to_owned(),
        Value::String(given) => format!("{given:?}"),
        Value::Array(_) => LIST.to_owned(),
        Value::Object(_) => OBJECT.to_owned(),
    }
}

/// Whether people put secrets, or addresses with secrets in them, at `path`.
fn may_hold_secret(path: &str) -> bool {
    let name = path.rsplit('.').next().unwrap_or(path).to_ascii_lowercase();
    [
        "secret", "key", "token", "password", "url", "endpoint", "pattern",
    ]
    .iter()
    .any(|part| name.contains(part))
}
