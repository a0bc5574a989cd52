//! Everything that the places hold: rows, transcripts, generations, and what is wrong with them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use confab_model::id::AgentId;
use confab_model::key::SessionKey;

use super::database::{Contents, Database};
use super::entry::{self, Mapped};
use super::index::{self, INDEX};
use super::layout::{self, Layout};
use super::name::{self, Meaning, Name, Stage};
use super::source::{self, Source};
use super::{Fault, PassedOver, confine, shown};

/// A session that an index has.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Whose index it is; the key may be another agent's.
    pub agent: AgentId,
    /// The directory of its transcripts; absent for a row of a database.
    pub sessions: Option<PathBuf>,
    /// Where it was found.
    pub file: String,
    /// What it says.
    pub mapped: Mapped,
}

/// A transcript, before anybody knows whose it is.
#[derive(Clone, Debug)]
pub(super) struct Transcript {
    /// Whose directory or database it lies in.
    pub agent: AgentId,
    /// A sessionId, or one with a thread.
    pub stem: String,
    /// Where it is in its life.
    pub stage: Stage,
    /// When it was put aside, where its name says so.
    pub put_aside: Option<prost_types::Timestamp>,
    /// When its file was last written, or its generation.
    pub written: Option<prost_types::Timestamp>,
    /// When its generation began, where a database says so.
    pub began: Option<prost_types::Timestamp>,
    /// The file itself.
    pub path: Option<PathBuf>,
    /// What was said.
    pub source: Source,
}

/// A generation that a database names.
#[derive(Clone, Debug)]
pub(super) struct Generation {
    /// Its sessionId.
    pub session_id: String,
    /// Its session.
    pub key: SessionKey,
}

/// Everything that was found.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// Sessions, those of databases first.
    pub rows: Vec<Row>,
    /// Transcripts, by place and name.
    pub transcripts: Vec<Transcript>,
    /// Generations, by place, oldest first.
    pub generations: Vec<Generation>,
    /// What could not be read.
    pub faults: Vec<Fault>,
    /// Files that are no transcripts.
    pub passed_over: Vec<PassedOver>,
    /// How often each field was met that is not understood.
    pub fields: BTreeMap<String, u64>,
}

/// Reads every place.
pub(super) async fn all(layout: &Layout) -> Gathered {
    let mut gathered = Gathered {
        faults: layout.faults.clone(),
        ..Gathered::default()
    };
    for place in &layout.places {
        if let Some(path) = &place.database {
            gathered.database(&layout.root, &place.agent, path).await;
        }
        if let Some(path) = &place.sessions {
            gathered.directory(&layout.root, &place.agent, path);
        }
    }
    gathered
}

impl Gathered {
    async fn database(&mut self, root: &Path, agent: &AgentId, path: &Path) {
        let file = shown(root, path);
        let opened = match Database::open(path, &file).await {
            Ok(database) => database.contents(&file).await.map(|held| (database, held)),
            Err(fault) => Err(fault),
        };
        match opened {
            Ok((database, contents)) => self.take(agent, &file, &Arc::new(database), contents),
            Err(fault) => self.faults.push(fault),
        }
    }

    fn take(&mut self, agent: &AgentId, file: &str, database: &Arc<Database>, held: Contents) {
        self.faults.extend(held.faults);
        for row in held.rows {
            self.row(agent, None, file, &row);
        }
        let times: BTreeMap<_, _> = held
            .windows
            .iter()
            .map(|window| {
                (
                    window.session_id.clone(),
                    (window.created_at, window.updated_at),
                )
            })
            .collect();
        for window in held.windows {
            match entry::full_key(agent, &window.key) {
                Ok(key) => self.generations.push(Generation {
                    session_id: window.session_id,
                    key,
                }),
                Err(error) => {
                    let reason = format!("the key of {}: {error}", window.session_id);
                    self.faults.push(Fault::of(file, reason));
                },
            }
        }
        for (session_id, bytes) in held.transcripts {
            let times = times.get(&session_id).copied();
            self.transcripts.push(Transcript {
                agent: agent.clone(),
                stem: session_id.clone(),
                stage: Stage::Live,
                put_aside: None,
                began: times.and_then(|(began, _)| moment(began)),
                written: times.and_then(|(_, written)| moment(written)),
                path: None,
                source: Source {
                    name: format!("{file}#{session_id}"),
                    session_id,
                    bytes,
                    place: source::Place::Database(Arc::clone(database)),
                },
            });
        }
    }

    fn directory(&mut self, root: &Path, agent: &AgentId, sessions: &Path) {
        let (names, faults) = layout::names(root, sessions);
        self.faults.extend(faults);
        for name in names {
            let path = sessions.join(&name);
            if name == INDEX {
                self.index(root, agent, sessions, &path);
                continue;
            }
            match name::read(&name) {
                Meaning::Transcript(name, put_aside) => {
                    self.file(root, agent, name, put_aside, &path);
                },
                Meaning::PassedOver(reason) => self.passed_over.push(PassedOver {
                    file: shown(root, &path),
                    reason,
                }),
                Meaning::Other => {},
            }
        }
    }

    fn index(&mut self, root: &Path, agent: &AgentId, sessions: &Path, path: &Path) {
        let file = shown(root, path);
        let found = confine::file_within(root, path).map_err(|reason| Fault::of(&file, reason));
        let read = found.map(|found| found.map(|path| index::read(&path, &file)));
        match read {
            Ok(Some(Ok((rows, faults)))) => {
                self.faults.extend(faults);
                for row in rows {
                    self.row(agent, Some(sessions), &file, &row);
                }
            },
            Ok(Some(Err(fault))) | Err(fault) => self.faults.push(fault),
            Ok(None) => {},
        }
    }

    fn row(&mut self, agent: &AgentId, sessions: Option<&Path>, file: &str, row: &index::Row) {
        match entry::read(agent, &row.key, &row.fields) {
            Ok(mapped) => {
                for name in &mapped.passed_over {
                    *self.fields.entry(name.clone()).or_default() += 1;
                }
                self.rows.push(Row {
                    agent: agent.clone(),
                    sessions: sessions.map(Path::to_owned),
                    file: file.to_owned(),
                    mapped,
                });
            },
            Err(reason) => {
                let reason = format!("the entry of {}: {reason}", row.key);
                self.faults.push(Fault::of(file, reason));
            },
        }
    }

    fn file(
        &mut self,
        root: &Path,
        agent: &AgentId,
        name: Name,
        put_aside: Option<prost_types::Timestamp>,
        path: &Path,
    ) {
        match confine::file_within(root, path) {
            Ok(Some(real)) => {
                let found = transcript(root, agent, name, path, real);
                self.transcripts.push(Transcript { put_aside, ..found });
            },
            Ok(None) => {},
            Err(reason) => self.faults.push(Fault::of(shown(root, path), reason)),
        }
    }
}

/// A transcript in a file, which is shown as `path` and lies at `real`.
pub(super) fn transcript(
    root: &Path,
    agent: &AgentId,
    name: Name,
    path: &Path,
    real: PathBuf,
) -> Transcript {
    let metadata = fs::metadata(&real).ok();
    let written = metadata.as_ref().and_then(|found| found.modified().ok());
    let place = if name.compressed {
        source::Place::Compressed(real.clone())
    } else {
        source::Place::Plain(real.clone())
    };
    Transcript {
        agent: agent.clone(),
        stage: name.stage,
        put_aside: None,
        began: None,
        written: written.map(prost_types::Timestamp::from),
        path: Some(real),
        source: Source {
            session_id: name.stem.clone(),
            name: shown(root, path),
            bytes: metadata.map(|found| found.len()).unwrap_or_default(),
            place,
        },
        stem: name.stem,
    }
}

fn moment(millis: i64) -> Option<prost_types::Timestamp> {
    let moment = confab_model::clock::Timestamp::from_millis(millis);
    (millis > 0).then(|| confab_rpc::wire::time::to_proto(moment))
}
