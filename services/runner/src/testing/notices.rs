//! The registry's half of notices: owed until acknowledged, brought by a stream that can be cut.

use std::sync::{Arc, Mutex};

use confab_proto::registry::v1::{WatchNoticesResponse, WatchTargetRequest};
use confab_rpc::error::{Reason, RpcError};
use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedSender, unbounded};
use futures::stream::BoxStream;
use tokio::sync::watch;
use tonic::Status;

type Brought = Result<WatchNoticesResponse, Status>;

/// What the registry owes to watchers. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct FakeNotices {
    state: Arc<Mutex<State>>,
    changes: Arc<watch::Sender<u64>>,
}

#[derive(Debug, Default)]
struct State {
    owed: Vec<WatchNoticesResponse>,
    streams: Vec<UnboundedSender<Brought>>,
    opened: usize,
    /// Acknowledgements, in order, repeated ones too.
    acknowledged: Vec<String>,
    /// Whether acknowledgements are answered; otherwise the registry is out of reach for them.
    deaf: bool,
    /// Acknowledgements that were not answered.
    unheard: usize,
    /// Who asked to watch whom.
    watches: Vec<(String, String)>,
    /// What a watch is answered; out of reach where absent.
    watched: Option<bool>,
}

/// A notice as the registry words it.
pub(crate) fn notice(id: &str, watcher: &str, target: &str) -> WatchNoticesResponse {
    WatchNoticesResponse {
        notice_id: id.to_owned(),
        watcher_key: watcher.to_owned(),
        target_key: target.to_owned(),
        text: line(id, target),
        tenant: "default".to_owned(),
    }
}

/// The line of that notice.
pub(crate) fn line(id: &str, target: &str) -> String {
    format!("Session \"{target}\" changed (notice {id}).")
}

impl FakeNotices {
    fn change<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let changed = act(&mut self.state.lock().unwrap());
        self.changes.send_modify(|count| *count += 1);
        changed
    }

    async fn until(&self, over: impl Fn(&State) -> bool) {
        let mut changes = self.changes.subscribe();
        while !over(&self.state.lock().unwrap()) {
            changes.changed().await.unwrap();
        }
    }

    /// Owes a notice from here on, and brings it by every open stream.
    pub(crate) fn push(&self, notice: &WatchNoticesResponse) {
        self.change(|state| {
            state.owed.push(notice.clone());
            bring(state, notice);
        });
    }

    /// Brings a notice by the open streams, owed or not.
    pub(crate) fn bring_again(&self, notice: &WatchNoticesResponse) {
        self.change(|state| bring(state, notice));
    }

    /// Ends every open stream.
    pub(crate) fn cut(&self) {
        self.change(|state| state.streams.clear());
    }

    /// Until so many streams were opened, over all lives.
    pub(crate) async fn until_opened(&self, count: usize) {
        self.until(|state| state.opened >= count).await;
    }

    /// Does not answer acknowledgements from here on, or does again.
    pub(crate) fn be_deaf(&self, deaf: bool) {
        self.change(|state| (state.deaf, state.unheard) = (deaf, 0));
    }

    /// Until so many acknowledgements were not answered.
    pub(crate) async fn until_unheard(&self, count: usize) {
        self.until(|state| state.unheard >= count).await;
    }

    /// Until these notices were acknowledged, in whatever order.
    pub(crate) async fn until_acknowledged(&self, ids: &[&str]) {
        self.until(|state| {
            let known = |id: &&str| state.acknowledged.iter().any(|one| one == id);
            ids.iter().all(known)
        })
        .await;
    }

    /// Every acknowledgement, in order.
    pub(crate) fn acknowledged(&self) -> Vec<String> {
        self.state.lock().unwrap().acknowledged.clone()
    }

    /// What watches are answered; nothing puts the registry out of reach for them.
    pub(crate) fn answer_watches(&self, watched: Option<bool>) {
        self.change(|state| state.watched = watched);
    }

    /// Until so many watches were asked for.
    pub(crate) async fn until_watches(&self, count: usize) {
        self.until(|state| state.watches.len() >= count).await;
    }

    /// Who asked to watch whom, in order.
    pub(crate) fn watches(&self) -> Vec<(String, String)> {
        self.state.lock().unwrap().watches.clone()
    }

    /// A stream of all that is owed, then of what comes.
    pub(super) fn stream(&self) -> BoxStream<'static, Brought> {
        self.change(|state| {
            let (sender, receiver) = unbounded();
            for notice in &state.owed {
                sender.unbounded_send(Ok(notice.clone())).unwrap();
            }
            state.streams.push(sender);
            state.opened += 1;
            receiver.boxed()
        })
    }

    pub(super) fn acknowledge(&self, ids: Vec<String>) -> Result<(), RpcError> {
        self.change(|state| {
            if state.deaf {
                state.unheard += 1;
                return Err(RpcError::new(Reason::Unavailable, "on purpose"));
            }
            state.owed.retain(|notice| !ids.contains(&notice.notice_id));
            state.acknowledged.extend(ids);
            Ok(())
        })
    }

    pub(super) fn watch(&self, request: WatchTargetRequest) -> Result<bool, RpcError> {
        self.change(|state| {
            state
                .watches
                .push((request.watcher_key, request.target_key));
            let unavailable = || RpcError::new(Reason::Unavailable, "on purpose");
            state.watched.ok_or_else(unavailable)
        })
    }
}

fn bring(state: &mut State, notice: &WatchNoticesResponse) {
    state
        .streams
        .retain(|stream| stream.unbounded_send(Ok(notice.clone())).is_ok());
}
