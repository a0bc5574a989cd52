//! A row of another index as a session of ours.
//!
//! What is understood is taken over, what is understood and wrong is left out and told, and what is
//! not understood is counted by its name.
//!
//! Source: reg:M18, reg:M19, reg:M20, reg:M21, reg:M23, run:T1.

mod fields;
#[cfg(test)]
mod tests;

use confab_model::channel::ChatType;
use confab_model::id::{AgentId, SessionId};
use confab_model::key::SessionKey;
use confab_model::session::levels::{
    ElevatedLevel, ExecAsk, ExecHost, ExecSecurity, GroupActivation, ReasoningLevel, ResponseUsage,
    SpawnMode, ThinkingLevel, TraceLevel, VerboseLevel,
};
use confab_model::session::{Label, SendAction};
use confab_proto::types::v1::{Origin, Route, Session};
use confab_rpc::wire::enums::Numbered;
use serde_json::{Map, Value};

use self::fields::Fields;
pub(super) use self::fields::storable;

/// A row, taken over.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mapped {
    /// Its key.
    pub key: SessionKey,
    /// The session.
    pub session: Session,
    /// Other generations that the row names, in its order.
    pub named: Vec<String>,
    /// Where its transcript is said to lie.
    pub session_file: Option<String>,
    /// The thread it last answered in.
    pub thread: Option<String>,
    /// What is understood and could not be taken over, a sentence each.
    pub left_out: Vec<String>,
    /// Names of the fields that are not understood.
    pub passed_over: Vec<String>,
}

/// Reads a row that stands under `key` in the index of `agent`.
///
/// # Errors
/// When it has no usable key or sessionId.
pub(super) fn read(agent: &AgentId, key: &str, row: &Map<String, Value>) -> Result<Mapped, String> {
    let key = full_key(agent, key)?;
    let mut fields = Fields::of(row);
    let Some(session_id) = fields.text("sessionId") else {
        return Err("it has no sessionId".to_owned());
    };
    let session_id = SessionId::parse(session_id).map_err(|error| error.to_string())?;
    let session = Session {
        key: key.to_string(),
        session_id: session_id.to_string(),
        ..Session::default()
    };
    let session = with_times(session, &mut fields);
    let session = with_names(session, &mut fields);
    let session = with_places(session, &mut fields);
    let session = with_lineage(session, agent, &mut fields);
    let session = with_levels(session, &mut fields);
    let session = with_commands(session, &mut fields);
    let session = with_model(session, &mut fields);
    let named = fields.texts("usageFamilySessionIds");
    let session_file = fields.text("sessionFile");
    let thread = fields.text_or_number("lastThreadId");
    let (left_out, passed_over) = fields.rest();
    Ok(Mapped {
        key,
        named: named
            .into_iter()
            .filter(|id| *id != session.session_id)
            .collect(),
        session,
        session_file,
        thread,
        left_out,
        passed_over,
    })
}

/// The full key that is meant: a short form belongs to the agent of the index.
///
/// # Errors
/// When it is malformed.
///
/// Source: D3, D4.
pub(super) fn full_key(agent: &AgentId, raw: &str) -> Result<SessionKey, String> {
    let trimmed = raw.trim();
    let is_full = trimmed
        .get(.."agent:".len())
        .is_some_and(|start| start.eq_ignore_ascii_case("agent:"));
    let parsed = if is_full || trimmed.eq_ignore_ascii_case("global") {
        SessionKey::parse(trimmed)
    } else {
        SessionKey::parse(&format!("agent:{agent}:{trimmed}"))
    };
    parsed.map_err(|error| error.to_string())
}

fn with_times(session: Session, fields: &mut Fields<'_>) -> Session {
    let updated_at = fields.moment("updatedAt");
    let session_started_at = fields.moment("sessionStartedAt");
    let created_at = fields.moment("createdAt");
    // A flag without its moment was set when the row was last written, at the latest.
    let flagged = |on: Option<bool>| updated_at.filter(|_| on == Some(true));
    let archived_at = fields.moment("archivedAt");
    let archived = fields.flag("archived");
    let pinned_at = fields.moment("pinnedAt");
    let pinned = fields.flag("pinned");
    Session {
        updated_at,
        created_at: created_at.or(session_started_at).or(updated_at),
        session_started_at,
        archived_at: archived_at.or_else(|| flagged(archived)),
        pinned_at: pinned_at.or_else(|| flagged(pinned)),
        ..session
    }
}

fn with_names(session: Session, fields: &mut Fields<'_>) -> Session {
    let label = fields.text("label");
    let label = label.and_then(|label| match Label::parse(&label) {
        Ok(label) => Some(label.as_str().to_owned()),
        Err(error) => {
            fields.leave_out("label", &error.to_string());
            None
        },
    });
    Session {
        label,
        category: fields.text("category"),
        ..session
    }
}

/// An address is taken whole or not at all; nothing of one completes another.
///
/// Source: D32.
fn with_places(session: Session, fields: &mut Fields<'_>) -> Session {
    let stored = stored_route(fields);
    let last = route(
        fields.text("lastChannel"),
        fields.text("lastTo"),
        fields.text("lastAccountId"),
        fields.text_or_number("lastThreadId"),
    );
    let origin = fields.inner("origin").map(|mut inner| Origin {
        provider: inner.text("provider").or_else(|| inner.text("surface")),
        account_id: inner.text("accountId"),
        thread_id: inner.text_or_number("threadId"),
    });
    let chat_type = fields.word("chatType", ChatType::parse);
    Session {
        delivery_context: stored.or(last),
        origin: origin.filter(|origin| *origin != Origin::default()),
        chat_type: chat_type.map_or(0, Numbered::number),
        ..session
    }
}

/// The address that a row has whole in one place.
fn stored_route(fields: &mut Fields<'_>) -> Option<Route> {
    let mut inner = fields.inner("deliveryContext")?;
    let (channel, to) = (inner.text("channel"), inner.text("to"));
    if channel.is_some() != to.is_some() {
        let missing = if to.is_none() { "to" } else { "channel" };
        let why = format!("it has no {missing}, and half an address is none");
        fields.leave_out("deliveryContext", &why);
    }
    route(
        channel,
        to,
        inner.text("accountId"),
        inner.text_or_number("threadId"),
    )
}

fn route(
    channel: Option<String>,
    to: Option<String>,
    account_id: Option<String>,
    thread_id: Option<String>,
) -> Option<Route> {
    Some(Route {
        channel: channel?,
        to: to?,
        account_id,
        thread_id,
    })
}

fn with_lineage(session: Session, agent: &AgentId, fields: &mut Fields<'_>) -> Session {
    let spawner = fields.text("spawnedBy");
    let spawned_by = spawner.and_then(|key| match full_key(agent, &key) {
        Ok(key) => Some(key.to_string()),
        Err(error) => {
            fields.leave_out("spawnedBy", &error);
            None
        },
    });
    let depth = fields.count("spawnDepth");
    let told = fields.flag("sandboxed");
    let report = fields.inner("systemPromptReport");
    let last_run = report
        .and_then(|mut report| report.inner("sandbox"))
        .and_then(|mut sandbox| sandbox.flag("sandboxed"));
    let mode = fields.word("spawnMode", SpawnMode::parse);
    Session {
        spawned_by,
        spawn_depth: depth.and_then(|depth| i32::try_from(depth).ok()),
        sandboxed: told.or(last_run).unwrap_or_default(),
        spawn_mode: mode.map(|mode| mode.as_str().to_owned()),
        ..session
    }
}

fn with_levels(session: Session, fields: &mut Fields<'_>) -> Session {
    let send_policy = fields.word("sendPolicy", SendAction::parse);
    Session {
        thinking_level: fields.level::<ThinkingLevel>("thinkingLevel"),
        verbose_level: fields.level::<VerboseLevel>("verboseLevel"),
        reasoning_level: fields.level::<ReasoningLevel>("reasoningLevel"),
        elevated_level: fields.level::<ElevatedLevel>("elevatedLevel"),
        trace_level: fields.level::<TraceLevel>("traceLevel"),
        response_usage: fields.level::<ResponseUsage>("responseUsage"),
        group_activation: fields.level::<GroupActivation>("groupActivation"),
        fast_mode: fields.fast_mode("fastMode"),
        send_policy: send_policy.map_or(0, Numbered::number),
        ..session
    }
}

/// Where and how its commands run. A restriction that has no place here is never dropped in silence.
///
/// Source: reg:M8, reg:M21.
fn with_commands(session: Session, fields: &mut Fields<'_>) -> Session {
    for name in ["inheritedToolAllow", "inheritedToolDeny"] {
        let why = "which tools a session inherits is not imported; restrict the tools of its agent";
        fields.leave_out_list(name, why);
    }
    Session {
        exec_host: fields.level::<ExecHost>("execHost"),
        exec_security: fields.level::<ExecSecurity>("execSecurity"),
        exec_ask: fields.level::<ExecAsk>("execAsk"),
        exec_node: fields.text("execNode"),
        ..session
    }
}

fn with_model(session: Session, fields: &mut Fields<'_>) -> Session {
    let total_tokens = fields.count("totalTokens");
    // A count that the index itself calls stale is unknown.
    let is_fresh = fields.flag("totalTokensFresh").unwrap_or(true);
    Session {
        model: fields.text("model"),
        model_override: model_override(fields),
        input_tokens: fields.count("inputTokens"),
        output_tokens: fields.count("outputTokens"),
        total_tokens: total_tokens.filter(|_| is_fresh),
        ..session
    }
}

/// The model that somebody chose. One that the system fell back to for a while is nobody's choice.
///
/// Source: reg:C6.
fn model_override(fields: &mut Fields<'_>) -> Option<String> {
    let provider = fields.text("providerOverride");
    let source = fields.text("modelOverrideSource");
    let model = fields.text("modelOverride")?;
    if source.as_deref() == Some("auto") {
        fields.leave_out(
            "modelOverride",
            "the system fell back to it, nobody chose it",
        );
        return None;
    }
    match provider {
        Some(provider) if !model.starts_with(&format!("{provider}/")) => {
            Some(format!("{provider}/{model}"))
        },
        Some(_) | None => Some(model),
    }
}
