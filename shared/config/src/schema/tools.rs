//! Section `tools`.

use confab_policy::visibility::{AgentPattern, AgentToAgent, VisibilityMode};

use super::findings::Class;
use super::section::{Section, any_text};

/// The text of reg:A10.
const BOTH_LISTS: &str = "one of the two in the same scope (merge alsoAllow into allow, or remove \
                          allow and use profile + alsoAllow)";

/// Most bytes a limit on attachments can be set to, 1 GiB.
const ATTACHMENT_BYTES_MAX: u32 = 1 << 30;

/// What the section says about reach.
pub(super) struct Tools {
    pub(super) visibility: VisibilityMode,
    pub(super) agent_to_agent: AgentToAgent,
}

pub(super) fn read(section: &mut Section<'_, '_>) -> Tools {
    let modes = VisibilityMode::ALL.map(|mode| (mode.as_str(), mode));
    let visibility = section.strict_object("sessions", |section| {
        section.word("visibility", &modes).unwrap_or_default()
    });
    let agent_to_agent = section.strict_object("agentToAgent", read_agent_to_agent);
    read_lists(section);
    section.strict_object("subagents", |section| {
        section.object("tools", read_lists_checked);
    });
    section.not_yet("subagents", "act on");
    section.strict_object("sessions_spawn", |section| {
        section.object("attachments", read_attachments);
    });
    section.not_yet("sessions_spawn", "act on");
    Tools {
        visibility,
        agent_to_agent,
    }
}

fn read_agent_to_agent(section: &mut Section<'_, '_>) -> AgentToAgent {
    let hint = "an agent id or a pattern of letters, digits, `_`, `-` and `*`";
    AgentToAgent {
        enabled: section.boolean("enabled").unwrap_or(false),
        allow: section
            .list("allow", hint, |entry| {
                AgentPattern::parse(any_text(entry)?).map_err(|_| Class::Value)
            })
            .unwrap_or_default(),
    }
}

/// The tool policy of one scope: the whole file, or one agent. This version grants all its tools.
pub(super) fn read_lists(section: &mut Section<'_, '_>) {
    let profiles = ["minimal", "coding", "messaging", "full"].map(|profile| (profile, ()));
    section.word("profile", &profiles);
    section.not_yet("profile", "enforce");
    read_lists_checked(section);
    for name in ["allow", "alsoAllow", "deny"] {
        section.not_yet(name, "enforce");
    }
    for name in ["byProvider", "toolsBySender"] {
        section.named_objects(name, |section| {
            section.word("profile", &profiles);
            read_lists_checked(section);
        });
        section.not_yet(name, "enforce");
    }
}

/// The three lists of names, and reg:A10 about two of them.
fn read_lists_checked(section: &mut Section<'_, '_>) {
    let allow = section.texts("allow").unwrap_or_default();
    let also_allow = section.texts("alsoAllow").unwrap_or_default();
    section.texts("deny");
    if !allow.is_empty() && !also_allow.is_empty() {
        section.conflict(
            "alsoAllow",
            "both allow and alsoAllow".to_owned(),
            BOTH_LISTS,
        );
    }
}

/// Limits of what a spawn may carry (run:K18).
fn read_attachments(section: &mut Section<'_, '_>) {
    section.boolean("enabled");
    section.integer("maxTotalBytes", 1..=ATTACHMENT_BYTES_MAX);
    section.integer("maxFiles", 1..=10_000);
    section.integer("maxFileBytes", 1..=ATTACHMENT_BYTES_MAX);
    section.boolean("retainOnSessionKeep");
}
