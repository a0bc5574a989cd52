//! `session.maintenance`: which old sessions may be removed.
//!
//! Source: D75, reg:G1, reg:G2.

use serde_json::Value;

use crate::schema::findings::Class;
use crate::schema::quantity::{
    DURATION, DURATION_OR_FALSE, SIZE_OR_FALSE, days_millis, duration_millis, duration_or_false,
    size_or_false,
};
use crate::schema::section::Section;
use crate::settings::{MaintenanceMode, MaintenanceSettings};

pub(super) fn read(section: &mut Section<'_, '_>) -> MaintenanceSettings {
    let modes = MaintenanceMode::ALL.map(|mode| (mode.as_str(), mode));
    let settings = MaintenanceSettings {
        mode: section.word("mode", &modes).unwrap_or_default(),
        prune_after_millis: read_prune_after(section),
        max_entries: section.integer("maxEntries", 1..=u32::MAX),
    };
    section.value(
        "resetArchiveRetention",
        DURATION_OR_FALSE,
        duration_or_false,
    );
    section.value("maxDiskBytes", SIZE_OR_FALSE, size_or_false);
    section.value("highWaterBytes", SIZE_OR_FALSE, size_or_false);
    for name in ["resetArchiveRetention", "maxDiskBytes", "highWaterBytes"] {
        section.not_yet(name, "act on");
    }
    section.refused(
        "rotateBytes",
        "nothing; take the key out, there are no files to rotate",
    );
    settings
}

/// `pruneAfter`, or its older form in whole days.
fn read_prune_after(section: &mut Section<'_, '_>) -> Option<u64> {
    let allowed = format!("{DURATION}, over 0 (leave it out to keep everything)");
    let after = section.value("pruneAfter", &allowed, over_zero);
    let days = section.integer("pruneDays", 1..=u32::MAX);
    if section.has("pruneAfter") && section.has("pruneDays") {
        let given = "both pruneAfter and pruneDays".to_owned();
        section.conflict(
            "pruneDays",
            given,
            "one of the two; pruneAfter is the current one",
        );
    }
    after.or_else(|| days.map(days_millis))
}

/// A duration of 0 would remove every session there is.
fn over_zero(value: &Value) -> Result<u64, Class> {
    let millis = duration_millis(value)?;
    if millis == 0 {
        Err(Class::Range)
    } else {
        Ok(millis)
    }
}
