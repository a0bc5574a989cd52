//! Section `agents`.

mod driver;
mod subagents;

use std::collections::BTreeSet;

use confab_model::id::AgentId;
use confab_policy::visibility::SandboxClamp;

use super::section::{Section, filled_text};
use super::tools;
use crate::settings::{AgentSettings, Agents, Driver, SandboxMode, SubagentSettings};

/// Seconds a run may take when nothing is configured (contract).
const TIMEOUT_SECONDS_DEFAULT: u32 = 600;

/// Why a setting of another program has no effect.
const NOT_OURS: &str = "confab has no use for it";

/// What the section says.
pub(super) struct AgentsSection {
    pub(super) agents: Agents,
    pub(super) subagents: SubagentSettings,
    pub(super) sandbox_clamp: SandboxClamp,
    pub(super) timeout_seconds: u32,
}

/// What `agents.defaults` says.
struct Defaults {
    model: Option<String>,
    subagents: SubagentSettings,
    sandbox: SandboxMode,
    sandbox_clamp: SandboxClamp,
    timeout_seconds: u32,
}

pub(super) fn read(section: &mut Section<'_, '_>) -> AgentsSection {
    let defaults = section.object("defaults", read_defaults);
    let mut seen = BTreeSet::new();
    let listed = section.objects("list", |section| read_agent(section, &defaults, &mut seen));
    let main = AgentSettings {
        model: defaults.model,
        sandbox: defaults.sandbox,
        ..AgentSettings::new(AgentId::normalise("main"))
    };
    AgentsSection {
        agents: Agents::new(listed.into_iter().flatten().flatten().collect(), main),
        subagents: defaults.subagents,
        sandbox_clamp: defaults.sandbox_clamp,
        timeout_seconds: defaults.timeout_seconds,
    }
}

fn read_defaults(section: &mut Section<'_, '_>) -> Defaults {
    let model = read_model(section);
    let timeout_seconds = section.integer("timeoutSeconds", 1..=u32::MAX);
    section.integer("maxConcurrent", 1..=10_000);
    section.not_yet("maxConcurrent", "act on");
    let subagents = section.strict_object("subagents", subagents::read_defaults);
    let (sandbox, sandbox_clamp) = section.object("sandbox", |section| {
        let mode = read_sandbox_mode(section);
        (
            mode.unwrap_or_default(),
            read_sandbox_clamp(section).unwrap_or_default(),
        )
    });
    // Names of other programs' settings, so that they do not count as a mistyped `model`.
    section.ignored("models", "the known models are listed in confab.models");
    section.ignored("imageModel", NOT_OURS);
    section.text("workspace");
    section.not_yet("workspace", "act on");
    Defaults {
        model,
        subagents,
        sandbox,
        sandbox_clamp,
        timeout_seconds: timeout_seconds.unwrap_or(TIMEOUT_SECONDS_DEFAULT),
    }
}

/// One entry of the list and whether it is marked as default; absent when it has no id of its own.
fn read_agent(
    section: &mut Section<'_, '_>,
    defaults: &Defaults,
    seen: &mut BTreeSet<AgentId>,
) -> Option<(AgentSettings, bool)> {
    let id = read_id(section, seen);
    let is_default = section.boolean("default").unwrap_or(false);
    let name = section.text("name").map(|name| name.trim().to_owned());
    let model = read_model(section).or_else(|| defaults.model.clone());
    let driver = section.strict_object("driver", driver::read);
    if !matches!(driver, Driver::Script(_)) {
        section.not_yet_of_type("driver", driver.as_str(), "run");
    }
    let sandbox = section.object("sandbox", |section| {
        let mode = read_sandbox_mode(section);
        read_sandbox_clamp(section);
        section.not_yet("sessionToolsVisibility", "act on");
        mode.unwrap_or(defaults.sandbox)
    });
    let allow_agents = section.object("subagents", subagents::read_own);
    let tools = section.object("tools", |section| {
        let lists = tools::read_scope(section);
        section.is_given().then_some(lists)
    });
    section.text("workspace");
    section.not_yet("workspace", "act on");
    Some((
        AgentSettings {
            id: id?,
            name,
            model,
            driver,
            sandbox,
            tools,
            allow_agents,
        },
        is_default,
    ))
}

fn read_id(section: &mut Section<'_, '_>, seen: &mut BTreeSet<AgentId>) -> Option<AgentId> {
    let id = AgentId::normalise(&section.required_text("id")?);
    if !seen.insert(id.clone()) {
        let given = format!("`{id}` a second time");
        section.conflict(
            "id",
            given,
            "every id once (ids are compared after folding)",
        );
        return None;
    }
    Some(id)
}

/// A model's name, or an object with the name as `primary`.
fn read_model(section: &mut Section<'_, '_>) -> Option<String> {
    if !section.is_object("model") {
        let allowed = "a model's name, or { primary, fallbacks }";
        return section.value("model", allowed, filled_text);
    }
    section.object("model", |section| {
        section.texts("fallbacks");
        section.not_yet("fallbacks", "act on");
        section.text("primary")
    })
}

fn read_sandbox_mode(section: &mut Section<'_, '_>) -> Option<SandboxMode> {
    let modes = SandboxMode::ALL.map(|mode| (mode.as_str(), mode));
    section.word("mode", &modes)
}

fn read_sandbox_clamp(section: &mut Section<'_, '_>) -> Option<SandboxClamp> {
    let clamps = SandboxClamp::ALL.map(|clamp| (clamp.as_str(), clamp));
    section.folded_word("sessionToolsVisibility", &clamps)
}
