//! `confab sessions list`: the tool `sessions_list`, which joins rows and messages, so that people,
//! programs and agents see the same.

use serde_json::Value;

use crate::cli::sessions::{KindArg, ListSessions};
use crate::commands::{page, tool};
use crate::connect::Services;
use crate::exit::{Exit, Failure};
use crate::render::json::Fields;
use crate::render::listing;
use crate::render::screen::Screen;

/// The tool.
const TOOL: &str = "sessions_list";

/// Lists sessions.
///
/// # Errors
/// When the tool refuses or cannot be reached.
pub(super) async fn run(
    services: &Services,
    args: ListSessions,
    screen: &mut Screen,
) -> Result<Exit, Failure> {
    let result = tool::call(services, TOOL, &arguments(args)).await?;
    if screen.json {
        screen.value(&result)?;
    } else {
        screen.say(&listing::page(&result, screen.paint, screen.now))?;
    }
    Ok(Exit::Done)
}

/// What the options mean to the tool.
fn arguments(args: ListSessions) -> Value {
    let kinds: Vec<Value> = args
        .kinds
        .into_iter()
        .map(|kind| word(kind).into())
        .collect();
    let (limit, page_token) = page(args.page);
    Fields::new()
        .put_some("kinds", (!kinds.is_empty()).then_some(kinds))
        .put_some("limit", limit)
        .put_some("activeMinutes", args.active_minutes)
        .put_some("messageLimit", args.messages)
        .put_some("label", args.label)
        .put_some("agentId", args.agent)
        .put_some("search", args.search)
        .put_some("archived", args.archived.then_some(true))
        .put_some("includeDerivedTitles", args.titles.then_some(true))
        .put_some("includeLastMessage", args.previews.then_some(true))
        .put_some("pageToken", page_token)
        .into()
}

const fn word(kind: KindArg) -> &'static str {
    match kind {
        KindArg::Main => "main",
        KindArg::Group => "group",
        KindArg::Cron => "cron",
        KindArg::Hook => "hook",
        KindArg::Node => "node",
        KindArg::Other => "other",
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::json;

    use super::*;
    use crate::cli::sessions::SessionsCommand;
    use crate::cli::{Cli, Command};

    fn typed(options: &str) -> Value {
        let line = format!("confab sessions list {options}");
        let cli = Cli::try_parse_from(line.split_whitespace()).unwrap();
        let Command::Sessions(SessionsCommand::List(args)) = cli.command else {
            panic!("a list was typed");
        };
        arguments(*args)
    }

    #[test]
    fn every_option_is_an_argument_of_the_tool() {
        assert_eq!(typed(""), json!({}));
        assert_eq!(
            typed(
                "--kind main --kind cron --limit 5 --active-minutes 60 --messages 3 --label l \
                 --agent a --search s --archived --titles --previews --page-token t"
            ),
            json!({
                "kinds": ["main", "cron"],
                "limit": 5,
                "activeMinutes": 60,
                "messageLimit": 3,
                "label": "l",
                "agentId": "a",
                "search": "s",
                "archived": true,
                "includeDerivedTitles": true,
                "includeLastMessage": true,
                "pageToken": "t",
            })
        );
    }

    #[test]
    fn every_kind_has_the_word_it_is_typed_with() {
        for kind in ["main", "group", "cron", "hook", "node", "other"] {
            assert_eq!(typed(&format!("--kind {kind}")), json!({ "kinds": [kind] }));
        }
    }
}
