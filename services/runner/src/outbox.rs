//! What leaves the runner on its own: deliveries to channels, and what the registry is told of runs.
//!
//! Both are rows written with the event that causes them, and loops that work them off.

mod activity;
mod deliveries;
mod sink;

use std::time::Duration;

pub use activity::report_activity;
pub use deliveries::deliver;

/// Most deliveries or records taken at a time.
const BATCH: u32 = 256;
/// The pause after a batch that failed.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(500);
