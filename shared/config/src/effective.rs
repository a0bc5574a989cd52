//! The configuration in force, key by key, as it can be read back.
//!
//! Source: B212.

mod address;
mod agents;
mod confab;
mod session;
#[cfg(test)]
mod tests;
mod tools;

use serde_json::Value;

use crate::settings::Settings;

/// One key of the configuration in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Effective {
    /// Where it stands, or would stand, in the file, for example `session.scope`.
    pub path: String,
    /// What is in force, in the form of the file; null = nothing. Never a secret.
    pub value: Value,
    /// Whether the file says nothing about it.
    pub default: bool,
}

/// Every key with a default that has an effect, and every optional one that is given.
///
/// `document` is the parsed file that `settings` were read from.
pub(crate) fn of(settings: &Settings, document: &Value) -> Vec<Effective> {
    let mut report = Report {
        document,
        keys: Vec::new(),
    };
    agents::tell(&mut report, settings);
    session::tell(&mut report, &settings.session);
    tools::tell(&mut report, settings);
    confab::tell(&mut report, settings);
    report.keys
}

/// Collects keys in the order in which they are told.
struct Report<'d> {
    document: &'d Value,
    keys: Vec<Effective>,
}

impl Report<'_> {
    /// Tells what is in force at `path`.
    fn put(&mut self, path: impl Into<String>, value: impl Into<Value>) {
        let path = path.into();
        let default = !self.says(&path);
        self.keys.push(Effective {
            path,
            value: value.into(),
            default,
        });
    }

    /// Tells it where there is something to tell.
    fn put_some(&mut self, path: impl Into<String>, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.put(path, value);
        }
    }

    /// Tells what the file itself says, under whatever name.
    fn put_given(&mut self, path: String, value: impl Into<Value>) {
        self.keys.push(Effective {
            path,
            value: value.into(),
            default: false,
        });
    }

    /// Whether the file says something at `path`.
    fn says(&self, path: &str) -> bool {
        let mut value = Some(self.document);
        for step in path.split('.') {
            let (name, index) = indexed(step);
            value = value.and_then(|value| value.get(name));
            if let Some(index) = index {
                value = value.and_then(|value| value.get(index));
            }
        }
        value.is_some_and(|value| !value.is_null())
    }
}

/// The name and the place of `name[place]`.
fn indexed(step: &str) -> (&str, Option<usize>) {
    let place = step
        .strip_suffix(']')
        .and_then(|step| step.split_once('['))
        .and_then(|(name, place)| Some((name, place.parse().ok()?)));
    place.map_or((step, None), |(name, place)| (name, Some(place)))
}

/// A list of texts.
fn texts<'t>(items: impl Iterator<Item = &'t str>) -> Value {
    items.map(Value::from).collect()
}
