//! When a session is stale and begins anew.
//!
//! Source: reg:X13, D75.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use confab_model::clock::Timestamp;
use confab_model::key::SessionKey;

use super::time_zone::TimeZone;

const HOUR_MILLIS: i64 = 3_600_000;
const DAY_MILLIS: i64 = 24 * HOUR_MILLIS;
const MINUTE_MILLIS: i64 = 60_000;

/// Sections `session.reset`, `session.resetByType` and `session.resetByChannel`; by default
/// nothing is reset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResetSettings {
    /// The rule where no other one stands.
    pub default: ResetRule,
    /// Rules for kinds of sessions.
    pub by_type: ResetByType,
    /// Rules for channels; the names are trimmed and folded to lower case.
    pub by_channel: BTreeMap<String, ResetRule>,
}

impl ResetSettings {
    /// The rule for a session: its channel's, else its kind's, else the default.
    ///
    /// Source: reg:X13.
    pub fn rule(&self, key: &SessionKey, channel: Option<&str>) -> &ResetRule {
        let named = channel.and_then(|name| self.by_channel.get(&name.trim().to_lowercase()));
        named
            .or_else(|| self.by_type.get(ResetType::of(key)))
            .unwrap_or(&self.default)
    }
}

/// Section `session.resetByType`; `dm` is an older name of `direct`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResetByType {
    /// The rule for everything that is neither of the others.
    pub direct: Option<ResetRule>,
    /// The rule for groups and channels.
    pub group: Option<ResetRule>,
    /// The rule for threads.
    pub thread: Option<ResetRule>,
}

impl ResetByType {
    /// The rule for a kind; absent when the file has none.
    pub const fn get(&self, kind: ResetType) -> Option<&ResetRule> {
        match kind {
            ResetType::Direct => self.direct.as_ref(),
            ResetType::Group => self.group.as_ref(),
            ResetType::Thread => self.thread.as_ref(),
        }
    }
}

/// The kinds of sessions that resets tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetType {
    /// Neither of the others.
    Direct,
    /// A group or a channel.
    Group,
    /// A thread.
    Thread,
}

impl ResetType {
    /// What the key says.
    ///
    /// Source: reg:X13.
    pub fn of(key: &SessionKey) -> Self {
        let holds = |part: &str| key.as_str().contains(part);
        if key.thread().is_some() {
            Self::Thread
        } else if holds(":group:") || holds(":channel:") {
            Self::Group
        } else {
            Self::Direct
        }
    }
}

/// When a session is stale; either reason is enough, without one it never is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResetRule {
    /// Every day.
    pub daily: Option<DailyReset>,
    /// When nobody has used it for so many minutes, from 1.
    pub idle_minutes: Option<u32>,
}

/// A reset every day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DailyReset {
    /// The hour, 0 to 23.
    pub at_hour: u32,
    /// Whose hour.
    pub time_zone: TimeZone,
}

impl ResetRule {
    /// Whether a session that began at `started_at` and was last used at `last_interaction_at` is
    /// stale by `now`.
    ///
    /// A moment later than `now` counts as unknown. A session whose last use is unknown was last
    /// used when it began.
    ///
    /// Source: reg:X13.
    pub fn is_stale(
        &self,
        started_at: Timestamp,
        last_interaction_at: Option<Timestamp>,
        now: Timestamp,
    ) -> bool {
        let started = Some(started_at).filter(|moment| *moment <= now);
        let used = last_interaction_at
            .filter(|moment| *moment <= now)
            .or(started);
        self.crossed_a_day(started, now) || self.was_idle(used, now)
    }

    fn crossed_a_day(&self, started: Option<Timestamp>, now: Timestamp) -> bool {
        let (Some(daily), Some(started)) = (self.daily, started) else {
            return false;
        };
        started < daily.last_boundary(now)
    }

    fn was_idle(&self, used: Option<Timestamp>, now: Timestamp) -> bool {
        let (Some(minutes), Some(used)) = (self.idle_minutes, used) else {
            return false;
        };
        now > used.plus_millis(i64::from(minutes) * MINUTE_MILLIS)
    }
}

impl DailyReset {
    /// The latest moment up to `now` at which its hour began.
    fn last_boundary(self, now: Timestamp) -> Timestamp {
        let ahead = self.time_zone.offset_millis() - i64::from(self.at_hour) * HOUR_MILLIS;
        let since = now.plus_millis(ahead).millis().rem_euclid(DAY_MILLIS);
        now.plus_millis(-since)
    }
}
