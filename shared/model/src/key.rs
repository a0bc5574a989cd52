//! Session keys: one parser, one canonical form, and everything a key says about its session.
//!
//! A key reads `agent:<agentId>:<rest>`. Only [`SessionKey::parse`] and [`KeyRules`] make one, so
//! whoever holds a [`SessionKey`] holds a well-formed, folded key and never checks it again.

mod reference;
mod shape;
#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::AgentId;
use crate::limits::{AGENT_ID_CHARS_MAX, KEY_BYTES_MAX};

pub use reference::{KeyRules, Reference};
pub use shape::Shape;

/// The key of the one session that serves all under [`Scope::Global`].
const GLOBAL: &str = "global";
/// Reserved with [`GLOBAL`] for rows about which nothing is known.
const UNKNOWN: &str = "unknown";
/// The rest of an agent's main session, and its alias.
const MAIN: &str = "main";
/// What every key but [`GLOBAL`] begins with.
const AGENT_PREFIX: &str = "agent:";
/// What separates a thread from the session it branches off.
const THREAD_MARKER: &str = ":thread:";
/// Channel and kind whose peer id, one part, keeps its case (reg:K2).
const OPAQUE_PART: &str = "signal:group:";
/// Channels and kinds whose peer id, everything to the end, keeps its case (reg:K2).
const OPAQUE_TO_THE_END: [&str; 2] = ["matrix:channel:", "matrix:group:"];

/// The six kinds a listing knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionKind {
    /// An agent's main session.
    Main,
    /// A group or a room.
    Group,
    /// A scheduled job.
    Cron,
    /// A web hook.
    Hook,
    /// A device.
    Node,
    /// Everything else: direct chats, children, dashboards.
    Other,
}

impl SessionKind {
    /// Every kind, in the order in which they are named to people.
    pub const ALL: [Self; 6] = [
        Self::Main,
        Self::Group,
        Self::Cron,
        Self::Hook,
        Self::Node,
        Self::Other,
    ];

    /// The lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Group => "group",
            Self::Cron => "cron",
            Self::Hook => "hook",
            Self::Node => "node",
            Self::Other => "other",
        }
    }

    /// Reads the word; blanks around it and case do not matter.
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.trim();
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str().eq_ignore_ascii_case(word))
    }
}

/// Whether every sender has sessions of their own, or one session serves all (reg:K10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// A session for each sender.
    #[default]
    PerSender,
    /// One session, stored as `global` and shown as `main`.
    Global,
}

/// A canonical session key: `agent:<agentId>:<rest>`, or `global`.
///
/// At most [`KEY_BYTES_MAX`] bytes, no empty parts, no control characters, folded to lower case
/// except for the opaque peer ids of Signal groups and Matrix rooms.
///
/// Source: D3, D4, reg:K1, reg:K2, reg:K3.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionKey(String);

/// A session that branches off another one.
///
/// Source: reg:K21.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The session it branches off.
    pub parent: SessionKey,
    /// Which thread of it; never empty.
    pub thread_id: String,
}

/// Why a text is no session key, or not one that may be used here (D3).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Nothing but blanks.
    #[error("session key is empty: write agent:<agentId>:<rest>, for example agent:main:main")]
    Empty,
    /// Over the limit.
    #[error("session key has {bytes} bytes: at most {KEY_BYTES_MAX} are allowed")]
    TooLong {
        /// How many it has.
        bytes: usize,
    },
    /// A line feed, a tab, an escape or the like.
    #[error("session key holds the control character {character:?}: remove it")]
    ControlCharacter {
        /// The first of them.
        character: char,
    },
    /// Two colons in a row, or a colon at an end.
    #[error("session key `{given}` has an empty part: every part between colons must hold text")]
    EmptyPart {
        /// The key as given.
        given: String,
    },
    /// An agent and nothing behind it.
    #[error(
        "session key `{given}` is incomplete: write agent:<agentId>:<rest>, \
         for example agent:main:main"
    )]
    Incomplete {
        /// The key as given.
        given: String,
    },
    /// The second part can be no agent id.
    #[error(
        "session key `{given}` has the agent id `{agent}`: an agent id is a letter or a digit and \
         then letters, digits, _ or -, at most {AGENT_ID_CHARS_MAX} characters of ASCII"
    )]
    Agent {
        /// The key as given.
        given: String,
        /// Its second part.
        agent: String,
    },
    /// A short form where only a full key will do.
    #[error("session key `{given}` is not a full one: write agent:<agentId>:<rest>")]
    NotFull {
        /// The key as given.
        given: String,
    },
    /// A word that names no session of anybody.
    #[error(
        "session key `{word}` is reserved: name a session as agent:<agentId>:<rest>, or as main \
         (`global` names a session only where session.scope is global)"
    )]
    Reserved {
        /// `global` or `unknown`.
        word: &'static str,
    },
    /// The key and the agent given beside it disagree (D52).
    #[error(
        "sessionKey `{key}` is not a session of agentId `{agent_id}`: leave agentId out, or give \
         the agent of the key"
    )]
    OtherAgent {
        /// The key, canonical.
        key: String,
        /// The agent given beside it.
        agent_id: AgentId,
    },
}

impl SessionKey {
    /// Folds and checks a full key, or `global`; knows no aliases and no short forms.
    ///
    /// # Errors
    /// When `raw` is malformed, reserved or not a full key.
    ///
    /// Source: D3, D4.
    pub fn parse(raw: &str) -> Result<Self, KeyError> {
        let trimmed = checked(raw)?;
        match reserved(trimmed) {
            Some(GLOBAL) => return Ok(Self::global()),
            Some(word) => return Err(KeyError::Reserved { word }),
            None => {},
        }
        let Some(scoped) = strip_agent_prefix(trimmed) else {
            return Err(KeyError::NotFull {
                given: trimmed.to_owned(),
            });
        };
        let Some((agent, rest)) = scoped.split_once(':') else {
            return Err(KeyError::Incomplete {
                given: trimmed.to_owned(),
            });
        };
        let agent_id = AgentId::normalise(agent);
        // An id that normalising repairs would silently become another agent's (D3).
        if agent_id.as_str() != fold(agent) {
            return Err(KeyError::Agent {
                given: trimmed.to_owned(),
                agent: agent.to_owned(),
            });
        }
        Self::scoped(&agent_id, rest)
    }

    /// The key of `rest`, already checked, under `agent`.
    fn scoped(agent: &AgentId, rest: &str) -> Result<Self, KeyError> {
        let key = format!("{AGENT_PREFIX}{agent}:{}", fold_rest(rest));
        // The prefix and the folding can lengthen a text.
        check_length(&key)?;
        Ok(Self(key))
    }

    /// The main session of `agent`.
    ///
    /// Source: reg:K17.
    pub fn main_of(agent: &AgentId) -> Self {
        Self(format!("{AGENT_PREFIX}{agent}:{MAIN}"))
    }

    /// The one session under [`Scope::Global`].
    pub fn global() -> Self {
        Self(GLOBAL.to_owned())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What follows `agent:<agentId>:`; the whole key for `global`.
    pub fn rest(&self) -> &str {
        self.split().map_or(self.as_str(), |(_, rest)| rest)
    }

    /// Whose session it is; nobody's for `global`.
    pub fn agent_id(&self) -> Option<AgentId> {
        self.split().map(|(agent, _)| AgentId(agent.to_owned()))
    }

    fn split(&self) -> Option<(&str, &str)> {
        self.0.strip_prefix(AGENT_PREFIX)?.split_once(':')
    }

    /// Whether it is an agent's main session, or the one that serves all.
    pub fn is_main(&self) -> bool {
        self.split()
            .map_or(self.0 == GLOBAL, |(_, rest)| rest == MAIN)
    }

    /// The kind a listing shows.
    ///
    /// Source: D2, reg:K31.
    pub fn kind(&self) -> SessionKind {
        if self.is_main() {
            SessionKind::Main
        } else {
            shape::kind(self.rest())
        }
    }

    /// The session it branches off and its own thread id; the last marker counts.
    ///
    /// Source: reg:K21.
    pub fn thread(&self) -> Option<Thread> {
        let (agent, rest) = self.split()?;
        let (base, thread_id) = rest.rsplit_once(THREAD_MARKER)?;
        // What precedes the last marker may hold one that was not the last, and thus not folded.
        let parent = Self(format!("{AGENT_PREFIX}{agent}:{}", fold_rest(base)));
        Some(Thread {
            parent,
            thread_id: thread_id.to_owned(),
        })
    }

    /// How many spawns deep the key says it is; 0 for a session nobody spawned.
    ///
    /// Source: reg:K26.
    pub fn depth(&self) -> u32 {
        let markers = self
            .rest()
            .split(':')
            .rev()
            .skip(1)
            .filter(|part| *part == shape::SUBAGENT);
        u32::try_from(markers.count()).unwrap_or(u32::MAX)
    }

    /// Whether it is the session of a spawned child.
    ///
    /// Source: reg:K26.
    pub fn is_subagent(&self) -> bool {
        self.rest()
            .split_once(':')
            .is_some_and(|(family, _)| family == shape::SUBAGENT)
    }

    /// Whether sessions under such a key can have been spawned: those of subagents and of external
    /// agent protocols.
    ///
    /// Source: reg:M5.
    pub fn bears_lineage(&self) -> bool {
        self.rest()
            .split_once(':')
            .is_some_and(|(family, _)| matches!(family, shape::SUBAGENT | shape::ACP))
    }

    /// Whether a part of the system made it for itself: `internal-session-effects:…`, which no list
    /// shows.
    ///
    /// Source: reg:K27.
    pub fn is_internal(&self) -> bool {
        self.rest().starts_with("internal-session-effects:")
    }

    /// Whether it is the session of one single run of a scheduled job: `cron:<job>:run:<runId>`.
    ///
    /// Source: reg:K24.
    pub fn is_cron_run(&self) -> bool {
        let mut parts = self.rest().split(':');
        parts.next() == Some(shape::CRON) && parts.nth(1) == Some("run") && parts.next().is_some()
    }

    /// The channel named by the key of a group or a room.
    ///
    /// Source: reg:K34, reg:K35.
    pub fn group_channel(&self) -> Option<&str> {
        shape::group_channel(self.rest())
    }

    /// What the send policy can tell from the key alone.
    ///
    /// Source: reg:P7, reg:P8, reg:P9.
    pub fn shape(&self) -> Shape {
        shape::of(self.rest())
    }

    /// What `requester` is shown: `main` for its own agent's main session, otherwise the full key.
    ///
    /// An operator has no requester and sees full keys. The one session that serves all is `main`
    /// to everybody.
    ///
    /// Source: D1, D51.
    pub fn display_for(&self, requester: Option<&Self>) -> &str {
        let own = || requester.is_some_and(|asking| asking.agent_id() == self.agent_id());
        if self.0 == GLOBAL || (self.is_main() && own()) {
            MAIN
        } else {
            self.as_str()
        }
    }
}

/// Trims `raw` and checks everything that holds for full keys and short forms alike.
fn checked(raw: &str) -> Result<&str, KeyError> {
    let trimmed = raw.trim();
    if trimmed.is_empty() {
        return Err(KeyError::Empty);
    }
    check_length(trimmed)?;
    if let Some(character) = trimmed.chars().find(|character| character.is_control()) {
        return Err(KeyError::ControlCharacter { character });
    }
    if trimmed.split(':').any(|part| part.trim().is_empty()) {
        return Err(KeyError::EmptyPart {
            given: trimmed.to_owned(),
        });
    }
    Ok(trimmed)
}

fn check_length(key: &str) -> Result<(), KeyError> {
    if key.len() > KEY_BYTES_MAX {
        Err(KeyError::TooLong { bytes: key.len() })
    } else {
        Ok(())
    }
}

/// The reserved word that `trimmed` is, if it is one.
fn reserved(trimmed: &str) -> Option<&'static str> {
    [GLOBAL, UNKNOWN]
        .into_iter()
        .find(|word| word.eq_ignore_ascii_case(trimmed))
}

fn strip_agent_prefix(trimmed: &str) -> Option<&str> {
    strip_prefix_folded(trimmed, AGENT_PREFIX)
}

/// Strips an ASCII `prefix`, whatever its case in `text`.
fn strip_prefix_folded<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// Folds character by character, so that the fold of a part never depends on its neighbours.
fn fold(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// Folds a rest, but for the opaque peer ids that differ by case alone (reg:K2).
fn fold_rest(rest: &str) -> String {
    if let Some(tail) = strip_prefix_folded(rest, OPAQUE_PART) {
        let (peer, after) = tail.split_at(tail.find(':').unwrap_or(tail.len()));
        return format!("{OPAQUE_PART}{peer}{}", fold(after));
    }
    for opaque in OPAQUE_TO_THE_END {
        if let Some(tail) = strip_prefix_folded(rest, opaque) {
            return format!("{opaque}{}", fold_last_marker(tail));
        }
    }
    fold(rest)
}

/// Folds the last thread marker and nothing else.
fn fold_last_marker(tail: &str) -> String {
    // Lowering ASCII alone moves no byte, so a place found in the copy is a place in the original.
    let at = tail.to_ascii_lowercase().rfind(THREAD_MARKER);
    let split = at.and_then(|at| {
        let (peer, marked) = tail.split_at_checked(at)?;
        Some((peer, strip_prefix_folded(marked, THREAD_MARKER)?))
    });
    match split {
        Some((peer, thread)) => format!("{peer}{THREAD_MARKER}{thread}"),
        None => tail.to_owned(),
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for SessionKey {
    type Err = KeyError;

    fn from_str(raw: &str) -> Result<Self, KeyError> {
        Self::parse(raw)
    }
}

impl TryFrom<String> for SessionKey {
    type Error = KeyError;

    fn try_from(raw: String) -> Result<Self, KeyError> {
        Self::parse(&raw)
    }
}

impl From<SessionKey> for String {
    fn from(key: SessionKey) -> Self {
        key.0
    }
}
