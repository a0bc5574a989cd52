//! `confab agents …`, `confab policy …`

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

use super::examples;

/// What to do with agents.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum AgentsCommand {
    /// List the configured agents: name, driver, model, and who may spawn whom
    #[command(after_help = examples::AGENTS_LIST)]
    List,
}

/// What to do with policies.
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Tell every gate that a call would meet, which one decides, and what would change it
    Explain(Explain),
}

/// The call to explain; nobody makes it.
#[derive(Args, Debug)]
#[command(after_help = examples::POLICY_EXPLAIN)]
pub struct Explain {
    /// The session it would act on; it need not exist.
    #[arg(long, value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub session: String,
    /// The session that would call; without it, an operator.
    #[arg(long = "as", value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub caller: Option<String>,
    /// The tool it would call [default: `sessions_send`, of an operator a person's message].
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub tool: Option<String>,
    /// The outside channel that the call would name; without it, the session's own.
    #[arg(long, value_name = "C", value_parser = NonEmptyStringValueParser::new())]
    pub channel: Option<String>,
}
