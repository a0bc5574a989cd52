//! One row of a list, as reg:L21 names its fields.

use confab_model::key::SessionKind;
use confab_proto::types::v1::{Origin, SendPolicy, Session};
use confab_rpc::error::RpcError;
use confab_rpc::wire::WireError;
use confab_rpc::wire::enums::Numbered as _;
use serde_json::{Map, Value};

use crate::object::Object;
use crate::shown::{self, Asker, millis};

/// The words a row's status can be (reg:L25).
const STATUSES: [&str; 5] = ["running", "done", "failed", "killed", "timeout"];

/// The row of `session` as the session `asker` sees it, or an operator, without anything that lies in
/// the transcript: what `sessions_list` shows, for whoever else shows sessions.
///
/// # Errors
/// When the registry told something that no session can be.
pub fn session_row(session: &Session, asker: Asker<'_>) -> Result<Map<String, Value>, RpcError> {
    of(session, asker).map(Object::into_map)
}

/// The row of `session` as `asker` sees it, without anything that lies in the transcript.
///
/// # Errors
/// When the registry told something that no session can be.
///
/// Source: contract, D1, D2, reg:L21, reg:L24, reg:L26, reg:L29.
pub(crate) fn of(session: &Session, asker: Asker<'_>) -> Result<Object, RpcError> {
    let kind = SessionKind::of(session.kind).ok_or(WireError::UnknownNumber {
        field: "session.kind",
        number: session.kind,
    })?;
    let called = |key: Option<&str>| key.map(|key| shown::key(key, asker));
    let row = Object::default()
        .set("key", session.display_key.as_str())
        .set_text("agentId", &session.agent_id)
        .set("kind", kind.as_str())
        .set("channel", session.channel.as_str())
        .set_if("origin", session.origin.as_ref().and_then(origin))
        .set_if("spawnedBy", called(session.spawned_by.as_deref()))
        .set_if("label", session.label.as_deref())
        .set_if("displayName", display_name(session))
        .set_if(
            "parentSessionKey",
            called(session.parent_session_key.as_deref()),
        )
        .set_if(
            "deliveryContext",
            session.delivery_context.as_ref().map(shown::route),
        );
    let row = set_run(set_life(row, session)?, session, asker)?;
    let row = set_route(set_settings(row, session), session);
    Ok(set_further(row, session).set_if("fault", session.fault.as_deref()))
}

/// The name to show: what people call it, else what the registry knows as the title of its chat.
///
/// Source: reg:L28.
pub(super) fn display_name(session: &Session) -> Option<&str> {
    [session.label.as_deref(), session.display_name.as_deref()]
        .into_iter()
        .flatten()
        .find(|name| !name.trim().is_empty())
}

fn set_life(row: Object, session: &Session) -> Result<Object, RpcError> {
    let updated_at = millis(session.updated_at, "session.updated_at")?;
    let archived_at = millis(session.archived_at, "session.archived_at")?;
    let pinned_at = millis(session.pinned_at, "session.pinned_at")?;
    Ok(row
        .set_if("updatedAt", updated_at)
        .set("archived", archived_at.is_some())
        .set_if("archivedAt", archived_at)
        .set("pinned", pinned_at.is_some())
        .set_if("pinnedAt", pinned_at)
        .set_text("sessionId", &session.session_id)
        .set_if(
            "stateVersion",
            (session.state_version > 0).then_some(session.state_version),
        ))
}

/// The model is the one that ran last, and before the first run the one that would; `modelOverride`
/// tells the session's own choice beside it.
///
/// Source: reg:L25, reg:L30, reg:L32, reg:L33, B132, B190.
fn set_run(row: Object, session: &Session, asker: Asker<'_>) -> Result<Object, RpcError> {
    let children = session.child_sessions.iter();
    let children: Vec<Value> = children.map(|key| shown::key(key, asker).into()).collect();
    let own = session.model_override.as_deref();
    let status = session.status.as_deref();
    Ok(row
        .set_if("model", session.model.as_deref().or(own))
        .set_if("contextTokens", session.context_tokens)
        .set_if("totalTokens", session.total_tokens)
        .set_if("estimatedCostUsd", session.estimated_cost_usd)
        .set_if("status", status.filter(|word| STATUSES.contains(word)))
        .set_if(
            "startedAt",
            millis(session.started_at, "session.started_at")?,
        )
        .set_if("endedAt", millis(session.ended_at, "session.ended_at")?)
        .set_if("runtimeMs", session.runtime_ms)
        .set_if("childSessions", (!children.is_empty()).then_some(children)))
}

fn set_settings(row: Object, session: &Session) -> Object {
    row.set_if("thinkingLevel", session.thinking_level.as_deref())
        .set_if("fastMode", session.fast_mode.as_deref().map(switch))
        .set_if("verboseLevel", session.verbose_level.as_deref())
        .set_if("reasoningLevel", session.reasoning_level.as_deref())
        .set_if("elevatedLevel", session.elevated_level.as_deref())
        .set_if("responseUsage", session.response_usage.as_deref())
        .set_if("systemSent", session.system_sent)
        .set_if("abortedLastRun", session.aborted_last_run)
        .set_if("sendPolicy", send_policy(session.send_policy()))
}

/// The last route is the delivery context, field by field.
///
/// Source: D58, reg:L27, reg:L31.
fn set_route(row: Object, session: &Session) -> Object {
    let route = session.delivery_context.as_ref();
    row.set_if("lastChannel", route.map(|route| route.channel.as_str()))
        .set_if("lastTo", route.map(|route| route.to.as_str()))
        .set_if(
            "lastAccountId",
            route.and_then(|route| route.account_id.as_deref()),
        )
        .set_if("transcriptPath", session.transcript_path.as_deref())
}

/// What a patch can set beyond reg:L21, and where the session stands among spawned ones.
///
/// Source: D58, reg:M6, reg:M7, reg:M10, reg:M17, reg:M20, reg:M21, reg:M23, B191.
fn set_further(row: Object, session: &Session) -> Object {
    row.set_if("modelOverride", session.model_override.as_deref())
        .set_if("traceLevel", session.trace_level.as_deref())
        .set_if("groupActivation", session.group_activation.as_deref())
        .set_if("category", session.category.as_deref())
        .set_if("unread", session.unread.then_some(true))
        .set_if("execHost", session.exec_host.as_deref())
        .set_if("execSecurity", session.exec_security.as_deref())
        .set_if("execAsk", session.exec_ask.as_deref())
        .set_if("execNode", session.exec_node.as_deref())
        .set_if("spawnDepth", session.spawn_depth)
        .set_if("subagentRole", session.subagent_role.as_deref())
        .set_if(
            "subagentControlScope",
            session.subagent_control_scope.as_deref(),
        )
}

fn origin(origin: &Origin) -> Option<Value> {
    Object::default()
        .set_if("provider", origin.provider.as_deref())
        .set_if("accountId", origin.account_id.as_deref())
        .into_filled()
}

/// `true` and `false` are truth values in JSON, any other word is a word (reg:M20).
fn switch(word: &str) -> Value {
    match word {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        word => Value::from(word),
    }
}

const fn send_policy(policy: SendPolicy) -> Option<&'static str> {
    match policy {
        SendPolicy::Unspecified => None,
        SendPolicy::Allow => Some("allow"),
        SendPolicy::Deny => Some("deny"),
    }
}
