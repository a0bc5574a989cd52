//! Building JSON objects in which what is absent is absent, never null.

use serde_json::{Map, Value};

/// A JSON object in the order in which its fields are set.
#[derive(Debug, Default)]
pub(crate) struct Object(Map<String, Value>);

impl Object {
    /// Sets a field that is always there.
    pub(crate) fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Sets a field that is there only with a value.
    pub(crate) fn set_if<V: Into<Value>>(self, name: &str, value: Option<V>) -> Self {
        match value {
            Some(value) => self.set(name, value),
            None => self,
        }
    }

    /// Sets a text that is there only when something is in it.
    pub(crate) fn set_text(self, name: &str, text: &str) -> Self {
        self.set_if(name, (!text.is_empty()).then_some(text))
    }

    /// Sets every field of `fields`.
    pub(crate) fn set_all(mut self, fields: Map<String, Value>) -> Self {
        self.0.extend(fields);
        self
    }

    /// The object.
    pub(crate) fn into_map(self) -> Map<String, Value> {
        self.0
    }

    /// The object, unless nothing was set.
    pub(crate) fn into_filled(self) -> Option<Value> {
        (!self.0.is_empty()).then_some(Value::Object(self.0))
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object.0)
    }
}
