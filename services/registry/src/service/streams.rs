//! Answers without an end: they end with the server, or with the fault that breaks them.

use std::sync::Arc;

use confab_config::Settings;
use confab_proto::registry::v1 as proto;
use confab_rpc::caller::Caller;
use confab_rpc::error::RpcError;
use confab_rpc::gate::{Admitted, Gate};
use confab_store::page;
use futures::stream::{self, BoxStream, StreamExt as _};
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::Rows;
use crate::Sessions;
use crate::authorize::LocalAuthority;
use crate::awareness::{Notice, Notices};
use crate::changes::{Following, News, Told};
use crate::commands::WatchSessions;
use crate::limits::ADMISSION_INTERVAL;
use crate::store::RegistryStore;

/// Something that is read page by page; an empty page is the end.
trait Pages: Send + 'static {
    /// What is sent for each entry.
    type Item: Send + 'static;

    fn next(&mut self) -> impl Future<Output = Result<Vec<Self::Item>, RpcError>> + Send;
}

/// The entries of `pages`, read as they are taken, until `stop`.
fn endless<P: Pages>(
    pages: P,
    stop: CancellationToken,
) -> BoxStream<'static, Result<P::Item, Status>> {
    let state = Some(pages);
    stream::unfold(state, move |state| {
        let stop = stop.clone();
        async move {
            let mut pages = state?;
            let read = tokio::select! {
                biased;
                () = stop.cancelled() => return None,
                read = pages.next() => read,
            };
            match read {
                Ok(page) if page.is_empty() => None,
                Ok(page) => Some((page.into_iter().map(Ok).collect(), Some(pages))),
                Err(error) => Some((vec![Err(Status::from(error))], None)),
            }
        }
    })
    .flat_map(|page: Vec<Result<P::Item, Status>>| stream::iter(page))
    .boxed()
}

/// The notices owed.
pub(super) fn notices<S: RegistryStore>(
    notices: Notices<S>,
    stop: CancellationToken,
) -> BoxStream<'static, Result<proto::WatchNoticesResponse, Status>> {
    endless(notices, stop)
}

impl<S: RegistryStore> Pages for Notices<S> {
    type Item = proto::WatchNoticesResponse;

    async fn next(&mut self) -> Result<Vec<Self::Item>, RpcError> {
        let page = Self::next(self).await?;
        Ok(page.into_iter().map(show_notice).collect())
    }
}

fn show_notice(notice: Notice) -> proto::WatchNoticesResponse {
    proto::WatchNoticesResponse {
        notice_id: notice.id.token(),
        watcher_key: notice.id.watcher.to_string(),
        target_key: notice.id.target.to_string(),
        text: notice.text,
        tenant: notice.id.tenant.to_string(),
    }
}

/// The changes that `call` may see, judged again whenever the settings change and every minute.
pub(super) async fn sessions<S: RegistryStore>(
    sessions: Arc<Sessions<S>>,
    rows: Rows,
    call: Admitted<WatchSessions>,
    stop: CancellationToken,
) -> Result<BoxStream<'static, Result<proto::WatchSessionsResponse, Status>>, RpcError> {
    let caller = call.caller().clone();
    let settings = sessions.settings.subscribe();
    let following = sessions.watch_sessions(call).await?;
    let begin = tokio::time::Instant::now() + ADMISSION_INTERVAL;
    let mut ticks = interval_at(begin, ADMISSION_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let gate = Gate::new(LocalAuthority::new(Arc::clone(&sessions)));
    let judged = Judged {
        sessions,
        gate,
        rows,
        caller,
        following,
        settings,
        ticks,
    };
    Ok(endless(judged, stop))
}

struct Judged<S> {
    sessions: Arc<Sessions<S>>,
    gate: Gate<LocalAuthority<S>>,
    rows: Rows,
    caller: Caller,
    following: Following<S>,
    settings: watch::Receiver<Arc<Settings>>,
    ticks: Interval,
}

impl<S: RegistryStore> Judged<S> {
    async fn judge(&mut self) -> Result<(), RpcError> {
        let again = WatchSessions { after: None };
        let call = self.gate.admit_as(self.caller.clone(), again).await?;
        self.sessions.follow_on(&mut self.following, &call).await
    }

    fn show(&self, told: Told) -> proto::WatchSessionsResponse {
        use proto::watch_sessions_response::Change;
        let change = match told.news {
            News::Changed(session) => Change::Session(self.rows.show(&session, &self.caller)),
            News::Deleted(key) => Change::DeletedKey(key.to_string()),
            News::Gap => Change::Gap(true),
        };
        proto::WatchSessionsResponse {
            cursor: page::encode(&told.place),
            change: Some(change),
        }
    }
}

impl<S: RegistryStore> Pages for Judged<S> {
    type Item = proto::WatchSessionsResponse;

    async fn next(&mut self) -> Result<Vec<Self::Item>, RpcError> {
        loop {
            let page = tokio::select! {
                biased;
                Ok(()) = self.settings.changed() => None,
                _ = self.ticks.tick() => None,
                page = self.following.next() => Some(page?),
            };
            match page {
                Some(page) => return Ok(page.into_iter().map(|told| self.show(told)).collect()),
                None => self.judge().await?,
            }
        }
    }
}
