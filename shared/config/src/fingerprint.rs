//! A short name for what is in force.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::schema::OWNED;

/// Hexadecimal digits of the digest that are shown (contract).
const SHOWN_DIGITS: usize = 12;

/// The first 12 hexadecimal digits of the SHA-256 of the sections confab reads, written as JSON
/// with sorted names and without blanks; fields that are null or an empty object say nothing and are
/// left out.
pub(crate) fn fingerprint(document: &Value) -> String {
    let owned: BTreeMap<&str, Value> = OWNED
        .iter()
        .filter_map(|name| Some((*name, canonical(document.get(name)?))))
        .filter(|(_, section)| says_something(section))
        .collect();
    let text = serde_json::to_string(&owned).expect("JSON values with text names can be written");
    let digest = Sha256::digest(text.as_bytes());
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .take(SHOWN_DIGITS)
        .collect()
}

fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, field)| (name.clone(), canonical(field)));
            let sorted: BTreeMap<String, Value> =
                fields.filter(|(_, field)| says_something(field)).collect();
            sorted.into_iter().collect()
        },
        Value::Array(items) => items.iter().map(canonical).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn says_something(value: &Value) -> bool {
    !value.is_null() && value.as_object().is_none_or(|fields| !fields.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json5: &str) -> String {
        fingerprint(&json5::from_str(json5).unwrap())
    }

    #[test]
    fn formatting_order_and_foreign_sections_do_not_change_it() {
        let plain = of(r#"{"session": {"scope": "global", "agentToAgent": {"maxHops": 3}}}"#);
        for same in [
            "{ session: { agentToAgent: { maxHops: 3, }, scope: 'global' } } // a comment",
            "{ channels: { a: 1 }, session: { scope: 'global', agentToAgent: { maxHops: 3 } } }",
            "{ confab: {storage: {}}, tools: null, session: { scope: 'global', store: null, agentToAgent: { maxHops: 3 } } }",
        ] {
            assert_eq!(of(same), plain, "{same}");
        }
        assert_eq!(plain.len(), 12);
        assert!(plain.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }

    #[test]
    fn content_changes_it() {
        let texts = [
            "{}",
            "{session: {scope: 'global'}}",
            "{session: {agentToAgent: {maxHops: 3}}}",
            "{session: {agentToAgent: {maxHops: 4}}}",
            "{confab: {models: ['a', 'b']}}",
            "{confab: {models: ['b', 'a']}}",
        ];
        let prints: std::collections::BTreeSet<String> = texts.into_iter().map(of).collect();
        assert_eq!(prints.len(), texts.len());
    }
}
