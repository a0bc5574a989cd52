//! Decisions as pure functions over the vocabulary: who may see, send, use, spawn and change what,
//! and why.
//!
//! This crate must never do I/O, read a clock or look anything up: whoever asks brings the facts,
//! and every decision explains itself.

mod glob;
pub mod lifecycle;
pub mod send_policy;
pub mod spawn_policy;
pub mod tool_policy;
pub mod visibility;
