//! A state directory with a bit of everything, as files.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tempfile::TempDir;

pub(super) const MAIN: &str = "agent:writer:main";
pub(super) const ROOM: &str = "agent:writer:slack:channel:c1";
pub(super) const CHILD: &str = "agent:writer:subagent:1b0f0b0e-0000-4000-8000-000000000007";
pub(super) const MAIN_ID: &str = "7d6f0b0e-0000-4000-8000-000000000001";
/// What the main session was before its last reset.
pub(super) const OLD_ID: &str = "7d6f0b0e-0000-4000-8000-000000000002";
pub(super) const ROOM_ID: &str = "7d6f0b0e-0000-4000-8000-000000000003";
pub(super) const CHILD_ID: &str = "7d6f0b0e-0000-4000-8000-000000000004";
/// A transcript that no session claims.
pub(super) const LOST_ID: &str = "7d6f0b0e-0000-4000-8000-000000000005";

const UPDATED_AT: i64 = 1_770_000_000_000;

/// A directory that is gone with the test.
pub(super) struct StateDirectory {
    directory: TempDir,
}

impl StateDirectory {
    /// One without a file.
    pub(super) fn empty() -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        fs::create_dir_all(directory.path().join("agents/writer/sessions"))?;
        Ok(Self { directory })
    }

    /// Three sessions, an earlier generation, and a deleted transcript that nobody claims.
    pub(super) fn whole() -> anyhow::Result<Self> {
        let state = Self::empty()?;
        state.index(&json!({
            CHILD: { "sessionId": CHILD_ID, "updatedAt": UPDATED_AT, "spawnedBy": MAIN },
            "main": {
                "sessionId": MAIN_ID, "updatedAt": UPDATED_AT, "label": "desk",
                "usageFamilySessionIds": [OLD_ID, MAIN_ID], "skillsSnapshot": {},
            },
            ROOM: {
                "sessionId": ROOM_ID, "updatedAt": UPDATED_AT, "chatType": "channel",
                "deliveryContext": { "channel": "slack", "to": "channel:c1" },
            },
        }))?;
        state.lines(&format!("{MAIN_ID}.jsonl"), &conversation())?;
        let archive = format!("{OLD_ID}.jsonl.reset.2026-01-02T03-04-05.678Z");
        state.lines(&archive, &older_form())?;
        state.lines(&format!("{ROOM_ID}.jsonl"), &plain(ROOM_ID, 3))?;
        state.lines(&format!("{CHILD_ID}.jsonl"), &plain(CHILD_ID, 1))?;
        let deleted = format!("{LOST_ID}.jsonl.deleted.2026-01-02T03-04-05.678Z");
        state.lines(&deleted, &plain(LOST_ID, 2))?;
        Ok(state)
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    fn sessions(&self, name: &str) -> PathBuf {
        self.path().join("agents/writer/sessions").join(name)
    }

    pub(super) fn index(&self, rows: &Value) -> anyhow::Result<()> {
        Ok(fs::write(self.sessions("sessions.json"), rows.to_string())?)
    }

    pub(super) fn lines(&self, name: &str, lines: &[Value]) -> anyhow::Result<()> {
        let lines = lines.iter().map(|line| format!("{line}\n"));
        self.bytes(name, lines.collect::<String>().as_bytes())
    }

    /// The database of a newer release: the main session, and what was said in each generation.
    pub(super) fn database(&self, generations: &[(&str, &[Value])]) -> anyhow::Result<()> {
        let path = self.path().join("agents/writer/agent");
        fs::create_dir_all(&path)?;
        let path = path.join("openclaw-agent.sqlite");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(runtime.block_on(write_database(&path, generations))?)
    }

    pub(super) fn bytes(&self, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
        Ok(fs::write(self.sessions(name), bytes)?)
    }
}

/// The tables of a newer release, as far as an import looks at them.
const TABLES: [&str; 3] = [
    "CREATE TABLE session_nodes (session_key TEXT, current_session_id TEXT, updated_at INTEGER, \
     entry_json TEXT)",
    "CREATE TABLE session_windows (session_id TEXT, session_key TEXT, created_at INTEGER, \
     updated_at INTEGER)",
    "CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, \
     created_at INTEGER)",
];

async fn write_database(path: &Path, generations: &[(&str, &[Value])]) -> sqlx::Result<()> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true);
    let mut open = SqliteConnection::connect_with(&options).await?;
    for statement in TABLES {
        sqlx::query(statement).execute(&mut open).await?;
    }
    sqlx::query("INSERT INTO session_nodes VALUES (?, ?, ?, ?)")
        .bind(MAIN)
        .bind(MAIN_ID)
        .bind(UPDATED_AT)
        .bind(json!({ "label": "desk" }).to_string())
        .execute(&mut open)
        .await?;
    for (id, lines) in generations {
        sqlx::query("INSERT INTO session_windows VALUES (?, ?, ?, ?)")
            .bind(id)
            .bind(MAIN)
            .bind(UPDATED_AT)
            .bind(UPDATED_AT)
            .execute(&mut open)
            .await?;
        for (seq, line) in (0_i64..).zip(*lines) {
            sqlx::query("INSERT INTO transcript_events VALUES (?, ?, ?, ?)")
                .bind(id)
                .bind(seq)
                .bind(line.to_string())
                .bind(UPDATED_AT)
                .execute(&mut open)
                .await?;
        }
    }
    open.close().await
}

/// A row with nothing but its sessionId.
pub(super) fn row(session_id: &str) -> Value {
    json!({ "sessionId": session_id, "updatedAt": UPDATED_AT })
}

/// A token as an issuer makes them; nobody gave it out.
pub(super) fn secret() -> String {
    let body: String = "q7Wz3Kd9Xv5Rt1Hb".chars().cycle().take(36).collect();
    format!("ghp_{body}")
}

pub(super) fn header(id: &str) -> Value {
    json!({
        "type": "session", "version": 3, "id": id, "timestamp": "2026-02-02T02:40:00.000Z",
        "cwd": "/srv/work",
    })
}

pub(super) fn entry(id: &str, parent: Option<&str>, message: &Value) -> Value {
    json!({
        "type": "message", "id": id, "parentId": parent,
        "timestamp": "2026-02-02T02:40:00.000Z", "message": message,
    })
}

pub(super) fn said(role: &str, text: &str) -> Value {
    json!({
        "role": role, "content": [{ "type": "text", "text": text }], "timestamp": UPDATED_AT,
    })
}

/// A transcript of so many messages.
pub(super) fn plain(id: &str, messages: usize) -> Vec<Value> {
    let name = |number: usize| format!("e{number:07}");
    let entries = (0..messages).map(|number| {
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        let parent = number.checked_sub(1).map(name);
        let text = format!("words {number}");
        entry(&name(number), parent.as_deref(), &said(role, &text))
    });
    std::iter::once(header(id)).chain(entries).collect()
}

/// Every sort of entry of the present form, with the secret wherever text can be.
fn conversation() -> Vec<Value> {
    let secret = secret();
    let asked = entry(
        "m1",
        Some("c1"),
        &said("user", &format!("use {secret} please")),
    );
    let called = json!({
        "role": "assistant", "api": "messages", "provider": "p", "model": "m",
        "content": [
            { "type": "thinking", "thinking": format!("the token is {secret}") },
            { "type": "toolCall", "id": "t1", "name": "exec",
              "arguments": { "command": format!("curl -H 'Authorization: {secret}'") } },
        ],
        "usage": { "input": 10, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 12,
                   "cost": { "input": 0.5, "output": 0.25, "cacheRead": 0, "cacheWrite": 0,
                             "total": 0.75 } },
        "stopReason": "toolUse", "timestamp": UPDATED_AT,
    });
    let result = json!({
        "role": "toolResult", "toolCallId": "t1", "toolName": "exec", "isError": false,
        "content": [{ "type": "text", "text": format!("token={secret}") }],
        "details": { "exitCode": 0, "nested": { "deep": [1, 2.5, null] } },
        "timestamp": UPDATED_AT,
    });
    let at = "2026-02-02T02:41:00.000Z";
    vec![
        header(MAIN_ID),
        json!({ "type": "model_change", "id": "c1", "parentId": null, "timestamp": at,
                "provider": "p", "modelId": "m" }),
        asked,
        entry("m2", Some("m1"), &called),
        entry("m3", Some("m2"), &result),
        entry(
            "dead",
            Some("m3"),
            &said("assistant", "an answer that was taken back"),
        ),
        entry("m4", Some("m3"), &said("assistant", "done")),
        json!({ "type": "compaction", "id": "k1", "parentId": "m4", "timestamp": at,
                "summary": "what happened", "firstKeptEntryId": "m4", "tokensBefore": 900 }),
        json!({ "type": "label", "id": "l1", "parentId": "k1", "timestamp": at,
                "targetId": "m4", "label": "good" }),
        entry("m5", Some("l1"), &said("user", "thanks")),
    ]
}

/// The form of old releases: a list, without names and parents.
fn older_form() -> Vec<Value> {
    let at = "2026-01-01T00:00:00.000Z";
    vec![
        json!({ "type": "session", "id": OLD_ID, "timestamp": at, "cwd": "/srv" }),
        json!({ "type": "message", "timestamp": at,
                "message": { "role": "user", "content": "in one text", "timestamp": UPDATED_AT } }),
        json!({ "type": "message", "timestamp": at, "message": said("assistant", "before") }),
    ]
}
