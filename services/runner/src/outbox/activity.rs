//! Tells the registry what runs did.

use std::sync::Arc;

use confab_model::id::TenantId;
use confab_proto::registry::v1::{ActivityRecord, RecordActivityRequest};
use confab_rpc::caller::Caller;
use confab_rpc::error::RpcError;
use confab_rpc::wire::{self, enums::Numbered as _};

use super::{BATCH, PAUSE_AFTER_FAILURE};
use crate::context::Context;
use crate::refusals;
use crate::state_events::{self, StateEvent};
use crate::store::{Activity, RunnerStore};

/// Tells the registry what runs did until the process stops. Rows there may lag by what this takes;
/// the run's record is the truth (D54).
pub async fn report_activity<S: RunnerStore>(context: Arc<Context<S>>) {
    loop {
        tokio::select! {
            () = context.stop.cancelled() => return,
            () = context.wakeups.activity() => {},
        }
        if let Err(error) = report_all(&context).await {
            let error = context.logged(&error);
            tracing::warn!(
                error,
                "the registry was not told what runs did; trying again"
            );
            tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
            context.wakeups.activity_added();
        }
    }
}

async fn report_all<S: RunnerStore>(context: &Context<S>) -> Result<(), RpcError> {
    let mut batch = BATCH;
    loop {
        let records = context
            .store
            .activity(batch)
            .await
            .map_err(RpcError::internal)?;
        let Some(last) = records.last().map(|(seq, _)| *seq) else {
            return Ok(());
        };
        let events = records.iter();
        let events = events.filter_map(|(_, record)| state_events::to_proto(record));
        let request = RecordActivityRequest {
            events: events.collect(),
            records: records
                .into_iter()
                .map(|(_, record)| to_proto(record))
                .collect(),
        };
        let system = Caller::system("activity", TenantId::default());
        let told = context
            .registry
            .on_behalf_of(&system)
            .record_activity(request)
            .await;
        match told.map_err(|status| RpcError::from_status(&status)) {
            Ok(_) => batch = BATCH,
            Err(error) if !refusals::is_final(error.reason) => return Err(error),
            // One record is at fault: they go one by one, and that one is left out.
            Err(_) if batch > 1 => {
                batch = 1;
                continue;
            },
            Err(error) => {
                let error = context.logged(&error);
                tracing::error!(error, "what a run did was refused and is left out");
            },
        }
        context
            .store
            .forget_activity(last)
            .await
            .map_err(RpcError::internal)?;
    }
}

fn to_proto(record: Activity) -> ActivityRecord {
    let usage = record.usage;
    ActivityRecord {
        session_key: record.session_key.to_string(),
        run_id: record.run_id.to_string(),
        state: record.state.number(),
        occurred_at: Some(wire::time::to_proto(record.occurred_at)),
        started_at: record.started_at.map(wire::time::to_proto),
        ended_at: record.ended_at.map(wire::time::to_proto),
        model: record.model,
        total_tokens: record.total_tokens.map(wire::numbers::to_i64),
        inbound_route: record.inbound_route.as_ref().map(wire::route::to_proto),
        tenant: record.tenant.to_string(),
        person: record
            .event
            .as_ref()
            .is_some_and(StateEvent::is_by_a_person),
        input_tokens: usage.map(|usage| wire::numbers::to_i64(usage.input)),
        output_tokens: usage.map(|usage| wire::numbers::to_i64(usage.output)),
    }
}
