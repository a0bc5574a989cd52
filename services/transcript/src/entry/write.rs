//! A message written as an entry of version 3.

use confab_model::clock::Timestamp;
use confab_model::key::SessionKey;
use confab_model::message::{Block, Compaction, Message, Provenance, Role};
use serde_json::{Map, Value, json};

use super::pictures::Reference;
use super::{key, time};

/// The version of what is written.
const VERSION: u32 = 3;

/// What an entry hangs on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Parent {
    /// Nothing: it is the first.
    #[default]
    Root,
    /// The entry with this id.
    Entry(String),
    /// An entry without an id: the one before it, in files that are a plain list.
    Unnamed,
}

impl Parent {
    /// What hangs on the entry with this id, or without one.
    pub fn named(id: Option<String>) -> Self {
        id.map_or(Self::Unnamed, Self::Entry)
    }
}

/// How pictures are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pictures {
    /// As references to their bytes.
    Referenced,
    /// As what they were, without their bytes (D60).
    Omitted,
}

/// How an entry is written.
#[derive(Clone, Debug)]
pub struct Manner<'a> {
    /// What it hangs on.
    pub parent: &'a Parent,
    /// For a compaction: the id of the first entry that it keeps.
    pub first_kept: Option<&'a str>,
    /// How its pictures are written.
    pub pictures: Pictures,
}

/// A header.
///
/// Source: run:T2.
pub fn header(session_id: &str, began: Timestamp) -> Value {
    json!({
        "type": "session",
        "version": VERSION,
        "id": session_id,
        "timestamp": time::text(began),
        "cwd": "",
    })
}

/// The entry of a message, or of the marker of a compaction.
///
/// Source: run:T3, run:T4, run:T6, run:T8, run:T9, run:T10, run:T11, run:T15.
pub fn entry(message: &Message, manner: &Manner<'_>) -> Value {
    let compaction = message.body.compaction.as_ref();
    let sort = if compaction.is_some() {
        "compaction"
    } else {
        "message"
    };
    let mut entry = Map::new();
    put(&mut entry, "type", Some(sort));
    put(&mut entry, "id", Some(key::entry_id(message)));
    match manner.parent {
        Parent::Root => put(&mut entry, "parentId", Some(Value::Null)),
        Parent::Entry(id) => put(&mut entry, "parentId", Some(id.as_str())),
        Parent::Unnamed => {},
    }
    put(&mut entry, "timestamp", Some(time::text(message.at)));
    match compaction {
        Some(compaction) => put_compaction(&mut entry, compaction, manner.first_kept),
        None => put(&mut entry, "message", Some(body(message, manner.pictures))),
    }
    Value::Object(entry)
}

fn put_compaction(entry: &mut Map<String, Value>, compaction: &Compaction, first: Option<&str>) {
    put(entry, "summary", Some(compaction.summary.as_str()));
    put(entry, "firstKeptEntryId", first);
    put(entry, "tokensBefore", compaction.tokens_before);
}

fn body(message: &Message, pictures: Pictures) -> Map<String, Value> {
    let body = &message.body;
    let parts: Vec<Value> = body
        .blocks
        .iter()
        .map(|block| part(block, pictures))
        .collect();
    let mut shown = Map::new();
    put(&mut shown, "role", Some(body.role.as_str()));
    put(&mut shown, "content", Some(parts));
    put(&mut shown, "timestamp", Some(message.at.millis()));
    put(
        &mut shown,
        "provenance",
        body.provenance.as_ref().map(provenance),
    );
    put(&mut shown, "model", body.model.as_deref());
    let usage = body.usage.map(|usage| {
        json!({ "input": usage.input, "output": usage.output, "totalTokens": usage.total() })
    });
    put(&mut shown, "usage", usage);
    put(&mut shown, "stopReason", body.stop_reason.as_deref());
    put(&mut shown, "toolCallId", body.tool_call_id.as_deref());
    put(&mut shown, "toolName", body.tool_name.as_deref());
    if body.role == Role::ToolResult || body.is_error {
        put(&mut shown, "isError", Some(body.is_error));
    }
    shown
}

fn part(block: &Block, pictures: Pictures) -> Value {
    match block {
        Block::Text(text) => json!({ "type": "text", "text": text }),
        Block::Thinking(thinking) => json!({ "type": "thinking", "thinking": thinking }),
        Block::ToolCall {
            id,
            name,
            arguments,
        } => json!({ "type": "toolCall", "id": id, "name": name, "arguments": arguments }),
        Block::Image {
            mime_type,
            reference,
            bytes,
        } => match pictures {
            Pictures::Referenced => json!({
                "type": "image", "data": Reference::standing(reference), "mimeType": mime_type,
            }),
            Pictures::Omitted => json!({
                "type": "image", "omitted": true, "bytes": bytes, "mimeType": mime_type,
            }),
        },
    }
}

fn provenance(origin: &Provenance) -> Map<String, Value> {
    let mut shown = Map::new();
    put(&mut shown, "kind", Some(origin.kind.as_str()));
    let source = origin.source_session_key.as_ref();
    put(
        &mut shown,
        "sourceSessionKey",
        source.map(SessionKey::as_str),
    );
    put(
        &mut shown,
        "sourceChannel",
        origin.source_channel.as_deref(),
    );
    put(&mut shown, "sourceTool", origin.source_tool.as_deref());
    put(&mut shown, "sender", origin.sender.as_deref());
    shown
}

/// What is absent is left out.
fn put(object: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object.insert(name.to_owned(), value.into());
    }
}
