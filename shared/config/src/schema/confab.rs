//! Section `confab`: everything that only confab knows.

use std::path::{Path, PathBuf};

use confab_model::limits::{
    QUEUE_AGE_SECONDS_DEFAULT, QUEUE_PER_SESSION_MAX_DEFAULT, RUN_ATTEMPTS_MAX_DEFAULT,
    RUN_HEARTBEAT_SECONDS_DEFAULT, RUN_LEASE_SECONDS_DEFAULT,
};
use secrecy::SecretString;
use serde_json::Value;

use super::address;
use super::findings::Class;
use super::section::{Section, any_text, integer};
use crate::settings::{
    Auth, ChannelPattern, DeliverySettings, KeyAlgorithm, KeyMaterial, KeySpec, RunSettings, Sink,
    SinkKind, Storage, TelemetrySettings,
};

/// Seconds before each further attempt of a delivery when nothing is configured (D49, D71).
const RETRY_DELAYS_SECONDS_DEFAULT: [u32; 3] = [5, 10, 20];
/// Longest time an undelivered message is kept trying when nothing is configured, in seconds (D78).
const DELIVERY_AGE_SECONDS_DEFAULT: u32 = 86_400;
/// Longest time a setting can keep something waiting, in seconds: a year.
const WAIT_SECONDS_MAX: u32 = 31_536_000;
/// Longest lease of a run, in seconds: an hour.
const LEASE_SECONDS_MAX: u32 = 3600;
/// Most runs that can be allowed to wait in one session.
const QUEUE_PER_SESSION_MAX: u32 = 1_000_000;
/// Most attempts of a run that can be configured.
const RUN_ATTEMPTS_MAX: u32 = 100;

const STORAGE_ADDRESS: &str = "sqlite://DIRECTORY or postgres://USER@HOST/DATABASE";

/// What the section says.
pub(super) struct ConfabSection {
    pub(super) storage: Option<Storage>,
    pub(super) auth: Auth,
    pub(super) deliveries: DeliverySettings,
    pub(super) telemetry: TelemetrySettings,
    pub(super) runs: RunSettings,
    pub(super) models: Option<Vec<String>>,
}

/// Reads the section; relative paths start at `directory`, `timeout_seconds` is that of the agents.
pub(super) fn read(
    section: &mut Section<'_, '_>,
    directory: &Path,
    timeout_seconds: u32,
) -> ConfabSection {
    ConfabSection {
        storage: section.object("storage", |section| read_storage(section, directory)),
        auth: section.object("auth", |section| read_auth(section, directory)),
        deliveries: section.object("deliveries", read_deliveries),
        telemetry: section.object("telemetry", |section| TelemetrySettings {
            otlp_endpoint: section.value("otlpEndpoint", address::PLAIN, address::plain),
        }),
        runs: section.object("runs", |section| read_runs(section, timeout_seconds)),
        models: section.texts("models"),
    }
}

fn read_storage(section: &mut Section<'_, '_>, directory: &Path) -> Option<Storage> {
    let storage = section.value("url", STORAGE_ADDRESS, |value| storage(value, directory))?;
    if matches!(storage, Storage::Postgres { .. }) {
        section.not_yet_of_type("url", "postgres", "open");
    }
    Some(storage)
}

fn storage(value: &Value, directory: &Path) -> Result<Storage, Class> {
    let text = any_text(value)?.trim();
    if let Some(path) = text
        .strip_prefix("sqlite://")
        .filter(|path| !path.is_empty())
    {
        return Ok(Storage::Sqlite {
            directory: directory.join(path),
        });
    }
    let rest = text
        .strip_prefix("postgres://")
        .or_else(|| text.strip_prefix("postgresql://"));
    rest.filter(|rest| !rest.is_empty())
        .map(|_| Storage::Postgres {
            url: SecretString::from(text),
        })
        .ok_or(Class::Value)
}

/// The two ways of `auth.mode`.
#[derive(Clone, Copy)]
enum AuthMode {
    Open,
    Jwt,
}

fn read_auth(section: &mut Section<'_, '_>, directory: &Path) -> Auth {
    let modes = [("open", AuthMode::Open), ("jwt", AuthMode::Jwt)];
    let mode = section.word("mode", &modes).unwrap_or(AuthMode::Open);
    let keys = section.objects("keys", |section| read_key(section, directory));
    let is_list = keys.is_some();
    let given = keys.as_ref().map_or(0, Vec::len);
    let keys: Vec<KeySpec> = keys.into_iter().flatten().flatten().collect();
    match mode {
        AuthMode::Open => Auth::Open,
        AuthMode::Jwt => {
            if given == 0 && section.holds("keys", is_list) {
                section.conflict("keys", "no keys".to_owned(), "at least one key in mode jwt");
            }
            report_repeated_keys(section, &keys);
            Auth::Jwt { keys }
        },
    }
}

fn report_repeated_keys(section: &mut Section<'_, '_>, keys: &[KeySpec]) {
    for (index, key) in keys.iter().enumerate() {
        if keys
            .iter()
            .take(index)
            .any(|earlier| earlier.kid == key.kid)
        {
            let given = format!("kid {:?} a second time", key.kid);
            section.conflict("keys", given, "every kid once");
        }
    }
}

fn read_key(section: &mut Section<'_, '_>, directory: &Path) -> Option<KeySpec> {
    let algorithms = [
        ("HS256", KeyAlgorithm::Hs256),
        ("EdDSA", KeyAlgorithm::EdDsa),
    ];
    let kid = section.required_text("kid");
    let alg = section.required_word("alg", &algorithms);
    let secret_env = section.variable("secretEnv");
    let public_key_file = section.text("publicKeyFile");
    if alg == Some(KeyAlgorithm::EdDsa) {
        section.not_yet_of_type("alg", "EdDSA", "check signatures with");
    }
    let material = match (secret_env, public_key_file) {
        (Some(name), None) => KeyMaterial::SecretEnv(name),
        (None, Some(file)) if alg == Some(KeyAlgorithm::Hs256) => {
            let given = format!("HS256 with {file:?}");
            section.conflict("publicKeyFile", given, "secretEnv with HS256");
            return None;
        },
        (None, Some(file)) => KeyMaterial::PublicKeyFile(directory.join(PathBuf::from(file))),
        (None, None) if section.has("secretEnv") || section.has("publicKeyFile") => return None,
        (None, None) => {
            section.conflict(
                "secretEnv",
                "neither".to_owned(),
                "secretEnv or publicKeyFile",
            );
            return None;
        },
        (Some(_), Some(_)) => {
            section.conflict(
                "publicKeyFile",
                "both".to_owned(),
                "secretEnv or publicKeyFile",
            );
            return None;
        },
    };
    Some(KeySpec {
        kid: kid?,
        alg: alg?,
        material,
    })
}

fn read_deliveries(section: &mut Section<'_, '_>) -> DeliverySettings {
    let delays = format!("a whole number of seconds from 0 to {WAIT_SECONDS_MAX}");
    let retry_delays_seconds = section.list("retryDelaysSeconds", &delays, |value| {
        integer(value, &(0..=WAIT_SECONDS_MAX))
    });
    let max_age_seconds = section.integer("maxAgeSeconds", 1..=WAIT_SECONDS_MAX);
    section.not_yet("retryDelaysSeconds", "act on");
    section.not_yet("maxAgeSeconds", "act on");
    let sinks = section.objects("sinks", read_sink);
    DeliverySettings {
        sinks: sinks.map_or_else(default_sinks, |sinks| sinks.into_iter().flatten().collect()),
        retry_delays_seconds: retry_delays_seconds
            .unwrap_or_else(|| RETRY_DELAYS_SECONDS_DEFAULT.to_vec()),
        max_age_seconds: max_age_seconds.unwrap_or(DELIVERY_AGE_SECONDS_DEFAULT),
    }
}

/// Everything goes to the stream where the file says nothing (contract).
fn default_sinks() -> Vec<Sink> {
    vec![Sink {
        channel: ChannelPattern::Any,
        kind: SinkKind::Stream,
    }]
}

/// The types a sink can have.
#[derive(Clone, Copy)]
enum SinkType {
    Stream,
    Discard,
    Webhook,
}

fn read_sink(section: &mut Section<'_, '_>) -> Option<Sink> {
    let types = [
        ("stream", SinkType::Stream),
        ("discard", SinkType::Discard),
        ("webhook", SinkType::Webhook),
    ];
    let channel = section.required("channel", "a channel's name or *", |value| {
        ChannelPattern::parse(any_text(value)?).ok_or(Class::Value)
    });
    let kind = match section.required_word("type", &types) {
        Some(SinkType::Stream) => Some(SinkKind::Stream),
        Some(SinkType::Discard) => Some(SinkKind::Discard),
        Some(SinkType::Webhook) => read_webhook(section),
        None => {
            section.skip_rest();
            None
        },
    };
    Some(Sink {
        channel: channel?,
        kind: kind?,
    })
}

fn read_webhook(section: &mut Section<'_, '_>) -> Option<SinkKind> {
    let url = section.required("url", address::HTTP, address::http);
    let secret_env = section.variable("secretEnv");
    section.not_yet_itself("webhook", "post to");
    if !section.has("secretEnv") {
        section.warn(
            "secretEnv",
            "is not set: the webhook's messages are not signed",
        );
    }
    Some(SinkKind::Webhook {
        url: url?,
        secret_env,
    })
}

fn read_runs(section: &mut Section<'_, '_>, timeout_seconds: u32) -> RunSettings {
    let lease = section.integer("leaseSeconds", 1..=LEASE_SECONDS_MAX);
    let heartbeat = section.integer("heartbeatSeconds", 1..=LEASE_SECONDS_MAX);
    let lease_seconds = lease.unwrap_or(RUN_LEASE_SECONDS_DEFAULT);
    let heartbeat_seconds = heartbeat.unwrap_or(RUN_HEARTBEAT_SECONDS_DEFAULT);
    // A faulty number was reported; its default says nothing about the other one.
    let both_believed = section.holds("leaseSeconds", lease.is_some())
        && section.holds("heartbeatSeconds", heartbeat.is_some());
    if both_believed && heartbeat_seconds >= lease_seconds {
        let given = format!("{heartbeat_seconds} with a lease of {lease_seconds}");
        section.conflict("heartbeatSeconds", given, "less than leaseSeconds");
    }
    let queue = section.integer("queueMaxPerSession", 1..=QUEUE_PER_SESSION_MAX);
    let queue_age = section.integer("queueAgeSeconds", 1..=WAIT_SECONDS_MAX);
    let attempts = section.integer("maxAttempts", 1..=RUN_ATTEMPTS_MAX);
    RunSettings {
        lease_seconds,
        heartbeat_seconds,
        queue_per_session_max: queue.unwrap_or(QUEUE_PER_SESSION_MAX_DEFAULT),
        queue_age_seconds: queue_age.unwrap_or(QUEUE_AGE_SECONDS_DEFAULT),
        attempts_max: attempts.unwrap_or(RUN_ATTEMPTS_MAX_DEFAULT),
        timeout_seconds,
    }
}
