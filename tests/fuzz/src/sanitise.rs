//! The sanitiser: it takes away and adds no word, and a second time it finds nothing.

use std::borrow::Cow;

use confab_text::sanitise::sanitise;

use crate::{Target, text};

/// Taking reasoning, scaffolding and the text of tool calls out of what an agent said.
pub const TARGET: Target = Target {
    name: "sanitise",
    check,
};

fn check(bytes: &[u8]) {
    let said = text(bytes);
    let clean = sanitise(&said);
    assert_eq!(sanitise(&clean), clean, "a second time changes it");
    assert!(
        is_part_of(&clean, &said),
        "something was added or moved: {clean:?}"
    );
    let prose: String = said.chars().filter(|one| is_of_prose(*one)).collect();
    assert!(
        matches!(sanitise(&prose), Cow::Borrowed(same) if same == prose),
        "prose was changed: {prose:?}"
    );
}

/// No mark can be made of these.
fn is_of_prose(character: char) -> bool {
    character.is_ascii_alphanumeric() || [' ', ',', '.', '\n'].contains(&character)
}

/// Whether what is left stood in the text, in this order. A blank may stand where a mark stood, so
/// that words do not grow together.
fn is_part_of(left: &str, text: &str) -> bool {
    let mut rest = text.chars();
    left.split_whitespace()
        .flat_map(str::chars)
        .all(|character| rest.any(|one| one == character))
}
