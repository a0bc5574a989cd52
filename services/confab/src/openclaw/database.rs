//! The database in which newer releases keep an agent's sessions; it is read and never touched.
//!
//! Two forms are known: `session_nodes` with `session_windows`, and before it `session_entries` with
//! `sessions`. Both keep what was said in `transcript_events`, a line of JSON each; the newest release
//! compresses the long ones.
//!
//! Source: run:T1.

use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use confab_transcript::limits::IMPORT_LINE_BYTES_MAX;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use ruzstd::decoding::StreamingDecoder;
use serde_json::{Map, Value};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};
use tempfile::TempDir;

use super::Fault;
use super::index::Row;
use super::source::{PIECE_BYTES, Pieces};

/// Files beside a database that hold what is not in it yet.
const PENDING: [&str; 2] = ["-wal", "-journal"];
/// Readers at a time: the stream of one transcript, and nothing beside it.
const READERS: u32 = 1;
/// Rows that are read ahead; an event may be as long as a line.
const ROWS_AHEAD: usize = 1;

const TABLES: &str = "SELECT name FROM sqlite_master WHERE type = 'table'";
const NODES: &str = "SELECT session_key, current_session_id, updated_at, entry_json \
    FROM session_nodes ORDER BY session_key";
const ENTRIES: &str = "SELECT session_key, session_id, updated_at, entry_json \
    FROM session_entries ORDER BY session_key";
const WINDOWS: &str = "SELECT session_id, session_key, created_at, updated_at FROM session_windows \
    ORDER BY created_at, session_id";
const SESSIONS: &str = "SELECT session_id, session_key, created_at, updated_at FROM sessions \
    ORDER BY created_at, session_id";
const COLUMNS: &str = "SELECT name FROM pragma_table_info('transcript_events')";
const TRANSCRIPTS: &str = "SELECT session_id, SUM(COALESCE(octet_length(event_json), 0) + 1) \
    FROM transcript_events GROUP BY session_id ORDER BY session_id";
const PACKED_TRANSCRIPTS: &str = "SELECT session_id, \
    SUM(COALESCE(event_utf8_bytes, octet_length(event_json), 0) + 1) \
    FROM transcript_events GROUP BY session_id ORDER BY session_id";
/// What is too long for a line is not even read.
const EVENTS: &str = "SELECT CASE WHEN octet_length(event_json) <= $2 \
    THEN CAST(event_json AS BLOB) END, NULL \
    FROM transcript_events WHERE session_id = $1 ORDER BY seq";
const PACKED_EVENTS: &str = "SELECT CASE WHEN octet_length(event_json) <= $2 \
    THEN CAST(event_json AS BLOB) END, CASE WHEN octet_length(event_zstd) <= $2 THEN event_zstd END \
    FROM transcript_events WHERE session_id = $1 ORDER BY seq";
/// Tables of transcripts that were put aside inside the database, with what became of them.
const PUT_ASIDE: [(&str, &str); 2] = [
    (
        "session_transcript_archives",
        "SELECT session_id FROM session_transcript_archives ORDER BY session_id",
    ),
    (
        "session_transcript_cold_archives",
        "SELECT session_id FROM session_transcript_cold_archives ORDER BY session_id",
    ),
];
/// What stands for an event that cannot be read, so that it is counted and told as a line that is
/// none.
const NO_EVENT: &[u8] = b"an event that cannot be read";

/// An open database.
#[derive(Debug)]
pub(crate) struct Database {
    pool: SqlitePool,
    /// Whether long events are compressed.
    packs: bool,
    /// Where a database lies that had to be copied; removed with this.
    _copy: Option<TempDir>,
}

/// A generation of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// Its sessionId.
    pub session_id: String,
    /// The key of its session.
    pub key: String,
    /// When it began, in milliseconds.
    pub created_at: i64,
    /// When it was last written, in milliseconds.
    pub updated_at: i64,
}

/// What a database holds.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Contents {
    /// Its rows, as an index has them.
    pub rows: Vec<Row>,
    /// Rows that cannot be read.
    pub faults: Vec<Fault>,
    /// The generations, oldest first.
    pub windows: Vec<Window>,
    /// Which generations have a transcript, and of how many bytes.
    pub transcripts: Vec<(String, u64)>,
}

impl Database {
    /// Opens a database so that nothing changes where it lies.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(super) async fn open(path: &Path, shown: &str) -> Result<Self, Fault> {
        let copy = copied(path).map_err(|error| {
            let reason = format!("it cannot be copied to be read safely: {error}");
            Fault::of(shown, reason)
        })?;
        let options = match &copy {
            // What is pending is taken in where it is opened: in the copy.
            Some((_, path)) => SqliteConnectOptions::new().filename(path),
            None => SqliteConnectOptions::new()
                .filename(path)
                .read_only(true)
                .immutable(true),
        };
        let pool = SqlitePoolOptions::new().max_connections(READERS);
        let pool = pool.connect_with(options.row_buffer_size(ROWS_AHEAD)).await;
        let pool = pool.map_err(|error| unreadable(shown, &error))?;
        let columns = sqlx::query_scalar::<_, String>(COLUMNS).fetch_all(&pool);
        let columns = columns.await.map_err(|error| unreadable(shown, &error))?;
        Ok(Self {
            pool,
            packs: columns.iter().any(|column| column == "event_zstd"),
            _copy: copy.map(|(directory, _)| directory),
        })
    }

    /// What it holds.
    ///
    /// # Errors
    /// When it cannot be read, or has no table that is known.
    pub(super) async fn contents(&self, shown: &str) -> Result<Contents, Fault> {
        let read = self.read(shown).await;
        let contents = read.map_err(|error| unreadable(shown, &error))?;
        contents.ok_or_else(|| {
            Fault::of(
                shown,
                "it has none of the tables that sessions are known to lie in",
            )
        })
    }

    async fn read(&self, shown: &str) -> Result<Option<Contents>, sqlx::Error> {
        let tables: Vec<String> = sqlx::query_scalar(TABLES).fetch_all(&self.pool).await?;
        let has = |name: &str| tables.iter().any(|table| table == name);
        let mut contents = Contents::default();
        for (table, statement) in [("session_nodes", NODES), ("session_entries", ENTRIES)] {
            if has(table) {
                self.read_rows(statement, shown, &mut contents).await?;
                break;
            }
        }
        for (table, statement) in [("session_windows", WINDOWS), ("sessions", SESSIONS)] {
            if has(table) {
                contents.windows = self.windows(statement).await?;
                break;
            }
        }
        if has("transcript_events") {
            let statement = if self.packs {
                PACKED_TRANSCRIPTS
            } else {
                TRANSCRIPTS
            };
            let read = sqlx::query_as::<_, (String, i64)>(statement);
            let read = read.fetch_all(&self.pool).await?;
            let sized = |(id, bytes): (String, i64)| (id, u64::try_from(bytes).unwrap_or_default());
            contents.transcripts = read.into_iter().map(sized).collect();
        }
        for (_, statement) in PUT_ASIDE.into_iter().filter(|(table, _)| has(table)) {
            self.tell_put_aside(statement, shown, &mut contents).await?;
        }
        let known = ["session_nodes", "session_entries", "transcript_events"];
        Ok(known.into_iter().any(has).then_some(contents))
    }

    /// Such transcripts are not read; whoever imports learns which.
    async fn tell_put_aside(
        &self,
        statement: &'static str,
        shown: &str,
        into: &mut Contents,
    ) -> Result<(), sqlx::Error> {
        let found = sqlx::query_scalar::<_, String>(statement).fetch_all(&self.pool);
        let told = found.await?.into_iter().map(|session_id| {
            let reason = format!(
                "a transcript of {session_id} was put aside inside the database and is not read: \
                 let OpenClaw export it to a file"
            );
            Fault::of(shown, reason)
        });
        into.faults.extend(told);
        Ok(())
    }

    async fn read_rows(
        &self,
        statement: &'static str,
        shown: &str,
        into: &mut Contents,
    ) -> Result<(), sqlx::Error> {
        let read = sqlx::query_as::<_, (String, String, i64, String)>(statement);
        for (key, session_id, updated_at, json) in read.fetch_all(&self.pool).await? {
            match serde_json::from_str::<Map<String, Value>>(&json) {
                Ok(mut fields) => {
                    // The columns are the row's own; its JSON may lack them.
                    fields
                        .entry("sessionId")
                        .or_insert_with(|| session_id.into());
                    fields
                        .entry("updatedAt")
                        .or_insert_with(|| updated_at.into());
                    into.rows.push(Row { key, fields });
                },
                Err(error) => {
                    // The error repeats what is there.
                    let (line, column) = (error.line(), error.column());
                    let reason = format!(
                        "the entry of {key} is no JSON object, at line {line} column {column}"
                    );
                    into.faults.push(Fault::of(shown, reason));
                },
            }
        }
        Ok(())
    }

    async fn windows(&self, statement: &'static str) -> Result<Vec<Window>, sqlx::Error> {
        let read = sqlx::query_as::<_, (String, String, i64, i64)>(statement);
        let read = read.fetch_all(&self.pool).await?.into_iter();
        let windows = read.map(|(session_id, key, created_at, updated_at)| Window {
            session_id,
            key,
            created_at,
            updated_at,
        });
        Ok(windows.collect())
    }

    /// What was said in one generation, as lines.
    pub(super) fn pieces(&self, session_id: &str) -> Pieces<'_> {
        let statement = if self.packs { PACKED_EVENTS } else { EVENTS };
        let events = sqlx::query_as::<_, (Option<Vec<u8>>, Option<Vec<u8>>)>(statement)
            .bind(session_id.to_owned())
            .bind(i64::try_from(IMPORT_LINE_BYTES_MAX).unwrap_or(i64::MAX));
        let lines = events
            .fetch(&self.pool)
            .map_err(|error| format!("it cannot be read to its end: {error}"));
        let lines = lines.map_ok(|(plain, packed)| line(plain.or_else(|| inflated(&packed?))));
        let pieces = stream::try_unfold(Gathering::of(lines.boxed()), Gathering::next);
        pieces.boxed()
    }
}

/// Lines on their way into pieces of one size.
struct Gathering<'a> {
    lines: Pieces<'a>,
    gathered: Vec<u8>,
    /// How much of it is gone already.
    gone: usize,
}

impl<'a> Gathering<'a> {
    fn of(lines: Pieces<'a>) -> Self {
        Self {
            lines,
            gathered: Vec::new(),
            gone: 0,
        }
    }

    async fn next(mut self) -> Result<Option<(Vec<u8>, Self)>, String> {
        while self.gathered.len() - self.gone < PIECE_BYTES {
            let Some(line) = self.lines.try_next().await? else {
                break;
            };
            // What is left is less than a piece, however long the line before was.
            self.gathered.drain(..self.gone);
            self.gone = 0;
            self.gathered.extend(line);
        }
        let left = self.gathered.get(self.gone..).unwrap_or_default();
        if left.is_empty() {
            return Ok(None);
        }
        let piece: Vec<u8> = left.iter().take(PIECE_BYTES).copied().collect();
        self.gone += piece.len();
        Ok(Some((piece, self)))
    }
}

/// An event as a line of its own.
fn line(event: Option<Vec<u8>>) -> Vec<u8> {
    let mut line = event.unwrap_or_else(|| NO_EVENT.to_vec());
    // Outside of strings, where alone it can stand, a line end is a blank.
    line.iter_mut()
        .filter(|byte| **byte == b'\n')
        .for_each(|byte| *byte = b' ');
    line.push(b'\n');
    line
}

/// A compressed event; absent where it is damaged or too long for a line.
fn inflated(packed: &[u8]) -> Option<Vec<u8>> {
    let decoder = StreamingDecoder::new(packed).ok()?;
    let bound = u64::try_from(IMPORT_LINE_BYTES_MAX).ok()?;
    let mut event = Vec::new();
    decoder
        .take(bound.saturating_add(1))
        .read_to_end(&mut event)
        .ok()?;
    (event.len() <= IMPORT_LINE_BYTES_MAX).then_some(event)
}

/// A copy of a database with something pending beside it, which reading it in place would take in.
fn copied(path: &Path) -> std::io::Result<Option<(TempDir, PathBuf)>> {
    let pending = PENDING.map(|ending| (ending, beside(path, ending)));
    let pending: Vec<_> = pending
        .into_iter()
        .filter(|(_, file)| {
            fs::symlink_metadata(file).is_ok_and(|found| found.is_file() && found.len() > 0)
        })
        .collect();
    if pending.is_empty() {
        return Ok(None);
    }
    let directory = tempfile::tempdir()?;
    let copy = directory.path().join("copy.sqlite");
    fs::copy(path, &copy)?;
    for (ending, file) in pending {
        fs::copy(file, beside(&copy, ending))?;
    }
    Ok(Some((directory, copy)))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

fn unreadable(shown: &str, error: &sqlx::Error) -> Fault {
    Fault::of(
        shown,
        format!("it is no database that can be read: {error}"),
    )
}
