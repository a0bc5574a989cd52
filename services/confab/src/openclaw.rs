//! A state directory of `OpenClaw`: what lies where in it, and what its sessions are here.
//!
//! It is read and never written; nothing in here knows a service. [`layout`] finds the places,
//! [`gather`] reads them, by [`index`], [`name`] and [`database`]; [`entry`] turns a row into a
//! session; [`plan`] says which transcript belongs to which session, and in which order they go in;
//! [`source`] hands out what was said as lines of JSON. [`confine`] keeps all paths inside.
//!
//! Source: contract (Command line), run:T1, run:T27, B205.

mod confine;
mod database;
mod entry;
mod gather;
mod index;
mod layout;
mod name;
pub(crate) mod plan;
pub(crate) mod source;
#[cfg(test)]
mod tests;

use std::path::Path;

/// Something that could not be read or taken over, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The file, relative to the directory.
    pub file: String,
    /// The line in it, from 1, where one is to blame.
    pub line: Option<i64>,
    /// What is wrong, in one sentence.
    pub reason: String,
}

impl Fault {
    fn of(file: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            line: None,
            reason: reason.into(),
        }
    }
}

/// A file that is no transcript of its own, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PassedOver {
    /// The file, relative to the directory.
    pub file: String,
    /// Why it was passed over.
    pub reason: &'static str,
}

/// A path as people see it: relative to `root`.
fn shown(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).unwrap_or(path);
    inside.display().to_string()
}
