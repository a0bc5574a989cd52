//! What happened to sessions, who must be told, and which rows changed.

pub(super) mod changes;
mod cursors;
mod log;
mod retention;

use std::error::Error as _;

use confab_model::clock::Timestamp;
use confab_model::id::TenantId;
use confab_model::key::SessionKey;
use confab_model::session::Session;
use confab_store::StoreError;
use sqlx::Connection as _;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::watch;

use self::log::Head;
use super::SqliteStore;
use crate::awareness::{
    Actor, Cursor, Effect, EventKind, NewEvent, Notice, NoticeId, StateChanges, account, can_watch,
};
use crate::limits::WATCHERS_MAX;
use crate::store::awareness::{AwarenessStore, ChangePage, Present, Registered, Retention, Watch};

impl AwarenessStore for SqliteStore {
    async fn state_changes(
        &self,
        tenant: &TenantId,
        key: &SessionKey,
        after: u64,
        limit: usize,
    ) -> Result<StateChanges, StoreError> {
        // One transaction, so that the head, the gap and the events belong together.
        let mut snapshot = self.database.reader().begin().await?;
        let Some(head) = log::head(&mut snapshot, tenant, key).await? else {
            return Ok(StateChanges::default());
        };
        let (events, truncated) = log::after(&mut snapshot, tenant, key, after, limit).await?;
        let earliest = log::earliest(&mut snapshot, tenant, key).await?;
        Ok(StateChanges {
            events,
            truncated,
            earliest_available_sequence: earliest.unwrap_or_else(|| head.next_sequence()),
            history_gap: after < head.pruned,
        })
    }

    async fn watch(&self, watch: Watch, now: Timestamp) -> Result<bool, StoreError> {
        self.database
            .write(move |connection| Box::pin(async move { begin(connection, &watch, now).await }))
            .await
    }

    async fn owed(&self, after: u64, limit: usize) -> Result<Vec<Notice>, StoreError> {
        let mut connection = self.database.reader().acquire().await?;
        cursors::owed(&mut connection, after, limit).await
    }

    async fn acknowledge(&self, notices: Vec<NoticeId>, now: Timestamp) -> Result<(), StoreError> {
        self.database
            .write(move |connection| {
                Box::pin(async move {
                    for notice in &notices {
                        acknowledge(connection, notice, now).await?;
                    }
                    Ok(())
                })
            })
            .await
    }

    async fn sweep(&self, now: Timestamp) -> Result<(), StoreError> {
        let retention = self.retention;
        self.database
            .write(move |connection| {
                Box::pin(async move {
                    cursors::sweep(connection).await?;
                    retention::prune(connection, &retention, now).await
                })
            })
            .await
    }

    async fn present(&self, tenant: &TenantId) -> Result<Present, StoreError> {
        let mut snapshot = self.database.reader().begin().await?;
        changes::present(&mut snapshot, tenant).await
    }

    async fn session_changes(
        &self,
        tenant: &TenantId,
        after: u64,
        limit: usize,
    ) -> Result<ChangePage, StoreError> {
        let mut snapshot = self.database.reader().begin().await?;
        Ok(ChangePage {
            present: changes::present(&mut snapshot, tenant).await?,
            changes: changes::after(&mut snapshot, tenant, after, limit).await?,
        })
    }

    fn commits(&self) -> watch::Receiver<u64> {
        self.database.commits()
    }
}

/// Records events inside the transaction of what they belong to. Each stands for itself: one that
/// cannot be stored is undone alone.
///
/// Source: reg:W6, reg:W26.
pub(super) async fn record(
    connection: &mut SqliteConnection,
    events: Vec<NewEvent>,
    retention: &Retention,
    now: Timestamp,
) -> Result<Vec<Registered>, StoreError> {
    if events.is_empty() {
        return Ok(Vec::new());
    }
    let mut registered = Vec::with_capacity(events.len());
    for event in &events {
        registered.push(record_alone(connection, event, now).await?);
    }
    prune_alone(connection, retention, now).await?;
    Ok(registered)
}

/// What is too old can go another time: where it cannot go with this batch, the batch is kept.
async fn prune_alone(
    connection: &mut SqliteConnection,
    retention: &Retention,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut savepoint = connection.begin().await?;
    match retention::prune_when_due(&mut savepoint, retention, now).await {
        Ok(()) => savepoint.commit().await?,
        Err(error) => {
            savepoint.rollback().await?;
            let error = with_source(&error);
            tracing::error!(
                error,
                "what is too old could not be pruned; trying again later"
            );
        },
    }
    Ok(())
}

async fn record_alone(
    connection: &mut SqliteConnection,
    event: &NewEvent,
    now: Timestamp,
) -> Result<Registered, StoreError> {
    let mut savepoint = connection.begin().await?;
    match record_one(&mut savepoint, event, now).await {
        Ok(registered) => {
            savepoint.commit().await?;
            Ok(registered)
        },
        Err(error) => {
            savepoint.rollback().await?;
            Ok(Registered::Failed(with_source(&error)))
        },
    }
}

fn with_source(error: &StoreError) -> String {
    error
        .source()
        .map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}

/// Source: reg:W5, reg:W7, reg:W24.
async fn record_one(
    connection: &mut SqliteConnection,
    event: &NewEvent,
    now: Timestamp,
) -> Result<Registered, StoreError> {
    let (tenant, key) = (&event.tenant, &event.session_key);
    let Some(head) = log::head(connection, tenant, key).await? else {
        return Ok(Registered::NoSession);
    };
    if let Some(sequence) = log::repeated(connection, event).await? {
        return Ok(Registered::Repeated(sequence));
    }
    let mut watchers = cursors::of_target(connection, tenant, key).await?;
    if !event.is_wanted(head.spawned_by.is_some(), !watchers.is_empty()) {
        return Ok(Registered::Unwanted);
    }
    let sequence = log::append(connection, event, &head, now).await?;
    changes::raise_version(connection, tenant, key, sequence).await?;
    match event.kind.effect() {
        Effect::Logs => {},
        Effect::Seeds => seed(connection, event, sequence, now).await?,
        Effect::Notifies => {
            if let Some(parent) = added_parent(connection, event, &head, &watchers).await? {
                watchers.push((parent, None));
            }
            notify(connection, event, &watchers, sequence, now).await?;
        },
    }
    Ok(Registered::New(sequence))
}

/// Whoever spawned the session watches it from the spawn on.
///
/// Source: reg:W14.
async fn seed(
    connection: &mut SqliteConnection,
    event: &NewEvent,
    sequence: u64,
    now: Timestamp,
) -> Result<(), StoreError> {
    let spawner = event.actor.session();
    let spawner = spawner.filter(|key| can_watch(key) && **key != event.session_key);
    let Some(watcher) = spawner else {
        return Ok(());
    };
    let watch = Watch {
        tenant: event.tenant.clone(),
        watcher: watcher.clone(),
        target: event.session_key.clone(),
    };
    let cursor = Cursor::starting_at(sequence);
    cursors::put(connection, &watch, None, cursor, now).await
}

/// The parent that an event makes a watcher: it exists, and neither watches already nor caused the
/// event itself.
///
/// Source: reg:W9, reg:W17.
async fn added_parent(
    connection: &mut SqliteConnection,
    event: &NewEvent,
    head: &Head,
    watchers: &[(SessionKey, Option<Cursor>)],
) -> Result<Option<SessionKey>, StoreError> {
    let parent = head.spawned_by.as_ref().filter(|parent| {
        event.adds_parent()
            && can_watch(parent)
            && event.actor.session() != Some(*parent)
            && watchers.iter().all(|(watcher, _)| watcher != *parent)
    });
    let Some(parent) = parent else {
        return Ok(None);
    };
    let row = log::head(connection, &event.tenant, parent).await?;
    Ok(row.map(|_| parent.clone()))
}

/// Source: reg:W18.
async fn notify(
    connection: &mut SqliteConnection,
    event: &NewEvent,
    watchers: &[(SessionKey, Option<Cursor>)],
    sequence: u64,
    now: Timestamp,
) -> Result<(), StoreError> {
    let others = watchers
        .iter()
        .filter(|(watcher, _)| event.actor.session() != Some(watcher));
    for (watcher, before) in others {
        let watch = Watch {
            tenant: event.tenant.clone(),
            watcher: watcher.clone(),
            target: event.session_key.clone(),
        };
        let after = before.unwrap_or(Cursor::starting_at(0)).notify(sequence);
        cursors::put(connection, &watch, *before, after, now).await?;
    }
    Ok(())
}

/// Source: D51, reg:W15.
async fn begin(
    connection: &mut SqliteConnection,
    watch: &Watch,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let (tenant, watcher) = (&watch.tenant, &watch.watcher);
    let Some(target) = log::head(connection, tenant, &watch.target).await? else {
        return Ok(false);
    };
    if !watcher.is_main() && log::head(connection, tenant, watcher).await?.is_none() {
        return Ok(false);
    }
    if cursors::find(connection, watch).await?.is_none() {
        if cursors::watchers(connection, tenant, &watch.target).await? >= WATCHERS_MAX {
            return Ok(false);
        }
        let cursor = Cursor::starting_at(target.version);
        cursors::put(connection, watch, None, cursor, now).await?;
    }
    Ok(true)
}

async fn acknowledge(
    connection: &mut SqliteConnection,
    notice: &NoticeId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let watch = Watch {
        tenant: notice.tenant.clone(),
        watcher: notice.watcher.clone(),
        target: notice.target.clone(),
    };
    let Some(before) = cursors::find(connection, &watch).await? else {
        return Ok(());
    };
    let after = before.acknowledge(notice.watermark);
    if after == before {
        return Ok(());
    }
    cursors::put(connection, &watch, Some(before), after, now).await
}

/// A session was made inside this transaction: the one that spawned it learns of it and watches it.
/// Answers with the session's version.
///
/// Source: reg:W11, reg:W14.
pub(super) async fn spawned(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    session: &Session,
    now: Timestamp,
) -> Result<u64, StoreError> {
    let told = account(EventKind::ChildSpawned, None);
    let (Some(spawner), Some(told)) = (&session.spawned_by, told) else {
        return Ok(0);
    };
    let event = NewEvent {
        tenant: tenant.clone(),
        session_key: session.key.clone(),
        kind: EventKind::ChildSpawned,
        actor: Actor::Agent(spawner.clone()),
        run_id: None,
        occurred_at: Some(session.created_at),
        dedupe_key: Some(format!("child-spawned:{}", session.session_id)),
        account: told,
    };
    match record_alone(connection, &event, now).await? {
        Registered::New(sequence) | Registered::Repeated(sequence) => Ok(sequence),
        Registered::Unwanted | Registered::NoSession => Ok(0),
        Registered::Failed(error) => {
            tracing::error!(session.key = %session.key, error, "a spawn was not recorded");
            Ok(0)
        },
    }
}

/// A session was reset inside this transaction: it watches nobody any more. Its log, its version and
/// those who watch it stay.
///
/// Source: D57, reg:C8, reg:W16, reg:W30.
pub(super) async fn on_reset(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    key: &SessionKey,
) -> Result<(), StoreError> {
    cursors::clear_watcher(connection, tenant, key).await
}

/// A session's row was deleted inside this transaction: what happened to it, whom it watched and who
/// watched it go with it, and those who follow changes learn of it.
///
/// Source: reg:C11, reg:W16, reg:W30.
pub(super) async fn on_delete(
    connection: &mut SqliteConnection,
    tenant: &TenantId,
    key: &SessionKey,
    now: Timestamp,
) -> Result<(), StoreError> {
    cursors::clear_watcher(connection, tenant, key).await?;
    cursors::clear_target(connection, tenant, key).await?;
    log::clear(connection, tenant, key).await?;
    changes::note_deletion(connection, tenant, key, now).await
}

#[cfg(test)]
mod tests;
