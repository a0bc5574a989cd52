//! What has no effect is accepted and said, once each.

use super::walked;

fn warnings(json5: &str) -> Vec<String> {
    let walk = walked(json5);
    assert_eq!(walk.problems, [], "{json5}");
    walk.warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn sections_of_other_programs_are_named_once() {
    let found = warnings("{channels: {discord: {token: 'x'}}, gateway: {port: 1}, sesion: {}}");
    let expected = "sections ignored: channels, gateway, sesion; `sesion` is near `session`";
    assert_eq!(found, [expected]);
}

#[test]
fn a_file_of_another_program_is_accepted() {
    let walk = walked(
        r#"{
            meta: {lastTouchedVersion: "2026.1"},
            agents: {
                defaults: {
                    model: {primary: "openai/gpt", fallbacks: []},
                    models: {"openai/gpt": {alias: "g"}},
                    workspace: "~/work",
                    compaction: {mode: "safeguard"},
                    maxConcurrent: 4,
                    subagents: {maxConcurrent: 8},
                },
                list: [{id: "main", default: true, identity: {name: "Ada"}, groupChat: {mentionPatterns: ["@ada"]}}],
            },
            session: {dmScope: "main", mainKey: "main", typingMode: "never", reset: {mode: "daily", atHour: 4}},
            tools: {profile: "coding", exec: {security: "full"}, web: {search: {enabled: true}}},
            messages: {ackReactionScope: "group-mentions", queue: {mode: "collect", cap: 20}},
            logging: {level: "info", redactSensitive: "tools"},
            channels: {telegram: {botToken: "x"}},
            gateway: {mode: "local"},
            plugins: {entries: {}},
        }"#,
    );
    assert_eq!(walk.problems, []);
    let foreign: Vec<_> = walk
        .warnings
        .iter()
        .filter(|warning| warning.path.is_empty())
        .collect();
    assert_eq!(foreign.len(), 1);
    assert_eq!(
        foreign[0].message,
        "sections ignored: meta, channels, gateway, plugins"
    );
    let mut paths: Vec<&str> = walk
        .warnings
        .iter()
        .map(|warning| warning.path.as_str())
        .collect();
    paths.sort_unstable();
    let count = paths.len();
    paths.dedup();
    assert_eq!(
        paths.len(),
        count,
        "one warning for each path: {:?}",
        walk.warnings
    );
    assert!(paths.contains(&"agents.defaults.compaction") && paths.contains(&"session.typingMode"));
}

#[test]
fn the_example_of_the_contract_is_accepted() {
    let found = warnings(
        r#"{
  agents: {
    defaults: { model: "m", timeoutSeconds: 600, subagents: { maxSpawnDepth: 1, maxChildrenPerAgent: 5, maxConcurrent: 8, archiveAfterMinutes: 60 },
                sandbox: { sessionToolsVisibility: "spawned" } },
    list: [
      { id: "main", default: true, sandbox: { mode: "off" }, driver: { type: "openai", baseUrl: "http://127.0.0.1:11434/v1", model: "llama3.2", apiKeyEnv: "OPENAI_API_KEY" } },
      { id: "ops", driver: { type: "worker" } },                       // default: an external worker attached over gRPC
      { id: "echo", driver: { type: "script", rules: [], default: "echo: {message}" } },
    ],
  },
  session: { scope: "per-sender", agentToAgent: { maxPingPongTurns: 5, maxHops: 20 },
             sendPolicy: { default: "allow", rules: [{ match: { channel: "discord", chatType: "group" }, action: "deny" }] } },
  tools: { profile: "coding", sessions: { visibility: "tree" }, agentToAgent: { enabled: false }, subagents: { tools: {} },
           sessions_spawn: { attachments: { enabled: false } } },
  confab: {
    storage: { url: "sqlite://./confab-data" },                       // or postgres://user@host/db
    auth: { mode: "open" },                                            // open (loopback only) | jwt, keys: [{ kid, alg, secretEnv | publicKeyFile }]
    deliveries: { sinks: [{ channel: "*", type: "stream" }] },         // stream | webhook | discard; first match wins
    telemetry: { otlpEndpoint: null },
    models: ["m"],                                                     // known model names for validation; absent = any
  },
}"#,
    );
    let named: Vec<&str> = found
        .iter()
        .filter_map(|line| line.split(' ').next())
        .collect();
    let expected = [
        "agents.defaults.subagents.maxChildrenPerAgent",
        "agents.defaults.subagents.maxConcurrent",
        "agents.list[0].driver",
        "agents.list[1].driver",
        "tools.sessions_spawn",
    ];
    assert_eq!(named, expected);
}

#[test]
fn what_is_not_built_yet_is_said_once() {
    let not_yet = |path: &str, verb: &str| {
        format!("{path} is accepted but this version does not {verb} it yet")
    };
    let cases = [
        ("{tools: {byProvider: {x: {profile: 'minimal'}}}}", not_yet("tools.byProvider", "enforce")),
        ("{agents: {list: [{id: 'a', driver: {type: 'script'}, tools: {toolsBySender: {x: {}}}}]}}",
            not_yet("agents.list[0].tools.toolsBySender", "enforce")),
        ("{session: {dmScope: 'main'}}", "session.dmScope is ignored: callers bring whole session keys".to_owned()),
        ("{session: {identityLinks: {}}}", "session.identityLinks is ignored: callers bring whole session keys".to_owned()),
        ("{session: {threadBindings: {enabled: true}}}", not_yet("session.threadBindings", "act on")),
        ("{session: {parentForkMaxTokens: 0}}", not_yet("session.parentForkMaxTokens", "act on")),
        ("{session: {maintenance: {maxDiskBytes: '2gb'}}}", not_yet("session.maintenance.maxDiskBytes", "act on")),
        ("{session: {maintenance: {highWaterBytes: false}}}", not_yet("session.maintenance.highWaterBytes", "act on")),
        ("{session: {maintenance: {resetArchiveRetention: '30d'}}}", not_yet("session.maintenance.resetArchiveRetention", "act on")),
        ("{session: {reset: {mode: 'idle'}}}", "session.reset.mode is idle without idleMinutes: nothing is reset".to_owned()),
        ("{session: {resetByType: {dm: {idleMinutes: 1}, direct: {idleMinutes: 1}}}}",
            "session.resetByType.dm is ignored: direct is given, and means the same".to_owned()),
        ("{agents: {list: [{id: 'a', driver: {type: 'script'}, subagents: {archiveAfterMinutes: 5}}]}}",
            "agents.list[0].subagents.archiveAfterMinutes is ignored: it is the same for all agents; set it in agents.defaults.subagents".to_owned()),
        ("{tools: {sessions_spawn: {attachments: {enabled: false}}}}", not_yet("tools.sessions_spawn", "act on")),
        ("{agents: {defaults: {subagents: {runTimeoutSeconds: 2}}}}", not_yet("agents.defaults.subagents.runTimeoutSeconds", "act on")),
        ("{agents: {defaults: {subagents: {requireAgentId: true}}}}", not_yet("agents.defaults.subagents.requireAgentId", "act on")),
        (
            "{agents: {list: [{id: 'a', driver: {type: 'worker'}}]}}",
            "agents.list[0].driver of type worker is accepted but this version does not run it yet".to_owned(),
        ),
        (
            "{agents: {list: [{id: 'a', driver: {type: 'openai', baseUrl: 'http://x/v1'}}]}}",
            "agents.list[0].driver of type openai is accepted but this version does not run it yet".to_owned(),
        ),
        (
            "{confab: {deliveries: {sinks: [{channel: '*', type: 'webhook', url: 'http://x', secretEnv: 'S'}]}}}",
            "confab.deliveries.sinks[0] of type webhook is accepted but this version does not post to it yet".to_owned(),
        ),
        (
            "{confab: {storage: {url: 'postgres://h/d'}}}",
            "confab.storage.url of type postgres is accepted but this version does not open it yet".to_owned(),
        ),
        (
            "{session: {mainKey: 'boss'}}",
            "session.mainKey is ignored: the main session is always `main`".to_owned(),
        ),
    ];
    for (json5, expected) in cases {
        assert_eq!(warnings(json5), [expected], "{json5}");
    }
}

#[test]
fn what_is_in_force_needs_no_warning() {
    let quiet = "{
        agents: {
            defaults: {subagents: {maxSpawnDepth: 2, archiveAfterMinutes: 10, allowAgents: ['*']}},
            list: [{id: 'echo', driver: {type: 'script', rules: [], default: 'echo: {message}'},
                    tools: {profile: 'full', allow: ['*'], deny: ['exec']}, subagents: {allowAgents: ['echo']}}],
        },
        session: {
            scope: 'per-sender', mainKey: 'main', agentToAgent: {maxPingPongTurns: 5, maxHops: 20},
            sendPolicy: {default: 'allow', rules: [{action: 'deny'}]},
            reset: {mode: 'daily', atHour: 4, idleMinutes: 60, timeZone: '+01:00'},
            resetByType: {group: {mode: 'none'}}, resetByChannel: {discord: {mode: 'daily'}},
            maintenance: {mode: 'enforce', pruneDays: 30, maxEntries: 500},
        },
        tools: {
            profile: 'coding', alsoAllow: ['agents_list'], deny: ['cron'], subagents: {tools: {deny: ['x']}},
            sessions: {visibility: 'all'}, agentToAgent: {enabled: true, allow: ['*']},
        },
        confab: {storage: {url: 'sqlite://./confab-data'}, auth: {mode: 'open'},
                 deliveries: {sinks: [{channel: '*', type: 'stream'}]}, telemetry: {otlpEndpoint: null}, models: ['m']},
    }";
    assert_eq!(warnings(quiet), Vec::<String>::new());
}
