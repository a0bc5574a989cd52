//! State events as they travel.

use confab_proto::registry::v1 as proto;
use confab_rpc::wire::numbers::to_i64;
use confab_rpc::wire::time::to_proto;

use super::event::{StateChanges, StateEvent};

/// The proto's form of what changed.
pub fn changes_to_proto(changes: StateChanges) -> proto::StateChanges {
    proto::StateChanges {
        events: changes.events.into_iter().map(event_to_proto).collect(),
        truncated: changes.truncated,
        earliest_available_sequence: to_i64(changes.earliest_available_sequence),
        history_gap: changes.history_gap,
    }
}

fn event_to_proto(event: StateEvent) -> proto::StateEvent {
    proto::StateEvent {
        sequence: to_i64(event.sequence),
        session_key: event.session_key.to_string(),
        session_id: Some(event.session_id.to_string()),
        kind: event.kind,
        actor_type: event.actor_type,
        actor_id: event.actor_id,
        run_id: event.run_id,
        occurred_at: Some(to_proto(event.occurred_at)),
        summary: event.summary,
        outcome: event.outcome,
    }
}
