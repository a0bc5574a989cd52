//! The runner's store in SQLite.

mod activity;
mod deliveries;
mod fences;
mod flows;
mod journal;
mod keys;
mod notices;
mod runs;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use confab_model::clock::Timestamp;
use confab_model::delivery::{Delivery, DeliveryState};
use confab_model::flow::Flow;
use confab_model::id::{DeliveryId, FlowId, IdempotencyKey, Ids, RunId, SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::run::RunState;
use confab_store::StoreError;
use confab_store::sqlite::{Database, Migration, OpenError as DatabaseError};
use sqlx::Connection as _;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::store::{
    Activity, Claimed, DeliveryFilter, Fence, FenceError, Fenced, FlowDetail, Lease, Lift,
    NewFence, NewFlow, Notice, OpenError, Opened, Page, PageRequest, QueuedSession, RecordCursor,
    RunResult, RunnerStore, StoredRun, Unwoken, UsedKey,
};
use crate::wakeups::Wakeups;

/// Append-only: a migration that was applied is never changed.
pub const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        description: "runs, flows, deliveries",
        sql: include_str!("../../migrations/0001_runs.sql"),
    },
    Migration {
        version: 2,
        description: "lifecycle changes of sessions",
        sql: include_str!("../../migrations/0002_lifecycle.sql"),
    },
    Migration {
        version: 3,
        description: "notices of watched sessions",
        sql: include_str!("../../migrations/0003_notices.sql"),
    },
    Migration {
        version: 4,
        description: "models of sessions that flows' own runs find",
        sql: include_str!("../../migrations/0004_models.sql"),
    },
    Migration {
        version: 5,
        description: "notices about deleted sessions",
        sql: include_str!("../../migrations/0005_notices_about.sql"),
    },
];

/// The runner's store in one SQLite file. Clones share it.
#[derive(Clone, Debug)]
pub struct SqliteRunnerStore {
    database: Database,
    wakeups: Wakeups,
    ids: Arc<dyn Ids>,
}

impl SqliteRunnerStore {
    /// Opens `<data>/runner.db`.
    ///
    /// # Errors
    /// When the file cannot be opened or migrated.
    pub async fn open(
        data_dir: &Path,
        tracker: &TaskTracker,
        stop: &CancellationToken,
        wakeups: Wakeups,
        ids: Arc<dyn Ids>,
    ) -> Result<Self, DatabaseError> {
        let path = data_dir.join("runner.db");
        let database = Database::open(&path, MIGRATIONS, tracker, stop).await?;
        Ok(Self::over(database, wakeups, ids))
    }

    /// The store over an open database.
    pub const fn over(database: Database, wakeups: Wakeups, ids: Arc<dyn Ids>) -> Self {
        Self {
            database,
            wakeups,
            ids,
        }
    }

    /// Whether the file can be read.
    ///
    /// # Errors
    /// When it cannot.
    pub async fn answers(&self) -> Result<(), StoreError> {
        self.database.answers().await
    }

    /// Finishes what waits and closes the file.
    pub async fn close(&self) {
        self.database.close().await;
    }
}

impl RunnerStore for SqliteRunnerStore {
    async fn open_flow(&self, flow: NewFlow) -> Result<Opened, OpenError> {
        let ids = Arc::clone(&self.ids);
        let wakeups = self.wakeups.clone();
        let tenant = flow.tenant.clone();
        let written = self.database.write_then(
            move |connection| {
                Box::pin(async move { flows::open(connection, &flow, ids.as_ref()).await })
            },
            move |(_, plan)| {
                if let Some(plan) = plan {
                    wakeups.planned(&tenant, plan);
                }
            },
        );
        Ok(written.await?.0)
    }

    async fn used_key(
        &self,
        tenant: &TenantId,
        owner: &str,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<UsedKey>, StoreError> {
        let mut connection = self.database.reader().acquire().await?;
        keys::read(&mut connection, tenant, owner, key, now).await
    }

    async fn claim(
        &self,
        sessions: Vec<QueuedSession>,
        lease: Lease,
    ) -> Result<Vec<Claimed>, StoreError> {
        let wakeups = self.wakeups.clone();
        let write = self.database.write_then(
            move |connection| {
                Box::pin(async move { runs::claim(connection, &sessions, lease).await })
            },
            move |claimed: &Vec<Claimed>| {
                if !claimed.is_empty() {
                    wakeups.activity_added();
                }
                if claimed.iter().any(|one| !one.0.run.notices.is_empty()) {
                    wakeups.notices_taken();
                }
            },
        );
        write.await
    }

    async fn end_run(
        &self,
        run: &RunId,
        lease_epoch: i64,
        result: RunResult,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let (run, ids) = (run.clone(), Arc::clone(&self.ids));
        let wakeups = self.wakeups.clone();
        let written = self.database.write_then(
            move |connection| {
                Box::pin(async move {
                    runs::end(connection, &run, lease_epoch, &result, now, ids.as_ref()).await
                })
            },
            move |ended: &runs::Ended| {
                if let runs::Ended::Advanced(tenant, plan) = ended {
                    wakeups.planned(tenant, plan);
                }
            },
        );
        Ok(written.await?.was_written())
    }

    async fn release_session(&self, run: &RunId, lease_epoch: i64) -> Result<(), StoreError> {
        let run = run.clone();
        let wakeups = self.wakeups.clone();
        let write = self.database.write_then(
            move |connection| {
                Box::pin(async move { runs::release(connection, &run, lease_epoch).await })
            },
            move |released: &Option<QueuedSession>| {
                if let Some(session) = released {
                    wakeups.queue_changed(session.clone());
                }
            },
        );
        write.await.map(|_| ())
    }

    async fn renew_leases(
        &self,
        leases: Vec<(RunId, i64)>,
        until: Timestamp,
    ) -> Result<(), StoreError> {
        self.database
            .write(move |connection| {
                Box::pin(async move { runs::renew(connection, &leases, until).await })
            })
            .await
    }

    async fn requeue(
        &self,
        lease_ended_before: Option<Timestamp>,
        attempts_max: u32,
    ) -> Result<Vec<StoredRun>, StoreError> {
        let wakeups = self.wakeups.clone();
        let written = self.database.write_then(
            move |connection| {
                Box::pin(async move {
                    runs::requeue(connection, lease_ended_before, attempts_max).await
                })
            },
            move |(queued, _): &(Vec<QueuedSession>, Vec<StoredRun>)| {
                for session in queued {
                    wakeups.queue_changed(session.clone());
                }
            },
        );
        Ok(written.await?.1)
    }

    async fn overdue(
        &self,
        accepted_before: Timestamp,
        limit: u32,
    ) -> Result<Vec<StoredRun>, StoreError> {
        runs::overdue(self.database.reader(), accepted_before, limit).await
    }

    async fn bind_session(
        &self,
        run: &RunId,
        session_id: &SessionId,
        model: Option<&str>,
    ) -> Result<(), StoreError> {
        let (run, session_id) = (run.clone(), session_id.clone());
        let model = model.map(str::to_owned);
        self.database
            .write(move |connection| {
                Box::pin(async move {
                    runs::bind(connection, &run, &session_id, model.as_deref()).await
                })
            })
            .await
    }

    async fn hit_rule(
        &self,
        run: &RunId,
        rules: Vec<(u32, Option<u32>)>,
    ) -> Result<Option<u32>, StoreError> {
        let run = run.clone();
        self.database
            .write(move |connection| {
                Box::pin(async move { runs::hit_rule(connection, &run, &rules).await })
            })
            .await
    }

    async fn run(&self, tenant: &TenantId, run: &RunId) -> Result<Option<StoredRun>, StoreError> {
        let mut connection = self.database.reader().acquire().await?;
        runs::read(&mut connection, tenant, run).await
    }

    async fn runs(
        &self,
        tenant: &TenantId,
        session: Option<&SessionKey>,
        states: &[RunState],
        page: &PageRequest,
    ) -> Result<Page<StoredRun>, StoreError> {
        runs::list(self.database.reader(), tenant, session, states, page).await
    }

    async fn unfinished(&self) -> Result<Vec<StoredRun>, StoreError> {
        runs::unfinished(self.database.reader()).await
    }

    async fn queued_sessions(&self) -> Result<Vec<QueuedSession>, StoreError> {
        runs::queued_sessions(self.database.reader()).await
    }

    async fn flow(&self, tenant: &TenantId, flow: &FlowId) -> Result<Option<Flow>, StoreError> {
        let mut connection = self.database.reader().acquire().await?;
        flows::read(&mut connection, tenant, flow).await
    }

    async fn flow_records(
        &self,
        tenant: &TenantId,
        flows: &[FlowId],
    ) -> Result<Vec<Flow>, StoreError> {
        flows::records(self.database.reader(), tenant, flows).await
    }

    async fn flow_detail(
        &self,
        tenant: &TenantId,
        flow: &FlowId,
    ) -> Result<Option<FlowDetail>, StoreError> {
        let mut connection = self.database.reader().acquire().await?;
        // One transaction, so that the record, its runs and its deliveries are of one moment.
        let mut snapshot = connection.begin().await?;
        let Some(flow) = flows::read(&mut snapshot, tenant, flow).await? else {
            return Ok(None);
        };
        Ok(flows::details(&mut snapshot, vec![flow]).await?.pop())
    }

    async fn flows(
        &self,
        tenant: &TenantId,
        session: Option<&SessionKey>,
        page: &PageRequest,
    ) -> Result<Page<FlowDetail>, StoreError> {
        flows::list(self.database.reader(), tenant, session, page).await
    }

    async fn deliveries(
        &self,
        tenant: &TenantId,
        filter: &DeliveryFilter,
        page: &PageRequest,
    ) -> Result<Page<Delivery>, StoreError> {
        deliveries::list(self.database.reader(), tenant, filter, page).await
    }

    async fn due_deliveries(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<(TenantId, Delivery)>, StoreError> {
        deliveries::due(self.database.reader(), now, limit).await
    }

    async fn begin_attempt(
        &self,
        delivery: &DeliveryId,
        now: Timestamp,
    ) -> Result<Option<Delivery>, StoreError> {
        let delivery = delivery.clone();
        self.database
            .write(move |connection| {
                Box::pin(async move { deliveries::begin(connection, &delivery, now).await })
            })
            .await
    }

    async fn park_delivery(&self, delivery: &DeliveryId) -> Result<(), StoreError> {
        let delivery = delivery.clone();
        self.database
            .write(move |connection| {
                Box::pin(async move { deliveries::park(connection, &delivery).await })
            })
            .await
    }

    async fn unpark(&self, now: Timestamp) -> Result<(), StoreError> {
        let wakeups = self.wakeups.clone();
        let write = self.database.write_then(
            move |connection| Box::pin(async move { deliveries::unpark(connection, now).await }),
            move |()| wakeups.delivery_due(),
        );
        write.await
    }

    async fn settle_delivery(
        &self,
        delivery: &DeliveryId,
        state: DeliveryState,
        error: Option<String>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let (delivery, ids) = (delivery.clone(), Arc::clone(&self.ids));
        let wakeups = self.wakeups.clone();
        let written = self.database.write_then(
            move |connection| {
                Box::pin(async move {
                    let end = deliveries::End { state, error, now };
                    deliveries::settle(connection, &delivery, end, ids.as_ref()).await
                })
            },
            move |advanced| {
                if let Some((tenant, plan)) = advanced {
                    wakeups.planned(tenant, plan);
                }
            },
        );
        written.await.map(|_| ())
    }

    async fn reset_attempts(&self, now: Timestamp) -> Result<(), StoreError> {
        let wakeups = self.wakeups.clone();
        let write = self.database.write_then(
            move |connection| Box::pin(async move { deliveries::reset(connection, now).await }),
            move |()| wakeups.delivery_due(),
        );
        write.await
    }

    async fn activity(&self, limit: u32) -> Result<Vec<(i64, Activity)>, StoreError> {
        activity::list(self.database.reader(), limit).await
    }

    async fn forget_activity(&self, up_to: i64) -> Result<(), StoreError> {
        self.database
            .write(move |connection| {
                Box::pin(async move { activity::forget(connection, up_to).await })
            })
            .await
    }

    async fn keep_notice(&self, notice: Notice) -> Result<(), StoreError> {
        let wakeups = self.wakeups.clone();
        let write = self.database.write_then(
            move |connection| Box::pin(async move { notices::keep(connection, &notice).await }),
            move |()| wakeups.notice_kept(),
        );
        write.await
    }

    async fn unwoken(&self, limit: u32) -> Result<Vec<Unwoken>, StoreError> {
        notices::unwoken(self.database.reader(), limit).await
    }

    async fn wake(&self, notice_id: &str, flow: NewFlow) -> Result<Option<Opened>, OpenError> {
        let (notice_id, ids) = (notice_id.to_owned(), Arc::clone(&self.ids));
        let wakeups = self.wakeups.clone();
        let tenant = flow.tenant.clone();
        let written = self.database.write_then(
            move |connection| {
                Box::pin(
                    async move { notices::wake(connection, &notice_id, &flow, ids.as_ref()).await },
                )
            },
            move |woken| {
                if let Some((_, Some(plan))) = woken {
                    wakeups.planned(&tenant, plan);
                }
            },
        );
        Ok(written.await?.map(|(opened, _)| opened))
    }

    async fn let_wait(&self, notice_id: &str) -> Result<(), StoreError> {
        let notice_id = notice_id.to_owned();
        self.database
            .write(move |connection| {
                Box::pin(async move { notices::let_wait(connection, &notice_id).await })
            })
            .await
    }

    async fn unacknowledged(&self, limit: u32) -> Result<Vec<String>, StoreError> {
        notices::owed(self.database.reader(), limit).await
    }

    async fn acknowledged(
        &self,
        notice_ids: Vec<String>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.database
            .write(move |connection| {
                Box::pin(async move { notices::acknowledged(connection, &notice_ids, now).await })
            })
            .await
    }

    async fn forget_keys(&self, now: Timestamp) -> Result<(), StoreError> {
        self.database
            .write(move |connection| Box::pin(async move { keys::forget(connection, now).await }))
            .await
    }

    async fn fence(&self, fence: NewFence) -> Result<Fenced, FenceError> {
        self.database
            .write(move |connection| {
                Box::pin(async move { fences::raise(connection, &fence).await })
            })
            .await
    }

    async fn begin_commit(&self, session: &QueuedSession) -> Result<(), StoreError> {
        let session = session.clone();
        self.database
            .write(move |connection| {
                Box::pin(async move { fences::begin_commit(connection, &session).await })
            })
            .await
    }

    async fn lift(&self, session: &QueuedSession, lift: Lift) -> Result<(), StoreError> {
        let (session, freed) = (session.clone(), session.clone());
        let wakeups = self.wakeups.clone();
        let write = self.database.write_then(
            move |connection| {
                Box::pin(async move { fences::lift(connection, &session, &lift).await })
            },
            move |()| wakeups.queue_changed(freed),
        );
        write.await
    }

    async fn fences(&self) -> Result<Vec<Fence>, StoreError> {
        fences::all(self.database.reader()).await
    }

    async fn fence_of(&self, session: &QueuedSession) -> Result<Option<Fence>, StoreError> {
        fences::read(self.database.reader(), session).await
    }

    async fn live_runs(&self, session: &QueuedSession) -> Result<Vec<StoredRun>, StoreError> {
        let mut connection = self.database.reader().acquire().await?;
        runs::live(&mut connection, session).await
    }
}

/// Cuts the row that was read beyond the page, and tells where the next page begins.
fn cut_page<T>(
    mut rows: Vec<T>,
    limit: u32,
    cursor: impl Fn(&T) -> RecordCursor,
) -> (Vec<T>, Option<RecordCursor>) {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(cursor);
    (rows, next)
}
