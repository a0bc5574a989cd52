//! Where a JSON value ends, without reading what it says.

use super::scan::{byte, spend};

/// How often a text may be read in vain, so that many unclosed brackets cost linear time.
const READINGS_MAX: usize = 4;

/// Finds the ends of the JSON values of one text.
#[derive(Debug)]
pub(super) struct Values<'t> {
    text: &'t str,
    bytes_max: usize,
    /// How many bytes may still be read in vain.
    patience: usize,
}

impl<'t> Values<'t> {
    /// A reader of the values of `text` that have at most `bytes_max` bytes.
    pub(super) fn new(text: &'t str, bytes_max: usize) -> Self {
        Self {
            text,
            bytes_max,
            patience: text.len().saturating_mul(READINGS_MAX),
        }
    }

    /// Where the object, array or string that begins at `at` ends; `None` where none does.
    pub(super) fn end(&mut self, at: usize) -> Option<usize> {
        if !matches!(byte(self.text, at), Some(b'{' | b'[' | b'"')) {
            return None;
        }
        let bytes_max = self.bytes_max.min(self.patience);
        let mut value = Value::default();
        let after = self.text.as_bytes().get(at..)?;
        let length = after
            .iter()
            .take(bytes_max)
            .position(|byte| value.ends_with(*byte));
        let read = length.map_or_else(|| after.len().min(bytes_max), |length| length + 1);
        spend(read);
        if length.is_none() {
            self.patience -= read;
        }
        length.map(|length| at + length + 1)
    }
}

/// How far into a value a reader is.
#[derive(Debug, Default)]
struct Value {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Value {
    /// Takes one more byte, and says whether the value ends with it.
    fn ends_with(&mut self, byte: u8) -> bool {
        if self.escaped {
            self.escaped = false;
            return false;
        }
        match byte {
            b'\\' => self.escaped = self.in_string,
            b'"' => self.in_string = !self.in_string,
            b'{' | b'[' if !self.in_string => self.depth += 1,
            b'}' | b']' if !self.in_string => self.depth = self.depth.saturating_sub(1),
            _ => return false,
        }
        self.depth == 0 && !self.in_string
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_where_its_brackets_and_quotes_do() {
        let cases = [
            ("{}x", Some(2)),
            ("{\"a\":[1,{\"b\":\"}\"}]} x", Some(19)),
            ("\"a\\\"b\" x", Some(6)),
            ("[\"\\\\\"]", Some(6)),
            ("{", None),
            ("\"{}", None),
            ("x", None),
            ("", None),
        ];
        for (text, end) in cases {
            assert_eq!(Values::new(text, 100).end(0), end, "run:Z16 {text:?}");
        }
    }

    #[test]
    fn a_value_beyond_the_bound_is_none() {
        let text = "{\"a\":1}";
        assert_eq!(Values::new(text, 7).end(0), Some(7));
        assert_eq!(Values::new(text, 6).end(0), None);
    }

    #[test]
    fn patience_with_unclosed_values_ends() {
        let text = "{".repeat(100);
        let mut values = Values::new(&text, 1_000);
        assert!((0..100).all(|at| values.end(at).is_none()));
        assert_eq!(values.patience, 0);
    }
}
