//! The lines of a transcript file: what each means, and how a message is written as one.
//!
//! A file is a header and entries, a JSON object a line. Entries form a tree by `id` and `parentId`;
//! the conversation is the path from its root to its leaf. Older files are a plain list: an entry that
//! names no parent hangs on the one before it.
//!
//! Nothing here reads or writes a file. A fault tells what is wrong with a line and never what the
//! line says.
//!
//! Source: run:T2, run:T3, run:T4, run:T14.

pub mod head;
pub mod key;
pub mod pictures;
pub mod read;
pub mod time;
pub mod tree;
pub mod write;

mod field;
mod parts;

use serde_json::Value;

/// The prefix of a line of the prompt that names the sender, of which bodies are freed (run:T21, D25).
const SENDER_LINE: &str = "[Inter-session message]";
/// How the sentence begins that may follow the sender's line.
const SENDER_SENTENCE: &str = "This content was routed by OpenClaw";

/// Why a line cannot be stored; never what it says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Not UTF-8.
    #[error("is not UTF-8 from byte {0} on")]
    Encoding(usize),
    /// NUL bytes, as a crash leaves them.
    #[error("has NUL bytes: the file was damaged here")]
    Nul,
    /// Not JSON.
    #[error("is not JSON: wrong at column {0}")]
    Syntax(usize),
    /// The last line, without its end.
    #[error("ends in the middle of its JSON: the file was cut off here")]
    CutOff,
    /// Longer than a line may be.
    #[error("has {given} bytes; at most {allowed} are allowed")]
    TooLong {
        /// Bytes of the line.
        given: u64,
        /// Bytes a line may have.
        allowed: usize,
    },
    /// JSON, but no object.
    #[error("is JSON, but no object")]
    NoObject,
    /// An object that is no entry.
    #[error("is an object without `type`, `role` or `message`")]
    NoEntry,
    /// A message that is none.
    #[error("is a message whose {field} is {given}; {allowed} is allowed")]
    Shape {
        /// The path of the field.
        field: &'static str,
        /// What kind of value it has.
        given: &'static str,
        /// What it may have.
        allowed: &'static str,
    },
    /// More content than a message may have.
    #[error("has {given} bytes of content; at most {allowed} are allowed")]
    Content {
        /// Bytes of the content.
        given: usize,
        /// Bytes a message may have.
        allowed: usize,
    },
    /// More parts than a message may have.
    #[error("has {given} blocks; at most {allowed} are allowed")]
    Blocks {
        /// Parts of the message.
        given: usize,
        /// Parts a message may have.
        allowed: usize,
    },
    /// An id that an earlier line has.
    #[error("has the id of an earlier line, which stands")]
    Duplicate,
    /// A message that is stored otherwise.
    #[error("is stored already with other content, which stands")]
    Stored,
}

/// What kind of JSON a value is, for faults.
const fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Reads a line as JSON.
///
/// Half of a UTF-16 pair, which a text cut by units ends in, is read as the replacement character.
///
/// # Errors
/// When it is no JSON.
pub fn json(line: &str) -> Result<Value, Fault> {
    let read = match serde_json::from_str(line) {
        Ok(value) => Ok(value),
        Err(error) => serde_json::from_str(&without_half_pairs(line)).map_err(|_| error),
    };
    read.map_err(|error| Fault::Syntax(error.column()))
}

/// The line with every escape of half a pair replaced.
fn without_half_pairs(line: &str) -> String {
    let mut whole = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        whole.push_str(before);
        let width = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => 0,
            (Some(_), _) => 6,
            (None, _) => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        if width == 0 {
            whole.push('\u{FFFD}');
        }
        let (kept, after) = escape.split_at(width);
        whole.push_str(kept);
        rest = if width == 0 {
            escape.get(6..).unwrap_or_default()
        } else {
            after
        };
    }
    whole.push_str(rest);
    whole
}

/// The UTF-16 unit of an escape like `\ud83d` that `text` begins with.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests;
