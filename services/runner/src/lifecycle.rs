//! Changes of a session's life: reset, archive, restore, delete.
//!
//! They touch a session that may have work, so they are made here: the session is fenced in this
//! database, its live work is in the way or aborted, the registry commits the change, the fence is
//! lifted. While it stands, nothing of the session is claimed and nothing is accepted for it; a call
//! that was admitted before the change is judged once more after it. So no run begins in a session
//! that was archived or reset meanwhile, and a message that races a reset runs once, in the
//! generation that its run names (B224).
//!
//! The order of a change, and what a crash after each step finds:
//!
//! 1. The caller's key is looked up, the gate and the guards are asked. Nothing was touched.
//! 2. The fence is raised, in one transaction with the checks for other changes and for live work,
//!    and takes the key ([`Stage::Fenced`](crate::store::Stage)). At the next start it is lifted:
//!    the change did not happen, and its key is unused.
//! 3. With `force`, what is queued or at work is ended as cancelled and the session becomes free.
//!    What was ended stays ended; the fence is lifted as after step 2.
//! 4. The fence says that the registry is asked
//!    ([`Stage::Committing`](crate::store::Stage)), and then it is. At the next start it is asked
//!    again, under the same name, until it has answered: it may have committed the change and the
//!    answer was lost.
//! 5. The fence goes, in one transaction with the session's new epoch and the answer that a
//!    repeated call meets (D36). The change has happened and is over.
//!
//! From step 2 on a change goes its way whether its caller waits or not.
//!
//! Source: D26, D36, D47, D51, D55, D56, reg:M15, reg:M16, reg:C7, reg:C9, reg:C10, reg:C11, B184.

mod abort;
mod commit;
mod fenced;
mod freshness;
pub mod sweep;

use std::sync::Arc;
use std::time::Duration;

use confab_model::clock::Timestamp;
use confab_model::key::SessionKey;
use confab_model::limits::IDEMPOTENCY_HOURS;
use confab_model::session::Session;
use confab_policy::lifecycle::{Change, Refusal, RefusalKind, check};
use confab_proto::registry::v1::CommitLifecycleRequest;
use confab_proto::types::v1 as types;
use confab_rpc::caller::Caller;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::{Admitted, caller_of};
use confab_rpc::wire;
use prost::Message as _;
use tokio::time::{Instant, timeout};
use tonic::Request;
use tracing::Instrument as _;

use crate::accept::key_reused;
use crate::commands::{ChangeSession, Keyed as _};
use crate::context::Context;
use crate::store::{
    FenceError, Fenced, FirstUse, KeyUse, LiveWork, NewFence, QueuedSession, RunnerStore,
};

pub use commit::{change_to_proto, recover};
pub(crate) use fenced::until_open;

/// How long live work may take to end once it was aborted.
const ABORT_PATIENCE: Duration = Duration::from_secs(30);
/// How long a call waits for a change of its session that is under way.
pub(crate) const FENCE_PATIENCE: Duration = Duration::from_secs(5);
/// How long a caller waits for a change that is under way.
const ANSWER_PATIENCE: Duration = Duration::from_secs(90);
const HOUR_MILLIS: i64 = 3_600_000;

/// Why a change was not made.
#[derive(Clone, Debug)]
enum Setback {
    /// Another change of the session is under way: when it is over the call is judged anew.
    UnderWay(QueuedSession),
    /// The session changed after the call was judged: it is judged once more.
    Outdated(RpcError),
    /// It is refused.
    Refused(RpcError),
}

impl Setback {
    fn into_error(self) -> RpcError {
        match self {
            Self::UnderWay(session) => under_way(&session),
            Self::Outdated(error) | Self::Refused(error) => error,
        }
    }
}

impl From<RpcError> for Setback {
    fn from(error: RpcError) -> Self {
        Self::Refused(error)
    }
}

/// On which terms a change is made.
#[derive(Clone, Copy, Debug, Default)]
struct Terms {
    /// Whether what the session owes to channels is in the way (B178).
    spares_owing: bool,
    /// The version that the row must still have.
    row_version: Option<u64>,
}

/// Changes sessions' lives.
#[derive(Debug)]
pub struct Lifecycle<S> {
    context: Arc<Context<S>>,
    abort_patience: Duration,
    fence_patience: Duration,
}

impl<S: RunnerStore> Lifecycle<S> {
    /// Over the runner's context.
    pub const fn new(context: Arc<Context<S>>) -> Self {
        Self {
            context,
            abort_patience: ABORT_PATIENCE,
            fence_patience: FENCE_PATIENCE,
        }
    }

    /// The same without any patience.
    #[cfg(test)]
    pub(crate) const fn hasty(context: Arc<Context<S>>) -> Self {
        Self {
            context,
            abort_patience: Duration::ZERO,
            fence_patience: Duration::ZERO,
        }
    }

    /// Makes a change; answers with the session's row, absent after a delete. Where another change is
    /// under way, waits until that is over; a call that comes too late is judged once more.
    ///
    /// # Errors
    /// When the call is malformed or refused, the session has live work, or the registry cannot be
    /// reached.
    pub async fn change<P>(
        &self,
        request: Request<P>,
        parse: impl FnOnce(P) -> Result<ChangeSession, RpcError>,
    ) -> Result<Option<types::Session>, RpcError> {
        let caller = caller_of(&request)?;
        let command = parse(request.into_inner())?;
        let answer = self.persist(&caller, &command).await?;
        if answer.is_empty() {
            return Ok(None);
        }
        let session = types::Session::decode(answer.as_slice());
        Ok(Some(session.map_err(RpcError::internal)?))
    }

    async fn persist(&self, caller: &Caller, command: &ChangeSession) -> Result<Vec<u8>, RpcError> {
        let deadline = Instant::now() + self.fence_patience;
        let mut judged_again = false;
        loop {
            match self.attempt(caller, command, Terms::default()).await {
                Err(Setback::UnderWay(session)) if Instant::now() < deadline => {
                    until_open(&self.context, &session, deadline).await?;
                },
                Err(Setback::Outdated(_)) if !judged_again => judged_again = true,
                made => return made.map_err(Setback::into_error),
            }
        }
    }

    /// Judges a call and makes its change, or meets its first answer (B222).
    async fn attempt(
        &self,
        caller: &Caller,
        command: &ChangeSession,
        terms: Terms,
    ) -> Result<Vec<u8>, Setback> {
        if let Some(answer) = self.answered(caller, command).await? {
            return Ok(answer);
        }
        let gate = &self.context.gate;
        let admitted = gate.admit_as(caller.clone(), command.clone()).await?;
        let session = admitted.session()?;
        guard(session, command, self.context.now())?;
        if terms
            .row_version
            .is_some_and(|seen| seen != session.row_version)
        {
            return Err(outdated(&session.key, command.change).into());
        }
        self.carry_out(&admitted, terms).await
    }

    /// What the same call was answered with before.
    async fn answered(
        &self,
        caller: &Caller,
        command: &ChangeSession,
    ) -> Result<Option<Vec<u8>>, Setback> {
        let Some(key) = command.key() else {
            return Ok(None);
        };
        let context = &self.context;
        let owner = caller.idempotency_owner();
        let used = context
            .store
            .used_key(&caller.tenant, &owner, key, context.now());
        let Some(used) = used.await.map_err(RpcError::internal)? else {
            return Ok(None);
        };
        match used.first {
            FirstUse::Change {
                session_key,
                answer,
            } if used.fingerprint == command.fingerprint => {
                let session = QueuedSession::new(&caller.tenant, &session_key);
                answer.map(Some).ok_or(Setback::UnderWay(session))
            },
            FirstUse::Change { .. } | FirstUse::Run(_) => Err(key_reused(key.as_str()).into()),
        }
    }

    /// Fences the session and goes through with the change, on a task of its own: the fence must not
    /// stand for ever because its caller left.
    async fn carry_out(
        &self,
        admitted: &Admitted<ChangeSession>,
        terms: Terms,
    ) -> Result<Vec<u8>, Setback> {
        let context = &self.context;
        let change = admitted.request().change;
        let fence = self.fence(admitted, terms)?;
        let made = make(Arc::clone(context), fence, change, self.abort_patience);
        let task = context.tasks.spawn(made.in_current_span());
        match timeout(ANSWER_PATIENCE, task).await {
            Ok(Ok(made)) => made,
            Ok(Err(broken)) => Err(RpcError::internal(broken).into()),
            Err(_elapsed) => Err(unknown(change).into()),
        }
    }

    fn fence(
        &self,
        admitted: &Admitted<ChangeSession>,
        terms: Terms,
    ) -> Result<NewFence, RpcError> {
        let (caller, command) = (admitted.caller(), admitted.request());
        let session = admitted.session()?;
        let now = self.context.now();
        let expires_at = now.plus_millis(i64::from(IDEMPOTENCY_HOURS).saturating_mul(HOUR_MILLIS));
        let key = command.key.clone().map(|key| KeyUse {
            owner: caller.idempotency_owner(),
            key,
            fingerprint: command.fingerprint.clone(),
            expires_at,
        });
        let change_id = self.context.ids.next().to_string();
        Ok(NewFence {
            session: QueuedSession::new(&caller.tenant, &session.key),
            commit: CommitLifecycleRequest {
                expected_row_version: terms.row_version.map(wire::numbers::to_i64),
                ..commit_request(session, command, change_id)
            },
            live_work: live_work(command, terms),
            key,
            now,
        })
    }
}

/// What the registry is asked.
fn commit_request(
    session: &Session,
    command: &ChangeSession,
    change_id: String,
) -> CommitLifecycleRequest {
    let (patch, mask) = wire::patch::patch_to_wire(&command.patch);
    let patched = !command.patch.is_empty();
    CommitLifecycleRequest {
        session_key: session.key.to_string(),
        change: change_to_proto(command.change).into(),
        expected_session_id: session.session_id.to_string(),
        expected_work_epoch: wire::numbers::to_i64(session.work_epoch),
        change_id,
        patch: patched.then_some(patch),
        update_mask: patched.then_some(mask),
        archived_only: command.archived_only,
        expected_row_version: None,
    }
}

/// A restore takes work from nobody (D56).
const fn live_work(command: &ChangeSession, terms: Terms) -> LiveWork {
    match command.change {
        Change::Restore => LiveWork::Ignored,
        Change::Reset | Change::Archive | Change::Delete => {
            if command.force {
                LiveWork::Aborted
            } else if terms.spares_owing {
                LiveWork::RefusesOwed
            } else {
                LiveWork::Refuses
            }
        },
    }
}

/// What no force may change, asked before anything is touched: no work is aborted for a change that
/// the registry would refuse.
fn guard(session: &Session, command: &ChangeSession, now: Timestamp) -> Result<(), RpcError> {
    let expected = command.expected_session_id.as_ref();
    check(session, command.change, expected).map_err(forbidden)?;
    if command.archived_only && session.archived_at.is_none() {
        let key = &session.key;
        let message = format!("Session {key} is not archived. Archive it first, then delete it.");
        return Err(RpcError::new(Reason::Protected, message));
    }
    let changed = match command.change {
        Change::Archive => session.clone().archive(now),
        Change::Restore => session.clone().restore(),
        Change::Reset | Change::Delete => return Ok(()),
    };
    changed
        .patched(&command.patch, now)
        .map(drop)
        .map_err(wire::patch::refused)
}

fn forbidden(refusal: Refusal) -> RpcError {
    let reason = match refusal.kind {
        RefusalKind::Protected => Reason::Protected,
        RefusalKind::Archived => Reason::SessionArchived,
        RefusalKind::Stale => Reason::Stale,
    };
    RpcError::new(reason, refusal.message)
}

/// Steps 2 to 5.
async fn make<S: RunnerStore>(
    context: Arc<Context<S>>,
    fence: NewFence,
    change: Change,
    abort_patience: Duration,
) -> Result<Vec<u8>, Setback> {
    let session = fence.session.clone();
    let commit = fence.commit.clone();
    let doomed = match context.store.fence(fence).await {
        Ok(Fenced::Fresh(doomed)) => doomed,
        Ok(Fenced::Repeated(answer)) => return Ok(answer),
        Err(error) => return Err(refused(error, &session, change)),
    };
    confab_store::crash_point("runner-fenced");
    if let Err(error) = abort::until_free(&context, &session, &doomed, change, abort_patience).await
    {
        commit::undo(&context, &session).await?;
        return Err(error.into());
    }
    let began = context.store.begin_commit(&session).await;
    if let Err(error) = began {
        commit::undo(&context, &session).await?;
        return Err(RpcError::internal(error).into());
    }
    confab_store::crash_point("runner-committing");
    commit::settle(&context, &session, &commit).await
}

fn refused(error: FenceError, session: &QueuedSession, change: Change) -> Setback {
    let key = &session.session_key;
    match error {
        FenceError::KeyReused { key } => key_reused(&key).into(),
        FenceError::UnderWay { session_key } => {
            Setback::UnderWay(QueuedSession::new(&session.tenant, &session_key))
        },
        FenceError::Outdated { .. } => Setback::Outdated(outdated(key, change)),
        FenceError::Busy { runs, .. } => {
            let force = format!("Runs not ended: {runs}; force aborts them first.");
            busy(session, change, &force).into()
        },
        FenceError::Owing { deliveries, .. } => {
            let owed = format!("Deliveries not ended: {deliveries}.");
            busy(session, change, &owed).into()
        },
        FenceError::Store(source) => RpcError::internal(source).into(),
    }
}

/// The session has live work (D56).
fn busy(session: &QueuedSession, change: Change, more: &str) -> RpcError {
    let key = &session.session_key;
    let refusal = match change {
        Change::Archive => "Cannot archive a session with an active run.".to_owned(),
        Change::Reset | Change::Restore | Change::Delete => {
            format!("Session {key} is still active; try again in a moment.")
        },
    };
    RpcError::new(Reason::SessionBusy, format!("{refusal} {more}"))
}

fn under_way(session: &QueuedSession) -> RpcError {
    let message = format!(
        "Session {} is being changed by another call; try again in a moment.",
        session.session_key
    );
    RpcError::new(Reason::SessionBusy, message)
}

fn outdated(key: &SessionKey, change: Change) -> RpcError {
    let change = match change {
        Change::Delete => "deletion",
        Change::Reset | Change::Archive | Change::Restore => change.as_str(),
    };
    let message = format!("Session {key} changed before {change}. Retry.");
    RpcError::new(Reason::Stale, message)
}

/// The registry has not answered yet.
fn unknown(change: Change) -> RpcError {
    let message = format!(
        "the registry has not answered whether it committed the {}; the change goes on: repeat the \
         call with the same idempotencyKey, or read the session's row",
        change.as_str()
    );
    RpcError::new(Reason::Unavailable, message)
}
