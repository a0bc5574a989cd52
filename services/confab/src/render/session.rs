//! One session as people and programs see it.
//!
//! Source: reg:L21.

use confab_model::channel::ChatType;
use confab_model::clock::Timestamp;
use confab_model::key::SessionKind;
use confab_proto::types::v1::{Origin, SendPolicy, Session};

use super::json::Fields;
use super::paint::{Paint, Tone, tone_of};
use super::records::{route, word};
use super::table::{Field, card};
use super::time::{ago, moment, span};
use crate::exit::Failure;

/// A row for programs: as the tool `sessions_list` shows it, and then what a patch can set beside.
///
/// # Errors
/// When the registry told something that no session can be.
pub fn record(session: &Session) -> Result<Fields, Failure> {
    let list = |tools: &[String]| (!tools.is_empty()).then(|| tools.to_vec());
    let row = Fields::from(confab_tools::session_row(session, None)?);
    Ok(row
        .put_some(
            "spawnedWorkspaceDir",
            session.spawned_workspace_dir.as_deref(),
        )
        .put_some("spawnedCwd", session.spawned_cwd.as_deref())
        .put_some("spawnMode", session.spawn_mode.as_deref())
        .put_some("inheritedToolAllow", list(&session.inherited_tool_allow))
        .put_some("inheritedToolDeny", list(&session.inherited_tool_deny)))
}

/// A name and what stands behind it; without a value, neither is shown.
type Entry = (&'static str, Option<Field>);

/// One session with every field that is set.
pub fn card_of(session: &Session, paint: Paint, now: Timestamp) -> String {
    let fields = [
        identity(session),
        place(session),
        lineage(session),
        last_run(session, now),
        settings(session),
        history(session, now),
    ];
    card(&fields.concat(), paint)
}

fn identity(session: &Session) -> Vec<Entry> {
    let chat = word(session.chat_type, ChatType::as_str);
    let title = some(session.display_name.as_deref());
    vec![
        (
            "fault",
            session
                .fault
                .as_deref()
                .map(|fault| Field::toned(Tone::Bad, fault)),
        ),
        (
            "session",
            Some(Field::toned(Tone::Actor, session.display_key.as_str())),
        ),
        ("sessionId", filled(&session.session_id)),
        ("agent", filled(&session.agent_id)),
        ("kind", filled(word(session.kind, SessionKind::as_str))),
        ("channel", filled(&session.channel)),
        ("chat", filled(chat).filter(|_| chat != "-")),
        ("label", some(session.label.as_deref())),
        (
            "title",
            title.filter(|_| session.display_name != session.label),
        ),
        ("category", some(session.category.as_deref())),
        ("unread", flag(session.unread)),
    ]
}

fn place(session: &Session) -> Vec<Entry> {
    let answers = session.delivery_context.as_ref().map(route);
    vec![
        ("origin", session.origin.as_ref().and_then(origin)),
        ("answers go", answers.map(Field::plain)),
        ("sandboxed", flag(session.sandboxed)),
        ("transcript", some(session.transcript_path.as_deref())),
    ]
}

fn lineage(session: &Session) -> Vec<Entry> {
    vec![
        ("spawned by", some(session.spawned_by.as_deref())),
        ("spawned for", some(session.spawn_mode.as_deref())),
        ("depth", number(session.spawn_depth)),
        ("role", some(session.subagent_role.as_deref())),
        ("controls", some(session.subagent_control_scope.as_deref())),
        ("workspace", some(session.spawned_workspace_dir.as_deref())),
        ("directory", some(session.spawned_cwd.as_deref())),
        ("may use", list(&session.inherited_tool_allow)),
        ("may not use", list(&session.inherited_tool_deny)),
        ("hangs under", some(session.parent_session_key.as_deref())),
        ("spawned", list(&session.child_sessions)),
    ]
}

fn last_run(session: &Session, now: Timestamp) -> Vec<Entry> {
    let status = session.status.as_deref();
    let tokens = [
        ("in", session.input_tokens),
        ("out", session.output_tokens),
        ("of the last call", session.total_tokens),
        ("at most", session.context_tokens),
    ];
    let tokens: Vec<String> = tokens
        .into_iter()
        .filter_map(|(what, count)| Some(format!("{} {what}", count?)))
        .collect();
    vec![
        (
            "last run",
            status.map(|word| Field::toned(tone_of(word), word)),
        ),
        ("run", some(session.last_run_id.as_deref())),
        ("started", told(session.started_at.as_ref(), now)),
        ("ended", told(session.ended_at.as_ref(), now)),
        (
            "took",
            session.runtime_ms.map(|millis| Field::plain(span(millis))),
        ),
        ("aborted", session.aborted_last_run.and_then(flag)),
        ("tokens", filled(&tokens.join(", "))),
        (
            "cost",
            session
                .estimated_cost_usd
                .map(|cost| Field::plain(format!("{cost:.4} USD"))),
        ),
        ("prompt sent", session.system_sent.and_then(flag)),
    ]
}

fn settings(session: &Session) -> Vec<Entry> {
    vec![
        ("model", some(session.model.as_deref())),
        ("own model", some(session.model_override.as_deref())),
        ("send policy", send_policy(session.send_policy())),
        ("thinking", some(session.thinking_level.as_deref())),
        ("fast", some(session.fast_mode.as_deref())),
        ("verbose", some(session.verbose_level.as_deref())),
        ("trace", some(session.trace_level.as_deref())),
        ("reasoning", some(session.reasoning_level.as_deref())),
        ("elevated", some(session.elevated_level.as_deref())),
        ("usage", some(session.response_usage.as_deref())),
        ("activation", some(session.group_activation.as_deref())),
        ("exec host", some(session.exec_host.as_deref())),
        ("exec security", some(session.exec_security.as_deref())),
        ("exec ask", some(session.exec_ask.as_deref())),
        ("exec node", some(session.exec_node.as_deref())),
    ]
}

fn history(session: &Session, now: Timestamp) -> Vec<Entry> {
    let version = Some(session.state_version).filter(|version| *version > 0);
    vec![
        ("made", told(session.created_at.as_ref(), now)),
        ("moved", told(session.updated_at.as_ref(), now)),
        ("reset", reset(session, now)),
        (
            "person wrote",
            told(session.last_interaction_at.as_ref(), now),
        ),
        ("read", told(session.last_read_at.as_ref(), now)),
        (
            "marked unread",
            told(session.marked_unread_at.as_ref(), now),
        ),
        ("pinned", told(session.pinned_at.as_ref(), now)),
        ("archived", told(session.archived_at.as_ref(), now)),
        ("state", number(version)),
    ]
}

/// When the present generation began, unless that is when the session was made.
fn reset(session: &Session, now: Timestamp) -> Option<Field> {
    let began = session.session_started_at.as_ref();
    told(began, now).filter(|_| began != session.created_at.as_ref())
}

fn origin(origin: &Origin) -> Option<Field> {
    let parts = [
        ("", origin.provider.as_deref()),
        ("account=", origin.account_id.as_deref()),
        ("thread=", origin.thread_id.as_deref()),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}{}", value?)))
        .collect();
    filled(&parts.join(" "))
}

fn send_policy(policy: SendPolicy) -> Option<Field> {
    match policy {
        SendPolicy::Unspecified => None,
        SendPolicy::Allow => Some(Field::plain("allow")),
        SendPolicy::Deny => Some(Field::plain("deny")),
    }
}

fn some(text: Option<&str>) -> Option<Field> {
    text.map(Field::plain)
}

fn filled(text: &str) -> Option<Field> {
    some(Some(text).filter(|text| !text.is_empty()))
}

fn flag(set: bool) -> Option<Field> {
    set.then(|| Field::plain("yes"))
}

fn number(value: Option<impl ToString>) -> Option<Field> {
    value.map(|value| Field::plain(value.to_string()))
}

fn list(items: &[String]) -> Option<Field> {
    filled(&items.join(", "))
}

fn told(wire: Option<&prost_types::Timestamp>, now: Timestamp) -> Option<Field> {
    moment(wire).map(|then| Field::plain(ago(Some(then), now)))
}

#[cfg(test)]
mod tests;
