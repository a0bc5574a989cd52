//! The parts of a message.

use confab_model::message::{Blob, Block};
use serde_json::{Map, Value};

use super::pictures::Reference;

/// Reads a part; nothing where its kind is not known or it lacks what its kind needs.
///
/// Source: run:T11.
pub(super) fn block(part: &Value, blobs: &[Blob]) -> Option<Block> {
    let text_of = |name: &str| part.get(name).and_then(Value::as_str).map(str::to_owned);
    match part.get("type")?.as_str()? {
        "text" => text_of("text").map(Block::Text),
        "thinking" => text_of("thinking").map(Block::Thinking),
        "toolCall" => Some(Block::ToolCall {
            id: text_of("id").filter(|id| !id.is_empty())?,
            name: text_of("name").filter(|name| !name.is_empty())?,
            arguments: arguments(part.get("arguments"))?,
        }),
        "image" => {
            let reference = Reference::of(part.get("data")?).filter(|one| one.decoded)?;
            let blob = blobs.iter().find(|blob| blob.reference == reference.blob)?;
            Some(Block::Image {
                mime_type: text_of("mimeType").filter(|name| !name.is_empty())?,
                bytes: u64::try_from(blob.bytes.len()).ok()?,
                reference: reference.blob,
            })
        },
        _ => None,
    }
}

fn arguments(given: Option<&Value>) -> Option<Map<String, Value>> {
    match given {
        None | Some(Value::Null) => Some(Map::new()),
        Some(Value::Object(arguments)) => Some(arguments.clone()),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => None,
    }
}

/// What a part weighs, in bytes; the bytes of a picture lie elsewhere.
pub(super) fn weight(block: &Block) -> usize {
    match block {
        Block::Text(text) | Block::Thinking(text) => text.len(),
        Block::ToolCall {
            id,
            name,
            arguments,
        } => {
            let arguments = serde_json::to_string(arguments).map_or(0, |text| text.len());
            id.len()
                .saturating_add(name.len())
                .saturating_add(arguments)
        },
        Block::Image {
            mime_type,
            reference,
            ..
        } => mime_type.len().saturating_add(reference.len()),
    }
}
