//! One run, from its claim to the release of its session.
//!
//! The order of a run (and what a crash between the steps finds): the input goes into the
//! transcript (C2) while the agent works; then the outcome, with all that follows from it, is
//! committed here (C4) while what the run wrote goes into the transcript (C3); whoever waits is
//! answered when both are durable; then the session is free. At start, C2 and C3 of a run that got
//! so far are done again: their keys make that harmless.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use confab_model::id::SessionId;
use confab_model::limits::MESSAGE_BYTES_MAX;
use confab_model::run::{Outcome, Run, RunError, RunState, Step};
use confab_model::session::Session;
use confab_rpc::caller::Caller;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::{About, Action, Governed, Target};
use confab_rpc::observe::trace_context;
use futures::FutureExt as _;
use serde_json::{Map, Value};
use tracing::Instrument as _;

use crate::context::Context;
use crate::driver::{Assignment, CallLog, Drivers};
use crate::patience::{is_out_of_reach, patiently};
use crate::scribe;
use crate::store::{Claimed, RunResult, RunnerStore, StoredRun, ToolTrace, apply_outcome};
use crate::tokens::{AtWork, LiveRun};

/// How long a run waits for a service that cannot be reached before it ends for that: longer than
/// the restart of a service takes (D47).
const PATIENCE: Duration = Duration::from_mins(1);
/// The pause before a session that could not be freed is freed again.
const PAUSE_BEFORE_RELEASE: Duration = Duration::from_millis(500);

/// A flow's own run looks for its session.
struct FlowRun(Target);

impl Governed for FlowRun {
    fn action(&self) -> Action {
        Action::FlowRun
    }

    fn about(&self) -> About {
        About::One(self.0.clone())
    }
}

/// Carries a claimed run out.
pub async fn execute<S: RunnerStore>(
    context: Arc<Context<S>>,
    drivers: Arc<Drivers>,
    claimed: Claimed,
) {
    let Claimed(stored) = claimed;
    let run = &stored.run;
    let span = tracing::info_span!(
        "run",
        run.id = %run.id,
        session.key = %run.session_key,
        agent.id = %run.agent_id,
        step = run.step.as_str(),
        attempt = run.attempts,
    );
    if let Some(kept) = &stored.trace_parent {
        trace_context::resume(&span, kept);
    }
    work(&context, &drivers, stored).instrument(span).await;
}

async fn work<S: RunnerStore>(context: &Context<S>, drivers: &Drivers, mut stored: StoredRun) {
    tracing::info!("run begun");
    let token = drivers.token(&stored, context.settings().runs.timeout_seconds);
    let at_work = context.runs.begin(
        stored.run.id.clone(),
        LiveRun {
            tenant: stored.tenant.clone(),
            session_key: stored.run.session_key.clone(),
            lease_epoch: stored.lease_epoch,
            token: token.opaque(),
        },
    );
    let calls = CallLog::default();
    // Whatever hangs, a run that is aborted ends.
    let ended = tokio::select! {
        biased;
        why = at_work.aborted() => Ok(cancelled(why)),
        ended = attempt(context, drivers, &mut stored, token.bearer(), &calls) => ended,
    };
    let outcome = match ended {
        Ok(outcome) => outcome,
        // What only the stop hinders is no outcome: the next start takes the run up again.
        Err(obstacle) if context.stop.is_cancelled() && is_out_of_reach(&obstacle.error) => {
            tracing::info!("run put off until the next start");
            return;
        },
        Err(obstacle) => obstacle.into_outcome(),
    };
    let result = checked(outcome, calls.into_trace());
    end(context, stored, result, Some(at_work)).await;
}

/// Finds the session and lets its agent answer.
async fn attempt<S: RunnerStore>(
    context: &Context<S>,
    drivers: &Drivers,
    stored: &mut StoredRun,
    token: &str,
    calls: &CallLog,
) -> Result<Outcome, Obstacle> {
    if is_told_already(&stored.run) {
        return Ok(nothing_to_say());
    }
    let found = patiently(&context.stop, PATIENCE, || find_session(context, stored)).await;
    let found = found.map_err(|error| Obstacle {
        class: "session_unavailable",
        error,
    })?;
    stored.run.session_id = Some(found.session_id);
    stored.run.model = found.model;
    run_agent(context, drivers, stored, token, calls).await
}

/// Whether a wake's notices are part of a person's run that came first: then the agent need not be
/// asked once more (D57).
fn is_told_already(run: &Run) -> bool {
    run.step == Step::Notice && run.notices.is_empty()
}

const fn nothing_to_say() -> Outcome {
    Outcome::Replied {
        text: String::new(),
        model: None,
        usage: None,
    }
}

/// The session of a run.
struct Found {
    session_id: SessionId,
    /// The session's own model, where it has one.
    model: Option<String>,
}

/// What keeps a run from being carried out.
struct Obstacle {
    class: &'static str,
    error: RpcError,
}

impl Obstacle {
    fn into_outcome(self) -> Outcome {
        failed(self.class, self.error.message)
    }
}

/// Finds the generation of the session that the run belongs to, where its flow did not know it, and
/// the session's own model.
///
/// A session that was archived meanwhile takes no turn (D74).
async fn find_session<S: RunnerStore>(
    context: &Context<S>,
    stored: &StoredRun,
) -> Result<Found, RpcError> {
    if let Some(session_id) = &stored.run.session_id {
        return Ok(Found {
            session_id: session_id.clone(),
            model: stored.run.model.clone(),
        });
    }
    let system = Caller::system("flows", stored.tenant.clone());
    let target = FlowRun(Target::key(&stored.run.session_key));
    let admitted = context.gate.admit_as(system, target).await?;
    let session: &Session = admitted.session()?;
    let model = session.tuning.model.clone();
    let bound = context
        .store
        .bind_session(&stored.run.id, &session.session_id, model.as_deref())
        .await;
    bound.map_err(RpcError::internal)?;
    Ok(Found {
        session_id: session.session_id.clone(),
        model,
    })
}

async fn run_agent<S: RunnerStore>(
    context: &Context<S>,
    drivers: &Drivers,
    stored: &StoredRun,
    token: &str,
    calls: &CallLog,
) -> Result<Outcome, Obstacle> {
    let limit = Duration::from_secs(context.settings().runs.timeout_seconds.into());
    let assignment = Assignment {
        stored,
        token,
        settings: context.settings(),
        calls,
    };
    // A driver that panics fails its run; the session must not stay held for it.
    let driven = AssertUnwindSafe(drivers.run(&context.store, assignment)).catch_unwind();
    // A reply to a message that is not there must not be claimed, so the agent need not go on
    // without one (B208).
    let both = tokio::try_join!(
        patiently(&context.stop, PATIENCE, || write_input(context, stored)),
        async { Ok(tokio::time::timeout(limit, driven).await) },
    );
    let ((), driven) = both.map_err(input_not_stored)?;
    Ok(match driven {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_panic)) => {
            tracing::error!("the agent's driver panicked");
            failed(
                "internal",
                "the agent's driver broke off; see the service's log".to_owned(),
            )
        },
        Err(_elapsed) => timed_out(limit),
    })
}

fn input_not_stored(mut error: RpcError) -> Obstacle {
    error.message = format!("the input was not stored: {}", error.message);
    Obstacle {
        class: "transcript_unavailable",
        error,
    }
}

/// C2. What an earlier attempt wrote stands.
async fn write_input<S: RunnerStore>(
    context: &Context<S>,
    stored: &StoredRun,
) -> Result<(), RpcError> {
    let Some(message) = scribe::input(stored) else {
        return Ok(());
    };
    let run = &stored.run;
    let (key, session_id) = (&run.session_key, run.session_id.as_ref());
    let tenant = &stored.tenant;
    match scribe::append(&context.transcript, tenant, key, session_id, &[message]).await {
        Err(error) if error.reason == Reason::KeyReused => Ok(()),
        written => written,
    }
}

/// What is kept of a run: what the transcript cannot hold is left out, and that is said.
fn checked(outcome: Outcome, trace: Vec<ToolTrace>) -> RunResult {
    let outcome = match outcome {
        Outcome::Replied { text, .. } if text.len() > MESSAGE_BYTES_MAX => {
            let bytes = text.len();
            let message =
                format!("the reply has {bytes} bytes; at most {MESSAGE_BYTES_MAX} are allowed");
            failed("reply_too_large", message)
        },
        Outcome::Replied { .. } | Outcome::Failed { .. } => outcome,
    };
    RunResult {
        outcome,
        trace: trace.into_iter().map(bounded).collect(),
    }
}

/// A tool call that the transcript can hold.
fn bounded(mut call: ToolTrace) -> ToolTrace {
    let arguments = Value::Object(call.arguments.clone()).to_string();
    if let Some(note) = omitted("the arguments", &arguments) {
        call.arguments = note;
    }
    if let Some(note) = omitted("the result", &call.result.to_string()) {
        call.result = Value::Object(note);
    }
    call
}

/// What stands for a value whose JSON text is longer than a message may be.
fn omitted(what: &str, json: &str) -> Option<Map<String, Value>> {
    let bytes = json.len();
    let note = format!("{what} had {bytes} bytes; at most {MESSAGE_BYTES_MAX} are kept");
    (bytes > MESSAGE_BYTES_MAX).then(|| Map::from_iter([("omitted".to_owned(), note.into())]))
}

fn timed_out(limit: Duration) -> Outcome {
    let message = format!(
        "the agent took longer than {} seconds (agents.defaults.timeoutSeconds)",
        limit.as_secs()
    );
    let error = RunError {
        class: "timeout".to_owned(),
        message,
    };
    Outcome::Failed {
        state: RunState::TimedOut,
        error,
    }
}

fn cancelled(message: String) -> Outcome {
    let error = RunError {
        class: "cancelled".to_owned(),
        message,
    };
    Outcome::Failed {
        state: RunState::Cancelled,
        error,
    }
}

fn failed(class: &str, message: String) -> Outcome {
    let error = RunError {
        class: class.to_owned(),
        message,
    };
    Outcome::Failed {
        state: RunState::Failed,
        error,
    }
}

/// C3 beside C4, then the answer, then the release.
async fn end<S: RunnerStore>(
    context: &Context<S>,
    mut stored: StoredRun,
    result: RunResult,
    at_work: Option<AtWork>,
) {
    apply_outcome(&mut stored.run, &result.outcome);
    stored.trace.clone_from(&result.trace);
    let messages = scribe::output(&stored);
    let run = stored.run.id.clone();
    context.wakeups.run_unfinished(&run, &stored.run.flow_id);
    let (written, ended) = tokio::join!(
        scribe::append_at_last(context, &stored, &messages),
        context
            .store
            .end_run(&run, stored.lease_epoch, result, context.now()),
    );
    drop(at_work);
    match (written, ended) {
        (Ok(()), Ok(true)) => return finish(context, &stored).await,
        // What is missing is done at the next start; until then the run counts as unfinished.
        (Err(error), Ok(true)) => {
            let error = context.logged(&error);
            tracing::warn!(error, "stopped before the reply was stored");
            return;
        },
        (_, Ok(false)) => tracing::warn!("the lease was lost; another attempt has the run"),
        // Its lease is not kept any more, so another attempt follows.
        (_, Err(error)) => tracing::error!(%error, "the outcome could not be stored"),
    }
    context.wakeups.run_finished(&run, &stored.run.flow_id);
}

/// The reply of an ended run is in the transcript: whoever waits is answered, the session is free.
async fn finish<S: RunnerStore>(context: &Context<S>, stored: &StoredRun) {
    let run = &stored.run;
    tracing::info!(state = run.state.as_str(), "run ended");
    context.wakeups.run_finished(&run.id, &run.flow_id);
    // Nobody else frees it before the next start.
    while let Err(error) = context
        .store
        .release_session(&run.id, stored.lease_epoch)
        .await
    {
        tracing::error!(%error, "the session could not be freed; trying again");
        tokio::select! {
            () = tokio::time::sleep(PAUSE_BEFORE_RELEASE) => {},
            () = context.stop.cancelled() => return,
        }
    }
}

/// Does C3 again for a run that ended in an earlier life of the process, and frees its session.
pub async fn finish_ended<S: RunnerStore>(context: Arc<Context<S>>, stored: StoredRun) {
    let messages = scribe::output(&stored);
    let written = scribe::append_at_last(&context, &stored, &messages).await;
    if written.is_ok() {
        finish(&context, &stored).await;
    }
}

/// Ends a run that was begun too often (D48, D78).
pub async fn give_up<S: RunnerStore>(context: Arc<Context<S>>, stored: StoredRun) {
    let message = format!(
        "the process went away in {} attempts; confab.runs.maxAttempts is reached",
        stored.run.attempts
    );
    interrupt(context, stored, "interrupted", message).await;
}

/// Ends a run that waits in the queue, because its session is changed by force.
pub(crate) async fn cancel<S: RunnerStore>(
    context: &Context<S>,
    stored: StoredRun,
    message: String,
) {
    tracing::info!(run.id = %stored.run.id, message, "run cancelled");
    let result = RunResult {
        outcome: cancelled(message),
        trace: Vec::new(),
    };
    end(context, stored, result, None).await;
}

/// Ends a run that is not at work.
pub async fn interrupt<S: RunnerStore>(
    context: Arc<Context<S>>,
    stored: StoredRun,
    class: &str,
    message: String,
) {
    tracing::warn!(run.id = %stored.run.id, message, "run given up");
    let error = RunError {
        class: class.to_owned(),
        message,
    };
    let outcome = Outcome::Failed {
        state: RunState::Interrupted,
        error,
    };
    end(
        &context,
        stored,
        RunResult {
            outcome,
            trace: Vec::new(),
        },
        None,
    )
    .await;
}
