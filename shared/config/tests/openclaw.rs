//! A file written for `OpenClaw` is taken as it is.

#![expect(
    clippy::unwrap_used,
    reason = "a file that cannot be loaded is a failed test"
)]

use std::collections::BTreeSet;
use std::path::Path;

use confab_config::check::Loaded;
use confab_config::{Source, load};
use confab_policy::tool_policy::Profile;

/// What has no effect, and nothing else; the empty path stands for the sections of other purposes.
const WARNED: [&str; 57] = [
    "",
    "agents.defaults.bootstrapMaxChars",
    "agents.defaults.compaction",
    "agents.defaults.contextPruning",
    "agents.defaults.heartbeat",
    "agents.defaults.imageModel",
    "agents.defaults.maxConcurrent",
    "agents.defaults.model.fallbacks",
    "agents.defaults.models",
    "agents.defaults.sandbox.docker",
    "agents.defaults.sandbox.scope",
    "agents.defaults.sandbox.workspaceAccess",
    "agents.defaults.subagents.announceTimeoutMs",
    "agents.defaults.subagents.delegationMode",
    "agents.defaults.subagents.maxChildrenPerAgent",
    "agents.defaults.subagents.maxConcurrent",
    "agents.defaults.subagents.model",
    "agents.defaults.subagents.requireAgentId",
    "agents.defaults.subagents.runTimeoutSeconds",
    "agents.defaults.subagents.thinking",
    "agents.defaults.thinkingDefault",
    "agents.defaults.typingIntervalSeconds",
    "agents.defaults.userTimezone",
    "agents.defaults.workspace",
    "agents.list[0].driver",
    "agents.list[0].groupChat",
    "agents.list[0].identity",
    "agents.list[0].subagents.model",
    "agents.list[0].workspace",
    "agents.list[1].driver",
    "agents.list[1].sandbox.scope",
    "agents.list[1].tools.elevated",
    "agents.list[2].driver",
    "agents.list[2].tools.byProvider",
    "logging.consoleLevel",
    "logging.file",
    "logging.level",
    "messages.ackReaction",
    "messages.ackReactionScope",
    "messages.queue",
    "messages.responsePrefix",
    "session.dmScope",
    "session.identityLinks",
    "session.maintenance.highWaterBytes",
    "session.maintenance.maxDiskBytes",
    "session.maintenance.resetArchiveRetention",
    "session.resetTriggers",
    "session.store",
    "session.threadBindings",
    "session.typingMode",
    "session.writeLock",
    "tools.byProvider",
    "tools.elevated",
    "tools.exec",
    "tools.sessions_spawn",
    "tools.toolsBySender",
    "tools.web",
];

fn loaded() -> Loaded {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/openclaw.json");
    load(&Source::of(Some(file), [])).unwrap()
}

#[test]
fn reg_g_it_loads_with_one_warning_for_each_key_without_effect() {
    let warnings = loaded().warnings;
    let paths: BTreeSet<&str> = warnings
        .iter()
        .map(|warning| warning.path.as_str())
        .collect();
    assert_eq!(paths.len(), warnings.len(), "{warnings:?}");
    assert_eq!(paths, BTreeSet::from(WARNED));
}

#[test]
fn reg_g_what_it_says_is_in_force() {
    let settings = loaded().settings;
    let session = &settings.session;
    assert_eq!(session.send_policy.as_ref().unwrap().rules.len(), 3);
    assert_eq!(session.reset.default.idle_minutes, Some(240));
    assert_eq!(session.reset.default.daily.unwrap().at_hour, 4);
    assert_eq!(
        session.reset.by_channel["discord"].idle_minutes,
        Some(10_080)
    );
    assert_eq!(session.maintenance.max_entries, Some(500));
    assert_eq!(
        session.maintenance.prune_after_millis,
        Some(30 * 86_400_000)
    );
    assert_eq!(settings.subagents.archive_after_minutes, 120);
    assert_eq!(settings.tools.max_spawn_depth, 2);
    assert_eq!(settings.tools.global.profile, Some(Profile::Messaging));
    assert_eq!(settings.tools.global.also_allow.len(), 3);
    let [main, research, ops] = settings.agents.list() else {
        panic!("not three agents")
    };
    assert!(main.allow_agents.as_ref().unwrap().any);
    let own = research.tools.as_ref().unwrap();
    assert_eq!(own.profile, Some(Profile::Coding));
    assert_eq!(own.deny.len(), 2);
    assert_eq!(ops.tools.as_ref().unwrap().allow.len(), 2);
}

#[test]
fn no_secret_of_it_is_repeated() {
    let loaded = loaded();
    let shown = format!("{:?} {:?}", loaded.warnings, loaded.effective());
    assert!(!shown.contains("not-a-real-token"), "{shown}");
}
