//! The clock of the machine.

use std::time::{SystemTime, UNIX_EPOCH};

use confab_model::clock::{Clock, Timestamp};

/// The wall clock of this machine, UTC, in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the one place that reads the time"
        )]
        let now = SystemTime::now();
        millis_since_epoch(now)
    }
}

/// Milliseconds from the epoch to `time`; negative before it, saturating at the ends of the range.
fn millis_since_epoch(time: SystemTime) -> Timestamp {
    let millis = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
        Err(error) => {
            i64::try_from(error.duration().as_millis()).map_or(i64::MIN, i64::wrapping_neg)
        },
    };
    Timestamp::from_millis(millis)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn moments_on_both_sides_of_the_epoch_keep_their_sign() {
        let second = Duration::from_millis(1_500);
        assert_eq!(millis_since_epoch(UNIX_EPOCH + second).millis(), 1_500);
        assert_eq!(millis_since_epoch(UNIX_EPOCH - second).millis(), -1_500);
        assert_eq!(millis_since_epoch(UNIX_EPOCH).millis(), 0);
    }

    #[test]
    fn the_system_clock_stands_after_the_year_2020() {
        assert!(SystemClock.now().millis() > 1_577_836_800_000);
    }
}
