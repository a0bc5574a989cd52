//! `confab sessions status`: the tool `session_status`.

use serde_json::Value;

use crate::cli::sessions::ShowStatus;
use crate::commands::tool;
use crate::connect::Services;
use crate::exit::{Exit, Failure};
use crate::render::json::Fields;
use crate::render::screen::Screen;
use crate::render::text;

/// The tool.
const TOOL: &str = "session_status";

/// Shows a session's status, and sets its model where one is asked for.
///
/// # Errors
/// When the tool refuses or cannot be reached.
pub(super) async fn run(
    services: &Services,
    args: ShowStatus,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let result = tool::call(services, TOOL, &arguments(args)).await?;
    if screen.json {
        screen.value(&result)?;
    } else {
        screen.say(&told(&result))?;
    }
    Ok(Exit::Done)
}

fn arguments(args: ShowStatus) -> Value {
    Fields::new()
        .put("sessionKey", args.key)
        .put_some("model", args.model)
        .put_some("changesSince", args.since)
        .into()
}

/// The card for people; a change of the model is told first.
fn told(result: &Value) -> String {
    let card = result.get("statusText").and_then(Value::as_str);
    let card = text::block(card.unwrap_or_default().trim_end());
    if result.get("changedModel") == Some(&Value::Bool(true)) {
        format!("changed: model\n{card}")
    } else {
        card
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_options_are_the_arguments_of_the_tool() {
        let args = ShowStatus {
            key: "main".to_owned(),
            since: Some(0),
            model: Some("default".to_owned()),
        };
        assert_eq!(
            arguments(args),
            json!({ "sessionKey": "main", "model": "default", "changesSince": 0 })
        );
    }

    #[test]
    fn people_read_the_card_and_whether_the_model_changed() {
        let result = json!({ "statusText": "one\ntwo\u{1b}\n", "changedModel": false });
        assert_eq!(told(&result), "one\ntwo␛");
        let result = json!({ "statusText": "one", "changedModel": true });
        assert_eq!(told(&result), "changed: model\none");
    }
}
