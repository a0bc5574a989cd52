//! The runner from outside: through its services, its queue and its drivers.

mod lists;
mod messages;
mod queueing;
mod reach;
mod recovery;
mod reloads;
mod script;
mod stops;
mod traces;
mod vectors;
mod waits;
