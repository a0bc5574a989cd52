//! The file that lists an agent's sessions.
//!
//! Source: run:T1, B205.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde_json::{Map, Value};

use super::Fault;

/// The file's name.
pub(super) const INDEX: &str = "sessions.json";
/// Largest file that is read, in bytes: tens of thousands of sessions with their prompts.
const INDEX_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// One row of an index.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// Its key as written.
    pub key: String,
    /// Its fields.
    pub fields: Map<String, Value>,
}

/// The rows of an index, and those that are none.
///
/// # Errors
/// When it cannot be read as a whole: it is never taken for empty.
///
/// Source: B205.
pub(super) fn read(path: &Path, shown: &str) -> Result<(Vec<Row>, Vec<Fault>), Fault> {
    let text = text(path).map_err(|reason| Fault::of(shown, reason))?;
    let whole: Value =
        serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
            let line = i64::try_from(error.line()).ok().filter(|line| *line > 0);
            Fault {
                line,
                ..Fault::of(shown, format!("it is no JSON: {error}"))
            }
        })?;
    let Value::Object(entries) = whole else {
        return Err(Fault::of(shown, "it holds no JSON object"));
    };
    let mut rows = Vec::new();
    let mut faults = Vec::new();
    for (key, entry) in entries {
        match entry {
            Value::Object(fields) => rows.push(Row { key, fields }),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => {
                faults.push(Fault::of(shown, format!("the entry of {key} is no object")));
            },
        }
    }
    Ok((rows, faults))
}

fn text(path: &Path) -> Result<String, String> {
    let file = File::open(path).map_err(|error| format!("it cannot be opened: {error}"))?;
    let mut text = String::new();
    file.take(INDEX_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| format!("it cannot be read: {error}"))?;
    if text.trim().is_empty() {
        return Err("it is empty, which no index ever is; a write was cut short".to_owned());
    }
    if u64::try_from(text.len()).is_ok_and(|bytes| bytes <= INDEX_BYTES_MAX) {
        Ok(text)
    } else {
        Err(format!("it is longer than {INDEX_BYTES_MAX} bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "sessions/sessions.json";

    fn written(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    #[test]
    fn a_broken_index_is_an_error_and_never_an_empty_one() {
        let cases: [(&[u8], &str); 6] = [
            (b"", "empty"),
            (b" \n", "empty"),
            (b"{\n\"main\": {\"sessionId\"", "no JSON"),
            (b"[]", "no JSON object"),
            (b"{\"a\": \"\xff\"}", "cannot be read"),
            (b"null", "no JSON object"),
        ];
        for (bytes, told) in cases {
            let fault = read(written(bytes).path(), NAME).unwrap_err();
            assert_eq!(fault.file, NAME);
            assert!(fault.reason.contains(told), "B205: {fault:?}");
        }
        let wrong = written(b"{\n\n\"a\" 1}");
        assert_eq!(read(wrong.path(), NAME).unwrap_err().line, Some(3));
    }

    #[test]
    fn an_entry_that_is_no_object_is_told_and_the_others_are_read() {
        let file = written(b"\xef\xbb\xbf{\"a\": {\"x\": 1}, \"b\": 7}");
        let (rows, faults) = read(file.path(), NAME).unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].key.as_str(), faults.len()), ("a", 1));
        assert!(faults[0].reason.contains("entry of b"), "{faults:?}");
        assert_eq!(read(written(b"{}").path(), NAME).unwrap(), (vec![], vec![]));
    }
}
