//! Reading and comparing JSON.

use anyhow::Context as _;
use serde_json::Value;

/// The value at `pointer`, for example `/deliveries/0/channel`.
///
/// # Errors
/// When there is none.
pub fn at<'v>(value: &'v Value, pointer: &str) -> anyhow::Result<&'v Value> {
    value
        .pointer(pointer)
        .with_context(|| format!("no {pointer} in {value:#}"))
}

/// The text at `pointer`.
///
/// # Errors
/// When there is none.
pub fn text(value: &Value, pointer: &str) -> anyhow::Result<String> {
    let found = at(value, pointer)?.as_str();
    found
        .map(str::to_owned)
        .with_context(|| format!("{pointer} is no text in {value:#}"))
}

/// The number at `pointer`.
///
/// # Errors
/// When there is none.
pub fn number(value: &Value, pointer: &str) -> anyhow::Result<i64> {
    at(value, pointer)?
        .as_i64()
        .with_context(|| format!("{pointer} is no number in {value:#}"))
}

/// The list at `pointer`.
///
/// # Errors
/// When there is none.
pub fn list<'v>(value: &'v Value, pointer: &str) -> anyhow::Result<&'v [Value]> {
    let found = at(value, pointer)?.as_array();
    found
        .map(Vec::as_slice)
        .with_context(|| format!("{pointer} is no list in {value:#}"))
}

/// The fields of `value` that `names` lists, in that order; what is absent stays absent.
pub fn only(value: &Value, names: &[&str]) -> Value {
    let kept = names.iter().filter_map(|name| {
        let field = value.get(*name)?;
        Some(((*name).to_owned(), field.clone()))
    });
    Value::Object(kept.collect())
}

/// The text of a message: its text blocks, one to a line.
pub fn message_text(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => {
            let texts = blocks
                .iter()
                .filter_map(|block| block.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        },
        _ => String::new(),
    }
}

/// Puts `change` into `value`: objects are merged, everything else is replaced.
pub fn merge(value: &mut Value, change: Value) {
    match (value, change) {
        (Value::Object(fields), Value::Object(changes)) => {
            for (name, change) in changes {
                merge(fields.entry(name).or_insert(Value::Null), change);
            }
        },
        (value, change) => *value = change,
    }
}
