//! JSON objects: `google.protobuf.Struct` and the maps of `serde_json`.
//!
//! A Struct knows numbers as 64-bit floats only. A whole number up to 2^53 is an integer again in
//! JSON; a larger one comes back as the nearest float.

use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};
use serde_json::{Map, Number, Value as Json};

/// Deepest nesting of a JSON object that can travel, the object itself counted.
///
/// Decoders stop at 100 nested proto messages. An object in an object takes three of them, and the
/// records around it up to a dozen.
pub const DEPTH_MAX: usize = 24;

/// Largest whole number that every smaller one is exact up to, as a float: 2^53.
const EXACT_MAX: u64 = 1 << 53;

/// Why a Struct is no JSON object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// JSON knows no infinity and no "not a number".
    #[error("a number is not finite: JSON has finite numbers only")]
    NotFinite,
    /// It could not be read back where other records lie around it.
    #[error("nested more than {DEPTH_MAX} levels deep: flatten it")]
    TooDeep,
}

/// The proto's form of an object. What lies deeper than [`DEPTH_MAX`] travels as its JSON text,
/// since no decoder would take it otherwise.
pub fn to_struct(object: &Map<String, Json>) -> Struct {
    object_to_struct(object, DEPTH_MAX)
}

fn object_to_struct(object: &Map<String, Json>, depth_left: usize) -> Struct {
    let deeper = depth_left.saturating_sub(1);
    let fields = object
        .iter()
        .map(|(name, value)| (name.clone(), to_value(value, deeper)));
    Struct {
        fields: fields.collect(),
    }
}

fn to_value(json: &Json, depth_left: usize) -> Value {
    let kind = match json {
        Json::Null => Kind::NullValue(0),
        Json::Bool(value) => Kind::BoolValue(*value),
        Json::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or_default()),
        Json::String(text) => Kind::StringValue(text.clone()),
        Json::Array(_) | Json::Object(_) if depth_left == 0 => Kind::StringValue(json.to_string()),
        Json::Array(items) => {
            let deeper = depth_left.saturating_sub(1);
            let values = items.iter().map(|item| to_value(item, deeper)).collect();
            Kind::ListValue(ListValue { values })
        },
        Json::Object(object) => Kind::StructValue(object_to_struct(object, depth_left)),
    };
    Value { kind: Some(kind) }
}

/// The JSON object that a Struct is.
///
/// # Errors
/// When a number is not finite, or it is nested more than [`DEPTH_MAX`] deep.
pub fn to_map(wire: Struct) -> Result<Map<String, Json>, JsonError> {
    struct_to_object(wire, DEPTH_MAX)
}

fn struct_to_object(wire: Struct, depth_left: usize) -> Result<Map<String, Json>, JsonError> {
    let deeper = depth_left.checked_sub(1).ok_or(JsonError::TooDeep)?;
    let mut object = Map::new();
    for (name, value) in wire.fields {
        object.insert(name, to_json(value, deeper)?);
    }
    Ok(object)
}

fn to_json(value: Value, depth_left: usize) -> Result<Json, JsonError> {
    Ok(match value.kind {
        None | Some(Kind::NullValue(_)) => Json::Null,
        Some(Kind::BoolValue(value)) => Json::Bool(value),
        Some(Kind::NumberValue(number)) => Json::Number(to_number(number)?),
        Some(Kind::StringValue(text)) => Json::String(text),
        Some(Kind::ListValue(list)) => {
            let deeper = depth_left.checked_sub(1).ok_or(JsonError::TooDeep)?;
            let items: Result<Vec<_>, _> = list
                .values
                .into_iter()
                .map(|item| to_json(item, deeper))
                .collect();
            Json::Array(items?)
        },
        Some(Kind::StructValue(wire)) => Json::Object(struct_to_object(wire, depth_left)?),
    })
}

fn to_number(number: f64) -> Result<Number, JsonError> {
    // A float that is whole is written without a point; there is no other checked way to an integer.
    let whole = number.to_string().parse::<i64>().ok();
    match whole.filter(|whole| whole.unsigned_abs() <= EXACT_MAX) {
        Some(whole) => Ok(whole.into()),
        None => Number::from_f64(number).ok_or(JsonError::NotFinite),
    }
}
