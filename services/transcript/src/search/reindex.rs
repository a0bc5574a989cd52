//! Bringing the index up to date.

use confab_rpc::error::RpcError;
use confab_text::redact::Redactor;

use crate::limits::{INDEX_PIECE_BYTES, INDEX_PIECE_MESSAGES};
use crate::search::words::folded;
use crate::shown::readable_text;
use crate::store::TranscriptStore;
use crate::store::search::{Backlog, Entry, IndexPiece, IndexState, SearchStore};
use crate::{Messages, store_failed};

/// Changes with what becomes of a text on its way into the index: the words, and the sanitiser.
const EDITION: u32 = 1;

impl<S: TranscriptStore + SearchStore> Messages<S> {
    /// Covers everything that is stored when this begins, under the rules in force, and answers with
    /// the rules and how far the index must go. Two that do so at once help each other.
    ///
    /// # Errors
    /// When the store fails; what was covered until then stays.
    ///
    /// Source: D77.
    pub(crate) async fn catch_up(&self) -> Result<IndexState, RpcError> {
        let mut head = None;
        loop {
            // Read every time, so that all agree soon where the rules change meanwhile.
            let redactor = self.redactor();
            let rules = rules_of(&redactor);
            let state = self.store.index_state().await.map_err(store_failed)?;
            let head = *head.get_or_insert(state.head);
            if state.rules != rules {
                let restarted = self.store.restart_index(&state.rules, &rules).await;
                restarted.map_err(store_failed)?;
                tracing::info!("the search index is built anew: the rules of masking are others");
            } else if state.indexed >= head {
                return Ok(IndexState { head, ..state });
            } else {
                self.extend(&state, &redactor).await?;
            }
        }
    }

    /// Covers the next messages.
    async fn extend(&self, state: &IndexState, redactor: &Redactor) -> Result<(), RpcError> {
        let after = state.indexed;
        let backlog = self
            .store
            .backlog(after, INDEX_PIECE_MESSAGES, INDEX_PIECE_BYTES)
            .await;
        let Backlog { messages, through } = backlog.map_err(store_failed)?;
        let mut entries = Vec::with_capacity(messages.len());
        for one in messages {
            let Some(body) = one.body else {
                tracing::warn!(
                    place = one.place,
                    "a message that cannot be read is not indexed"
                );
                continue;
            };
            let words = folded(&readable_text(&body, redactor));
            if !words.is_empty() {
                entries.push(Entry {
                    place: one.place,
                    tenant: one.tenant,
                    words,
                });
            }
            // Long texts take their time, and others wait for this thread.
            tokio::task::yield_now().await;
        }
        let piece = IndexPiece {
            rules: state.rules.clone(),
            after,
            through,
            entries,
        };
        self.store.extend_index(piece).await.map_err(store_failed)
    }

    /// Covers what is stored if that is worth a commit of its own: when a whole piece waits, or the
    /// rules have changed. The next search covers the rest.
    ///
    /// # Errors
    /// When the store fails.
    pub(crate) async fn catch_up_far(&self) -> Result<(), RpcError> {
        let state = self.store.index_state().await.map_err(store_failed)?;
        let waiting = state.head.saturating_sub(state.indexed);
        let outdated = state.rules != rules_of(&self.redactor());
        if outdated || waiting >= u64::from(INDEX_PIECE_MESSAGES) {
            self.catch_up().await?;
        }
        Ok(())
    }
}

/// Names everything that decides which words of a message may be found.
fn rules_of(redactor: &Redactor) -> String {
    format!("{EDITION}:{}", redactor.fingerprint())
}
