//! The script driver: rules in the configuration, for demos, tests and load.
//!
//! Source: contract, The script driver.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::time::Duration;

use confab_config::settings::{ScriptRule, ScriptSettings};
use confab_model::message::Usage;
use confab_model::run::{Outcome, Run, RunError};
use confab_proto::tools::v1::InvokeToolRequest;
use confab_rpc::clients::{Call, Credentials, ToolsClient, Transport};
use confab_rpc::error::RpcError;
use regex::Captures;
use serde_json::{Map, Value, json};

use super::template::{self, Names};
use super::{Assignment, failed};
use crate::store::{RunnerStore, StoredRun};

/// Longest wait for a tool, in seconds: longer than any wait that a tool can be asked for.
const TOOL_SECONDS_MAX: u64 = 3700;

/// Carries a run out by the first rule that fits.
pub(super) async fn run<S: RunnerStore>(
    script: &ScriptSettings,
    store: &S,
    tools: Transport,
    assignment: Assignment<'_>,
) -> Outcome {
    let rule = match choose(script, store, assignment.stored).await {
        Ok(rule) => rule,
        Err(error) => return failed(error),
    };
    let run = &assignment.stored.run;
    let captures = rule.and_then(|rule| rule.matches.as_ref()?.captures(&run.input));
    let mut play = Play {
        run,
        captures,
        last_result: None,
    };
    let Some(rule) = rule else {
        return play.reply(script.default.as_deref(), None);
    };
    if rule.hang {
        std::future::pending::<()>().await;
    }
    // Before the first interim text and between them; once where there is none.
    for _ in 0..rule.emit.len().max(1) {
        pause(rule).await;
    }
    for (number, tool) in rule.tools.iter().enumerate() {
        let arguments = match template::fill_json(&tool.arguments, &play) {
            Value::Object(fields) => fields,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Map::new(),
        };
        let call_id = format!("{}:{number}", run.id);
        assignment
            .calls
            .begin(call_id.clone(), tool.name.clone(), arguments.clone());
        let mut client = client(&tools, assignment.token);
        let (result, is_error) = call(&mut client, &call_id, &tool.name, arguments).await;
        play.last_result = Some(result.to_string());
        assignment.calls.answer(result, is_error);
    }
    match &rule.error {
        Some(error) => failed(error.clone()),
        None => play.reply(rule.reply.as_deref(), rule.usage),
    }
}

/// The first rule that fits and is not used up. Only rules with `times` need the store, and a run
/// that is repeated gets the rule it had.
async fn choose<'s, S: RunnerStore>(
    script: &'s ScriptSettings,
    store: &S,
    stored: &StoredRun,
) -> Result<Option<&'s ScriptRule>, RunError> {
    let run = &stored.run;
    let mut candidates = Vec::new();
    for (number, rule) in (0_u32..).zip(&script.rules) {
        if fits(rule, run) {
            candidates.push((number, rule));
            if rule.times.is_none() {
                break;
            }
        }
    }
    if !candidates.iter().any(|(_, rule)| rule.times.is_some()) {
        return Ok(candidates.first().map(|(_, rule)| *rule));
    }
    let asked = candidates
        .iter()
        .map(|(number, rule)| (*number, rule.times))
        .collect();
    let hit = store.hit_rule(&run.id, asked).await.map_err(|error| {
        tracing::error!(%error, "a script rule's hits could not be counted");
        RunError {
            class: "internal".to_owned(),
            message: "the rule could not be chosen".to_owned(),
        }
    })?;
    let chosen = candidates
        .into_iter()
        .find(|(number, _)| Some(*number) == hit);
    Ok(chosen.map(|(_, rule)| rule))
}

fn fits(rule: &ScriptRule, run: &Run) -> bool {
    rule.step.is_none_or(|step| step == run.step)
        && rule
            .matches
            .as_ref()
            .is_none_or(|pattern| pattern.is_match(&run.input))
}

async fn pause(rule: &ScriptRule) {
    if rule.delay_ms > 0 {
        tokio::time::sleep(Duration::from_millis(rule.delay_ms)).await;
    }
}

fn client(tools: &Transport, token: &str) -> ToolsClient {
    let credentials = Credentials::Bearer(token.to_owned().into());
    ToolsClient::new(Call::new(tools.clone(), credentials))
        .waiting(Duration::from_secs(TOOL_SECONDS_MAX))
}

/// Calls a tool as the run's session. The call's key makes a repeated run meet the first answer
/// (D36).
async fn call(
    client: &mut ToolsClient,
    call_id: &str,
    name: &str,
    arguments: Map<String, Value>,
) -> (Value, bool) {
    let request = InvokeToolRequest {
        name: name.to_owned(),
        arguments_json: Value::Object(arguments).to_string(),
        idempotency_key: Some(format!("run:{call_id}")),
    };
    match client.invoke_tool(request).await {
        Ok(response) => {
            let answer = response.into_inner();
            let result = serde_json::from_str(&answer.result_json);
            (
                result.unwrap_or_else(|_| Value::String(answer.result_json.clone())),
                answer.is_error,
            )
        },
        Err(status) => {
            let error = RpcError::from_status(&status);
            (json!({"status": "error", "error": error.message}), true)
        },
    }
}

/// A rule being played for a run: what its placeholders stand for.
struct Play<'r> {
    run: &'r Run,
    captures: Option<Captures<'r>>,
    last_result: Option<String>,
}

impl Play<'_> {
    fn reply(&self, reply: Option<&str>, usage: Option<Usage>) -> Outcome {
        Outcome::Replied {
            text: template::fill(reply.unwrap_or_default(), self),
            model: self.run.model.clone(),
            usage,
        }
    }
}

impl Names for Play<'_> {
    fn named(&self, name: &str) -> Option<Cow<'_, str>> {
        let run = self.run;
        let value = match name {
            "message" => Cow::Borrowed(run.input.as_str()),
            "prompt" => run.whole_prompt(),
            "notices" => Cow::Owned(run.notices.join("\n")),
            "session" => Cow::Borrowed(run.session_key.as_str()),
            "agent" => Cow::Borrowed(run.agent_id.as_str()),
            "step" => Cow::Borrowed(run.step.as_str()),
            "turn" => Cow::Owned(run.turn.to_string()),
            "count" => Cow::Owned(run.ordinal.to_string()),
            "toolResult" => Cow::Borrowed(self.last_result.as_deref().unwrap_or_default()),
            _ => return None,
        };
        Some(value)
    }

    fn captured(&self, number: usize) -> Option<&str> {
        let captures = self.captures.as_ref()?;
        Some(captures.get(number).map_or("", |group| group.as_str()))
    }
}
