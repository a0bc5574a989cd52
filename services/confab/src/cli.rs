//! The command line as clap understands it: names, help, examples. Nothing here does anything.
//!
//! Source: contract, Command line.

pub mod agents;
pub mod duration;
mod examples;
pub mod import;
pub mod records;
pub mod server;
pub mod sessions;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use self::agents::{AgentsCommand, PolicyCommand};
use self::import::ImportCommand;
use self::records::{DeliveriesCommand, FlowsCommand, RunsCommand};
use self::server::{ConfigCommand, Demo, TokenCommand, Up};
use self::sessions::SessionsCommand;

/// Where `confab up` listens unless told otherwise.
pub const ENDPOINT_DEFAULT: &str = "http://127.0.0.1:7420";

/// Longest a `chat` waits for its run unless told otherwise, in seconds.
const CHAT_WAIT_SECONDS_DEFAULT: u32 = 300;
/// Longest a command waits that is asked to wait, in seconds: one day.
const WAIT_SECONDS_MAX: i64 = 86_400;

/// What a person types.
#[derive(Debug, Parser)]
#[command(
    name = "confab",
    version,
    about = "Agents that talk to one another: the server, and the command line to it",
    after_help = examples::PROGRAM,
    arg_required_else_help = true,
    max_term_width = 100
)]
pub struct Cli {
    /// How to reach the services.
    #[command(flatten)]
    pub connection: Connection,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// How to reach the services, and as whom; the same for every command.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Connection and output")]
pub struct Connection {
    /// Where the services listen.
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "CONFAB_ENDPOINT",
        default_value = ENDPOINT_DEFAULT
    )]
    pub endpoint: String,
    /// Where the registry listens, if elsewhere.
    #[arg(long, global = true, value_name = "URL", env = "CONFAB_REGISTRY")]
    pub registry: Option<String>,
    /// Where the transcript service listens, if elsewhere.
    #[arg(long, global = true, value_name = "URL", env = "CONFAB_TRANSCRIPT")]
    pub transcript: Option<String>,
    /// Where the runner listens, if elsewhere.
    #[arg(long, global = true, value_name = "URL", env = "CONFAB_RUNNER")]
    pub runner: Option<String>,
    /// Proves who calls, where the server asks for it; `confab token mint` makes one.
    #[arg(
        long,
        global = true,
        value_name = "T",
        env = "CONFAB_TOKEN",
        hide_env_values = true
    )]
    pub token: Option<String>,
    /// Write JSON instead of tables; errors too.
    #[arg(long, global = true)]
    pub json: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start all three services in one process
    Up(Up),
    /// Call one session tool: JSON in, JSON out
    Tool(Tool),
    /// List the tools a session may use, with their JSON Schemas
    Tools(Tools),
    /// Bring a person's message to a session and show the answer
    Chat(Chat),
    /// List, read, create, change and remove sessions
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Read, list and wait for runs: one agent turn each
    #[command(subcommand)]
    Runs(RunsCommand),
    /// Read, list and wait for flows: the conversation around a message
    #[command(subcommand)]
    Flows(FlowsCommand),
    /// List messages owed to outside channels
    #[command(subcommand)]
    Deliveries(DeliveriesCommand),
    /// List agents
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Explain who may do what, and why
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Take over the sessions of another system
    #[command(subcommand)]
    Import(ImportCommand),
    /// Check a configuration file
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Make tokens for servers with auth.mode "jwt"
    #[command(subcommand)]
    Token(TokenCommand),
    /// Show two scripted agents at work, told step by step
    Demo(Demo),
    /// Print a completion script for a shell
    #[command(
        after_help = examples::COMPLETIONS
    )]
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// One tool call.
#[derive(Args, Debug)]
#[command(after_help = examples::TOOL)]
pub struct Tool {
    /// The tool, for example `sessions_list`.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub name: String,
    /// Its arguments: a JSON object, or `-` to read one from standard input [default: {}].
    #[arg(value_name = "JSON")]
    pub arguments: Option<String>,
    /// Call it as the agent of this session.
    #[arg(long = "as", value_name = "SESSION_KEY")]
    pub caller: Option<String>,
}

/// The tools of a session.
#[derive(Args, Debug)]
#[command(after_help = examples::TOOLS)]
pub struct Tools {
    /// List those of this session's agent.
    #[arg(long = "as", value_name = "SESSION_KEY")]
    pub caller: Option<String>,
    /// Also tell the tools it does not have, and why.
    #[arg(long)]
    pub all: bool,
}

/// A person's message.
#[derive(Args, Debug)]
#[command(
    after_help = examples::CHAT
)]
pub struct Chat {
    /// The session: a key, for example `agent:writer:main`, or `main`.
    #[arg(value_name = "SESSION_KEY", value_parser = NonEmptyStringValueParser::new())]
    pub session: String,
    /// What the person says.
    #[arg(value_parser = NonEmptyStringValueParser::new(), allow_hyphen_values = true)]
    pub text: String,
    /// Where the message comes from and the answer goes.
    #[command(flatten)]
    pub route: RouteArgs,
    /// The person, as their channel names them.
    #[arg(long, value_name = "S")]
    pub sender: Option<String>,
    /// The person owns this installation.
    #[arg(long)]
    pub owner: bool,
    /// Return as soon as the message is stored.
    #[arg(long, conflicts_with = "wait")]
    pub no_wait: bool,
    /// Longest time to wait for the run to end, in seconds.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = CHAT_WAIT_SECONDS_DEFAULT,
        value_parser = clap::value_parser!(u32).range(0..=WAIT_SECONDS_MAX)
    )]
    pub wait: u32,
}

/// One whole address in an outside channel.
#[derive(Args, Clone, Debug)]
pub struct RouteArgs {
    /// The channel, for example `slack`.
    #[arg(long, value_name = "C", requires = "to")]
    pub channel: Option<String>,
    /// The recipient within the channel, for example `channel:C024BE91L`.
    #[arg(long, value_name = "T", requires = "channel")]
    pub to: Option<String>,
    /// The account of ours that speaks.
    #[arg(long, value_name = "A", requires = "channel")]
    pub account: Option<String>,
    /// The thread within the recipient.
    #[arg(long, value_name = "H", requires = "channel")]
    pub thread: Option<String>,
}

/// How long to wait for a record.
#[derive(Args, Clone, Debug)]
pub struct WaitArgs {
    /// Longest time to wait, in seconds.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(0..=WAIT_SECONDS_MAX)
    )]
    pub seconds: u32,
}

/// Which page of a list.
#[derive(Args, Clone, Debug, Default)]
pub struct PageArgs {
    /// Rows on the page, at most 200.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    pub limit: Option<i32>,
    /// Where the last page ended: its `nextPageToken`.
    #[arg(long, value_name = "TOKEN")]
    pub page_token: Option<String>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::render::table::COLUMNS;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_an_example_in_its_help_and_fits() {
        let mut whole = Cli::command();
        // Puts the options that every command takes into every command.
        whole.build();
        let mut open = vec![whole];
        let mut leaves = 0;
        while let Some(command) = open.pop() {
            let children = command
                .get_subcommands()
                .filter(|child| child.get_name() != "help");
            let children: Vec<clap::Command> = children.cloned().collect();
            if children.is_empty() {
                leaves += 1;
                let help = command.get_after_help().map(ToString::to_string);
                let name = command.get_name();
                assert!(help.unwrap_or_default().contains("confab "), "{name}");
                let shown = command.clone().render_long_help().to_string();
                let widest = shown.lines().map(|line| line.chars().count()).max();
                assert!(
                    widest <= Some(COLUMNS),
                    "{name}: {widest:?} columns\n{shown}"
                );
            }
            open.extend(children);
        }
        assert!(leaves >= 25, "{leaves} commands");
    }

    #[test]
    fn a_route_is_whole_or_not_given() {
        assert!(parse("confab chat main hi --channel slack --to c:1 --thread 7").is_ok());
        for partial in [
            "--channel slack",
            "--to c:1",
            "--thread 7",
            "--account a --to c:1",
        ] {
            assert!(
                parse(&format!("confab chat main hi {partial}")).is_err(),
                "{partial}"
            );
        }
    }

    #[test]
    fn options_of_the_connection_stand_before_or_after_the_command() {
        for line in ["confab --json sessions list", "confab sessions list --json"] {
            assert!(parse(line).unwrap().connection.json, "{line}");
        }
    }

    #[test]
    fn a_message_may_begin_with_a_dash() {
        let Command::Chat(chat) = parse("confab chat main -1").unwrap().command else {
            panic!("chat was typed");
        };
        assert_eq!(chat.text, "-1");
    }

    #[test]
    fn a_session_is_spawned_for_something_only_by_somebody() {
        let create = "confab sessions create agent:a:main";
        assert!(
            parse(&format!(
                "{create} --spawn-mode run --spawned-by agent:b:main"
            ))
            .is_ok()
        );
        assert!(parse(&format!("{create} --spawn-mode run")).is_err());
        assert!(
            parse(&format!(
                "{create} --spawn-mode x --spawned-by agent:b:main"
            ))
            .is_err()
        );
    }

    #[test]
    fn every_change_of_a_sessions_life_takes_force() {
        for change in ["reset", "archive", "restore", "delete"] {
            assert!(parse(&format!("confab sessions {change} main --force")).is_ok());
        }
    }

    #[test]
    fn an_export_overwrites_a_file_only_by_force() {
        for good in ["", "--raw", "--output f", "--raw --output f --force"] {
            assert!(
                parse(&format!("confab sessions export main {good}")).is_ok(),
                "{good}"
            );
        }
        assert!(parse("confab sessions export main --force").is_err());
        assert!(parse("confab sessions export").is_err());
    }

    #[test]
    fn waiting_and_not_waiting_exclude_one_another() {
        assert!(parse("confab chat main hi --no-wait --wait 5").is_err());
        assert!(parse("confab chat main hi --wait 86401").is_err());
    }

    #[test]
    fn what_this_program_cannot_do_is_no_command() {
        for line in ["runs abort x", "deliveries retry x", "doctor"] {
            assert!(parse(&format!("confab {line}")).is_err(), "{line}");
        }
    }
}
