//! Time as a parameter.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};

use serde::{Deserialize, Serialize};

/// A moment: milliseconds since the Unix epoch, UTC.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The moment `milliseconds` after the epoch.
    pub const fn from_millis(milliseconds: i64) -> Self {
        Self(milliseconds)
    }

    /// Milliseconds since the epoch.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// The moment `milliseconds` later; saturates at the ends of the range.
    #[must_use]
    pub const fn plus_millis(self, milliseconds: i64) -> Self {
        Self(self.0.saturating_add(milliseconds))
    }

    /// Milliseconds from `earlier` to here; negative when `earlier` is later.
    pub const fn millis_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0)
    }
}

/// Where the time comes from.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

/// A clock that moves only when it is told to.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at `start`.
    pub const fn starting_at(start: Timestamp) -> Self {
        Self(AtomicI64::new(start.millis()))
    }

    /// Moves the clock forward.
    pub fn advance_millis(&self, milliseconds: i64) {
        self.0.fetch_add(milliseconds, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}
