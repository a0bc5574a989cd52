//! The fields that an import keeps, as a sentence speaks of them.

use confab_model::channel::ChatType;
use confab_model::session::{SendAction, Session};
use confab_proto::types::v1 as proto;
use confab_rpc::wire::enums::Numbered;
use confab_rpc::wire::session::{Perspective, to_proto};

/// Most characters of a value that a sentence repeats.
const SHOWN_CHARS_MAX: usize = 80;

/// What a row holds in one field; absent where it holds nothing.
type Show = fn(&proto::Session) -> Option<String>;

/// Every field that an import keeps, beside the key and the sessionIds.
const FIELDS: &[(&str, Show)] = &[
    ("label", |row| row.label.clone()),
    ("category", |row| row.category.clone()),
    ("spawnedBy", |row| row.spawned_by.clone()),
    ("spawnDepth", |row| number(row.spawn_depth)),
    ("spawnMode", |row| row.spawn_mode.clone()),
    ("sandboxed", |row| Some(row.sandboxed.to_string())),
    ("chatType", |row| {
        enumerated(row.chat_type, ChatType::as_str)
    }),
    ("origin.provider", |row| row.origin.clone()?.provider),
    ("origin.accountId", |row| row.origin.clone()?.account_id),
    ("origin.threadId", |row| row.origin.clone()?.thread_id),
    ("deliveryContext", |row| {
        row.delivery_context.as_ref().map(route)
    }),
    ("createdAt", |row| row.created_at.map(|at| at.to_string())),
    ("updatedAt", |row| row.updated_at.map(|at| at.to_string())),
    ("sessionStartedAt", |row| {
        row.session_started_at.map(|at| at.to_string())
    }),
    ("archivedAt", |row| row.archived_at.map(|at| at.to_string())),
    ("pinnedAt", |row| row.pinned_at.map(|at| at.to_string())),
    ("model", |row| row.model.clone()),
    ("totalTokens", |row| number(row.total_tokens)),
    ("inputTokens", |row| number(row.input_tokens)),
    ("outputTokens", |row| number(row.output_tokens)),
    ("modelOverride", |row| row.model_override.clone()),
    ("thinkingLevel", |row| row.thinking_level.clone()),
    ("fastMode", |row| row.fast_mode.clone()),
    ("verboseLevel", |row| row.verbose_level.clone()),
    ("traceLevel", |row| row.trace_level.clone()),
    ("reasoningLevel", |row| row.reasoning_level.clone()),
    ("responseUsage", |row| row.response_usage.clone()),
    ("elevatedLevel", |row| row.elevated_level.clone()),
    ("execHost", |row| row.exec_host.clone()),
    ("execSecurity", |row| row.exec_security.clone()),
    ("execAsk", |row| row.exec_ask.clone()),
    ("execNode", |row| row.exec_node.clone()),
    ("sendPolicy", |row| {
        enumerated(row.send_policy, SendAction::as_str)
    }),
    ("groupActivation", |row| row.group_activation.clone()),
];

/// One sentence for each field in which `wanted` is not what is `stored`.
pub(super) fn differences(stored: &Session, wanted: &Session) -> Vec<String> {
    let whole = Perspective::default();
    let (stored, wanted) = (to_proto(stored, &whole), to_proto(wanted, &whole));
    FIELDS
        .iter()
        .filter_map(|(field, show)| {
            let (stored, wanted) = (show(&stored), show(&wanted));
            (stored != wanted).then(|| differs(field, stored.as_deref(), wanted.as_deref()))
        })
        .collect()
}

/// That a field is stored otherwise than it was given.
pub(super) fn differs(field: &str, stored: Option<&str>, given: Option<&str>) -> String {
    let said = |value: Option<&str>| value.map_or_else(|| "nothing".to_owned(), quoted);
    format!(
        "{field} is stored as {}, and {} was given",
        said(stored),
        said(given)
    )
}

/// That a field of `given` is not kept, and why.
pub(crate) fn not_kept(given: &proto::Session, field: &str, why: &str) -> String {
    let known = FIELDS.iter().find(|(name, _)| *name == field);
    match known.and_then(|(_, show)| show(given)) {
        Some(value) => format!("{field} {} is not kept: {why}", quoted(&value)),
        None => format!("{field} is not kept: {why}"),
    }
}

/// A value in quotation marks, cut where it is long; control characters are escaped.
pub(super) fn quoted(value: &str) -> String {
    let mut shown: String = value.chars().take(SHOWN_CHARS_MAX).collect();
    if shown.len() < value.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

fn number<T: ToString>(number: Option<T>) -> Option<String> {
    number.map(|number| number.to_string())
}

/// The word of a value, or its number where this version has no word for it.
fn enumerated<T: Numbered>(number: i32, word: fn(T) -> &'static str) -> Option<String> {
    if number == 0 {
        return None;
    }
    Some(T::of(number).map_or_else(|| number.to_string(), |value| word(value).to_owned()))
}

fn route(route: &proto::Route) -> String {
    let parts = [
        Some(route.channel.as_str()),
        Some(route.to.as_str()),
        route.account_id.as_deref(),
        route.thread_id.as_deref(),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
