//! The text of a status: the card, then what a program would read from the result.

use serde_json::{Map, Value};

use crate::object::Object;

/// The card, the places where there are any, and with `changes` the state version and what changed;
/// a blank line between them.
///
/// Source: reg:S9.
pub(super) fn compose(
    card: &str,
    places: &Map<String, Value>,
    changes: Option<(i64, &Value)>,
) -> String {
    let mut parts = vec![card.trim_end().to_owned()];
    if !places.is_empty() {
        parts.push(block("Route context:", &Value::Object(places.clone())));
    }
    if let Some((version, changes)) = changes {
        let told = Object::default()
            .set("stateVersion", version)
            .set("stateChanges", changes.clone());
        parts.push(block("Session state changes:", &told.into()));
    }
    parts.join("\n\n")
}

/// A title and a fenced block. JSON holds its line breaks escaped, so nothing in it ends the fence.
fn block(title: &str, json: &Value) -> String {
    format!("{title}\n```json\n{json:#}\n```")
}
