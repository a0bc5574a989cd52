//! What a caller may use: the agents it may spawn, the tools it has.

use confab_config::Settings;
use confab_config::settings::AgentSettings;
use confab_model::id::AgentId;
use confab_model::key::SessionKey;
use confab_policy::spawn_policy::{self, Spawnable};
use confab_policy::tool_policy::{SessionTool, ToolDecision};
use confab_rpc::caller::Caller;
use confab_rpc::error::RpcError;
use confab_rpc::gate::Admitted;

use crate::authorize::{Standing, refusal};
use crate::commands::{GetToolPolicy, ListAgents};
use crate::meaning::canonical;
use crate::store::{Lookup, RegistryStore};
use crate::{Sessions, create, store_failed};

/// An agent that may be spawned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentEntry {
    /// The agent.
    pub id: AgentId,
    /// Its name for people.
    pub name: Option<String>,
    /// The model it asks for.
    pub model: Option<String>,
    /// What drives it: `script`, `worker` or `openai`.
    pub driver: &'static str,
    /// Whom it may spawn; told to operators.
    pub may_spawn: Option<Spawnable>,
}

/// The agents a caller may spawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentsPage {
    /// The caller's agent; an operator has none.
    pub requester: Option<AgentId>,
    /// Whether any agent is allowed.
    pub allow_any: bool,
    /// The requester's first, the others by identifier.
    pub agents: Vec<AgentEntry>,
}

/// What the policy says of one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolVerdict {
    /// The tool.
    pub tool: SessionTool,
    /// Whether the caller has it.
    pub allowed: bool,
    /// Which layer decided, in one sentence.
    pub reason: String,
}

impl<S: RegistryStore> Sessions<S> {
    /// The agents that the caller may spawn; an operator may use all.
    ///
    /// # Errors
    /// When the caller's session does not have the tool, or the store fails.
    ///
    /// Source: reg:A1, reg:A2, reg:A3.
    pub async fn list_agents(&self, call: Admitted<ListAgents>) -> Result<AgentsPage, RpcError> {
        let caller = call.caller();
        let settings = self.settings.current();
        let holder = self.tool_holder(caller, &settings).await?;
        let decision = holder.map(|holder| holder.decide(&settings, SessionTool::AgentsList));
        if let Some(refused) = decision.filter(|decision| !decision.allowed) {
            return Err(refusal(&refused));
        }
        let requester = caller.session().map(|session| {
            let agent = session.agent_id();
            agent.unwrap_or_else(|| settings.agents.default_agent().clone())
        });
        let configured: Vec<AgentId> = settings
            .agents
            .list()
            .iter()
            .map(|agent| agent.id.clone())
            .collect();
        let spawnable = |agent: &AgentId| spawnable(&settings, agent, &configured);
        let (allow_any, ids) = match &requester {
            None => (true, sorted(configured.clone())),
            Some(requester) => {
                let spawnable = spawnable(requester);
                (spawnable.allow_any, spawnable.agents)
            },
        };
        let entries = ids.iter().filter_map(|id| settings.agents.get(id));
        let agents = entries.map(|agent| AgentEntry {
            may_spawn: requester.is_none().then(|| spawnable(&agent.id)),
            ..entry(agent)
        });
        Ok(AgentsPage {
            agents: agents.collect(),
            requester,
            allow_any,
        })
    }

    /// Which session tools the caller has, and why not the others; an operator has all.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn tool_policy(
        &self,
        call: Admitted<GetToolPolicy>,
    ) -> Result<Vec<ToolVerdict>, RpcError> {
        let settings = self.settings.current();
        let holder = self.tool_holder(call.caller(), &settings).await?;
        let verdict = |tool| match &holder {
            Some(holder) => verdict_of(tool, holder.decide(&settings, tool)),
            None => ToolVerdict {
                tool,
                allowed: true,
                reason: "An operator may use every tool.".to_owned(),
            },
        };
        Ok(SessionTool::ALL.into_iter().map(verdict).collect())
    }

    /// The caller's session, as far as its tools are concerned; `None` for callers without one, to
    /// whom no tool policy applies.
    async fn tool_holder(
        &self,
        caller: &Caller,
        settings: &Settings,
    ) -> Result<Option<ToolHolder>, RpcError> {
        let Some(session) = caller.session() else {
            return Ok(None);
        };
        let key = canonical(&settings.key_rules(), session);
        let lookup = Lookup {
            keys: vec![key.clone()],
            ..Lookup::default()
        };
        let found = self.store.look_up(&caller.tenant, &lookup).await;
        let found = found.map_err(store_failed)?;
        let row = found.by_key.get(&key);
        let sandboxed = row.map_or_else(
            || create::sandboxed_by_default(settings, &key),
            |row| row.sandboxed,
        );
        Ok(Some(ToolHolder {
            standing: Standing::of(&key, row),
            sandboxed,
            key,
        }))
    }
}

/// A session that has tools.
struct ToolHolder {
    key: SessionKey,
    sandboxed: bool,
    standing: Standing,
}

impl ToolHolder {
    fn decide(&self, settings: &Settings, tool: SessionTool) -> ToolDecision {
        self.standing
            .decide(settings, &self.key, self.sandboxed, tool)
    }
}

fn verdict_of(tool: SessionTool, decision: ToolDecision) -> ToolVerdict {
    ToolVerdict {
        tool,
        allowed: decision.allowed,
        reason: decision.reason,
    }
}

fn entry(agent: &AgentSettings) -> AgentEntry {
    AgentEntry {
        id: agent.id.clone(),
        name: agent.name.clone(),
        model: agent.model.clone(),
        driver: agent.driver.as_str(),
        may_spawn: None,
    }
}

/// Whom an agent may spawn: by its own list, else by the one of the defaults.
///
/// Source: reg:A2.
fn spawnable(settings: &Settings, agent: &AgentId, configured: &[AgentId]) -> Spawnable {
    let own = settings.agents.get(agent);
    let allow = own
        .and_then(|agent| agent.allow_agents.as_ref())
        .or(settings.subagents.allow_agents.as_ref());
    spawn_policy::spawnable(agent, allow, configured)
}

fn sorted(mut ids: Vec<AgentId>) -> Vec<AgentId> {
    ids.sort();
    ids
}

#[cfg(test)]
mod tests;
