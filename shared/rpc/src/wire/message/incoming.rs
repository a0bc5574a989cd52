//! Messages that a caller wrote: everything is checked, every fault is told with its path.

mod compaction;
mod picture;

use confab_model::id::RunId;
use confab_model::limits::{
    APPEND_MESSAGES_MAX, ID_BYTES_MAX, MESSAGE_BLOCKS_MAX, MESSAGE_BYTES_MAX, ROUTE_FIELD_BYTES_MAX,
};
use confab_model::message::{Blob, Block, NewMessage, Provenance, Usage};
use confab_proto::types::v1 as proto;
use confab_proto::types::v1::block::Content;
use prost::Message as _;

use self::compaction::{compaction_from_wire, marker_from_wire};
use self::picture::Pictures;
use crate::error::Violations;
use crate::wire::{enums, fields, json, time};

/// Longest name of a model, media type, reference or tool, in bytes.
const NAME_BYTES_MAX: usize = ROUTE_FIELD_BYTES_MAX;
/// Why an agent can have stopped.
const STOP_REASONS: [&str; 5] = ["stop", "length", "toolUse", "error", "aborted"];

/// The messages of one append, and what is kept beside them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Incoming {
    /// The messages, in order; their pictures are named by reference.
    pub messages: Vec<NewMessage>,
    /// The pictures that came as bytes, each once.
    pub blobs: Vec<Blob>,
}

/// Reads what one append brings: 1 to [`APPEND_MESSAGES_MAX`] messages, and the bytes of their
/// pictures.
///
/// It may be used only where nothing was noted.
pub fn incoming_from_wire(wire: Vec<proto::NewMessage>, violations: &mut Violations) -> Incoming {
    let given = wire.len();
    if given == 0 || given > APPEND_MESSAGES_MAX {
        violations.push(
            "messages",
            format!("messages has {given} entries; give 1 to {APPEND_MESSAGES_MAX}"),
        );
        return Incoming::default();
    }
    let mut pictures = Pictures::default();
    let mut messages = Vec::with_capacity(given);
    for (index, message) in wire.into_iter().enumerate() {
        messages.extend(read_message(message, index, &mut pictures, violations));
    }
    Incoming {
        messages,
        blobs: pictures.into_blobs("messages", violations),
    }
}

/// Reads the messages of one append as [`incoming_from_wire`] does, for whoever keeps no pictures.
pub fn new_messages_from_wire(
    wire: Vec<proto::NewMessage>,
    violations: &mut Violations,
) -> Vec<NewMessage> {
    incoming_from_wire(wire, violations).messages
}

/// Reads the message that stands at `index` of an append. Paths begin with `messages[index]`.
///
/// A message can come back beside violations, without the optional fields at fault: it may be used
/// only where nothing was noted.
///
/// Source: D7, D25.
pub fn new_message_from_wire(
    wire: proto::NewMessage,
    index: usize,
    violations: &mut Violations,
) -> Option<NewMessage> {
    read_message(wire, index, &mut Pictures::default(), violations)
}

fn read_message(
    wire: proto::NewMessage,
    index: usize,
    pictures: &mut Pictures,
    violations: &mut Violations,
) -> Option<NewMessage> {
    let path = |name: &str| format!("messages[{index}].{name}");
    let optional = |text, name: &str, violations: &mut Violations| {
        fields::optional_from_wire(text, NAME_BYTES_MAX, &path(name), violations)
    };
    let key = fields::required_from_wire(wire.key, ID_BYTES_MAX, &path("key"), violations);
    let role = enums::enum_from_wire(wire.role, &path("role"), violations);
    let (blocks, compaction) = if let Some(compaction) = wire.compaction {
        marker_from_wire(role, wire.blocks.len(), &path, violations);
        let compaction = compaction_from_wire(compaction, &path("compaction"), violations);
        (Some(Vec::new()), compaction)
    } else {
        let blocks = blocks_from_wire(wire.blocks, &path("blocks"), pictures, violations);
        (blocks, None)
    };
    let provenance = provenance_from_wire(wire.provenance, &path("provenance"), violations);
    let run_id =
        fields::optional_id_from_wire(wire.run_id, RunId::parse, &path("runId"), violations);
    let model = optional(wire.model, "model", violations);
    let usage = usage_from_wire(wire.usage, &path("usage"), violations);
    let stop_reason = stop_reason_from_wire(wire.stop_reason, &path("stopReason"), violations);
    let tool_call_id = optional(wire.tool_call_id, "toolCallId", violations);
    let tool_name = optional(wire.tool_name, "toolName", violations);
    let at = time::time_from_wire(wire.said_at, &path("saidAt"), violations);
    Some(NewMessage {
        key: key?,
        role: role?,
        blocks: blocks?,
        provenance,
        run_id,
        model,
        usage,
        stop_reason,
        tool_call_id,
        tool_name,
        is_error: wire.is_error,
        at,
        compaction,
    })
}

/// Reads a message's origin; absent is nothing.
pub fn provenance_from_wire(
    wire: Option<proto::Provenance>,
    field: &str,
    violations: &mut Violations,
) -> Option<Provenance> {
    let wire = wire?;
    let path = |name: &str| format!("{field}.{name}");
    let optional = |text, name: &str, violations: &mut Violations| {
        fields::optional_from_wire(text, ROUTE_FIELD_BYTES_MAX, &path(name), violations)
    };
    let kind = enums::enum_from_wire(wire.kind, &path("kind"), violations);
    let source_session_key = fields::optional_key_from_wire(
        wire.source_session_key,
        &path("sourceSessionKey"),
        violations,
    );
    let source_channel = optional(wire.source_channel, "sourceChannel", violations);
    let source_tool = optional(wire.source_tool, "sourceTool", violations);
    let sender = optional(wire.sender, "sender", violations);
    Some(Provenance {
        kind: kind?,
        source_session_key,
        source_channel,
        source_tool,
        sender,
    })
}

/// Reads the parts of a message: 1 to [`MESSAGE_BLOCKS_MAX`], [`MESSAGE_BYTES_MAX`] together.
fn blocks_from_wire(
    wire: Vec<proto::Block>,
    field: &str,
    pictures: &mut Pictures,
    violations: &mut Violations,
) -> Option<Vec<Block>> {
    let given = wire.len();
    if given == 0 || given > MESSAGE_BLOCKS_MAX {
        violations.push(
            field,
            format!("{field} has {given} blocks; give 1 to {MESSAGE_BLOCKS_MAX}"),
        );
        return None;
    }
    let bytes = wire
        .iter()
        .map(content_bytes)
        .fold(0_usize, usize::saturating_add);
    let one_alone = wire
        .iter()
        .any(|block| content_bytes(block) > MESSAGE_BYTES_MAX);
    // A block that is too large alone is told by its own path.
    if bytes > MESSAGE_BYTES_MAX && !one_alone {
        violations.push(
            field,
            format!(
                "{field} have {bytes} bytes together; at most {MESSAGE_BYTES_MAX} are allowed: \
                 split the message"
            ),
        );
    }
    let mut blocks = Vec::with_capacity(given);
    for (index, block) in wire.into_iter().enumerate() {
        blocks.extend(block_from_wire(
            block,
            &format!("{field}[{index}]"),
            pictures,
            violations,
        ));
    }
    (blocks.len() == given && bytes <= MESSAGE_BYTES_MAX).then_some(blocks)
}

/// What a block weighs: its text, or the size of what stands for it. The bytes of a picture are kept
/// elsewhere, and have a bound of their own.
fn content_bytes(block: &proto::Block) -> usize {
    match &block.content {
        None => 0,
        Some(Content::Text(block)) => block.text.len(),
        Some(Content::Thinking(block)) => block.thinking.len(),
        Some(Content::ToolCall(block)) => block.encoded_len(),
        Some(Content::Image(block)) => block.mime_type.len().saturating_add(block.reference.len()),
    }
}

fn block_from_wire(
    wire: proto::Block,
    field: &str,
    pictures: &mut Pictures,
    violations: &mut Violations,
) -> Option<Block> {
    match wire.content {
        None => {
            violations.push(
                field,
                format!("{field} is empty; give one of text, thinking, toolCall, image"),
            );
            None
        },
        Some(Content::Text(block)) => {
            long_text(block.text, &format!("{field}.text"), violations).map(Block::Text)
        },
        Some(Content::Thinking(block)) => {
            let path = format!("{field}.thinking");
            long_text(block.thinking, &path, violations).map(Block::Thinking)
        },
        Some(Content::ToolCall(block)) => {
            tool_call(block, &format!("{field}.toolCall"), violations)
        },
        Some(Content::Image(block)) => {
            pictures.image_from_wire(block, &format!("{field}.image"), violations)
        },
    }
}

/// Reads a text that may have lines, and may be empty.
fn long_text(text: String, field: &str, violations: &mut Violations) -> Option<String> {
    small_enough(text.len(), field, violations).then_some(text)
}

fn small_enough(bytes: usize, field: &str, violations: &mut Violations) -> bool {
    if bytes > MESSAGE_BYTES_MAX {
        violations.push(
            field,
            format!(
                "{field} has {bytes} bytes; at most {MESSAGE_BYTES_MAX} are allowed: shorten it"
            ),
        );
    }
    bytes <= MESSAGE_BYTES_MAX
}

fn tool_call(
    wire: proto::ToolCallBlock,
    field: &str,
    violations: &mut Violations,
) -> Option<Block> {
    let path = |name: &str| format!("{field}.{name}");
    if !small_enough(wire.encoded_len(), field, violations) {
        return None;
    }
    let id = fields::required_from_wire(
        wire.tool_call_id,
        NAME_BYTES_MAX,
        &path("toolCallId"),
        violations,
    );
    let name = fields::required_from_wire(wire.name, NAME_BYTES_MAX, &path("name"), violations);
    let arguments = json::to_map(wire.arguments.unwrap_or_default());
    if let Err(error) = &arguments {
        let field = path("arguments");
        let description = format!("{field} cannot be kept: {error}");
        violations.push(field, description);
    }
    Some(Block::ToolCall {
        id: id?,
        name: name?,
        arguments: arguments.ok()?,
    })
}

fn usage_from_wire(
    wire: Option<proto::Usage>,
    field: &str,
    violations: &mut Violations,
) -> Option<Usage> {
    let wire = wire?;
    let input = count_from_wire(wire.input, &format!("{field}.input"), violations);
    let output = count_from_wire(wire.output, &format!("{field}.output"), violations);
    Some(Usage {
        input: input?,
        output: output?,
    })
}

fn count_from_wire(given: i64, field: &str, violations: &mut Violations) -> Option<u64> {
    let count = u64::try_from(given).ok();
    if count.is_none() {
        violations.push(field, format!("{field} is {given}; give 0 or more"));
    }
    count
}

fn stop_reason_from_wire(
    wire: Option<String>,
    field: &str,
    violations: &mut Violations,
) -> Option<String> {
    let word = wire.filter(|word| !word.trim().is_empty())?;
    if STOP_REASONS.contains(&word.as_str()) {
        return Some(word);
    }
    let allowed = STOP_REASONS.join(", ");
    let shown: String = word.chars().take(NAME_BYTES_MAX).collect();
    violations.push(
        field,
        format!("{field} is {shown:?}; give one of {allowed}"),
    );
    None
}
