//! Limits and waits that a caller asked for.

use std::time::Duration;

use confab_model::limits::{SEND_TIMEOUT_SECONDS_DEFAULT, WAIT_SECONDS_MAX};

use crate::error::Violations;

/// How many rows a page may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The limit in force, from 1.
    pub value: u32,
    /// The limit in force where the asked one was lowered, for the answer to tell.
    pub applied: Option<u32>,
}

/// Reads a limit: absent is `default`, above `max` is lowered and told, below 1 is a violation.
///
/// Source: D54.
pub fn limit_from_wire(
    given: Option<i32>,
    default: u32,
    max: u32,
    field: &str,
    violations: &mut Violations,
) -> Limit {
    let Some(given) = given else {
        return Limit {
            value: default,
            applied: None,
        };
    };
    match u32::try_from(given) {
        Ok(value) if value > max => Limit {
            value: max,
            applied: Some(max),
        },
        Ok(value) if value > 0 => Limit {
            value,
            applied: None,
        },
        Ok(_) | Err(_) => {
            violations.push(
                field,
                format!("{field} is {given}; give 1 or more (more than {max} counts as {max})"),
            );
            Limit {
                value: default,
                applied: None,
            }
        },
    }
}

/// Reads how long a caller wants to wait: absent is the default of a send, 0 does not wait.
///
/// Source: D27.
pub fn timeout_from_wire(given: Option<i32>, field: &str, violations: &mut Violations) -> Duration {
    let default = Duration::from_secs(SEND_TIMEOUT_SECONDS_DEFAULT.into());
    let Some(given) = given else { return default };
    match u32::try_from(given) {
        Ok(seconds) if seconds <= WAIT_SECONDS_MAX => Duration::from_secs(seconds.into()),
        Ok(_) | Err(_) => {
            violations.push(
                field,
                format!("{field} is {given}; give 0 (do not wait) to {WAIT_SECONDS_MAX} seconds"),
            );
            default
        },
    }
}
