//! `confab tool`, `confab tools`

use std::io::Read as _;
use std::time::Duration;

use confab_model::limits::{SEND_TIMEOUT_SECONDS_DEFAULT, WAIT_SECONDS_MAX};
use confab_proto::tools::v1::{InvokeToolRequest, ListToolsRequest, Tool};
use serde_json::{Value, json};

use crate::cli;
use crate::connect::{Services, answer};
use crate::exit::{Exit, Failure};
use crate::render::paint::{Paint, Tone};
use crate::render::screen::Screen;
use crate::render::table::COLUMNS;
use crate::render::text;

/// Largest argument that is read from standard input, in bytes: what a call can carry.
const ARGUMENTS_BYTES_MAX: u64 = 2 * 1024 * 1024;
/// Stands for standard input.
const STANDARD_INPUT: &str = "-";

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
    let mut tools = services.tools(longest_wait(&arguments));
    let request = InvokeToolRequest {
        name: args.name.clone(),
        arguments_json: text,
        idempotency_key: None,
    };
    let answered = answer(tools.invoke_tool(request).await)?;
    let result: Value = serde_json::from_str(&answered.result_json)
        .map_err(|error| Failure::broken("the tool's result is no JSON", &error))?;
    screen.value(&result)?;
    Ok(Exit::of_tool_result(&result, answered.is_error))
}

/// The arguments as written, and as JSON.
fn arguments(given: Option<&str>) -> Result<(String, Value), Failure> {
    let text = match given {
        None => "{}".to_owned(),
        Some(STANDARD_INPUT) => read_standard_input()?,
        Some(text) => text.to_owned(),
    };
    let parsed = serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format!("the tool's arguments are no JSON: {error}"))
            .hint("give one JSON object, for example '{\"sessionKey\":\"main\"}', in single quotes")
    });
    Ok((text, parsed?))
}

fn read_standard_input() -> Result<String, Failure> {
    let mut text = String::new();
    let mut input = std::io::stdin().take(ARGUMENTS_BYTES_MAX + 1);
    input
        .read_to_string(&mut text)
        .map_err(|error| Failure::usage(format!("standard input is no UTF-8 text: {error}")))?;
    if text.len() > usize::try_from(ARGUMENTS_BYTES_MAX).unwrap_or(usize::MAX) {
        return Err(Failure::usage(format!(
            "the tool's arguments on standard input are longer than {ARGUMENTS_BYTES_MAX} bytes"
        )));
    }
    Ok(text)
}

/// How long the tool may wait for another agent. What is out of range is the tool's to refuse.
fn longest_wait(arguments: &Value) -> Duration {
    let named = ["timeoutSeconds", "timeout_seconds"]
        .iter()
        .find_map(|name| arguments.get(name)?.as_u64());
    let seconds = named.unwrap_or_else(|| SEND_TIMEOUT_SECONDS_DEFAULT.into());
    Duration::from_secs(seconds.min(WAIT_SECONDS_MAX.into()))
}

/// Lists the tools of the caller with their schemas.
///
/// # Errors
/// When the service refuses.
pub async fn list(services: &Services, screen: &mut Screen) -> Result<Exit, Failure> {
    let mut client = services.tools(Duration::ZERO);
    let tools = answer(client.list_tools(ListToolsRequest {}).await)?.tools;
    let tools = tools
        .into_iter()
        .map(Described::of)
        .collect::<Result<Vec<_>, _>>()?;
    screen.show(
        || json!({ "tools": tools.iter().map(Described::record).collect::<Vec<_>>() }),
        |paint, _| {
            let told = tools.iter().map(|tool| tool.tell(paint));
            told.collect::<Vec<_>>().join("\n\n")
        },
    )?;
    Ok(Exit::Done)
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
    fn a_call_is_given_as_long_as_its_arguments_ask_for() {
        let cases = [
            (json!({}), 30),
            (json!({"timeoutSeconds": 0}), 0),
            (json!({"timeout_seconds": 90}), 90),
            (json!({"timeoutSeconds": 1_000_000}), 3_600),
            (json!({"timeoutSeconds": "x"}), 30),
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
