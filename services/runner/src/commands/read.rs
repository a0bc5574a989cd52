//! Requests that read records or wait for them.

use std::time::Duration;

use confab_model::delivery::DeliveryState;
use confab_model::id::{FlowId, RunId};
use confab_model::limits::{RECORDS_LIMIT_DEFAULT, RECORDS_LIMIT_MAX};
use confab_model::run::RunState;
use confab_proto::runner::v1::{
    GetFlowRequest, GetRunRequest, ListDeliveriesRequest, ListFlowsRequest, ListRunsRequest,
    WaitFlowRequest, WaitRunRequest,
};
use confab_rpc::error::{RpcError, Violation, Violations};
use confab_rpc::gate::{About, Action, Governed, Target};
use confab_rpc::wire;

use crate::pages::List;
use crate::store::{DeliveryFilter, PageRequest};

/// Reads a run.
#[derive(Clone, Debug)]
pub struct GetRun {
    /// The run.
    pub run_id: RunId,
}

/// Waits for a run.
#[derive(Clone, Debug)]
pub struct WaitRun {
    /// The run.
    pub run_id: RunId,
    /// How long.
    pub timeout: Duration,
}

/// Reads a flow.
#[derive(Clone, Debug)]
pub struct GetFlow {
    /// The flow.
    pub flow_id: FlowId,
}

/// Waits for a flow.
#[derive(Clone, Debug)]
pub struct WaitFlow {
    /// The flow.
    pub flow_id: FlowId,
    /// How long.
    pub timeout: Duration,
}

/// Lists runs.
#[derive(Clone, Debug)]
pub struct ListRuns {
    /// Only of this session.
    pub target: Option<Target>,
    /// Only in these states.
    pub states: Vec<RunState>,
    /// Which page.
    pub page: PageRequest,
}

/// Lists flows.
#[derive(Clone, Debug)]
pub struct ListFlows {
    /// Only of this session.
    pub target: Option<Target>,
    /// Which page.
    pub page: PageRequest,
}

/// Lists deliveries.
#[derive(Clone, Debug)]
pub struct ListDeliveries {
    /// Which ones.
    pub filter: DeliveryFilter,
    /// Which page.
    pub page: PageRequest,
}

impl GetRun {
    /// Reads a request.
    ///
    /// # Errors
    /// When the identifier is malformed.
    pub fn parse(request: GetRunRequest) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        let run_id = run_id(request.run_id, &mut violations);
        violations.finish()?;
        Ok(Self {
            run_id: run_id.ok_or_else(no_id)?,
        })
    }
}

impl WaitRun {
    /// Reads a request.
    ///
    /// # Errors
    /// When fields are malformed; all of them are told.
    pub fn parse(request: WaitRunRequest) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        let run_id = run_id(request.run_id, &mut violations);
        let timeout = timeout(request.timeout_seconds, &mut violations);
        violations.finish()?;
        Ok(Self {
            run_id: run_id.ok_or_else(no_id)?,
            timeout,
        })
    }
}

impl GetFlow {
    /// Reads a request.
    ///
    /// # Errors
    /// When the identifier is malformed.
    pub fn parse(request: GetFlowRequest) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        let flow_id = flow_id(request.flow_id, &mut violations);
        violations.finish()?;
        Ok(Self {
            flow_id: flow_id.ok_or_else(no_id)?,
        })
    }
}

impl WaitFlow {
    /// Reads a request.
    ///
    /// # Errors
    /// When fields are malformed; all of them are told.
    pub fn parse(request: WaitFlowRequest) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        let flow_id = flow_id(request.flow_id, &mut violations);
        let timeout = timeout(request.timeout_seconds, &mut violations);
        violations.finish()?;
        Ok(Self {
            flow_id: flow_id.ok_or_else(no_id)?,
            timeout,
        })
    }
}

impl ListRuns {
    /// Reads a request.
    ///
    /// # Errors
    /// When fields are malformed; all of them are told.
    pub fn parse(request: ListRunsRequest) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        let states = wire::enums::enums_from_wire(&request.states, "states", &mut violations);
        let page = page::<Self>(request.limit, request.page_token, &mut violations);
        violations.finish()?;
        Ok(Self {
            target: Target::optional(request.target),
            states,
            page,
        })
    }
}

impl ListFlows {
    /// Reads a request.
    ///
    /// # Errors
    /// When fields are malformed; all of them are told.
    pub fn parse(request: ListFlowsRequest) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        let page = page::<Self>(request.limit, request.page_token, &mut violations);
        violations.finish()?;
        Ok(Self {
            target: Target::optional(request.target),
            page,
        })
    }
}

impl ListDeliveries {
    /// Reads a request.
    ///
    /// # Errors
    /// When fields are malformed; all of them are told.
    pub fn parse(request: ListDeliveriesRequest) -> Result<Self, RpcError> {
        let mut violations = Violations::default();
        let states: Vec<DeliveryState> =
            wire::enums::enums_from_wire(&request.states, "states", &mut violations);
        let page = page::<Self>(request.limit, request.page_token, &mut violations);
        violations.finish()?;
        let channel = request.channel.map(|channel| channel.trim().to_lowercase());
        let channel = channel.filter(|channel| !channel.is_empty());
        Ok(Self {
            filter: DeliveryFilter { states, channel },
            page,
        })
    }
}

impl List for ListRuns {
    const NAME: &'static str = "runs";
}

impl List for ListFlows {
    const NAME: &'static str = "flows";
}

impl List for ListDeliveries {
    const NAME: &'static str = "deliveries";
}

macro_rules! governed_by_record {
    ($($command:ty),+) => {
        $(impl Governed for $command {
            fn action(&self) -> Action {
                Action::Record
            }

            fn about(&self) -> About {
                About::Nothing
            }
        })+
    };
}

// These name a record: `Gate::admit_record` judges the session that the record belongs to.
governed_by_record!(GetRun, WaitRun, GetFlow, WaitFlow);

impl Governed for ListRuns {
    fn action(&self) -> Action {
        Action::Record
    }

    fn about(&self) -> About {
        self.target.clone().map_or(About::Nothing, About::One)
    }
}

impl Governed for ListFlows {
    fn action(&self) -> Action {
        Action::Record
    }

    fn about(&self) -> About {
        self.target.clone().map_or(About::Nothing, About::One)
    }
}

impl Governed for ListDeliveries {
    fn action(&self) -> Action {
        Action::Record
    }

    fn about(&self) -> About {
        About::Nothing
    }
}

fn run_id(raw: String, violations: &mut Violations) -> Option<RunId> {
    violations.keep(RunId::parse(raw).map_err(|error| {
        Violation::new(
            "runId",
            format!("runId: {error}; give one that a call answered"),
        )
    }))
}

fn flow_id(raw: String, violations: &mut Violations) -> Option<FlowId> {
    violations.keep(FlowId::parse(raw).map_err(|error| {
        Violation::new(
            "flowId",
            format!("flowId: {error}; give one that a call answered"),
        )
    }))
}

fn timeout(seconds: Option<i32>, violations: &mut Violations) -> Duration {
    wire::limits::timeout_from_wire(seconds, "timeoutSeconds", violations)
}

fn page<L: List>(
    limit: Option<i32>,
    token: Option<String>,
    violations: &mut Violations,
) -> PageRequest {
    let limit = wire::limits::limit_from_wire(
        limit,
        RECORDS_LIMIT_DEFAULT,
        RECORDS_LIMIT_MAX,
        "limit",
        violations,
    );
    PageRequest {
        limit: limit.value,
        after: super::page_token::<L>(token, violations),
    }
}

/// Cannot be met: an identifier that is missing has left a violation.
fn no_id() -> RpcError {
    RpcError::invalid_field("request", "the request could not be read")
}
