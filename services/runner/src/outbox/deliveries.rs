//! Hands deliveries to their sinks.
//!
//! An attempt is recorded before the sink is asked and its end afterwards (D47), so a crash in
//! between is seen: the delivery goes to the sink again under the same identifier.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use confab_model::delivery::{Delivery, DeliveryState};
use confab_model::id::TenantId;
use confab_rpc::caller::Caller;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::{About, Action, Governed, Target};
use confab_store::StoreError;
use futures::future::join_all;

use super::sink::{self, Receipt, Taking};
use super::{BATCH, PAUSE_AFTER_FAILURE};
use crate::context::Context;
use crate::refusals;
use crate::store::RunnerStore;

/// How often due deliveries are looked for although nothing was heard of any: a clock that was set
/// back makes one due later than it was announced.
const NET: Duration = Duration::from_secs(5);

/// A delivery that is due, with its tenant.
type Due = (TenantId, Delivery);

/// A text is about to leave on behalf of a session, by a channel.
struct Leaving {
    session: Target,
    channel: String,
}

impl Governed for Leaving {
    fn action(&self) -> Action {
        Action::Deliver
    }

    fn about(&self) -> About {
        About::One(self.session.clone())
    }

    fn channel(&self) -> Option<&str> {
        Some(&self.channel)
    }
}

/// Delivers what is due until the process stops. Other settings can name another sink, so what was
/// left alone under the old ones is then due again. It is this loop that leaves deliveries alone:
/// none is left alone by old settings behind its back.
pub async fn deliver<S: RunnerStore>(context: Arc<Context<S>>) {
    let mut settings = context.live.subscribe();
    let mut reloaded = false;
    loop {
        tokio::select! {
            () = context.stop.cancelled() => return,
            () = context.wakeups.deliveries() => {},
            () = tokio::time::sleep(NET) => {},
            Ok(()) = settings.changed() => reloaded = true,
        }
        if let Err(error) = deliver_due(&context, &mut reloaded).await {
            let error = context.logged(&error);
            tracing::warn!(error, "deliveries were held up; trying again");
            tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
            context.wakeups.delivery_due();
        }
    }
}

/// Delivers batch after batch. A delivery that is held up holds up its own session's only; its batch
/// is the last one before the pause.
async fn deliver_due<S: RunnerStore>(
    context: &Context<S>,
    reloaded: &mut bool,
) -> Result<(), RpcError> {
    if *reloaded {
        let unparked = context.store.unpark(context.now()).await;
        unparked.map_err(RpcError::internal)?;
        *reloaded = false;
    }
    loop {
        let due = context.store.due_deliveries(context.now(), BATCH).await;
        let sessions = by_session(due.map_err(RpcError::internal)?);
        if sessions.is_empty() {
            return Ok(());
        }
        let delivered = sessions
            .into_iter()
            .map(|due| deliver_in_order(context, due));
        join_all(delivered)
            .await
            .into_iter()
            .collect::<Result<(), _>>()?;
    }
}

/// The deliveries of each session, in their order.
fn by_session(due: Vec<Due>) -> Vec<Vec<Due>> {
    let mut sessions: BTreeMap<_, Vec<Due>> = BTreeMap::new();
    for (tenant, delivery) in due {
        let session = (tenant.clone(), delivery.session_key.clone());
        sessions
            .entry(session)
            .or_default()
            .push((tenant, delivery));
    }
    sessions.into_values().collect()
}

async fn deliver_in_order<S: RunnerStore>(
    context: &Context<S>,
    due: Vec<Due>,
) -> Result<(), RpcError> {
    for (tenant, delivery) in due {
        deliver_one(context, tenant, delivery).await?;
    }
    Ok(())
}

/// One delivery: the send policy is asked again (D17, D18), then the sink.
async fn deliver_one<S: RunnerStore>(
    context: &Context<S>,
    tenant: TenantId,
    delivery: Delivery,
) -> Result<(), RpcError> {
    if sink::taking(&context.settings(), &delivery.route.channel) == Taking::Fetches {
        return context
            .store
            .park_delivery(&delivery.id)
            .await
            .map_err(RpcError::internal);
    }
    let leaving = Leaving {
        session: Target::key(&delivery.session_key),
        channel: delivery.route.channel.clone(),
    };
    let system = Caller::system("deliveries", tenant);
    match context.gate.admit_as(system, leaving).await {
        Ok(_) => attempt(context, &delivery)
            .await
            .map_err(RpcError::internal),
        Err(refusal) => refused(context, &delivery, refusal).await,
    }
}

async fn attempt<S: RunnerStore>(
    context: &Context<S>,
    delivery: &Delivery,
) -> Result<(), StoreError> {
    let Some(begun) = context
        .store
        .begin_attempt(&delivery.id, context.now())
        .await?
    else {
        return Ok(());
    };
    match sink::send(&begun) {
        Receipt::Accepted => {
            let state = DeliveryState::Delivered;
            context
                .store
                .settle_delivery(&begun.id, state, None, context.now())
                .await
        },
    }
}

/// A delivery that may not leave ends; one about which nothing could be decided waits.
async fn refused<S: RunnerStore>(
    context: &Context<S>,
    delivery: &Delivery,
    refusal: RpcError,
) -> Result<(), RpcError> {
    if !refusals::is_final(refusal.reason) {
        return Err(refusal);
    }
    let blocked = refusal.reason == Reason::SendPolicy;
    let state = if blocked {
        DeliveryState::Blocked
    } else {
        DeliveryState::Failed
    };
    let error = Some(refusal.message);
    let settled = context
        .store
        .settle_delivery(&delivery.id, state, error, context.now())
        .await;
    settled.map_err(RpcError::internal)
}
