//! The arguments of a tool call, redacted.
//!
//! Source: run:R9, D61.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::Redactor;
use super::mask::{HIDDEN, is_mask, mask};
use super::names::{Folded, is_secret};

/// Deepest nesting that is looked into; what lies deeper is hidden whole.
const DEPTH_MAX: usize = 128;

/// `object` with its secrets hidden; absent where it holds none.
pub(super) fn object(
    redactor: &Redactor,
    object: &Map<String, Value>,
    depth: usize,
) -> Option<Map<String, Value>> {
    let mut shown = Map::new();
    let mut changed = false;
    for (name, value) in object {
        let instead = if is_secret(name) {
            hidden(value)
        } else {
            inner(redactor, value, depth)
        };
        let named = redactor.redact(name);
        changed |= instead.is_some() || named != name.as_str();
        shown.insert(named.into_owned(), instead.unwrap_or_else(|| value.clone()));
    }
    changed.then_some(shown)
}

/// `value` with its secrets hidden; absent where it holds none.
fn inner(redactor: &Redactor, value: &Value, depth: usize) -> Option<Value> {
    match value {
        Value::String(text) => match redactor.redact(text) {
            Cow::Owned(shown) => Some(Value::String(shown)),
            Cow::Borrowed(_) => None,
        },
        Value::Array(_) | Value::Object(_) if depth == DEPTH_MAX => hidden(value),
        Value::Array(items) => list(redactor, items, depth + 1).map(Value::Array),
        Value::Object(fields) => object(redactor, fields, depth + 1).map(Value::Object),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// `items` with their secrets hidden, the value behind a flag included: `["--token", "x"]`.
fn list(redactor: &Redactor, items: &[Value], depth: usize) -> Option<Vec<Value>> {
    let mut shown = Vec::with_capacity(items.len());
    let mut changed = false;
    let mut after_flag = false;
    for item in items {
        let is_value = item.as_str().is_some_and(|text| !text.starts_with("--"));
        let instead = if after_flag && is_value {
            hidden(item)
        } else {
            inner(redactor, item, depth)
        };
        after_flag = item.as_str().is_some_and(is_flag);
        changed |= instead.is_some();
        shown.push(instead.unwrap_or_else(|| item.clone()));
    }
    changed.then_some(shown)
}

fn is_flag(text: &str) -> bool {
    text.starts_with("--") && Folded::of(text).is_field()
}

/// What stands for the value of a secret field; absent where there is nothing to hide.
fn hidden(value: &Value) -> Option<Value> {
    let instead = match value {
        Value::Null | Value::Bool(_) => return None,
        Value::String(text) if text.is_empty() || is_mask(text) => return None,
        Value::String(text) => mask(text).into_owned(),
        Value::Array(items) if items.is_empty() => return None,
        Value::Object(fields) if fields.is_empty() => return None,
        Value::Number(_) | Value::Array(_) | Value::Object(_) => HIDDEN.to_owned(),
    };
    Some(Value::String(instead))
}
