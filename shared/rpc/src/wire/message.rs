//! Messages, their blocks and where they came from.

mod incoming;

use confab_model::id::MessageId;
use confab_model::message::{Block, Compaction, Message, NewMessage, Provenance, Usage};
use confab_proto::types::v1 as proto;
use confab_proto::types::v1::block::Content;
use prost::Message as _;

use super::{WireError, enums, json, numbers, time};
use crate::wire::enums::Numbered as _;

pub use incoming::{
    Incoming, incoming_from_wire, new_message_from_wire, new_messages_from_wire,
    provenance_from_wire,
};

/// The proto's form of a stored message.
pub fn to_proto(message: &Message) -> proto::Message {
    proto::Message {
        message_id: message.id.to_string(),
        seq: numbers::to_i64(message.seq),
        created_at: Some(time::to_proto(message.at)),
        body: Some(new_to_proto(&message.body)),
    }
}

/// Reads a stored message.
///
/// # Errors
/// When a field is missing or malformed.
pub fn from_proto(wire: proto::Message) -> Result<Message, WireError> {
    Ok(Message {
        id: super::parsed(MessageId::parse(wire.message_id), "message.messageId")?,
        seq: numbers::from_i64(wire.seq, "message.seq")?,
        at: time::required(wire.created_at, "message.createdAt")?,
        body: new_from_proto(super::required(wire.body, "message.body")?)?,
    })
}

/// The proto's form of a message on its way into a transcript.
pub fn new_to_proto(message: &NewMessage) -> proto::NewMessage {
    proto::NewMessage {
        key: message.key.clone(),
        role: message.role.number(),
        blocks: message.blocks.iter().map(block_to_proto).collect(),
        provenance: message.provenance.as_ref().map(provenance_to_proto),
        run_id: message.run_id.as_ref().map(ToString::to_string),
        model: message.model.clone(),
        usage: message.usage.map(usage_to_proto),
        stop_reason: message.stop_reason.clone(),
        tool_call_id: message.tool_call_id.clone(),
        tool_name: message.tool_name.clone(),
        is_error: message.is_error,
        said_at: message.at.map(time::to_proto),
        compaction: message.compaction.as_ref().map(compaction_to_proto),
    }
}

/// Reads a message that another service sent or our own database holds.
///
/// # Errors
/// When a field is missing or malformed.
pub fn new_from_proto(wire: proto::NewMessage) -> Result<NewMessage, WireError> {
    let blocks: Result<Vec<_>, _> = wire.blocks.into_iter().map(block_from_proto).collect();
    Ok(NewMessage {
        key: wire.key,
        role: enums::from_proto(wire.role, "message.role")?,
        blocks: blocks?,
        provenance: wire.provenance.map(provenance_from_proto).transpose()?,
        run_id: super::optional_run(wire.run_id, "message.runId")?,
        model: wire.model,
        usage: wire.usage.map(usage_from_proto).transpose()?,
        stop_reason: wire.stop_reason,
        tool_call_id: wire.tool_call_id,
        tool_name: wire.tool_name,
        is_error: wire.is_error,
        at: time::optional(wire.said_at, "message.saidAt")?,
        compaction: wire.compaction.map(compaction_from_proto).transpose()?,
    })
}

/// The bytes of the transcript's packed column.
pub fn pack(message: &NewMessage) -> Vec<u8> {
    new_to_proto(message).encode_to_vec()
}

/// Reads the transcript's packed column.
///
/// # Errors
/// When the bytes hold no message.
pub fn unpack(bytes: &[u8]) -> Result<NewMessage, WireError> {
    new_from_proto(super::decoded(bytes, "message")?)
}

/// The proto's form of one part of a message.
pub fn block_to_proto(block: &Block) -> proto::Block {
    let content = match block {
        Block::Text(text) => Content::Text(proto::TextBlock { text: text.clone() }),
        Block::Thinking(thinking) => Content::Thinking(proto::ThinkingBlock {
            thinking: thinking.clone(),
        }),
        Block::ToolCall {
            id,
            name,
            arguments,
        } => Content::ToolCall(proto::ToolCallBlock {
            tool_call_id: id.clone(),
            name: name.clone(),
            arguments: Some(json::to_struct(arguments)),
        }),
        Block::Image {
            mime_type,
            reference,
            bytes,
        } => Content::Image(proto::ImageBlock {
            mime_type: mime_type.clone(),
            reference: reference.clone(),
            bytes: numbers::to_i64(*bytes),
            data: None,
        }),
    };
    proto::Block {
        content: Some(content),
    }
}

/// Reads one part of a message.
///
/// # Errors
/// When it is of no known kind, or a field is malformed.
pub fn block_from_proto(wire: proto::Block) -> Result<Block, WireError> {
    Ok(match super::required(wire.content, "block.content")? {
        Content::Text(block) => Block::Text(block.text),
        Content::Thinking(block) => Block::Thinking(block.thinking),
        Content::ToolCall(block) => {
            let arguments = json::to_map(block.arguments.unwrap_or_default());
            Block::ToolCall {
                id: block.tool_call_id,
                name: block.name,
                arguments: super::parsed(arguments, "block.toolCall.arguments")?,
            }
        },
        Content::Image(block) => Block::Image {
            mime_type: block.mime_type,
            reference: block.reference,
            bytes: numbers::from_i64(block.bytes, "block.image.bytes")?,
        },
    })
}

/// The proto's form of a message's origin.
pub fn provenance_to_proto(provenance: &Provenance) -> proto::Provenance {
    proto::Provenance {
        kind: provenance.kind.number(),
        source_session_key: provenance
            .source_session_key
            .as_ref()
            .map(ToString::to_string),
        source_channel: provenance.source_channel.clone(),
        source_tool: provenance.source_tool.clone(),
        sender: provenance.sender.clone(),
    }
}

/// Reads a message's origin.
///
/// # Errors
/// When its kind is not known or its session key malformed.
pub fn provenance_from_proto(wire: proto::Provenance) -> Result<Provenance, WireError> {
    let source = wire.source_session_key.as_deref();
    Ok(Provenance {
        kind: enums::from_proto(wire.kind, "provenance.kind")?,
        source_session_key: super::optional_key(source, "provenance.sourceSessionKey")?,
        source_channel: wire.source_channel,
        source_tool: wire.source_tool,
        sender: wire.sender,
    })
}

/// The proto's form of a compaction.
pub fn compaction_to_proto(compaction: &Compaction) -> proto::Compaction {
    proto::Compaction {
        summary: compaction.summary.clone(),
        first_kept_seq: compaction.first_kept_seq.map(numbers::to_i64),
        tokens_before: compaction.tokens_before.map(numbers::to_i64),
    }
}

/// Reads a compaction.
///
/// # Errors
/// When a number is negative.
pub fn compaction_from_proto(wire: proto::Compaction) -> Result<Compaction, WireError> {
    let first_kept_seq = wire
        .first_kept_seq
        .map(|seq| numbers::from_i64(seq, "compaction.firstKeptSeq"));
    let tokens_before = wire
        .tokens_before
        .map(|tokens| numbers::from_i64(tokens, "compaction.tokensBefore"));
    Ok(Compaction {
        summary: wire.summary,
        first_kept_seq: first_kept_seq.transpose()?,
        tokens_before: tokens_before.transpose()?,
    })
}

/// The proto's form of token counts.
pub fn usage_to_proto(usage: Usage) -> proto::Usage {
    proto::Usage {
        input: numbers::to_i64(usage.input),
        output: numbers::to_i64(usage.output),
    }
}

/// Reads token counts.
///
/// # Errors
/// When one is negative.
pub fn usage_from_proto(wire: proto::Usage) -> Result<Usage, WireError> {
    Ok(Usage {
        input: numbers::from_i64(wire.input, "usage.input")?,
        output: numbers::from_i64(wire.output, "usage.output")?,
    })
}
