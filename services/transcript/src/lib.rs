//! The transcript: the messages of every session.
//!
//! - what comes in: [`service`] (thin tonic adapters) and [`commands`] (parsed requests);
//! - what is done: one file for each verb ([`append`], [`history`], [`tails`], [`search`], [`fork`]), and [`shown`], which
//!   says what of a message may be seen;
//! - what is kept: [`store`].
//!
//! This crate must never decide who may read what: its gate asks the registry.

pub mod append;
pub mod commands;
pub mod entry;
pub mod export;
pub mod fork;
pub mod history;
pub mod import;
pub mod limits;
pub mod open;
pub mod search;
pub mod service;
pub mod shown;
pub mod store;
pub mod tails;
#[cfg(test)]
mod testing;

use std::path::PathBuf;
use std::sync::Arc;

use confab_config::Live;
use confab_model::clock::Clock;
use confab_model::id::Ids;
use confab_rpc::error::{Reason, RpcError};
use confab_store::StoreError;
use confab_text::redact::Redactor;

pub use open::{Transcript, TranscriptOptions};

/// What every use case works with.
#[derive(Debug)]
pub struct Messages<S> {
    /// Where messages are kept.
    pub store: S,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New message identifiers.
    pub ids: Arc<dyn Ids>,
    /// The settings in force: what is masked.
    pub settings: Live,
    /// Where an import is laid aside until it is whole.
    pub data_dir: PathBuf,
}

impl<S> Messages<S> {
    /// Masks secrets as the settings in force say.
    pub(crate) fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.settings.current().redactor)
    }
}

/// What a caller learns of a store that fails: to come back later, or nothing; the log learns why.
pub(crate) fn store_failed(error: StoreError) -> RpcError {
    let transient = error.is_transient();
    let mut failure = RpcError::internal(error);
    if transient {
        failure.reason = Reason::Unavailable;
        failure.message =
            String::from("the transcript's database cannot be used at the moment; try again");
    }
    failure
}
