//! Moments.

use confab_model::clock::Timestamp;

use super::WireError;
use crate::error::Violations;

const MILLIS_PER_SECOND: i64 = 1000;
const NANOS_PER_MILLI: i32 = 1_000_000;
const NANOS_PER_SECOND: i32 = 1_000_000_000;

/// The proto's form of a moment; every moment of the model has one.
pub fn to_proto(moment: Timestamp) -> prost_types::Timestamp {
    let millis = moment.millis().rem_euclid(MILLIS_PER_SECOND);
    prost_types::Timestamp {
        seconds: moment.millis().div_euclid(MILLIS_PER_SECOND),
        // Fewer than 1,000 milliseconds always fit.
        nanos: i32::try_from(millis).unwrap_or_default() * NANOS_PER_MILLI,
    }
}

/// Reads a moment; what is finer than a millisecond is dropped.
///
/// # Errors
/// When the model cannot hold it, or its nanoseconds are not those of one second.
pub fn from_proto(
    wire: prost_types::Timestamp,
    field: &'static str,
) -> Result<Timestamp, WireError> {
    read(wire).ok_or(WireError::OutOfRange {
        field,
        given: wire.seconds,
    })
}

/// Reads a moment that every record has.
///
/// # Errors
/// When it is missing or out of range.
pub fn required(
    wire: Option<prost_types::Timestamp>,
    field: &'static str,
) -> Result<Timestamp, WireError> {
    from_proto(super::required(wire, field)?, field)
}

/// Reads a moment that may be absent.
///
/// # Errors
/// When it is out of range.
pub fn optional(
    wire: Option<prost_types::Timestamp>,
    field: &'static str,
) -> Result<Option<Timestamp>, WireError> {
    wire.map(|wire| from_proto(wire, field)).transpose()
}

/// Reads a moment that a caller wrote; one out of range is a violation of `field`.
pub fn time_from_wire(
    wire: Option<prost_types::Timestamp>,
    field: &str,
    violations: &mut Violations,
) -> Option<Timestamp> {
    let wire = wire?;
    let moment = read(wire);
    if moment.is_none() {
        violations.push(
            field,
            format!(
                "{field} is out of range ({} seconds, {} nanoseconds); give whole seconds since \
                 1970 and 0 to 999,999,999 nanoseconds",
                wire.seconds, wire.nanos,
            ),
        );
    }
    moment
}

fn read(wire: prost_types::Timestamp) -> Option<Timestamp> {
    if !(0..NANOS_PER_SECOND).contains(&wire.nanos) {
        return None;
    }
    // In 128 bits, because the earliest moments pass the end of 64 before the rest is added.
    let millis = i128::from(wire.seconds) * i128::from(MILLIS_PER_SECOND)
        + i128::from(wire.nanos / NANOS_PER_MILLI);
    i64::try_from(millis).ok().map(Timestamp::from_millis)
}
