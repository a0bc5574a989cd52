//! The fields of a row, each read once as what it has to be.

use std::collections::BTreeSet;

use confab_config::Redactor;
use confab_model::clock::Timestamp;
use confab_model::session::levels::{FastMode, Word};
use confab_registry::limits::IMPORTED_MILLIS_MAX;
use confab_rpc::wire::time;
use serde_json::{Map, Value};

/// The fields of one JSON object.
pub(super) struct Fields<'a> {
    row: &'a Map<String, Value>,
    read: BTreeSet<&'static str>,
    left_out: Vec<String>,
}

impl<'a> Fields<'a> {
    /// Those of `row`.
    pub(super) fn of(row: &'a Map<String, Value>) -> Self {
        Self {
            row,
            read: BTreeSet::new(),
            left_out: Vec::new(),
        }
    }

    /// What was left out, and the names of the fields that nobody read.
    pub(super) fn rest(self) -> (Vec<String>, Vec<String>) {
        let names = self.row.keys();
        let others = names.filter(|name| !self.read.contains(name.as_str()));
        let others = others.cloned().collect();
        (self.left_out, others)
    }

    /// Says why a field was not taken over.
    pub(super) fn leave_out(&mut self, name: &str, why: &str) {
        self.left_out.push(format!("{name}: {why}"));
    }

    /// The value of a field; `null` is none.
    fn value(&mut self, name: &'static str) -> Option<&'a Value> {
        self.read.insert(name);
        self.row.get(name).filter(|value| !value.is_null())
    }

    /// The value as `read` takes it; one that it does not take is left out as not `what`.
    fn as_what<T>(
        &mut self,
        name: &'static str,
        what: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.value(name)?;
        let taken = read(value);
        if taken.is_none() {
            self.leave_out(name, &format!("{} is no {what}", brief(value)));
        }
        taken
    }

    /// A text that is not blank.
    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        let text = self.as_what(name, "text", |value| value.as_str().map(str::trim))?;
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// A text, or a number written as one.
    pub(super) fn text_or_number(&mut self, name: &'static str) -> Option<String> {
        let number = |value: &Value| value.as_number().map(ToString::to_string);
        let text = self.as_what(name, "text", |value| {
            value
                .as_str()
                .map(|text| text.trim().to_owned())
                .or_else(|| number(value))
        })?;
        (!text.is_empty()).then_some(text)
    }

    /// The texts of a list.
    pub(super) fn texts(&mut self, name: &'static str) -> Vec<String> {
        let list = self.as_what(name, "list", Value::as_array);
        let texts = list.into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    }

    /// Leaves a list out that holds something, and says why.
    pub(super) fn leave_out_list(&mut self, name: &'static str, why: &str) {
        let list = self.as_what(name, "list", Value::as_array);
        if list.is_some_and(|list| !list.is_empty()) {
            self.leave_out(name, why);
        }
    }

    /// An object inside. What is wrong in it is nobody's business outside.
    pub(super) fn inner(&mut self, name: &'static str) -> Option<Fields<'a>> {
        self.as_what(name, "object", Value::as_object)
            .map(Fields::of)
    }

    /// Yes or no.
    pub(super) fn flag(&mut self, name: &'static str) -> Option<bool> {
        self.as_what(name, "yes or no", Value::as_bool)
    }

    /// A whole number from 0.
    pub(super) fn count(&mut self, name: &'static str) -> Option<i64> {
        self.as_what(name, "whole number from 0", whole)
    }

    /// A moment in milliseconds, of those that can be stored; 0 is none.
    pub(super) fn moment(&mut self, name: &'static str) -> Option<prost_types::Timestamp> {
        let what = "moment from 1970 to 9999 in milliseconds";
        let millis = self.as_what(name, what, |value| {
            whole(value).filter(|millis| *millis <= IMPORTED_MILLIS_MAX)
        })?;
        (millis > 0).then(|| time::to_proto(Timestamp::from_millis(millis)))
    }

    /// A word that `read` knows.
    pub(super) fn word<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        self.as_what(name, "word that is known", |value| {
            value.as_str().and_then(read)
        })
    }

    /// The canonical word of a level.
    pub(super) fn level<T: Word>(&mut self, name: &'static str) -> Option<String> {
        self.word(name, T::read)
            .map(|level| level.word().to_owned())
    }

    /// The one level that may also be written as yes or no.
    pub(super) fn fast_mode(&mut self, name: &'static str) -> Option<String> {
        let mode = self.as_what(name, "word that is known", |value| match value.as_bool() {
            Some(on) => FastMode::parse(if on { "true" } else { "false" }),
            None => value.as_str().and_then(FastMode::parse),
        });
        mode.map(|mode| mode.as_str().to_owned())
    }
}

/// A moment that can be stored, else nothing.
pub(in crate::openclaw) fn storable(
    moment: prost_types::Timestamp,
) -> Option<prost_types::Timestamp> {
    let millis = time::from_proto(moment, "moment").ok()?.millis();
    (0..=IMPORTED_MILLIS_MAX)
        .contains(&millis)
        .then_some(moment)
}

/// A number without what stands behind its point; other systems write any number as a fraction.
fn whole(value: &Value) -> Option<i64> {
    let whole = value.as_i64().or_else(|| {
        let fraction = value.as_f64().filter(|number| number.is_finite())?;
        format!("{:.0}", fraction.trunc()).parse().ok()
    });
    whole.filter(|number| *number >= 0)
}

/// A value in a few words, and no secret: reports are kept.
fn brief(value: &Value) -> String {
    const CHARS_MAX: usize = 40;
    let whole = value.to_string();
    let whole = Redactor::built_in().redact(&whole).into_owned();
    if whole.chars().count() <= CHARS_MAX {
        return whole;
    }
    let start: String = whole.chars().take(CHARS_MAX).collect();
    start + "…"
}
