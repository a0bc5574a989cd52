//! Counts: unsigned in the model, signed in the protos.

use super::WireError;

/// The proto's form of a count; saturates at the end of its range.
pub fn to_i64(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The proto's form of a small count; saturates at the end of its range.
pub fn to_i32(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Reads a count.
///
/// # Errors
/// When it is negative.
pub fn from_i64(number: i64, field: &'static str) -> Result<u64, WireError> {
    u64::try_from(number).map_err(|_| WireError::OutOfRange {
        field,
        given: number,
    })
}

/// Reads a small count.
///
/// # Errors
/// When it is negative.
pub fn from_i32(number: i32, field: &'static str) -> Result<u32, WireError> {
    u32::try_from(number).map_err(|_| WireError::OutOfRange {
        field,
        given: number.into(),
    })
}
