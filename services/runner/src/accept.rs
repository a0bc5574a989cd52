//! Accepting work: a person's message, a backend's run, a message between sessions.
//!
//! Accepting is one commit (C1): the idempotency key, the flow, its first run and the body. What
//! was answered with a run's identifier is done, whatever dies afterwards (D47).

use std::sync::Arc;
use std::time::Duration;

use confab_flow::exchange::{ExchangeKind, Terms};
use confab_model::channel::Route;
use confab_model::flow::{DeliveryMode, DeliveryStatus, Flow, FlowState};
use confab_model::id::{ChainId, FlowId, IdempotencyKey, RunId, TenantId};
use confab_model::limits::IDEMPOTENCY_HOURS;
use confab_model::message::{Provenance, ProvenanceKind};
use confab_model::run::Step;
use confab_model::session::Session;
use confab_rpc::caller::{Caller, Identity};
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::{Admitted, Governed, caller_of};
use confab_rpc::observe::trace_context;
use confab_rpc::wire;
use tokio::time::Instant;
use tonic::Request;

use crate::commands::{HumanMessage, Keyed, SendToSession, StartRun};
use crate::context::Context;
use crate::lifecycle::{self, FENCE_PATIENCE};
use crate::notices::WakeWatcher;
use crate::store::{
    FirstUse, KeyUse, NewFlow, OpenError, Opened, QueuedSession, RunnerStore, UsedKey,
};

const HOUR_MILLIS: i64 = 3_600_000;

/// What a flow is about, before it has an identifier.
struct Opening<'a> {
    caller: &'a Caller,
    target: &'a Session,
    terms: Terms,
    mode: DeliveryMode,
    key: Option<IdempotencyKey>,
    fingerprint: String,
    urgent: bool,
    inbound_route: Option<Route>,
    chain: Chain,
}

/// Where a flow stands in a chain of sends (D34).
struct Chain {
    id: ChainId,
    hop: u32,
    parent: Option<RunId>,
}

/// What was accepted, and is done whatever dies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The tenant.
    pub tenant: TenantId,
    /// The run.
    pub run_id: RunId,
}

/// A call on its way to its use case.
#[derive(Debug)]
pub enum Admission<C> {
    /// It passed the gate.
    Fresh(Admitted<C>),
    /// The same caller made the same call before. It meets its first answer, whatever has become of
    /// the session or of the rules since (D36, D66).
    Repeated {
        /// The caller.
        caller: Caller,
        /// The call.
        command: C,
        /// The run that the first call started.
        run_id: RunId,
    },
}

/// Accepts work.
#[derive(Debug)]
pub struct Acceptance<S> {
    context: Arc<Context<S>>,
    fence_patience: Duration,
}

impl<S: RunnerStore> Acceptance<S> {
    /// Over the runner's context.
    pub const fn new(context: Arc<Context<S>>) -> Self {
        Self {
            context,
            fence_patience: FENCE_PATIENCE,
        }
    }

    /// The same without any patience.
    #[cfg(test)]
    pub(crate) const fn hasty(context: Arc<Context<S>>) -> Self {
        Self {
            context,
            fence_patience: Duration::ZERO,
        }
    }

    /// Parses a call and judges it, unless the caller made it before.
    ///
    /// # Errors
    /// When the call is malformed, the key names another call, or the gate refuses.
    pub async fn admit<P, C: Governed + Keyed>(
        &self,
        request: Request<P>,
        parse: impl FnOnce(&Caller, P) -> Result<C, RpcError>,
    ) -> Result<Admission<C>, RpcError> {
        let caller = caller_of(&request)?;
        let command = parse(&caller, request.into_inner())?;
        if let Some(run_id) = self.answered(&caller, &command).await? {
            return Ok(Admission::Repeated {
                caller,
                command,
                run_id,
            });
        }
        let admitted = self.context.gate.admit_as(caller, command).await?;
        Ok(Admission::Fresh(admitted))
    }

    /// The run that the caller's same call started before. What commits with a new call decides
    /// between two that come at once.
    async fn answered(
        &self,
        caller: &Caller,
        command: &impl Keyed,
    ) -> Result<Option<RunId>, RpcError> {
        let Some(key) = command.key() else {
            return Ok(None);
        };
        let owner = caller.idempotency_owner();
        let used = self
            .context
            .store
            .used_key(&caller.tenant, &owner, key, self.context.now());
        match used.await.map_err(RpcError::internal)? {
            None => Ok(None),
            Some(UsedKey {
                fingerprint,
                first: FirstUse::Run(run),
            }) if fingerprint == command.fingerprint() => Ok(Some(run)),
            Some(_) => Err(key_reused(key.as_str())),
        }
    }

    /// Accepts a person's message; the answer goes to the route it came from.
    ///
    /// # Errors
    /// When the key names another call, or a limit is reached.
    pub async fn human_message(
        &self,
        admission: Admission<HumanMessage>,
    ) -> Result<Accepted, RpcError> {
        let admitted = match admission {
            Admission::Fresh(admitted) => admitted,
            Admission::Repeated { caller, run_id, .. } => {
                return Ok(Accepted {
                    tenant: caller.tenant,
                    run_id,
                });
            },
        };
        let run_id = match self.open_human(&admitted).await {
            Err(error) if error.reason == Reason::Stale => {
                self.open_human(&self.judge_again(&admitted).await?).await?
            },
            first => first?,
        };
        Ok(Accepted {
            tenant: admitted.caller().tenant.clone(),
            run_id,
        })
    }

    /// Judges a call once more that came too late: its session's lifecycle changes, or has changed,
    /// since it was judged. Waits until that is over; whoever comes too late twice is told so.
    ///
    /// # Errors
    /// When the gate refuses now.
    ///
    /// Source: B207, B224.
    pub async fn judge_again<C: Governed + Clone>(
        &self,
        admitted: &Admitted<C>,
    ) -> Result<Admitted<C>, RpcError> {
        let caller = admitted.caller().clone();
        let session = QueuedSession::new(&caller.tenant, &admitted.session()?.key);
        tracing::debug!(session.key = %session.session_key, "judging a call again");
        let deadline = Instant::now() + self.fence_patience;
        lifecycle::until_open(&self.context, &session, deadline).await?;
        let command = admitted.request().clone();
        self.context.gate.admit_as(caller, command).await
    }

    async fn open_human(&self, admitted: &Admitted<HumanMessage>) -> Result<RunId, RpcError> {
        let target = admitted.session()?;
        let message = admitted.request();
        let provenance = Provenance {
            kind: ProvenanceKind::ExternalUser,
            source_session_key: None,
            source_channel: message.route.as_ref().map(|route| route.channel.clone()),
            source_tool: None,
            sender: message.sender.clone(),
        };
        let opening = Opening {
            caller: admitted.caller(),
            target,
            terms: human_terms(
                target,
                message.text.clone(),
                provenance,
                message.route.clone(),
            ),
            mode: human_mode(message.route.as_ref()),
            key: message.key.clone(),
            fingerprint: message.fingerprint.clone(),
            urgent: true,
            inbound_route: message.route.clone(),
            chain: self.new_chain(),
        };
        self.open(opening).await
    }

    /// Accepts a run that a backend starts. It waits its turn behind people.
    ///
    /// # Errors
    /// When the key names another call, or a limit is reached.
    pub async fn start_run(&self, admission: Admission<StartRun>) -> Result<Accepted, RpcError> {
        let admitted = match admission {
            Admission::Fresh(admitted) => admitted,
            Admission::Repeated { caller, run_id, .. } => {
                return Ok(Accepted {
                    tenant: caller.tenant,
                    run_id,
                });
            },
        };
        let run_id = match self.open_run(&admitted).await {
            Err(error) if error.reason == Reason::Stale => {
                self.open_run(&self.judge_again(&admitted).await?).await?
            },
            first => first?,
        };
        Ok(Accepted {
            tenant: admitted.caller().tenant.clone(),
            run_id,
        })
    }

    async fn open_run(&self, admitted: &Admitted<StartRun>) -> Result<RunId, RpcError> {
        let target = admitted.session()?;
        let start = admitted.request();
        let provenance = Provenance {
            kind: ProvenanceKind::ExternalUser,
            source_session_key: None,
            source_channel: start.route.as_ref().map(|route| route.channel.clone()),
            source_tool: Some("start_run".to_owned()),
            sender: None,
        };
        let opening = Opening {
            caller: admitted.caller(),
            target,
            terms: human_terms(target, start.input.clone(), provenance, start.route.clone()),
            mode: human_mode(start.route.as_ref()),
            key: start.key.clone(),
            fingerprint: start.fingerprint.clone(),
            urgent: false,
            inbound_route: None,
            chain: self.new_chain(),
        };
        self.open(opening).await
    }

    /// Accepts a message between sessions.
    ///
    /// # Errors
    /// When the chain is too long, the key names another call, a limit is reached, or the call came
    /// too late and is to be judged again.
    pub async fn send(&self, admitted: &Admitted<SendToSession>) -> Result<RunId, RpcError> {
        let target = admitted.session()?;
        let send = admitted.request();
        let caller = admitted.caller();
        let settings = self.context.settings();
        let chain = self.chain_of(caller, settings.session.max_hops).await?;
        let requester = caller.session().cloned();
        let requester_channel = requester.as_ref().and_then(|key| key.group_channel());
        let provenance = requester.is_none().then(|| Provenance {
            kind: ProvenanceKind::InternalSystem,
            source_session_key: None,
            source_channel: None,
            source_tool: Some("sessions_send".to_owned()),
            sender: None,
        });
        let terms = Terms {
            kind: ExchangeKind::Send,
            requester_channel: requester_channel.map(str::to_owned),
            requester,
            target: target.key.clone(),
            target_channel: Some(wire::session::channel(target).to_owned()),
            request: send.message.clone(),
            provenance,
            turns_max: settings.session.max_ping_pong_turns,
            route: target.delivery_context.clone(),
            announce: send.announce,
            kin: is_kin(caller, target),
        };
        let opening = Opening {
            caller,
            target,
            terms,
            mode: if send.announce {
                DeliveryMode::Announce
            } else {
                DeliveryMode::None
            },
            key: send.key.clone(),
            fingerprint: send.fingerprint.clone(),
            urgent: false,
            inbound_route: None,
            chain,
        };
        self.open(opening).await
    }

    /// Wakes a watcher for what happened in sessions that it watches, unless a run of its own will
    /// show it; `None` then.
    ///
    /// # Errors
    /// When a limit is reached or the store fails.
    ///
    /// Source: D57, reg:W21.
    pub async fn notice(
        &self,
        admitted: &Admitted<WakeWatcher>,
    ) -> Result<Option<Opened>, RpcError> {
        let target = admitted.session()?;
        let wake = admitted.request();
        let channel = wire::session::channel(target).to_owned();
        let new = self.new_flow(Opening {
            caller: admitted.caller(),
            target,
            terms: Terms::notice(target.key.clone(), Some(channel)),
            mode: DeliveryMode::None,
            key: Some(wake.key.clone()),
            fingerprint: wake.fingerprint.clone(),
            urgent: false,
            inbound_route: None,
            chain: self.new_chain(),
        });
        let woken = self.context.store.wake(&wake.notice_id, new).await;
        woken.map_err(refused)
    }

    async fn open(&self, opening: Opening<'_>) -> Result<RunId, RpcError> {
        let new = self.new_flow(opening);
        match self.context.store.open_flow(new).await.map_err(refused)? {
            Opened::Fresh(run) | Opened::Repeated(run) => Ok(run),
        }
    }

    fn new_flow(&self, opening: Opening<'_>) -> NewFlow {
        let context = &self.context;
        let now = context.now();
        let key = opening.key.map(|key| KeyUse {
            owner: opening.caller.idempotency_owner(),
            key,
            fingerprint: opening.fingerprint,
            expires_at: now.plus_millis(i64::from(IDEMPOTENCY_HOURS).saturating_mul(HOUR_MILLIS)),
        });
        let flow = Flow {
            id: FlowId::from_uuid(context.ids.next()),
            kind: opening.terms.kind.flow_kind(),
            requester: opening.terms.requester.clone(),
            target: opening.target.key.clone(),
            route: opening.terms.route.clone(),
            mode: opening.mode,
            chain_id: opening.chain.id,
            hop: opening.chain.hop,
            started_by_channel: channel_of(opening.caller),
            created_at: now,
            state: FlowState::Primary,
            turns: 0,
            stop_reason: None,
            last_speaker: None,
            delivery: DeliveryStatus::Pending,
            ended_at: None,
        };
        NewFlow {
            tenant: opening.caller.tenant.clone(),
            key,
            flow,
            terms: opening.terms,
            session_id: opening.target.session_id.clone(),
            model: opening.target.tuning.model.clone(),
            work_epoch: opening.target.work_epoch,
            parent_run_id: opening.chain.parent,
            urgent: opening.urgent,
            queue_max: context.settings().runs.queue_per_session_max,
            run_id: RunId::from_uuid(context.ids.next()),
            inbound_route: opening.inbound_route,
            trace_parent: trace_context::keep(),
        }
    }

    /// A chain that nobody caused: a person's, an operator's, a backend's (D65).
    fn new_chain(&self) -> Chain {
        Chain {
            id: ChainId::from_uuid(self.context.ids.next()),
            hop: 0,
            parent: None,
        }
    }

    /// The chain that a send goes on: that of the run that makes it. A send from a run that a send
    /// started has one hop more (D65).
    async fn chain_of(&self, caller: &Caller, hops_max: u32) -> Result<Chain, RpcError> {
        let Some(run_id) = caller.run() else {
            return Ok(self.new_chain());
        };
        let found = self.context.store.run(&caller.tenant, run_id).await;
        let Some(stored) = found.map_err(RpcError::internal)? else {
            return Ok(self.new_chain());
        };
        let run = stored.run;
        let started_by_send = match run.step {
            Step::Human | Step::Task | Step::Completion | Step::Notice | Step::Resume => false,
            Step::Send | Step::Reply | Step::Announce => true,
        };
        let hop = run.hop.saturating_add(u32::from(started_by_send));
        if hop > hops_max {
            return Err(RpcError::new(
                Reason::MaxHops,
                format!(
                    "the chain of sends {} has {} hops, and session.agentToAgent.maxHops is \
                     {hops_max}: answer instead of sending on",
                    run.chain_id, run.hop
                ),
            ));
        }
        Ok(Chain {
            id: run.chain_id,
            hop,
            parent: Some(run.id),
        })
    }
}

/// The channel whose adapter calls.
fn channel_of(caller: &Caller) -> Option<String> {
    match &caller.identity {
        Identity::Channel { channel } => Some(channel.clone()),
        Identity::Operator
        | Identity::Service
        | Identity::System { .. }
        | Identity::Agent { .. }
        | Identity::Worker { .. } => None,
    }
}

fn human_terms(
    target: &Session,
    request: String,
    provenance: Provenance,
    route: Option<Route>,
) -> Terms {
    Terms {
        kind: ExchangeKind::Human,
        requester: None,
        requester_channel: None,
        target: target.key.clone(),
        target_channel: Some(wire::session::channel(target).to_owned()),
        request,
        provenance: Some(provenance),
        turns_max: 0,
        route,
        announce: false,
        kin: false,
    }
}

const fn human_mode(route: Option<&Route>) -> DeliveryMode {
    if route.is_some() {
        DeliveryMode::Reply
    } else {
        DeliveryMode::None
    }
}

/// Whether one side spawned the other (D64). Only the stored parent counts (D9).
fn is_kin(caller: &Caller, target: &Session) -> bool {
    caller.session().is_some() && caller.session() == target.spawned_by.as_ref()
}

/// The key names another call (D36).
pub(crate) fn key_reused(key: &str) -> RpcError {
    RpcError::new(
        Reason::KeyReused,
        format!(
            "idempotency key {key:?} was used for a call with other content; repeat that call \
             unchanged, or give a new key"
        ),
    )
}

fn refused(error: OpenError) -> RpcError {
    match error {
        OpenError::KeyReused { key } => key_reused(&key),
        OpenError::Fenced { session_key } => RpcError::new(
            Reason::Stale,
            format!(
                "session {session_key} is about to be reset, archived, restored or deleted; try \
                 again in a moment"
            ),
        ),
        OpenError::Outdated { session_key } => RpcError::new(
            Reason::Stale,
            format!(
                "session {session_key} was reset, archived, restored or deleted meanwhile; try \
                 again"
            ),
        ),
        OpenError::QueueFull {
            session_key,
            waiting,
        } => RpcError::new(
            Reason::Limit,
            format!(
                "{waiting} runs wait in session {session_key} already \
                 (confab.runs.queueMaxPerSession); try again when some have ended"
            ),
        )
        .retry_after(Duration::from_secs(1)),
        OpenError::Store(source) => RpcError::internal(source),
    }
}
