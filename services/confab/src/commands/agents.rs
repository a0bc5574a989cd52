//! `confab agents …`

use confab_proto::registry::v1::{Agent, ListAgentsRequest, ListAgentsResponse, Spawnable};
use serde_json::Value;

use crate::cli::agents::AgentsCommand;
use crate::connect::{Services, answer};
use crate::exit::{Exit, Failure};
use crate::render::json::Fields;
use crate::render::paint::{Paint, Tone};
use crate::render::screen::Screen;
use crate::render::table::{Column, Field, render};

/// Does what was typed.
///
/// # Errors
/// When the service refuses or cannot be reached.
pub async fn run(
    services: &Services,
    command: AgentsCommand,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let AgentsCommand::List = command;
    let list = answer(services.registry().list_agents(ListAgentsRequest {}).await)?;
    screen.show(|| page(&list), |paint, _| tell(&list, paint))?;
    Ok(Exit::Done)
}

/// The form of the tool `agents_list`, with whom each agent may spawn.
fn page(list: &ListAgentsResponse) -> Value {
    let agents = list.agents.iter().map(|agent| Value::from(record(agent)));
    Fields::new()
        .put_some("requester", list.requester.as_deref())
        .put("allowAny", list.allow_any)
        .put("agents", agents.collect::<Vec<_>>())
        .into()
}

/// A table. Whom agents may spawn is told to operators; for others that column is left out.
fn tell(list: &ListAgentsResponse, paint: Paint) -> String {
    if list.agents.is_empty() {
        return "no agents".to_owned();
    }
    let told = list.agents.iter().any(|agent| agent.may_spawn.is_some());
    let rows = list.agents.iter().map(|agent| fields(agent, told));
    render(&columns(told), rows.collect(), paint)
}

fn record(agent: &Agent) -> Fields {
    let spawns = agent.may_spawn.as_ref();
    Fields::new()
        .put("id", agent.agent_id.as_str())
        .put_some("name", agent.name.as_deref())
        .put("configured", agent.configured)
        .put_some("model", agent.model.as_deref())
        .put("driver", agent.driver.as_str())
        .put_some("spawns", spawns.map(|spawns| spawns.agent_ids.clone()))
}

fn columns(told: bool) -> Vec<Column> {
    let spawns = told.then_some(Column::text("MAY SPAWN", 28));
    let others = [
        Column::key("AGENT", 20),
        Column::text("NAME", 16),
        Column::text("DRIVER", 7),
        Column::text("MODEL", 21),
    ];
    others.into_iter().chain(spawns).collect()
}

fn fields(agent: &Agent, told: bool) -> Vec<Field> {
    let plain = |text: Option<&str>| Field::plain(text.unwrap_or("-"));
    let others = [
        Field::toned(Tone::Actor, agent.agent_id.as_str()),
        plain(agent.name.as_deref()),
        Field::plain(agent.driver.as_str()),
        plain(agent.model.as_deref()),
    ];
    let spawns = told.then(|| Field::plain(spawned(agent.may_spawn.as_ref())));
    others.into_iter().chain(spawns).collect()
}

fn spawned(spawns: Option<&Spawnable>) -> String {
    match spawns {
        Some(spawns) if spawns.any => "any agent".to_owned(),
        Some(spawns) if !spawns.agent_ids.is_empty() => spawns.agent_ids.join(", "),
        Some(_) | None => "nobody".to_owned(),
    }
}

#[cfg(test)]
mod tests;
