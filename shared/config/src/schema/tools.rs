//! Section `tools`.

use confab_policy::tool_policy::{Profile, ToolList, ToolPattern};
use confab_policy::visibility::{AgentPattern, AgentToAgent, VisibilityMode};
use serde_json::Value;

use super::findings::Class;
use super::section::{Section, any_text};

/// The text of reg:A10.
const BOTH_LISTS: &str = "one of the two in the same scope (merge alsoAllow into allow, or remove \
                          allow and use profile + alsoAllow)";

/// Most bytes a limit on attachments can be set to, 1 GiB.
const ATTACHMENT_BYTES_MAX: u32 = 1 << 30;

/// What an entry of a tool list is, in words.
const TOOL: &str = "a tool's name string, a pattern with `*`, or a group such as `group:sessions`";

/// What the section says.
pub(super) struct Tools {
    pub(super) visibility: VisibilityMode,
    pub(super) agent_to_agent: AgentToAgent,
    /// The lists of the section itself.
    pub(super) lists: ToolList,
    /// Section `tools.subagents.tools`.
    pub(super) subagents: ToolList,
}

pub(super) fn read(section: &mut Section<'_, '_>) -> Tools {
    let modes = VisibilityMode::ALL.map(|mode| (mode.as_str(), mode));
    let visibility = section.strict_object("sessions", |section| {
        section
            .folded_word("visibility", &modes)
            .unwrap_or_default()
    });
    let agent_to_agent = section.strict_object("agentToAgent", read_agent_to_agent);
    let lists = read_scope(section);
    let subagents =
        section.strict_object("subagents", |section| section.object("tools", read_lists));
    section.strict_object("sessions_spawn", |section| {
        section.object("attachments", read_attachments);
    });
    section.not_yet("sessions_spawn", "act on");
    Tools {
        visibility,
        agent_to_agent,
        lists,
        subagents,
    }
}

fn read_agent_to_agent(section: &mut Section<'_, '_>) -> AgentToAgent {
    let hint = "an agent id string, or a pattern of letters, digits, `_`, `-` and `*`";
    AgentToAgent {
        enabled: section.boolean("enabled").unwrap_or(false),
        allow: section
            .list("allow", hint, |entry| {
                AgentPattern::parse(any_text(entry)?).map_err(|_| Class::Value)
            })
            .unwrap_or_default(),
    }
}

/// The tool lists of one scope: the whole file, or one agent.
pub(super) fn read_scope(section: &mut Section<'_, '_>) -> ToolList {
    let list = read_profiled(section);
    for name in ["byProvider", "toolsBySender"] {
        section.named_objects(name, read_profiled);
        section.not_yet(name, "enforce");
    }
    list
}

fn read_profiled(section: &mut Section<'_, '_>) -> ToolList {
    let profiles = Profile::ALL.map(|profile| (profile.as_str(), profile));
    let profile = section.word("profile", &profiles);
    ToolList {
        profile,
        ..read_lists(section)
    }
}

/// The three lists of names, and reg:A10 about two of them.
fn read_lists(section: &mut Section<'_, '_>) -> ToolList {
    let mut patterns = |name| section.list(name, TOOL, tool).unwrap_or_default();
    let (allow, also_allow, deny) = (patterns("allow"), patterns("alsoAllow"), patterns("deny"));
    if !allow.is_empty() && !also_allow.is_empty() {
        section.conflict(
            "alsoAllow",
            "both allow and alsoAllow".to_owned(),
            BOTH_LISTS,
        );
    }
    ToolList {
        profile: None,
        allow,
        also_allow,
        deny,
    }
}

fn tool(value: &Value) -> Result<ToolPattern, Class> {
    ToolPattern::parse(any_text(value)?).map_err(|_| Class::Value)
}

/// Limits of what a spawn may carry (run:K18).
fn read_attachments(section: &mut Section<'_, '_>) {
    section.boolean("enabled");
    section.integer("maxTotalBytes", 1..=ATTACHMENT_BYTES_MAX);
    section.integer("maxFiles", 1..=10_000);
    section.integer("maxFileBytes", 1..=ATTACHMENT_BYTES_MAX);
    section.boolean("retainOnSessionKeep");
}
