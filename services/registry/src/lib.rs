//! The registry: sessions, their lineage, and the one authority on who may see and reach whom.
//!
//! - what comes in: [`service`] (thin tonic adapters) and [`commands`] (parsed requests);
//! - what is done: one file for each verb ([`create`], [`list`], [`activity`], [`authorize`]);
//! - what is kept: [`store`].
//!
//! This crate must never call another service, and no other part of confab may decide who sees what.

pub mod activity;
pub mod agents;
pub mod authorize;
pub mod awareness;
pub mod changes;
pub mod commands;
pub mod create;
pub mod import;
pub mod lifecycle;
pub mod limits;
pub mod list;
pub mod maintenance;
mod meaning;
pub mod open;
pub mod patch;
pub mod service;
pub mod status;
pub mod store;
#[cfg(test)]
mod testing;

use std::sync::Arc;

use confab_config::Live;
use confab_model::clock::Clock;
use confab_model::id::Ids;
use confab_rpc::error::{Reason, RpcError};
use confab_store::StoreError;

pub use open::{Registry, RegistryOptions};

/// What every use case works with.
#[derive(Debug)]
pub struct Sessions<S> {
    /// Where rows are kept.
    pub store: S,
    /// The settings in force.
    pub settings: Live,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New sessionIds.
    pub ids: Arc<dyn Ids>,
}

/// What a caller learns of a store that fails: to come back later, or nothing; the log learns why.
pub(crate) fn store_failed(error: StoreError) -> RpcError {
    let transient = error.is_transient();
    let mut failure = RpcError::internal(error);
    if transient {
        failure.reason = Reason::Unavailable;
        failure.message =
            String::from("the registry's database cannot be used at the moment; try again");
    }
    failure
}
