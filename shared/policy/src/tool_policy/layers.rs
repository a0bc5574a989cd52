//! The layers, in the order in which they are asked.

mod subagent;

use super::{Profile, SessionTool, ToolList, ToolPattern, ToolRules, ToolSubject};

const GLOBAL: &str = "tools";
const AGENT: &str = "agents.list[].tools";

/// A layer that can take tools away.
///
/// Source: reg:A8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layer {
    /// None: every tool is there.
    Unrestricted,
    /// The profile, widened by `alsoAllow`.
    Profile,
    /// `tools.allow` and `tools.deny`.
    Global,
    /// `agents.list[].tools.allow` and `agents.list[].tools.deny`.
    Agent,
    /// The fixed tools of a sandbox.
    Sandbox,
    /// What a spawned child has at its depth.
    Subagent,
    /// The lists that the session inherited.
    Inherited,
}

/// What one layer says about one tool.
pub(super) enum Verdict {
    /// Nothing.
    Silent,
    /// It is there.
    Granted {
        /// The setting.
        by: String,
    },
    /// It is taken away.
    Refused {
        /// The setting.
        by: String,
        /// What would have to change, in the imperative.
        change: String,
    },
}

/// What each layer says about `tool`.
///
/// Source: reg:A8.
pub(super) fn judge(
    rules: &ToolRules,
    subject: &ToolSubject<'_>,
    tool: SessionTool,
) -> [(Layer, Verdict); 6] {
    let inherited = Lists {
        allow: ("inheritedToolAllow of the session", subject.inherited_allow),
        deny: ("inheritedToolDeny of the session", subject.inherited_deny),
    };
    let global = Lists {
        allow: ("tools.allow", &rules.global.allow),
        deny: ("tools.deny", &rules.global.deny),
    };
    let agent = subject.agent.map(|agent| Lists {
        allow: ("agents.list[].tools.allow", &agent.allow),
        deny: ("agents.list[].tools.deny", &agent.deny),
    });
    [
        (Layer::Profile, profile(&rules.global, subject.agent, tool)),
        (Layer::Global, global.judge(tool)),
        (
            Layer::Agent,
            agent.map_or(Verdict::Silent, |lists| lists.judge(tool)),
        ),
        (Layer::Sandbox, sandbox(subject.sandboxed, tool)),
        (
            Layer::Subagent,
            subagent::judge(rules, subject.subagent_depth, tool),
        ),
        (Layer::Inherited, inherited.judge(tool)),
    ]
}

/// Two lists with the names by which people know them.
struct Lists<'a> {
    allow: (&'static str, &'a [ToolPattern]),
    deny: (&'static str, &'a [ToolPattern]),
}

impl Lists<'_> {
    /// Deny beats allow, and no allow list is as good as one that names every tool.
    ///
    /// Source: reg:A9, reg:A10.
    fn judge(&self, tool: SessionTool) -> Verdict {
        let (name, allow) = self.allow;
        if let Some(refused) = denied(self.deny, tool) {
            refused
        } else if allow.is_empty() {
            Verdict::Silent
        } else if let Some(entries) = matching(allow, tool) {
            Verdict::Granted {
                by: format!("{name} ({entries})"),
            }
        } else {
            Verdict::Refused {
                by: format!("{name}, which does not name it"),
                change: format!("add {} to {name}", tool.as_str()),
            }
        }
    }
}

/// The refusal by a deny list, if it holds `tool`.
fn denied((name, deny): (&str, &[ToolPattern]), tool: SessionTool) -> Option<Verdict> {
    let entries = matching(deny, tool)?;
    Some(Verdict::Refused {
        by: format!("{name} ({entries})"),
        change: format!("take {entries} out of {name}"),
    })
}

/// The entries of `list` that mean `tool`, as text; absent if there is none.
fn matching(list: &[ToolPattern], tool: SessionTool) -> Option<String> {
    let entries: Vec<&str> = list
        .iter()
        .filter(|entry| entry.matches(tool))
        .map(ToolPattern::as_str)
        .collect();
    (!entries.is_empty()).then(|| entries.join(", "))
}

/// The profile in force and the `alsoAllow` in force: of each the agent's, else the global one.
///
/// Source: reg:A5, reg:A6, reg:A7.
fn profile(global: &ToolList, agent: Option<&ToolList>, tool: SessionTool) -> Verdict {
    let scopes = [agent.map(|list| (AGENT, list)), Some((GLOBAL, global))];
    let scopes: Vec<(&str, &ToolList)> = scopes.into_iter().flatten().collect();
    let in_force = scopes
        .iter()
        .find_map(|(path, list)| Some(((*path, *list), list.profile?)));
    let Some((setter, profile)) = in_force else {
        return Verdict::Silent;
    };
    let widening = scopes.iter().find(|(_, list)| !list.also_allow.is_empty());
    let (path, list) = widening.copied().unwrap_or(setter);
    let by = format!("{}.profile={}", setter.0, profile.as_str());
    if profile.holds(tool) {
        Verdict::Granted { by }
    } else if let Some(entries) = matching(&list.also_allow, tool) {
        Verdict::Granted {
            by: format!("{path}.alsoAllow ({entries})"),
        }
    } else {
        let add = || format!(" or add {} to {path}.alsoAllow", tool.as_str());
        // A scope with an allow list may have no alsoAllow (reg:A10).
        let widen = if list.allow.is_empty() {
            add()
        } else {
            String::new()
        };
        let change = format!("set {}.profile to {}{widen}", setter.0, holders(tool));
        Verdict::Refused { by, change }
    }
}

/// The profiles that hold `tool`, as text.
fn holders(tool: SessionTool) -> String {
    let holding = Profile::ALL.into_iter().filter(|one| one.holds(tool));
    let names: Vec<&str> = holding.map(Profile::as_str).collect();
    names.join(" or ")
}

/// The fixed tools of a sandbox: all but the one that tells which agents there are.
///
/// Source: reg:A14.
fn sandbox(sandboxed: bool, tool: SessionTool) -> Verdict {
    if !sandboxed {
        Verdict::Silent
    } else if tool == SessionTool::AgentsList {
        Verdict::Refused {
            by: "the sandbox, whose tools are fixed".to_owned(),
            change: "run the session outside a sandbox (agents.list[].sandbox.mode)".to_owned(),
        }
    } else {
        Verdict::Granted {
            by: "the sandbox, whose tools are fixed".to_owned(),
        }
    }
}
