//! Whether a session may be reset, archived, restored or deleted.
//!
//! Work that is under way is not judged here: the queue of runs knows of it.

#[cfg(test)]
mod tests;

use std::fmt;

use confab_model::id::SessionId;
use confab_model::key::SessionKey;
use confab_model::session::Session;

/// A change of a session's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// A new generation under the same key.
    Reset,
    /// Put away: readable, and closed to new work.
    Archive,
    /// Taken back out.
    Restore,
    /// The row is removed.
    Delete,
}

impl Change {
    /// Every change.
    pub const ALL: [Self; 4] = [Self::Reset, Self::Archive, Self::Restore, Self::Delete];

    /// The lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::Archive => "archive",
            Self::Restore => "restore",
            Self::Delete => "delete",
        }
    }

    /// Reads the word; blanks around it and case do not matter.
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.trim();
        Self::ALL
            .into_iter()
            .find(|change| change.as_str().eq_ignore_ascii_case(word))
    }

    /// The change as the well-known sentences name it.
    ///
    /// Source: reg:C10.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Reset | Self::Archive | Self::Restore => self.as_str(),
            Self::Delete => "deletion",
        }
    }
}

/// Why a change is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// It is a main session, which can be neither archived nor deleted.
    Protected,
    /// It is archived, and would have to be restored first.
    Archived,
    /// It is not the generation that the caller means any more.
    Stale,
}

/// A refusal with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason.
    pub kind: RefusalKind,
    /// The text for the caller.
    pub message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

/// Judges `change` of `session`, of which the caller means the generation `expected_session_id`
/// where it names one.
///
/// A change that is done already is no fault: archiving an archived session and restoring an open
/// one pass, so that a repeated call meets the same answer. What trying again cannot mend is named
/// first.
///
/// # Errors
/// When the session is protected, archived or not the one that the caller means.
///
/// Source: reg:M15, reg:M16, reg:C7, reg:C9, reg:C10.
pub fn check(
    session: &Session,
    change: Change,
    expected_session_id: Option<&SessionId>,
) -> Result<(), Refusal> {
    check_protected(&session.key, change)?;
    check_archived(session, change)?;
    check_expected(session, change, expected_session_id)
}

/// Main sessions stay: every agent's, and the one that serves all.
fn check_protected(key: &SessionKey, change: Change) -> Result<(), Refusal> {
    let message = match change {
        Change::Reset | Change::Restore => return Ok(()),
        Change::Archive => "Cannot archive an agent's main session.".to_owned(),
        Change::Delete => format!("Cannot delete the main session ({key})."),
    };
    refuse_if(key.is_main(), RefusalKind::Protected, message)
}

/// A reset begins new work, to which an archived session is closed.
fn check_archived(session: &Session, change: Change) -> Result<(), Refusal> {
    let closed = match change {
        Change::Reset => session.archived_at.is_some(),
        Change::Archive | Change::Restore | Change::Delete => false,
    };
    let key = &session.key;
    let message = format!("Session \"{key}\" is archived. Restore it before starting new work.");
    refuse_if(closed, RefusalKind::Archived, message)
}

fn check_expected(
    session: &Session,
    change: Change,
    expected: Option<&SessionId>,
) -> Result<(), Refusal> {
    let stale = expected.is_some_and(|expected| *expected != session.session_id);
    let message = format!(
        "Session {} changed before {}. Retry.",
        session.key,
        change.noun()
    );
    refuse_if(stale, RefusalKind::Stale, message)
}

fn refuse_if(refused: bool, kind: RefusalKind, message: String) -> Result<(), Refusal> {
    if refused {
        Err(Refusal { kind, message })
    } else {
        Ok(())
    }
}
