//! Notices of watched sessions: received, shown to their watchers, acknowledged.
//!
//! The registry says what a watcher must hear until it is told that a run has it. A notice is kept
//! here first, then taken by the watcher's next run in the commit that begins the run, and only then
//! acknowledged: whatever dies in between, it is part of exactly one run. Three loops work on this,
//! each from what is stored, so that none depends on the memory of another.

use std::sync::Arc;
use std::time::Duration;

use confab_model::id::{IdempotencyKey, TenantId};
use confab_model::key::SessionKey;
use confab_proto::registry::v1::{AckNoticesRequest, WatchNoticesRequest, WatchNoticesResponse};
use confab_rpc::caller::Caller;
use confab_rpc::error::RpcError;
use confab_rpc::gate::{About, Action, Governed, Target};

use crate::accept::Acceptance;
use crate::context::Context;
use crate::refusals;
use crate::store::{Notice, Opened, RunnerStore, Unwoken};
use confab_rpc::fingerprint::fingerprint;

/// The first pause before a stream that ended is opened again.
const PAUSE_MIN: Duration = Duration::from_millis(200);
/// The longest such pause.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// The pause after a watcher could not be woken, or the registry not be told.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(500);
/// How often watchers to be woken are looked for although no notice came: the queued run that was to
/// show one may have been given up.
const NET: Duration = Duration::from_secs(30);
/// Most watchers woken in one go.
const WATCHERS: u32 = 256;
/// Most notices acknowledged in one call.
const ACKNOWLEDGEMENTS: u32 = 1000;

/// A watcher is to be woken for a notice.
#[derive(Clone, Debug)]
pub struct WakeWatcher {
    /// The watcher.
    pub target: Target,
    /// The notice.
    pub notice_id: String,
    /// Names the wake, so that a notice wakes once.
    pub key: IdempotencyKey,
    /// What the wake says.
    pub fingerprint: String,
}

impl WakeWatcher {
    /// A notice's identifier can be longer than a key may be, so its fingerprint stands for it.
    fn new(watcher: &Unwoken) -> Result<Self, RpcError> {
        let fingerprint = fingerprint("Notice", watcher.notice_id.as_bytes());
        Ok(Self {
            target: Target::key(&watcher.watcher),
            notice_id: watcher.notice_id.clone(),
            key: IdempotencyKey::parse(format!("notice:{fingerprint}"))
                .map_err(RpcError::internal)?,
            fingerprint,
        })
    }
}

impl Governed for WakeWatcher {
    fn action(&self) -> Action {
        Action::FlowRun
    }

    fn about(&self) -> About {
        About::One(self.target.clone())
    }
}

/// Receives notices until the process stops. Each new stream begins with all that is not
/// acknowledged, so a stream that ends, or a notice that could not be kept, loses nothing.
pub async fn receive<S: RunnerStore>(context: Arc<Context<S>>) {
    let mut pause = PAUSE_MIN;
    loop {
        let mut received = false;
        tokio::select! {
            () = context.stop.cancelled() => return,
            ended = follow(&context, &mut received) => match ended {
                Ok(()) => tracing::debug!("the stream of notices ended; opening it again"),
                Err(error) => {
                    let error = context.logged(&error);
                    tracing::warn!(error, "notices cannot be received; trying again");
                },
            },
        }
        pause = if received { PAUSE_MIN } else { pause };
        tokio::select! {
            () = context.stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {},
        }
        pause = pause.saturating_mul(2).min(PAUSE_MAX);
    }
}

/// Keeps what one stream brings.
async fn follow<S: RunnerStore>(context: &Context<S>, received: &mut bool) -> Result<(), RpcError> {
    let mut registry = context.registry.on_behalf_of(&system()).lasting();
    let opened = registry.watch_notices(WatchNoticesRequest::default()).await;
    let opened = opened.map_err(|status| RpcError::from_status(&status))?;
    let mut stream = opened.into_inner();
    loop {
        let message = stream.message().await;
        let Some(wire) = message.map_err(|status| RpcError::from_status(&status))? else {
            return Ok(());
        };
        *received = true;
        match read(wire) {
            Ok(notice) => context
                .store
                .keep_notice(notice)
                .await
                .map_err(RpcError::internal)?,
            // The next stream would bring it again, and it would be no better.
            Err(error) => {
                let error = context.logged(&error);
                tracing::error!(error, "a notice cannot be read and is left out");
            },
        }
    }
}

/// The registry is one for all tenants, and so are its notices.
fn system() -> Caller {
    Caller::system("notices", TenantId::default())
}

/// Reads a notice. An agent's main session is woken for it; any other watcher sees it with its next
/// run, whatever starts that (D57).
fn read(wire: WatchNoticesResponse) -> Result<Notice, RpcError> {
    let fault = |field: &str, error: String| RpcError::invalid_field(field, error);
    let key = |field: &str, raw: &str| {
        SessionKey::parse(raw).map_err(|error| fault(field, error.to_string()))
    };
    let watcher = key("watcherKey", &wire.watcher_key)?;
    Ok(Notice {
        tenant: TenantId::parse(wire.tenant).map_err(|error| fault("tenant", error.to_string()))?,
        wakes: watcher.is_main(),
        watcher,
        target: key("targetKey", &wire.target_key)?,
        id: wire.notice_id,
        text: wire.text,
    })
}

/// Wakes watchers until the process stops.
pub async fn wake<S: RunnerStore>(context: Arc<Context<S>>) {
    let acceptance = Acceptance::new(Arc::clone(&context));
    loop {
        if let Err(error) = wake_all(&context, &acceptance).await {
            let error = context.logged(&error);
            tracing::warn!(error, "a watcher was not woken; trying again");
            context.wakeups.notice_kept();
            tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
        }
        tokio::select! {
            () = context.stop.cancelled() => return,
            () = context.wakeups.notices() => {},
            () = tokio::time::sleep(NET) => {},
        }
    }
}

/// Wakes every watcher that no queued run wakes. One that cannot be woken holds up no other.
async fn wake_all<S: RunnerStore>(
    context: &Context<S>,
    acceptance: &Acceptance<S>,
) -> Result<(), RpcError> {
    loop {
        let unwoken = context.store.unwoken(WATCHERS).await;
        let unwoken = unwoken.map_err(RpcError::internal)?;
        if unwoken.is_empty() {
            return Ok(());
        }
        let mut failed = None;
        for watcher in unwoken {
            failed = wake_one(context, acceptance, watcher)
                .await
                .err()
                .or(failed);
        }
        if let Some(error) = failed {
            return Err(error);
        }
    }
}

/// Wakes one watcher. Where that is refused for good, or a run was started before that did not live
/// to show the notice, the notice comes with whatever runs next.
async fn wake_one<S: RunnerStore>(
    context: &Context<S>,
    acceptance: &Acceptance<S>,
    watcher: Unwoken,
) -> Result<(), RpcError> {
    let system = Caller::system("notices", watcher.tenant.clone());
    let command = WakeWatcher::new(&watcher)?;
    let woken = match context.gate.admit_as(system, command).await {
        Ok(admitted) => acceptance.notice(&admitted).await,
        Err(refusal) => Err(refusal),
    };
    match woken {
        Ok(Some(Opened::Fresh(_)) | None) => return Ok(()),
        Ok(Some(Opened::Repeated(run))) => {
            tracing::info!(run.id = %run, "a run that was to show a notice ended before it began");
        },
        Err(error) if refusals::is_final(error.reason) => {
            let error = context.logged(&error);
            tracing::info!(session.key = %watcher.watcher, error, "a watcher is not woken");
        },
        Err(error) => return Err(error),
    }
    let left = context.store.let_wait(&watcher.notice_id).await;
    left.map_err(RpcError::internal)
}

/// Tells the registry which notices are part of a run, until the process stops.
pub async fn acknowledge<S: RunnerStore>(context: Arc<Context<S>>) {
    loop {
        if let Err(error) = acknowledge_all(&context).await {
            let error = context.logged(&error);
            tracing::warn!(error, "the registry was not told of notices; trying again");
            context.wakeups.notices_taken();
            tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
        }
        tokio::select! {
            () = context.stop.cancelled() => return,
            () = context.wakeups.acknowledgements() => {},
        }
    }
}

async fn acknowledge_all<S: RunnerStore>(context: &Context<S>) -> Result<(), RpcError> {
    let mut registry = context.registry.on_behalf_of(&system());
    loop {
        let notice_ids = context.store.unacknowledged(ACKNOWLEDGEMENTS).await;
        let notice_ids = notice_ids.map_err(RpcError::internal)?;
        if notice_ids.is_empty() {
            return Ok(());
        }
        let request = AckNoticesRequest {
            notice_ids: notice_ids.clone(),
        };
        let told = registry.ack_notices(request).await;
        told.map_err(|status| RpcError::from_status(&status))?;
        let told = context.store.acknowledged(notice_ids, context.now());
        told.await.map_err(RpcError::internal)?;
    }
}
