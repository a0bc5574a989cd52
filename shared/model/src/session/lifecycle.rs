//! What a row alone tells of a session's life, and how its lifecycle changes it.

use super::{LastRun, Origin, Session, Spawn, Tuning};
use crate::clock::Timestamp;
use crate::id::SessionId;
use crate::key::SessionKey;

impl Session {
    /// A row as it is when its session is made: version 1, epoch 0, nothing told beyond the key.
    pub fn fresh(key: SessionKey, session_id: SessionId, now: Timestamp) -> Self {
        Self {
            key,
            session_id,
            row_version: 1,
            work_epoch: 0,
            label: None,
            spawned_by: None,
            sandboxed: false,
            chat_type: None,
            origin: Origin::default(),
            delivery_context: None,
            archived_at: None,
            pinned_at: None,
            created_at: now,
            updated_at: now,
            last_run: None,
            tuning: Tuning::default(),
            spawn: Spawn::default(),
            category: None,
            marked_unread_at: None,
            last_read_at: None,
            session_started_at: now,
            last_interaction_at: None,
            state_version: 0,
        }
    }

    /// Whether somebody marked it so, or something moved it after it was last read.
    ///
    /// A session that nobody ever read is not unread.
    ///
    /// Source: reg:M17.
    pub fn is_unread(&self) -> bool {
        let moved_since = |read| self.moved_at() > read;
        self.marked_unread_at.is_some() || self.last_read_at.is_some_and(moved_since)
    }

    /// When a message, a run or a person last moved it.
    pub(super) fn moved_at(&self) -> Timestamp {
        self.last_interaction_at
            .map_or(self.updated_at, |at| at.max(self.updated_at))
    }

    /// How many spawns deep it is, for the tool policy: 0 for all but subagent and acp sessions.
    ///
    /// The stored depth counts; without one the key does, and then a spawned session is at least
    /// 1 deep. Following the sessions above it needs more than a row.
    ///
    /// Source: reg:V20.
    pub fn subagent_depth(&self) -> u32 {
        if self.key.bears_lineage() {
            self.spawn.depth.unwrap_or_else(|| self.key.depth().max(1))
        } else {
            0
        }
    }

    /// Whether a run of it has not ended.
    pub(super) fn is_busy(&self) -> bool {
        let running = |run: &LastRun| !run.state.is_ended();
        self.last_run.as_ref().is_some_and(running)
    }

    /// The row of the next generation under the same key, as a reset leaves it.
    ///
    /// Kept are names, lineage, origin, route, pin and all that people set, their model included:
    /// only a `model` that is set to null, or to the configured default, leaves no override. Kept are
    /// the inherited lists of tools too, because a reset must not give a child more than it had. Not
    /// kept are the last run, the category and the marks of reading. A reset is neither a message nor
    /// a run, so it does not move the row in a list. The epoch moves on, so that work for the old
    /// generation is refused.
    ///
    /// Source: D54, D58, reg:C5, reg:C6.
    #[must_use]
    pub fn next_generation(self, session_id: SessionId, now: Timestamp) -> Self {
        Self {
            session_id,
            work_epoch: self.work_epoch.saturating_add(1),
            session_started_at: now,
            archived_at: None,
            last_run: None,
            category: None,
            marked_unread_at: None,
            last_read_at: None,
            last_interaction_at: None,
            ..self
        }
    }

    /// The row once archived: without its pin, and with the epoch moved on.
    ///
    /// A row that is archived stays as it is, first moment and epoch included.
    ///
    /// Source: reg:M13.
    #[must_use]
    pub fn archive(self, now: Timestamp) -> Self {
        if self.archived_at.is_some() {
            return self;
        }
        Self {
            archived_at: Some(now),
            pinned_at: None,
            work_epoch: self.work_epoch.saturating_add(1),
            ..self
        }
    }

    /// The row once restored, with the epoch moved on; one that is open stays as it is.
    ///
    /// Source: reg:M13.
    #[must_use]
    pub fn restore(self) -> Self {
        if self.archived_at.is_none() {
            return self;
        }
        Self {
            archived_at: None,
            work_epoch: self.work_epoch.saturating_add(1),
            ..self
        }
    }
}

#[cfg(test)]
mod tests;
