//! A page of messages.

mod fill;
mod source;
mod walk;

use confab_model::id::SessionId;
use confab_model::key::SessionKey;
use confab_model::message::{Compaction, Message};
use confab_rpc::error::RpcError;
use confab_rpc::gate::Admitted;
use confab_text::redact::Redactor;

use self::fill::Fill;
use self::source::{Source, Span};
use self::walk::Walk;
use crate::Messages;
use crate::commands::{Filter, GetHistory, Part};
use crate::limits::FILTERED_ROWS_MAX;
use crate::shown::show_compaction;
use crate::store::{Mark, TranscriptStore, View};

/// One page of messages, as they may be seen.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryPage {
    /// The session's key.
    pub session_key: SessionKey,
    /// The key as the caller may call it.
    pub display_key: String,
    /// The generation.
    pub session_id: SessionId,
    /// The messages.
    pub bounded: Bounded,
    /// The limit in force, where the asked one was lowered.
    pub limit_applied: Option<u32>,
    /// Where the page stands; only where an offset was asked for.
    pub paging: Option<Paging>,
    /// The last compaction, where only what the agent still reads was asked for.
    pub compaction: Option<Compaction>,
    /// Where a walk with a filter goes on, as a sequence; absent where nothing older is left.
    pub next_snapshot: Option<u64>,
}

/// The messages of a page, within its bounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounded {
    /// Oldest first, each with whether it stands for a message that is not shown.
    pub messages: Vec<(Message, bool)>,
    /// Whether messages were left out, or lost their content, to stay under the bound.
    pub dropped_messages: bool,
    /// Whether a text was cut or a part left out.
    pub content_truncated: bool,
    /// Whether a secret was masked.
    pub content_redacted: bool,
    /// Messages that cannot be read, and are shown as placeholders.
    pub skipped_rows: u64,
    /// Size of the messages as the tool's JSON, in bytes.
    pub bytes: usize,
}

impl Bounded {
    /// Whether anything is missing or cut.
    pub const fn is_truncated(&self) -> bool {
        self.dropped_messages || self.content_truncated || self.skipped_rows > 0
    }
}

/// Where a page stands in a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paging {
    /// The offset asked for.
    pub offset: u64,
    /// Shown messages up to the snapshot.
    pub total_messages: u64,
    /// The offset of the next page; absent on the last one.
    pub next_offset: Option<u64>,
    /// The end of the walk.
    pub snapshot: u64,
}

/// What was read for a page.
struct Read {
    bounded: Bounded,
    span: Span,
    paging: Option<Paging>,
    next_snapshot: Option<u64>,
}

impl<S: TranscriptStore> Messages<S> {
    /// Reads a page of the admitted session's messages.
    ///
    /// # Errors
    /// When the store fails.
    ///
    /// Source: D20, D21, D22, D24, D26, run:H34, run:H40, run:H41, run:H42, run:H43, run:H44,
    /// run:H45, run:T15, B145, B146.
    pub async fn history(&self, call: Admitted<GetHistory>) -> Result<HistoryPage, RpcError> {
        let session = call.session()?;
        let (request, caller) = (call.request(), call.caller());
        let redactor = self.redactor();
        let reading = Reading {
            source: Source {
                store: &self.store,
                tenant: &caller.tenant,
                session_id: &session.session_id,
                view: View::with_tools(request.include_tools),
            },
            redactor: &redactor,
            limit: request.limit.value.into(),
            active: request.active_view,
        };
        let mut read = match &request.part {
            Part::Tail { offset, snapshot } => reading.tail(*offset, *snapshot).await?,
            Part::Filtered { filter, snapshot } => reading.filtered(filter, *snapshot).await?,
            Part::Around { seq } => reading.around(*seq).await?,
        };
        let compaction = read.span.compaction.take();
        Ok(HistoryPage {
            session_key: session.key.clone(),
            display_key: session.key.display_for(caller.session()).to_owned(),
            session_id: session.session_id.clone(),
            compaction: compaction.map(|one| read.bounded.tell(&one, &redactor)),
            bounded: read.bounded,
            limit_applied: request.limit.applied,
            paging: read.paging,
            next_snapshot: read.next_snapshot,
        })
    }
}

impl Bounded {
    /// A summary is a text of the page like every other: what is done to it is flagged.
    fn tell(&mut self, compaction: &Compaction, redactor: &Redactor) -> Compaction {
        let (shown, truncated, redacted) = show_compaction(compaction, redactor);
        self.content_truncated |= truncated;
        self.content_redacted |= redacted;
        shown
    }
}

/// One reading of one transcript.
struct Reading<'r, S> {
    source: Source<'r, S>,
    redactor: &'r Redactor,
    limit: u64,
    active: bool,
}

impl<S: TranscriptStore> Reading<'_, S> {
    async fn tail(&self, offset: Option<u64>, snapshot: Option<u64>) -> Result<Read, RpcError> {
        let span = self.span(snapshot).await?;
        let last = span.last.saturating_sub(offset.unwrap_or_default());
        let first = last.saturating_sub(self.limit).max(span.floor);
        let mut walk = Walk::down(&self.source, first, last);
        let mut fill = self.fill();
        while let Some(row) = walk.next().await? {
            if !fill.offer(row) {
                break;
            }
        }
        let bounded = fill.finish();
        let paging = offset.map(|offset| Paging {
            offset,
            total_messages: span.total(),
            next_offset: next_offset(offset, bounded.messages.len(), span.total()),
            snapshot: span.snapshot,
        });
        Ok(Read {
            bounded,
            span,
            paging,
            next_snapshot: None,
        })
    }

    /// Looks at a bounded number of messages, whatever passes: the walk goes on from the answer's
    /// snapshot. That lies before the end it began with, so the active view of such a walk is that of
    /// the last compaction there is.
    async fn filtered(&self, filter: &Filter, snapshot: Option<u64>) -> Result<Read, RpcError> {
        let live = self.source.end(None).await?;
        let end = match snapshot {
            Some(seq) => self.source.end(Some(seq)).await?,
            None => live,
        };
        let span = self.source.span(end, self.marker(live)).await?;
        let first = span.last.saturating_sub(FILTERED_ROWS_MAX).max(span.floor);
        let mut walk = Walk::down(&self.source, first, span.last).when(filter);
        let mut fill = self.fill();
        let (mut passed, mut stopped) = (0, false);
        while let Some(row) = walk.next().await? {
            // Nobody knows what a message that cannot be read was: it may be one of these.
            if row
                .body
                .as_ref()
                .is_some_and(|body| !filter.passes(body.role))
            {
                continue;
            }
            passed += 1;
            stopped = !fill.offer(row) || passed == self.limit;
            if stopped {
                break;
            }
        }
        let bounded = fill.finish();
        let oldest = bounded.messages.first().map(|(message, _)| message.seq);
        let next_snapshot = match oldest.filter(|_| stopped || bounded.dropped_messages) {
            Some(oldest) => self.source.next_below(oldest, &span).await?,
            None if first > span.floor => self.source.seq_of(first).await?,
            None => None,
        };
        Ok(Read {
            bounded,
            span,
            paging: None,
            next_snapshot,
        })
    }

    /// Half of the page is older than the message at the place, the rest newer; what has no room is
    /// left out at both ends (run:H34).
    async fn around(&self, seq: u64) -> Result<Read, RpcError> {
        let span = self.span(None).await?;
        let mut fill = self.fill();
        if let Some(centre) = self.source.nearest(seq, &span).await? {
            let older = self.limit / 2;
            let newer = self.limit.saturating_sub(older).saturating_sub(1);
            let first = centre
                .saturating_sub(older)
                .saturating_sub(1)
                .max(span.floor);
            let last = centre.saturating_add(newer).min(span.last);
            let below = centre.saturating_sub(1);
            let mut down = Walk::down(&self.source, first, below);
            let mut up = Walk::up(&self.source, below, last);
            // The message at the place comes first, then the older one beside it.
            let mut from_newer = true;
            while let Some(row) = walk::either(&mut down, &mut up, from_newer).await? {
                if !fill.offer(row) {
                    break;
                }
                from_newer = !from_newer;
            }
        }
        Ok(Read {
            bounded: fill.finish(),
            span,
            paging: None,
            next_snapshot: None,
        })
    }

    /// The messages up to `snapshot`, as far as they are asked for.
    async fn span(&self, snapshot: Option<u64>) -> Result<Span, RpcError> {
        let end = self.source.end(snapshot).await?;
        self.source.span(end, self.marker(end)).await
    }

    /// The compaction with which the messages begin; of a whole transcript, none.
    fn marker(&self, end: Mark) -> Option<u64> {
        end.compaction_seq.filter(|_| self.active)
    }

    fn fill(&self) -> Fill<'_> {
        Fill::new(self.source.view, self.redactor, self.source.session_id)
    }
}

/// Counted over the messages that are left, so that what the bound on bytes dropped is on the next
/// page (run:H44).
fn next_offset(offset: u64, shown: usize, total: u64) -> Option<u64> {
    let shown = u64::try_from(shown).unwrap_or(u64::MAX);
    let next = offset.saturating_add(shown);
    (shown > 0 && next < total).then_some(next)
}

#[cfg(test)]
mod tests;
