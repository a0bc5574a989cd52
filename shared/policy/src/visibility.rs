//! Which sessions a session may see and act on.
//!
//! One function decides for every tool and every call (D11). [`decide`] judges one target,
//! [`scope`] says the same of all sessions at once, for lists.

mod pattern;
mod refusal;
#[cfg(test)]
mod tests;

use confab_model::id::AgentId;
use confab_model::key::SessionKey;

pub use pattern::{AgentPattern, PatternError};
pub use refusal::{Gate, Refusal};

/// How far a session sees; each mode is narrower than the next, descendants apart.
///
/// Source: D8, D9, reg:V1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VisibilityMode {
    /// Itself alone.
    SelfOnly,
    /// Itself and every session descended from it through spawns.
    #[default]
    Tree,
    /// Every session of its own agent.
    Agent,
    /// Every session, other agents' as agent-to-agent allows.
    All,
}

impl VisibilityMode {
    /// Every mode, the narrowest first.
    pub const ALL: [Self; 4] = [Self::SelfOnly, Self::Tree, Self::Agent, Self::All];

    /// The word of the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SelfOnly => "self",
            Self::Tree => "tree",
            Self::Agent => "agent",
            Self::All => "all",
        }
    }

    /// Reads the word; blanks around it and case do not matter.
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.trim();
        Self::ALL
            .into_iter()
            .find(|mode| mode.as_str().eq_ignore_ascii_case(word))
    }

    /// Whether descendants are within reach whatever their agent (D53).
    const fn follows_spawns(self) -> bool {
        match self {
            Self::Tree | Self::All => true,
            Self::SelfOnly | Self::Agent => false,
        }
    }
}

/// What a sandbox leaves of a session's reach.
///
/// Source: D8, reg:V3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SandboxClamp {
    /// At most its own tree.
    #[default]
    Spawned,
    /// All that is configured.
    All,
}

impl SandboxClamp {
    /// Both, the narrower first.
    pub const ALL: [Self; 2] = [Self::Spawned, Self::All];

    /// The word of the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Spawned => "spawned",
            Self::All => "all",
        }
    }

    /// Reads the word; blanks around it and case do not matter.
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.trim();
        Self::ALL
            .into_iter()
            .find(|clamp| clamp.as_str().eq_ignore_ascii_case(word))
    }
}

/// Which agents may reach one another.
///
/// Source: D8, D53, reg:V9, reg:V10, reg:V11.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentToAgent {
    /// Whether any may.
    pub enabled: bool,
    /// Both sides must match one of these; empty = every agent does.
    pub allow: Vec<AgentPattern>,
}

impl AgentToAgent {
    fn allows(&self, agent: &AgentId) -> bool {
        self.allow.is_empty() || self.allow.iter().any(|pattern| pattern.matches(agent))
    }
}

/// What the configuration says about visibility.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VisibilityRules {
    /// How far sessions see.
    pub mode: VisibilityMode,
    /// How far sandboxed sessions see at most.
    pub sandbox_clamp: SandboxClamp,
    /// Which agents may reach one another.
    pub agent_to_agent: AgentToAgent,
}

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requester<'a> {
    /// An owner, who is subject to no rule here (D13).
    Operator,
    /// An agent in a session.
    Session {
        /// The session.
        key: &'a SessionKey,
        /// Whether its agent runs in a sandbox.
        sandboxed: bool,
    },
}

/// What is to be done with the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Read what was said.
    History,
    /// Say something.
    Send,
    /// Read or change the row.
    Status,
    /// See that it exists.
    List,
}

/// One question about one resolved target.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Who asks.
    pub requester: Requester<'a>,
    /// The session it is about.
    pub target: &'a SessionKey,
    /// Whether stored lineage leads from the target back to the requester, over any number of
    /// spawns; the shape of a key is no lineage (D9).
    pub descends_from_requester: bool,
    /// What is to be done with it.
    pub access: Access,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Go on.
    Allow,
    /// Stop, and say why.
    Deny(Refusal),
}

/// The sessions that a list may show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Every session there is.
    Everything,
    /// The requester alone.
    Session,
    /// The requester and its descendants.
    Tree,
    /// The sessions of certain agents.
    Agents {
        /// The requester's own agent: all of its sessions.
        own: AgentId,
        /// Whose sessions beside these.
        others: Others,
        /// Whether the requester's descendants are shown too, whatever their agent.
        descendants: bool,
    },
}

/// Other agents than the requester's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Others {
    /// Not one.
    None,
    /// Those that match one of these.
    Matching(Vec<AgentPattern>),
    /// Every one.
    All,
}

/// How far a session sees once its sandbox is taken into account: never further than configured.
///
/// Source: D10.
pub fn effective_mode(rules: &VisibilityRules, sandboxed: bool) -> VisibilityMode {
    match rules.sandbox_clamp {
        SandboxClamp::Spawned if sandboxed => rules.mode.min(VisibilityMode::Tree),
        SandboxClamp::Spawned | SandboxClamp::All => rules.mode,
    }
}

/// Decides one question.
///
/// Source: D8, D9, D10, D11, D12, D13, D53, reg:V12, reg:V13, reg:V14.
pub fn decide(rules: &VisibilityRules, question: &Question<'_>) -> Decision {
    let Requester::Session { key, sandboxed } = question.requester else {
        return Decision::Allow;
    };
    let mode = effective_mode(rules, sandboxed);
    let descends = question.descends_from_requester && mode.follows_spawns();
    if key == question.target || descends {
        return Decision::Allow;
    }
    let (own, other) = (agent_of(key), agent_of(question.target));
    let unmet = if own == other {
        unmet_within(mode)
    } else {
        unmet_between(mode, &rules.agent_to_agent, &own, &other)
    };
    if unmet.is_empty() {
        return Decision::Allow;
    }
    let denied = refusal::Denied {
        access: question.access,
        configured: rules.mode,
        effective: mode,
        requester: &own,
        target: &other,
    };
    Decision::Deny(denied.refuse(unmet))
}

/// The gates between two sessions of one agent.
fn unmet_within(mode: VisibilityMode) -> Vec<Gate> {
    match mode {
        VisibilityMode::SelfOnly | VisibilityMode::Tree => vec![Gate::Visibility],
        VisibilityMode::Agent | VisibilityMode::All => Vec::new(),
    }
}

/// The gates between sessions of two agents, in the order in which they are named.
fn unmet_between(
    mode: VisibilityMode,
    rules: &AgentToAgent,
    requester: &AgentId,
    target: &AgentId,
) -> Vec<Gate> {
    let gates = [
        (Gate::Visibility, mode == VisibilityMode::All),
        (Gate::Enabled, rules.enabled),
        (Gate::AllowRequester, rules.allows(requester)),
        (Gate::AllowTarget, rules.allows(target)),
    ];
    gates
        .into_iter()
        .filter(|(_, met)| !met)
        .map(|(gate, _)| gate)
        .collect()
}

/// Whose session it is in these questions; the one that serves all counts as agent `main`'s.
///
/// Source: reg:K7.
fn agent_of(key: &SessionKey) -> AgentId {
    key.agent_id().unwrap_or_else(|| AgentId::normalise("main"))
}

/// The sessions that a list may show to `requester`: those for which [`decide`] allows it.
///
/// Source: D11, D14.
pub fn scope(rules: &VisibilityRules, requester: Requester<'_>) -> Reach {
    let Requester::Session { key, sandboxed } = requester else {
        return Reach::Everything;
    };
    let own = agent_of(key);
    match effective_mode(rules, sandboxed) {
        VisibilityMode::SelfOnly => Reach::Session,
        VisibilityMode::Tree => Reach::Tree,
        VisibilityMode::Agent => Reach::Agents {
            own,
            others: Others::None,
            descendants: false,
        },
        VisibilityMode::All => {
            let others = others(&rules.agent_to_agent, &own);
            Reach::Agents {
                own,
                others,
                descendants: true,
            }
        },
    }
}

fn others(rules: &AgentToAgent, own: &AgentId) -> Others {
    if !rules.enabled || !rules.allows(own) {
        Others::None
    } else if rules.allow.is_empty() {
        Others::All
    } else {
        Others::Matching(rules.allow.clone())
    }
}
