//! `confab tool`, `confab tools`

use std::time::Duration;

use confab_model::limits::{SEND_TIMEOUT_SECONDS_DEFAULT, WAIT_SECONDS_MAX};
use confab_proto::registry::v1::{GetToolPolicyRequest, ToolVerdict};
use confab_proto::tools::v1::{InvokeToolRequest, ListToolsRequest, Tool};
use serde_json::{Value, json};

use super::input;
use crate::cli;
use crate::connect::{Services, answer};
use crate::exit::{Exit, Failure};
use crate::render::json::Fields;
use crate::render::paint::{Paint, Tone};
use crate::render::screen::Screen;
use crate::render::table::COLUMNS;
use crate::render::text;

/// Calls one tool and shows its result.
///
/// # Errors
/// When the argument is no JSON, or the tool could not be run at all.
pub async fn invoke(
    services: &Services,
    args: &cli::Tool,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let (text, arguments) = arguments(args.arguments.as_deref())?;
    let answered = send(services, &args.name, text, &arguments).await?;
    screen.value(&answered.result)?;
    Ok(Exit::of_tool_result(&answered.result, answered.is_error))
}

/// Calls one tool for another command: its result, or its refusal as a failure.
///
/// # Errors
/// When the tool refused, failed, or could not be run at all.
pub(super) async fn call(
    services: &Services,
    name: &str,
    arguments: &Value,
) -> Result<Value, Failure> {
    let answered = send(services, name, arguments.to_string(), arguments).await?;
    if answered.is_error {
        return Err(Failure::of_tool_result(&answered.result));
    }
    Ok(answered.result)
}

/// What a tool answered.
struct Answered {
    result: Value,
    is_error: bool,
}

async fn send(
    services: &Services,
    name: &str,
    text: String,
    arguments: &Value,
) -> Result<Answered, Failure> {
    let mut tools = services.tools(longest_wait(arguments));
    let request = InvokeToolRequest {
        name: name.to_owned(),
        arguments_json: text,
        idempotency_key: None,
    };
    let answered = answer(tools.invoke_tool(request).await)?;
    let result = serde_json::from_str(&answered.result_json)
        .map_err(|error| Failure::broken("the tool's result is no JSON", &error))?;
    Ok(Answered {
        result,
        is_error: answered.is_error,
    })
}

/// The arguments as written, and as JSON.
fn arguments(given: Option<&str>) -> Result<(String, Value), Failure> {
    let text = match given {
        None => "{}".to_owned(),
        Some(given) => input::text(given, "the tool's argument")?,
    };
    let parsed = serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format!("the tool's arguments are no JSON: {error}"))
            .hint("give one JSON object, for example '{\"sessionKey\":\"main\"}', in single quotes")
    });
    Ok((text, parsed?))
}

/// How long the tool may wait for another agent. What is out of range is the tool's to refuse.
fn longest_wait(arguments: &Value) -> Duration {
    let named = ["timeoutSeconds", "timeout_seconds"]
        .iter()
        .find_map(|name| whole(arguments.get(name)?));
    let seconds = named.unwrap_or_else(|| SEND_TIMEOUT_SECONDS_DEFAULT.into());
    Duration::from_secs(seconds.min(WAIT_SECONDS_MAX.into()))
}

/// A number, or its digits in a text, which the tools take as well (reg:L7).
fn whole(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| value.as_str()?.trim().parse().ok())
}

/// Lists the tools of the caller with their schemas.
///
/// # Errors
/// When the service refuses.
pub async fn list(services: &Services, all: bool, screen: &mut Screen) -> Result<Exit, Failure> {
    let mut client = services.tools(Duration::ZERO);
    let tools = answer(client.list_tools(ListToolsRequest {}).await)?.tools;
    let tools = tools
        .into_iter()
        .map(Described::of)
        .collect::<Result<Vec<_>, _>>()?;
    let refused = if all {
        Some(refused(services).await?)
    } else {
        None
    };
    screen.show(
        || record(&tools, refused.as_deref()),
        |paint, _| tell(&tools, refused.as_deref(), paint),
    )?;
    Ok(Exit::Done)
}

/// The tools that the caller does not have.
async fn refused(services: &Services) -> Result<Vec<ToolVerdict>, Failure> {
    let request = GetToolPolicyRequest {};
    let answered = answer(services.registry().get_tool_policy(request).await)?;
    let mut verdicts = answered.tools;
    verdicts.retain(|verdict| !verdict.allowed);
    Ok(verdicts)
}

fn record(tools: &[Described], refused: Option<&[ToolVerdict]>) -> Value {
    let refused = refused.map(|verdicts| {
        let records = verdicts.iter();
        let records = records.map(|one| json!({ "name": one.tool, "reason": one.reason }));
        records.collect::<Vec<_>>()
    });
    Fields::new()
        .put(
            "tools",
            tools.iter().map(Described::record).collect::<Vec<_>>(),
        )
        .put_some("refused", refused)
        .into()
}

fn tell(tools: &[Described], refused: Option<&[ToolVerdict]>, paint: Paint) -> String {
    let mut told: Vec<String> = tools.iter().map(|tool| tool.tell(paint)).collect();
    if told.is_empty() {
        told.push("no tools".to_owned());
    }
    for verdict in refused.unwrap_or_default() {
        let name = paint.tone(Tone::Heading, &text::line(&verdict.tool));
        let state = paint.tone(Tone::Bad, "refused");
        let reason = text::wrap(&verdict.reason, COLUMNS, "  ");
        told.push(format!("{name}  {state}\n{reason}"));
    }
    told.join("\n\n")
}

/// A tool with its schema as JSON.
struct Described {
    name: String,
    description: String,
    schema: Value,
}

impl Described {
    fn of(tool: Tool) -> Result<Self, Failure> {
        let schema = serde_json::from_str(&tool.input_schema_json)
            .map_err(|error| Failure::broken("a tool's schema is no JSON", &error))?;
        Ok(Self {
            name: tool.name,
            description: tool.description,
            schema,
        })
    }

    fn record(&self) -> Value {
        json!({ "name": self.name, "description": self.description, "inputSchema": self.schema })
    }

    fn tell(&self, paint: Paint) -> String {
        let name = paint.tone(Tone::Heading, &text::line(&self.name));
        let description = text::wrap(&self.description, COLUMNS, "  ");
        let schema = format!("{:#}", self.schema);
        let schema = text::block(&schema).replace('\n', "\n  ");
        format!(
            "{name}\n{description}\n\n  {}",
            paint.tone(Tone::Quiet, &schema)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_json_is_a_usage_error_and_leaves_this_machine_never() {
        for text in ["", "{", "hello", "{'a':1}", "{} {}"] {
            let failure = arguments(Some(text)).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{text:?}");
        }
    }

    #[test]
    fn json_goes_to_the_tool_as_it_was_written() {
        assert_eq!(arguments(None).unwrap().0, "{}");
        assert_eq!(
            arguments(Some("{ \"limit\": 1 }")).unwrap().0,
            "{ \"limit\": 1 }"
        );
        assert_eq!(
            arguments(Some("[1]")).unwrap().1,
            json!([1]),
            "its form is the tool's to judge"
        );
    }

    #[test]
    fn refused_tools_are_told_only_where_they_are_asked_for() {
        let verdict = ToolVerdict {
            tool: "sessions_spawn".to_owned(),
            allowed: false,
            reason: "The profile messaging does not have it.".to_owned(),
        };
        let refused = [verdict];
        assert_eq!(record(&[], None), json!({ "tools": [] }));
        assert_eq!(
            record(&[], Some(&refused)),
            json!({ "tools": [], "refused": [{
                "name": "sessions_spawn",
                "reason": "The profile messaging does not have it.",
            }] })
        );
        let told = tell(&[], Some(&refused), Paint::new(false));
        assert_eq!(
            told,
            "no tools\n\nsessions_spawn  refused\n  The profile messaging does not have it."
        );
        assert_eq!(tell(&[], None, Paint::new(false)), "no tools");
    }

    #[test]
    fn a_call_is_given_as_long_as_its_arguments_ask_for() {
        let cases = [
            (json!({}), 30),
            (json!({"timeoutSeconds": 0}), 0),
            (json!({"timeout_seconds": 90}), 90),
            (json!({"timeoutSeconds": 1_000_000}), 3_600),
            (json!({"timeoutSeconds": "x"}), 30),
            (json!({"timeoutSeconds": " 90 "}), 90),
            (json!([]), 30),
        ];
        for (arguments, seconds) in cases {
            assert_eq!(
                longest_wait(&arguments),
                Duration::from_secs(seconds),
                "{arguments}"
            );
        }
    }
}
