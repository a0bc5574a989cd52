//! Following the changes of sessions, from any change on.
//!
//! Every write of a row takes the next place among the changes of the database, so what changed
//! behind a place is read from the rows themselves: nothing is queued for anybody, a slow reader
//! slows only itself, and a session that changed several times is told once, as it is.

use confab_model::id::TenantId;
use confab_model::key::{Scope, SessionKey};
use confab_model::session::Session;
use confab_rpc::error::RpcError;
use confab_rpc::gate::{Admitted, Among, Reach};
use confab_store::page::Cursor;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::commands::WatchSessions;
use crate::limits::CHANGES_PAGE;
use crate::store::RegistryStore;
use crate::store::awareness::{ChangedState, Present, SessionChange};
use crate::{Sessions, store_failed};

/// A place among the changes of one database, as one tenant follows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The database.
    database: String,
    /// The tenant.
    tenant: TenantId,
    /// The last change seen.
    change: u64,
}

impl Cursor for Place {
    const KIND: &'static str = "changes";
}

impl Place {
    fn of(present: &Present, tenant: &TenantId, change: u64) -> Self {
        Self {
            database: present.database.clone(),
            tenant: tenant.clone(),
            change,
        }
    }

    /// Whether changes behind this place are lost: deletions that are no longer kept, or a database
    /// that is another, or an older copy of the one the place is in.
    fn has_gap(&self, present: &Present) -> bool {
        self.database != present.database
            || self.change < present.floor
            || self.change > present.head
    }
}

/// What a follower is told, and the place to go on from.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The place.
    pub place: Place,
    /// What happened.
    pub news: News,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// A session was made, or changed: as it is.
    Changed(Box<Session>),
    /// A session is gone.
    Deleted(SessionKey),
    /// Changes are lost: everything must be read anew.
    Gap,
}

impl<S: RegistryStore> Sessions<S> {
    /// Follows the changes of the sessions within the caller's reach: behind the place it names, or
    /// from the present on.
    ///
    /// # Errors
    /// When the place belongs to another tenant, or the store fails.
    ///
    /// Source: B219.
    pub async fn watch_sessions(
        &self,
        call: Admitted<WatchSessions>,
    ) -> Result<Following<S>, RpcError> {
        let tenant = call.caller().tenant.clone();
        let reach = self.spelled_out(&call).await?;
        // Subscribed before the present is read: what is committed in between wakes at once.
        let commits = self.store.commits();
        let (request, ..) = call.into_parts();
        let place = match request.after {
            Some(place) if place.tenant == tenant => place,
            Some(_) => return Err(foreign_cursor()),
            None => {
                let present = self.store.present(&tenant).await.map_err(store_failed)?;
                Place::of(&present, &tenant, present.head)
            },
        };
        Ok(Following {
            store: self.store.clone(),
            commits,
            tenant,
            reach,
            place,
        })
    }

    /// Judges a follower once more: what it may see from here on.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn follow_on(
        &self,
        following: &mut Following<S>,
        call: &Admitted<WatchSessions>,
    ) -> Result<(), RpcError> {
        following.reach = self.spelled_out(call).await?;
        Ok(())
    }

    async fn spelled_out(&self, call: &Admitted<WatchSessions>) -> Result<Seen, RpcError> {
        let scope = call.scope()?.clone();
        let scope = self.spell_out(&call.caller().tenant, scope).await?;
        Ok(Seen {
            reach: scope.reach,
            global: self.settings.current().session.scope == Scope::Global,
        })
    }
}

fn foreign_cursor() -> RpcError {
    RpcError::invalid_field(
        "cursor",
        "cursor was answered to a caller of another tenant: leave it out to begin at the present",
    )
}

/// What a follower may see.
#[derive(Clone, Debug)]
struct Seen {
    reach: Reach,
    /// Whether the one session that serves all may be shown.
    global: bool,
}

impl Seen {
    /// Source: reg:K7.
    fn holds(&self, key: &SessionKey) -> bool {
        if *key == SessionKey::global() && !self.global {
            return false;
        }
        match &self.reach {
            Reach::All => true,
            Reach::Among(Among {
                agents,
                keys,
                family,
            }) => {
                let agent = key.agent_id();
                agent.is_some_and(|agent| agents.contains(&agent))
                    || keys.contains(key)
                    || family.as_ref() == Some(key)
            },
        }
    }
}

/// A follower of the changes of a tenant's sessions.
#[derive(Debug)]
pub struct Following<S> {
    store: S,
    commits: watch::Receiver<u64>,
    tenant: TenantId,
    reach: Seen,
    place: Place,
}

impl<S: RegistryStore> Following<S> {
    /// The next changes, as soon as there are some; nothing after the store was closed. Dropping the
    /// future loses none.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn next(&mut self) -> Result<Vec<Told>, RpcError> {
        loop {
            // Marked before the store is read: a commit in between wakes at once.
            self.commits.borrow_and_update();
            let (told, more) = self.page().await?;
            if !told.is_empty() {
                return Ok(told);
            }
            if !more && self.commits.changed().await.is_err() {
                return Ok(Vec::new());
            }
        }
    }

    /// One page, and whether more may follow at once.
    async fn page(&mut self) -> Result<(Vec<Told>, bool), RpcError> {
        let page = self
            .store
            .session_changes(&self.tenant, self.place.change, CHANGES_PAGE)
            .await
            .map_err(store_failed)?;
        if self.place.has_gap(&page.present) {
            self.place = Place::of(&page.present, &self.tenant, page.present.head);
            let gap = Told {
                place: self.place.clone(),
                news: News::Gap,
            };
            return Ok((vec![gap], true));
        }
        let full = page.changes.len() >= CHANGES_PAGE;
        let last = page.changes.last().filter(|_| full);
        // Where nothing more follows, the place moves to the present, past other tenants' changes.
        let reached = last.map_or(page.present.head, |last| last.sequence);
        let told = page.changes.into_iter();
        let told = told.filter_map(|change| self.tell(change)).collect();
        self.place.change = reached;
        Ok((told, full))
    }

    fn tell(&self, change: SessionChange) -> Option<Told> {
        let news = match change.state {
            ChangedState::Present(session) if self.reach.holds(&session.key) => {
                News::Changed(session)
            },
            ChangedState::Deleted(key) if self.reach.holds(&key) => News::Deleted(key),
            ChangedState::Present(_) | ChangedState::Deleted(_) => return None,
            ChangedState::Unreadable(key) => {
                tracing::error!(session.key = %key, "a changed row cannot be read, and is not told");
                return None;
            },
        };
        let place = Place {
            change: change.sequence,
            ..self.place.clone()
        };
        Some(Told { place, news })
    }
}

#[cfg(test)]
mod tests;
