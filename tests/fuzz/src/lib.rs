//! Fuzz targets: functions that take any bytes and panic where a property does not hold.
//!
//! `cargo test -p confab-fuzz` feeds each its corpus, the vectors, and a bounded number of mutations of
//! both. `cargo fuzz run --fuzz-dir tests/fuzz --features libfuzzer NAME` feeds the same functions as
//! long as one likes, guided by coverage; what it finds is added to `corpus/NAME`, so that every run of
//! the tests meets it again. What only a target of its own could find is a property here, not merely
//! the absence of a panic.
//!
//! This crate must never be used by another one.

#![expect(
    clippy::panic,
    reason = "a target tells by a panic that a property does not hold"
)]

pub mod import;
pub mod key;
pub mod redact;
pub mod sanitise;
pub mod text;

/// What can be fed with bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, which is also that of its directory in `corpus` and of its program for libFuzzer.
    pub name: &'static str,
    /// Panics where the bytes show that a property does not hold.
    pub check: fn(&[u8]),
}

/// The text that the bytes are, with a replacement character for what is no UTF-8.
pub(crate) fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
