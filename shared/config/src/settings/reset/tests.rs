//! Staleness at its edges (reg:X13).

use super::*;

const DAY: i64 = DAY_MILLIS;
const HOUR: i64 = HOUR_MILLIS;
const MINUTE: i64 = MINUTE_MILLIS;
/// Midnight UTC of some day.
const MIDNIGHT: i64 = 20_000 * DAY;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn daily(at_hour: u32, zone: &str) -> ResetRule {
    ResetRule {
        daily: Some(DailyReset {
            at_hour,
            time_zone: TimeZone::parse(zone).unwrap(),
        }),
        idle_minutes: None,
    }
}

fn idle(minutes: u32) -> ResetRule {
    ResetRule {
        daily: None,
        idle_minutes: Some(minutes),
    }
}

#[test]
fn reg_x13_a_session_older_than_the_last_boundary_is_stale() {
    let four = MIDNIGHT + 4 * HOUR;
    // Hour, zone, start, now, whether stale.
    let cases = [
        (4, "UTC", four - 1, four, true),
        (4, "UTC", four, four, false),
        (4, "UTC", four - 1, four - 1, false),
        // Before the hour, the boundary is yesterday's.
        (4, "UTC", four - DAY - 1, four - 1, true),
        (4, "UTC", four - DAY, four - 1, false),
        (4, "UTC", four - 1, four + 10 * DAY, true),
        (0, "UTC", MIDNIGHT - 1, MIDNIGHT, true),
        (23, "UTC", MIDNIGHT - HOUR - 1, MIDNIGHT, true),
        (23, "UTC", MIDNIGHT - HOUR, MIDNIGHT, false),
        // Four o'clock in +02:00 is two o'clock UTC, in -05:30 half past nine.
        (4, "+02:00", four - 2 * HOUR - 1, four - 2 * HOUR, true),
        (4, "+02:00", four - 2 * HOUR, four, false),
        (4, "-05:30", four, four + 5 * HOUR + 30 * MINUTE, true),
        (4, "-05:30", four, four + 5 * HOUR + 30 * MINUTE - 1, false),
        // One o'clock in +02:00 is eleven in the evening UTC, the day before.
        (1, "+02:00", MIDNIGHT - HOUR - 1, MIDNIGHT, true),
        (1, "+02:00", MIDNIGHT - HOUR, MIDNIGHT, false),
        // Before the epoch.
        (4, "UTC", -DAY, -10 * HOUR, true),
    ];
    for (hour, zone, started, now, expected) in cases {
        let stale = daily(hour, zone).is_stale(at(started), None, at(now));
        assert_eq!(stale, expected, "{hour} {zone}: {started} at {now}");
    }
}

#[test]
fn reg_x13_a_session_not_used_for_longer_than_the_minutes_is_stale() {
    let start = MIDNIGHT;
    // Last use, now, whether stale.
    let cases = [
        (Some(start), start + 30 * MINUTE, false),
        (Some(start), start + 30 * MINUTE + 1, true),
        (Some(start + HOUR), start + HOUR + 30 * MINUTE, false),
        // An unknown last use is the beginning.
        (None, start + 30 * MINUTE, false),
        (None, start + 30 * MINUTE + 1, true),
        // One in the future is unknown.
        (Some(start + 2 * HOUR), start + HOUR, true),
        (Some(start + 2 * HOUR), start + MINUTE, false),
    ];
    for (used, now, expected) in cases {
        let stale = idle(30).is_stale(at(start), used.map(at), at(now));
        assert_eq!(stale, expected, "{used:?} at {now}");
    }
}

#[test]
fn reg_x13_a_start_in_the_future_says_nothing() {
    let now = MIDNIGHT + HOUR;
    assert!(!daily(0, "UTC").is_stale(at(now + 1), None, at(now)));
    assert!(!idle(1).is_stale(at(now + 1), None, at(now)));
    assert!(!idle(1).is_stale(at(now + 1), Some(at(now + 1)), at(now)));
    assert!(idle(1).is_stale(at(now + 1), Some(at(now - HOUR)), at(now)));
}

#[test]
fn reg_x13_either_reason_is_enough_and_without_one_nothing_is_stale() {
    let both = ResetRule {
        idle_minutes: Some(30),
        ..daily(4, "UTC")
    };
    let (start, four) = (MIDNIGHT, MIDNIGHT + 4 * HOUR);
    assert!(both.is_stale(at(start), Some(at(four)), at(four)));
    assert!(both.is_stale(at(start), Some(at(start)), at(start + HOUR)));
    assert!(!both.is_stale(at(four), Some(at(four)), at(four)));
    assert!(!ResetRule::default().is_stale(at(0), Some(at(0)), at(MIDNIGHT)));
}

#[test]
fn moments_at_the_ends_of_time_do_not_overflow() {
    let rule = ResetRule {
        idle_minutes: Some(u32::MAX),
        ..daily(23, "-14:00")
    };
    let (first, last) = (at(i64::MIN), at(i64::MAX));
    assert!(rule.is_stale(first, None, last));
    assert!(!rule.is_stale(last, None, last));
    assert!(!rule.is_stale(first, Some(first), first));
}

#[test]
fn reg_x13_a_channel_goes_before_a_kind_and_a_kind_before_the_rest() {
    let settings = ResetSettings {
        default: idle(1),
        by_type: ResetByType {
            direct: None,
            group: Some(idle(2)),
            thread: Some(idle(3)),
        },
        by_channel: [("discord".to_owned(), idle(4))].into(),
    };
    let cases = [
        ("agent:a:main", None, 1),
        ("agent:a:telegram:direct:7", Some("telegram"), 1),
        ("agent:a:telegram:group:7", Some("telegram"), 2),
        ("agent:a:slack:channel:c", None, 2),
        ("agent:a:telegram:group:7:thread:9", None, 3),
        ("agent:a:main:thread:9", None, 3),
        ("agent:a:discord:group:7", Some(" Discord "), 4),
        ("agent:a:discord:group:7:thread:9", Some("discord"), 4),
    ];
    for (key, channel, expected) in cases {
        let rule = settings.rule(&SessionKey::parse(key).unwrap(), channel);
        assert_eq!(rule, &idle(expected), "{key} {channel:?}");
    }
}
