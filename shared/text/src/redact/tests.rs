//! Families by example, what stays, stability, linear work.

mod families;
mod harmless;
mod json;
mod patterns;
mod stability;
mod work;

use super::{RedactionRules, Redactor};

fn shown(text: &str) -> String {
    Redactor::built_in().redact(text).into_owned()
}

fn with(patterns: &[&str], secrets: &[&str]) -> Redactor {
    let owned = |list: &[&str]| list.iter().map(|item| (*item).to_owned()).collect();
    let rules = RedactionRules {
        patterns: owned(patterns),
        secrets: owned(secrets),
    };
    Redactor::new(&rules).unwrap()
}
