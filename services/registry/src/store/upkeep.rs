//! What maintenance asks of a database: rows in the order in which their time runs out.

use std::future::Future;

use confab_model::clock::Timestamp;
use confab_model::id::TenantId;
use confab_store::StoreError;

use crate::store::Row;

/// A row and the tenant it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The tenant.
    pub tenant: TenantId,
    /// The row.
    pub row: Row,
}

/// Where the search for removable rows goes on: behind this place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// When the row last moved.
    pub updated_at: Timestamp,
    /// Its tenant.
    pub tenant: TenantId,
    /// Its key.
    pub key: String,
}

impl Place {
    /// Where a row stands.
    pub fn of(kept: &Kept) -> Self {
        Self {
            updated_at: kept.row.session.updated_at,
            tenant: kept.tenant.clone(),
            key: kept.row.session.key.to_string(),
        }
    }
}

/// The part of the database that finds rows whose time is over; it changes nothing.
pub trait UpkeepStore {
    /// Rows that are open without need since `moment` or longer, of one tenant or of all, the longest
    /// first.
    fn done_since(
        &self,
        tenant: Option<&TenantId>,
        moment: Timestamp,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Kept>, StoreError>> + Send;

    /// Candidates for removal that last moved before `moment`, of one tenant or of all, behind
    /// `after`, the longest unmoved first.
    fn unmoved_before(
        &self,
        tenant: Option<&TenantId>,
        moment: Timestamp,
        after: Option<&Place>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Kept>, StoreError>> + Send;

    /// How many rows each tenant has.
    fn row_counts(&self) -> impl Future<Output = Result<Vec<(TenantId, u64)>, StoreError>> + Send;
}
