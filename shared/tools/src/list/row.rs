//! One row of a list, as reg:L21 names its fields.

use confab_model::clock::Timestamp;
use confab_model::key::{SessionKey, SessionKind};
use confab_proto::types::v1::{Origin, Route, SendPolicy, Session};
use confab_rpc::error::RpcError;
use confab_rpc::wire::enums::Numbered as _;
use confab_rpc::wire::{WireError, time};
use serde_json::{Map, Value};

use crate::object::Object;

/// The session that asks; absent for operators.
type Asker<'a> = Option<&'a SessionKey>;

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
/// Source: contract, D1, reg:L21, reg:L24, reg:L25, reg:L26, reg:L27, reg:L30, reg:L31, reg:L33.
pub(crate) fn of(session: &Session, asker: Asker<'_>) -> Result<Object, RpcError> {
    let kind = SessionKind::of(session.kind).ok_or(WireError::UnknownNumber {
        field: "session.kind",
        number: session.kind,
    })?;
    let row = Object::default()
        .set("key", session.display_key.as_str())
        .set_text("agentId", &session.agent_id)
        .set("kind", kind.as_str())
        .set("channel", session.channel.as_str())
        .set_if("origin", session.origin.as_ref().and_then(origin))
        .set_if("spawnedBy", shown(session.spawned_by.as_deref(), asker)?)
        .set_if("label", session.label.as_deref())
        .set_if("displayName", session.display_name.as_deref())
        .set_if(
            "parentSessionKey",
            shown(session.parent_session_key.as_deref(), asker)?,
        )
        .set_if(
            "deliveryContext",
            session.delivery_context.as_ref().map(route),
        );
    let row = set_life(row, session)?;
    let row = set_run(row, session, asker)?;
    Ok(set_route(set_settings(row, session), session))
}

fn set_life(row: Object, session: &Session) -> Result<Object, RpcError> {
    let archived_at = millis(session.archived_at, "session.archived_at")?;
    let pinned_at = millis(session.pinned_at, "session.pinned_at")?;
    Ok(row
        .set_if(
            "updatedAt",
            millis(session.updated_at, "session.updated_at")?,
        )
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

fn set_run(row: Object, session: &Session, asker: Asker<'_>) -> Result<Object, RpcError> {
    let children = session
        .child_sessions
        .iter()
        .map(|key| display(key, asker).map(Value::from));
    let children = children.collect::<Result<Vec<Value>, RpcError>>()?;
    let status = session
        .status
        .as_deref()
        .filter(|word| STATUSES.contains(word));
    Ok(row
        .set_if(
            "model",
            session
                .model_override
                .as_deref()
                .or(session.model.as_deref()),
        )
        .set_if("contextTokens", session.context_tokens)
        .set_if("totalTokens", session.total_tokens)
        .set_if("estimatedCostUsd", session.estimated_cost_usd)
        .set_if("status", status)
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

/// The last route is the delivery context, field by field (reg:L27).
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

fn origin(origin: &Origin) -> Option<Value> {
    Object::default()
        .set_if("provider", origin.provider.as_deref())
        .set_if("accountId", origin.account_id.as_deref())
        .into_filled()
}

fn route(route: &Route) -> Value {
    Object::default()
        .set("channel", route.channel.as_str())
        .set("to", route.to.as_str())
        .set_if("accountId", route.account_id.as_deref())
        .set_if("threadId", route.thread_id.as_deref())
        .into()
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

fn shown(key: Option<&str>, asker: Asker<'_>) -> Result<Option<String>, RpcError> {
    key.map(|key| display(key, asker)).transpose()
}

/// A key as the caller may call it.
///
/// Source: D1.
fn display(key: &str, asker: Asker<'_>) -> Result<String, RpcError> {
    let parsed = SessionKey::parse(key).map_err(RpcError::internal)?;
    Ok(parsed.display_for(asker).to_owned())
}

fn millis(
    moment: Option<prost_types::Timestamp>,
    field: &'static str,
) -> Result<Option<i64>, RpcError> {
    Ok(time::optional(moment, field)?.map(Timestamp::millis))
}
