//! Sessions: rows of the registry.

use confab_model::channel::row_channel;
use confab_model::id::{RunId, SessionId};
use confab_model::key::SessionKey;
use confab_model::run::RunState;
use confab_model::session::{Label, LastRun, Origin, Session};
use confab_proto::types::v1 as proto;
use prost::Message;

use super::enums::Numbered as _;
use super::{WireError, enums, numbers, route, time};

/// Through whose eyes a row is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Perspective<'a> {
    /// The session that asks; absent for operators and services.
    pub requester: Option<&'a SessionKey>,
}

/// The proto's form of a row.
///
/// Only what the row itself says: the caller fills in `transcript_path`, `child_sessions`,
/// `state_version`, the levels and the like.
pub fn to_proto(session: &Session, perspective: &Perspective<'_>) -> proto::Session {
    let kind = session.key.kind();
    let label = session
        .label
        .as_ref()
        .map(|label| label.as_str().to_owned());
    let spawned_by = session.spawned_by.as_ref().map(ToString::to_string);
    let row = proto::Session {
        key: session.key.to_string(),
        session_id: session.session_id.to_string(),
        agent_id: session
            .key
            .agent_id()
            .map_or_else(String::new, String::from),
        kind: kind.number(),
        channel: channel(session).to_owned(),
        display_key: session.key.display_for(perspective.requester).to_owned(),
        row_version: numbers::to_i64(session.row_version),
        work_epoch: numbers::to_i64(session.work_epoch),
        display_name: label.clone(),
        label,
        parent_session_key: spawned_by.clone(),
        spawned_by,
        sandboxed: session.sandboxed,
        chat_type: enums::optional_number(session.chat_type),
        origin: origin_to_proto(&session.origin),
        delivery_context: session.delivery_context.as_ref().map(route::to_proto),
        created_at: Some(time::to_proto(session.created_at)),
        updated_at: Some(time::to_proto(session.updated_at)),
        archived_at: session.archived_at.map(time::to_proto),
        pinned_at: session.pinned_at.map(time::to_proto),
        ..proto::Session::default()
    };
    match &session.last_run {
        Some(run) => with_last_run(row, run),
        None => row,
    }
}

/// The channel a row shows: what first spoke to it, else where its answers go, else its key's.
///
/// Source: reg:K33, reg:K34.
pub fn channel(session: &Session) -> &str {
    row_channel(
        session.key.kind(),
        None,
        session.origin.provider.as_deref(),
        session
            .delivery_context
            .as_ref()
            .map(|route| route.channel.as_str()),
        session.key.group_channel(),
    )
}

/// The word a row has for the state of its last run: one of five.
///
/// Source: reg:L25.
pub const fn status_word(state: RunState) -> &'static str {
    match state {
        RunState::Queued | RunState::Running | RunState::Waiting => "running",
        RunState::Succeeded => "done",
        RunState::Failed | RunState::Interrupted => "failed",
        RunState::Cancelled | RunState::Killed => "killed",
        RunState::TimedOut => "timeout",
    }
}

/// The state that a row's word stands for; the most common one where several share it.
fn state_of(word: &str) -> Option<RunState> {
    match word {
        "running" => Some(RunState::Running),
        "done" => Some(RunState::Succeeded),
        "failed" => Some(RunState::Failed),
        "killed" => Some(RunState::Killed),
        "timeout" => Some(RunState::TimedOut),
        _ => None,
    }
}

fn with_last_run(row: proto::Session, run: &LastRun) -> proto::Session {
    let runtime = run
        .ended_at
        .zip(run.started_at)
        .map(|(end, start)| end.millis_since(start));
    proto::Session {
        last_run_id: Some(run.run_id.to_string()),
        status: Some(status_word(run.state).to_owned()),
        aborted_last_run: Some(matches!(run.state, RunState::Cancelled | RunState::Killed)),
        started_at: run.started_at.map(time::to_proto),
        ended_at: run.ended_at.map(time::to_proto),
        runtime_ms: runtime,
        model: run.model.clone(),
        total_tokens: run.total_tokens.map(numbers::to_i64),
        ..row
    }
}

/// Reads a row.
///
/// Several states of a run share one word of a row; what comes back is the state the word stands
/// for ([`pack`] keeps the state itself).
///
/// # Errors
/// When a field is missing or malformed.
pub fn from_proto(wire: proto::Session) -> Result<Session, WireError> {
    let label = wire.label.as_deref().map(Label::parse).transpose();
    Ok(Session {
        last_run: last_run_from_proto(&wire)?,
        key: super::key(&wire.key, "session.key")?,
        session_id: super::parsed(SessionId::parse(wire.session_id), "session.sessionId")?,
        row_version: numbers::from_i64(wire.row_version, "session.rowVersion")?,
        work_epoch: numbers::from_i64(wire.work_epoch, "session.workEpoch")?,
        label: super::parsed(label, "session.label")?,
        spawned_by: super::optional_key(wire.spawned_by.as_deref(), "session.spawnedBy")?,
        sandboxed: wire.sandboxed,
        chat_type: enums::optional_from_proto(wire.chat_type, "session.chatType")?,
        origin: wire.origin.map_or_else(Origin::default, origin_from_proto),
        delivery_context: wire.delivery_context.map(route::from_proto).transpose()?,
        archived_at: time::optional(wire.archived_at, "session.archivedAt")?,
        pinned_at: time::optional(wire.pinned_at, "session.pinnedAt")?,
        created_at: time::required(wire.created_at, "session.createdAt")?,
        updated_at: time::required(wire.updated_at, "session.updatedAt")?,
    })
}

fn last_run_from_proto(wire: &proto::Session) -> Result<Option<LastRun>, WireError> {
    let Some(run_id) = &wire.last_run_id else {
        return Ok(None);
    };
    let word = super::required(wire.status.as_deref(), "session.status")?;
    let state = state_of(word).ok_or_else(|| WireError::UnknownWord {
        field: "session.status",
        word: word.to_owned(),
    })?;
    let total_tokens = wire
        .total_tokens
        .map(|tokens| numbers::from_i64(tokens, "session.totalTokens"));
    Ok(Some(LastRun {
        run_id: super::parsed(RunId::parse(run_id.as_str()), "session.lastRunId")?,
        state,
        started_at: time::optional(wire.started_at, "session.startedAt")?,
        ended_at: time::optional(wire.ended_at, "session.endedAt")?,
        model: wire.model.clone(),
        total_tokens: total_tokens.transpose()?,
    }))
}

fn origin_to_proto(origin: &Origin) -> Option<proto::Origin> {
    let known = origin.provider.is_some() || origin.account_id.is_some();
    known.then(|| proto::Origin {
        provider: origin.provider.clone(),
        account_id: origin.account_id.clone(),
        thread_id: None,
    })
}

fn origin_from_proto(wire: proto::Origin) -> Origin {
    Origin {
        provider: wire.provider,
        account_id: wire.account_id,
    }
}

/// What the registry's packed column holds: the row, and what its public form folds together.
#[derive(Clone, PartialEq, Message)]
struct Packed {
    /// The row as an operator sees it.
    #[prost(message, optional, tag = "1")]
    row: Option<proto::Session>,
    /// The state of its last run, of which the row has a word only; 0 before the first.
    #[prost(enumeration = "proto::RunState", tag = "2")]
    last_run_state: i32,
}

/// The bytes of the registry's packed column; nothing of the row is lost.
pub fn pack(session: &Session) -> Vec<u8> {
    let packed = Packed {
        row: Some(to_proto(session, &Perspective::default())),
        last_run_state: enums::optional_number(session.last_run.as_ref().map(|run| run.state)),
    };
    packed.encode_to_vec()
}

/// Reads the registry's packed column.
///
/// # Errors
/// When the bytes hold no row.
pub fn unpack(bytes: &[u8]) -> Result<Session, WireError> {
    let packed: Packed = super::decoded(bytes, "session")?;
    let mut session = from_proto(super::required(packed.row, "session")?)?;
    let state = enums::optional_from_proto(packed.last_run_state, "session.lastRunState")?;
    if let (Some(run), Some(state)) = (session.last_run.as_mut(), state) {
        run.state = state;
    }
    Ok(session)
}
