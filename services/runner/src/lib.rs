//! The runner: runs, flows, the queue, deliveries; and the host of the session tools.
//!
//! - what comes in: [`service`] (thin tonic adapters) and [`commands`] (parsed requests);
//! - what is accepted: [`accept`], [`send`]; what is read and waited for: [`records`], [`waiting`];
//! - what is carried out: [`queue`] claims, [`execute`] runs, [`driver`] answers, [`scribe`] writes
//!   down, [`outbox`] delivers and reports;
//! - what follows from an event: [`plan`], with the machines of `confab-flow`;
//! - what another service's refusal means: [`refusals`];
//! - what is kept: [`store`].
//!
//! This crate must never decide who may see or reach whom (the registry does), nor store a message
//! (the transcript does).

pub mod accept;
pub mod commands;
pub mod context;
pub mod driver;
pub mod execute;
pub mod fingerprint;
pub mod open;
pub mod outbox;
pub mod pages;
pub mod plan;
pub mod queue;
pub mod records;
pub mod refusals;
pub mod scribe;
pub mod send;
pub mod service;
pub mod store;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub mod tidy;
pub mod tokens;
pub mod wait_graph;
pub mod waiting;
pub mod wakeups;

pub use open::{NAME, Runner, RunnerOptions};
pub use tokens::LiveRuns;
