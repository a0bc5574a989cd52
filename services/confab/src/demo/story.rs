//! What happens in the demonstration, and the records it leaves.

use std::time::Duration;

use confab_model::flow::FlowKind;
use confab_proto::registry::v1::CreateSessionRequest;
use confab_proto::runner::v1::{ListDeliveriesRequest, ListFlowsRequest, SendMessageRequest};
use confab_proto::tools::v1::InvokeToolRequest;
use confab_proto::transcript::v1::GetHistoryRequest;
use confab_proto::types::v1::{ChatType, Delivery, Message, SessionTarget};
use confab_rpc::wire::enums::Numbered as _;
use serde_json::Value;
use tokio::time::Instant;

use super::script::{EDITOR, MESSAGE, SENDER, WRITER, route};
use crate::commands::flows::{self, Whole};
use crate::commands::waiting;
use crate::connect::{Services, answer};
use crate::exit::{Exit, Failure};

/// Longest time anything in the demonstration may take.
const WAIT: Duration = Duration::from_secs(30);

/// Everything that happened, as the services recorded it.
#[derive(Debug)]
pub(super) struct Story {
    /// The answer of the tool `sessions_list`.
    pub(super) sessions: Value,
    /// The person's message and its answer.
    pub(super) person: Whole,
    /// What the writer and the editor said to one another.
    pub(super) exchange: Whole,
    /// What the writer's session remembers.
    pub(super) writer: Vec<Message>,
    /// What the editor's session remembers.
    pub(super) editor: Vec<Message>,
    /// Every delivery there is.
    pub(super) deliveries: Vec<Delivery>,
    /// How long things took.
    pub(super) took: Took,
}

/// Times as this client measured them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Took {
    /// Until the person's message was durable.
    pub(super) stored: Duration,
    /// Until the person had the answer.
    pub(super) answered: Duration,
    /// Until the whole exchange was done, its delivery included.
    pub(super) done: Duration,
}

/// Makes it happen.
///
/// # Errors
/// When a service refuses, or something takes too long.
pub(super) async fn play(services: &Services) -> Result<Story, Failure> {
    create_editor(services).await?;
    let start = Instant::now();
    let run_id = say_it(services).await?;
    let stored = start.elapsed();
    let run = waiting::for_run(services, &run_id, WAIT).await?;
    let answered = start.elapsed();
    let exchange = exchange(services).await?;
    let exchange = flows::wait_for(services, &exchange, WAIT).await?;
    let took = Took {
        stored,
        answered,
        done: start.elapsed(),
    };
    Ok(Story {
        sessions: sessions_list(services).await?,
        person: flows::get(services, &run.flow_id).await?,
        exchange,
        writer: history(services, WRITER).await?,
        editor: history(services, EDITOR).await?,
        deliveries: deliveries(services).await?,
        took,
    })
}

/// The editor's session belongs to a channel, so it is there before the writer writes to it.
async fn create_editor(services: &Services) -> Result<(), Failure> {
    let request = CreateSessionRequest {
        session_key: EDITOR.to_owned(),
        delivery_context: Some(route()),
        chat_type: ChatType::Channel.into(),
        ..CreateSessionRequest::default()
    };
    answer(services.registry().create_session(request).await)?;
    Ok(())
}

async fn say_it(services: &Services) -> Result<String, Failure> {
    let request = SendMessageRequest {
        target: Some(key(WRITER)),
        text: MESSAGE.to_owned(),
        sender: Some(SENDER.to_owned()),
        ..SendMessageRequest::default()
    };
    let run = answer(services.runner().send_message(request).await)?.run;
    run.map(|run| run.run_id)
        .ok_or_else(|| missing("the run of the person's message"))
}

/// The flow that the writer's tool call began.
async fn exchange(services: &Services) -> Result<String, Failure> {
    let request = ListFlowsRequest {
        target: Some(key(EDITOR)),
        ..ListFlowsRequest::default()
    };
    let flows = answer(services.runner().list_flows(request).await)?.flows;
    let send = flows
        .into_iter()
        .find(|flow| FlowKind::of(flow.kind) == Some(FlowKind::Send));
    send.map(|flow| flow.flow_id)
        .ok_or_else(|| missing("a message from the writer to the editor"))
}

async fn sessions_list(services: &Services) -> Result<Value, Failure> {
    let request = InvokeToolRequest {
        name: "sessions_list".to_owned(),
        arguments_json: r#"{"includeLastMessage":true}"#.to_owned(),
        idempotency_key: None,
    };
    let answered = answer(services.tools(WAIT).invoke_tool(request).await)?;
    serde_json::from_str(&answered.result_json)
        .map_err(|error| Failure::broken("the result of sessions_list is no JSON", &error))
}

async fn history(services: &Services, session: &str) -> Result<Vec<Message>, Failure> {
    let request = GetHistoryRequest {
        target: Some(key(session)),
        ..GetHistoryRequest::default()
    };
    let shown = answer(services.transcript().get_history(request).await)?.messages;
    Ok(shown
        .into_iter()
        .filter_map(|shown| shown.message)
        .collect())
}

async fn deliveries(services: &Services) -> Result<Vec<Delivery>, Failure> {
    let request = ListDeliveriesRequest::default();
    Ok(answer(services.deliveries().list_deliveries(request).await)?.deliveries)
}

fn key(key: &str) -> SessionTarget {
    SessionTarget {
        session_key: Some(key.to_owned()),
        ..SessionTarget::default()
    }
}

fn missing(what: &str) -> Failure {
    Failure::new(
        Exit::Failed,
        format!("the demonstration went wrong: there is no {what}"),
    )
}
