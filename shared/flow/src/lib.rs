//! The runner's long-running logic as state machines without I/O: events in, actions out.
//!
//! A flow is a journal of events. Applying them gives the same state every time, so a process that
//! starts again replays the journal and asks the machine what is still outstanding.
//!
//! This crate is pure. It must never do I/O, read a clock, draw a random number or make an
//! identifier: whoever drives a machine derives the identifiers from the flow and the step.

pub mod exchange;
