//! The walk as a whole: defaults, every key, and what faults look like.

mod faults;
mod redaction;
mod registry;
mod warnings;

use std::path::{Path, PathBuf};

use confab_model::key::Scope;
use confab_model::session::SendAction;
use confab_policy::send_policy::{SendPolicy, SendPolicyReach, SendRule};
use confab_policy::visibility::{SandboxClamp, VisibilityMode, VisibilityRules};
use secrecy::{ExposeSecret, SecretString};

use super::*;
use crate::settings::{
    Auth, ChannelPattern, DeliverySettings, Driver, KeyAlgorithm, KeyMaterial, KeySpec,
    MaintenanceSettings, ResetSettings, RunSettings, SandboxMode, SessionSettings, Sink, SinkKind,
    Storage, TelemetrySettings,
};

fn walked(json5: &str) -> Walk {
    let variables = |name: &str| Some(SecretString::from(format!("value-of-{name}")));
    let document = json5::from_str(json5).unwrap();
    walk(&document, Path::new("/etc/confab"), &variables)
}

fn settings(json5: &str) -> Settings {
    let walk = walked(json5);
    assert_eq!(walk.problems, [], "{json5}");
    walk.settings
}

#[test]
fn an_empty_file_has_every_default() {
    let settings = settings("{}");
    let session = SessionSettings {
        scope: Scope::PerSender,
        max_ping_pong_turns: 5,
        max_hops: 20,
        send_policy: None,
        reset: ResetSettings::default(),
        maintenance: MaintenanceSettings::default(),
    };
    assert_eq!(settings.session, session);
    assert_eq!(settings.visibility, VisibilityRules::default());
    assert_eq!(settings.visibility.mode, VisibilityMode::Tree);
    assert_eq!(settings.visibility.sandbox_clamp, SandboxClamp::Spawned);
    let runs = RunSettings {
        lease_seconds: 15,
        heartbeat_seconds: 5,
        queue_per_session_max: 1000,
        queue_age_seconds: 86_400,
        attempts_max: 3,
        timeout_seconds: 600,
    };
    assert_eq!(settings.runs, runs);
    let deliveries = DeliverySettings {
        sinks: vec![Sink {
            channel: ChannelPattern::Any,
            kind: SinkKind::Stream,
        }],
        retry_delays_seconds: vec![5, 10, 20],
        max_age_seconds: 86_400,
    };
    assert_eq!(settings.deliveries, deliveries);
    assert!(settings.storage.is_none());
    assert_eq!(settings.auth, Auth::Open);
    assert_eq!(settings.telemetry, TelemetrySettings::default());
    assert_eq!(settings.models, None);
    assert_eq!(settings.agents.default_agent().as_str(), "main");
    assert!(matches!(settings.agents.list()[0].driver, Driver::Worker));
}

#[test]
fn null_and_absent_are_the_same() {
    let settings = settings(
        "{session: {scope: null, agentToAgent: null}, confab: {telemetry: {otlpEndpoint: null}}}",
    );
    assert_eq!(settings.session.max_ping_pong_turns, 5);
    assert_eq!(settings.telemetry.otlp_endpoint, None);
}

#[test]
fn the_default_agent_is_the_marked_one_else_the_first() {
    let cases = [
        ("[]", "main", "main"),
        ("[{id: 'A'}, {id: 'b'}]", "a", "a b"),
        ("[{id: 'a'}, {id: 'b', default: true}]", "b", "a b"),
        (
            "[{id: 'a', default: false}, {id: 'b', default: true}, {id: 'c', default: true}]",
            "b",
            "a b c",
        ),
        ("[{id: 'My Agent!'}]", "my-agent", "my-agent"),
    ];
    for (list, default, all) in cases {
        let settings = settings(&format!("{{agents: {{list: {list}}}}}"));
        let ids: Vec<&str> = settings
            .agents
            .list()
            .iter()
            .map(|agent| agent.id.as_str())
            .collect();
        assert_eq!(ids.join(" "), all, "{list}");
        assert_eq!(settings.agents.default_agent().as_str(), default, "{list}");
        let rules = settings.key_rules();
        assert_eq!(rules.default_agent.as_str(), default, "{list}");
        assert_eq!(rules.agents.len(), ids.len(), "{list}");
    }
}

#[test]
fn an_agent_has_its_own_values_before_the_defaults() {
    let settings = settings(
        "{agents: {
            defaults: {model: {primary: 'm1', fallbacks: ['m0']}, sandbox: {mode: 'non-main', sessionToolsVisibility: 'all'}, timeoutSeconds: 7},
            list: [{id: 'a', name: ' Ada '}, {id: 'b', model: 'm2', sandbox: {mode: 'off'}}],
        }}",
    );
    let agent = |index: usize| &settings.agents.list()[index];
    assert_eq!(agent(0).name.as_deref(), Some("Ada"));
    assert_eq!(agent(0).model.as_deref(), Some("m1"));
    assert_eq!(agent(0).sandbox, SandboxMode::NonMain);
    assert_eq!(agent(1).model.as_deref(), Some("m2"));
    assert_eq!(agent(1).sandbox, SandboxMode::Off);
    assert_eq!(settings.visibility.sandbox_clamp, SandboxClamp::All);
    assert_eq!(settings.runs.timeout_seconds, 7);
}

#[test]
fn a_script_rule_has_every_key_of_the_contract() {
    let settings = settings(
        r#"{agents: {list: [{id: "a", driver: {type: "script", default: "echo: {message}", rules: [
            {step: "human", match: "^hi (\\w+)", reply: "$1", emit: ["…"], delayMs: 5, times: 2, hang: true,
             usage: {input: 3, output: 4}, tools: [{name: "sessions_send", arguments: {message: "x"}}, {name: "sessions_list"}]},
            {error: {class: "rate_limited", message: "slow down"}},
            {},
        ]}}]}}"#,
    );
    let Driver::Script(script) = &settings.agents.list()[0].driver else {
        panic!("no script")
    };
    assert_eq!(script.default.as_deref(), Some("echo: {message}"));
    let [first, second, third] = script.rules.as_slice() else {
        panic!("not three rules")
    };
    assert_eq!(first.step, Some(confab_model::run::Step::Human));
    assert!(first.matches.as_ref().unwrap().is_match("hi Bob"));
    assert_eq!(first.reply.as_deref(), Some("$1"));
    assert_eq!(first.emit, ["…"]);
    assert_eq!(
        (first.delay_ms, first.times, first.hang),
        (5, Some(2), true)
    );
    assert_eq!(first.usage.unwrap().total(), 7);
    assert_eq!(
        first.tools[0].arguments,
        serde_json::json!({"message": "x"})
    );
    assert_eq!(first.tools[1].arguments, serde_json::json!({}));
    assert_eq!(second.error.as_ref().unwrap().class, "rate_limited");
    assert!(third.step.is_none() && third.matches.is_none() && third.reply.is_none());
    assert!(third.tools.is_empty() && third.error.is_none() && third.usage.is_none());
}

#[test]
fn a_send_policy_is_trimmed_and_folded() {
    let settings = settings(
        "{session: {sendPolicy: {default: ' DENY ', appliesTo: 'delivery', rules: [
            {action: 'allow', match: {channel: ' Discord', chatType: 'DM', keyPrefix: '', rawKeyPrefix: 'agent:A:'}},
            {action: 'deny'},
        ]}}}",
    );
    let rule = |action| SendRule {
        action,
        channel: None,
        chat_type: None,
        key_prefix: None,
        raw_key_prefix: None,
    };
    let expected = SendPolicy {
        default: SendAction::Deny,
        applies_to: SendPolicyReach::Delivery,
        rules: vec![
            SendRule {
                channel: Some("discord".to_owned()),
                chat_type: Some(confab_model::channel::ChatType::Direct),
                raw_key_prefix: Some("agent:a:".to_owned()),
                ..rule(SendAction::Allow)
            },
            rule(SendAction::Deny),
        ],
    };
    assert_eq!(settings.session.send_policy, Some(expected));
}

#[test]
fn the_first_sink_that_matches_takes_the_channel() {
    let settings = settings(
        "{confab: {deliveries: {retryDelaysSeconds: [], sinks: [
            {channel: 'Discord', type: 'discard'},
            {channel: 'discord', type: 'stream'},
            {channel: 'hooks', type: 'webhook', url: 'https://example.org/in', secretEnv: 'HOOK'},
        ]}}}",
    );
    assert_eq!(
        settings.sink_for("DISCORD").unwrap().kind,
        SinkKind::Discard
    );
    let webhook = SinkKind::Webhook {
        url: "https://example.org/in".to_owned(),
        secret_env: Some("HOOK".to_owned()),
    };
    assert_eq!(settings.sink_for("hooks").unwrap().kind, webhook);
    assert_eq!(settings.sink_for("telegram"), None);
    assert_eq!(settings.deliveries.retry_delays_seconds, Vec::<u32>::new());
}

#[test]
fn storage_is_relative_to_the_file() {
    let cases = [
        ("sqlite://./data", "/etc/confab/./data"),
        ("sqlite://data", "/etc/confab/data"),
        ("sqlite:///var/lib/confab", "/var/lib/confab"),
    ];
    for (url, expected) in cases {
        match settings(&format!("{{confab: {{storage: {{url: '{url}'}}}}}}")).storage {
            Some(Storage::Sqlite { directory }) => assert_eq!(directory, PathBuf::from(expected)),
            other => panic!("{url}: {other:?}"),
        }
    }
    let url = "postgres://user:pass@host/db";
    let settings = settings(&format!("{{confab: {{storage: {{url: '{url}'}}}}}}"));
    assert!(!format!("{settings:?}").contains("pass@"));
    match settings.storage {
        Some(Storage::Postgres { url: kept }) => assert_eq!(kept.expose_secret(), url),
        other => panic!("{other:?}"),
    }
}

#[test]
fn keys_are_named_by_variable_or_file() {
    let settings = settings(
        "{confab: {auth: {mode: 'jwt', keys: [
            {kid: 'a', alg: 'HS256', secretEnv: 'CONFAB_KEY_A'},
            {kid: 'b', alg: 'EdDSA', publicKeyFile: 'b.pem'},
        ]}}}",
    );
    let key = |kid: &str, alg, material| KeySpec {
        kid: kid.to_owned(),
        alg,
        material,
    };
    let keys = vec![
        key(
            "a",
            KeyAlgorithm::Hs256,
            KeyMaterial::SecretEnv("CONFAB_KEY_A".to_owned()),
        ),
        key(
            "b",
            KeyAlgorithm::EdDsa,
            KeyMaterial::PublicKeyFile("/etc/confab/b.pem".into()),
        ),
    ];
    assert_eq!(settings.auth, Auth::Jwt { keys });
}
