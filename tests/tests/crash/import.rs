//! An import and a fork with a `kill -9` around every commit: whoever repeats them ends where nobody
//! was disturbed, and nothing is half there.
//!
//! Source: D36, D47, run:T17.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use confab_proto::transcript::v1 as transcript;
use confab_tests::client::Client;
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::grpc::{Caller, Grpc, TRANSCRIPT, session};
use confab_tests::home::{Home, config, script};
use confab_tests::json::{list, text};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{COMMITS_MAX, kill_at, println};

const MAIN: &str = "agent:writer:main";
const ROOM: &str = "agent:writer:slack:channel:c1";
const CHILD: &str = "agent:writer:child";
const MAIN_ID: &str = "7d6f0b0e-0000-4000-8000-000000000001";
const ROOM_ID: &str = "7d6f0b0e-0000-4000-8000-000000000002";
/// More than two batches of an import.
const MESSAGES: usize = 2_100;
/// Messages of the session that is forked.
const SAID: usize = 40;

fn home() -> anyhow::Result<Home> {
    Home::new(&config(&[script("writer", &json!([]))]))
}

/// A state directory with a long and a short session.
fn state_directory() -> anyhow::Result<TempDir> {
    let directory = tempfile::tempdir()?;
    let sessions = directory.path().join("agents/writer/sessions");
    fs::create_dir_all(&sessions)?;
    let index = json!({
        MAIN: { "sessionId": MAIN_ID, "updatedAt": 1_770_000_000_000_i64, "label": "desk" },
        ROOM: { "sessionId": ROOM_ID, "updatedAt": 1_770_000_100_000_i64, "channel": "slack" },
    });
    fs::write(sessions.join("sessions.json"), index.to_string())?;
    for (id, messages) in [(MAIN_ID, MESSAGES), (ROOM_ID, 3)] {
        let lines = lines_of(id, messages).map(|line| format!("{line}\n"));
        fs::write(
            sessions.join(format!("{id}.jsonl")),
            lines.collect::<String>(),
        )?;
    }
    Ok(directory)
}

fn lines_of(id: &str, messages: usize) -> impl Iterator<Item = Value> {
    let header = json!({
        "type": "session", "version": 3, "id": id, "timestamp": "2026-02-02T02:40:00.000Z",
        "cwd": "/srv",
    });
    let entries = (0..messages).map(|number| {
        let parent = number.checked_sub(1).map(|parent| format!("e{parent:07}"));
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        json!({
            "type": "message", "id": format!("e{number:07}"), "parentId": parent,
            "timestamp": "2026-02-02T02:40:00.000Z",
            "message": {
                "role": role, "content": [{ "type": "text", "text": format!("words {number}") }],
                "timestamp": 1_770_000_000_000_i64,
            },
        })
    });
    std::iter::once(header).chain(entries)
}

fn import(client: &Client, directory: &Path) -> anyhow::Result<Value> {
    let directory = directory.to_str().context("the path is no text")?;
    let answer = client.run(&["import", "openclaw", directory])?;
    ensure!(answer.status == 0, "{}", answer.text);
    Ok(answer.json)
}

/// What there is to see of both sessions: their rows' names, and every line of their transcripts.
fn seen(client: &Client) -> anyhow::Result<Value> {
    let mut seen = Vec::new();
    for key in [MAIN, ROOM] {
        let row = client.json(&["sessions", "get", key])?;
        let lines = client.table(&["sessions", "export", key, "--raw"])?;
        let lines: Vec<Value> = lines
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()?;
        seen.push(json!({
            "sessionId": text(&row, "/sessionId")?, "updatedAt": row.get("updatedAt"),
            "label": row.get("label"), "lines": lines,
        }));
    }
    Ok(json!(seen))
}

fn imported_at(point: &str, commits_min: usize) -> anyhow::Result<()> {
    let directory = state_directory()?;
    for commit in 0..COMMITS_MAX {
        let home = home()?;
        let work = |client: &Client| import(client, directory.path()).map(drop);
        let died = kill_at(&home, point, commit, work)
            .with_context(|| format!("{point} number {commit}"))?;
        let deployment = Deployment::start(Shape::OneProcess, &home)?;
        import(&deployment.client, directory.path())?;
        let seen = seen(&deployment.client)?;
        deployment.stop()?;
        for (place, (id, messages)) in [(MAIN_ID, MESSAGES), (ROOM_ID, 3)].into_iter().enumerate() {
            let lines: Vec<Value> = lines_of(id, messages).collect();
            let told = seen.get(place).context("no session")?;
            ensure!(
                list(told, "/lines")? == lines.as_slice() && text(told, "/sessionId")? == id,
                "killed at {point} number {commit}: {id} is not what was imported"
            );
        }
        if !died {
            println(&format!("import: {point}"), commit);
            assert!(
                commit >= commits_min,
                "{point} was passed {commit} times only"
            );
            return Ok(());
        }
    }
    bail!("{point} has more than {COMMITS_MAX} commits")
}

#[test]
fn an_import_that_is_killed_at_any_commit_of_the_transcript_is_repeatable() -> anyhow::Result<()> {
    imported_at("transcript.commit.before", 3)?;
    imported_at("transcript.commit.after", 3)
}

#[test]
fn an_import_that_is_killed_at_any_commit_of_the_registry_is_repeatable() -> anyhow::Result<()> {
    imported_at("registry.commit.before", 2)?;
    imported_at("registry.commit.after", 2)
}

/// A home with a session that was spoken in, and an empty one beside it, at rest.
fn forkable() -> anyhow::Result<Home> {
    let home = home()?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    for number in 0..SAID / 2 {
        deployment
            .client
            .json(&["chat", MAIN, &format!("words {number}")])?;
    }
    deployment.client.json(&["sessions", "create", CHILD])?;
    deployment.stop()?;
    Ok(home)
}

fn fork(grpc: &Grpc) -> anyhow::Result<i64> {
    let asked = transcript::ForkTranscriptRequest {
        source: Some(session(MAIN)),
        into_session_key: CHILD.to_owned(),
        idempotency_key: Some("fork 1".to_owned()),
    };
    let forked: transcript::ForkTranscriptResponse =
        grpc.call(TRANSCRIPT, "ForkTranscript", asked, &Caller::operator())?;
    Ok(forked.messages)
}

/// There is no half child: it has everything or nothing, and whoever repeats the fork has everything.
#[test]
fn a_fork_that_is_killed_leaves_no_half_child() -> anyhow::Result<()> {
    let prepared = forkable()?;
    for point in ["transcript.commit.before", "transcript.commit.after"] {
        for commit in 0..COMMITS_MAX {
            let home = prepared.copy()?;
            let died = crate::kill_server_at(&home, point, commit, |server| {
                fork(&Grpc::at(vec![server.grpc()?])?).map(drop)
            })?;
            let deployment = Deployment::start(Shape::OneProcess, &home)?;
            let found = deployment.client.history(CHILD)?.len();
            ensure!(
                found == 0 || found == SAID,
                "killed at {point} number {commit}: the child has {found} messages"
            );
            assert_eq!(fork(&Grpc::to(&deployment)?)?, i64::try_from(SAID)?);
            assert_eq!(deployment.client.history(CHILD)?.len(), SAID);
            deployment.stop()?;
            if !died {
                println(&format!("fork: {point}"), commit);
                assert!(commit >= 1, "{point} was passed {commit} times only");
                break;
            }
        }
    }
    Ok(())
}
