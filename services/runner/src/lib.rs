//! The runner: runs, flows, the queue, deliveries; and the host of the session tools.
//!
//! - what comes in: [`service`] (thin tonic adapters) and [`commands`] (parsed requests);
//! - what is accepted: [`accept`], [`send`], [`lifecycle`]; what is read and waited for: [`records`], [`waiting`];
//! - what is carried out: [`queue`] claims, [`execute`] runs, [`driver`] answers, [`scribe`] writes
//!   down, [`outbox`] delivers and reports;
//! - who watches whom: [`notices`] come in and wake their watchers, [`state_events`] go out;
//! - what follows from an event: [`plan`], with the machines of `confab-flow`;
//! - what another service's refusal means: [`refusals`]; how long it is waited for: [`patience`];
//! - what is kept: [`store`].
//!
//! This crate must never decide who may see or reach whom (the registry does), nor store a message
//! (the transcript does).

pub mod accept;
pub mod commands;
pub mod context;
pub mod driver;
pub mod execute;
pub mod lifecycle;
pub mod notices;
pub mod open;
pub mod outbox;
pub mod pages;
pub mod patience;
pub mod plan;
pub mod queue;
pub mod records;
pub mod refusals;
pub mod scribe;
pub mod send;
pub mod service;
pub mod state_events;
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
