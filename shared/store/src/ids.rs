//! Where identifiers come from.

use std::sync::atomic::{AtomicU64, Ordering};

use confab_model::id::Ids;
use uuid::{Builder, Uuid};

/// Identifiers for production: version 7 in the order of their making within this process, and
/// version 4 from the operating system's random source.
#[derive(Clone, Copy, Debug, Default)]
pub struct RandomIds;

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that makes identifiers"
)]
impl Ids for RandomIds {
    fn next(&self) -> Uuid {
        Uuid::now_v7()
    }

    fn unguessable(&self) -> Uuid {
        Uuid::new_v4()
    }
}

/// Identifiers that are the same in every run, for tests and replays: the counted number 1, 2, 3 …
/// in the shape of a UUID. The "unguessable" ones are as easy to guess as the others.
#[derive(Debug, Default)]
pub struct SequentialIds(AtomicU64);

impl SequentialIds {
    /// Identifiers that begin at 1.
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    fn count(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed).saturating_add(1)
    }
}

impl Ids for SequentialIds {
    fn next(&self) -> Uuid {
        Builder::from_unix_timestamp_millis(self.count(), &[0; 10]).into_uuid()
    }

    fn unguessable(&self) -> Uuid {
        Builder::from_random_bytes(u128::from(self.count()).to_be_bytes()).into_uuid()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn assert_ascending(ids: &dyn Ids) {
        let made: Vec<Uuid> = (0..1_000).map(|_| ids.next()).collect();
        assert!(
            made.is_sorted_by(|earlier, later| earlier < later),
            "{ids:?}"
        );
        assert!(made.iter().all(|id| id.get_version_num() == 7), "{ids:?}");
    }

    #[test]
    fn later_identifiers_sort_after_earlier_ones() {
        assert_ascending(&RandomIds);
        assert_ascending(&SequentialIds::new());
    }

    #[test]
    fn unguessable_identifiers_are_of_version_4_and_all_different() {
        let random: BTreeSet<Uuid> = (0..1_000).map(|_| RandomIds.unguessable()).collect();
        assert_eq!(random.len(), 1_000);
        assert!(random.iter().all(|id| id.get_version_num() == 4));
    }

    #[test]
    fn sequential_identifiers_are_the_same_in_every_run() {
        let (first, second) = (SequentialIds::new(), SequentialIds::new());
        assert_eq!(first.next(), second.next());
        assert_eq!(first.unguessable(), second.unguessable());
        assert_eq!(
            first.next().to_string(),
            "00000000-0003-7000-8000-000000000000"
        );
    }
}
