//! Kills a process around its commit and looks at what it left behind. The test is a program of its
//! own, because it starts itself a second time as the process that dies.
//!
//! Source: D47.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

use confab_store::StoreError;
use confab_store::sqlite::{Database, Migration, OpenError};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

const MIGRATIONS: [Migration; 1] = [Migration {
    version: 1,
    description: "notes",
    sql: "CREATE TABLE note (text TEXT NOT NULL) STRICT",
}];

const KILLED: i32 = 9;

fn main() {
    confab_store::activate_failpoints();
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.as_slice() {
        [_, word, directory] if word == "write" => block_on(write(Path::new(directory))),
        _ => {
            assert_dies_with("runner.commit.before", 0);
            assert_dies_with("runner.commit.after", 1);
            assert_dies_with("registry.commit.before", 2);
        },
    }
}

/// Lets a child die at `point` while it writes its first note of two, and counts what is there. A
/// point of another database lets it live, and both notes are there.
fn assert_dies_with(point: &str, notes_expected: i64) {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let status = start_child(point, directory.path());
    let signal_expected = point.starts_with("runner").then_some(KILLED);
    assert_eq!(status.signal(), signal_expected, "{point}: {status}");
    let notes = block_on(count(directory.path()));
    assert_eq!(notes, notes_expected, "{point}");
}

fn start_child(point: &str, directory: &Path) -> ExitStatus {
    Command::new(std::env::current_exe().expect("the test has a path"))
        .arg("write")
        .arg(directory)
        .env("FAILPOINTS", format!("{point}=return(kill)"))
        .status()
        .expect("the test can start itself")
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new()
        .expect("a runtime can be made")
        .block_on(work)
}

async fn open(directory: &Path) -> Result<Database, OpenError> {
    let path = directory.join("runner.db");
    Database::open(
        &path,
        &MIGRATIONS,
        &TaskTracker::new(),
        &CancellationToken::new(),
    )
    .await
}

async fn write(directory: &Path) {
    let database = open(directory).await.expect("the database opens");
    for _ in 0..2 {
        let written: Result<(), StoreError> = database
            .write(|connection| {
                Box::pin(async move {
                    let insert = sqlx::query("INSERT INTO note VALUES ('x')");
                    insert.execute(connection).await?;
                    Ok(())
                })
            })
            .await;
        written.expect("the note is written");
    }
    database.close().await;
}

async fn count(directory: &Path) -> i64 {
    let database = open(directory)
        .await
        .expect("the database opens after the crash");
    let count = sqlx::query_scalar("SELECT count(*) FROM note")
        .fetch_one(database.reader())
        .await;
    database.close().await;
    count.expect("the notes can be counted")
}
