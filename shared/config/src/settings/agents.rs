//! Agents and what drives them.

use confab_model::id::AgentId;
use confab_model::message::Usage;
use confab_model::run::{RunError, Step};
use confab_policy::spawn_policy::AllowAgents;
use confab_policy::tool_policy::ToolList;
use regex::Regex;
use serde_json::Value;

/// The configured agents: never empty, no id twice, the default agent among them.
///
/// Source: reg:K8.
#[derive(Clone, Debug)]
pub struct Agents {
    list: Vec<AgentSettings>,
    default: AgentId,
}

impl Agents {
    /// The default is the first entry that is marked so, else the first, else `alone`.
    ///
    /// The caller has made sure that no id occurs twice.
    pub(crate) fn new(marked: Vec<(AgentSettings, bool)>, alone: AgentSettings) -> Self {
        let chosen = marked
            .iter()
            .find(|(_, default)| *default)
            .or_else(|| marked.first());
        let Some(default) = chosen.map(|(agent, _)| agent.id.clone()) else {
            return Self {
                default: alone.id.clone(),
                list: vec![alone],
            };
        };
        Self {
            list: marked.into_iter().map(|(agent, _)| agent).collect(),
            default,
        }
    }

    /// All of them, in the order of the file.
    pub fn list(&self) -> &[AgentSettings] {
        &self.list
    }

    /// The agent with this id; absent when it is not configured.
    pub fn get(&self, id: &AgentId) -> Option<&AgentSettings> {
        self.list.iter().find(|agent| agent.id == *id)
    }

    /// The agent that `main` means where nothing says otherwise.
    pub fn default_agent(&self) -> &AgentId {
        &self.default
    }
}

/// One entry of `agents.list`, with `agents.defaults` filled in.
#[derive(Clone, Debug)]
pub struct AgentSettings {
    /// The agent.
    pub id: AgentId,
    /// Its name for people.
    pub name: Option<String>,
    /// The model it asks for; absent = the driver's own.
    pub model: Option<String>,
    /// What answers for it.
    pub driver: Driver,
    /// Which of its sessions are sandboxed at creation (D78).
    pub sandbox: SandboxMode,
    /// Its own tool lists; absent = those of the file alone (reg:A7).
    pub tools: Option<ToolList>,
    /// The agents its sessions may spawn; absent = [`SubagentSettings::allow_agents`] (reg:A2).
    pub allow_agents: Option<AllowAgents>,
}

impl AgentSettings {
    /// An agent about which nothing but its id is said.
    pub(crate) fn new(id: AgentId) -> Self {
        Self {
            id,
            name: None,
            model: None,
            driver: Driver::Worker,
            sandbox: SandboxMode::Off,
            tools: None,
            allow_agents: None,
        }
    }
}

/// Section `agents.defaults.subagents`.
///
/// Source: D37, D44, run:K7, run:K8, run:K9, run:K10, run:K11, run:K14, run:K15.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubagentSettings {
    /// How deep children may spawn, 1 to 5.
    pub max_spawn_depth: u32,
    /// Most children of one session, 1 to 20.
    pub max_children_per_agent: u32,
    /// Most children at work at the same time, from 1.
    pub max_concurrent: u32,
    /// Minutes after its end until a child is archived; 0 = never.
    pub archive_after_minutes: u32,
    /// Longest time of a child's run, in seconds; 0 = no limit.
    pub run_timeout_seconds: u32,
    /// Whether a spawn has to name its agent.
    pub require_agent_id: bool,
    /// The agents that may be spawned; absent = the spawning agent alone (reg:A2).
    pub allow_agents: Option<AllowAgents>,
}

/// Which sessions of an agent are sandboxed (D78).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxMode {
    /// None.
    #[default]
    Off,
    /// All.
    All,
    /// Every one but the main session.
    NonMain,
}

impl SandboxMode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Off, Self::All, Self::NonMain];

    /// The word of the file: `off`, `all` or `non-main`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::All => "all",
            Self::NonMain => "non-main",
        }
    }
}

/// What answers for an agent.
#[derive(Clone, Debug)]
pub enum Driver {
    /// Rules in the file.
    Script(ScriptSettings),
    /// An external worker attached over gRPC; what an agent without a driver has.
    Worker,
    /// A server that speaks the `OpenAI` protocol.
    OpenAi(OpenAiSettings),
}

impl Driver {
    /// The word of the file: `script`, `worker` or `openai`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Script(_) => "script",
            Self::Worker => "worker",
            Self::OpenAi(_) => "openai",
        }
    }
}

/// A driver of type `openai`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenAiSettings {
    /// The address, with the version, for example `http://127.0.0.1:11434/v1`.
    pub base_url: String,
    /// The model; absent = the agent's.
    pub model: Option<String>,
    /// The environment variable that holds the key; absent = none is sent.
    pub api_key_env: Option<String>,
}

/// A driver of type `script`.
///
/// Source: contract, The script driver.
#[derive(Clone, Debug, Default)]
pub struct ScriptSettings {
    /// Tried in order; the first that fits wins.
    pub rules: Vec<ScriptRule>,
    /// The reply when no rule fits; absent = an empty text.
    pub default: Option<String>,
}

/// One rule of a script.
///
/// Source: contract, The script driver.
#[derive(Clone, Debug, Default)]
pub struct ScriptRule {
    /// The step it is for; absent = any.
    pub step: Option<Step>,
    /// Searched in the run's input; absent = fits every input.
    pub matches: Option<Regex>,
    /// The whole final text, with placeholders; absent = an empty text.
    pub reply: Option<String>,
    /// Session tools called in order before the reply.
    pub tools: Vec<ToolUse>,
    /// Interim texts streamed before the reply.
    pub emit: Vec<String>,
    /// Waited first and between interim texts, in milliseconds.
    pub delay_ms: u64,
    /// The run fails with it.
    pub error: Option<RunError>,
    /// How many hits the rule applies to, from 1; absent = all.
    pub times: Option<u32>,
    /// Whether the rule never answers and ignores cancellation.
    pub hang: bool,
    /// Tokens reported with the reply.
    pub usage: Option<Usage>,
}

/// One tool call of a script rule.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    /// The tool.
    pub name: String,
    /// Its arguments, a JSON object, with placeholders in its texts.
    pub arguments: Value,
}
