//! Which sessions' time is over, and why; what is found is done by whoever asked.
//!
//! Three settings end a session's time. Children that were spawned for one task are archived some
//! minutes after their last run; that is always done. Sessions that nothing moved for long, and the
//! oldest of too many, are deleted; that is done where `session.maintenance.mode` is `enforce`, and
//! only told elsewhere.

use std::collections::BTreeSet;

use confab_config::Settings;
use confab_config::settings::MaintenanceMode;
use confab_model::channel::ChatType;
use confab_model::clock::Timestamp;
use confab_model::id::TenantId;
use confab_model::key::{SessionKey, SessionKind};
use confab_model::session::Session;
use confab_model::session::levels::SpawnMode;
use confab_policy::lifecycle::Change;
use confab_rpc::error::RpcError;
use confab_rpc::gate::Admitted;

use crate::commands::ListOverdueSessions;
use crate::limits::UPKEEP_PAGE;
use crate::store::upkeep::{Kept, Place};
use crate::store::{RegistryStore, Row};
use crate::{Sessions, store_failed};

const MILLIS_PER_MINUTE: i64 = 60_000;

/// A session whose time is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Overdue {
    /// The tenant it belongs to.
    pub tenant: TenantId,
    /// Its row.
    pub session: Session,
    /// What is to be done with it.
    pub change: Change,
    /// Why, in one sentence.
    pub reason: String,
    /// Whether it is to be done, or only told.
    pub enforced: bool,
    /// Since when.
    since: Timestamp,
}

/// How long sessions are kept, as the configuration says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Retention {
    /// Until a child is archived, in milliseconds.
    archive_after: Option<i64>,
    /// Until a session that nothing moves is deleted, in milliseconds.
    prune_after: Option<i64>,
    /// How many sessions a tenant keeps.
    entries_max: Option<u32>,
    /// Whether anything is deleted.
    enforced: bool,
}

impl Retention {
    fn of(settings: &Settings) -> Self {
        let maintenance = &settings.session.maintenance;
        let minutes = i64::from(settings.subagents.archive_after_minutes);
        Self {
            archive_after: (minutes > 0).then(|| minutes.saturating_mul(MILLIS_PER_MINUTE)),
            prune_after: maintenance
                .prune_after_millis
                .map(|millis| i64::try_from(millis).unwrap_or(i64::MAX)),
            entries_max: maintenance.max_entries,
            enforced: match maintenance.mode {
                MaintenanceMode::Warn => false,
                MaintenanceMode::Enforce => true,
            },
        }
    }
}

impl Row {
    /// Since when a child that was spawned for one task is open without need: since its last run
    /// ended, or since it was opened again after that. Absent elsewhere.
    ///
    /// Source: D44, B178, B183.
    pub fn done_at(&self) -> Option<Timestamp> {
        let session = &self.session;
        let run = session.last_run.as_ref()?;
        let open_child =
            session.spawn.mode == Some(SpawnMode::Run) && session.archived_at.is_none();
        if !open_child || is_protected(session) {
            return None;
        }
        let ended = run.ended_at.or(self.last_run_at)?;
        Some(self.reopened_at.map_or(ended, |opened| opened.max(ended)))
    }

    /// Whether it may be deleted when its time is over.
    ///
    /// Source: reg:X5, reg:X6, reg:X7.
    pub fn is_removable(&self) -> bool {
        !is_protected(&self.session)
    }
}

/// Whether maintenance leaves a session alone, however old it is: one that runs, that is pinned, an
/// agent's main session, a thread, and a group or a room of an outside channel.
///
/// Source: reg:X5, reg:X6, reg:X7.
fn is_protected(session: &Session) -> bool {
    let running = session
        .last_run
        .as_ref()
        .is_some_and(|run| !run.state.is_ended());
    let key = &session.key;
    running
        || session.pinned_at.is_some()
        || key.is_main()
        || key.thread().is_some()
        || (is_shared(session) && !is_synthetic(key))
}

/// Whether several people meet there.
fn is_shared(session: &Session) -> bool {
    let by_type = matches!(session.chat_type, Some(ChatType::Group | ChatType::Channel));
    by_type || session.key.kind() == SessionKind::Group || session.key.group_channel().is_some()
}

/// Whether a part of the system made the key; such a key is no outside group, whatever it looks like.
///
/// Source: reg:X6.
fn is_synthetic(key: &SessionKey) -> bool {
    let of_the_system = match key.kind() {
        SessionKind::Cron | SessionKind::Hook | SessionKind::Node => true,
        SessionKind::Main | SessionKind::Group | SessionKind::Other => false,
    };
    let family = key.rest().split(':').next().unwrap_or_default();
    of_the_system
        || key.bears_lineage()
        || matches!(family, "acp-bridge" | "heartbeat" | "hook" | "node")
}

impl<S: RegistryStore> Sessions<S> {
    /// The sessions of one tenant or of all whose time is over: those to be acted on before those only told,
    /// the longest overdue first. Each is named once, for what came due first.
    ///
    /// # Errors
    /// When the store fails.
    ///
    /// Source: D44, D75, reg:X2, reg:X3, reg:X4, reg:X5, B178, B182, B183.
    pub async fn overdue(
        &self,
        call: Admitted<ListOverdueSessions>,
    ) -> Result<Vec<Overdue>, RpcError> {
        let (request, ..) = call.into_parts();
        let limit = usize::try_from(request.limit.value).unwrap_or(usize::MAX);
        let tenant = request.tenant.as_ref();
        let retention = Retention::of(&self.settings.current());
        let now = self.clock.now();
        let mut found = self.done(tenant, &retention, now, limit).await?;
        found.extend(self.unmoved(tenant, &retention, now, limit).await?);
        found.extend(self.surplus(tenant, &retention, limit).await?);
        Ok(in_order(found, limit))
    }

    async fn done(
        &self,
        tenant: Option<&TenantId>,
        retention: &Retention,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<Overdue>, RpcError> {
        let Some(after) = retention.archive_after else {
            return Ok(Vec::new());
        };
        let until = now.plus_millis(after.saturating_neg());
        let kept = self.store.done_since(tenant, until, limit).await;
        let kept = kept.map_err(store_failed)?;
        Ok(kept
            .into_iter()
            .filter_map(|kept| archived(kept, after, now))
            .collect())
    }

    async fn unmoved(
        &self,
        tenant: Option<&TenantId>,
        retention: &Retention,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<Overdue>, RpcError> {
        let Some(after) = retention.prune_after else {
            return Ok(Vec::new());
        };
        let before = now.plus_millis(after.saturating_neg());
        let kept = self.removable(tenant, before, limit).await?;
        let pruned = |kept: Kept| pruned(kept, after, now, retention.enforced);
        Ok(kept.into_iter().map(pruned).collect())
    }

    /// The oldest sessions of the tenants that have too many.
    async fn surplus(
        &self,
        only: Option<&TenantId>,
        retention: &Retention,
        limit: usize,
    ) -> Result<Vec<Overdue>, RpcError> {
        let Some(max) = retention.entries_max else {
            return Ok(Vec::new());
        };
        let counts = self.store.row_counts().await.map_err(store_failed)?;
        let mut found = Vec::new();
        let wanted = |tenant: &TenantId| only.is_none_or(|only| only == tenant);
        for (tenant, count) in counts.into_iter().filter(|(tenant, _)| wanted(tenant)) {
            let take = surplus(count, max, limit);
            let kept = self.removable(Some(&tenant), END_OF_TIME, take).await?;
            let capped = |kept: Kept| capped(kept, count, max, retention.enforced);
            found.extend(kept.into_iter().map(capped));
            found = in_order(found, limit);
        }
        Ok(found)
    }

    /// The first `limit` rows that last moved before `before` and may be deleted. The database knows
    /// the candidates; each is judged again.
    async fn removable(
        &self,
        tenant: Option<&TenantId>,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<Kept>, RpcError> {
        let mut found: Vec<Kept> = Vec::new();
        let mut after: Option<Place> = None;
        while found.len() < limit {
            let page = self
                .store
                .unmoved_before(tenant, before, after.as_ref(), UPKEEP_PAGE)
                .await
                .map_err(store_failed)?;
            let Some(last) = page.last() else {
                break;
            };
            after = Some(Place::of(last));
            found.extend(page.into_iter().filter(|kept| kept.row.is_removable()));
        }
        found.truncate(limit);
        Ok(found)
    }
}

/// No row has moved later.
const END_OF_TIME: Timestamp = Timestamp::from_millis(i64::MAX);

fn archived(kept: Kept, after: i64, now: Timestamp) -> Option<Overdue> {
    let done_at = kept.row.done_at()?;
    let minutes = after / MILLIS_PER_MINUTE;
    let ago = roughly(now.millis_since(done_at));
    Some(Overdue {
        tenant: kept.tenant,
        session: kept.row.session,
        change: Change::Archive,
        reason: format!(
            "its task was done {ago} ago, and \
             agents.defaults.subagents.archiveAfterMinutes is {minutes}"
        ),
        enforced: true,
        since: done_at.plus_millis(after),
    })
}

fn pruned(kept: Kept, after: i64, now: Timestamp, enforced: bool) -> Overdue {
    let session = kept.row.session;
    let moved = session.updated_at;
    let ago = roughly(now.millis_since(moved));
    Overdue {
        tenant: kept.tenant,
        change: Change::Delete,
        reason: format!(
            "nothing moved it for {ago}, and session.maintenance.pruneAfter is {}",
            duration(after)
        ),
        enforced,
        since: moved.plus_millis(after),
        session,
    }
}

fn capped(kept: Kept, count: u64, max: u32, enforced: bool) -> Overdue {
    let session = kept.row.session;
    let mark = high_water_mark(max);
    Overdue {
        tenant: kept.tenant,
        change: Change::Delete,
        reason: format!(
            "it is among the oldest of {count} sessions, and session.maintenance.maxEntries is \
             {max} (cleaned up from {mark} on)"
        ),
        enforced,
        since: session.updated_at,
        session,
    }
}

/// At how many sessions a tenant is cleaned up.
///
/// Source: reg:X4.
fn high_water_mark(max: u32) -> u64 {
    let max = u64::from(max);
    if max < SMALL_CAP {
        max + 1
    } else {
        max + max.div_ceil(10).max(25)
    }
}

/// Below this cap every session too many is cleaned up at once.
const SMALL_CAP: u64 = 50;

/// How many of `count` sessions are to go now, at most `limit`: from the mark up as many as lead down
/// to `max`. What more than one call must clean is split so that the last call still finds the mark
/// reached, and leads down to `max` too.
///
/// Source: reg:X4.
fn surplus(count: u64, max: u32, limit: usize) -> usize {
    let mark = high_water_mark(max);
    if count < mark {
        return 0;
    }
    let room = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
    let all = room(count - u64::from(max));
    if all <= limit {
        return all;
    }
    let above = room(count - mark);
    if above == 0 { limit } else { above.min(limit) }
}

/// A time in the largest unit that fits, as the configuration writes it.
fn duration(millis: i64) -> String {
    let units = [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "m"),
        (1_000, "s"),
    ];
    let fits = |(size, _): &(i64, &str)| millis % size == 0;
    match units.into_iter().find(fits) {
        Some((size, unit)) => format!("{}{unit}", millis / size),
        None => format!("{millis}ms"),
    }
}

/// How long ago something was, in the largest unit of which it is two or more.
fn roughly(millis: i64) -> String {
    let units = [
        (86_400_000, "days"),
        (3_600_000, "hours"),
        (60_000, "minutes"),
        (1_000, "seconds"),
    ];
    let fits = |(size, _): &(i64, &str)| millis >= 2 * size;
    match units.into_iter().find(fits) {
        Some((size, unit)) => format!("{} {unit}", millis / size),
        None => format!("{millis} ms"),
    }
}

fn in_order(mut found: Vec<Overdue>, limit: usize) -> Vec<Overdue> {
    found.sort_by(|one, other| rank(one).cmp(&rank(other)));
    let mut named = BTreeSet::new();
    found.retain(|overdue| named.insert((overdue.tenant.clone(), overdue.session.key.clone())));
    found.truncate(limit);
    found
}

fn rank(overdue: &Overdue) -> (bool, Timestamp, &TenantId, &SessionKey) {
    let Overdue {
        tenant,
        session,
        enforced,
        since,
        change: _,
        reason: _,
    } = overdue;
    (!enforced, *since, tenant, &session.key)
}

#[cfg(test)]
mod tests;
