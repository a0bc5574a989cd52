//! The file as written: one walk over the parsed file that reads settings and finds every fault.
//!
//! Every section has a reader that takes the keys it knows and leaves the rest to
//! [`section::Section`], which knows what an unknown key means where it stands.
//!
//! Source: contract, Configuration; reg:G; run:K.

mod address;
mod agents;
mod confab;
mod findings;
mod logging;
mod nearest;
mod quantity;
mod secrets;
mod section;
mod session;
mod tools;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use confab_policy::tool_policy::ToolRules;
use confab_policy::visibility::VisibilityRules;
use confab_text::redact::{RedactionRules, Redactor};
use serde_json::Value;

use self::findings::Findings;
pub use self::findings::{Class, Problem, Warning};
pub use self::nearest::nearest;
pub(crate) use self::secrets::Variables;
use self::section::Section;
use crate::fingerprint::fingerprint;
use crate::settings::Settings;

/// The sections of the file that confab reads.
pub(crate) const OWNED: [&str; 6] = [
    "agents", "session", "tools", "messages", "logging", "confab",
];

/// What a walk over a file found.
pub(crate) struct Walk {
    /// The settings; they count only when there are no problems.
    pub(crate) settings: Settings,
    /// Every fault.
    pub(crate) problems: Vec<Problem>,
    /// Everything that is ignored, or that has no effect.
    pub(crate) warnings: Vec<Warning>,
}

/// Reads a parsed file; relative paths in it start at `directory`, and the secrets it names are in
/// `variables`.
pub(crate) fn walk(document: &Value, directory: &Path, variables: Variables<'_>) -> Walk {
    let mut findings = Findings::default();
    let mut root = Section::root(document, &mut findings);
    let agents = root.object("agents", agents::read);
    let session = root.object("session", session::read);
    let tools = root.object("tools", tools::read);
    root.object("messages", read_messages);
    let patterns = root.object("logging", logging::read);
    let confab = root.strict_object("confab", |section| {
        confab::read(section, directory, agents.timeout_seconds)
    });
    root.finish_foreign();
    let redactor = redactor(&RedactionRules {
        patterns,
        secrets: secrets::of(&agents.agents, &confab, variables),
    });
    let settings = Settings {
        agents: agents.agents,
        session,
        visibility: VisibilityRules {
            mode: tools.visibility,
            sandbox_clamp: agents.sandbox_clamp,
            agent_to_agent: tools.agent_to_agent,
        },
        tools: ToolRules {
            global: tools.lists,
            subagents: tools.subagents,
            max_spawn_depth: agents.subagents.max_spawn_depth,
        },
        subagents: agents.subagents,
        runs: confab.runs,
        deliveries: confab.deliveries,
        storage: confab.storage,
        auth: confab.auth,
        telemetry: confab.telemetry,
        models: confab.models,
        redactor,
        fingerprint: fingerprint(document),
    };
    Walk {
        settings,
        problems: findings.problems,
        warnings: findings.warnings,
    }
}

/// Section `messages`: nothing of it has a meaning here, as a queue's order is fixed (D50).
fn read_messages(section: &mut Section<'_, '_>) {
    section.ignored(
        "queue",
        "the queue has a fixed order: people first, then first in, first out",
    );
}

/// What hides credentials; where the patterns are faulty, which is reported, it does without them.
fn redactor(rules: &RedactionRules) -> Arc<Redactor> {
    let redactor = Redactor::new(rules).unwrap_or_else(|_| Redactor::built_in());
    Arc::new(redactor)
}
