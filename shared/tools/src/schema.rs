//! The JSON Schemas of the tools' arguments.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// The schema of `T`, draft 2020-12, without references.
///
/// An optional field may be left out; that `null` counts as left out is a courtesy of the reader
/// and no part of the schema. Number formats are left out too: ranges say more.
pub(crate) fn of<T: JsonSchema>() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = Value::from(settings.into_generator().into_root_schema_for::<T>());
    if let Some(root) = schema.as_object_mut() {
        // The name of a Rust type means nothing to a model.
        root.shift_remove("title");
        // A tool without arguments says so, because some model providers insist on the field.
        let properties = root
            .entry("properties")
            .or_insert_with(|| Value::Object(Map::new()));
        properties
            .as_object_mut()
            .into_iter()
            .flat_map(Map::values_mut)
            .filter_map(Value::as_object_mut)
            .for_each(simplify);
    }
    schema
}

fn simplify(property: &mut Map<String, Value>) {
    property.shift_remove("format");
    let plain = match property.get("type") {
        Some(Value::Array(types)) => types.iter().find(|name| *name != "null").cloned(),
        _ => None,
    };
    if let Some(plain) = plain {
        property.insert("type".to_owned(), plain);
    }
}
