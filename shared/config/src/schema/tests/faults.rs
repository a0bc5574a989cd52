//! What is wrong is named with its path, its class and the nearest name.

use super::walked;

/// The faults as `path class` or `path class nearest`.
fn faults(json5: &str) -> Vec<String> {
    let render = |problem: &super::Problem| {
        let nearest = problem
            .nearest
            .as_ref()
            .map(|name| format!(" {name}"))
            .unwrap_or_default();
        format!("{} {}{nearest}", problem.path, problem.class.as_str())
    };
    walked(json5).problems.iter().map(render).collect()
}

#[test]
fn values_of_session_are_judged_by_type_range_and_word() {
    let cases = [
        ("[]", " type"),
        ("{session: 7}", "session type"),
        (
            "{session: {agentToAgent: {maxPingPongTurns: 2.5}}}",
            "session.agentToAgent.maxPingPongTurns type",
        ),
        (
            "{session: {agentToAgent: {maxHops: 0}}}",
            "session.agentToAgent.maxHops range",
        ),
        (
            "{session: {agentToAgent: {maxHops: 99999999999999}}}",
            "session.agentToAgent.maxHops range",
        ),
        (
            "{session: {reset: {atHour: 24}}}",
            "session.reset.atHour range",
        ),
        (
            "{session: {resetByChannel: {x: {mode: 'weekly'}}}}",
            "session.resetByChannel.x.mode value",
        ),
        (
            "{session: {maintenance: {pruneAfter: '30y'}}}",
            "session.maintenance.pruneAfter value",
        ),
        (
            "{session: {maintenance: {maxDiskBytes: true}}}",
            "session.maintenance.maxDiskBytes type",
        ),
        (
            "{session: {identityLinks: {ada: 'x'}}}",
            "session.identityLinks type",
        ),
        (
            "{session: {threadBindings: {idleHours: -1}}}",
            "session.threadBindings.idleHours range",
        ),
        (
            "{session: {sendPolicy: {rules: [{match: {}}]}}}",
            "session.sendPolicy.rules[0].action type",
        ),
        (
            "{session: {sendPolicy: {rules: [7]}}}",
            "session.sendPolicy.rules[0] type",
        ),
    ];
    for (json5, expected) in cases {
        assert_eq!(faults(json5), [expected], "{json5}");
    }
}

#[test]
fn values_of_resets_and_maintenance_are_judged_by_type_range_and_word() {
    let cases = [
        (
            "{session: {maintenance: {pruneAfter: 0}}}",
            "session.maintenance.pruneAfter range",
        ),
        (
            "{session: {maintenance: {pruneAfter: '30d', pruneDays: 30}}}",
            "session.maintenance.pruneDays conflict",
        ),
        (
            "{session: {maintenance: {rotateBytes: '10mb'}}}",
            "session.maintenance.rotateBytes unknown_key",
        ),
        (
            "{session: {maintenance: {maxEntries: 0}}}",
            "session.maintenance.maxEntries range",
        ),
        (
            "{session: {reset: {timeZone: 'Europe/Berlin'}}}",
            "session.reset.timeZone value",
        ),
        (
            "{session: {resetByType: {thread: {idleMinutes: 0}}}}",
            "session.resetByType.thread.idleMinutes range",
        ),
        (
            "{session: {resetByChannel: {Discord: {}, discord: {}}}}",
            "session.resetByChannel conflict",
        ),
    ];
    for (json5, expected) in cases {
        assert_eq!(faults(json5), [expected], "{json5}");
    }
}

#[test]
fn values_of_tools_and_agents_are_judged_by_type_range_and_word() {
    let cases = [
        (
            "{tools: {sessions: {visibility: 'tre'}}}",
            "tools.sessions.visibility value tree",
        ),
        (
            "{tools: {agentToAgent: {allow: ['a', '']}}}",
            "tools.agentToAgent.allow[1] value",
        ),
        (
            "{tools: {agentToAgent: {allow: ['a b']}}}",
            "tools.agentToAgent.allow[0] value",
        ),
        (
            "{tools: {allow: ['x'], alsoAllow: ['y']}}",
            "tools.alsoAllow conflict",
        ),
        ("{tools: {profile: 'codin'}}", "tools.profile value coding"),
        ("{tools: {deny: ['a b']}}", "tools.deny[0] value"),
        (
            "{tools: {subagents: {tools: {allow: ['x'], alsoAllow: ['y']}}}}",
            "tools.subagents.tools.alsoAllow conflict",
        ),
        (
            "{agents: {list: [{id: 'a', tools: {allow: ['x'], alsoAllow: ['y']}}]}}",
            "agents.list[0].tools.alsoAllow conflict",
        ),
        (
            "{agents: {list: [{id: 'a', subagents: {allowAgents: ['b', 'ops-*']}}]}}",
            "agents.list[0].subagents.allowAgents[1] value",
        ),
        (
            "{agents: {defaults: {subagents: {allowAgents: ['?']}}}}",
            "agents.defaults.subagents.allowAgents[0] value",
        ),
        ("{agents: {list: [{name: 'x'}]}}", "agents.list[0].id type"),
        (
            "{agents: {list: [{id: 'A'}, {id: 'a'}]}}",
            "agents.list[1].id conflict",
        ),
        (
            "{agents: {defaults: {model: 5}}}",
            "agents.defaults.model type",
        ),
        (
            "{agents: {defaults: {timeoutSeconds: 0}}}",
            "agents.defaults.timeoutSeconds range",
        ),
    ];
    for (json5, expected) in cases {
        assert_eq!(faults(json5), [expected], "{json5}");
    }
}

#[test]
fn values_of_confab_are_judged_by_type_range_and_word() {
    let cases = [
        (
            "{confab: {storage: {url: 'mysql://x'}}}",
            "confab.storage.url value",
        ),
        (
            "{confab: {telemetry: {otlpEndpoint: 'localhost'}}}",
            "confab.telemetry.otlpEndpoint value",
        ),
        (
            "{confab: {auth: {mode: 'jwt'}}}",
            "confab.auth.keys conflict",
        ),
        (
            "{confab: {runs: {leaseSeconds: 5}}}",
            "confab.runs.heartbeatSeconds conflict",
        ),
        (
            "{confab: {runs: {leaseSeconds: 99999, heartbeatSeconds: 20}}}",
            "confab.runs.leaseSeconds range",
        ),
        (
            "{confab: {auth: {mode: 'jwt', keys: 'k'}}}",
            "confab.auth.keys type",
        ),
        (
            "{confab: {deliveries: {retryDelaysSeconds: [1, -1]}}}",
            "confab.deliveries.retryDelaysSeconds[1] range",
        ),
        (
            "{confab: {deliveries: {sinks: [{type: 'stream'}]}}}",
            "confab.deliveries.sinks[0].channel type",
        ),
        (
            "{confab: {deliveries: {sinks: [{channel: 'x', type: 'webhook'}]}}}",
            "confab.deliveries.sinks[0].url type",
        ),
        ("{confab: {models: ['a', 3]}}", "confab.models[1] type"),
    ];
    for (json5, expected) in cases {
        assert_eq!(faults(json5), [expected], "{json5}");
    }
}

#[test]
fn keys_of_tokens_say_exactly_one_source() {
    let cases = [
        ("{kid: 'a', alg: 'HS256'}", "secretEnv conflict"),
        (
            "{kid: 'a', alg: 'HS256', secretEnv: 'X', publicKeyFile: 'f'}",
            "publicKeyFile conflict",
        ),
        (
            "{kid: 'a', alg: 'HS256', publicKeyFile: 'f'}",
            "publicKeyFile conflict",
        ),
        ("{kid: 'a', alg: 'PS512', secretEnv: 'X'}", "alg value"),
        (
            "{kid: 'a', alg: 'HS256', secretEnv: 'not a name'}",
            "secretEnv value",
        ),
        ("{alg: 'HS256', secretEnv: 'X'}", "kid type"),
    ];
    for (key, expected) in cases {
        let found = faults(&format!(
            "{{confab: {{auth: {{mode: 'jwt', keys: [{key}]}}}}}}"
        ));
        assert_eq!(found, [format!("confab.auth.keys[0].{expected}")], "{key}");
    }
}

#[test]
fn script_rules_are_judged_key_by_key() {
    let cases = [
        ("{step: 'humn'}", "step value human"),
        ("{match: '('}", "match value"),
        ("{match: 3}", "match type"),
        ("{delayMs: -1}", "delayMs range"),
        ("{times: 0}", "times range"),
        ("{hang: 'yes'}", "hang type"),
        ("{emit: 'x'}", "emit type"),
        ("{emit: ['x', 1]}", "emit[1] type"),
        ("{error: {message: 'x'}}", "error.class type"),
        ("{usage: {input: -1}}", "usage.input range"),
        ("{tools: [{arguments: {}}]}", "tools[0].name type"),
        (
            "{tools: [{name: 'x', arguments: []}]}",
            "tools[0].arguments type",
        ),
        ("{relpy: 'x'}", "relpy unknown_key reply"),
        ("{pause: 1}", "pause unknown_key"),
    ];
    for (rule, expected) in cases {
        let driver = format!("{{type: 'script', rules: [{rule}]}}");
        let found = faults(&format!(
            "{{agents: {{list: [{{id: 'a', driver: {driver}}}]}}}}"
        ));
        assert_eq!(
            found,
            [format!("agents.list[0].driver.rules[0].{expected}")],
            "{rule}"
        );
    }
}

#[test]
fn drivers_are_judged_by_their_type() {
    let cases = [
        ("{}", "type type"),
        (
            "{type: 'scrip', rules: [{nonsense: 1}]}",
            "type value script",
        ),
        ("{type: 'worker', rules: []}", "rules unknown_key"),
        ("{type: 'openai', model: 'm'}", "baseUrl type"),
        ("{type: 'openai', baseUrl: 'ftp://x'}", "baseUrl value"),
    ];
    for (driver, expected) in cases {
        let found = faults(&format!(
            "{{agents: {{list: [{{id: 'a', driver: {driver}}}]}}}}"
        ));
        assert_eq!(
            found,
            [format!("agents.list[0].driver.{expected}")],
            "{driver}"
        );
    }
}

#[test]
fn an_unknown_key_is_an_error_near_a_sibling_or_in_a_strict_section() {
    let cases = [
        (
            "{session: {scop: 'global'}}",
            "session.scop unknown_key scope",
        ),
        ("{messages: {queu: {}}}", "messages.queu unknown_key queue"),
        (
            "{session: {sendPolicy: {whatever: 1}}}",
            "session.sendPolicy.whatever unknown_key",
        ),
        (
            "{session: {agentToAgent: {whatever: 1}}}",
            "session.agentToAgent.whatever unknown_key",
        ),
        (
            "{tools: {sessions: {whatever: 1}}}",
            "tools.sessions.whatever unknown_key",
        ),
        (
            "{tools: {agentToAgent: {whatever: 1}}}",
            "tools.agentToAgent.whatever unknown_key",
        ),
        (
            "{tools: {subagents: {tools: {whatever: 1}}}}",
            "tools.subagents.tools.whatever unknown_key",
        ),
        (
            "{tools: {sessions_spawn: {attachments: {whatever: 1}}}}",
            "tools.sessions_spawn.attachments.whatever unknown_key",
        ),
        (
            "{agents: {defaults: {subagents: {whatever: 1}}}}",
            "agents.defaults.subagents.whatever unknown_key",
        ),
        ("{confab: {whatever: 1}}", "confab.whatever unknown_key"),
        (
            "{confab: {storage: {whatever: 1}}}",
            "confab.storage.whatever unknown_key",
        ),
    ];
    for (json5, expected) in cases {
        assert_eq!(faults(json5), [expected], "{json5}");
    }
}

#[test]
fn all_faults_of_a_file_are_reported_together() {
    let found = faults(
        "{session: {scope: 'x', agentToAgent: {maxHops: 'y'}}, tools: {sessions: {visibility: 1}},
          agents: {list: [{id: ''}]}, confab: {auth: {mode: 3}, foo: 1}}",
    );
    let expected = [
        "agents.list[0].id value",
        "session.scope value",
        "session.agentToAgent.maxHops type",
        "tools.sessions.visibility type",
        "confab.auth.mode type",
        "confab.foo unknown_key",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_message_says_what_was_given_and_what_is_allowed() {
    let line = |json5: &str| walked(json5).problems[0].to_string();
    assert_eq!(
        line("{session: {agentToAgent: {maxPingPongTurns: 21}}}"),
        "session.agentToAgent.maxPingPongTurns: out of range, got 21; \
         allowed: a whole number from 0 to 20"
    );
    assert_eq!(
        line("{tools: {sessions: {visibilty: 'all'}}}"),
        "tools.sessions.visibilty: unknown key; allowed: visibility; did you mean `visibility`?"
    );
    assert_eq!(
        line("{tools: {sessions: {visibility: 'everyone'}}}"),
        "tools.sessions.visibility: not allowed, got \"everyone\"; allowed: self, tree, agent, all"
    );
    assert_eq!(
        line("{session: {maintenance: {pruneAfter: '2y'}}}"),
        "session.maintenance.pruneAfter: not allowed, got \"2y\"; allowed: a duration \
         (use ms, s, m, h, d); a bare number is days, over 0 (leave it out to keep everything)"
    );
    assert_eq!(
        line("{session: {maintenance: {maxDiskBytes: 'x'}}}"),
        "session.maintenance.maxDiskBytes: not allowed, got \"x\"; \
         allowed: a size (use b, kb, mb, gb, tb), or false"
    );
    assert_eq!(
        line("{session: {reset: {timeZone: 'Europe/Berlin'}}}"),
        "session.reset.timeZone: not allowed, got \"Europe/Berlin\"; allowed: UTC, or an offset \
         such as +02:00 (this version does not know the names of time zones)"
    );
    assert_eq!(
        line("{session: {maintenance: {rotateBytes: 1}}}"),
        "session.maintenance.rotateBytes: unknown key; allowed: nothing; take the key out, there \
         are no files to rotate"
    );
    assert_eq!(
        line("[]"),
        "the file: wrong type, got a list; allowed: an object"
    );
}

#[test]
fn b213_a_list_with_entries_of_a_wrong_type_is_one_fault_that_says_what_is_wanted() {
    let lines = |json5: &str| -> Vec<String> {
        walked(json5)
            .problems
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    assert_eq!(
        lines("{tools: {agentToAgent: {allow: [{id: 'a'}]}}}"),
        [
            "tools.agentToAgent.allow[0]: wrong type, got an object; allowed: an agent id string, or a \
          pattern of letters, digits, `_`, `-` and `*`"
        ]
    );
    assert_eq!(
        lines("{agents: {defaults: {subagents: {allowAgents: ['a', {}, 7, []]}}}}"),
        [
            "agents.defaults.subagents.allowAgents[1]: wrong type, got an object (and 2 more entries of \
          a wrong type); allowed: an agent id string, or * alone for every configured agent"
        ]
    );
    assert_eq!(
        lines("{agents: {list: ['a', {id: 'b', driver: {type: 'script'}}, 'c']}}"),
        [
            "agents.list[0]: wrong type, got a text (not shown) (and 1 more entry of a wrong type); \
          allowed: an object"
        ]
    );
    // Values of the right type are wrong each in its own way.
    assert_eq!(
        faults("{tools: {agentToAgent: {allow: ['a b', 3, 'c d']}}}"),
        [
            "tools.agentToAgent.allow[0] value",
            "tools.agentToAgent.allow[2] value",
            "tools.agentToAgent.allow[1] type",
        ]
    );
}

#[test]
fn no_message_repeats_a_secret() {
    let texts = [
        "{confab: {storage: {url: 'hunter2'}}}",
        "{confab: {storage: {password: 'hunter2'}}}",
        "{confab: {auth: {mode: 'jwt', keys: [{kid: 'k', alg: 'HS256', secretEnv: 'hunter2-x'}]}}}",
        "{confab: {auth: {mode: 'jwt', keys: [{kid: 'k', alg: 'HS256', secret: 'hunter2'}]}}}",
        "{confab: {telemetry: {otlpEndpoint: 'hunter2'}}}",
        "{agents: {list: [{id: 'a', driver: {type: 'openai', baseUrl: 'hunter2', apiKey: 'hunter2'}}]}}",
        "{gateway: {auth: {token: 'hunter2'}}, session: 3}",
        "{confab: {storage: 'postgres://u:hunter2@h/d'}}",
        "{confab: {models: 'hunter2'}}",
    ];
    for json5 in texts {
        let walk = walked(json5);
        assert!(!walk.problems.is_empty(), "{json5}");
        let lines: Vec<String> = walk.problems.iter().map(ToString::to_string).collect();
        assert!(!lines.concat().contains("hunter2"), "{lines:?}");
        let lines: Vec<String> = walk.warnings.iter().map(ToString::to_string).collect();
        assert!(!lines.concat().contains("hunter2"), "{lines:?}");
    }
}
