//! What happened to a session, as JSON.

use confab_model::key::SessionKey;
use confab_proto::registry::v1::{StateChanges, StateEvent};
use confab_rpc::error::RpcError;
use confab_rpc::wire::time;
use serde_json::Value;

use crate::object::Object;
use crate::shown::{self, Asker};

/// The events in order, and whether any are missing.
///
/// # Errors
/// When the registry told a moment that no event can have.
///
/// Source: reg:S14, reg:W27, reg:W28, reg:W29, B194.
pub(super) fn of(changes: StateChanges, asker: Asker<'_>) -> Result<Value, RpcError> {
    let events = changes.events.into_iter().map(|one| event(one, asker));
    let events = events.collect::<Result<Vec<Value>, RpcError>>()?;
    Ok(Object::default()
        .set("events", events)
        .set("truncated", changes.truncated)
        .set(
            "earliestAvailableSequence",
            changes.earliest_available_sequence,
        )
        .set("historyGap", changes.history_gap)
        .into())
}

fn event(event: StateEvent, asker: Asker<'_>) -> Result<Value, RpcError> {
    let occurred_at = time::required(event.occurred_at, "events.occurred_at")?;
    let agent = SessionKey::parse(&event.session_key)
        .ok()
        .and_then(|key| key.agent_id());
    Ok(Object::default()
        .set("sequence", event.sequence)
        .set("sessionKey", shown::key(&event.session_key, asker))
        .set_if("sessionId", event.session_id)
        .set_if("agentId", agent.map(String::from))
        .set("kind", event.kind)
        .set("actorType", event.actor_type)
        .set_if(
            "actorId",
            event.actor_id.map(|actor| shown::key(&actor, asker)),
        )
        .set_if("runId", event.run_id)
        .set("occurredAt", occurred_at.millis())
        .set("summary", event.summary)
        .set_if("outcome", event.outcome)
        .into())
}
