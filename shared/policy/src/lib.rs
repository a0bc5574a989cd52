//! Decisions as pure functions over the vocabulary: who may see whom, and why.
//!
//! This crate must never do I/O, read a clock or look anything up: whoever asks brings the facts,
//! and every decision explains itself.

pub mod visibility;
