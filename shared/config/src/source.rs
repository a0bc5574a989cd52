//! Where configuration comes from: the one place that reads the file and the environment.
//!
//! Source: contract, Configuration.

mod nesting;
mod overrides;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use secrecy::SecretString;
use serde_json::{Map, Value};

/// Names the file where the command line does not (contract).
const FILE_VARIABLE: &str = "CONFAB_CONFIG";

/// Largest file that is read, in bytes: room for thousands of script rules.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// The value of an environment variable; absent when it is not set, empty or not UTF-8.
#[expect(
    clippy::disallowed_methods,
    reason = "this module is the one that reads the environment"
)]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The secret in an environment variable, which the file names as `secretEnv` or `apiKeyEnv`.
pub fn secret(name: &str) -> Option<SecretString> {
    variable(name).map(SecretString::from)
}

/// A file, or none, and the environment's corrections of it.
#[derive(Clone)]
pub struct Source {
    text: Text,
    /// Variables `CONFAB__…` by name; they may hold secrets.
    overrides: BTreeMap<String, String>,
}

/// Where the text is.
#[derive(Clone)]
enum Text {
    /// Nowhere: everything has its default.
    Nothing,
    /// In a file.
    File(PathBuf),
    /// In the program itself.
    Inline(String),
}

impl Source {
    /// The file the command line names, else the one `CONFAB_CONFIG` names, else none; and the
    /// overrides in the environment of this process.
    pub fn of_process(command_line: Option<PathBuf>) -> Self {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Self::of(command_line, variables)
    }

    /// The same with `variables` as the environment.
    pub fn of(
        command_line: Option<PathBuf>,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let mut variables: BTreeMap<String, String> = variables.into_iter().collect();
        let named = variables
            .remove(FILE_VARIABLE)
            .filter(|path| !path.is_empty());
        let text = match command_line.or_else(|| named.map(PathBuf::from)) {
            Some(path) => Text::File(path),
            None => Text::Nothing,
        };
        variables.retain(|name, _| name.starts_with(overrides::PREFIX));
        Self {
            text,
            overrides: variables,
        }
    }

    /// A text the program brings along, in the form of the file; the environment is left out.
    pub fn inline(json5: impl Into<String>) -> Self {
        Self {
            text: Text::Inline(json5.into()),
            overrides: BTreeMap::new(),
        }
    }

    /// The file, where there is one.
    pub fn path(&self) -> Option<&Path> {
        match &self.text {
            Text::File(path) => Some(path),
            Text::Nothing | Text::Inline(_) => None,
        }
    }

    /// What changes when the file does; absent when there is none.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        let metadata = fs::metadata(self.path()?).ok()?;
        Some(Stamp {
            modified: metadata.modified().ok(),
            bytes: metadata.len(),
        })
    }

    /// Reads the text and applies the overrides.
    pub(crate) fn read(&self) -> Result<Document, ReadError> {
        let mut value = match &self.text {
            Text::Nothing => Value::Object(Map::new()),
            Text::File(path) => parse(&read_file(path)?, self.name())?,
            Text::Inline(text) => parse(text, self.name())?,
        };
        overrides::apply(&mut value, &self.overrides);
        let directory = self
            .path()
            .and_then(Path::parent)
            .unwrap_or_else(|| Path::new(""))
            .to_path_buf();
        Ok(Document { value, directory })
    }

    fn name(&self) -> String {
        match &self.text {
            Text::File(path) => path.display().to_string(),
            Text::Nothing | Text::Inline(_) => "the built-in configuration".to_owned(),
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.overrides.keys().collect();
        formatter
            .debug_struct("Source")
            .field("text", &self.name())
            .field("overrides", &names)
            .finish()
    }
}

/// What changes when a file does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
}

/// A parsed file with the overrides applied.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// What it says.
    pub(crate) value: Value,
    /// Where its relative paths start.
    pub(crate) directory: PathBuf,
}

/// Why there is no document.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("cannot read the configuration file {path}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is too large.
    #[error("the configuration file {path} is larger than {FILE_BYTES_MAX} bytes")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The text is not JSON5.
    #[error("{name} is not JSON5")]
    Syntax {
        /// The file, or what stands for it.
        name: String,
        /// What is wrong, and where.
        source: json5::Error,
    },
}

fn read_file(path: &Path) -> Result<String, ReadError> {
    let unreadable = |source| ReadError::Unreadable {
        path: path.to_path_buf(),
        source,
    };
    if fs::metadata(path).map_err(unreadable)?.len() > FILE_BYTES_MAX {
        return Err(ReadError::TooLarge {
            path: path.to_path_buf(),
        });
    }
    fs::read_to_string(path).map_err(unreadable)
}

fn parse(text: &str, name: String) -> Result<Value, ReadError> {
    let parsed = match nesting::too_deep(text) {
        Some(offset) => Err(too_deep_at(offset, text)),
        None => json5::from_str(text),
    };
    parsed.map_err(|source| ReadError::Syntax { name, source })
}

fn too_deep_at(offset: usize, text: &str) -> json5::Error {
    let max = nesting::DEPTH_MAX;
    json5::Error::custom_at(
        json5::Position::from_offset(offset, text),
        format!("brackets are nested deeper than {max} levels; take out the one"),
    )
}
