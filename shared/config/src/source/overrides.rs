//! Scalars of section `confab` from environment variables.
//!
//! `CONFAB__TELEMETRY__OTLP_ENDPOINT` is `confab.telemetry.otlpEndpoint`: a double underscore is a
//! level, a single one joins the words of a name.
//!
//! Source: contract, Configuration.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// How the names begin.
pub(super) const PREFIX: &str = "CONFAB__";

/// Writes the variables into the document; an unknown name is left for the schema to refuse.
pub(super) fn apply(document: &mut Value, variables: &BTreeMap<String, String>) {
    for (name, text) in variables {
        let Some(levels) = name.strip_prefix(PREFIX) else {
            continue;
        };
        let path = levels.split("__").map(camel_case);
        let path: Vec<String> = std::iter::once("confab".to_owned()).chain(path).collect();
        set(document, &path, scalar(text));
    }
}

/// Writes `value` at `path`. Where the file has something else than an object on the way, it is left
/// as it is: the schema reports it.
fn set(document: &mut Value, path: &[String], value: Value) {
    let Some((name, rest)) = path.split_first() else {
        *document = value;
        return;
    };
    if document.is_null() {
        *document = Value::Object(Map::new());
    }
    if let Some(fields) = document.as_object_mut() {
        set(
            fields.entry(name.clone()).or_insert(Value::Null),
            rest,
            value,
        );
    }
}

/// Numbers and booleans as such, an empty text as nothing, everything else as text.
fn scalar(text: &str) -> Value {
    match text {
        "" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => match text.parse::<i64>() {
            Ok(number) => Value::from(number),
            Err(_) => Value::String(text.to_owned()),
        },
    }
}

fn camel_case(words: &str) -> String {
    let mut name = String::with_capacity(words.len());
    for (position, word) in words.split('_').enumerate() {
        let word = word.to_ascii_lowercase();
        let mut letters = word.chars();
        match letters.next() {
            Some(first) if position > 0 => name.push(first.to_ascii_uppercase()),
            Some(first) => name.push(first),
            None => continue,
        }
        name.push_str(letters.as_str());
    }
    name
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_become_one_name() {
        let cases = [
            ("URL", "url"),
            ("OTLP_ENDPOINT", "otlpEndpoint"),
            ("QUEUE_MAX_PER_SESSION", "queueMaxPerSession"),
            ("", ""),
        ];
        for (words, name) in cases {
            assert_eq!(camel_case(words), name, "{words}");
        }
    }

    #[test]
    fn a_variable_is_written_at_its_path_with_its_type() {
        let cases = [
            (
                "CONFAB__STORAGE__URL",
                "sqlite://x",
                json!({"storage": {"url": "sqlite://x"}}),
            ),
            (
                "CONFAB__RUNS__LEASE_SECONDS",
                "30",
                json!({"runs": {"leaseSeconds": 30}}),
            ),
            (
                "CONFAB__RUNS__LEASE_SECONDS",
                "-3",
                json!({"runs": {"leaseSeconds": -3}}),
            ),
            ("CONFAB__X", "true", json!({"x": true})),
            (
                "CONFAB__TELEMETRY__OTLP_ENDPOINT",
                "",
                json!({"telemetry": {"otlpEndpoint": null}}),
            ),
        ];
        for (name, text, expected) in cases {
            let mut document = json!({});
            apply(
                &mut document,
                &BTreeMap::from([(name.to_owned(), text.to_owned())]),
            );
            assert_eq!(document, json!({ "confab": expected }), "{name}={text}");
        }
    }

    #[test]
    fn the_file_keeps_what_the_environment_does_not_name() {
        let mut document = json!({"confab": {"storage": {"url": "a"}, "auth": 7}, "session": 1});
        let variables = [("CONFAB__STORAGE__URL", "b"), ("CONFAB__AUTH__MODE", "jwt")];
        apply(
            &mut document,
            &variables.map(|(n, v)| (n.to_owned(), v.to_owned())).into(),
        );
        let expected = json!({"confab": {"storage": {"url": "b"}, "auth": 7}, "session": 1});
        assert_eq!(document, expected);
    }
}
