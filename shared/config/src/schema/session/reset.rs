//! `session.reset`, `session.resetByType` and `session.resetByChannel`.
//!
//! Source: reg:X13, D75.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::schema::findings::Class;
use crate::schema::section::{Section, any_text};
use crate::settings::{DailyReset, ResetByType, ResetRule, ResetSettings, TimeZone};

/// The hour of a daily reset when none is given.
const AT_HOUR_DEFAULT: u32 = 4;

const TIME_ZONE: &str = "UTC, or an offset such as +02:00 (this version does not know the names of \
                         time zones)";

/// What `mode` can say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Never,
    Daily,
    Idle,
}

const MODES: [(&str, Mode); 3] = [
    ("daily", Mode::Daily),
    ("idle", Mode::Idle),
    ("none", Mode::Never),
];

/// One of the objects as written.
#[derive(Clone, Copy, Default)]
struct Written {
    mode: Option<Mode>,
    at_hour: Option<u32>,
    idle_minutes: Option<u32>,
    time_zone: Option<TimeZone>,
}

pub(super) fn read(section: &mut Section<'_, '_>) -> ResetSettings {
    let (base, default) = section.object("reset", |section| {
        let written = read_written(section);
        (written, judged(section, written))
    });
    ResetSettings {
        default,
        by_type: section.object("resetByType", |section| read_by_type(section, base)),
        by_channel: read_by_channel(section, base),
    }
}

/// A kind has what it does not say from `session.reset`.
fn read_by_type(section: &mut Section<'_, '_>, base: Written) -> ResetByType {
    let mut read = |name| {
        section.object(name, |section| {
            let written = read_written(section).or(base.handed_on());
            let rule = judged(section, written);
            section.is_given().then_some(rule)
        })
    };
    let (direct, dm) = (read("direct"), read("dm"));
    let (group, thread) = (read("group"), read("thread"));
    if direct.is_some() && dm.is_some() {
        section.ignored("dm", "direct is given, and means the same");
    }
    ResetByType {
        direct: direct.or(dm),
        group,
        thread,
    }
}

/// A channel stands alone, except for the time zone.
fn read_by_channel(section: &mut Section<'_, '_>, base: Written) -> BTreeMap<String, ResetRule> {
    let zone_alone = Written {
        time_zone: base.time_zone,
        ..Written::default()
    };
    let channels = section.named_objects("resetByChannel", |section| {
        let written = read_written(section).or(zone_alone);
        judged(section, written)
    });
    let mut by_channel = BTreeMap::new();
    for (name, rule) in channels {
        let folded = name.trim().to_lowercase();
        if by_channel.insert(folded.clone(), rule).is_some() {
            let given = format!("{folded:?} a second time");
            let allowed = "every channel once (names are compared after folding)";
            section.conflict("resetByChannel", given, allowed);
        }
    }
    by_channel
}

fn read_written(section: &mut Section<'_, '_>) -> Written {
    Written {
        mode: section.word("mode", &MODES),
        at_hour: section.integer("atHour", 0..=23),
        idle_minutes: section.integer("idleMinutes", 1..=u32::MAX),
        time_zone: section.value("timeZone", TIME_ZONE, time_zone),
    }
}

fn time_zone(value: &Value) -> Result<TimeZone, Class> {
    TimeZone::parse(any_text(value)?).ok_or(Class::Value)
}

/// The rule, with a warning where it was meant to be one and is none.
fn judged(section: &mut Section<'_, '_>, written: Written) -> ResetRule {
    let says_nothing = written.mode == Some(Mode::Idle) && written.idle_minutes.is_none();
    if says_nothing && section.has("mode") && !section.has("idleMinutes") {
        section.warn("mode", "is idle without idleMinutes: nothing is reset");
    }
    written.rule()
}

impl Written {
    /// What is written here, else what `base` says.
    fn or(self, base: Self) -> Self {
        Self {
            mode: self.mode.or(base.mode),
            at_hour: self.at_hour.or(base.at_hour),
            idle_minutes: self.idle_minutes.or(base.idle_minutes),
            time_zone: self.time_zone.or(base.time_zone),
        }
    }

    /// What others have from here: no reset has nothing to hand on but its time zone.
    fn handed_on(self) -> Self {
        if self.mode == Some(Mode::Never) {
            Self {
                time_zone: self.time_zone,
                ..Self::default()
            }
        } else {
            self
        }
    }

    /// What it comes to. Without a mode, an hour means a daily reset; `idleMinutes` counts beside a
    /// daily reset too.
    fn rule(self) -> ResetRule {
        let (is_daily, can_idle) = match self.mode {
            Some(Mode::Never) => (false, false),
            Some(Mode::Daily) => (true, true),
            Some(Mode::Idle) => (false, true),
            None => (self.at_hour.is_some(), true),
        };
        ResetRule {
            daily: is_daily.then(|| DailyReset {
                at_hour: self.at_hour.unwrap_or(AT_HOUR_DEFAULT),
                time_zone: self.time_zone.unwrap_or_default(),
            }),
            idle_minutes: self.idle_minutes.filter(|_| can_idle),
        }
    }
}
