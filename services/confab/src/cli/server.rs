//! `confab up`, `confab demo`, `confab config …`, `confab token …`

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use confab_rpc::launch::ServerArgs;

use super::duration;
use super::examples;

/// The server.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = examples::UP
)]
pub struct Up {
    /// What every server takes.
    #[command(flatten)]
    pub server: ServerArgs,
}

/// The demonstration.
#[derive(Args, Debug)]
#[command(
    after_help = examples::DEMO
)]
pub struct Demo {
    /// Keep the configuration and the data in this directory.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}

/// What to do with a configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Tell every problem of a file with its path, and what would be ignored
    #[command(after_help = examples::CONFIG_CHECK)]
    Check {
        /// The file, JSON5.
        file: PathBuf,
        /// Show every setting in force, and which of them are defaults.
        #[arg(long)]
        effective: bool,
    },
}

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token, signed with the first usable key of the configuration
    Mint(Mint),
}

/// A token to make.
#[derive(Args, Debug)]
#[command(
    after_help = examples::TOKEN_MINT
)]
pub struct Mint {
    /// What the bearer is.
    #[arg(long)]
    pub role: RoleArg,
    /// The session of an agent.
    #[arg(long, value_name = "KEY")]
    pub session: Option<String>,
    /// The agent of a worker.
    #[arg(long, value_name = "ID")]
    pub agent: Option<String>,
    /// The channel of a channel adapter.
    #[arg(long, value_name = "C")]
    pub channel: Option<String>,
    /// The tenant.
    #[arg(long, value_name = "T", default_value = "default")]
    pub tenant: String,
    /// How long it is valid: 90s, 30m, 1h, 7d.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration::parse)]
    pub ttl: Duration,
    /// The configuration file that names the keys.
    #[arg(long, value_name = "FILE", env = "CONFAB_CONFIG")]
    pub config: Option<PathBuf>,
}

/// A role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    /// A person, or a backend that runs the installation.
    Operator,
    /// A session's agent; needs --session.
    Agent,
    /// A channel adapter; needs --channel.
    Channel,
    /// An external worker; needs --agent.
    Worker,
    /// One of confab's own services.
    Service,
}
