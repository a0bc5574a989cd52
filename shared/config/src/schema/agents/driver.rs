//! `agents.list[].driver`: what answers for an agent.
//!
//! Source: contract, Configuration and The script driver.

use confab_model::message::Usage;
use confab_model::run::{RunError, Step};
use regex::Regex;
use serde_json::{Map, Value};

use crate::schema::address;
use crate::schema::findings::Class;
use crate::schema::section::{Section, any_text};
use crate::settings::{Driver, OpenAiSettings, ScriptRule, ScriptSettings, ToolUse};

/// Longest delay of a script rule, in milliseconds: one day.
const DELAY_MS_MAX: u32 = 86_400_000;

/// The types a driver can have.
#[derive(Clone, Copy)]
enum Kind {
    Script,
    Worker,
    OpenAi,
}

const KINDS: [(&str, Kind); 3] = [
    ("script", Kind::Script),
    ("worker", Kind::Worker),
    ("openai", Kind::OpenAi),
];

pub(in crate::schema) fn read(section: &mut Section<'_, '_>) -> Driver {
    if !section.is_given() {
        return Driver::Worker;
    }
    match section.required_word("type", &KINDS) {
        Some(Kind::Script) => Driver::Script(read_script(section)),
        Some(Kind::Worker) => Driver::Worker,
        Some(Kind::OpenAi) => Driver::OpenAi(read_openai(section)),
        None => {
            section.skip_rest();
            Driver::Worker
        },
    }
}

fn read_openai(section: &mut Section<'_, '_>) -> OpenAiSettings {
    let base_url = section.required("baseUrl", address::HTTP, address::http);
    OpenAiSettings {
        base_url: base_url.unwrap_or_default(),
        model: section.text("model"),
        api_key_env: section.variable("apiKeyEnv"),
    }
}

fn read_script(section: &mut Section<'_, '_>) -> ScriptSettings {
    ScriptSettings {
        rules: section.objects("rules", read_rule).unwrap_or_default(),
        default: section.any_text("default"),
    }
}

fn read_rule(section: &mut Section<'_, '_>) -> ScriptRule {
    let steps = Step::ALL.map(|step| (step.as_str(), step));
    ScriptRule {
        step: section.word("step", &steps),
        matches: section.value("match", "a regular expression", pattern),
        reply: section.any_text("reply"),
        tools: read_tools(section),
        emit: section
            .list("emit", "a text", any_owned_text)
            .unwrap_or_default(),
        delay_ms: section
            .integer("delayMs", 0..=DELAY_MS_MAX)
            .map(u64::from)
            .unwrap_or_default(),
        error: read_error(section),
        times: section.integer("times", 1..=u32::MAX),
        hang: section.boolean("hang").unwrap_or(false),
        usage: read_usage(section),
    }
}

fn pattern(value: &Value) -> Result<Regex, Class> {
    Regex::new(any_text(value)?).map_err(|_| Class::Value)
}

fn any_owned_text(value: &Value) -> Result<String, Class> {
    any_text(value).map(str::to_owned)
}

fn read_tools(section: &mut Section<'_, '_>) -> Vec<ToolUse> {
    let uses = section.objects("tools", |section| {
        let name = section.required_text("name");
        let arguments = section.value("arguments", "an object", arguments);
        let arguments = arguments.unwrap_or_else(|| Value::Object(Map::new()));
        name.map(|name| ToolUse { name, arguments })
    });
    uses.into_iter().flatten().flatten().collect()
}

fn arguments(value: &Value) -> Result<Value, Class> {
    if value.is_object() {
        Ok(value.clone())
    } else {
        Err(Class::Type)
    }
}

fn read_error(section: &mut Section<'_, '_>) -> Option<RunError> {
    section.object("error", |section| {
        if !section.is_given() {
            return None;
        }
        let class = section.required_text("class");
        let message = section.any_text("message").unwrap_or_default();
        class.map(|class| RunError { class, message })
    })
}

fn read_usage(section: &mut Section<'_, '_>) -> Option<Usage> {
    section.object("usage", |section| {
        let input = section.integer("input", 0..=u32::MAX).unwrap_or_default();
        let output = section.integer("output", 0..=u32::MAX).unwrap_or_default();
        section.is_given().then(|| Usage {
            input: input.into(),
            output: output.into(),
        })
    })
}
