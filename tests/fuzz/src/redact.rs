//! Redaction: a secret is gone wherever it stands, and a mask stays a mask.

use confab_text::redact::Redactor;
use serde_json::{Map, Value};

use crate::{Target, text};

/// Hiding credentials.
pub const TARGET: Target = Target {
    name: "redact",
    check,
};

/// A token of a well-known family. It is none: it was made of two halves here.
const TOKEN: &str = concat!("ghp_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8");

fn check(bytes: &[u8]) {
    let said = text(bytes);
    let redactor = Redactor::built_in();
    let hidden = redactor.redact(&said);
    assert_eq!(redactor.redact(&hidden), hidden, "a second time changes it");

    arguments(&redactor, &said);
    // Where the token is there already, perhaps inside a longer word, the planted one is not told from
    // it.
    if !said.contains(TOKEN) {
        planted(&redactor, &said, bytes.len() / 2);
    }
}

/// A token of its own, somewhere in the text, is gone.
fn planted(redactor: &Redactor, said: &str, at: usize) {
    let (before, behind) = said.split_at(said.floor_char_boundary(at));
    for (open, close) in [("\n", "\n"), (" ", " "), ("\"", "\"")] {
        let planted = format!("{before}{open}{TOKEN}{close}{behind}");
        let hidden = redactor.redact(&planted);
        assert!(!hidden.contains(TOKEN), "a token is left in {hidden:?}");
    }
}

/// The arguments of a call: a text, and the value of a field whose name gives it away.
fn arguments(redactor: &Redactor, said: &str) {
    let fields = [("command", said), ("password", said), (said, "value")];
    let given: Map<String, Value> = fields
        .into_iter()
        .map(|(name, text)| (name.to_owned(), Value::from(text)))
        .collect();
    let hidden = redactor
        .redact_json(&given)
        .unwrap_or_else(|| given.clone());
    assert_eq!(hidden.len(), given.len(), "a field is lost");
    assert_eq!(
        redactor.redact_json(&hidden),
        None,
        "a second time changes it"
    );
}
