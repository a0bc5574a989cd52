//! `confab sessions …`

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};

use super::examples;
use super::{PageArgs, RouteArgs};

/// What to do with sessions.
#[derive(Debug, Subcommand)]
pub enum SessionsCommand {
    /// List sessions, newest first
    List(Box<ListSessions>),
    /// Show one session with every field that is set
    #[command(after_help = examples::SESSIONS_GET)]
    Get {
        /// A key, `main`, or a sessionId.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        key: String,
    },
    /// Create a session; an existing one is shown as it is
    Create(Box<CreateSession>),
    /// Change fields of a session: a JSON merge patch, all or nothing
    Patch(PatchSession),
    /// Begin a new transcript under the same key
    #[command(after_help = examples::SESSIONS_RESET)]
    Reset(ChangeSession),
    /// Hide a session; it takes no new work until it is restored
    #[command(after_help = examples::SESSIONS_ARCHIVE)]
    Archive(ChangeSession),
    /// Open an archived session again
    #[command(after_help = examples::SESSIONS_RESTORE)]
    Restore {
        /// A key or a sessionId.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        key: String,
        /// Accepted as beside the other changes; a restore has no work in its way.
        #[arg(long)]
        force: bool,
    },
    /// Remove a session
    Delete(DeleteSession),
    /// Show a session's status card, and what happened to it; may set its model
    Status(ShowStatus),
    /// Follow the changes of sessions, one line each, until Ctrl-C
    Watch(WatchSessions),
    /// Write a session's transcript as lines of JSON
    Export(ExportSession),
    /// Archive and delete the sessions whose time is over, as the configuration says
    Sweep(SweepSessions),
}

/// Which sessions to list, and what to tell of them.
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
    /// Only sessions whose key, label, name, sessionId or model holds this text.
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,
    /// Only sessions that moved within so many minutes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    pub active_minutes: Option<i32>,
    /// Archived sessions instead of open ones.
    #[arg(long)]
    pub archived: bool,
    /// Show the newest messages of each session, at most 20.
    #[arg(long, value_name = "N")]
    pub messages: Option<u32>,
    /// Show a short title for each session.
    #[arg(long)]
    pub titles: bool,
    /// Show the text of each session's newest message.
    #[arg(long)]
    pub previews: bool,
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
    /// What it was spawned for.
    #[arg(long, value_name = "MODE", requires = "spawned_by")]
    pub spawn_mode: Option<SpawnModeArg>,
    /// Its agent runs in a sandbox.
    #[arg(long)]
    pub sandboxed: bool,
}

/// What to change.
#[derive(Args, Debug)]
#[command(after_help = examples::SESSIONS_PATCH)]
pub struct PatchSession {
    /// A key, `main`, or a sessionId.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub key: String,
    /// The fields and their new values as one JSON object, null clears; `-` reads standard input.
    #[arg(value_name = "JSON")]
    pub patch: String,
}

/// Which session to reset or archive.
#[derive(Args, Debug)]
pub struct ChangeSession {
    /// A key, `main`, or a sessionId.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub key: String,
    /// Abort the work it has, instead of refusing.
    #[arg(long)]
    pub force: bool,
    /// Only if this is its present sessionId.
    #[arg(long, value_name = "SESSION_ID", value_parser = NonEmptyStringValueParser::new())]
    pub expect: Option<String>,
}

/// Which session to delete.
#[derive(Args, Debug)]
#[command(after_help = examples::SESSIONS_DELETE)]
pub struct DeleteSession {
    /// The session.
    #[command(flatten)]
    pub session: ChangeSession,
    /// Only if it is archived.
    #[arg(long)]
    pub archived_only: bool,
}

/// Which status to show.
#[derive(Args, Debug)]
#[command(after_help = examples::SESSIONS_STATUS)]
pub struct ShowStatus {
    /// A key, `main`, or a sessionId.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub key: String,
    /// Show what happened to it after this stateVersion; 0 shows all that is kept.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..))]
    pub since: Option<i64>,
    /// Give it this model from its next run on; `default` takes its own model away.
    #[arg(long, value_name = "M", value_parser = NonEmptyStringValueParser::new())]
    pub model: Option<String>,
}

/// Where to begin to follow.
#[derive(Args, Debug)]
#[command(after_help = examples::SESSIONS_WATCH)]
pub struct WatchSessions {
    /// Go on after the change with this cursor; without it, from the present on.
    #[arg(long, value_name = "CURSOR", value_parser = NonEmptyStringValueParser::new())]
    pub after: Option<String>,
}

/// What to export, and where to.
#[derive(Args, Debug)]
#[command(after_help = examples::SESSIONS_EXPORT)]
pub struct ExportSession {
    /// A key, `main`, or the sessionId of one generation.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub key: String,
    /// As stored, secrets and private reasoning included; for operators only.
    #[arg(long)]
    pub raw: bool,
    /// Write a new file instead of standard output.
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Let the file take the place of one that exists.
    #[arg(long, requires = "output")]
    pub force: bool,
}

/// How to sweep.
#[derive(Args, Debug)]
#[command(after_help = examples::SESSIONS_SWEEP)]
pub struct SweepSessions {
    /// Tell what would be done, and do nothing.
    #[arg(long)]
    pub dry_run: bool,
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

/// What a session is spawned for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SpawnModeArg {
    /// One task; it is archived some time after it is done.
    Run,
    /// A conversation that stays.
    Session,
}
