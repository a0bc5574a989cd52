//! What is in force can be read back, and what the file did not say is marked (B212).

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::{Source, load};

/// What is in force, by path, with whether it is a default.
fn effective(json5: &str) -> BTreeMap<String, (Value, bool)> {
    let told = load(&Source::inline(json5)).unwrap().effective();
    let count = told.len();
    let by_path: BTreeMap<_, _> = told
        .into_iter()
        .map(|key| (key.path, (key.value, key.default)))
        .collect();
    assert_eq!(by_path.len(), count, "every path once");
    by_path
}

#[test]
fn b212_a_file_that_says_nothing_has_every_default_and_all_are_marked() {
    let told = effective("{}");
    let expected = [
        ("agents.defaults.timeoutSeconds", json!(600)),
        (
            "agents.defaults.sandbox.sessionToolsVisibility",
            json!("spawned"),
        ),
        ("agents.defaults.subagents.maxSpawnDepth", json!(1)),
        ("agents.defaults.subagents.maxChildrenPerAgent", json!(5)),
        ("agents.defaults.subagents.maxConcurrent", json!(8)),
        ("agents.defaults.subagents.archiveAfterMinutes", json!(60)),
        ("agents.defaults.subagents.runTimeoutSeconds", json!(0)),
        ("agents.defaults.subagents.requireAgentId", json!(false)),
        ("agents.defaults.subagents.allowAgents", Value::Null),
        ("agents.list[0].id", json!("main")),
        ("agents.list[0].driver.type", json!("worker")),
        ("agents.list[0].model", Value::Null),
        ("agents.list[0].sandbox.mode", json!("off")),
        ("session.scope", json!("per-sender")),
        ("session.agentToAgent.maxPingPongTurns", json!(5)),
        ("session.agentToAgent.maxHops", json!(20)),
        ("session.sendPolicy.default", json!("allow")),
        ("session.sendPolicy.appliesTo", json!("all")),
        ("session.sendPolicy.rules", json!([])),
        ("session.reset.mode", json!("none")),
        ("session.maintenance.mode", json!("warn")),
        ("session.maintenance.pruneAfter", Value::Null),
        ("session.maintenance.maxEntries", Value::Null),
        ("tools.sessions.visibility", json!("tree")),
        ("tools.agentToAgent.enabled", json!(false)),
        ("tools.agentToAgent.allow", json!(["*"])),
        ("confab.storage.url", Value::Null),
        ("confab.auth.mode", json!("open")),
        ("confab.runs.leaseSeconds", json!(15)),
        ("confab.runs.heartbeatSeconds", json!(5)),
        ("confab.runs.queueMaxPerSession", json!(1000)),
        ("confab.runs.queueAgeSeconds", json!(86_400)),
        ("confab.runs.maxAttempts", json!(3)),
        (
            "confab.deliveries.sinks",
            json!([{"channel": "*", "type": "stream"}]),
        ),
        ("confab.deliveries.retryDelaysSeconds", json!([5, 10, 20])),
        ("confab.deliveries.maxAgeSeconds", json!(86_400)),
        ("confab.telemetry.otlpEndpoint", Value::Null),
        ("confab.models", Value::Null),
    ];
    let expected = expected.map(|(path, value)| (path.to_owned(), (value, true)));
    assert_eq!(told, BTreeMap::from(expected));
}

#[test]
fn b212_what_the_file_says_is_told_and_not_marked() {
    let told = effective(
        "{agents: {
            defaults: {model: 'm', subagents: {archiveAfterMinutes: 60, allowAgents: ['*']}},
            list: [{id: 'A', sandbox: {mode: 'non-main'}, tools: {profile: 'minimal', deny: ['x']}, subagents: {allowAgents: []}},
                   {id: 'b', driver: {type: 'script'}}],
          },
          session: {
            sendPolicy: {default: 'deny', rules: [{action: 'allow', match: {channel: 'Discord', chatType: 'dm'}}, {action: 'deny'}]},
            reset: {mode: 'daily', idleMinutes: 9}, resetByType: {dm: {mode: 'none'}}, resetByChannel: {'a.b': {idleMinutes: 5}},
            maintenance: {pruneDays: 2, maxEntries: 500},
          },
          tools: {profile: 'coding', agentToAgent: {allow: ['ops-*']}, subagents: {tools: {allow: ['x']}}},
          confab: {storage: {url: 'sqlite:///data'}, models: ['m'], deliveries: {sinks: []}},
        }",
    );
    let said = [
        ("agents.defaults.subagents.archiveAfterMinutes", json!(60)),
        ("agents.defaults.subagents.allowAgents", json!(["*"])),
        ("agents.list[0].id", json!("a")),
        ("agents.list[0].sandbox.mode", json!("non-main")),
        ("agents.list[0].tools.profile", json!("minimal")),
        ("agents.list[0].tools.deny", json!(["x"])),
        ("agents.list[0].subagents.allowAgents", json!([])),
        ("agents.list[1].driver.type", json!("script")),
        ("session.sendPolicy.default", json!("deny")),
        (
            "session.sendPolicy.rules",
            json!([{"action": "allow", "match": {"channel": "discord", "chatType": "direct"}},
                   {"action": "deny", "match": {}}]),
        ),
        ("session.reset.mode", json!("daily")),
        ("session.reset.idleMinutes", json!(9)),
        ("session.resetByType.direct", json!({"mode": "none"})),
        (
            "session.resetByChannel.a.b",
            json!({"mode": "idle", "idleMinutes": 5}),
        ),
        ("session.maintenance.pruneAfter", json!("2d")),
        ("session.maintenance.maxEntries", json!(500)),
        ("tools.profile", json!("coding")),
        ("tools.agentToAgent.allow", json!(["ops-*"])),
        ("tools.subagents.tools.allow", json!(["x"])),
        ("confab.storage.url", json!("sqlite:///data")),
        ("confab.models", json!(["m"])),
        ("confab.deliveries.sinks", json!([])),
    ];
    for (path, value) in said {
        assert_eq!(told.get(path), Some(&(value, false)), "{path}");
    }
    let left = [
        ("agents.list[0].driver.type", json!("worker")),
        ("agents.list[1].model", json!("m")),
        ("session.sendPolicy.appliesTo", json!("all")),
        ("session.reset.atHour", json!(4)),
        ("session.reset.timeZone", json!("UTC")),
        ("tools.agentToAgent.enabled", json!(false)),
    ];
    for (path, value) in left {
        assert_eq!(told.get(path), Some(&(value, true)), "{path}");
    }
    assert!(!told.contains_key("agents.list[1].tools.profile"));
}

#[test]
fn b212_null_is_a_default_and_a_variable_is_none() {
    let told = effective("{session: {scope: null, agentToAgent: null}}");
    assert_eq!(told["session.scope"], (json!("per-sender"), true));
    let variables = [("CONFAB__RUNS__MAX_ATTEMPTS", "3")];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let told = load(&Source::of(None, variables)).unwrap().effective();
    let attempts = told
        .iter()
        .find(|key| key.path == "confab.runs.maxAttempts");
    assert_eq!(attempts.map(|key| key.default), Some(false));
}

#[test]
fn no_secret_is_read_back() {
    let told = effective(
        "{agents: {list: [{id: 'a', driver: {type: 'openai', baseUrl: 'http://u:hunter2@h/v1', apiKeyEnv: 'KEY'}}]},
          channels: {telegram: {botToken: 'hunter2'}},
          confab: {storage: {url: 'postgres://ada:hunter2@h:5432/d?password=hunter2'},
                   telemetry: {otlpEndpoint: 'http://u:hunter2@c:4317/hunter2'},
                   deliveries: {sinks: [{channel: 'x', type: 'webhook', url: 'https://h/hunter2'}]}}}",
    );
    assert_eq!(
        told["confab.storage.url"],
        (json!("postgres://ada@h:5432/d"), false)
    );
    assert_eq!(
        told["confab.telemetry.otlpEndpoint"],
        (json!("http://c:4317"), false)
    );
    let all = format!("{told:?}");
    assert!(!all.contains("hunter2"), "{all}");
}

#[test]
fn durations_are_written_in_the_longest_unit_that_fits() {
    let cases = [
        ("30d", "30d"),
        ("48h", "2d"),
        ("36h", "36h"),
        ("90m", "90m"),
        ("1.5s", "1500ms"),
        ("60s", "1m"),
    ];
    for (given, shown) in cases {
        let json5 = format!("{{session: {{maintenance: {{pruneAfter: '{given}'}}}}}}");
        let told = effective(&json5);
        assert_eq!(
            told["session.maintenance.pruneAfter"].0,
            json!(shown),
            "{given}"
        );
    }
}
