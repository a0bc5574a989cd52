//! Where the sessions of which agent lie.
//!
//! Source: run:T1.

use std::fs;
use std::path::{Path, PathBuf};

use confab_model::id::AgentId;
use serde_json::Value;

use super::index::INDEX;
use super::name::{self, Meaning};
use super::{Fault, confine, shown};

/// An agent's directory of sessions.
const SESSIONS: &str = "sessions";
/// The directory of all agents.
const AGENTS: &str = "agents";
/// An agent's database, below its own directory.
const DATABASE: &str = "agent/openclaw-agent.sqlite";
/// The configuration that tells whose the sessions of older releases are.
const CONFIG: &str = "openclaw.json";
/// Largest configuration that is read, in bytes.
const CONFIG_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Whose they are where nothing tells.
const MAIN: &str = "main";

/// Where the sessions of one agent lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The agent.
    pub agent: AgentId,
    /// Its index and its transcripts.
    pub sessions: Option<PathBuf>,
    /// Its database.
    pub database: Option<PathBuf>,
}

/// Everything that was found.
#[derive(Debug)]
pub(super) struct Layout {
    /// The directory's real path.
    pub root: PathBuf,
    /// The places, by agent; those of older releases last.
    pub places: Vec<Place>,
    /// What could not be looked into.
    pub faults: Vec<Fault>,
}

/// Why there is nothing to import.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LayoutError {
    /// It cannot be looked into.
    #[error("{} cannot be read: {source}", dir.display())]
    Unreadable {
        /// The directory.
        dir: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Nothing in it is known.
    #[error(
        "{} holds no sessions; looked for agents/<id>/sessions, agents/<id>/{DATABASE}, sessions, \
         {DATABASE}, {INDEX} and *.jsonl in it",
        dir.display()
    )]
    Nothing {
        /// The directory.
        dir: PathBuf,
    },
}

/// Finds the places in a state directory, an agent's directory or a directory of sessions.
///
/// # Errors
/// When it cannot be read, or holds nothing that is known.
pub(super) fn find(dir: &Path) -> Result<Layout, LayoutError> {
    let unreadable = |source| LayoutError::Unreadable {
        dir: dir.to_owned(),
        source,
    };
    let root = fs::canonicalize(dir).map_err(unreadable)?;
    fs::read_dir(&root).map_err(unreadable)?;
    let mut layout = Layout {
        places: Vec::new(),
        faults: Vec::new(),
        root,
    };
    layout.find_agents();
    layout.find_own();
    if layout.places.is_empty() && layout.faults.is_empty() {
        return Err(LayoutError::Nothing {
            dir: dir.to_owned(),
        });
    }
    Ok(layout)
}

impl Layout {
    /// The directories below `agents`.
    fn find_agents(&mut self) {
        let root = self.root.clone();
        let Some(agents) = self.directory(&root.join(AGENTS)) else {
            return;
        };
        for name in self.names(&agents) {
            let directory = agents.join(&name);
            // What is a plain file here is nobody's sessions.
            if directory.is_file() {
                continue;
            }
            let Some(directory) = self.directory(&directory) else {
                continue;
            };
            match AgentId::parse_strict(&name) {
                Ok(agent) => self.add(agent, &directory.join(SESSIONS), &directory),
                Err(error) => self.fault(&directory, error.to_string()),
            }
        }
    }

    /// What lies in the directory itself: that of an older release, of one agent, or the sessions.
    fn find_own(&mut self) {
        let root = self.root.clone();
        let agent = match self.own_agent() {
            Ok(agent) => agent,
            Err(reason) => {
                if holds_anything(&root) {
                    let fault = Fault::of(root.display().to_string(), reason);
                    self.faults.push(fault);
                }
                return;
            },
        };
        self.add(agent.clone(), &root.join(SESSIONS), &root);
        if self.places.is_empty() && holds_sessions(&root) {
            self.places.push(Place {
                agent,
                sessions: Some(root),
                database: None,
            });
        }
    }

    /// Whose the sessions in the directory itself are: its path tells where it lies below `agents`,
    /// else the configuration beside it. A whole state directory may lie in one called so, and is
    /// nobody's for that.
    ///
    /// # Errors
    /// When the name below `agents` is no agent's.
    fn own_agent(&self) -> Result<AgentId, String> {
        let mut above = self.root.ancestors().take(2);
        let own = above.find(|path| {
            let parent = path.parent().and_then(Path::file_name);
            parent.is_some_and(|name| name == AGENTS)
        });
        let own = own.filter(|own| !is_state(&self.root) && !is_state(own));
        match own.and_then(Path::file_name) {
            Some(name) => {
                AgentId::parse_strict(&name.to_string_lossy()).map_err(|error| error.to_string())
            },
            None => Ok(default_agent(&self.root).unwrap_or_else(|| AgentId::normalise(MAIN))),
        }
    }

    fn add(&mut self, agent: AgentId, sessions: &Path, base: &Path) {
        let sessions = self.directory(sessions).filter(|path| holds_sessions(path));
        let path = base.join(DATABASE);
        let database = match confine::file_within(&self.root, &path) {
            Ok(database) => database,
            Err(reason) => {
                self.fault(&path, reason);
                None
            },
        };
        if sessions.is_some() || database.is_some() {
            self.places.push(Place {
                agent,
                sessions,
                database,
            });
        }
    }

    /// A directory inside; absent where there is none. A link that leads out is told.
    fn directory(&mut self, path: &Path) -> Option<PathBuf> {
        match confine::within(&self.root, path) {
            Ok(found) => found.filter(|path| path.is_dir()),
            Err(reason) => {
                self.fault(path, reason);
                None
            },
        }
    }

    /// The names in a directory, sorted; one that is no text is told.
    fn names(&mut self, directory: &Path) -> Vec<String> {
        let (names, faults) = names(&self.root, directory);
        self.faults.extend(faults);
        names
    }

    fn fault(&mut self, path: &Path, reason: String) {
        let file = shown(&self.root, path);
        self.faults.push(Fault::of(file, reason));
    }
}

/// The names in a directory, sorted; and what could not be read of it.
pub(super) fn names(root: &Path, directory: &Path) -> (Vec<String>, Vec<Fault>) {
    let unreadable = |error| {
        let reason = format!("it cannot be read: {error}");
        Fault::of(shown(root, directory), reason)
    };
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => return (Vec::new(), vec![unreadable(error)]),
    };
    let (mut names, mut faults) = (Vec::new(), Vec::new());
    for entry in entries {
        match entry.map(|entry| entry.file_name().into_string()) {
            Ok(Ok(name)) => names.push(name),
            Ok(Err(name)) => {
                let path = directory.join(&name);
                faults.push(Fault::of(shown(root, &path), "its name is no UTF-8 text"));
            },
            Err(error) => faults.push(unreadable(error)),
        }
    }
    names.sort_unstable();
    (names, faults)
}

/// Whether a directory is a whole state directory.
fn is_state(directory: &Path) -> bool {
    directory.join(AGENTS).is_dir() || directory.join(CONFIG).is_file()
}

/// Whether a directory itself holds sessions, in whichever form.
fn holds_anything(directory: &Path) -> bool {
    holds_sessions(directory)
        || holds_sessions(&directory.join(SESSIONS))
        || directory.join(DATABASE).is_file()
}

/// Whether a directory holds an index or a transcript.
fn holds_sessions(directory: &Path) -> bool {
    let (names, _) = names(directory, directory);
    let mut names = names.iter();
    names.any(|name| name == INDEX || matches!(name::read(name), Meaning::Transcript(..)))
}

/// The agent that the configuration of the directory calls its default.
fn default_agent(root: &Path) -> Option<AgentId> {
    let path = confine::file_within(root, &root.join(CONFIG)).ok()??;
    if fs::metadata(&path).ok()?.len() > CONFIG_BYTES_MAX {
        return None;
    }
    let config: Value = json5::from_str(&fs::read_to_string(path).ok()?).ok()?;
    let agents = config.get("agents")?.get("list")?.as_array()?;
    let is_default = |agent: &&Value| agent.get("default").and_then(Value::as_bool) == Some(true);
    let agent = agents.iter().find(is_default).or_else(|| agents.first())?;
    AgentId::parse_strict(agent.get("id")?.as_str()?).ok()
}
