//! Short fields that a caller wrote: names, identifiers, keys.
//!
//! None of them may hold control characters, and each has a bound in bytes. An optional field that
//! holds blanks only counts as absent (D7).

use confab_model::id::IdError;
use confab_model::key::SessionKey;

use crate::error::Violations;

/// Reads a text that the caller must give, as it is.
pub fn required_from_wire(
    text: String,
    bytes_max: usize,
    field: &str,
    violations: &mut Violations,
) -> Option<String> {
    if text.trim().is_empty() {
        violations.push(
            field,
            format!("{field} is missing; give 1 to {bytes_max} bytes of text"),
        );
        return None;
    }
    checked(text, bytes_max, field, violations)
}

/// Reads a text that the caller may leave out, as it is; blanks only are nothing.
pub fn optional_from_wire(
    text: Option<String>,
    bytes_max: usize,
    field: &str,
    violations: &mut Violations,
) -> Option<String> {
    let text = present(text)?;
    checked(text, bytes_max, field, violations)
}

/// Reads a full session key that the caller must give.
pub fn key_from_wire(text: &str, field: &str, violations: &mut Violations) -> Option<SessionKey> {
    match SessionKey::parse(text) {
        Ok(key) => Some(key),
        Err(error) => {
            violations.push(field, format!("{field}: {error}"));
            None
        },
    }
}

/// Reads a full session key that the caller may leave out.
pub fn optional_key_from_wire(
    text: Option<String>,
    field: &str,
    violations: &mut Violations,
) -> Option<SessionKey> {
    let text = present(text)?;
    key_from_wire(&text, field, violations)
}

/// Reads an identifier that the caller must give, with the parser of its type.
pub fn id_from_wire<T>(
    text: String,
    parse: impl FnOnce(String) -> Result<T, IdError>,
    field: &str,
    violations: &mut Violations,
) -> Option<T> {
    match parse(text) {
        Ok(id) => Some(id),
        Err(error) => {
            violations.push(field, format!("{field} cannot be used: {error}"));
            None
        },
    }
}

/// Reads an identifier that the caller may leave out, with the parser of its type.
pub fn optional_id_from_wire<T>(
    text: Option<String>,
    parse: impl FnOnce(String) -> Result<T, IdError>,
    field: &str,
    violations: &mut Violations,
) -> Option<T> {
    let text = present(text)?;
    id_from_wire(text, parse, field, violations)
}

/// A text that says something; blanks only are nothing.
fn present(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

fn checked(
    text: String,
    bytes_max: usize,
    field: &str,
    violations: &mut Violations,
) -> Option<String> {
    let bytes = text.len();
    if bytes > bytes_max {
        violations.push(
            field,
            format!("{field} has {bytes} bytes; at most {bytes_max} are allowed: shorten it"),
        );
        return None;
    }
    if let Some(character) = text.chars().find(|character| character.is_control()) {
        violations.push(
            field,
            format!("{field} holds the control character {character:?}; remove it"),
        );
        return None;
    }
    Some(text)
}
