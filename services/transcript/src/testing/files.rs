//! Files that go into a transcript and come out again.

use std::sync::Arc;

use bytes::Bytes;
use confab_rpc::error::RpcError;
use confab_rpc::gate::Target;
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};

use super::{House, operator};
use crate::Messages;
use crate::commands::{ExportTranscript, ImportTranscript};
use crate::import::Tally;
use crate::store::sqlite::SqliteStore;

/// Bytes of the pieces that most files come in: no line ends where a piece does.
const PIECE_BYTES: usize = 61;

impl House {
    /// Imports a file into the session with this key.
    pub(crate) async fn import(&self, key: &str, file: &[u8]) -> Result<Tally, RpcError> {
        let size = if file.len() > 64 * 1024 {
            64 * 1024
        } else {
            PIECE_BYTES
        };
        let pieces = file.chunks(size).map(Bytes::copy_from_slice);
        self.import_pieces(key, false, pieces.map(Ok).collect())
            .await
    }

    /// Imports what comes in these pieces.
    pub(crate) async fn import_pieces(
        &self,
        key: &str,
        dry_run: bool,
        pieces: Vec<Result<Bytes, RpcError>>,
    ) -> Result<Tally, RpcError> {
        let request = ImportTranscript {
            target: Target::reference(key),
            session_id: None,
            dry_run,
        };
        let call = self.gate.admit_as(operator(), request).await?;
        self.messages.import(call, stream::iter(pieces)).await
    }

    /// The pieces of an export, each made when it is taken.
    pub(crate) async fn export_pieces(
        &self,
        key: &str,
        raw: bool,
    ) -> BoxStream<'static, Result<Vec<u8>, RpcError>> {
        let request = ExportTranscript {
            target: Target::reference(key),
            raw,
        };
        let call = self.gate.admit_as(operator(), request).await.unwrap();
        let messages = Arc::new(Messages::<SqliteStore> {
            store: self.messages.store.clone(),
            clock: Arc::clone(&self.messages.clock),
            ids: Arc::clone(&self.messages.ids),
            settings: self.messages.settings.clone(),
            data_dir: self.messages.data_dir.clone(),
        });
        messages.export(call).await.unwrap().boxed()
    }

    /// The lines of an export, in order.
    pub(crate) async fn export(&self, key: &str, raw: bool) -> Vec<Value> {
        let pieces: Vec<Vec<u8>> = self
            .export_pieces(key, raw)
            .await
            .try_collect()
            .await
            .unwrap();
        lines_of(&pieces.concat())
    }
}

/// The lines of a file, each of which is JSON.
pub(crate) fn lines_of(file: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(file).unwrap();
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

/// A file with these lines.
pub(crate) fn file_of(lines: &[Value]) -> Vec<u8> {
    let lines = lines.iter().map(|line| format!("{line}\n"));
    lines.collect::<String>().into_bytes()
}

/// A header of version 3.
pub(crate) fn header() -> Value {
    json!({
        "type": "session", "version": 3, "id": "s", "timestamp": "2026-02-02T02:40:00.000Z",
        "cwd": "/srv", "parentSession": "/srv/p.jsonl",
    })
}

/// A message of a person, which hangs on `parent`, if on anything.
pub(crate) fn entry(id: &str, parent: &str, text: &str) -> Value {
    json!({
        "type": "message", "id": id, "parentId": (!parent.is_empty()).then_some(parent),
        "timestamp": "2026-02-02T02:40:00.000Z",
        "message": {
            "role": "user", "content": [{ "type": "text", "text": text }],
            "timestamp": 1_770_000_000_000_i64,
        },
    })
}

/// A header and so many messages, each on the one before it.
pub(crate) fn conversation(messages: usize) -> Vec<Value> {
    let entries = (0..messages).map(|number| {
        let parent = number.checked_sub(1).map(|parent| format!("e{parent}"));
        entry(
            &format!("e{number}"),
            &parent.unwrap_or_default(),
            &format!("words {number}"),
        )
    });
    std::iter::once(header()).chain(entries).collect()
}

/// When every line of a file was written down.
const WRITTEN: &str = "2026-02-02T02:40:00.000Z";

fn of(sort: &str, id: &str, parent: &str, more: &Value) -> Value {
    let mut entry = json!({ "type": sort, "id": id, "parentId": parent, "timestamp": WRITTEN });
    let fields = entry.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    entry
}

/// A file of version 3 with everything that one can have.
pub(crate) fn everything() -> Vec<Value> {
    [call_and_result(), branch_and_settings(), compacted()].concat()
}

fn call_and_result() -> Vec<Value> {
    vec![
        header(),
        json!({
            "type": "model_change", "id": "m", "parentId": null, "timestamp": WRITTEN,
            "provider": "p", "modelId": "x",
        }),
        of(
            "thinking_level_change",
            "t",
            "m",
            &json!({ "thinkingLevel": "high" }),
        ),
        entry("a", "t", "first"),
        of(
            "message",
            "b",
            "a",
            &json!({ "message": {
            "role": "assistant", "api": "x", "provider": "p", "model": "x",
            "content": [
                { "type": "thinking", "thinking": "hm", "thinkingSignature": "sig" },
                { "type": "text", "text": "I look" },
                { "type": "toolCall", "id": "c1", "name": "read", "arguments": { "n": 1.5, "s": [] } },
            ],
            "usage": {
                "input": 3, "output": 4, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 7,
                "cost": { "total": 0.001 },
            },
            "stopReason": "toolUse", "timestamp": 1_770_000_001_000_i64,
        } }),
        ),
        of(
            "message",
            "c",
            "b",
            &json!({ "message": {
            "role": "toolResult", "toolCallId": "c1", "toolName": "read", "isError": false,
            "content": [
                { "type": "text", "text": "done" },
                { "type": "image", "data": "aGkgdGhlcmU=", "mimeType": "image/png" },
            ],
            "details": { "path": "/x" }, "timestamp": 1_770_000_002_000_i64,
        } }),
        ),
    ]
}

fn branch_and_settings() -> Vec<Value> {
    let note = json!({ "customType": "n", "content": "for the model", "display": false });
    vec![
        // A branch that was left.
        entry("left", "c", "not this"),
        of(
            "branch_summary",
            "bs",
            "c",
            &json!({ "fromId": "left", "summary": "went back" }),
        ),
        of(
            "custom",
            "cu",
            "bs",
            &json!({ "customType": "note", "data": { "k": [1, null] } }),
        ),
        of("custom_message", "cm", "cu", &note),
        of(
            "label",
            "l",
            "cm",
            &json!({ "targetId": "a", "label": "start" }),
        ),
        of("session_info", "si", "l", &json!({ "name": "desk" })),
    ]
}

fn compacted() -> Vec<Value> {
    vec![
        of(
            "compaction",
            "k",
            "si",
            &json!({
                "summary": "so far", "firstKeptEntryId": "c", "tokensBefore": 900,
                "details": { "readFiles": [] },
            }),
        ),
        of(
            "message",
            "d",
            "k",
            &json!({ "message": {
            "role": "assistant", "content": [{ "type": "text", "text": "end" }],
            "stopReason": "stop", "timestamp": 1_770_000_003_000_i64,
        } }),
        ),
        json!({
            "type": "message", "id": "side", "parentId": "d", "timestamp": WRITTEN,
            "appendMode": "side", "message": { "role": "user", "content": "by the way" },
        }),
        of(
            "of another day",
            "u",
            "d",
            &json!({ "anything": { "goes": true } }),
        ),
        of("leaf", "lf", "d", &json!({ "targetId": "d" })),
    ]
}
