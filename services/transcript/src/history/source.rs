//! One transcript as one view shows it.

use confab_model::id::{SessionId, TenantId};
use confab_model::message::Compaction;
use confab_rpc::error::RpcError;

use crate::store::{Mark, TranscriptStore, View};
use crate::store_failed;

/// Where a page is read from.
#[derive(Debug)]
pub(super) struct Source<'s, S> {
    pub(super) store: &'s S,
    pub(super) tenant: &'s TenantId,
    pub(super) session_id: &'s SessionId,
    pub(super) view: View,
}

/// The messages that a page may come from, by their ordinals in the view.
#[derive(Clone, Debug)]
pub(super) struct Span {
    /// What comes before the first one; 0 in a whole transcript.
    pub(super) floor: u64,
    /// The last one.
    pub(super) last: u64,
    /// Where it ends, as a sequence.
    pub(super) snapshot: u64,
    /// The compaction that it begins with.
    pub(super) compaction: Option<Compaction>,
}

impl Span {
    pub(super) const fn total(&self) -> u64 {
        self.last.saturating_sub(self.floor)
    }
}

impl<S: TranscriptStore> Source<'_, S> {
    /// The messages up to `end`, from the first one that the compaction at `marker` kept.
    pub(super) async fn span(&self, end: Mark, marker: Option<u64>) -> Result<Span, RpcError> {
        let compaction = match marker {
            Some(seq) => self.compaction(seq).await?,
            None => None,
        };
        let kept_from = compaction.as_ref().zip(marker).map(|(one, marker)| {
            one.first_kept_seq
                .unwrap_or_else(|| marker.saturating_add(1))
        });
        let last = end.count(self.view);
        let floor = match kept_from {
            Some(seq) => self
                .end(Some(seq.saturating_sub(1)))
                .await?
                .count(self.view),
            None => 0,
        };
        Ok(Span {
            floor: floor.min(last),
            last,
            snapshot: end.seq,
            compaction,
        })
    }

    /// A marker that cannot be read hides nothing: the whole transcript is shown.
    async fn compaction(&self, seq: u64) -> Result<Option<Compaction>, RpcError> {
        let read = self.store.row(self.tenant, self.session_id, seq).await;
        let body = read.map_err(store_failed)?.and_then(|row| row.body);
        if body.is_none() {
            tracing::warn!(
                session.id = %self.session_id,
                seq,
                "the marker of a compaction cannot be read"
            );
        }
        Ok(body.and_then(|body| body.compaction))
    }

    /// The end of the transcript: the live one, or the place `at` before it.
    pub(super) async fn end(&self, at: Option<u64>) -> Result<Mark, RpcError> {
        let end = self.store.end(self.tenant, self.session_id, at).await;
        end.map_err(store_failed)
    }

    /// The sequence of the `ordinal`-th message of the view.
    pub(super) async fn seq_of(&self, ordinal: u64) -> Result<Option<u64>, RpcError> {
        let seq = self
            .store
            .seq_of(self.tenant, self.session_id, self.view, ordinal)
            .await;
        seq.map_err(store_failed)
    }

    /// Where a walk goes on below the message at `seq`; `None` where nothing of the span is left.
    pub(super) async fn next_below(&self, seq: u64, span: &Span) -> Result<Option<u64>, RpcError> {
        let next = seq.saturating_sub(1);
        let left = self.end(Some(next)).await?.count(self.view);
        Ok((left > span.floor).then_some(next))
    }

    /// The ordinal of the message of the span that lies nearest to `seq`, the older one of two.
    pub(super) async fn nearest(&self, seq: u64, span: &Span) -> Result<Option<u64>, RpcError> {
        if span.total() == 0 {
            return Ok(None);
        }
        let up_to = self.end(Some(seq)).await?.count(self.view);
        let older = up_to.clamp(span.floor.saturating_add(1), span.last);
        if older == span.last {
            return Ok(Some(older));
        }
        let newer = older.saturating_add(1);
        let (below, above) = (self.seq_of(older).await?, self.seq_of(newer).await?);
        let nearer = below
            .zip(above)
            .is_some_and(|(below, above)| above.saturating_sub(seq) < seq.saturating_sub(below));
        Ok(Some(if nearer { newer } else { older }))
    }
}
