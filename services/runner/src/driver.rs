//! What answers for an agent.
//!
//! A driver turns a run's prompt into an outcome. It knows nothing of queues, leases, flows or
//! transcripts, and it acts on sessions only through the tools, as the session it runs in and
//! through the same gate as anybody.

mod script;
mod template;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use confab_config::settings::{Driver, Settings};
use confab_model::id::Ids;
use confab_model::run::{Outcome, RunError, RunState};
use confab_rpc::caller::Caller;
use confab_rpc::clients::Transport;
use confab_rpc::identity::Minter;
use serde_json::{Map, Value, json};

use crate::store::{RunnerStore, StoredRun, ToolTrace};

/// A run for a driver to carry out.
#[derive(Debug)]
pub struct Assignment<'a> {
    /// The run.
    pub stored: &'a StoredRun,
    /// The token its tool calls carry.
    pub token: &'a str,
    /// The configuration in force.
    pub settings: Arc<Settings>,
    /// Where it writes down the tools it calls.
    pub calls: &'a CallLog,
}

/// The tools that a run called, in order. It does not belong to the driver: what was done stays
/// known when the driver is cut off.
#[derive(Debug, Default)]
pub struct CallLog(Mutex<Vec<ToolTrace>>);

impl CallLog {
    /// A tool is about to be called. Until it is answered its result says that it was not, for what
    /// it does may happen without the answer.
    pub fn begin(&self, call_id: String, name: String, arguments: Map<String, Value>) {
        let error = "the run ended before the tool answered; what it asked for may have happened";
        let call = ToolTrace {
            call_id,
            name,
            arguments,
            result: json!({ "status": "error", "error": error }),
            is_error: true,
        };
        self.change(|calls| calls.push(call));
    }

    /// The tool that was called last has answered.
    pub fn answer(&self, result: Value, is_error: bool) {
        self.change(|calls| {
            if let Some(call) = calls.last_mut() {
                (call.result, call.is_error) = (result, is_error);
            }
        });
    }

    /// The calls, when there will be no more.
    pub fn into_trace(self) -> Vec<ToolTrace> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// No code panics while it holds the calls, so a poisoned lock still guards whole ones.
    fn change(&self, act: impl FnOnce(&mut Vec<ToolTrace>)) {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Names the model that answered, where the driver did not: the one that was asked for.
fn by_model(mut outcome: Outcome, asked_for: Option<&String>) -> Outcome {
    if let Outcome::Replied {
        model: model @ None,
        ..
    } = &mut outcome
    {
        *model = asked_for.cloned();
    }
    outcome
}

/// The run ended badly.
const fn failed(error: RunError) -> Outcome {
    Outcome::Failed {
        state: RunState::Failed,
        error,
    }
}

/// A run's token: signed where tokens are, opaque in open mode.
#[derive(Clone, Debug)]
pub enum RunToken {
    /// Known to this process only.
    Opaque(String),
    /// A JWT.
    Signed(String),
}

impl RunToken {
    /// The text that tool calls carry.
    pub fn bearer(&self) -> &str {
        match self {
            Self::Opaque(text) | Self::Signed(text) => text,
        }
    }

    /// The text that this process must remember.
    pub fn opaque(&self) -> Option<String> {
        match self {
            Self::Opaque(text) => Some(text.clone()),
            Self::Signed(_) => None,
        }
    }
}

/// The drivers, and what they need to reach the tools.
#[derive(Debug)]
pub struct Drivers {
    tools: Transport,
    minter: Option<Minter>,
    ids: Arc<dyn Ids>,
}

impl Drivers {
    /// Drivers whose tool calls go by way of `tools`; run tokens are signed where there is a
    /// minter.
    pub fn new(tools: Transport, minter: Option<Minter>, ids: Arc<dyn Ids>) -> Self {
        Self { tools, minter, ids }
    }

    /// A token for a run's tool calls, good for as long as the run may take.
    pub fn token(&self, stored: &StoredRun, timeout_seconds: u32) -> RunToken {
        let opaque = || RunToken::Opaque(format!("run-{}", self.ids.unguessable()));
        let Some(minter) = &self.minter else {
            return opaque();
        };
        let run = &stored.run;
        let agent = Caller::agent(
            stored.tenant.clone(),
            run.session_key.clone(),
            Some(run.id.clone()),
        );
        match minter.mint(&agent, Duration::from_secs(timeout_seconds.into())) {
            Ok(token) => RunToken::Signed(token),
            Err(error) => {
                // Its tool calls will be refused; the run itself can still answer.
                tracing::error!(%error, "a run's token could not be signed");
                opaque()
            },
        }
    }

    /// Carries a run out.
    pub async fn run<S: RunnerStore>(&self, store: &S, assignment: Assignment<'_>) -> Outcome {
        let settings = Arc::clone(&assignment.settings);
        let run = &assignment.stored.run;
        // The session's own model goes before that of its agent.
        let own_model = run.model.clone();
        let agents = &settings.agents;
        // The one session of scope `global` is the default agent's to answer.
        let agent_id = run
            .session_key
            .agent_id()
            .unwrap_or_else(|| agents.default_agent().clone());
        let Some(agent) = agents.get(&agent_id) else {
            return unavailable(format!("agent {agent_id} is not configured any more"));
        };
        match &agent.driver {
            Driver::Script(script) => {
                let outcome = script::run(script, store, self.tools.clone(), assignment).await;
                by_model(outcome, own_model.as_ref().or(agent.model.as_ref()))
            },
            Driver::Worker | Driver::OpenAi(_) => unavailable(format!(
                "agent {agent_id} has a driver of type {}, which this version does not run; give \
                 agents.list[].driver the type `script`",
                agent.driver.as_str()
            )),
        }
    }
}

fn unavailable(message: String) -> Outcome {
    failed(RunError {
        class: "driver_unavailable".to_owned(),
        message,
    })
}
