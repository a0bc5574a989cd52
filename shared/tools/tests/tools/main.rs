//! The tools over services that answer what a test tells them to.

mod agents;
mod fakes;
mod history;
mod invoking;
mod list;
mod messages;
mod rows;
mod search;
mod send;
mod status;
