//! Thin tonic adapters: parse, admit, one call, render.

mod delivery;
mod render;
mod runner;
mod worker;

pub use delivery::DeliveryApi;
pub use runner::RunnerApi;
pub use worker::WorkerApi;
