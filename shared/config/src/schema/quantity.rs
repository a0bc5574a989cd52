//! Amounts of time and of bytes.
//!
//! Source: reg:G2.

use std::time::Duration;

use serde_json::Value;

use super::findings::Class;
use super::section::any_text;

/// The text of reg:G2 about durations.
pub(super) const DURATION: &str = "a duration (use ms, s, m, h, d); a bare number is days";
/// The same where it may be left out on purpose.
pub(super) const DURATION_OR_FALSE: &str =
    "a duration (use ms, s, m, h, d), or false; a bare number is days";
/// The text of reg:G2 about sizes, which may be left out on purpose.
pub(super) const SIZE_OR_FALSE: &str = "a size (use b, kb, mb, gb, tb), or false";

/// Units of durations and their seconds; `ms` comes first, so that it is not read as `s`.
const TIMES: [(&str, f64); 5] = [
    ("ms", 0.001),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
    ("d", DAY_SECONDS),
];
const DAY_SECONDS: f64 = 86_400.0;

/// Units of sizes and their bytes; `b` comes last, so that `kb` is not read as `b`.
const SIZES: [(&str, f64); 5] = [
    ("kb", 1024.0),
    ("mb", 1_048_576.0),
    ("gb", 1_073_741_824.0),
    ("tb", 1_099_511_627_776.0),
    ("b", 1.0),
];

/// Milliseconds of a day.
const DAY_MILLIS: u64 = 86_400_000;

/// A duration in milliseconds, rounded.
pub(super) fn duration_millis(value: &Value) -> Result<u64, Class> {
    let seconds = quantity(value, &TIMES, DAY_SECONDS)?;
    let duration = Duration::try_from_secs_f64(seconds).map_err(|_| Class::Range)?;
    let millis = (duration.as_nanos() + 500_000) / 1_000_000;
    u64::try_from(millis)
        .ok()
        // A whole number of days cannot say more either.
        .filter(|millis| *millis <= days_millis(u32::MAX))
        .ok_or(Class::Range)
}

/// A duration of so many days, in milliseconds.
pub(super) fn days_millis(days: u32) -> u64 {
    u64::from(days) * DAY_MILLIS
}

/// Checks a duration that may be `false`.
pub(super) fn duration_or_false(value: &Value) -> Result<(), Class> {
    unless_false(value, |value| duration_millis(value).map(drop))
}

/// Checks a size that may be `false`.
pub(super) fn size_or_false(value: &Value) -> Result<(), Class> {
    unless_false(value, |value| quantity(value, &SIZES, 1.0).map(drop))
}

/// Checks a number from 0.
pub(super) fn not_negative(value: &Value) -> Result<(), Class> {
    number(value).map(drop)
}

fn number(value: &Value) -> Result<f64, Class> {
    let number = value.as_f64().ok_or(Class::Type)?;
    if number >= 0.0 {
        Ok(number)
    } else {
        Err(Class::Range)
    }
}

fn unless_false(
    value: &Value,
    check: impl FnOnce(&Value) -> Result<(), Class>,
) -> Result<(), Class> {
    if value.as_bool() == Some(false) {
        Ok(())
    } else {
        check(value)
    }
}

/// A number from 0, alone or as a text with one of `units`, in terms of the unit whose factor is 1;
/// a number without a unit counts in `bare`.
fn quantity(value: &Value, units: &[(&str, f64)], bare: f64) -> Result<f64, Class> {
    if value.is_number() {
        return number(value).map(|amount| amount * bare);
    }
    let text = any_text(value)?.trim().to_ascii_lowercase();
    let (amount, factor) = units
        .iter()
        .find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))
        .unwrap_or((&text, bare));
    let amount = amount.trim_end();
    let is_plain = amount
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    amount
        .parse::<f64>()
        .ok()
        .filter(|_| is_plain)
        .map(|amount| amount * factor)
        .ok_or(Class::Value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reg_g2_durations_are_read_with_their_unit_and_bare_numbers_are_days() {
        let cases = [
            (json!("1ms"), 1),
            (json!("333ms"), 333),
            (json!("1.5s"), 1500),
            (json!(" 2 M "), 120_000),
            (json!("36h"), 129_600_000),
            (json!("30d"), 2_592_000_000),
            (json!("30"), 2_592_000_000),
            (json!(30), 2_592_000_000),
            (json!(0.5), 43_200_000),
            (json!("0.4ms"), 0),
            (json!(u32::MAX), days_millis(u32::MAX)),
        ];
        for (value, millis) in cases {
            assert_eq!(duration_millis(&value), Ok(millis), "{value}");
        }
    }

    #[test]
    fn reg_g2_everything_else_is_no_duration() {
        let cases = [
            (json!("30y"), Class::Value),
            (json!(""), Class::Value),
            (json!("d"), Class::Value),
            (json!("."), Class::Value),
            (json!("1.2.3d"), Class::Value),
            (json!("-1d"), Class::Value),
            (json!("1e3d"), Class::Value),
            (json!("inf"), Class::Value),
            (json!("5kb"), Class::Value),
            (json!(-1), Class::Range),
            (json!(5_000_000_000_u64), Class::Range),
            (json!(1e300), Class::Range),
            (json!(true), Class::Type),
            (json!([1]), Class::Type),
        ];
        for (value, class) in cases {
            assert_eq!(duration_millis(&value), Err(class), "{value}");
        }
    }

    #[test]
    fn reg_g2_sizes_have_their_own_units_and_can_be_false() {
        for fine in [
            json!("2gb"),
            json!("1.5 TB"),
            json!("10b"),
            json!("7"),
            json!(0),
            json!(false),
        ] {
            assert_eq!(size_or_false(&fine), Ok(()), "{fine}");
        }
        for (value, class) in [
            (json!("2d"), Class::Value),
            (json!("2 gigabytes"), Class::Value),
            (json!(true), Class::Type),
            (json!(-2), Class::Range),
        ] {
            assert_eq!(size_or_false(&value), Err(class), "{value}");
        }
    }
}
