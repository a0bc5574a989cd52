//! From what was written to a patch.

use super::super::levels::Word;
use super::super::{Label, LabelError, is_control};
use super::{Change, FastMode, Fault, Given, Patch, ThinkingLevel};
use crate::key::{KeyError, SessionKey};
use crate::limits::{
    INHERITED_TOOLS_MAX, LABEL_UNITS_MAX, MODEL_BYTES_MAX, SESSION_TEXT_BYTES_MAX,
    TOOL_NAME_BYTES_MAX,
};

/// Most characters of an unknown name that a fault repeats.
const SHOWN_CHARS_MAX: usize = 64;

/// Reads fields one after the other and notes what is wrong with them.
struct Reader<'a> {
    given: Vec<(&'a str, Given<'a>)>,
    faults: Vec<Fault>,
}

impl<'a> Reader<'a> {
    fn new(fields: impl IntoIterator<Item = (&'a str, Given<'a>)>) -> Self {
        let (given, unknown): (Vec<_>, Vec<_>) = fields
            .into_iter()
            .partition(|(name, _)| Patch::FIELDS.contains(name));
        let faults = unknown
            .into_iter()
            .map(|(name, _)| no_field(name))
            .collect();
        Self { given, faults }
    }

    /// What is to become of a field, by a reader of its values; the reader's text is the fault.
    fn field<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&'static str, &Given<'a>) -> Result<T, String>,
    ) -> Option<Change<T>> {
        let (_, given) = self.given.iter().rev().find(|(field, _)| *field == name)?;
        if *given == Given::Null {
            return Some(Change::Clear);
        }
        match read(name, given) {
            Ok(value) => Some(Change::Set(value)),
            Err(message) => {
                self.faults.push(Fault::invalid(name, message));
                None
            },
        }
    }

    /// What is to become of a list of tools; an empty one is no list.
    fn tools(&mut self, name: &'static str) -> Option<Change<Vec<String>>> {
        match self.field(name, tools) {
            Some(Change::Set(tools)) if tools.is_empty() => Some(Change::Clear),
            change @ (Some(Change::Set(_) | Change::Clear) | None) => change,
        }
    }
}

/// A fault of a name that nobody knows, which may be of any length.
fn no_field(name: &str) -> Fault {
    let shown: String = name.chars().take(SHOWN_CHARS_MAX).collect();
    let message = format!("{shown} is no field of a patch");
    Fault::invalid(&shown, message)
}

pub(super) fn gather<'a>(
    fields: impl IntoIterator<Item = (&'a str, Given<'a>)>,
) -> (Patch, Vec<Fault>) {
    let mut reader = Reader::new(fields);
    // The fields of a literal are judged in the order in which they stand.
    let patch = Patch {
        spawned_by: reader.field("spawnedBy", key),
        spawned_workspace_dir: reader.field("spawnedWorkspaceDir", session_text),
        spawned_cwd: reader.field("spawnedCwd", session_text),
        spawn_depth: reader.field("spawnDepth", depth),
        subagent_role: reader.field("subagentRole", one_of_two),
        subagent_control_scope: reader.field("subagentControlScope", one_of_two),
        inherited_tool_deny: reader.tools("inheritedToolDeny"),
        inherited_tool_allow: reader.tools("inheritedToolAllow"),
        label: reader.field("label", label),
        category: reader.field("category", category),
        archived: reader.field("archived", flag),
        pinned: reader.field("pinned", flag),
        unread: reader.field("unread", flag),
        thinking_level: reader.field("thinkingLevel", thinking_level),
        fast_mode: reader.field("fastMode", fast_mode),
        verbose_level: reader.field("verboseLevel", one_of),
        trace_level: reader.field("traceLevel", one_of),
        reasoning_level: reader.field("reasoningLevel", one_of),
        response_usage: reader.field("responseUsage", one_of),
        elevated_level: reader.field("elevatedLevel", one_of),
        exec_host: reader.field("execHost", one_of),
        exec_security: reader.field("execSecurity", one_of),
        exec_ask: reader.field("execAsk", one_of),
        exec_node: reader.field("execNode", session_text),
        model: reader.field("model", |name, given| text(name, given, MODEL_BYTES_MAX)),
        send_policy: reader.field("sendPolicy", one_of),
        group_activation: reader.field("groupActivation", one_of),
    };
    (patch, reader.faults)
}

fn key(name: &str, given: &Given<'_>) -> Result<SessionKey, String> {
    SessionKey::parse(string(name, given)?).map_err(|error| match error {
        KeyError::Empty => format!("invalid {name}: empty"),
        KeyError::TooLong { .. }
        | KeyError::ControlCharacter { .. }
        | KeyError::EmptyPart { .. }
        | KeyError::Incomplete { .. }
        | KeyError::Agent { .. }
        | KeyError::NotFull { .. }
        | KeyError::Reserved { .. }
        | KeyError::OtherAgent { .. } => format!("invalid {name}: {error}"),
    })
}

fn string<'a>(name: &str, given: &Given<'a>) -> Result<&'a str, String> {
    match given {
        Given::Text(text) => Ok(text),
        Given::Null | Given::Flag(_) | Given::Number(_) | Given::Texts(_) | Given::Other => {
            Err(format!("invalid {name}: must be a string"))
        },
    }
}

fn session_text(name: &str, given: &Given<'_>) -> Result<String, String> {
    text(name, given, SESSION_TEXT_BYTES_MAX)
}

/// A text without the blanks around it: one line, something in it, at most `bytes_max` bytes.
fn text(name: &str, given: &Given<'_>, bytes_max: usize) -> Result<String, String> {
    let trimmed = string(name, given)?.trim();
    if trimmed.is_empty() {
        Err(format!("invalid {name}: empty"))
    } else if trimmed.len() > bytes_max {
        Err(format!("invalid {name}: too long (max {bytes_max} bytes)"))
    } else if trimmed.contains(is_control) {
        Err(format!(
            "invalid {name}: control characters are not allowed"
        ))
    } else {
        Ok(trimmed.to_owned())
    }
}

fn label(name: &str, given: &Given<'_>) -> Result<Label, String> {
    Label::parse(string(name, given)?).map_err(|error| error.to_string())
}

/// A category is bound as a label is, but it need not be unique.
///
/// Source: reg:M10.
fn category(name: &str, given: &Given<'_>) -> Result<String, String> {
    let category = Label::parse(string(name, given)?).map_err(|error| match error {
        LabelError::Empty => format!("invalid {name}: empty"),
        LabelError::TooLong => format!("invalid {name}: too long (max {LABEL_UNITS_MAX})"),
        LabelError::ControlCharacter => {
            format!("invalid {name}: control characters are not allowed")
        },
    })?;
    Ok(category.into())
}

fn depth(name: &str, given: &Given<'_>) -> Result<u32, String> {
    let depth = match given {
        // A whole number has no fraction in its shortest form.
        Given::Number(number) => number.to_string().parse::<i32>().ok(),
        Given::Null | Given::Flag(_) | Given::Text(_) | Given::Texts(_) | Given::Other => None,
    };
    depth
        .and_then(|depth| u32::try_from(depth).ok())
        .ok_or_else(|| format!("invalid {name} (use an integer >= 0)"))
}

/// Names of tools: folded, each once, in the order in which they were first written.
///
/// Source: reg:M8.
fn tools(name: &str, given: &Given<'_>) -> Result<Vec<String>, String> {
    let Given::Texts(texts) = given else {
        return Err(format!("invalid {name} (use an array of tool names)"));
    };
    let mut tools: Vec<String> = Vec::new();
    for text in texts {
        let tool = text.trim().to_lowercase();
        if tool.is_empty() || tool.contains(is_control) {
            return Err(format!("invalid {name} (use an array of tool names)"));
        }
        if tool.len() > TOOL_NAME_BYTES_MAX {
            return Err(format!(
                "invalid {name}: a name is too long (max {TOOL_NAME_BYTES_MAX} bytes)"
            ));
        }
        if !tools.contains(&tool) {
            tools.push(tool);
        }
        if tools.len() > INHERITED_TOOLS_MAX {
            return Err(format!(
                "invalid {name}: too many names (max {INHERITED_TOOLS_MAX})"
            ));
        }
    }
    Ok(tools)
}

fn flag(name: &str, given: &Given<'_>) -> Result<bool, String> {
    match given {
        Given::Flag(flag) => Ok(*flag),
        Given::Null | Given::Number(_) | Given::Text(_) | Given::Texts(_) | Given::Other => {
            Err(format!("invalid {name} (use true or false)"))
        },
    }
}

fn fast_mode(name: &str, given: &Given<'_>) -> Result<FastMode, String> {
    match given {
        Given::Flag(true) => Some(FastMode::On),
        Given::Flag(false) => Some(FastMode::Off),
        Given::Text(text) => FastMode::parse(text),
        Given::Null | Given::Number(_) | Given::Texts(_) | Given::Other => None,
    }
    .ok_or_else(|| format!("invalid {name} (use true, false, or \"auto\")"))
}

fn thinking_level(name: &str, given: &Given<'_>) -> Result<ThinkingLevel, String> {
    word(given).ok_or_else(|| {
        let levels = named::<ThinkingLevel>("", "|");
        format!("invalid {name} (use {levels})")
    })
}

/// One of several words.
fn one_of<T: Word>(name: &str, given: &Given<'_>) -> Result<T, String> {
    word(given).ok_or_else(|| format!("invalid {name} (use {})", named::<T>("\"", "|")))
}

/// One of two words, of which a fault speaks in another way.
fn one_of_two<T: Word>(name: &str, given: &Given<'_>) -> Result<T, String> {
    word(given).ok_or_else(|| format!("invalid {name} (use {})", named::<T>("\"", " or ")))
}

fn word<T: Word>(given: &Given<'_>) -> Option<T> {
    match given {
        Given::Text(text) => T::read(text),
        Given::Null | Given::Flag(_) | Given::Number(_) | Given::Texts(_) | Given::Other => None,
    }
}

fn named<T: Word>(quote: &str, between: &str) -> String {
    let words = T::all()
        .iter()
        .map(|word| format!("{quote}{}{quote}", word.word()));
    words.collect::<Vec<_>>().join(between)
}
