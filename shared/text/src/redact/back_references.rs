//! Back-references in patterns that were written for another engine.
//!
//! `(["']?)([^\s"']+)\1` is common in configuration files. The engine here has no back-references,
//! as they cannot be matched in linear time; `\1` is read as the group's own expression once more.
//! That matches all that the original does and may match more, which for hiding is the safe side.
//!
//! Source: run:R18.

use std::ops::Range;

/// What is wrong with a pattern: what was given, and what is allowed.
type Fault = (String, String);

/// `source` with every back-reference replaced by the expression of its group.
pub(super) fn spelled_out(source: &str) -> Result<String, Fault> {
    let parts = Parts::of(source);
    let mut text = String::with_capacity(source.len());
    let mut at = 0;
    for (range, number) in &parts.references {
        let group = number
            .checked_sub(1)
            .and_then(|index| parts.groups.get(index));
        // A group that refers to another, or to itself, would have to be spelled out for ever.
        let plain = group.filter(|group| {
            let within = |(place, _): &(Range<usize>, usize)| group.contains(&place.start);
            group.end <= range.start && !parts.references.iter().any(within)
        });
        let expression = plain
            .and_then(|group| source.get(group.clone()))
            .ok_or_else(refused)?;
        text.push_str(source.get(at..range.start).unwrap_or(""));
        text.push_str("(?:");
        text.push_str(&without_groups(expression));
        text.push(')');
        at = range.end;
    }
    text.push_str(source.get(at..).unwrap_or(""));
    Ok(text)
}

fn refused() -> Fault {
    let given = "a back-reference that names no plain group before it".to_owned();
    let allowed = "a regular expression; repeat the group's expression instead of the reference";
    (given, allowed.to_owned())
}

/// The groups and the references of an expression.
#[derive(Debug, Default)]
struct Parts {
    /// What stands between the brackets of each group that counts, in their order.
    groups: Vec<Range<usize>>,
    /// Where a reference stands, and the number of its group.
    references: Vec<(Range<usize>, usize)>,
    /// Where each bracket opens that makes a group that counts.
    opened: Vec<usize>,
}

impl Parts {
    fn of(source: &str) -> Self {
        let bytes = source.as_bytes();
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let mut parts = Self::default();
        // The number of each bracket's group, where it has one.
        let mut open: Vec<Option<usize>> = Vec::new();
        let mut in_class = false;
        let mut at = 0;
        while at < bytes.len() {
            match byte(at) {
                b'\\' => {
                    if !in_class && matches!(byte(at + 1), b'1'..=b'9') {
                        let number = usize::from(byte(at + 1) - b'0');
                        parts.references.push((at..at + 2, number));
                    }
                    at += 1;
                },
                b'[' => in_class = true,
                b']' => in_class = false,
                b'(' if !in_class => {
                    let counts = byte(at + 1) != b'?' || is_named(source, at);
                    let number = counts.then_some(parts.groups.len());
                    if counts {
                        parts.opened.push(at);
                        parts.groups.push(at + 1..at + 1);
                    }
                    open.push(number);
                },
                b')' if !in_class => {
                    let number = open.pop().flatten();
                    if let Some(group) = number.and_then(|number| parts.groups.get_mut(number)) {
                        group.end = at;
                    }
                },
                _ => {},
            }
            at += 1;
        }
        parts
    }
}

/// Whether the bracket at `at` begins a group with a name.
fn is_named(source: &str, at: usize) -> bool {
    let rest = source.get(at..).unwrap_or("");
    rest.starts_with("(?P<")
        || rest.starts_with("(?<") && !rest.starts_with("(?<=") && !rest.starts_with("(?<!")
}

/// `expression` with its groups made not to count.
fn without_groups(expression: &str) -> String {
    let mut text = String::with_capacity(expression.len());
    let mut at = 0;
    for opened in Parts::of(expression).opened {
        text.push_str(expression.get(at..opened).unwrap_or(""));
        text.push_str("(?:");
        at = opened + 1;
    }
    text.push_str(expression.get(at..).unwrap_or(""));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_back_reference_is_its_groups_expression_once_more() {
        let cases = [
            (
                r#"KEY=(["']?)([^\s"']+)\1"#,
                r#"KEY=(["']?)([^\s"']+)(?:["']?)"#,
            ),
            (r"(?:a)(b(c))\1\2", r"(?:a)(b(c))(?:b(?:c))(?:c)"),
            (r"[\1(](x)\1", r"[\1(](x)(?:x)"),
            (r"\\1(a)", r"\\1(a)"),
            (r"plain\d+", r"plain\d+"),
        ];
        for (source, expected) in cases {
            assert_eq!(spelled_out(source).as_deref(), Ok(expected), "{source}");
        }
    }

    #[test]
    fn a_back_reference_to_nothing_plain_is_refused() {
        for source in [r"\1(a)", r"(a\1)", r"(a)\2", r"(a)(b\1)\2"] {
            assert!(spelled_out(source).is_err(), "{source}");
        }
    }
}
