//! Messages as the transcript service sends them.

use confab_model::clock::Timestamp;
use confab_model::id::MessageId;
use confab_model::message::{Block, Message, NewMessage, Role};
use confab_proto::types::v1 as proto;
use confab_rpc::wire::message;
use serde_json::{Map, json};

/// A text, `seq` seconds after the epoch.
pub(crate) fn text(seq: u64, role: Role, text: &str) -> proto::Message {
    stored(seq, NewMessage::text(format!("key-{seq}"), role, text))
}

/// A call of a tool, without any text.
pub(crate) fn tool_call(seq: u64) -> proto::Message {
    let arguments = Map::from_iter([
        ("b".to_owned(), json!(1.0)),
        ("a".to_owned(), json!([true])),
    ]);
    let call = Block::ToolCall {
        id: "call-1".to_owned(),
        name: "look".to_owned(),
        arguments,
    };
    let body = NewMessage {
        blocks: vec![call],
        ..NewMessage::text("key", Role::Assistant, "")
    };
    stored(seq, body)
}

/// A message of `body`.
pub(crate) fn stored(seq: u64, body: NewMessage) -> proto::Message {
    message::to_proto(&Message {
        id: MessageId::parse(format!("m-{seq}")).expect("an identifier"),
        seq,
        at: Timestamp::from_millis(i64::try_from(seq).expect("a small number") * 1000),
        body,
    })
}
