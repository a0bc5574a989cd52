//! Moments as text: `2026-01-31T23:59:59.999Z`.

use confab_model::clock::Timestamp;
use serde_json::Value;

const MILLIS_PER_DAY: i64 = 86_400_000;
const MILLIS_PER_MINUTE: i64 = 60_000;
/// Days from the first of March of the year 0 to 1970.
const DAYS_TO_1970: i64 = 719_468;
/// Days of 400 years.
const DAYS_PER_ERA: i64 = 146_097;
/// The last moment of the year 9999: the text has four digits for a year.
const LAST_MILLIS: i64 = 253_402_300_799_999;

/// A moment as text, to the millisecond.
pub fn text(moment: Timestamp) -> String {
    let millis = moment.millis();
    let (days, rest) = (
        millis.div_euclid(MILLIS_PER_DAY),
        millis.rem_euclid(MILLIS_PER_DAY),
    );
    let (year, month, day) = date_of(days);
    let (seconds, millis) = (rest / 1000, rest % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// A moment as an entry tells it: in milliseconds, or as text. What lies before 1970 or behind the
/// year 9999 is none.
///
/// Source: run:T6.
pub fn read(value: &Value) -> Option<Timestamp> {
    let millis = match value {
        Value::Number(number) => whole(number)?,
        Value::String(text) => parse(text)?,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    (0..=LAST_MILLIS)
        .contains(&millis)
        .then(|| Timestamp::from_millis(millis))
}

/// The whole part of a number.
fn whole(number: &serde_json::Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let float = number.as_f64().filter(|float| float.is_finite())?;
        format!("{:.0}", float.floor()).parse().ok()
    })
}

fn parse(text: &str) -> Option<i64> {
    let (date, time) = text.trim().split_once(['T', ' '])?;
    let days = days(date)?;
    let (time, offset_minutes) = zone(time)?;
    let millis = millis_of_day(time)?;
    Some(days * MILLIS_PER_DAY + millis - offset_minutes * MILLIS_PER_MINUTE)
}

/// Days since 1970 of `2026-01-31`.
fn days(date: &str) -> Option<i64> {
    let mut parts = date.split('-');
    let year = number(parts.next()?, 4, 0..=9999)?;
    let month = number(parts.next()?, 2, 1..=12)?;
    let day = number(parts.next()?, 2, 1..=31)?;
    parts.next().is_none().then_some(())?;
    // Years begin in March here, so that the day that only some of them have is their last.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + day_of_year;
    Some(era * DAYS_PER_ERA + day_of_era - DAYS_TO_1970)
}

/// The date of a day since 1970, the other way round.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_TO_1970;
    let (era, day_of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
    let of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * of_era + of_era / 4 - of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + of_era;
    if month < 10 {
        (year, month + 3, day)
    } else {
        (year + 1, month - 9, day)
    }
}

/// Takes the zone off a time: `Z`, `+02:00`, or nothing, which is UTC too.
fn zone(time: &str) -> Option<(&str, i64)> {
    if let Some(time) = time.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let Some(at) = time.find(['+', '-']) else {
        return Some((time, 0));
    };
    let (time, offset) = time.split_at(at);
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let minutes = number(hours, 2, 0..=23)? * 60 + number(minutes, 2, 0..=59)?;
    Some((time, sign * minutes))
}

fn millis_of_day(time: &str) -> Option<i64> {
    let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut parts = clock.split(':');
    let hour = number(parts.next()?, 2, 0..=23)?;
    let minute = number(parts.next()?, 2, 0..=59)?;
    let second = number(parts.next().unwrap_or("00"), 2, 0..=59)?;
    parts.next().is_none().then_some(())?;
    let millis: String = fraction.chars().chain("000".chars()).take(3).collect();
    let millis = number(&millis, 3, 0..=999)?;
    Some(((hour * 60 + minute) * 60 + second) * 1000 + millis)
}

/// A number of so many digits, within its range.
fn number(text: &str, digits: usize, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
    if text.len() != digits || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|number| range.contains(number))
}
