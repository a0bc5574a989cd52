//! Storing sessions that another system kept.

use std::future::Future;

use confab_model::id::TenantId;
use confab_store::StoreError;

use crate::import::{Imported, Importing};

/// The part of the database that takes sessions of other systems.
pub trait ImportStore {
    /// Reads what the database knows of the session, lets [`Importing::judge`] decide, and stores what
    /// it says: one transaction, so that of two imports of one key the second sees the first. A dry
    /// run does all of it, and then undoes it.
    ///
    /// Source: D26.
    fn import(
        &self,
        tenant: &TenantId,
        importing: Importing,
    ) -> impl Future<Output = Result<Imported, StoreError>> + Send;
}
