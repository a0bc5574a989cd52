//! What a walk finds: faults, and things without effect.

use std::fmt;

/// What kind of fault a value has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Nobody knows a key of this name here.
    UnknownKey,
    /// A number outside its range.
    Range,
    /// A text where a number belongs, and the like; or nothing where something is required.
    Type,
    /// A word, pattern or address that is not allowed.
    Value,
    /// Two settings that exclude one another.
    Conflict,
}

impl Class {
    /// The word for programs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownKey => "unknown_key",
            Self::Range => "range",
            Self::Type => "type",
            Self::Value => "value",
            Self::Conflict => "conflict",
        }
    }

    /// The verdict for people.
    const fn verdict(self) -> &'static str {
        match self {
            Self::UnknownKey => "unknown key",
            Self::Range => "out of range",
            Self::Type => "wrong type",
            Self::Value => "not allowed",
            Self::Conflict => "conflict",
        }
    }
}

/// One fault of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, for example `session.sendPolicy.rules[0].match.chatType`; empty = the whole file.
    pub path: String,
    /// What kind of fault.
    pub class: Class,
    /// What was given, in words; never a secret.
    pub given: String,
    /// What would be right, in words.
    pub allowed: String,
    /// The known name that was probably meant.
    pub nearest: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() {
            "the file"
        } else {
            &self.path
        };
        write!(formatter, "{path}: {}", self.class.verdict())?;
        if !self.given.is_empty() {
            write!(formatter, ", got {}", self.given)?;
        }
        write!(formatter, "; allowed: {}", self.allowed)?;
        match &self.nearest {
            Some(nearest) => write!(formatter, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}

/// Something in the file that is accepted and has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Where; empty = the whole file.
    pub path: String,
    /// One line for people, the path included.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

/// Collects what a walk finds, in the order of the walk.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) problems: Vec<Problem>,
    pub(super) warnings: Vec<Warning>,
}

impl Findings {
    /// Notes that `path` has no effect, in words that follow the path.
    pub(super) fn warn(&mut self, path: String, words: &str) {
        let message = format!("{path} {words}");
        self.warnings.push(Warning { path, message });
    }
}
