//! The commands: each reads its arguments, makes its calls, shows the answer.

pub mod agents;
pub mod chat;
pub mod config;
pub mod deliveries;
pub mod flows;
pub mod import;
mod input;
pub mod policy;
pub mod runs;
pub mod sessions;
pub mod token;
pub mod tool;
pub mod waiting;

use clap::CommandFactory as _;
use confab_proto::types::v1::{Route, SessionTarget};

use crate::cli::{Cli, Command, PageArgs, RouteArgs};
use crate::connect::Services;
use crate::exit::{Exit, Failure};
use crate::render::screen::Screen;
use crate::{demo, up};

/// Does what was typed.
///
/// # Errors
/// When it could not be done.
pub async fn run(cli: Cli, screen: &mut Screen) -> Result<Exit, Failure> {
    let connection = &cli.connection;
    let services = || Services::of(connection);
    match cli.command {
        Command::Up(args) => up::run(args, screen).await,
        Command::Demo(args) => demo::run(args, screen).await,
        Command::Tool(args) => {
            tool::invoke(
                &Services::of_agent(connection, args.caller.as_deref())?,
                &args,
                screen,
            )
            .await
        },
        Command::Tools(args) => {
            tool::list(
                &Services::of_agent(connection, args.caller.as_deref())?,
                args.all,
                screen,
            )
            .await
        },
        Command::Chat(args) => chat::run(&services()?, args, screen).await,
        Command::Sessions(args) => sessions::run(&services()?, args, screen).await,
        Command::Runs(args) => runs::run(&services()?, args, screen).await,
        Command::Flows(args) => flows::run(&services()?, args, screen).await,
        Command::Deliveries(args) => deliveries::run(&services()?, args, screen).await,
        Command::Agents(args) => agents::run(&services()?, args, screen).await,
        Command::Policy(args) => policy::run(&services()?, args, screen).await,
        Command::Import(args) => import::run(&services()?, args, screen).await,
        Command::Config(args) => config::run(args, screen),
        Command::Token(args) => token::run(args, screen),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "confab", &mut script);
            screen.say(String::from_utf8_lossy(&script).trim_end())?;
            Ok(Exit::Done)
        },
    }
}

/// The session a person names: a key, `main` or a sessionId.
fn target(reference: &str) -> SessionTarget {
    SessionTarget {
        session_key: Some(reference.to_owned()),
        ..SessionTarget::default()
    }
}

/// The route a person gave; the command line has made sure that it is whole.
fn route(args: RouteArgs) -> Option<Route> {
    Some(Route {
        channel: args.channel?,
        to: args.to?,
        account_id: args.account,
        thread_id: args.thread,
    })
}

/// A page without its token is the first one.
fn page(args: PageArgs) -> (Option<i32>, Option<String>) {
    (
        args.limit,
        args.page_token.filter(|token| !token.is_empty()),
    )
}

/// What an answer must hold.
fn present<T>(value: Option<T>, what: &str) -> Result<T, Failure> {
    value.ok_or_else(|| {
        Failure::new(Exit::Failed, format!("the service's answer lacks {what}"))
            .hint("is the server of the same version as this program? compare `confab --version`")
    })
}
