//! What people and programs see: tables and sentences, and JSON records.

pub mod conversation;
pub mod json;
pub mod listing;
pub mod paint;
pub mod records;
pub mod screen;
pub mod session;
pub mod table;
pub mod text;
pub mod time;
