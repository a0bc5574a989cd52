//! The sweep: sessions whose time is over are archived or deleted, as the configuration says.
//!
//! The registry names them; each is changed like any other, without force. What cannot be done now
//! is tried again at the next sweep, so a sweep is never the last chance, and two at once do no harm.
//!
//! Source: D44, D75, B178, B181, B182, B183, reg:X2, reg:X11.

use std::sync::Arc;

use confab_model::id::TenantId;
use confab_model::key::SessionKey;
use confab_model::session::Session;
use confab_model::session::patch::Patch;
use confab_policy::lifecycle::Change;
use confab_proto::registry::v1::{LifecycleChange, ListOverdueSessionsRequest, OverdueSession};
use confab_rpc::caller::Caller;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::{Admitted, Target};
use confab_rpc::wire;

use super::{Lifecycle, Setback, Terms};
use crate::commands::{ChangeSession, SweepSessions};
use crate::context::Context;
use crate::patience::is_out_of_reach;
use crate::store::RunnerStore;

/// What became of one session whose time is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    /// The session.
    pub session_key: SessionKey,
    /// What is to be done.
    pub change: Change,
    /// Why, in one sentence.
    pub reason: String,
    /// What was done.
    pub outcome: SweepOutcome,
}

/// What a sweep did to a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SweepOutcome {
    /// It is changed.
    Done,
    /// It was only told: a dry run, or maintenance only warns.
    Planned,
    /// It has work, or changed meanwhile; the next sweep looks again.
    Busy,
    /// The change failed, for this reason; the next sweep tries again.
    Failed(String),
}

impl SweepOutcome {
    /// The lower-case word.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Planned => "planned",
            Self::Busy => "busy",
            Self::Failed(_) => "failed",
        }
    }
}

/// A session whose time is over.
struct Overdue {
    tenant: TenantId,
    session: Session,
    change: Change,
    reason: String,
    enforced: bool,
}

/// Sweeps.
#[derive(Debug)]
pub struct Sweeps<S> {
    context: Arc<Context<S>>,
    lifecycle: Lifecycle<S>,
}

impl<S: RunnerStore> Sweeps<S> {
    /// Over the runner's context.
    pub fn new(context: Arc<Context<S>>) -> Self {
        Self {
            lifecycle: Lifecycle::new(Arc::clone(&context)),
            context,
        }
    }

    /// Sweeps the sessions of the caller's tenant.
    ///
    /// # Errors
    /// When the registry does not name them.
    pub async fn sweep(&self, admitted: &Admitted<SweepSessions>) -> Result<Vec<Swept>, RpcError> {
        let overdue = self.overdue(Some(&admitted.caller().tenant)).await?;
        Ok(self.sweep_all(overdue, admitted.request().dry_run).await)
    }

    /// Sweeps the sessions of all tenants, as is done every minute.
    pub async fn maintain(&self) {
        match self.overdue(None).await {
            Ok(overdue) => {
                self.sweep_all(overdue, false).await;
            },
            Err(error) => {
                let error = self.context.logged(&error);
                tracing::warn!(error, "sweeping failed; trying again later");
            },
        }
    }

    async fn overdue(&self, tenant: Option<&TenantId>) -> Result<Vec<Overdue>, RpcError> {
        let system = Caller::system("sweep", TenantId::default());
        let request = ListOverdueSessionsRequest {
            limit: None,
            tenant: tenant.map(ToString::to_string),
        };
        let mut registry = self.context.registry.on_behalf_of(&system);
        let listed = registry.list_overdue_sessions(request).await;
        let listed = listed.map_err(|status| RpcError::from_status(&status))?;
        let rows = listed.into_inner().sessions;
        Ok(rows.into_iter().filter_map(read).collect())
    }

    async fn sweep_all(&self, overdue: Vec<Overdue>, dry_run: bool) -> Vec<Swept> {
        let mut out_of_reach = None;
        let mut swept = Vec::with_capacity(overdue.len());
        for one in overdue {
            let outcome = if dry_run || !one.enforced {
                SweepOutcome::Planned
            } else if let Some(message) = &out_of_reach {
                SweepOutcome::Failed(String::clone(message))
            } else {
                let changed = self.sweep_one(&one).await;
                // Whoever waited for the registry once need not wait for each of the others.
                out_of_reach = unreachable(&changed);
                outcome_of(changed)
            };
            swept.push(Swept {
                session_key: one.session.key,
                change: one.change,
                reason: one.reason,
                outcome,
            });
        }
        log(&swept);
        swept
    }

    async fn sweep_one(&self, one: &Overdue) -> Result<Vec<u8>, Setback> {
        let command = ChangeSession {
            change: one.change,
            target: Target::key(&one.session.key),
            expected_session_id: Some(one.session.session_id.clone()),
            force: false,
            archived_only: false,
            patch: Patch::default(),
            key: None,
            fingerprint: String::new(),
        };
        let terms = Terms {
            spares_owing: true,
            row_version: Some(one.session.row_version),
        };
        let system = Caller::system("sweep", one.tenant.clone());
        self.lifecycle.attempt(&system, &command, terms).await
    }
}

fn unreachable(changed: &Result<Vec<u8>, Setback>) -> Option<String> {
    match changed {
        Err(Setback::Refused(error)) if is_out_of_reach(error) => Some(error.message.clone()),
        Ok(_) | Err(Setback::Refused(_) | Setback::UnderWay(_) | Setback::Outdated(_)) => None,
    }
}

fn outcome_of(changed: Result<Vec<u8>, Setback>) -> SweepOutcome {
    match changed {
        Ok(_) => SweepOutcome::Done,
        Err(Setback::UnderWay(_) | Setback::Outdated(_)) => SweepOutcome::Busy,
        // Somebody else removed it.
        Err(Setback::Refused(error)) if error.reason == Reason::SessionNotFound => {
            SweepOutcome::Done
        },
        Err(Setback::Refused(error))
            if matches!(error.reason, Reason::SessionBusy | Reason::Stale) =>
        {
            SweepOutcome::Busy
        },
        Err(Setback::Refused(error)) => SweepOutcome::Failed(error.message),
    }
}

/// One line for each kind of outcome that a sweep had.
fn log(swept: &[Swept]) {
    let count = |wanted: &str| {
        let same = swept.iter().filter(|one| one.outcome.as_str() == wanted);
        same.count()
    };
    if swept.is_empty() {
        return;
    }
    tracing::info!(
        done = count("done"),
        planned = count("planned"),
        busy = count("busy"),
        failed = count("failed"),
        "sessions whose time is over were swept"
    );
}

/// Reads what the registry named; what cannot be read is left out, and that is said.
fn read(wire: OverdueSession) -> Option<Overdue> {
    match try_read(wire) {
        Ok(overdue) => Some(overdue),
        Err(error) => {
            tracing::error!(%error, "an overdue session cannot be read and is left out");
            None
        },
    }
}

fn try_read(wire: OverdueSession) -> Result<Overdue, RpcError> {
    let change = match wire.change() {
        LifecycleChange::Archive => Change::Archive,
        LifecycleChange::Delete => Change::Delete,
        LifecycleChange::Unspecified | LifecycleChange::Reset | LifecycleChange::Restore => {
            return Err(broken(format!(
                "{:?} is no change of a sweep",
                wire.change()
            )));
        },
    };
    let session = wire
        .session
        .ok_or_else(|| broken("its row is missing".to_owned()))?;
    Ok(Overdue {
        tenant: TenantId::parse(wire.tenant).map_err(|error| broken(error.to_string()))?,
        session: wire::session::from_proto(session).map_err(|error| broken(error.to_string()))?,
        change,
        reason: wire.reason,
        enforced: wire.enforced,
    })
}

fn broken(message: String) -> RpcError {
    RpcError::new(Reason::Internal, message)
}
