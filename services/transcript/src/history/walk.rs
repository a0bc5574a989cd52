//! Walking through the messages of a view, a few at a time.

use std::collections::VecDeque;

use confab_model::clock::Timestamp;
use confab_rpc::error::RpcError;

use super::source::Source;
use crate::commands::Filter;
use crate::limits::CHUNK_ROWS;
use crate::store::{Row, Stretch, TranscriptStore};
use crate::store_failed;

/// A walk in one direction.
#[derive(Debug)]
pub(super) struct Walk<'w, S> {
    source: &'w Source<'w, S>,
    after: Option<Timestamp>,
    before: Option<Timestamp>,
    newest_first: bool,
    /// What is left lies behind this ordinal …
    floor: u64,
    /// … up to this one.
    last: u64,
    chunk: VecDeque<Row>,
}

impl<'w, S: TranscriptStore> Walk<'w, S> {
    /// From the message with the ordinal `last` back to the one behind `floor`.
    pub(super) const fn down(source: &'w Source<'w, S>, floor: u64, last: u64) -> Self {
        Self {
            source,
            after: None,
            before: None,
            newest_first: true,
            floor,
            last,
            chunk: VecDeque::new(),
        }
    }

    /// From the message behind `floor` to the one with the ordinal `last`.
    pub(super) const fn up(source: &'w Source<'w, S>, floor: u64, last: u64) -> Self {
        let mut walk = Self::down(source, floor, last);
        walk.newest_first = false;
        walk
    }

    /// The same walk past everything that was not said when the filter wants it.
    pub(super) fn when(self, filter: &Filter) -> Self {
        Self {
            after: filter.after,
            before: filter.before,
            ..self
        }
    }

    /// The next message.
    pub(super) async fn next(&mut self) -> Result<Option<Row>, RpcError> {
        while self.chunk.is_empty() && self.floor < self.last {
            self.chunk = self.read().await?.into();
        }
        Ok(self.chunk.pop_front())
    }

    async fn read(&mut self) -> Result<Vec<Row>, RpcError> {
        let (floor, last) = self.take();
        let stretch = Stretch {
            view: self.source.view,
            first: floor.saturating_add(1),
            last,
            newest_first: self.newest_first,
            after: self.after,
            before: self.before,
        };
        let Source {
            store,
            tenant,
            session_id,
            ..
        } = self.source;
        let read = store.rows(tenant, session_id, stretch).await;
        read.map_err(store_failed)
    }

    /// Takes the next chunk off what is left.
    fn take(&mut self) -> (u64, u64) {
        let (floor, last) = (self.floor, self.last);
        if self.newest_first {
            self.last = last.saturating_sub(CHUNK_ROWS).max(floor);
            (self.last, last)
        } else {
            self.floor = floor.saturating_add(CHUNK_ROWS).min(last);
            (floor, self.floor)
        }
    }
}

/// The next message of one of two walks: of `up` where `from_up` says so, and of the other one where
/// that has ended.
pub(super) async fn either<'w, S: TranscriptStore>(
    down: &mut Walk<'w, S>,
    up: &mut Walk<'w, S>,
    from_up: bool,
) -> Result<Option<Row>, RpcError> {
    let (first, second) = if from_up { (up, down) } else { (down, up) };
    match first.next().await? {
        Some(row) => Ok(Some(row)),
        None => second.next().await,
    }
}
