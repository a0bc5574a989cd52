//! A message between sessions, with the caller's wait.
//!
//! The wait bounds the caller's patience and nothing else (D27): the flow has its own life.

use std::sync::Arc;
use std::time::Duration;

use confab_model::id::RunId;
use confab_model::key::SessionKey;
use confab_model::run::RunState;
use confab_proto::registry::v1::WatchTargetRequest;
use confab_proto::runner::v1::SendStatus;
use confab_rpc::caller::Caller;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::Admitted;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::accept::{Acceptance, Admission};
use crate::commands::SendToSession;
use crate::context::Context;
use crate::patience::patiently;
use crate::records::Sent;
use crate::store::{RunnerStore, StoredRun};
use crate::wait_graph::Waiting;
use crate::waiting::{Waited, Waits};

/// How long a sender waits for a registry that cannot be reached before it does not watch.
const WATCH_PATIENCE: Duration = Duration::from_secs(3);

/// Sends messages between sessions.
#[derive(Debug)]
pub struct Sends<S> {
    context: Arc<Context<S>>,
    acceptance: Acceptance<S>,
    waits: Waits<S>,
}

impl<S: RunnerStore> Sends<S> {
    /// Over the runner's context.
    pub fn new(context: Arc<Context<S>>) -> Self {
        Self {
            acceptance: Acceptance::new(Arc::clone(&context)),
            waits: Waits::new(Arc::clone(&context)),
            context,
        }
    }

    /// Accepts a send, or finds the one that the same call was before, and waits for its answer as
    /// long as the caller wants (D66).
    ///
    /// # Errors
    /// When the wait would close a ring, the chain is too long, the key names another call, or a
    /// limit is reached; then nothing was stored.
    pub async fn send(&self, admission: Admission<SendToSession>) -> Result<Sent, RpcError> {
        match admission {
            Admission::Fresh(admitted) => match self.send_admitted(&admitted).await {
                Err(error) if error.reason == Reason::Stale => {
                    let again = self.acceptance.judge_again(&admitted).await?;
                    self.send_admitted(&again).await
                },
                sent => sent,
            },
            Admission::Repeated {
                caller,
                command,
                run_id,
            } => {
                let stored = self.context.store.run(&caller.tenant, &run_id).await;
                let stored = stored.map_err(RpcError::internal)?.ok_or_else(lost)?;
                let to = &stored.run.session_key;
                let _waiting = self.enter_wait(&caller, &command, to)?;
                self.answer(&caller, &command, to, run_id).await
            },
        }
    }

    async fn send_admitted(&self, admitted: &Admitted<SendToSession>) -> Result<Sent, RpcError> {
        let (caller, send) = (admitted.caller(), admitted.request());
        let to = &admitted.session()?.key;
        let _waiting = self.enter_wait(caller, send, to)?;
        let run_id = self.acceptance.send(admitted).await?;
        self.answer(caller, send, to, run_id).await
    }

    /// Waits, and says what is known then.
    async fn answer(
        &self,
        caller: &Caller,
        send: &SendToSession,
        to: &SessionKey,
        run_id: RunId,
    ) -> Result<Sent, RpcError> {
        // A run whose wait were cut short at a stop would end on a timeout that nobody asked for; cut
        // off itself, it is repeated at the next start and meets the answer.
        let never = CancellationToken::new();
        let stop = if caller.run().is_some() {
            &never
        } else {
            &self.context.stop
        };
        // The watch begins with the send, so that nothing that happens during the wait is missed.
        let (waited, watched) = tokio::join!(
            self.waits.run(&caller.tenant, &run_id, send.timeout, stop),
            self.watch(caller, send, to),
        );
        let Waited { record, timed_out } = waited?.ok_or_else(lost)?;
        let flow = self
            .context
            .store
            .flow(&caller.tenant, &record.run.flow_id)
            .await;
        let flow = flow.map_err(RpcError::internal)?;
        let answer = if send.timeout.is_zero() {
            accepted()
        } else if timed_out {
            still_going(&record)
        } else {
            answer_of(&record)
        };
        let target = record.run.session_key;
        Ok(Sent {
            run_id,
            flow_id: record.run.flow_id,
            status: answer.status,
            display_key: target.display_for(caller.session()).to_owned(),
            session_key: target,
            reply: answer.reply,
            error: answer.error,
            flow,
            watched,
        })
    }

    /// Lets the session that sends watch the one that received, where the caller asks for it;
    /// whether it does is the registry's to say. The send stands whatever comes of this.
    ///
    /// Source: reg:W15.
    async fn watch(&self, caller: &Caller, send: &SendToSession, to: &SessionKey) -> Option<bool> {
        if !send.watch {
            return None;
        }
        let Some(watcher) = caller.session().filter(|own| *own != to) else {
            return Some(false);
        };
        let system = Caller::system("watches", caller.tenant.clone());
        let request = WatchTargetRequest {
            watcher_key: watcher.to_string(),
            target_key: to.to_string(),
        };
        let asked = patiently(&self.context.stop, WATCH_PATIENCE, || async {
            let mut registry = self.context.registry.on_behalf_of(&system);
            let answer = registry.watch_target(request.clone()).await;
            answer.map_err(|status| RpcError::from_status(&status))
        });
        match timeout(WATCH_PATIENCE, asked).await {
            Ok(Ok(answer)) => Some(answer.into_inner().watched),
            Ok(Err(error)) => {
                let error = self.context.logged(&error);
                tracing::warn!(session.key = %watcher, error, "a watch was not registered");
                Some(false)
            },
            Err(_elapsed) => {
                tracing::warn!(session.key = %watcher, "the registry did not answer a watch");
                Some(false)
            },
        }
    }

    /// Notes who waits for whom, and refuses what would never end (D34).
    fn enter_wait(
        &self,
        caller: &Caller,
        send: &SendToSession,
        to: &SessionKey,
    ) -> Result<Option<Waiting>, RpcError> {
        let Some(from) = caller.session().filter(|_| !send.timeout.is_zero()) else {
            return Ok(None);
        };
        if from == to {
            return Err(ring(&[from.clone(), to.clone()]));
        }
        // A caller without a run waits for nobody's turn.
        if caller.run().is_none() {
            return Ok(None);
        }
        let entered = self.context.waits.enter(&caller.tenant, from, to);
        entered.map(Some).map_err(|path| ring(&path))
    }
}

/// A run that was accepted is always there.
fn lost() -> RpcError {
    tracing::error!("an accepted run is not in the store");
    RpcError::new(Reason::Internal, "internal error; see the service's log")
}

fn ring(path: &[SessionKey]) -> RpcError {
    let path = path
        .iter()
        .map(SessionKey::as_str)
        .collect::<Vec<_>>()
        .join(" → ");
    RpcError::new(
        Reason::WaitRing,
        format!(
            "waiting for this answer would never end: {path}; give timeoutSeconds 0, or answer \
             with your own reply"
        ),
    )
}

/// What a caller is told of its send.
struct Answer {
    status: SendStatus,
    reply: Option<String>,
    error: Option<String>,
}

const fn accepted() -> Answer {
    Answer {
        status: SendStatus::Accepted,
        reply: None,
        error: None,
    }
}

/// The wait is over first; a reply that is not in the transcript yet is no answer.
fn still_going(stored: &StoredRun) -> Answer {
    let run = &stored.run;
    let error = format!(
        "no answer yet: run {} goes on (phase={}); its answer will be in the session's history, or \
         wait for it again with the runId",
        run.id,
        phase(run.state)
    );
    Answer {
        status: SendStatus::Timeout,
        reply: None,
        error: Some(error),
    }
}

/// What the run's record says (D28).
fn answer_of(stored: &StoredRun) -> Answer {
    let run = &stored.run;
    match run.state {
        RunState::Queued | RunState::Running | RunState::Waiting => still_going(stored),
        RunState::Succeeded => {
            let reply = run.reply.clone().filter(|reply| !reply.trim().is_empty());
            let status = if reply.is_some() {
                SendStatus::Ok
            } else {
                SendStatus::NoReply
            };
            Answer {
                status,
                reply,
                error: None,
            }
        },
        RunState::Failed
        | RunState::TimedOut
        | RunState::Cancelled
        | RunState::Killed
        | RunState::Interrupted => Answer {
            status: SendStatus::Error,
            reply: None,
            error: Some(run.error.as_ref().map_or_else(
                || format!("the run ended {}", run.state.as_str()),
                |error| format!("{}: {}", error.class, error.message),
            )),
        },
    }
}

/// Whether the run has begun (B197).
fn phase(state: RunState) -> &'static str {
    if state == RunState::Queued {
        "queued"
    } else {
        "running"
    }
}
