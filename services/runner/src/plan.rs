//! What follows from an event in a flow: the next run, a delivery, the record people see. Pure; the
//! store writes a plan in the transaction that writes the event.

use confab_flow::exchange::{Action, ApplyError, Event, Exchange, RunOrder, StepId};
use confab_model::clock::Timestamp;
use confab_model::delivery::{Delivery, DeliveryState};
use confab_model::flow::Flow;
use confab_model::id::{AgentId, DeliveryId, Ids, RunId, SessionId};
use confab_model::run::{Run, RunState};

use crate::store::NewFlow;

/// The queue's classes: people go first (D50).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// A person is waiting.
    Urgent,
    /// Agents' work.
    Normal,
}

impl Priority {
    /// The number the queue is ordered by.
    pub const fn rank(self) -> i64 {
        match self {
            Self::Urgent => 0,
            Self::Normal => 1,
        }
    }
}

/// A run to put into the queue.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedRun {
    /// The run.
    pub run: Run,
    /// Its step in its flow.
    pub step_id: StepId,
    /// Whether its input is stored in the session as a user message (D74).
    pub store_input: bool,
    /// Its class in the queue.
    pub priority: Priority,
    /// The span that the work belongs to.
    pub trace_parent: Option<String>,
}

/// What to write with an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The record as it is after the event.
    pub flow: Flow,
    /// Runs to queue.
    pub runs: Vec<PlannedRun>,
    /// Deliveries to owe.
    pub deliveries: Vec<Delivery>,
}

/// What an event comes from, and when.
#[derive(Debug)]
pub struct Cause<'a> {
    /// The run that ended, or that started the flow.
    pub run_id: Option<&'a RunId>,
    /// The span that the work belongs to.
    pub trace_parent: Option<&'a str>,
    /// The moment.
    pub now: Timestamp,
    /// Where new identifiers come from.
    pub ids: &'a dyn Ids,
}

/// The plan of a flow's first event.
///
/// # Errors
/// When the exchange refuses the event, which a fresh one never does.
pub fn start(new: &NewFlow, cause: &Cause<'_>) -> Result<Plan, ApplyError> {
    let mut exchange = Exchange::new(new.terms.clone());
    let actions = exchange.apply(&Event::Started)?;
    let mut plan = plan(new.flow.clone(), &exchange, actions, cause);
    for planned in &mut plan.runs {
        planned.run.id = new.run_id.clone();
        planned.run.session_id = Some(new.session_id.clone());
        planned.run.model.clone_from(&new.model);
        planned.run.parent_run_id.clone_from(&new.parent_run_id);
        planned.priority = if new.urgent {
            Priority::Urgent
        } else {
            Priority::Normal
        };
    }
    Ok(plan)
}

/// The plan of a later event; `None` where the event is no news (a repetition, or late).
///
/// # Errors
/// When the event cannot belong to this exchange: the journal is damaged.
pub fn advance(
    flow: Flow,
    exchange: &mut Exchange,
    event: &Event,
    cause: &Cause<'_>,
) -> Result<Option<Plan>, ApplyError> {
    if !exchange.is_news(event)? {
        return Ok(None);
    }
    let actions = exchange.apply(event)?;
    Ok(Some(plan(flow, exchange, actions, cause)))
}

fn plan(mut flow: Flow, exchange: &Exchange, actions: Vec<Action>, cause: &Cause<'_>) -> Plan {
    let progress = exchange.progress();
    flow.state = progress.state;
    flow.turns = progress.turns;
    flow.stop_reason = progress.stop_reason;
    flow.last_speaker = progress.last_speaker;
    flow.delivery = progress.delivery;
    flow.ended_at = exchange.is_done().then_some(cause.now);
    let mut plan = Plan {
        flow,
        runs: Vec::new(),
        deliveries: Vec::new(),
    };
    for action in actions {
        match action {
            Action::StartRun(order) => plan.runs.push(planned_run(&plan.flow, order, cause)),
            Action::Deliver {
                session,
                route,
                text,
                ..
            } => {
                let Some(run_id) = cause.run_id.cloned() else {
                    continue;
                };
                plan.deliveries.push(Delivery {
                    id: DeliveryId::from_uuid(cause.ids.next()),
                    flow_id: plan.flow.id.clone(),
                    run_id,
                    session_key: session,
                    route,
                    text,
                    state: DeliveryState::Pending,
                    attempts: 0,
                    next_attempt_at: Some(cause.now),
                    last_error: None,
                    created_at: cause.now,
                    ended_at: None,
                });
            },
        }
    }
    plan
}

fn planned_run(flow: &Flow, order: RunOrder, cause: &Cause<'_>) -> PlannedRun {
    // The one session of scope `global` belongs to no agent; its runs are `main`'s (reg:K7).
    let agent_id = order
        .session
        .agent_id()
        .unwrap_or_else(|| AgentId::normalise(""));
    let run = Run {
        id: RunId::from_uuid(cause.ids.next()),
        session_key: order.session,
        session_id: None::<SessionId>,
        agent_id,
        step: order.step,
        turn: order.turn,
        lane: order.lane,
        state: RunState::Queued,
        input: order.input,
        prompt: order.prompt,
        notices: Vec::new(),
        provenance: order.provenance,
        reply: None,
        error: None,
        flow_id: flow.id.clone(),
        parent_run_id: cause.run_id.cloned(),
        chain_id: flow.chain_id.clone(),
        hop: flow.hop,
        attempts: 0,
        ordinal: 0,
        model: None,
        usage: None,
        created_at: cause.now,
        started_at: None,
        ended_at: None,
    };
    PlannedRun {
        run,
        step_id: order.step_id,
        store_input: order.store_input,
        priority: Priority::Normal,
        trace_parent: cause.trace_parent.map(str::to_owned),
    }
}
