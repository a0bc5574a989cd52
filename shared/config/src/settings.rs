//! Settings as believed: every value checked, every default filled in.

mod agents;
mod deliveries;
mod reset;
mod session;
mod time_zone;

use std::path::PathBuf;
use std::sync::Arc;

use confab_model::key::KeyRules;
use confab_policy::tool_policy::ToolRules;
use confab_policy::visibility::VisibilityRules;
use confab_text::redact::Redactor;
use secrecy::SecretString;

pub use self::agents::{
    AgentSettings, Agents, Driver, OpenAiSettings, SandboxMode, ScriptRule, ScriptSettings,
    SubagentSettings, ToolUse,
};
pub use self::deliveries::{ChannelPattern, DeliverySettings, Sink, SinkKind};
pub use self::reset::{DailyReset, ResetByType, ResetRule, ResetSettings, ResetType};
pub use self::session::{MaintenanceMode, MaintenanceSettings, SessionSettings};
pub use self::time_zone::TimeZone;

/// Everything a file can say, with defaults where it says nothing.
#[derive(Debug)]
pub struct Settings {
    /// The configured agents, or `main` alone.
    pub agents: Agents,
    /// Sessions and the exchanges between them.
    pub session: SessionSettings,
    /// Who may see and reach whom.
    pub visibility: VisibilityRules,
    /// Which tools agents have; an agent's own lists are in [`AgentSettings::tools`].
    pub tools: ToolRules,
    /// What agents may spawn, and what becomes of it.
    pub subagents: SubagentSettings,
    /// Turns, leases and the queue.
    pub runs: RunSettings,
    /// Outbound messages.
    pub deliveries: DeliverySettings,
    /// Where the data lives; absent when the file leaves it to the command line.
    pub storage: Option<Storage>,
    /// How callers prove who they are.
    pub auth: Auth,
    /// Where traces and metrics go.
    pub telemetry: TelemetrySettings,
    /// The model names that exist; absent = any.
    pub models: Option<Vec<String>>,
    /// Hides credentials in what leaves: the built-in families, `logging.redactPatterns`, and the
    /// secrets that the settings know (run:R0, run:R17, run:R18).
    pub redactor: Arc<Redactor>,
    /// First 12 hexadecimal digits of the SHA-256 of what is in force (contract, `/readyz`).
    pub fingerprint: String,
}

impl Settings {
    /// What the key parser has to know about this configuration.
    pub fn key_rules(&self) -> KeyRules {
        KeyRules {
            agents: self
                .agents
                .list()
                .iter()
                .map(|agent| agent.id.clone())
                .collect(),
            default_agent: self.agents.default_agent().clone(),
            scope: self.session.scope,
        }
    }

    /// The sink of `channel`: the first that matches; absent when none does.
    ///
    /// Source: contract, Configuration (`deliveries.sinks`).
    pub fn sink_for(&self, channel: &str) -> Option<&Sink> {
        self.deliveries
            .sinks
            .iter()
            .find(|sink| sink.channel.matches(channel))
    }
}

/// Section `confab.runs`, and what `agents.defaults` says about runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSettings {
    /// How long a run is held without a heartbeat, in seconds, 1 to 3,600 (D70).
    pub lease_seconds: u32,
    /// How often a run is confirmed, in seconds, less than the lease (D70).
    pub heartbeat_seconds: u32,
    /// Most runs that wait in one session, 1 to 1,000,000 (D78).
    pub queue_per_session_max: u32,
    /// Longest time a run may wait in the queue, in seconds (D78).
    pub queue_age_seconds: u32,
    /// Most attempts of a run, 1 to 100 (D78).
    pub attempts_max: u32,
    /// Longest time one run may take, in seconds, from 1 (run:K17, contract's 600).
    pub timeout_seconds: u32,
}

/// Section `confab.storage`.
#[derive(Debug)]
pub enum Storage {
    /// A directory of `SQLite` databases; relative paths of the file are already resolved.
    Sqlite {
        /// The directory.
        directory: PathBuf,
    },
    /// A `PostgreSQL` server.
    Postgres {
        /// The address, which may hold a password.
        url: SecretString,
    },
}

/// Section `confab.auth`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    /// Callers name themselves; loopback only.
    Open,
    /// Callers carry a signed token.
    Jwt {
        /// The keys that may have signed it; never empty.
        keys: Vec<KeySpec>,
    },
}

/// One key of `confab.auth.keys`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySpec {
    /// The `kid` of the tokens it signed.
    pub kid: String,
    /// The algorithm.
    pub alg: KeyAlgorithm,
    /// Where the key is found.
    pub material: KeyMaterial,
}

/// The algorithms tokens may be signed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAlgorithm {
    /// HMAC with SHA-256.
    Hs256,
    /// Ed25519.
    EdDsa,
}

/// Where a key is found; the file itself holds none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyMaterial {
    /// The name of the environment variable that holds the secret: see [`crate::source::secret`].
    SecretEnv(String),
    /// A file with the public key in PEM form; already resolved against the file's directory.
    PublicKeyFile(PathBuf),
}

/// Section `confab.telemetry`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// The collector's gRPC address, `http://…`; absent = no export.
    pub otlp_endpoint: Option<String>,
}
