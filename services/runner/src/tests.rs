//! The runner from outside: through its services, its queue and its drivers.

mod fences;
mod freshness;
mod lifecycle;
mod lists;
mod messages;
mod models;
mod notices;
mod queueing;
mod reach;
mod recovery;
mod reloads;
mod script;
mod secrets;
mod stops;
mod sweeps;
mod traces;
mod vectors;
mod waits;
mod watches;
