//! `confab flows …`

use std::time::Duration;

use confab_model::flow::FlowState;
use confab_proto::runner::v1::{GetFlowRequest, ListFlowsRequest, ListFlowsResponse};
use confab_proto::types::v1::{Delivery, Flow, Run};
use confab_rpc::wire::enums::Numbered as _;
use serde_json::Value;

use super::{page, present, target, waiting};
use crate::cli::records::{FlowsCommand, ListFlows};
use crate::connect::{Services, answer};
use crate::exit::{Exit, Failure};
use crate::render::paint::Paint;
use crate::render::screen::Screen;
use crate::render::table::COLUMNS;
use crate::render::{conversation, json, records};

/// A flow with the records it names.
#[derive(Debug)]
pub struct Whole {
    /// The flow.
    pub flow: Flow,
    /// Its runs, in the order they were started.
    pub runs: Vec<Run>,
    /// Its deliveries, in the order they were owed.
    pub deliveries: Vec<Delivery>,
}

impl Whole {
    /// The record for programs.
    pub fn record(&self) -> Value {
        json::flow(&self.flow, &self.runs, &self.deliveries)
    }

    /// The conversation for people.
    pub fn draw(&self, columns: usize, paint: Paint) -> String {
        conversation::draw(&self.flow, &self.runs, &self.deliveries, columns, paint)
    }

    fn show(&self, screen: &mut Screen) -> Result<(), Failure> {
        screen.show(
            || self.record(),
            |paint, now| {
                let card = records::flow_card(&self.flow, paint, now);
                format!("{card}\n\n{}", self.draw(COLUMNS, paint))
            },
        )
    }
}

/// Does what was typed.
///
/// # Errors
/// When the service refuses or cannot be reached.
pub async fn run(
    services: &Services,
    command: FlowsCommand,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    match command {
        FlowsCommand::Get { id } => {
            get(services, &id).await?.show(screen)?;
            Ok(Exit::Done)
        },
        FlowsCommand::List(args) => list(services, args, screen).await,
        FlowsCommand::Wait { id, wait } => {
            let whole = wait_for(services, &id, Duration::from_secs(wait.seconds.into())).await?;
            whole.show(screen)?;
            let done = FlowState::of(whole.flow.state) == Some(FlowState::Done);
            Ok(if done { Exit::Done } else { Exit::Deadline })
        },
    }
}

/// The flow as it is.
///
/// # Errors
/// When the service refuses or cannot be reached.
pub async fn get(services: &Services, id: &str) -> Result<Whole, Failure> {
    let request = GetFlowRequest {
        flow_id: id.to_owned(),
    };
    let answered = answer(services.runner().get_flow(request).await)?;
    Ok(Whole {
        flow: present(answered.flow, "the flow")?,
        runs: answered.runs,
        deliveries: answered.deliveries,
    })
}

/// The flow once it is done, or as it is after `wait`.
///
/// # Errors
/// When the service refuses or cannot be reached.
pub async fn wait_for(services: &Services, id: &str, wait: Duration) -> Result<Whole, Failure> {
    let answered = waiting::for_flow(services, id, wait).await?;
    Ok(Whole {
        flow: present(answered.flow, "the flow")?,
        runs: answered.runs,
        deliveries: answered.deliveries,
    })
}

async fn list(services: &Services, args: ListFlows, screen: &mut Screen) -> Result<Exit, Failure> {
    let (limit, page_token) = page(args.page);
    let target = args.session.as_deref().map(target);
    let request = ListFlowsRequest {
        target,
        limit,
        page_token,
    };
    let answered = answer(services.runner().list_flows(request).await)?;
    let next = answered.next_page_token.as_deref();
    if screen.json {
        screen.value(&json::page("flows", records_of(&answered), next))?;
    } else {
        let table = records::flows(&answered.flows, screen.paint, screen.now);
        screen.say(&(table + &records::more(next, screen.paint)))?;
    }
    Ok(Exit::Done)
}

/// The records of a page of flows.
fn records_of(page: &ListFlowsResponse) -> Vec<Value> {
    let records = page.flows.iter().map(|flow| {
        let runs = page.runs.iter().filter(|run| run.flow_id == flow.flow_id);
        let owed = page.deliveries.iter();
        let owed = owed.filter(|delivery| delivery.flow_id == flow.flow_id);
        json::flow(
            flow,
            &runs.cloned().collect::<Vec<_>>(),
            &owed.cloned().collect::<Vec<_>>(),
        )
    });
    records.collect()
}
