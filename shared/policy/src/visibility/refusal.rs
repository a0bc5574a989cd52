//! What a refusal says: every gate that is unmet, in one message.

use std::fmt;

use confab_model::id::AgentId;

use super::{Access, VisibilityMode};

/// A condition that stands between a requester and a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Gate {
    /// The visibility mode reaches the target.
    Visibility,
    /// Agent-to-agent access is enabled.
    Enabled,
    /// The allow list names the requester's agent.
    AllowRequester,
    /// The allow list names the target's agent.
    AllowTarget,
}

impl Gate {
    /// The short name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Visibility => "visibility",
            Self::Enabled => "enabled",
            Self::AllowRequester => "allow.requester",
            Self::AllowTarget => "allow.target",
        }
    }
}

/// Why a target is out of reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Every unmet gate, at least one.
    pub unmet: Vec<Gate>,
    /// The text for the caller: the well-known sentence of the first unmet gate, then all of them.
    pub message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

/// What the texts are made of.
pub(super) struct Denied<'a> {
    pub(super) access: Access,
    pub(super) configured: VisibilityMode,
    pub(super) effective: VisibilityMode,
    pub(super) requester: &'a AgentId,
    pub(super) target: &'a AgentId,
}

impl Denied<'_> {
    /// Puts the unmet gates into words.
    ///
    /// Source: D12.
    pub(super) fn refuse(&self, unmet: Vec<Gate>) -> Refusal {
        let sentence = unmet
            .first()
            .map_or_else(String::new, |gate| self.sentence(*gate));
        let named: Vec<String> = unmet.iter().map(|gate| self.name(*gate)).collect();
        let message = format!("{sentence} Unmet: {}.", named.join("; "));
        Refusal { unmet, message }
    }

    /// The sentence by which clients know a gate.
    ///
    /// Source: reg:V22, reg:V23, reg:V24, reg:V25.
    fn sentence(&self, gate: Gate) -> String {
        let words = words(self.access);
        match gate {
            Gate::Visibility if self.requester != self.target => format!(
                "{} visibility is restricted. Set tools.sessions.visibility=all and \
                 tools.agentToAgent.enabled=true to allow cross-agent access; use \
                 tools.agentToAgent.allow to restrict permitted agent pairs.",
                words.subject
            ),
            Gate::Visibility => format!(
                "{} visibility is restricted to the current session{} \
                 (tools.sessions.visibility={}).",
                words.subject,
                if self.effective == VisibilityMode::SelfOnly {
                    ""
                } else {
                    " tree"
                },
                self.effective.as_str()
            ),
            Gate::Enabled => format!(
                "Agent-to-agent {} is disabled. Set tools.agentToAgent.enabled=true to allow \
                 cross-agent {}.",
                words.action, words.gain
            ),
            Gate::AllowRequester | Gate::AllowTarget => {
                format!(
                    "Agent-to-agent {} denied by tools.agentToAgent.allow.",
                    words.action
                )
            },
        }
    }

    /// A gate by its short name, with the setting that shuts it.
    fn name(&self, gate: Gate) -> String {
        let name = gate.as_str();
        match gate {
            Gate::Visibility if self.configured != self.effective => format!(
                "{name} (tools.sessions.visibility is {}, narrowed to {} by the sandbox)",
                self.configured.as_str(),
                self.effective.as_str()
            ),
            Gate::Visibility => {
                format!(
                    "{name} (tools.sessions.visibility is {})",
                    self.effective.as_str()
                )
            },
            Gate::Enabled => format!("{name} (tools.agentToAgent.enabled is not true)"),
            Gate::AllowRequester => format!(
                "{name} (tools.agentToAgent.allow does not name the requester's agent {})",
                self.requester
            ),
            Gate::AllowTarget => format!(
                "{name} (tools.agentToAgent.allow does not name the target's agent {})",
                self.target
            ),
        }
    }
}

/// The words of one access in the well-known sentences.
struct Words {
    subject: &'static str,
    action: &'static str,
    gain: &'static str,
}

const fn words(access: Access) -> Words {
    match access {
        Access::History => Words {
            subject: "Session history",
            action: "history",
            gain: "access",
        },
        Access::Send => Words {
            subject: "Session send",
            action: "messaging",
            gain: "sends",
        },
        Access::Status => Words {
            subject: "Session status",
            action: "status",
            gain: "access",
        },
        Access::List => Words {
            subject: "Session list",
            action: "listing",
            gain: "visibility",
        },
    }
}
