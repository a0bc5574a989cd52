//! Repetition marks: `{{NxC}}` is N times the character C.

use serde_json::Value;

/// Expands the marks of every string in `value`, names of fields excepted. Fails with the text
/// that holds a malformed mark.
pub(crate) fn expand_all(value: Value) -> Result<Value, String> {
    match value {
        Value::String(text) => expand(&text).map(Value::String).ok_or(text),
        Value::Array(items) => items.into_iter().map(expand_all).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, field)| Ok((name, expand_all(field)?)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value),
    }
}

/// Expands the marks of `text` once, left to right. Absent if one is malformed: a slip of the pen
/// would otherwise be tested as text.
fn expand(text: &str) -> Option<String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, mark)) = rest.split_once("{{") {
        let (count, tail) = mark.split_once('x')?;
        let mut tail = tail.chars();
        let character = tail.next()?;
        expanded.push_str(before);
        expanded.extend(std::iter::repeat_n(character, count.parse().ok()?));
        rest = tail.as_str().strip_prefix("}}")?;
    }
    expanded.push_str(rest);
    Some(expanded)
}
