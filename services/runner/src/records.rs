//! Reading records, and waiting for them, within the caller's reach.
//!
//! A run, flow or delivery is within reach of whoever may see its session, and of the session that
//! asked for its flow (D73). Unknown and hidden ones answer alike (D12).

use std::future::Future;
use std::sync::Arc;

use confab_model::delivery::Delivery;
use confab_model::flow::Flow;
use confab_model::id::{FlowId, RunId};
use confab_model::key::SessionKey;
use confab_proto::runner::v1::SendStatus;
use confab_rpc::caller::{Caller, Identity};
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::{Admitted, Governed, Owned, Subject, caller_of};
use confab_store::StoreError;
use tonic::Request;

use crate::accept::Accepted;
use crate::commands::{GetFlow, GetRun, ListDeliveries, ListFlows, ListRuns, WaitFlow, WaitRun};
use crate::context::Context;
use crate::store::{FlowDetail, Page, RecordCursor, RunnerStore, StoredRun};
use crate::waiting::{Waited, Waits};

/// A run with its flow's record, which knows what became of the outbound message.
#[derive(Clone, Debug)]
pub struct RunRecord {
    /// The run.
    pub stored: StoredRun,
    /// Its flow.
    pub flow: Option<Flow>,
}

impl From<&RunRecord> for RecordCursor {
    fn from(record: &RunRecord) -> Self {
        Self::from(&record.stored.run)
    }
}

/// What came of a send, as far as the caller waited.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The target's run.
    pub run_id: RunId,
    /// The conversation.
    pub flow_id: FlowId,
    /// What came of it.
    pub status: SendStatus,
    /// The target.
    pub session_key: SessionKey,
    /// The target as the caller may call it.
    pub display_key: String,
    /// The run's own final text.
    pub reply: Option<String>,
    /// What went wrong, or that the run goes on.
    pub error: Option<String>,
    /// The conversation's record.
    pub flow: Option<Flow>,
    /// Whether the caller watches the target; only where asked for.
    pub watched: Option<bool>,
}

/// Reads records within the caller's reach.
#[derive(Debug)]
pub struct Records<S> {
    context: Arc<Context<S>>,
    waits: Waits<S>,
}

impl<S: RunnerStore> Records<S> {
    /// Over the runner's context.
    pub fn new(context: Arc<Context<S>>) -> Self {
        Self {
            waits: Waits::new(Arc::clone(&context)),
            context,
        }
    }

    /// A run that was accepted from its caller.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn own_run(&self, accepted: &Accepted) -> Result<RunRecord, RpcError> {
        let run = &accepted.run_id;
        let stored = self.context.store.run(&accepted.tenant, run).await;
        let stored = stored.map_err(RpcError::internal)?;
        self.with_flow(stored.ok_or_else(|| no_run(run))?).await
    }

    /// Reads a run.
    ///
    /// # Errors
    /// When there is none within the caller's reach.
    pub async fn run<P>(
        &self,
        request: Request<P>,
        parse: impl FnOnce(P) -> Result<GetRun, RpcError>,
    ) -> Result<RunRecord, RpcError> {
        let caller = caller_of(&request)?;
        let command = parse(request.into_inner())?;
        let run_id = command.run_id.clone();
        self.reach_run(caller, command, &run_id).await
    }

    /// Waits for a run.
    ///
    /// # Errors
    /// When there is none within the caller's reach.
    pub async fn wait_run<P>(
        &self,
        request: Request<P>,
        parse: impl FnOnce(P) -> Result<WaitRun, RpcError>,
    ) -> Result<Waited<RunRecord>, RpcError> {
        let caller = caller_of(&request)?;
        let command = parse(request.into_inner())?;
        let (run_id, timeout) = (command.run_id.clone(), command.timeout);
        let tenant = caller.tenant.clone();
        self.reach_run(caller, command, &run_id).await?;
        let waited = self
            .waits
            .run(&tenant, &run_id, timeout, &self.context.stop)
            .await?;
        let waited = waited.ok_or_else(|| no_run(&run_id))?;
        let record = self.with_flow(waited.record).await?;
        Ok(Waited {
            record,
            timed_out: waited.timed_out,
        })
    }

    async fn reach_run<R: Governed>(
        &self,
        caller: Caller,
        command: R,
        run_id: &RunId,
    ) -> Result<RunRecord, RpcError> {
        let tenant = caller.tenant.clone();
        let channel = match &caller.identity {
            Identity::Channel { channel } => Some(channel.clone()),
            Identity::Operator
            | Identity::Service
            | Identity::System { .. }
            | Identity::Agent { .. }
            | Identity::Worker { .. } => None,
        };
        let load = async {
            let stored = self.context.store.run(&tenant, run_id).await;
            let Some(stored) = stored.map_err(RpcError::internal)? else {
                return Ok(None);
            };
            let record = self.with_flow(stored).await?;
            // A channel adapter reads the runs that it started (contract, Identity).
            if channel.is_some_and(|channel| !was_started_by(&record, &channel)) {
                return Ok(None);
            }
            Ok(Some(Owned {
                session: record.stored.run.session_key.clone(),
                requester: record.flow.as_ref().and_then(|flow| flow.requester.clone()),
                record,
            }))
        };
        let missing = || no_run(run_id);
        let (_, record) = self
            .context
            .gate
            .admit_record(caller, command, missing, load)
            .await?;
        Ok(record)
    }

    async fn with_flow(&self, stored: StoredRun) -> Result<RunRecord, RpcError> {
        let flow = self
            .context
            .store
            .flow(&stored.tenant, &stored.run.flow_id)
            .await;
        Ok(RunRecord {
            flow: flow.map_err(RpcError::internal)?,
            stored,
        })
    }

    /// Reads a flow.
    ///
    /// # Errors
    /// When there is none within the caller's reach.
    pub async fn flow<P>(
        &self,
        request: Request<P>,
        parse: impl FnOnce(P) -> Result<GetFlow, RpcError>,
    ) -> Result<FlowDetail, RpcError> {
        let caller = caller_of(&request)?;
        let command = parse(request.into_inner())?;
        let (tenant, flow_id) = (caller.tenant.clone(), command.flow_id.clone());
        let load = self.context.store.flow_detail(&tenant, &flow_id);
        self.reach_flow(caller, command, &flow_id, load, |detail| &detail.flow)
            .await
    }

    /// Waits for a flow.
    ///
    /// # Errors
    /// When there is none within the caller's reach.
    pub async fn wait_flow<P>(
        &self,
        request: Request<P>,
        parse: impl FnOnce(P) -> Result<WaitFlow, RpcError>,
    ) -> Result<Waited<FlowDetail>, RpcError> {
        let caller = caller_of(&request)?;
        let command = parse(request.into_inner())?;
        let (flow_id, timeout) = (command.flow_id.clone(), command.timeout);
        let tenant = caller.tenant.clone();
        let load = self.context.store.flow(&tenant, &flow_id);
        self.reach_flow(caller, command, &flow_id, load, |flow| flow)
            .await?;
        let waited = self.waits.flow(&tenant, &flow_id, timeout).await?;
        waited.ok_or_else(|| no_flow(&flow_id))
    }

    /// What `load` reads of a flow, if the caller may see it.
    async fn reach_flow<R: Governed, T>(
        &self,
        caller: Caller,
        command: R,
        flow_id: &FlowId,
        load: impl Future<Output = Result<Option<T>, StoreError>>,
        flow_of: impl Fn(&T) -> &Flow,
    ) -> Result<T, RpcError> {
        let load = async {
            let loaded = load.await.map_err(RpcError::internal)?;
            Ok(loaded.map(|record| Owned {
                session: flow_of(&record).target.clone(),
                requester: flow_of(&record).requester.clone(),
                record,
            }))
        };
        let missing = || no_flow(flow_id);
        let (_, record) = self
            .context
            .gate
            .admit_record(caller, command, missing, load)
            .await?;
        Ok(record)
    }

    /// Lists runs, newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn runs(&self, admitted: &Admitted<ListRuns>) -> Result<Page<RunRecord>, RpcError> {
        let list = admitted.request();
        let tenant = &admitted.caller().tenant;
        let session = only_session(admitted.subject());
        let page = self
            .context
            .store
            .runs(tenant, session, &list.states, &list.page)
            .await;
        let page = page.map_err(RpcError::internal)?;
        let ids: Vec<FlowId> = page
            .rows
            .iter()
            .map(|one| one.run.flow_id.clone())
            .collect();
        let flows = self.context.store.flow_records(tenant, &ids).await;
        let flows = flows.map_err(RpcError::internal)?;
        let flow_of = |id: &FlowId| flows.iter().find(|flow| flow.id == *id).cloned();
        let rows = page.rows.into_iter();
        let rows = rows
            .map(|stored| RunRecord {
                flow: flow_of(&stored.run.flow_id),
                stored,
            })
            .collect();
        Ok(Page {
            rows,
            next: page.next,
        })
    }

    /// Lists flows, newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn flows(
        &self,
        admitted: &Admitted<ListFlows>,
    ) -> Result<Page<FlowDetail>, RpcError> {
        let tenant = &admitted.caller().tenant;
        let session = only_session(admitted.subject());
        let page = self
            .context
            .store
            .flows(tenant, session, &admitted.request().page)
            .await;
        page.map_err(RpcError::internal)
    }

    /// Lists deliveries, newest first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn deliveries(
        &self,
        admitted: &Admitted<ListDeliveries>,
    ) -> Result<Page<Delivery>, RpcError> {
        let list = admitted.request();
        let tenant = &admitted.caller().tenant;
        let page = self
            .context
            .store
            .deliveries(tenant, &list.filter, &list.page)
            .await;
        page.map_err(RpcError::internal)
    }
}

fn only_session(subject: &Subject) -> Option<&SessionKey> {
    match subject {
        Subject::One(session) => Some(&session.key),
        Subject::Nothing | Subject::Many(_) | Subject::Scope(_) => None,
    }
}

fn was_started_by(record: &RunRecord, channel: &str) -> bool {
    let flow = record.flow.as_ref();
    flow.is_some_and(|flow| flow.started_by_channel.as_deref() == Some(channel))
}

fn no_run(run: &RunId) -> RpcError {
    RpcError::new(Reason::RecordNotFound, format!("No run found: {run}"))
}

fn no_flow(flow: &FlowId) -> RpcError {
    RpcError::new(Reason::RecordNotFound, format!("No flow found: {flow}"))
}
