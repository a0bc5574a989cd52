//! What an entry says: a message, the marker of a compaction, or nothing that a conversation holds.

use confab_model::key::SessionKey;
use confab_model::limits::{MESSAGE_BLOCKS_MAX, MESSAGE_BYTES_MAX, ROUTE_FIELD_BYTES_MAX};
use confab_model::message::{
    Blob, Block, Compaction, NewMessage, Provenance, ProvenanceKind, Role, Usage,
};
use serde_json::{Map, Value};

use super::parts::{block, weight};
use super::{Fault, SENDER_LINE, SENDER_SENTENCE, kind_of, time};

/// Why an agent can have stopped (run:T12).
const STOP_REASONS: [&str; 5] = ["stop", "length", "toolUse", "error", "aborted"];

/// What an entry of the conversation is.
#[derive(Clone, Debug, PartialEq)]
pub enum Meaning {
    /// A message to be stored.
    Message(Box<NewMessage>),
    /// The marker of a compaction, and the first entry that it keeps.
    Compaction(Box<NewMessage>, Option<FirstKept>),
    /// No message: to be kept for the export alone.
    Aside,
}

/// The first entry that a compaction keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstKept {
    /// By its id.
    Id(String),
    /// By its place among the lines that are JSON, the header being number 0.
    Index(u64),
}

/// Reads a message entry whose pictures were taken out into `blobs`.
///
/// A part of an unknown kind is left out of the message. Roles that only the prompt of an agent has
/// are no messages of the conversation.
///
/// # Errors
/// When it has not the shape of a message, or is larger than one may be.
///
/// Source: run:T7, run:T8, run:T9, run:T10, run:T11, run:T13, run:T18, D25.
pub fn message(entry: &Value, key: String, blobs: &[Blob]) -> Result<Meaning, Fault> {
    let message = body_of(entry)?;
    let Some(role) = role(message)? else {
        return Ok(Meaning::Aside);
    };
    let provenance = provenance(message).filter(|_| role == Role::User);
    let mut blocks = content(message, blobs)?;
    if provenance
        .as_ref()
        .is_some_and(|provenance| provenance.kind == ProvenanceKind::InterSession)
    {
        strip_sender(&mut blocks);
    }
    let of_result = |name| short_text(message, name).filter(|_| role == Role::ToolResult);
    let read = NewMessage {
        role,
        blocks,
        provenance,
        model: short_text(message, "model"),
        usage: message.get("usage").and_then(usage),
        stop_reason: short_text(message, "stopReason")
            .filter(|word| STOP_REASONS.contains(&word.as_str())),
        tool_call_id: of_result("toolCallId"),
        tool_name: of_result("toolName"),
        is_error: message.get("isError").and_then(Value::as_bool) == Some(true),
        at: moment(message, entry),
        ..NewMessage::text(key, role, "")
    };
    Ok(Meaning::Message(Box::new(read)))
}

/// Reads the marker of a compaction; one without a summary stands for nothing.
///
/// # Errors
/// When the summary is larger than it may be.
///
/// Source: run:T15.
pub fn compaction(entry: &Value, key: String) -> Result<Meaning, Fault> {
    let summary = entry.get("summary").and_then(Value::as_str);
    let Some(summary) = summary.filter(|summary| !summary.is_empty()) else {
        return Ok(Meaning::Aside);
    };
    small_enough(summary.len())?;
    let first_kept = match (
        entry.get("firstKeptEntryId").and_then(Value::as_str),
        entry.get("firstKeptEntryIndex").and_then(Value::as_u64),
    ) {
        (Some(id), _) if !id.is_empty() => Some(FirstKept::Id(id.to_owned())),
        (_, index) => index.map(FirstKept::Index),
    };
    let marker = NewMessage {
        blocks: Vec::new(),
        at: entry.get("timestamp").and_then(time::read),
        compaction: Some(Compaction {
            summary: summary.to_owned(),
            first_kept_seq: None,
            tokens_before: entry.get("tokensBefore").and_then(count),
        }),
        ..NewMessage::text(key, Role::Assistant, "")
    };
    Ok(Meaning::Compaction(Box::new(marker), first_kept))
}

/// The message of an entry; older releases wrote it without an entry around it.
fn body_of(entry: &Value) -> Result<&Map<String, Value>, Fault> {
    let body = entry.get("message").unwrap_or(entry);
    body.as_object().ok_or_else(|| Fault::Shape {
        field: "`message`",
        given: kind_of(body),
        allowed: "an object",
    })
}

fn role(message: &Map<String, Value>) -> Result<Option<Role>, Fault> {
    let given = message.get("role").unwrap_or(&Value::Null);
    let word = given.as_str().ok_or_else(|| Fault::Shape {
        field: "`role`",
        given: kind_of(given),
        allowed: "a text",
    })?;
    Ok(match word {
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        "toolResult" | "tool" => Some(Role::ToolResult),
        _ => None,
    })
}

fn content(message: &Map<String, Value>, blobs: &[Blob]) -> Result<Vec<Block>, Fault> {
    let given = message.get("content").unwrap_or(&Value::Null);
    let blocks = match given {
        Value::Null => Vec::new(),
        Value::String(text) => vec![Block::Text(text.clone())],
        Value::Array(parts) => {
            if parts.len() > MESSAGE_BLOCKS_MAX {
                return Err(Fault::Blocks {
                    given: parts.len(),
                    allowed: MESSAGE_BLOCKS_MAX,
                });
            }
            parts.iter().filter_map(|part| block(part, blobs)).collect()
        },
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err(Fault::Shape {
                field: "`content`",
                given: kind_of(given),
                allowed: "a text or a list",
            });
        },
    };
    let weights = blocks.iter().map(weight);
    small_enough(weights.fold(0, usize::saturating_add))?;
    Ok(blocks)
}

const fn small_enough(bytes: usize) -> Result<(), Fault> {
    if bytes > MESSAGE_BYTES_MAX {
        return Err(Fault::Content {
            given: bytes,
            allowed: MESSAGE_BYTES_MAX,
        });
    }
    Ok(())
}

/// Takes the sender's line off the first text, and the sentence that explains it: both belong to the
/// prompt, and who sent it is told by fields.
///
/// Source: D25, run:T21.
fn strip_sender(blocks: &mut [Block]) {
    let first = blocks.iter_mut().find_map(|block| match block {
        Block::Text(text) => Some(text),
        Block::Thinking(_) | Block::ToolCall { .. } | Block::Image { .. } => None,
    });
    let Some(text) = first else { return };
    if !text.starts_with(SENDER_LINE) {
        return;
    }
    let (_, rest) = text.split_once('\n').unwrap_or_default();
    let rest = if rest.starts_with(SENDER_SENTENCE) {
        rest.split_once('\n').unwrap_or_default().1
    } else {
        rest
    };
    *text = rest.trim_start_matches('\n').to_owned();
}

/// An origin of an unknown kind is none, and what cannot be a key names no session.
///
/// Source: run:T18.
fn provenance(message: &Map<String, Value>) -> Option<Provenance> {
    let given = message.get("provenance")?.as_object()?;
    let kind = match given.get("kind")?.as_str()? {
        "external_user" => ProvenanceKind::ExternalUser,
        "inter_session" => ProvenanceKind::InterSession,
        "internal_system" => ProvenanceKind::InternalSystem,
        _ => return None,
    };
    let source = short_text(given, "sourceSessionKey");
    Some(Provenance {
        kind,
        source_session_key: source.and_then(|key| SessionKey::parse(&key).ok()),
        source_channel: short_text(given, "sourceChannel"),
        source_tool: short_text(given, "sourceTool"),
        sender: short_text(given, "sender"),
    })
}

fn usage(given: &Value) -> Option<Usage> {
    let part = |name| given.get(name).and_then(count);
    let (input, output) = (part("input"), part("output"));
    (input.is_some() || output.is_some()).then(|| Usage {
        input: input.unwrap_or_default(),
        output: output.unwrap_or_default(),
    })
}

/// A count that the database can hold.
fn count(value: &Value) -> Option<u64> {
    value.as_u64().filter(|count| i64::try_from(*count).is_ok())
}

fn short_text(object: &Map<String, Value>, name: &str) -> Option<String> {
    let text = object.get(name)?.as_str()?;
    let fits = !text.trim().is_empty() && text.len() <= ROUTE_FIELD_BYTES_MAX;
    fits.then(|| text.to_owned())
}

/// When it was said; else when it was written down.
fn moment(message: &Map<String, Value>, entry: &Value) -> Option<confab_model::clock::Timestamp> {
    let said = message.get("timestamp").and_then(time::read);
    said.or_else(|| entry.get("timestamp").and_then(time::read))
}
