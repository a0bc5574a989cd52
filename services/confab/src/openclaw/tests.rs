//! State directories of every kind, and the plan that each becomes.

mod databases;
mod layouts;
mod plans;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tempfile::TempDir;

use super::plan::{self, LayoutError, Plan, Planned};

/// A state directory in the making.
struct State {
    directory: TempDir,
}

impl State {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    /// One with these files.
    fn with(files: &[(&str, &str)]) -> Self {
        let state = Self::new();
        for (path, text) in files {
            state.file(path, text.as_bytes());
        }
        state
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn file(&self, path: &str, bytes: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// A database on which these statements were carried out.
    async fn database(&self, path: &str, statements: &[&str]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true);
        let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
        for statement in statements {
            let statement = sqlx::AssertSqlSafe((*statement).to_owned());
            sqlx::query(statement)
                .execute(&mut connection)
                .await
                .unwrap();
        }
        connection.close().await.unwrap();
    }

    async fn plan(&self) -> Result<Plan, LayoutError> {
        self.plan_of("").await
    }

    async fn plan_of(&self, below: &str) -> Result<Plan, LayoutError> {
        plan::of(&self.path(below)).await
    }
}

/// An index with one row for each key and sessionId.
fn index(rows: &[(&str, &str)]) -> String {
    let rows = rows
        .iter()
        .map(|(key, id)| ((*key).to_owned(), row(id, &json!({}))));
    Value::Object(rows.collect()).to_string()
}

fn row(session_id: &str, more: &Value) -> Value {
    let mut row = json!({ "sessionId": session_id, "updatedAt": 1_770_000_000_000_i64 });
    let more = more.as_object().unwrap().clone();
    row.as_object_mut().unwrap().extend(more);
    row
}

/// The sessions in a few words, sorted: `KEY SESSION_ID < EARLIER = FILE of GENERATION, …`.
fn sessions(plan: &Plan) -> Vec<String> {
    let mut told: Vec<String> = plan.sessions.iter().map(told).collect();
    told.sort();
    told
}

fn told(one: &Planned) -> String {
    let sources = one.sources.iter().map(|source| {
        let file = Path::new(&source.name)
            .file_name()
            .unwrap()
            .to_str()
            .unwrap();
        format!("{file} of {}", source.session_id)
    });
    let sources = sources.collect::<Vec<_>>().join(", ");
    let earlier = one.earlier.iter().map(|id| format!(" < {id}"));
    [
        format!("{} {}", one.session.key, one.session.session_id),
        earlier.collect(),
        if sources.is_empty() {
            sources
        } else {
            format!(" = {sources}")
        },
        (if one.unclaimed { " (unclaimed)" } else { "" }).to_owned(),
    ]
    .concat()
}

/// The faults, sorted: `FILE:LINE: REASON`.
fn faults(plan: &Plan) -> Vec<String> {
    let mut told: Vec<String> = plan
        .faults
        .iter()
        .map(|fault| match fault.line {
            Some(line) => format!("{}:{line}: {}", fault.file, fault.reason),
            None => format!("{}: {}", fault.file, fault.reason),
        })
        .collect();
    told.sort();
    told
}
