//! The registry commits a change, and the fence is lifted.

use std::sync::Arc;
use std::time::Duration;

use confab_policy::lifecycle::Change;
use confab_proto::registry::v1::{
    CommitLifecycleRequest, CommitLifecycleResponse, LifecycleChange,
};
use confab_rpc::caller::Caller;
use confab_rpc::error::{Reason, RpcError};
use confab_store::StoreError;
use prost::Message;
use tonic::{Code, Status};

use super::Setback;
use crate::context::Context;
use crate::store::{Fence, Lift, QueuedSession, RunnerStore, Stage};

/// The first pause before the registry is asked again.
const PAUSE_MIN: Duration = Duration::from_millis(50);
/// The longest such pause.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Settles the changes that an earlier life of the process left: one that the registry was not
/// asked for did not happen; the others are asked for again, behind everything else, until the
/// registry has answered.
///
/// # Errors
/// When the store fails.
pub async fn recover<S: RunnerStore>(context: &Arc<Context<S>>) -> Result<(), StoreError> {
    for fence in context.store.fences().await? {
        match fence.stage {
            Stage::Fenced => context.store.lift(&fence.session, Lift::Undone).await?,
            Stage::Committing => {
                context.tasks.spawn(go_on(Arc::clone(context), fence));
            },
        }
    }
    Ok(())
}

async fn go_on<S: RunnerStore>(context: Arc<Context<S>>, fence: Fence) {
    let key = &fence.session.session_key;
    match settle(&context, &fence.session, &fence.commit).await {
        Ok(_) => tracing::info!(session.key = %key, "a change of an earlier life was committed"),
        Err(setback) => {
            let error = context.logged(&setback.into_error());
            tracing::warn!(session.key = %key, error, "a change of an earlier life was not made");
        },
    }
}

/// Asks the registry until it has answered, then lifts the fence. Where the process stops first the
/// fence stays, and the next start goes on.
pub(super) async fn settle<S: RunnerStore>(
    context: &Context<S>,
    session: &QueuedSession,
    request: &CommitLifecycleRequest,
) -> Result<Vec<u8>, Setback> {
    let error = match committed(context, session, request).await {
        Ok(response) => {
            confab_store::crash_point("runner-committed");
            let answer = response
                .session
                .as_ref()
                .map_or_else(Vec::new, Message::encode_to_vec);
            let lift = Lift::Done {
                work_epoch: epoch_after(request, &response),
                answer: answer.clone(),
            };
            lift_at_last(context, session, lift).await?;
            return Ok(answer);
        },
        Err(Unmade::Stopped(error)) => return Err(error.into()),
        Err(Unmade::Refused(error)) => error,
    };
    undo(context, session).await?;
    if error.reason == Reason::Stale {
        return Err(Setback::Outdated(error));
    }
    Err(error.into())
}

/// Lifts the fence of a change that was not made.
pub(super) async fn undo<S: RunnerStore>(
    context: &Context<S>,
    session: &QueuedSession,
) -> Result<(), RpcError> {
    lift_at_last(context, session, Lift::Undone).await
}

/// A row that is gone leaves an epoch too: a session that is made under its key goes on from there.
fn epoch_after(request: &CommitLifecycleRequest, response: &CommitLifecycleResponse) -> i64 {
    response.session.as_ref().map_or_else(
        || request.expected_work_epoch.saturating_add(1),
        |session| session.work_epoch,
    )
}

/// Why the registry did not commit.
enum Unmade {
    /// It refused.
    Refused(RpcError),
    /// The process stopped before it answered.
    Stopped(RpcError),
}

async fn committed<S: RunnerStore>(
    context: &Context<S>,
    session: &QueuedSession,
    request: &CommitLifecycleRequest,
) -> Result<CommitLifecycleResponse, Unmade> {
    let system = Caller::system("lifecycle", session.tenant.clone());
    let registry = context.registry.on_behalf_of(&system);
    let mut pause = PAUSE_MIN;
    loop {
        let asked = registry.clone().commit_lifecycle(request.clone()).await;
        let status = match asked {
            Ok(response) => return Ok(response.into_inner()),
            Err(status) => status,
        };
        let error = RpcError::from_status(&status);
        if !leaves_unknown(&status, error.reason) {
            return Err(Unmade::Refused(error));
        }
        let key = &session.session_key;
        let said = context.logged(&error);
        tracing::warn!(session.key = %key, error = said, "whether a change was committed is not known; asking again");
        tokio::select! {
            () = tokio::time::sleep(pause) => {},
            () = context.stop.cancelled() => return Err(Unmade::Stopped(error)),
        }
        pause = pause.saturating_mul(2).min(PAUSE_MAX);
    }
}

/// Whether the registry may have committed a change although this is its answer.
fn leaves_unknown(status: &Status, reason: Reason) -> bool {
    let lost = matches!(
        reason,
        Reason::Unavailable | Reason::Deadline | Reason::Internal
    );
    // A registry that does not know the method has done nothing.
    lost && status.code() != Code::Unimplemented
}

/// A fence must not stand for ever, so it is lifted however often that fails.
async fn lift_at_last<S: RunnerStore>(
    context: &Context<S>,
    session: &QueuedSession,
    lift: Lift,
) -> Result<(), RpcError> {
    let mut pause = PAUSE_MIN;
    loop {
        let Err(error) = context.store.lift(session, lift.clone()).await else {
            return Ok(());
        };
        let key = &session.session_key;
        tracing::error!(session.key = %key, %error, "a fence could not be lifted; trying again");
        tokio::select! {
            () = tokio::time::sleep(pause) => {},
            () = context.stop.cancelled() => return Err(RpcError::internal(error)),
        }
        pause = pause.saturating_mul(2).min(PAUSE_MAX);
    }
}

/// The proto's form of a change.
pub const fn change_to_proto(change: Change) -> LifecycleChange {
    match change {
        Change::Reset => LifecycleChange::Reset,
        Change::Archive => LifecycleChange::Archive,
        Change::Restore => LifecycleChange::Restore,
        Change::Delete => LifecycleChange::Delete,
    }
}
