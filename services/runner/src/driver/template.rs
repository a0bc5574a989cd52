//! The texts of script rules: placeholders, captures, escapes; read once from left to right, so
//! that what is put in is never read again.
//!
//! Source: contract, The script driver.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// What placeholders stand for.
pub(super) trait Names {
    /// The value of `{name}`; `None` leaves the text as it is.
    fn named(&self, name: &str) -> Option<Cow<'_, str>>;

    /// The capture of `$number`; `None` where the rule has no `match`, which leaves `$` as it is.
    fn captured(&self, number: usize) -> Option<&str>;
}

/// Fills in a text.
pub(super) fn fill(template: &str, names: &impl Names) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(place) = rest.find(['{', '$']) {
        let (before, here) = rest.split_at(place);
        text.push_str(before);
        let (value, after) = one(here, names);
        text.push_str(&value);
        rest = after;
    }
    text.push_str(rest);
    text
}

/// Fills in every text of a JSON value.
pub(super) fn fill_json(value: &Value, names: &impl Names) -> Value {
    match value {
        Value::String(text) => Value::String(fill(text, names)),
        Value::Array(items) => items.iter().map(|item| fill_json(item, names)).collect(),
        Value::Object(fields) => Value::Object(fill_object(fields, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Fills in every text of a JSON object.
pub(super) fn fill_object(fields: &Map<String, Value>, names: &impl Names) -> Map<String, Value> {
    fields
        .iter()
        .map(|(name, value)| (name.clone(), fill_json(value, names)))
        .collect()
}

/// What stands for the mark that `here` begins with, and what follows it.
fn one<'t>(here: &'t str, names: &impl Names) -> (String, &'t str) {
    let marked = match here.strip_prefix('{') {
        Some(inside) => braced(inside, names),
        None => here
            .strip_prefix('$')
            .and_then(|after| dollar(after, names)),
    };
    marked.unwrap_or_else(|| {
        let (mark, after) = here.split_at(here.chars().next().map_or(0, char::len_utf8));
        (mark.to_owned(), after)
    })
}

fn braced<'t>(inside: &'t str, names: &impl Names) -> Option<(String, &'t str)> {
    if let Some(after) = inside.strip_prefix('{') {
        return Some(("{".to_owned(), after));
    }
    let (name, after) = inside.split_once('}')?;
    names.named(name).map(|value| (value.into_owned(), after))
}

fn dollar<'t>(after: &'t str, names: &impl Names) -> Option<(String, &'t str)> {
    if let Some(rest) = after.strip_prefix('$') {
        return Some(("$".to_owned(), rest));
    }
    let (digits, rest) = match after.strip_prefix('{') {
        Some(inside) => inside.split_once('}')?,
        None => after.split_at(usize::from(
            after.starts_with(|one: char| one.is_ascii_digit()),
        )),
    };
    let number: usize = digits.parse().ok()?;
    names.captured(number).map(|value| (value.to_owned(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed;

    impl Names for Fixed {
        fn named(&self, name: &str) -> Option<Cow<'_, str>> {
            match name {
                "message" => Some(Cow::Borrowed("{session} $1")),
                "session" => Some(Cow::Borrowed("agent:a:main")),
                _ => None,
            }
        }

        fn captured(&self, number: usize) -> Option<&str> {
            ["whole", "first"].get(number).copied()
        }
    }

    #[test]
    fn marks_are_filled_in_once_and_from_left_to_right() {
        for (template, text) in [
            ("plain", "plain"),
            ("{session}!", "agent:a:main!"),
            ("{message}", "{session} $1"),
            ("$1 and ${1}x and $0", "first and firstx and whole"),
            ("$$1 {{session}", "$1 {session}"),
            ("{unknown} {", "{unknown} {"),
            ("$x $ ${nine} $9", "$x $ ${nine} $9"),
            ("ünïcode {session} 🦀$1", "ünïcode agent:a:main 🦀first"),
        ] {
            assert_eq!(fill(template, &Fixed), text, "{template}");
        }
    }

    #[test]
    fn texts_inside_json_are_filled_in_and_nothing_else() {
        let value = serde_json::json!({"to": ["$1", 1, null], "{session}": {"deep": "{session}"}});
        let filled =
            serde_json::json!({"to": ["first", 1, null], "{session}": {"deep": "agent:a:main"}});
        assert_eq!(fill_json(&value, &Fixed), filled);
    }
}
