//! `confab sessions …`

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};

use super::examples;
use super::{PageArgs, RouteArgs};

/// What to do with sessions.
#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// List sessions, newest first
    List(ListSessions),
    /// Show one session
    #[command(after_help = examples::SESSIONS_GET)]
    Get {
        /// A key, `main`, or a sessionId.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        key: String,
    },
    /// Create a session; an existing one is shown as it is
    Create(Box<CreateSession>),
}

/// Which sessions to list.
#[derive(Args, Debug)]
#[command(
    after_help = examples::SESSIONS_LIST
)]
pub struct ListSessions {
    /// Only these kinds; may be given several times.
    #[arg(long = "kind", value_name = "KIND")]
    pub kinds: Vec<KindArg>,
    /// Only sessions of this agent.
    #[arg(long, value_name = "ID")]
    pub agent: Option<String>,
    /// Only the session with exactly this label.
    #[arg(long, value_name = "L")]
    pub label: Option<String>,
    /// Only sessions whose key, label, name or sessionId holds this text.
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,
    /// Only sessions that moved within so many minutes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    pub active_minutes: Option<i32>,
    /// Archived sessions instead of open ones.
    #[arg(long)]
    pub archived: bool,
    /// Which page.
    #[command(flatten)]
    pub page: PageArgs,
}

/// What to create.
#[derive(Args, Debug)]
#[command(
    after_help = examples::SESSIONS_CREATE
)]
pub struct CreateSession {
    /// Its key; the agent in it must be configured.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub key: String,
    /// The name people give it; unique within the agent.
    #[arg(long, value_name = "L")]
    pub label: Option<String>,
    /// Where its answers go.
    #[command(flatten)]
    pub route: RouteArgs,
    /// What kind of chat it belongs to.
    #[arg(long, value_name = "T")]
    pub chat_type: Option<ChatTypeArg>,
    /// The key of the session that spawned it.
    #[arg(long, value_name = "KEY")]
    pub spawned_by: Option<String>,
    /// Its agent runs in a sandbox.
    #[arg(long)]
    pub sandboxed: bool,
}

/// A kind of session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KindArg {
    /// An agent's main session.
    Main,
    /// A group or a room of an outside channel.
    Group,
    /// A scheduled job.
    Cron,
    /// A web hook.
    Hook,
    /// A device.
    Node,
    /// Everything else.
    Other,
}

/// A kind of chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ChatTypeArg {
    /// One person.
    Direct,
    /// A group.
    Group,
    /// A room open to many.
    Channel,
}
