//! JSON arguments: as they were typed, or from standard input.

use std::io::Read as _;

use crate::exit::Failure;

/// Largest argument that is read from standard input, in bytes: what a call can carry.
const ARGUMENT_BYTES_MAX: u64 = 2 * 1024 * 1024;
/// Stands for standard input.
const STANDARD_INPUT: &str = "-";

/// The text of an argument, which is called `what` where it cannot be read.
///
/// # Errors
/// When standard input is no text, or too long.
pub(super) fn text(given: &str, what: &str) -> Result<String, Failure> {
    if given == STANDARD_INPUT {
        read(what)
    } else {
        Ok(given.to_owned())
    }
}

fn read(what: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let mut input = std::io::stdin().take(ARGUMENT_BYTES_MAX + 1);
    input.read_to_string(&mut text).map_err(|error| {
        Failure::usage(format!(
            "{what} on standard input is no UTF-8 text: {error}"
        ))
    })?;
    if text.len() > usize::try_from(ARGUMENT_BYTES_MAX).unwrap_or(usize::MAX) {
        return Err(Failure::usage(format!(
            "{what} on standard input is longer than {ARGUMENT_BYTES_MAX} bytes"
        )));
    }
    Ok(text)
}
