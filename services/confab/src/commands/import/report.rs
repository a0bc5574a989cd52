//! What became of an import, file by file.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::exit::{Exit, Failure};
use crate::openclaw::plan::Agent;
use crate::openclaw::source::Source;
use crate::openclaw::{Fault, PassedOver};
use crate::render::json::Fields;

/// What became of everything.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// Whether it was only told.
    pub dry_run: bool,
    /// Whether nothing broke it off before its end.
    pub complete: bool,
    /// Whether something went wrong in the service, of a session or a transcript, that is no refusal.
    pub broken: bool,
    /// The agents that were found.
    pub agents: Vec<Agent>,
    /// The sessions, in the order in which they went in.
    pub sessions: Vec<SessionReport>,
    /// The transcripts, in the same order.
    pub files: Vec<FileReport>,
    /// What could not be read of the directory.
    pub faults: Vec<Fault>,
    /// Files that are no transcripts of their own.
    pub passed_over: Vec<PassedOver>,
    /// How often each field was met that is not understood.
    pub fields: BTreeMap<String, u64>,
}

/// What became of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was new.
    Created,
    /// It was there already.
    Unchanged,
    /// It took the place of other content.
    Replaced,
    /// Other content stands there, and stays.
    LeftAlone,
    /// It could not be stored.
    Refused,
}

impl Outcome {
    /// All of them, in the order in which they are counted.
    pub(super) const ALL: [Self; 5] = [
        Self::Created,
        Self::Unchanged,
        Self::Replaced,
        Self::LeftAlone,
        Self::Refused,
    ];

    /// Its name for programs.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Unchanged => "unchanged",
            Self::Replaced => "replaced",
            Self::LeftAlone => "leftAlone",
            Self::Refused => "refused",
        }
    }

    /// Its name for people.
    pub(super) const fn for_people(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Unchanged => "unchanged",
            Self::Replaced => "replaced",
            Self::LeftAlone => "left alone",
            Self::Refused => "refused",
        }
    }
}

/// What became of one session.
#[derive(Clone, Debug)]
pub(super) struct SessionReport {
    /// Its key.
    pub key: String,
    /// Its present generation.
    pub session_id: String,
    /// Where it was found.
    pub file: String,
    /// What became of it.
    pub outcome: Outcome,
    /// What is stored otherwise.
    pub differences: Vec<String>,
    /// What could not be taken over, or why nothing was.
    pub left_out: Vec<String>,
    /// Whether no index has it.
    pub unclaimed: bool,
    /// Transcripts of it.
    pub transcripts: usize,
}

/// What became of a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileState {
    /// It went in; in a dry run, it would.
    Imported,
    /// Its session did not go in, and so it did not.
    LeftAlone,
    /// The service refused it.
    Failed,
}

impl FileState {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Imported => "imported",
            Self::LeftAlone => "leftAlone",
            Self::Failed => "failed",
        }
    }
}

/// A line that was not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LineFault {
    /// Its number, from 1.
    pub line: i64,
    /// Why.
    pub reason: String,
}

/// What was in a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Lines altogether.
    pub lines: i64,
    /// Messages stored.
    pub imported: i64,
    /// Messages that were stored already.
    pub repeated: i64,
    /// Lines that could not be read, or not stored.
    pub skipped: i64,
    /// Entries that are stored for an export alone.
    pub kept_aside: i64,
    /// The first of the skipped lines.
    pub faults: Vec<LineFault>,
    /// Why it was not read to its end.
    pub unread: Option<String>,
}

/// What became of one transcript.
#[derive(Clone, Debug)]
pub(super) struct FileReport {
    /// The file.
    pub file: String,
    /// Its session.
    pub key: String,
    /// Its generation.
    pub session_id: String,
    /// Its size, in bytes.
    pub bytes: u64,
    /// What became of it.
    pub state: FileState,
    /// What was in it.
    pub counts: Counts,
    /// Why the service refused it.
    pub error: Option<String>,
}

impl FileReport {
    /// A transcript that nothing was done with yet.
    pub(super) fn of(source: &Source, key: &str) -> Self {
        Self {
            file: source.name.clone(),
            key: key.to_owned(),
            session_id: source.session_id.clone(),
            bytes: source.bytes,
            state: FileState::LeftAlone,
            counts: Counts::default(),
            error: None,
        }
    }

    /// Whether something of it should have gone in and did not.
    fn is_incomplete(&self) -> bool {
        self.state == FileState::Failed || self.counts.unread.is_some()
    }
}

impl Report {
    /// Remembers whether a service broke.
    pub(super) fn note(&mut self, failure: &Failure) {
        self.broken |= failure.exit == Exit::Failed;
    }

    /// How many sessions ended so.
    pub(super) fn sessions_that_are(&self, outcome: Outcome) -> usize {
        self.sessions
            .iter()
            .filter(|one| one.outcome == outcome)
            .count()
    }

    /// The counts of all transcripts.
    pub(super) fn totals(&self) -> Counts {
        let mut totals = Counts::default();
        for file in &self.files {
            totals.lines += file.counts.lines;
            totals.imported += file.counts.imported;
            totals.repeated += file.counts.repeated;
            totals.skipped += file.counts.skipped;
            totals.kept_aside += file.counts.kept_aside;
        }
        totals
    }

    /// Lines that cannot be read are lost in the directory already; all else has to be in. What broke
    /// outweighs what was refused: it may go in at the next try.
    ///
    /// Source: contract (Command line, exit status).
    pub(super) fn exit(&self) -> Exit {
        if self.broken {
            return Exit::Failed;
        }
        let stayed_out = [Outcome::LeftAlone, Outcome::Refused]
            .into_iter()
            .any(|outcome| self.sessions_that_are(outcome) > 0);
        let is_incomplete = self.files.iter().any(FileReport::is_incomplete);
        if stayed_out || is_incomplete || !self.faults.is_empty() {
            Exit::Refused
        } else {
            Exit::Done
        }
    }

    /// For programs.
    pub(super) fn record(&self) -> Value {
        let agents = self.agents.iter().map(|agent| {
            json!({
                "agentId": agent.id.as_str(),
                "sessions": agent.rows,
                "transcripts": agent.transcripts,
            })
        });
        let passed_over = self.passed_over.iter();
        let passed_over = passed_over.map(|one| json!({ "file": one.file, "reason": one.reason }));
        Fields::new()
            .put("dryRun", self.dry_run)
            .put("complete", self.complete)
            .put("agents", agents.collect::<Vec<_>>())
            .put(
                "sessions",
                self.sessions.iter().map(session).collect::<Vec<_>>(),
            )
            .put("files", self.files.iter().map(file).collect::<Vec<_>>())
            .put("faults", self.faults.iter().map(fault).collect::<Vec<_>>())
            .put("passedOver", passed_over.collect::<Vec<_>>())
            .put("fieldsPassedOver", json!(self.fields))
            .put("totals", self.totals_record())
            .into()
    }

    fn totals_record(&self) -> Value {
        let totals = self.totals();
        let mut sessions = Fields::new();
        for outcome in Outcome::ALL {
            sessions = sessions.put(outcome.as_str(), self.sessions_that_are(outcome));
        }
        let failed = self.files.iter().filter(|file| file.is_incomplete());
        Fields::new()
            .put("sessions", Value::from(sessions))
            .put("files", self.files.len())
            .put("filesFailed", failed.count())
            .put(
                "bytes",
                self.files.iter().map(|file| file.bytes).sum::<u64>(),
            )
            .put("lines", totals.lines)
            .put("imported", totals.imported)
            .put("repeated", totals.repeated)
            .put("skipped", totals.skipped)
            .put("keptAside", totals.kept_aside)
            .into()
    }
}

fn session(one: &SessionReport) -> Value {
    let some = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
    Fields::new()
        .put("key", one.key.as_str())
        .put("sessionId", one.session_id.as_str())
        .put("file", one.file.as_str())
        .put("outcome", one.outcome.as_str())
        .put("unclaimed", one.unclaimed)
        .put("transcripts", one.transcripts)
        .put_some("differences", some(&one.differences))
        .put_some("leftOut", some(&one.left_out))
        .into()
}

fn file(one: &FileReport) -> Value {
    let counts = &one.counts;
    let faults = counts.faults.iter();
    let faults = faults.map(|fault| json!({ "line": fault.line, "reason": fault.reason }));
    Fields::new()
        .put("file", one.file.as_str())
        .put("key", one.key.as_str())
        .put("sessionId", one.session_id.as_str())
        .put("state", one.state.as_str())
        .put("bytes", one.bytes)
        .put("lines", counts.lines)
        .put("imported", counts.imported)
        .put("repeated", counts.repeated)
        .put("skipped", counts.skipped)
        .put("keptAside", counts.kept_aside)
        .put("faults", faults.collect::<Vec<_>>())
        .put_some("error", one.error.as_deref().or(counts.unread.as_deref()))
        .into()
}

fn fault(one: &Fault) -> Value {
    Fields::new()
        .put("file", one.file.as_str())
        .put_some("line", one.line)
        .put("reason", one.reason.as_str())
        .into()
}
