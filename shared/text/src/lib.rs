//! Text that leaves: truncation, the bounds of a page of messages, and their JSON.
//!
//! This crate must never do I/O or change what is stored: it works on copies, in linear time.

pub mod page;
pub mod redact;
pub mod render;
pub mod sanitise;
pub mod truncate;
