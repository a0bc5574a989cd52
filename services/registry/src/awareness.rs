//! State awareness: what happened to sessions, and who must be told.
//!
//! Every session has a log of events; its version is the sequence of the newest one. A session that
//! watches another has a cursor in that one's log, and is owed at most one notice at a time. A notice
//! says that something changed and where to begin reading; it is owed until it is acknowledged.

mod cursor;
mod event;
mod notice;
#[cfg(test)]
mod tests;
mod wire;

use confab_model::id::TenantId;
use confab_model::key::SessionKey;
use confab_model::session::Session;
use confab_rpc::error::RpcError;
use confab_rpc::gate::Admitted;
use tokio::sync::watch;

pub use self::cursor::Cursor;
pub use self::event::{
    Account, Actor, Effect, EventKind, NewEvent, Outcome, StateChanges, StateEvent, account,
};
pub use self::notice::{Notice, NoticeId};
pub use self::wire::changes_to_proto;
use crate::commands::{AckNotices, ListStateEvents, WatchNotices, WatchTarget};
use crate::limits::{NOTICES_PAGE, NOTICES_POLL, STATE_EVENTS_MAX};
use crate::store::{RegistryStore, Watch};
use crate::{Sessions, store_failed};

/// Whether a session with this key can watch others: it must be an agent's.
///
/// Source: reg:W13.
pub fn can_watch(key: &SessionKey) -> bool {
    key.agent_id().is_some()
}

impl<S: RegistryStore> Sessions<S> {
    /// The events of a session behind `after`, at most [`STATE_EVENTS_MAX`]. Reading acknowledges
    /// nothing.
    ///
    /// # Errors
    /// When the store fails.
    ///
    /// Source: reg:S14, reg:W25, reg:W27, reg:W28, reg:W29.
    pub async fn state_changes(
        &self,
        tenant: &TenantId,
        session: &Session,
        after: u64,
    ) -> Result<StateChanges, RpcError> {
        self.store
            .state_changes(tenant, &session.key, after, STATE_EVENTS_MAX)
            .await
            .map_err(store_failed)
    }

    /// The events of the session that a call names.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn list_state_events(
        &self,
        call: Admitted<ListStateEvents>,
    ) -> Result<StateChanges, RpcError> {
        let session = call.session()?;
        let ListStateEvents { after, limit, .. } = *call.request();
        let tenant = &call.caller().tenant;
        self.store
            .state_changes(tenant, &session.key, after, limit.min(STATE_EVENTS_MAX))
            .await
            .map_err(store_failed)
    }

    /// Registers a watcher from the target's present version on; one that watches already goes on as
    /// it was. Says whether the session watches.
    ///
    /// # Errors
    /// When the store fails.
    ///
    /// Source: D51, reg:W13, reg:W15.
    pub async fn watch_target(&self, call: Admitted<WatchTarget>) -> Result<bool, RpcError> {
        let (request, caller, _) = call.into_parts();
        let WatchTarget { watcher, target } = request;
        if watcher == target || !can_watch(&watcher) {
            return Ok(false);
        }
        let watch = Watch {
            tenant: caller.tenant,
            watcher,
            target,
        };
        self.store
            .watch(watch, self.clock.now())
            .await
            .map_err(store_failed)
    }

    /// Takes up what is owed to watchers after a restart. Nothing is lost where that fails, which the
    /// log tells: what was owed before still is.
    ///
    /// Source: reg:W6, reg:W23, reg:W26.
    pub async fn take_up(&self) {
        if let Err(error) = self.store.sweep(self.clock.now()).await {
            tracing::error!(%error, "the notices owed could not be taken up");
        }
    }

    /// The notices owed in all tenants, from the first one on.
    pub fn notices(&self, _call: &Admitted<WatchNotices>) -> Notices<S> {
        Notices {
            store: self.store.clone(),
            commits: self.store.commits(),
            after: 0,
        }
    }

    /// Takes note that notices are stored with their watchers' next runs. What is not owed, or is no
    /// notice at all, is passed over: the same acknowledgement may come twice.
    ///
    /// # Errors
    /// When the store fails.
    ///
    /// Source: reg:W22.
    pub async fn acknowledge(&self, call: Admitted<AckNotices>) -> Result<(), RpcError> {
        let (request, ..) = call.into_parts();
        if request.notices.is_empty() {
            return Ok(());
        }
        self.store
            .acknowledge(request.notices, self.clock.now())
            .await
            .map_err(store_failed)
    }
}

/// The notices owed, as they come to be owed: first all that are, then each fresh one.
#[derive(Debug)]
pub struct Notices<S> {
    store: S,
    commits: watch::Receiver<u64>,
    after: u64,
}

impl<S: RegistryStore> Notices<S> {
    /// The next notices, as soon as there are some; nothing after the store was closed. Dropping the
    /// future loses none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn next(&mut self) -> Result<Vec<Notice>, RpcError> {
        loop {
            // Marked before the store is read: a commit in between wakes at once.
            self.commits.borrow_and_update();
            let page = self.store.owed(self.after, NOTICES_PAGE).await;
            let page = page.map_err(store_failed)?;
            if let Some(last) = page.last() {
                self.after = last.number;
                return Ok(page);
            }
            let woken = tokio::time::timeout(NOTICES_POLL, self.commits.changed()).await;
            if matches!(woken, Ok(Err(_))) {
                return Ok(Vec::new());
            }
        }
    }
}
