//! `confab runs …`, `confab flows …`, `confab deliveries …`

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};

use super::examples;
use super::{PageArgs, WaitArgs};

/// What to do with runs.
#[derive(Debug, Subcommand)]
pub enum RunsCommand {
    /// Show one run with its receipts
    #[command(after_help = examples::RUNS_GET)]
    Get {
        /// The runId.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        id: String,
    },
    /// List runs, newest first
    #[command(
        after_help = examples::RUNS_LIST
    )]
    List {
        /// Only runs of this session.
        #[arg(long, value_name = "KEY")]
        session: Option<String>,
        /// Only runs in this state; may be given several times.
        #[arg(long = "state", value_name = "S")]
        states: Vec<RunStateArg>,
        /// Which page.
        #[command(flatten)]
        page: PageArgs,
    },
    /// Wait until a run ended, then show it
    #[command(
        after_help = examples::RUNS_WAIT
    )]
    Wait {
        /// The runId.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        id: String,
        /// How long.
        #[command(flatten)]
        wait: WaitArgs,
    },
}

/// What to do with flows.
#[derive(Debug, Subcommand)]
pub enum FlowsCommand {
    /// Show a conversation with its turns, stop reason and deliveries
    #[command(after_help = examples::FLOWS_GET)]
    Get {
        /// The flowId.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        id: String,
    },
    /// List flows, newest first
    #[command(after_help = examples::FLOWS_LIST)]
    List(ListFlows),
    /// Wait until a flow is done, then show it
    #[command(
        after_help = examples::FLOWS_WAIT
    )]
    Wait {
        /// The flowId.
        #[arg(value_parser = NonEmptyStringValueParser::new())]
        id: String,
        /// How long.
        #[command(flatten)]
        wait: WaitArgs,
    },
}

/// Which flows to list.
#[derive(Args, Debug)]
pub struct ListFlows {
    /// Only flows of this session, as requester or target.
    #[arg(long, value_name = "KEY")]
    pub session: Option<String>,
    /// Which page.
    #[command(flatten)]
    pub page: PageArgs,
}

/// What to do with deliveries.
#[derive(Debug, Subcommand)]
pub enum DeliveriesCommand {
    /// List deliveries, newest first
    #[command(after_help = examples::DELIVERIES_LIST)]
    List {
        /// Only deliveries in this state; may be given several times.
        #[arg(long = "state", value_name = "S")]
        states: Vec<DeliveryStateArg>,
        /// Only deliveries to this channel.
        #[arg(long, value_name = "C")]
        channel: Option<String>,
        /// Which page.
        #[command(flatten)]
        page: PageArgs,
    },
}

/// Where a run is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum RunStateArg {
    /// Waits for its session to be free.
    Queued,
    /// The agent is at work.
    Running,
    /// Waits for its children.
    Waiting,
    /// Ended with an answer.
    Succeeded,
    /// Ended with an error.
    Failed,
    /// Its time was over.
    TimedOut,
    /// Somebody cancelled it.
    Cancelled,
    /// Somebody killed it.
    Killed,
    /// Its process went away.
    Interrupted,
}

/// Where a delivery is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeliveryStateArg {
    /// Waits for its sink.
    Pending,
    /// An attempt is under way.
    Sending,
    /// The sink accepted it.
    Delivered,
    /// The send policy forbids it.
    Blocked,
    /// Given up.
    Failed,
    /// Too old to be sent.
    Expired,
}
