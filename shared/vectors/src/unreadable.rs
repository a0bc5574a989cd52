//! Why vectors cannot be read.

use std::error::Error;
use std::fmt::{self, Display, Formatter};

/// Why vectors cannot be read.
#[derive(Debug)]
pub enum Unreadable {
    /// The file is no JSON array of cases.
    File {
        /// Its name.
        file: &'static str,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// The file holds another number of cases than it is known to.
    Count {
        /// Its name.
        file: &'static str,
        /// How many cases it is known to hold.
        expected: usize,
        /// How many it holds.
        found: usize,
    },
    /// A mark is not of the form `{{NxC}}`.
    Mark {
        /// The case.
        id: String,
        /// The text with the mark.
        text: String,
    },
    /// A side of a case is not what its test reads it as.
    Side {
        /// The case.
        id: String,
        /// `in` or `out`.
        field: &'static str,
        /// What is wrong.
        source: serde_json::Error,
    },
}

impl Display for Unreadable {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, .. } => write!(to, "{file} is no array of cases"),
            Self::Count {
                file,
                expected,
                found,
            } => write!(
                to,
                "{file} holds {found} cases, not {expected}: if that is meant, set its count"
            ),
            Self::Mark { id, text } => {
                write!(
                    to,
                    "{id}: a mark in {text:?} is not of the form {{{{NxC}}}}"
                )
            },
            Self::Side { id, field, .. } => write!(to, "{id}: {field} has another form"),
        }
    }
}

impl Error for Unreadable {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::File { source, .. } | Self::Side { source, .. } => Some(source),
            Self::Count { .. } | Self::Mark { .. } => None,
        }
    }
}
