//! A watcher's cursor: how far it was told of a session, and whether it is owed a notice.

/// Where one watcher stands in the log of one target. What was seen is never above what was
/// notified, and that never above the newest event that matters.
///
/// A watcher owes its view of the session to the answer to the last notice, which begins behind
/// `last_seen`; so `last_seen` moves to what the notice was about and never to the newest event: an
/// event that came after the watcher looked is told by a fresh notice.
///
/// Source: reg:W12, reg:W18, reg:W22, reg:W23.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    last_seen: u64,
    notified: u64,
    material: u64,
}

impl Cursor {
    /// The cursor of somebody who knows everything up to `sequence`.
    pub const fn starting_at(sequence: u64) -> Self {
        Self {
            last_seen: sequence,
            notified: sequence,
            material: sequence,
        }
    }

    /// The cursor that was stored; `None` where the three cannot stand together.
    pub const fn stored(last_seen: u64, notified: u64, material: u64) -> Option<Self> {
        if last_seen <= notified && notified <= material {
            Some(Self {
                last_seen,
                notified,
                material,
            })
        } else {
            None
        }
    }

    /// The sequence up to which the watcher knows the session.
    pub const fn last_seen(self) -> u64 {
        self.last_seen
    }

    /// The sequence up to which a notice is or was owed.
    pub const fn notified(self) -> u64 {
        self.notified
    }

    /// The sequence of the newest event that matters to the watcher.
    pub const fn material(self) -> u64 {
        self.material
    }

    /// Whether the watcher is owed a notice.
    pub const fn is_owed(self) -> bool {
        self.notified > self.last_seen
    }

    /// Whether the notice owed is another than the one owed `before`.
    pub fn owes_anew(self, before: Option<Self>) -> bool {
        self.is_owed()
            && before.is_none_or(|before| !before.is_owed() || before.last_seen != self.last_seen)
    }

    /// Takes note of an event that matters. While a notice is owed, it stays as it is.
    ///
    /// Source: reg:W18.
    #[must_use]
    pub fn notify(self, sequence: u64) -> Self {
        let material = self.material.max(sequence);
        let notified = if self.is_owed() {
            self.notified
        } else {
            material
        };
        Self {
            notified,
            material,
            ..self
        }
    }

    /// The watcher has taken the notice that was about everything up to `watermark`. Where more has
    /// happened since, exactly one fresh notice is owed.
    ///
    /// Source: reg:W22.
    #[must_use]
    pub fn acknowledge(self, watermark: u64) -> Self {
        let last_seen = self.last_seen.max(watermark.min(self.notified));
        let settled = last_seen == self.notified;
        Self {
            last_seen,
            notified: if settled {
                self.material
            } else {
                self.notified
            },
            ..self
        }
    }

    /// After a restart the notice owed is about everything that has happened.
    ///
    /// Source: reg:W23.
    #[must_use]
    pub const fn sweep(self) -> Self {
        Self {
            notified: self.material,
            ..self
        }
    }
}

#[cfg(test)]
mod tests;
