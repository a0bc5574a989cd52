//! The bytes of pictures: out of a line on its way in, back into it on its way out.
//!
//! In a line the bytes are a base64 text beside a media type. In what is kept, an object stands there
//! that names them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use confab_model::message::Blob;
use serde_json::{Map, Value, json};

use super::key;

/// The field that holds the bytes.
const DATA: &str = "data";
/// The fields that say what the bytes are.
const MEDIA_TYPES: [&str; 3] = ["mimeType", "media_type", "mime_type"];
/// The field of the object that stands for the bytes.
pub const REFERENCE: &str = "confabBlob";
/// The field that says how the bytes were written.
const FORM: &str = "form";
/// Written as base64, the usual way.
const BASE64: &str = "base64";
/// A text that is not the usual base64 of anything: kept as it is.
const TEXT: &str = "text";

/// What stands for the bytes of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Names the bytes.
    pub blob: String,
    /// Whether the bytes are those of the picture; otherwise those of a text that stood in its place.
    pub decoded: bool,
}

impl Reference {
    /// The object that stands for bytes in the usual form.
    pub fn standing(blob: &str) -> Value {
        json!({ REFERENCE: blob, FORM: BASE64 })
    }

    /// Reads the object.
    pub fn of(value: &Value) -> Option<Self> {
        let object = value.as_object().filter(|object| object.len() == 2)?;
        let blob = object.get(REFERENCE)?.as_str()?.to_owned();
        let decoded = match object.get(FORM)?.as_str()? {
            BASE64 => true,
            TEXT => false,
            _ => return None,
        };
        Some(Self { blob, decoded })
    }

    /// The text that stood in the line, from the bytes that were kept.
    pub fn text(&self, bytes: Vec<u8>) -> String {
        if self.decoded {
            return STANDARD.encode(bytes);
        }
        String::from_utf8(bytes).unwrap_or_default()
    }
}

/// Takes the bytes of every picture out of an entry, at any depth.
pub fn take_out(entry: &mut Value) -> Vec<Blob> {
    let mut blobs = Vec::new();
    each_data(entry, &mut |data| {
        if let Value::String(text) = data {
            let (bytes, form) = match STANDARD.decode(text.as_bytes()) {
                Ok(bytes) => (bytes, BASE64),
                Err(_) => (text.as_bytes().to_vec(), TEXT),
            };
            let reference = key::of_picture(&bytes);
            *data = json!({ REFERENCE: reference, FORM: form });
            blobs.push(Blob { reference, bytes });
        }
    });
    blobs
}

/// The pictures that an entry names, in order.
pub fn named(entry: &mut Value) -> Vec<Reference> {
    let mut references = Vec::new();
    each_data(entry, &mut |data| references.extend(Reference::of(data)));
    references
}

/// Puts texts back in the place of their references; what is not known stays a reference.
pub fn put_back(entry: &mut Value, text: &impl Fn(&Reference) -> Option<String>) {
    each_data(entry, &mut |data| {
        if let Some(text) = Reference::of(data).and_then(|reference| text(&reference)) {
            *data = Value::String(text);
        }
    });
}

/// Calls `then` for whatever stands where a picture's bytes stand.
fn each_data(value: &mut Value, then: &mut impl FnMut(&mut Value)) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| each_data(item, then)),
        Value::Object(fields) => {
            let is_picture = has_media_type(fields);
            for (name, field) in fields.iter_mut() {
                if is_picture && name == DATA && !field.is_array() {
                    then(field);
                } else {
                    each_data(field, then);
                }
            }
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {},
    }
}

fn has_media_type(fields: &Map<String, Value>) -> bool {
    MEDIA_TYPES
        .iter()
        .any(|name| fields.get(*name).is_some_and(Value::is_string))
}
