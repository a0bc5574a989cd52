//! Loading a configuration: all of it, or every reason why not.

use std::error::Error;
use std::fmt;

use serde_json::Value;

use crate::effective::{self, Effective};
pub use crate::schema::{Class, Problem, Warning};
use crate::schema::{Walk, walk};
use crate::settings::Settings;
use crate::source::{self, Document, ReadError, Source};

/// A configuration that can be put in force.
#[derive(Debug)]
pub struct Loaded {
    /// What it says.
    pub settings: Settings,
    /// What of it has no effect; each displays as one line.
    pub warnings: Vec<Warning>,
    /// The file as parsed, with the overrides applied.
    pub(crate) document: Value,
}

impl Loaded {
    /// What is in force, key by key; what the file leaves to a default is marked (B212).
    pub fn effective(&self) -> Vec<Effective> {
        effective::of(&self.settings, &self.document)
    }
}

/// Why a configuration cannot be put in force.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is nothing to judge.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Something in it is wrong.
    #[error("{0}")]
    Invalid(Problems),
}

impl LoadError {
    /// Everything a person has to know, one line for each fault, as `confab config check` shows it.
    pub fn report(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }
}

/// Every fault of a file, in the order of the walk; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// All of them.
    pub fn list(&self) -> &[Problem] {
        &self.0
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.0.iter().enumerate() {
            let line_break = if position == 0 { "" } else { "\n" };
            write!(formatter, "{line_break}{problem}")?;
        }
        Ok(())
    }
}

/// Reads and checks a configuration.
///
/// # Errors
/// When it cannot be read, or with everything that is wrong with it.
pub fn load(source: &Source) -> Result<Loaded, LoadError> {
    judge(source.read()?)
}

/// Checks a document that was read.
pub(crate) fn judge(document: Document) -> Result<Loaded, LoadError> {
    let Walk {
        settings,
        problems,
        warnings,
    } = walk(&document.value, &document.directory, &source::secret);
    if problems.is_empty() {
        Ok(Loaded {
            settings,
            warnings,
            document: document.value,
        })
    } else {
        Err(LoadError::Invalid(Problems(problems)))
    }
}
