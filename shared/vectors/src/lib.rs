//! The test vectors of confab and their reader: given this input, exactly that result.
//!
//! Each file of vectors is a constant, such as [`KEYS`]; [`Vectors::cases`] reads it. A file is an
//! array of cases with an `id`, a `why`, the `facts` it pins, an `in` and an `out`. Two rules hold
//! in all of them:
//!
//! - In a string of `in` or `out`, the mark `{{NxC}}` stands for N times the character C.
//! - A field that is absent from `out` is not pinned; a `null` there says that there is no value.
//!
//! What `in` and `out` mean is known to the tests that read them, not here.
//!
//! Beside them, [`hostile`] makes texts as long as one likes that are hard to clean.
//!
//! This crate must never be used outside tests, nor use another crate of confab: the crates that
//! are tested take it as a dev-dependency.

mod case;
pub mod hostile;
mod mark;
#[cfg(test)]
mod tests;
mod unreadable;

use serde::de::DeserializeOwned;
use serde_json::Value;

pub use case::Case;
pub use unreadable::Unreadable;

/// A send with its reply loop and announce step.
pub const A2A_FLOW: Vectors = Vectors {
    name: "a2a_flow.json",
    count: 34,
    text: include_str!("../cases/a2a_flow.json"),
};

/// Ids of agents and accounts, made canonical or refused.
pub const AGENT_IDS: Vectors = Vectors {
    name: "agent_ids.json",
    count: 27,
    text: include_str!("../cases/agent_ids.json"),
};

/// Of which agents a session may spawn children.
pub const AGENTS_LIST: Vectors = Vectors {
    name: "agents_list.json",
    count: 12,
    text: include_str!("../cases/agents_list.json"),
};

/// Faults of a configuration file, and the path each is found at.
pub const CONFIG_ERRORS: Vectors = Vectors {
    name: "config_errors.json",
    count: 30,
    text: include_str!("../cases/config_errors.json"),
};

/// Titles of sessions, derived from what is known of them.
pub const DERIVED_TITLES: Vectors = Vectors {
    name: "derived_titles.json",
    count: 12,
    text: include_str!("../cases/derived_titles.json"),
};

/// Pages of a history: which messages are chosen, and the bound on their bytes.
pub const HISTORY_PAGE: Vectors = Vectors {
    name: "history_page.json",
    count: 43,
    text: include_str!("../cases/history_page.json"),
};

/// Session keys: parsed, made canonical, classified.
pub const KEYS: Vectors = Vectors {
    name: "keys.json",
    count: 76,
    text: include_str!("../cases/keys.json"),
};

/// Texts with credentials in them, and without.
pub const REDACT: Vectors = Vectors {
    name: "redact.json",
    count: 168,
    text: include_str!("../cases/redact.json"),
};

/// The assistant's texts, rid of reasoning, scaffolding and the text of tool calls.
pub const SANITISE: Vectors = Vectors {
    name: "sanitise.json",
    count: 114,
    text: include_str!("../cases/sanitise.json"),
};

/// Whether a message may be sent, and what decided.
pub const SEND_POLICY: Vectors = Vectors {
    name: "send_policy.json",
    count: 51,
    text: include_str!("../cases/send_policy.json"),
};

/// Labels of sessions: trimmed, bounded, and unique within an agent.
pub const LABELS: Vectors = Vectors {
    name: "labels.json",
    count: 16,
    text: include_str!("../cases/labels.json"),
};

/// One field of a session's patch: its canonical value, or what is wrong with it.
pub const PATCH: Vectors = Vectors {
    name: "patch.json",
    count: 72,
    text: include_str!("../cases/patch.json"),
};

/// Skip words, in a whole reply (`match`) and in a reply that arrives in parts (`stream`).
pub const SKIP_WORDS: Vectors = Vectors {
    name: "skip_words.json",
    count: 37,
    text: include_str!("../cases/skip_words.json"),
};

/// Which session tools a session has.
pub const TOOL_POLICY: Vectors = Vectors {
    name: "tool_policy.json",
    count: 37,
    text: include_str!("../cases/tool_policy.json"),
};

/// Texts that are cut at the bound on their characters.
pub const TRUNCATE: Vectors = Vectors {
    name: "truncate.json",
    count: 18,
    text: include_str!("../cases/truncate.json"),
};

/// Who may see and reach which session, and what is unmet where it is refused.
pub const VISIBILITY: Vectors = Vectors {
    name: "visibility.json",
    count: 74,
    text: include_str!("../cases/visibility.json"),
};

/// What happens to watched sessions, and the notices their watchers get.
pub const WATCH: Vectors = Vectors {
    name: "watch.json",
    count: 20,
    text: include_str!("../cases/watch.json"),
};

/// One file of vectors.
#[derive(Clone, Copy, Debug)]
pub struct Vectors {
    /// Its name below `cases`.
    pub name: &'static str,
    /// How many cases it holds, so that none is lost unseen.
    pub count: usize,
    /// The file as it stands: JSON, marks not expanded.
    pub text: &'static str,
}

impl Vectors {
    /// Reads the cases in the order of the file, with every mark expanded.
    ///
    /// # Errors
    ///
    /// [`Unreadable`] if the file is no JSON array of cases, an `in` or `out` is not what the
    /// caller reads it as, a mark is malformed, or the number of cases is not [`Self::count`].
    pub fn cases<In, Out>(&self) -> Result<Vec<Case<In, Out>>, Unreadable>
    where
        In: DeserializeOwned,
        Out: DeserializeOwned,
    {
        let file = self.name;
        let cases: Vec<Case> =
            serde_json::from_str(self.text).map_err(|source| Unreadable::File { file, source })?;
        if cases.len() != self.count {
            return Err(Unreadable::Count {
                file,
                expected: self.count,
                found: cases.len(),
            });
        }
        cases.into_iter().map(read).collect()
    }
}

fn read<In, Out>(case: Case) -> Result<Case<In, Out>, Unreadable>
where
    In: DeserializeOwned,
    Out: DeserializeOwned,
{
    let given = side(&case.id, "in", case.given)?;
    let out = side(&case.id, "out", case.out)?;
    Ok(Case {
        id: case.id,
        why: case.why,
        facts: case.facts,
        given,
        out,
    })
}

/// One side of a case as the type that its test wants.
fn side<T: DeserializeOwned>(id: &str, field: &'static str, raw: Value) -> Result<T, Unreadable> {
    let expanded = mark::expand_all(raw).map_err(|text| Unreadable::Mark {
        id: id.to_owned(),
        text,
    })?;
    serde_json::from_value(expanded).map_err(|source| Unreadable::Side {
        id: id.to_owned(),
        field,
        source,
    })
}
