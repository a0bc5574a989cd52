//! What the registry acts on is kept as it was written.

use confab_model::id::AgentId;
use confab_policy::spawn_policy::AllowAgents;
use confab_policy::tool_policy::{Profile, ToolList, ToolPattern};

use super::settings;
use crate::settings::{
    DailyReset, MaintenanceMode, MaintenanceSettings, ResetByType, ResetRule, ResetSettings,
    SubagentSettings, TimeZone,
};

fn patterns(names: &[&str]) -> Vec<ToolPattern> {
    names
        .iter()
        .map(|name| ToolPattern::parse(name).unwrap())
        .collect()
}

fn agents(ids: &[&str]) -> AllowAgents {
    AllowAgents {
        any: false,
        ids: ids.iter().map(|id| AgentId::normalise(id)).collect(),
    }
}

fn daily(at_hour: u32, zone: &str) -> DailyReset {
    DailyReset {
        at_hour,
        time_zone: TimeZone::parse(zone).unwrap(),
    }
}

#[test]
fn reg_g_children_have_these_defaults() {
    let settings = settings("{}");
    let expected = SubagentSettings {
        max_spawn_depth: 1,
        max_children_per_agent: 5,
        max_concurrent: 8,
        archive_after_minutes: 60,
        run_timeout_seconds: 0,
        require_agent_id: false,
        allow_agents: None,
    };
    assert_eq!(settings.subagents, expected);
    assert_eq!(settings.tools.global, ToolList::default());
    assert_eq!(settings.tools.subagents, ToolList::default());
    assert_eq!(settings.tools.max_spawn_depth, 1);
}

#[test]
fn reg_g_every_key_about_children_is_kept() {
    let settings = settings(
        "{agents: {
            defaults: {subagents: {maxSpawnDepth: 3, maxChildrenPerAgent: 20, maxConcurrent: 2, archiveAfterMinutes: 0,
                                   runTimeoutSeconds: 90, requireAgentId: true, allowAgents: ['Ops', 'ops', ' B ']}},
            list: [{id: 'a', subagents: {allowAgents: ['b', '*']}}, {id: 'b', subagents: {allowAgents: []}}, {id: 'c'}],
        }}",
    );
    let expected = SubagentSettings {
        max_spawn_depth: 3,
        max_children_per_agent: 20,
        max_concurrent: 2,
        archive_after_minutes: 0,
        run_timeout_seconds: 90,
        require_agent_id: true,
        allow_agents: Some(agents(&["ops", "b"])),
    };
    assert_eq!(settings.subagents, expected);
    assert_eq!(settings.tools.max_spawn_depth, 3);
    let own: Vec<_> = settings
        .agents
        .list()
        .iter()
        .map(|agent| agent.allow_agents.clone())
        .collect();
    let everybody = AllowAgents {
        any: true,
        ..agents(&["b"])
    };
    // An empty list is nobody, no list is what the defaults say (reg:A2).
    assert_eq!(own, [Some(everybody), Some(agents(&[])), None]);
}

#[test]
fn reg_a7_tool_lists_are_kept_for_the_file_the_agents_and_the_children() {
    let settings = settings(
        "{tools: {profile: 'messaging', alsoAllow: ['Sessions_Spawn', 'group:agents'], deny: ['exec'],
                  subagents: {tools: {allow: ['sessions_*'], deny: ['cron']}}},
          agents: {list: [{id: 'a', tools: {profile: 'minimal', allow: ['*']}}, {id: 'b', tools: {}}, {id: 'c'}]}}",
    );
    let global = ToolList {
        profile: Some(Profile::Messaging),
        allow: Vec::new(),
        also_allow: patterns(&["sessions_spawn", "group:agents"]),
        deny: patterns(&["exec"]),
    };
    assert_eq!(settings.tools.global, global);
    let children = ToolList {
        allow: patterns(&["sessions_*"]),
        deny: patterns(&["cron"]),
        ..ToolList::default()
    };
    assert_eq!(settings.tools.subagents, children);
    let own: Vec<_> = settings
        .agents
        .list()
        .iter()
        .map(|agent| agent.tools.clone())
        .collect();
    let first = ToolList {
        profile: Some(Profile::Minimal),
        allow: patterns(&["*"]),
        ..ToolList::default()
    };
    assert_eq!(own, [Some(first), Some(ToolList::default()), None]);
}

#[test]
fn d75_maintenance_removes_nothing_unless_told_so() {
    let days = |days: u64| days * 86_400_000;
    let cases = [
        ("{}", MaintenanceMode::Warn, None, None),
        ("{mode: 'enforce'}", MaintenanceMode::Enforce, None, None),
        (
            "{mode: 'warn', pruneAfter: '12h', maxEntries: 1}",
            MaintenanceMode::Warn,
            Some(43_200_000),
            Some(1),
        ),
        (
            "{pruneAfter: 7}",
            MaintenanceMode::Warn,
            Some(days(7)),
            None,
        ),
        ("{pruneDays: 7}", MaintenanceMode::Warn, Some(days(7)), None),
    ];
    for (json5, mode, prune_after_millis, max_entries) in cases {
        let settings = settings(&format!("{{session: {{maintenance: {json5}}}}}"));
        let expected = MaintenanceSettings {
            mode,
            prune_after_millis,
            max_entries,
        };
        assert_eq!(settings.session.maintenance, expected, "{json5}");
    }
}

#[test]
fn reg_x13_a_reset_is_daily_idle_both_or_none() {
    let cases = [
        ("{}", None, None),
        ("{mode: 'none', atHour: 4, idleMinutes: 5}", None, None),
        ("{mode: 'daily'}", Some(daily(4, "UTC")), None),
        ("{mode: 'daily', atHour: 0}", Some(daily(0, "UTC")), None),
        (
            "{mode: 'daily', atHour: 23, timeZone: '-05:30'}",
            Some(daily(23, "-05:30")),
            None,
        ),
        (
            "{mode: 'daily', idleMinutes: 60}",
            Some(daily(4, "UTC")),
            Some(60),
        ),
        ("{mode: 'idle', atHour: 4, idleMinutes: 60}", None, Some(60)),
        ("{mode: 'idle'}", None, None),
        ("{atHour: 5}", Some(daily(5, "UTC")), None),
        ("{idleMinutes: 60}", None, Some(60)),
        ("{timeZone: 'UTC'}", None, None),
    ];
    for (json5, daily, idle_minutes) in cases {
        let settings = settings(&format!("{{session: {{reset: {json5}}}}}"));
        let expected = ResetRule {
            daily,
            idle_minutes,
        };
        assert_eq!(settings.session.reset.default, expected, "{json5}");
    }
}

#[test]
fn reg_x13_kinds_complete_themselves_from_the_default_and_channels_do_not() {
    let settings = settings(
        "{session: {
            reset: {mode: 'daily', atHour: 6, timeZone: '+02:00'},
            resetByType: {dm: {atHour: 7}, group: {idleMinutes: 30}, thread: {mode: 'none'}},
            resetByChannel: {' Discord': {mode: 'idle', idleMinutes: 9}, slack: {mode: 'daily'}},
        }}",
    );
    let rule = |daily, idle_minutes| ResetRule {
        daily,
        idle_minutes,
    };
    let expected = ResetSettings {
        default: rule(Some(daily(6, "+02:00")), None),
        by_type: ResetByType {
            direct: Some(rule(Some(daily(7, "+02:00")), None)),
            group: Some(rule(Some(daily(6, "+02:00")), Some(30))),
            thread: Some(ResetRule::default()),
        },
        by_channel: [
            ("discord".to_owned(), rule(None, Some(9))),
            ("slack".to_owned(), rule(Some(daily(4, "+02:00")), None)),
        ]
        .into(),
    };
    assert_eq!(settings.session.reset, expected);
}

#[test]
fn a_reset_of_mode_none_hands_nothing_but_its_time_zone_on_to_the_kinds() {
    let settings = settings(
        "{session: {reset: {mode: 'none', atHour: 6, idleMinutes: 5, timeZone: '+02:00'},
                    resetByType: {direct: {}, group: {idleMinutes: 30}, thread: {mode: 'daily'}}}}",
    );
    let expected = ResetByType {
        direct: Some(ResetRule::default()),
        group: Some(ResetRule {
            daily: None,
            idle_minutes: Some(30),
        }),
        thread: Some(ResetRule {
            daily: Some(daily(4, "+02:00")),
            idle_minutes: None,
        }),
    };
    assert_eq!(settings.session.reset.by_type, expected);
}
