//! The JSON form of a message, as the tools show it and as a page is measured by.

use confab_model::key::SessionKey;
use confab_model::message::{Block, Message, Provenance, Role};
use serde_json::{Map, Value, json};

use crate::page::{PLACEHOLDER, UNREADABLE};

/// A message as the tools' JSON shows it; what is absent is left out.
///
/// Private reasoning has no place in it, and a picture stands there as what it was (D60): its type,
/// its media type and its size, marked `omitted`.
///
/// Source: contract (tools), D25, D60, run:H24, run:H26.
pub fn message_json(message: &Message) -> Value {
    let body = &message.body;
    let content: Vec<Value> = body.blocks.iter().filter_map(block_json).collect();
    let mut shown = Map::new();
    shown.insert("role".to_owned(), json!(body.role.as_str()));
    shown.insert("content".to_owned(), Value::Array(content));
    shown.insert("timestamp".to_owned(), json!(message.at.millis()));
    shown.insert("seq".to_owned(), json!(message.seq));
    shown.insert("id".to_owned(), json!(message.id.as_str()));
    if let Some(provenance) = &body.provenance {
        shown.insert("provenance".to_owned(), provenance_json(provenance));
    }
    put_text(&mut shown, "model", body.model.as_deref());
    put_text(&mut shown, "stopReason", body.stop_reason.as_deref());
    put_text(&mut shown, "toolCallId", body.tool_call_id.as_deref());
    put_text(&mut shown, "toolName", body.tool_name.as_deref());
    if body.role == Role::ToolResult {
        shown.insert("isError".to_owned(), json!(body.is_error));
    }
    Value::Object(shown)
}

/// What stands in the JSON of a page for `message`, which is too large to show or says that it cannot
/// be read. Nothing else that it says is shown.
///
/// Source: D24, run:H29, B146.
pub fn placeholder_json(message: &Message) -> Value {
    json!({
        "role": Role::Assistant.as_str(),
        "content": if is_unreadable(message) { UNREADABLE } else { PLACEHOLDER },
        "timestamp": message.at.millis(),
        "seq": message.seq,
        "id": message.id.as_str(),
    })
}

fn is_unreadable(message: &Message) -> bool {
    matches!(message.body.blocks.as_slice(), [Block::Text(text)] if text == UNREADABLE)
}

fn block_json(block: &Block) -> Option<Value> {
    match block {
        Block::Text(text) => Some(json!({ "type": "text", "text": text })),
        Block::Thinking(_) => None,
        Block::ToolCall {
            id,
            name,
            arguments,
        } => Some(json!({ "type": "toolCall", "id": id, "name": name, "arguments": arguments })),
        Block::Image {
            mime_type, bytes, ..
        } => {
            Some(json!({ "type": "image", "omitted": true, "bytes": bytes, "mimeType": mime_type }))
        },
    }
}

fn provenance_json(provenance: &Provenance) -> Value {
    let mut shown = Map::new();
    let source = provenance.source_session_key.as_ref();
    put_text(&mut shown, "kind", Some(provenance.kind.as_str()));
    put_text(
        &mut shown,
        "sourceSessionKey",
        source.map(SessionKey::as_str),
    );
    put_text(
        &mut shown,
        "sourceChannel",
        provenance.source_channel.as_deref(),
    );
    put_text(&mut shown, "sourceTool", provenance.source_tool.as_deref());
    Value::Object(shown)
}

fn put_text(shown: &mut Map<String, Value>, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        shown.insert(name.to_owned(), json!(text));
    }
}

#[cfg(test)]
mod tests {
    use confab_model::clock::Timestamp;
    use confab_model::id::MessageId;
    use confab_model::message::NewMessage;

    use super::*;

    fn stored(body: NewMessage) -> Message {
        let id = MessageId::parse("m-7").unwrap();
        Message {
            id,
            seq: 7,
            at: Timestamp::from_millis(1_500),
            body,
        }
    }

    #[test]
    fn a_plain_message_shows_its_text_and_nothing_that_it_lacks() {
        let message = stored(NewMessage::text("k", Role::Assistant, "héllo"));
        let expected = json!({
            "role": "assistant", "content": [{ "type": "text", "text": "héllo" }],
            "timestamp": 1500, "seq": 7, "id": "m-7",
        });
        assert_eq!(message_json(&message), expected);
    }

    #[test]
    fn a_placeholder_keeps_the_place_and_nothing_of_the_text() {
        let message = stored(NewMessage::text("k", Role::User, "long"));
        let expected = json!({
            "role": "assistant", "content": "[sessions_history omitted: message too large]",
            "timestamp": 1500, "seq": 7, "id": "m-7",
        });
        assert_eq!(placeholder_json(&message), expected);
    }

    #[test]
    fn a_placeholder_says_when_the_message_cannot_be_read() {
        let message = stored(NewMessage::text("k", Role::Assistant, UNREADABLE));
        assert_eq!(placeholder_json(&message)["content"], UNREADABLE);
    }

    #[test]
    fn reasoning_is_left_out_and_a_picture_is_named_without_its_place() {
        let mut body = NewMessage::text("k", Role::Assistant, "done");
        let image = Block::Image {
            mime_type: "image/png".to_owned(),
            reference: "blob:1".to_owned(),
            bytes: 9,
        };
        body.blocks.insert(0, Block::Thinking("secret".to_owned()));
        body.blocks.push(image);
        let shown = message_json(&stored(body));
        let expected = json!([
            { "type": "text", "text": "done" },
            { "type": "image", "omitted": true, "bytes": 9, "mimeType": "image/png" },
        ]);
        assert_eq!(shown["content"], expected);
    }

    #[test]
    fn the_origin_of_an_inter_session_message_is_shown_as_fields() {
        let mut body = NewMessage::text("k", Role::User, "hi");
        let source = SessionKey::parse("agent:a:main").unwrap();
        body.provenance = Some(Provenance::inter_session(source, None, "sessions_send"));
        let expected = json!({
            "kind": "inter_session", "sourceSessionKey": "agent:a:main",
            "sourceTool": "sessions_send",
        });
        assert_eq!(message_json(&stored(body))["provenance"], expected);
    }

    #[test]
    fn a_tool_call_and_its_result_are_shown_with_their_names() {
        let mut call = NewMessage::text("k", Role::Assistant, "");
        let arguments = json!({ "path": "/a" }).as_object().unwrap().clone();
        let (id, name) = ("c1".to_owned(), "read".to_owned());
        call.blocks = vec![Block::ToolCall {
            id,
            name,
            arguments,
        }];
        let shown = message_json(&stored(call));
        let expected = json!([{ "type": "toolCall", "id": "c1", "name": "read", "arguments": { "path": "/a" } }]);
        assert_eq!(shown["content"], expected);

        let mut result = NewMessage::text("k", Role::ToolResult, "no such file");
        result.tool_call_id = Some("c1".to_owned());
        result.tool_name = Some("read".to_owned());
        result.is_error = true;
        let shown = message_json(&stored(result));
        assert_eq!(shown["role"], "toolResult");
        assert_eq!(
            (&shown["toolCallId"], &shown["toolName"]),
            (&json!("c1"), &json!("read"))
        );
        assert_eq!(shown["isError"], true);
    }
}
