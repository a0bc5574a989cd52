//! One vector.

use serde::Deserialize;
use serde_json::Value;

/// One vector. `In` and `Out` are plain JSON where a test names no types of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case<In = Value, Out = Value> {
    /// Unique over all files, and stable: what a failing test names.
    pub id: String,
    /// What the case is about, in one line.
    pub why: String,
    /// The ids of the rules that it pins.
    pub facts: Vec<String>,
    /// The input, called `in` in the file.
    #[serde(rename = "in")]
    pub given: In,
    /// The fields of the result that are pinned.
    pub out: Out,
}

impl<In> Case<In> {
    /// Says what differs between `actual` and the fields that the case pins, one line each.
    ///
    /// A case whose `out` is no object pins nothing that could be compared, which is a difference.
    pub fn differences(&self, actual: &Value) -> Vec<String> {
        let Some(pinned) = self.out.as_object() else {
            return vec![format!("{}: out must be an object", self.id)];
        };
        pinned
            .iter()
            .filter(|(field, expected)| actual.get(field.as_str()) != Some(*expected))
            .map(|(field, expected)| {
                let found = actual
                    .get(field.as_str())
                    .map_or_else(|| "absent".to_owned(), Value::to_string);
                format!("{}: {field} must be {expected}, is {found}", self.id)
            })
            .collect()
    }
}
