//! The vocabulary of confab: keys, identifiers, sessions, messages, runs, flows, deliveries, limits.
//!
//! This crate is pure. It must never do I/O, read a clock, draw a random number or depend on an
//! asynchronous runtime; time and identifiers come in through the traits in [`clock`] and [`id`].

pub mod channel;
pub mod clock;
pub mod delivery;
pub mod flow;
pub mod id;
pub mod key;
pub mod limits;
pub mod message;
pub mod run;
pub mod session;
