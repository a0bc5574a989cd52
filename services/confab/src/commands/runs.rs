//! `confab runs …`

use std::time::Duration;

use confab_proto::runner::v1::{GetRunRequest, ListRunsRequest};
use confab_proto::types::v1::RunState;

use super::{page, present, target, waiting};
use crate::cli::records::{RunStateArg, RunsCommand};
use crate::connect::{Services, answer};
use crate::exit::{Exit, Failure};
use crate::render::screen::Screen;
use crate::render::{json, records};

/// Does what was typed.
///
/// # Errors
/// When the service refuses or cannot be reached.
pub async fn run(
    services: &Services,
    command: RunsCommand,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    match command {
        RunsCommand::Get { id } => {
            let answered = answer(
                services
                    .runner()
                    .get_run(GetRunRequest { run_id: id })
                    .await,
            )?;
            let run = present(answered.run, "the run")?;
            screen.show(
                || json::run(&run),
                |paint, now| records::run(&run, paint, now),
            )?;
            Ok(Exit::Done)
        },
        RunsCommand::List {
            session,
            states,
            page: asked,
        } => {
            let (limit, page_token) = page(asked);
            let states = states
                .into_iter()
                .map(|state| i32::from(wire(state)))
                .collect();
            let target = session.as_deref().map(target);
            list(
                services,
                ListRunsRequest {
                    target,
                    states,
                    limit,
                    page_token,
                },
                screen,
            )
            .await
        },
        RunsCommand::Wait { id, wait } => {
            let run =
                waiting::for_run(services, &id, Duration::from_secs(wait.seconds.into())).await?;
            screen.show(
                || json::run(&run),
                |paint, now| records::run(&run, paint, now),
            )?;
            Ok(waiting::exit_of(&run))
        },
    }
}

async fn list(
    services: &Services,
    request: ListRunsRequest,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let answered = answer(services.runner().list_runs(request).await)?;
    let next = answered.next_page_token.as_deref();
    screen.show(
        || json::page("runs", answered.runs.iter().map(json::run).collect(), next),
        |paint, now| records::runs(&answered.runs, paint, now) + &records::more(next, paint),
    )?;
    Ok(Exit::Done)
}

const fn wire(state: RunStateArg) -> RunState {
    match state {
        RunStateArg::Queued => RunState::Queued,
        RunStateArg::Running => RunState::Running,
        RunStateArg::Waiting => RunState::Waiting,
        RunStateArg::Succeeded => RunState::Succeeded,
        RunStateArg::Failed => RunState::Failed,
        RunStateArg::TimedOut => RunState::TimedOut,
        RunStateArg::Cancelled => RunState::Cancelled,
        RunStateArg::Killed => RunState::Killed,
        RunStateArg::Interrupted => RunState::Interrupted,
    }
}
