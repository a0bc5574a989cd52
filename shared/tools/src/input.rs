//! Reading the arguments of a call: typed access to the fields, and all faults told together.
//!
//! The arguments are read by hand, because a derived reader stops at the first fault and speaks of
//! Rust types.

use confab_config::nearest;
use confab_rpc::error::{RpcError, Violation};
use serde_json::{Map, Number, Value};

use crate::limits::GIVEN_CHARS_MAX;

/// Shortest name that can be recognised in another one, in bytes.
const SUGGESTION_BYTES_MIN: usize = 3;

/// Which whole numbers a field takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whole {
    /// 0 up.
    NotNegative,
    /// 1 up.
    Positive,
    /// 0 to this number.
    UpTo(u32),
}

/// How long a text may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// So many bytes of UTF-8.
    Bytes(usize),
    /// So many UTF-16 units.
    Units(usize),
    /// So many characters.
    Characters(usize),
}

/// The arguments of a call, while they are read.
///
/// Names are camelCase; `snake_case` is understood. A field with `null` or with a blank text is
/// absent. A faulty one is noted and then counts as absent, so that the other faults are found too.
///
/// Source: D7, D15, reg:L7.
#[derive(Debug)]
pub(crate) struct Fields<'v> {
    given: &'v Map<String, Value>,
    known: Vec<&'static str>,
    violations: Vec<Violation>,
}

/// A field that has a value, under the name the caller wrote.
#[derive(Clone, Copy, Debug)]
struct Field<'v> {
    name: &'v str,
    value: &'v Value,
}

impl<'v> Fields<'v> {
    /// The fields of `given`, none of them read.
    pub(crate) fn new(given: &'v Map<String, Value>) -> Self {
        Self {
            given,
            known: Vec::new(),
            violations: Vec::new(),
        }
    }

    /// Reads a text of at most `length`.
    pub(crate) fn text(&mut self, name: &'static str, length: Length) -> Option<String> {
        let field = self.field(name)?;
        self.text_of(field, length)
    }

    /// Reads a text of at most `length` where a blank one means something and is no absent one.
    pub(crate) fn text_or_blank(&mut self, name: &'static str, length: Length) -> Option<String> {
        let field = self.written(name).filter(|field| !field.value.is_null())?;
        self.text_of(field, length)
    }

    fn text_of(&mut self, field: Field<'_>, length: Length) -> Option<String> {
        let Value::String(text) = field.value else {
            self.refuse(field, "must be a string");
            return None;
        };
        let (measured, most, unit) = length.measure(text);
        if measured > most {
            let fault = format!(
                "{} is too long: {measured} {unit}; allowed: 1 to {most}",
                field.name
            );
            self.note(field.name, fault);
            return None;
        }
        Some(text.clone())
    }

    /// Reads a text that must be there; what is returned counts only when [`Self::finish`] agrees.
    pub(crate) fn required_text(&mut self, name: &'static str, length: Length) -> String {
        let faults = self.violations.len();
        let text = self.text(name, length);
        if text.is_none() && self.violations.len() == faults {
            self.note(name, format!("{name} required: a string that is not blank"));
        }
        text.unwrap_or_default()
    }

    /// Reads a whole number, written as a number or as its digits.
    pub(crate) fn whole(&mut self, name: &'static str, allowed: Whole) -> Option<i64> {
        let field = self.field(name)?;
        let number = whole_of(field.value).filter(|number| allowed.holds(*number));
        if number.is_none() {
            self.refuse(field, &format!("must be {}", allowed.in_words()));
        }
        number
    }

    /// Reads a whole number of which the services take 32 bits; a larger one means their largest.
    pub(crate) fn small_whole(&mut self, name: &'static str, allowed: Whole) -> Option<i32> {
        self.whole(name, allowed)
            .map(|number| i32::try_from(number).unwrap_or(i32::MAX))
    }

    /// Reads a switch; absent is off.
    pub(crate) fn flag(&mut self, name: &'static str) -> bool {
        let Some(field) = self.field(name) else {
            return false;
        };
        field.value.as_bool().unwrap_or_else(|| {
            self.refuse(field, "must be true or false");
            false
        })
    }

    /// Reads one word of a list.
    pub(crate) fn word<T>(
        &mut self,
        name: &'static str,
        allowed: &[&str],
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let field = self.field(name)?;
        let word = field.value.as_str().and_then(|word| parse(word.trim()));
        if word.is_none() {
            self.refuse(field, &format!("must be one of {}", allowed.join(", ")));
        }
        word
    }

    /// Reads several words of a list; one alone may stand without brackets. A word given twice
    /// counts once.
    pub(crate) fn words<T: PartialEq>(
        &mut self,
        name: &'static str,
        allowed: &[&str],
        parse: impl Fn(&str) -> Option<T>,
    ) -> Vec<T> {
        let Some(field) = self.field(name) else {
            return Vec::new();
        };
        let one = std::slice::from_ref(field.value);
        let items = field.value.as_array().map_or(one, Vec::as_slice);
        let mut words = Vec::new();
        for value in items.iter().filter(|item| !is_absent(item)) {
            match value.as_str().and_then(|word| parse(word.trim())) {
                Some(word) if words.contains(&word) => {},
                Some(word) => words.push(word),
                None => {
                    let rule = format!("must hold only {}", allowed.join(", "));
                    self.refuse(Field { value, ..field }, &rule);
                },
            }
        }
        words
    }

    /// Whether any of these fields, in either spelling, has a value, faulty or not.
    pub(crate) fn any_given(&self, names: &[&str]) -> bool {
        names.iter().any(|name| {
            let spellings = [self.given.get(*name), self.given.get(&snake_case(name))];
            spellings
                .into_iter()
                .flatten()
                .any(|value| !is_absent(value))
        })
    }

    /// Notes a fault of a field.
    pub(crate) fn note(&mut self, name: &str, description: impl Into<String>) {
        self.violations.push(Violation::new(name, description));
    }

    /// Ends the reading: what was not asked for is unknown.
    ///
    /// # Errors
    /// When anything is wrong; all of it is told.
    pub(crate) fn finish(mut self) -> Result<(), RpcError> {
        let given = self.given;
        for name in given.keys() {
            if !self
                .known
                .iter()
                .any(|known| name == known || *name == snake_case(known))
            {
                let description = unknown_field(name, &self.known);
                self.note(&cut(name), description);
            }
        }
        if self.violations.is_empty() {
            Ok(())
        } else {
            Err(RpcError::invalid(self.violations))
        }
    }

    /// The field called `name`, in either spelling, if it has a value.
    fn field(&mut self, name: &'static str) -> Option<Field<'v>> {
        self.written(name).filter(|field| !is_absent(field.value))
    }

    /// The field called `name`, in either spelling, if it stands there at all.
    fn written(&mut self, name: &'static str) -> Option<Field<'v>> {
        self.known.push(name);
        let snake = snake_case(name);
        let camel_given = self.given.get_key_value(name);
        let snake_given = self
            .given
            .get_key_value(&snake)
            .filter(|(given, _)| *given != name);
        if camel_given.is_some() && snake_given.is_some() {
            let fault =
                format!("{name} is given twice, as {name} and as {snake}; give one of them");
            self.note(name, fault);
            return None;
        }
        let (name, value) = camel_given.or(snake_given)?;
        Some(Field { name, value })
    }

    fn refuse(&mut self, field: Field<'_>, rule: &str) {
        let description = format!("{} {rule}; given: {}", field.name, given(field.value));
        self.note(field.name, description);
    }
}

impl Whole {
    fn holds(self, number: i64) -> bool {
        match self {
            Self::NotNegative => number >= 0,
            Self::Positive => number >= 1,
            Self::UpTo(most) => (0..=i64::from(most)).contains(&number),
        }
    }

    fn in_words(self) -> String {
        match self {
            Self::NotNegative => "a non-negative integer".to_owned(),
            Self::Positive => "a positive integer".to_owned(),
            Self::UpTo(most) => format!("an integer from 0 to {most}"),
        }
    }
}

impl Length {
    /// How long `text` is, how long it may be, and the unit of both.
    fn measure(self, text: &str) -> (usize, usize, &'static str) {
        match self {
            Self::Bytes(most) => (text.len(), most, "bytes"),
            Self::Units(most) => (text.encode_utf16().count(), most, "UTF-16 units"),
            Self::Characters(most) => (text.chars().count(), most, "characters"),
        }
    }
}

/// Whether a value counts as no value.
fn is_absent(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

/// The whole number that a number or a text of digits is; one beyond 64 bits is the nearest that
/// they hold.
fn whole_of(value: &Value) -> Option<i64> {
    let digits = match value {
        Value::Number(number) => number_text(number)?,
        Value::String(text) => text.trim().to_owned(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let unsigned = digits.strip_prefix('-').unwrap_or(&digits);
    if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let limit = if unsigned.len() == digits.len() {
        i64::MAX
    } else {
        i64::MIN
    };
    Some(digits.parse().unwrap_or(limit))
}

/// A number's digits; `None` where it is not whole.
fn number_text(number: &Number) -> Option<String> {
    match number.as_f64() {
        Some(float) if number.is_f64() => (float.fract() == 0.0).then(|| format!("{float:.0}")),
        _ => Some(number.to_string()),
    }
}

/// What was given, for a message: short, and never the inside of a list or an object.
fn given(value: &Value) -> String {
    match value {
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            cut(&value.to_string())
        },
    }
}

/// The beginning of a text that a caller wrote.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(GIVEN_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

fn unknown_field(name: &str, known: &[&'static str]) -> String {
    let allowed = known.join(", ");
    let shown = given(&Value::from(name));
    if known.is_empty() {
        return format!("unknown field {shown}; this tool takes no arguments");
    }
    match suggestion(&camel_case(name), known) {
        Some(near) => {
            format!("unknown field {shown}; did you mean {near}? allowed: {allowed}")
        },
        None => format!("unknown field {shown}; allowed: {allowed}"),
    }
}

/// The known name that `name` was probably meant to be: a near one, else one that begins or ends
/// like it.
pub(crate) fn suggestion<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    // Two edits turn a name this short into anything.
    if name.len() < SUGGESTION_BYTES_MIN {
        return None;
    }
    nearest(name, known.iter().copied()).or_else(|| {
        let name = name.to_ascii_lowercase();
        known.iter().copied().find(|candidate| {
            let candidate = candidate.to_ascii_lowercase();
            candidate.starts_with(&name)
                || candidate.ends_with(&name)
                || name.starts_with(&candidate)
                || name.ends_with(&candidate)
        })
    })
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}

fn camel_case(name: &str) -> String {
    let mut camel = String::new();
    for (place, word) in name.split('_').enumerate() {
        let mut characters = word.chars();
        match characters.next() {
            Some(first) if place > 0 => camel.push(first.to_ascii_uppercase()),
            Some(first) => camel.push(first),
            None => {},
        }
        camel.push_str(characters.as_str());
    }
    camel
}

#[cfg(test)]
mod tests;
