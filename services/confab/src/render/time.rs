//! Moments and lengths of time for people.

use confab_model::clock::Timestamp;
use confab_rpc::wire;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// The moment of a record; `None` where it has none.
pub fn moment(wire: Option<&prost_types::Timestamp>) -> Option<Timestamp> {
    wire.and_then(|wire| wire::time::from_proto(*wire, "time").ok())
}

/// How long ago a moment was, for example `5 min ago`; `-` where there is none.
pub fn ago(then: Option<Timestamp>, now: Timestamp) -> String {
    let Some(then) = then else {
        return "-".to_owned();
    };
    let millis = now.millis_since(then);
    if millis < -SECOND {
        format!("in {}", coarse(millis.saturating_neg()))
    } else if millis < SECOND {
        "just now".to_owned()
    } else {
        format!("{} ago", coarse(millis))
    }
}

/// The time of day, for example `17:04:59Z`.
pub fn of_day(moment: Timestamp) -> String {
    let second = moment.millis().rem_euclid(DAY) / SECOND;
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!("{hour:02}:{minute:02}:{:02}Z", second % 60)
}

/// One unit: exact enough for something long past.
fn coarse(millis: i64) -> String {
    match millis {
        ..MINUTE => format!("{} s", millis / SECOND),
        MINUTE..HOUR => format!("{} min", millis / MINUTE),
        HOUR..DAY => format!("{} h", millis / HOUR),
        DAY.. => format!("{} d", millis / DAY),
    }
}

/// How long something took, for example `41 ms`, `1.2 s`, `3 min 5 s`.
pub fn span(millis: i64) -> String {
    match millis {
        ..SECOND => format!("{millis} ms"),
        SECOND..MINUTE => format!("{}.{} s", millis / SECOND, (millis % SECOND) / 100),
        MINUTE..HOUR => format!("{} min {} s", millis / MINUTE, (millis % MINUTE) / SECOND),
        HOUR.. => format!("{} h {} min", millis / HOUR, (millis % HOUR) / MINUTE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_told_by_its_distance() {
        let now = Timestamp::from_millis(10 * DAY);
        let cases = [
            (0, "just now"),
            (999, "just now"),
            (-1_000, "just now"),
            (1_000, "1 s ago"),
            (59_999, "59 s ago"),
            (60_000, "1 min ago"),
            (HOUR, "1 h ago"),
            (3 * DAY, "3 d ago"),
            (-5_000, "in 5 s"),
        ];
        for (distance, told) in cases {
            assert_eq!(
                ago(Some(now.plus_millis(-distance)), now),
                told,
                "{distance}"
            );
        }
        assert_eq!(ago(None, now), "-");
    }

    #[test]
    fn a_time_of_day_begins_anew_each_day() {
        let of_day = |millis| of_day(Timestamp::from_millis(millis));
        assert_eq!(of_day(0), "00:00:00Z");
        assert_eq!(of_day(DAY - 1), "23:59:59Z");
        assert_eq!(of_day(3 * DAY + HOUR + 2 * MINUTE + 3_999), "01:02:03Z");
        assert_eq!(of_day(-SECOND), "23:59:59Z");
    }

    #[test]
    fn a_length_is_told_with_two_units_at_most() {
        let cases = [
            (0, "0 ms"),
            (41, "41 ms"),
            (1_250, "1.2 s"),
            (185_000, "3 min 5 s"),
            (2 * HOUR + 90_000, "2 h 1 min"),
        ];
        for (millis, told) in cases {
            assert_eq!(span(millis), told, "{millis}");
        }
    }
}
