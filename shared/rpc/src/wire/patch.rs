//! Patches of a session: as messages with a mask, and as JSON.
//!
//! A message cannot say that a field is to be cleared, so the mask does: a field that the mask names
//! and the message lacks is cleared. Without a mask, the fields that are there are set. In JSON,
//! null clears.

use confab_config::nearest;
use confab_model::session::SendAction;
use confab_model::session::levels::Word;
use confab_model::session::patch::{Change, Fault, FaultKind, Given, Patch};
use confab_proto::registry::v1::SessionPatch;
use prost_types::FieldMask;
use serde_json::{Map, Value};

use super::enums::Numbered as _;
use super::{enums, numbers};
use crate::error::{Reason, RpcError, Violation, Violations};

/// Where a request has its mask.
const MASK: &str = "updateMask";
/// Most paths of a mask that are read: more than there are fields.
const MASK_PATHS_MAX: usize = 100;
/// Most characters of an unknown path that a violation repeats.
const SHOWN_CHARS_MAX: usize = 64;

/// Reads a patch that a caller wrote; `prefix` is the path of the message.
///
/// The paths of the mask are the names of the proto, in snake or camel case. What is noted as a
/// violation is no part of the patch.
///
/// Source: reg:M1.
pub fn patch_from_wire(
    wire: &SessionPatch,
    mask: Option<FieldMask>,
    prefix: &str,
    violations: &mut Violations,
) -> Patch {
    let (patch, faults) = gather_from_wire(wire, mask, prefix, violations);
    for fault in faults {
        violations.push(format!("{prefix}.{}", fault.field), fault.message);
    }
    patch
}

/// Reads what can be read of a patch; what is wrong with its fields comes beside it, to be told
/// together with what the row forbids. What is wrong with the mask is a violation.
pub fn gather_from_wire(
    wire: &SessionPatch,
    mask: Option<FieldMask>,
    prefix: &str,
    violations: &mut Violations,
) -> (Patch, Vec<Fault>) {
    let mut fields = present(wire);
    let paths = mask.map(|mask| mask.paths).unwrap_or_default();
    if !paths.is_empty() {
        let named = named(&paths, violations);
        for (name, _) in fields.iter().filter(|(name, _)| !named.contains(name)) {
            violations.push(
                format!("{prefix}.{name}"),
                format!(
                    "{prefix}.{name} is set but {MASK} does not name it; add {} to {MASK} or \
                     leave the field out",
                    snake(name),
                ),
            );
        }
        let missing = |name: &&str| fields.iter().all(|(field, _)| field != name);
        let cleared: Vec<_> = named.into_iter().filter(missing).collect();
        fields.extend(cleared.into_iter().map(|name| (name, Given::Null)));
    }
    Patch::gather(fields)
}

/// The fields that the paths of a mask name.
fn named(paths: &[String], violations: &mut Violations) -> Vec<&'static str> {
    if paths.len() > MASK_PATHS_MAX {
        let count = paths.len();
        violations.push(
            MASK,
            format!("{MASK} has {count} paths; at most {MASK_PATHS_MAX} are allowed"),
        );
    }
    let mut names = Vec::new();
    for path in paths.iter().take(MASK_PATHS_MAX) {
        let field = camel(path);
        match Patch::FIELDS.into_iter().find(|name| *name == field) {
            Some(name) => names.push(name),
            None => violations.push(MASK, unknown_path(path, &field)),
        }
    }
    names
}

fn unknown_path(path: &str, field: &str) -> String {
    let hint = nearest(field, Patch::FIELDS).map_or_else(String::new, |known| {
        format!("; did you mean {}?", snake(known))
    });
    let shown: String = path.chars().take(SHOWN_CHARS_MAX).collect();
    format!("{MASK} names `{shown}`, which is no field of a patch{hint}")
}

/// What the message holds, by field.
fn present(wire: &SessionPatch) -> Vec<(&'static str, Given<'_>)> {
    let fields = [
        ("spawnedBy", text(&wire.spawned_by)),
        ("spawnedWorkspaceDir", text(&wire.spawned_workspace_dir)),
        ("spawnedCwd", text(&wire.spawned_cwd)),
        (
            "spawnDepth",
            wire.spawn_depth.map(|depth| Given::Number(depth.into())),
        ),
        ("subagentRole", text(&wire.subagent_role)),
        ("subagentControlScope", text(&wire.subagent_control_scope)),
        ("inheritedToolDeny", texts(&wire.inherited_tool_deny)),
        ("inheritedToolAllow", texts(&wire.inherited_tool_allow)),
        ("label", text(&wire.label)),
        ("category", text(&wire.category)),
        ("archived", wire.archived.map(Given::Flag)),
        ("pinned", wire.pinned.map(Given::Flag)),
        ("unread", wire.unread.map(Given::Flag)),
        ("thinkingLevel", text(&wire.thinking_level)),
        ("fastMode", text(&wire.fast_mode)),
        ("verboseLevel", text(&wire.verbose_level)),
        ("traceLevel", text(&wire.trace_level)),
        ("reasoningLevel", text(&wire.reasoning_level)),
        ("responseUsage", text(&wire.response_usage)),
        ("elevatedLevel", text(&wire.elevated_level)),
        ("execHost", text(&wire.exec_host)),
        ("execSecurity", text(&wire.exec_security)),
        ("execAsk", text(&wire.exec_ask)),
        ("execNode", text(&wire.exec_node)),
        ("model", text(&wire.model)),
        ("sendPolicy", send_policy(wire.send_policy)),
        ("groupActivation", text(&wire.group_activation)),
    ];
    let told = |(name, given): (&'static str, Option<_>)| Some((name, given?));
    fields.into_iter().filter_map(told).collect()
}

#[expect(
    clippy::ref_option,
    reason = "the fields of the message are options of their own"
)]
fn text(field: &Option<String>) -> Option<Given<'_>> {
    field.as_deref().map(Given::Text)
}

fn texts(field: &[String]) -> Option<Given<'_>> {
    let texts = field.iter().map(String::as_str).collect();
    (!field.is_empty()).then_some(Given::Texts(texts))
}

/// A number that this version does not know is no word, and refused like any other.
fn send_policy<'a>(number: i32) -> Option<Given<'a>> {
    let known = SendAction::of(number).map(|action| Given::Text(action.as_str()));
    known.or_else(|| (number != 0).then(|| Given::Number(number.into())))
}

/// The proto's form of a patch, and the mask that says what it changes.
pub fn patch_to_wire(patch: &Patch) -> (SessionPatch, FieldMask) {
    let mut mask = Mask::default();
    let wire = SessionPatch {
        spawned_by: mask.put("spawned_by", &patch.spawned_by, ToString::to_string),
        spawned_workspace_dir: mask.put(
            "spawned_workspace_dir",
            &patch.spawned_workspace_dir,
            String::clone,
        ),
        spawned_cwd: mask.put("spawned_cwd", &patch.spawned_cwd, String::clone),
        spawn_depth: mask.put("spawn_depth", &patch.spawn_depth, |depth| {
            numbers::to_i32(*depth)
        }),
        subagent_role: mask.put("subagent_role", &patch.subagent_role, word),
        subagent_control_scope: mask.put(
            "subagent_control_scope",
            &patch.subagent_control_scope,
            word,
        ),
        inherited_tool_deny: mask.list("inherited_tool_deny", &patch.inherited_tool_deny),
        inherited_tool_allow: mask.list("inherited_tool_allow", &patch.inherited_tool_allow),
        label: mask.put("label", &patch.label, |label| label.as_str().to_owned()),
        category: mask.put("category", &patch.category, String::clone),
        archived: mask.put("archived", &patch.archived, bool::clone),
        pinned: mask.put("pinned", &patch.pinned, bool::clone),
        unread: mask.put("unread", &patch.unread, bool::clone),
        thinking_level: mask.put("thinking_level", &patch.thinking_level, word),
        fast_mode: mask.put("fast_mode", &patch.fast_mode, word),
        verbose_level: mask.put("verbose_level", &patch.verbose_level, word),
        trace_level: mask.put("trace_level", &patch.trace_level, word),
        reasoning_level: mask.put("reasoning_level", &patch.reasoning_level, word),
        response_usage: mask.put("response_usage", &patch.response_usage, word),
        elevated_level: mask.put("elevated_level", &patch.elevated_level, word),
        exec_host: mask.put("exec_host", &patch.exec_host, word),
        exec_security: mask.put("exec_security", &patch.exec_security, word),
        exec_ask: mask.put("exec_ask", &patch.exec_ask, word),
        exec_node: mask.put("exec_node", &patch.exec_node, String::clone),
        model: mask.put("model", &patch.model, String::clone),
        send_policy: enums::optional_number(mask.put(
            "send_policy",
            &patch.send_policy,
            SendAction::clone,
        )),
        group_activation: mask.put("group_activation", &patch.group_activation, word),
    };
    (wire, FieldMask { paths: mask.0 })
}

/// The paths of the fields that a patch changes, as they are written.
#[derive(Default)]
struct Mask(Vec<String>);

impl Mask {
    #[expect(
        clippy::ref_option,
        reason = "the fields of a patch are options of their own"
    )]
    fn put<T, U>(
        &mut self,
        path: &str,
        change: &Option<Change<T>>,
        to_wire: impl FnOnce(&T) -> U,
    ) -> Option<U> {
        let change = change.as_ref()?;
        self.0.push(path.to_owned());
        match change {
            Change::Set(value) => Some(to_wire(value)),
            Change::Clear => None,
        }
    }

    #[expect(
        clippy::ref_option,
        reason = "the fields of a patch are options of their own"
    )]
    fn list(&mut self, path: &str, change: &Option<Change<Vec<String>>>) -> Vec<String> {
        self.put(path, change, Vec::clone).unwrap_or_default()
    }
}

fn word<T: Word>(value: &T) -> String {
    value.word().to_owned()
}

/// Reads a JSON merge patch: a member is set, null clears it, and one that is absent stays.
///
/// # Errors
/// All that is wrong with the form of the members.
///
/// Source: reg:M1.
pub fn from_json(object: &Map<String, Value>) -> Result<Patch, RpcError> {
    let fields = object
        .iter()
        .map(|(name, value)| (name.as_str(), given(value)));
    Patch::read(fields).map_err(refused)
}

fn given(value: &Value) -> Given<'_> {
    match value {
        Value::Null => Given::Null,
        Value::Bool(flag) => Given::Flag(*flag),
        Value::Number(number) => number.as_f64().map_or(Given::Other, Given::Number),
        Value::String(text) => Given::Text(text),
        Value::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            texts.map_or(Given::Other, Given::Texts)
        },
        Value::Object(_) => Given::Other,
    }
}

/// The refusal of a patch, with all that is wrong: bad fields where any field is, else the state of
/// the session that forbids it. `faults` must not be empty.
pub fn refused(faults: Vec<Fault>) -> RpcError {
    let reason = faults.iter().map(reason).reduce(|one, other| {
        if one == other {
            one
        } else {
            Reason::InvalidArgument
        }
    });
    let mut error = RpcError::invalid(faults.into_iter().map(violation).collect());
    error.reason = reason.unwrap_or(error.reason);
    error
}

/// Source: reg:M14, reg:M15.
fn reason(fault: &Fault) -> Reason {
    match (fault.kind, fault.field.as_str()) {
        (FaultKind::Conflict, "pinned") => Reason::SessionArchived,
        (FaultKind::Conflict, "archived") => Reason::SessionBusy,
        (FaultKind::Conflict | FaultKind::Invalid, _) => Reason::InvalidArgument,
    }
}

/// A fault as it is told; one of an unknown field with the name that may have been meant.
fn violation(fault: Fault) -> Violation {
    let known = Patch::FIELDS.contains(&fault.field.as_str());
    let hint = nearest(&camel(&fault.field), Patch::FIELDS).filter(|_| !known);
    let description = match hint {
        Some(name) => format!("{}; did you mean {name}?", fault.message),
        None => fault.message,
    };
    Violation::new(fault.field, description)
}

/// `send_policy` as `sendPolicy`; what is in camel case stays so.
fn camel(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut begins = false;
    for character in name.chars() {
        match (character, begins) {
            ('_', _) => begins = true,
            (_, true) => {
                camel.push(character.to_ascii_uppercase());
                begins = false;
            },
            (_, false) => camel.push(character),
        }
    }
    camel
}

/// `sendPolicy` as `send_policy`.
fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}
