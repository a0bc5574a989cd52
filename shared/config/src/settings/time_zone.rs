//! Offsets from UTC.

use std::fmt;

/// Farthest offset of a place on Earth, in minutes.
const OFFSET_MINUTES_MAX: i64 = 14 * 60;

/// A fixed offset from UTC, at most 14 hours; by default none.
///
/// Source: D75.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeZone {
    offset_minutes: i64,
}

impl TimeZone {
    /// UTC itself.
    pub const UTC: Self = Self { offset_minutes: 0 };

    /// Reads `UTC`, `+02:00` or `-05:30`, blanks around it apart; absent when it is neither.
    pub fn parse(raw: &str) -> Option<Self> {
        let text = raw.trim();
        if text.eq_ignore_ascii_case("utc") {
            return Some(Self::UTC);
        }
        let (sign, clock) = match text.split_at_checked(1)? {
            ("+", clock) => (1, clock),
            ("-", clock) => (-1, clock),
            _ => return None,
        };
        let (hours, minutes) = clock.split_once(':')?;
        let minutes = two_digits(minutes).filter(|minutes| *minutes < 60)?;
        let offset = two_digits(hours)? * 60 + minutes;
        (offset <= OFFSET_MINUTES_MAX).then_some(Self {
            offset_minutes: sign * offset,
        })
    }

    /// Milliseconds that its clocks are ahead of UTC; negative where they are behind.
    pub const fn offset_millis(self) -> i64 {
        self.offset_minutes * 60_000
    }
}

impl fmt::Display for TimeZone {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.offset_minutes == 0 {
            return formatter.write_str("UTC");
        }
        let sign = if self.offset_minutes < 0 { '-' } else { '+' };
        let minutes = self.offset_minutes.abs();
        write!(formatter, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

fn two_digits(text: &str) -> Option<i64> {
    let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utc_and_offsets_of_at_most_14_hours_are_read_and_shown_alike() {
        let cases = [
            ("UTC", 0, "UTC"),
            (" utc ", 0, "UTC"),
            ("+00:00", 0, "UTC"),
            ("-00:00", 0, "UTC"),
            ("+02:00", 120, "+02:00"),
            ("-05:30", -330, "-05:30"),
            ("-00:30", -30, "-00:30"),
            ("+14:00", 840, "+14:00"),
            ("-14:00", -840, "-14:00"),
        ];
        for (text, minutes, shown) in cases {
            let zone = TimeZone::parse(text).unwrap();
            assert_eq!(zone.offset_millis(), minutes * 60_000, "{text}");
            assert_eq!(zone.to_string(), shown, "{text}");
        }
    }

    #[test]
    fn everything_else_is_no_time_zone() {
        for text in [
            "",
            "Europe/Berlin",
            "CET",
            "02:00",
            "+2:00",
            "+0200",
            "+02",
            "+02:60",
            "+14:01",
            "+-2:00",
            "é2:00",
            "+02:0é",
        ] {
            assert_eq!(TimeZone::parse(text), None, "{text}");
        }
    }
}
