//! Lengths of time as people type them.

use std::time::Duration;

/// Longest length that is understood: ten years. Everything longer is a slip of the finger.
const SECONDS_MAX: u64 = 10 * 365 * 86_400;

/// Reads a whole number with a unit: `90s`, `30m`, `1h` or `7d`.
///
/// # Errors
/// When it has another form, is zero or longer than ten years; the text says what is allowed.
pub fn parse(text: &str) -> Result<Duration, String> {
    let allowed = "write a whole number with its unit, from 1s to 3650d: 90s, 30m, 1h or 7d";
    let split = text.find(|letter: char| !letter.is_ascii_digit());
    let (digits, unit) = split.map_or((text, ""), |at| text.split_at(at));
    let unit_seconds: u64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(allowed.to_owned()),
    };
    let count: u64 = digits.parse().map_err(|_| allowed.to_owned())?;
    match count.checked_mul(unit_seconds) {
        Some(seconds) if (1..=SECONDS_MAX).contains(&seconds) => Ok(Duration::from_secs(seconds)),
        Some(_) | None => Err(allowed.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_counts_its_seconds() {
        let cases = [
            ("1s", 1),
            ("90s", 90),
            ("30m", 1_800),
            ("1h", 3_600),
            ("7d", 604_800),
        ];
        for (text, seconds) in cases {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
    }

    #[test]
    fn a_length_without_unit_or_sense_is_refused_with_what_is_allowed() {
        for text in [
            "",
            "h",
            "1",
            "0s",
            "-1h",
            "1.5h",
            "1 h",
            "1w",
            "3651d",
            "99999999999999999999d",
        ] {
            assert!(
                parse(text).is_err_and(|said| said.contains("1h")),
                "{text:?}"
            );
        }
    }
}
