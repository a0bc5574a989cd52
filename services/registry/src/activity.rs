//! What runs did, as their sessions' rows show it.
//!
//! Records arrive from the runner's outbox: at least once, and perhaps late. So each part of a row
//! takes only what is newer than what it shows, and a repetition changes nothing.

use confab_model::channel::Route;
use confab_model::clock::Timestamp;
use confab_model::id::{RunId, TenantId};
use confab_model::key::SessionKey;
use confab_model::run::RunState;
use confab_model::session::{LastRun, Origin};
use confab_rpc::error::RpcError;
use confab_rpc::gate::Admitted;

use crate::Sessions;
use crate::commands::RecordActivity;
use crate::store::{Batch, Registered, RegistryStore, Routed, Row};

/// What a run did to its session.
#[derive(Clone, Debug, PartialEq)]
pub struct Activity {
    /// The tenant the session belongs to.
    pub tenant: TenantId,
    /// The session.
    pub session_key: SessionKey,
    /// The run.
    pub run_id: RunId,
    /// Where the run is in its life.
    pub state: RunState,
    /// When that happened.
    pub occurred_at: Timestamp,
    /// When the run began.
    pub started_at: Option<Timestamp>,
    /// When the run ended.
    pub ended_at: Option<Timestamp>,
    /// The model that answered.
    pub model: Option<String>,
    /// Tokens of the last call.
    pub total_tokens: Option<u64>,
    /// Tokens the run read.
    pub input_tokens: Option<u64>,
    /// Tokens the run wrote.
    pub output_tokens: Option<u64>,
    /// Whether a person wrote.
    pub person: bool,
    /// Where a person's message came from.
    pub inbound_route: Option<Route>,
}

/// Where a run, seen in one state, stands among all that a row could show: a later run before an
/// earlier one, an end before everything else of the same run, a later sight before an earlier one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank<'a> {
    began_at: Timestamp,
    run_id: &'a str,
    ended: bool,
    seen_at: Timestamp,
}

impl Activity {
    fn rank(&self) -> Rank<'_> {
        Rank {
            began_at: self.started_at.unwrap_or(self.occurred_at),
            run_id: self.run_id.as_str(),
            ended: self.state.is_ended(),
            seen_at: self.occurred_at,
        }
    }

    fn last_run(&self) -> LastRun {
        LastRun {
            run_id: self.run_id.clone(),
            state: self.state,
            started_at: self.started_at,
            ended_at: self.ended_at,
            model: self.model.clone(),
            total_tokens: self.total_tokens,
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
        }
    }
}

impl Row {
    fn rank(&self) -> Option<Rank<'_>> {
        let shown = self.session.last_run.as_ref()?;
        let seen_at = self.last_run_at?;
        Some(Rank {
            began_at: shown.started_at.unwrap_or(seen_at),
            run_id: shown.run_id.as_str(),
            ended: shown.state.is_ended(),
            seen_at,
        })
    }

    /// Takes what is new in `activity`; says whether anything was.
    ///
    /// `updated_at` never goes back. The run shown is replaced by a later one, or by a later sight of
    /// the same one. A person's route replaces the stored one whole, whatever either leaves out.
    ///
    /// Source: D32, D54, reg:X13.
    pub fn take(&mut self, activity: &Activity) -> bool {
        let moved = self.move_to(activity.occurred_at);
        let used = self.interact(activity);
        let shown = self.show(activity);
        let routed = self.route(activity);
        let changed = moved || used || shown || routed;
        if changed {
            self.session.row_version = self.session.row_version.saturating_add(1);
        }
        changed
    }

    fn move_to(&mut self, moment: Timestamp) -> bool {
        let later = moment > self.session.updated_at;
        if later {
            self.session.updated_at = moment;
        }
        later
    }

    /// Takes note of when a person last wrote to the present generation; what is told late of an
    /// older one would make this one look long unused.
    fn interact(&mut self, activity: &Activity) -> bool {
        let (moment, session) = (activity.occurred_at, &mut self.session);
        let later = activity.person
            && moment >= session.session_started_at
            && session.last_interaction_at.is_none_or(|last| moment > last);
        if later {
            session.last_interaction_at = Some(moment);
        }
        later
    }

    fn show(&mut self, activity: &Activity) -> bool {
        // A run that waits in the queue has done nothing yet that a row could show.
        let queued = activity.state == RunState::Queued;
        let newer = !queued
            && !self.is_of_an_older_generation(activity)
            && self.rank().is_none_or(|rank| activity.rank() > rank);
        if newer {
            self.session.last_run = Some(activity.last_run());
            self.last_run_at = Some(activity.occurred_at);
        }
        newer
    }

    /// Whether the run began before the last reset; it is told late then, and the generation that it
    /// belongs to has no row any more.
    fn is_of_an_older_generation(&self, activity: &Activity) -> bool {
        let session = &self.session;
        session.session_started_at > session.created_at
            && activity.rank().began_at < session.session_started_at
    }

    fn route(&mut self, activity: &Activity) -> bool {
        let Some(route) = &activity.inbound_route else {
            return false;
        };
        let routed = Routed {
            at: activity.occurred_at,
            run_id: activity.run_id.clone(),
        };
        let newer = self.routed.as_ref().is_none_or(|known| routed > *known);
        if newer {
            self.meet(route);
            self.session.delivery_context = Some(route.clone());
            self.routed = Some(routed);
        }
        newer
    }

    /// Keeps where the session came from, as first seen.
    fn meet(&mut self, route: &Route) {
        if self.session.origin.provider.is_none() {
            self.session.origin = Origin {
                provider: Some(route.channel.clone()),
                account_id: route.account_id.clone(),
                thread_id: route.thread_id.clone(),
            };
        }
    }
}

impl<S: RegistryStore> Sessions<S> {
    /// Records what runs did and what happened to sessions. A session that is gone is passed over,
    /// because its runs can outlive it; an event that cannot be recorded is told in the log alone.
    ///
    /// # Errors
    /// When the store fails.
    ///
    /// Source: reg:W6.
    pub async fn record_activity(&self, call: Admitted<RecordActivity>) -> Result<(), RpcError> {
        let (request, ..) = call.into_parts();
        for fault in request.faults {
            tracing::warn!(fault = fault.description, "an event is not recorded");
        }
        let batch = Batch {
            activities: request.activities,
            events: request.events,
            now: self.clock.now(),
        };
        let recorded = self.store.record(batch).await.map_err(RpcError::internal)?;
        for outcome in &recorded.events {
            if let Registered::Failed(error) = outcome {
                tracing::error!(error, "an event could not be recorded");
            }
        }
        for activity in recorded.unknown {
            tracing::debug!(
                session.key = %activity.session_key,
                run.id = %activity.run_id,
                "a run's session is gone, so no row shows what the run did"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
