//! Sessions: rows of the registry.

mod stored;

use confab_model::channel::row_channel;
use confab_model::id::{RunId, SessionId};
use confab_model::key::SessionKey;
use confab_model::run::RunState;
use confab_model::session::levels::Word;
use confab_model::session::{Label, LastRun, Origin, SendAction, Session, Spawn, Tuning};
use confab_proto::types::v1 as proto;
use prost::Message;

use super::enums::Numbered;
use super::{WireError, enums, numbers, route, time};

pub use self::stored::{StoredRow, unpack_row};

/// Through whose eyes a row is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Perspective<'a> {
    /// The session that asks; absent for operators and services.
    pub requester: Option<&'a SessionKey>,
}

/// The proto's form of a row.
///
/// Only what the row itself says: the caller fills in `transcript_path`, `child_sessions`,
/// `context_tokens`, `fault` and the like. Whether the system prompt was sent is told by whether a
/// run has begun in the present generation.
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
        state_version: numbers::to_i64(session.state_version),
        system_sent: Some(has_begun(session)),
        category: session.category.clone(),
        unread: session.is_unread(),
        marked_unread_at: session.marked_unread_at.map(time::to_proto),
        last_read_at: session.last_read_at.map(time::to_proto),
        session_started_at: Some(time::to_proto(session.session_started_at)),
        last_interaction_at: session.last_interaction_at.map(time::to_proto),
        ..proto::Session::default()
    };
    let row = with_spawn(with_tuning(row, &session.tuning), &session.spawn);
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

/// Whether a run has begun in the present generation.
fn has_begun(session: &Session) -> bool {
    let run = session.last_run.as_ref();
    run.is_some_and(|run| run.started_at.is_some())
}

fn word<T: Word>(value: Option<T>) -> Option<String> {
    value.map(|value| value.word().to_owned())
}

fn with_tuning(row: proto::Session, tuning: &Tuning) -> proto::Session {
    proto::Session {
        model_override: tuning.model.clone(),
        thinking_level: word(tuning.thinking_level),
        verbose_level: word(tuning.verbose_level),
        trace_level: word(tuning.trace_level),
        reasoning_level: word(tuning.reasoning_level),
        response_usage: word(tuning.response_usage),
        elevated_level: word(tuning.elevated_level),
        fast_mode: word(tuning.fast_mode),
        exec_host: word(tuning.exec_host),
        exec_security: word(tuning.exec_security),
        exec_ask: word(tuning.exec_ask),
        exec_node: tuning.exec_node.clone(),
        send_policy: enums::optional_number(tuning.send_policy),
        group_activation: word(tuning.group_activation),
        ..row
    }
}

fn with_spawn(row: proto::Session, spawn: &Spawn) -> proto::Session {
    proto::Session {
        spawn_depth: spawn.depth.map(numbers::to_i32),
        spawn_mode: word(spawn.mode),
        subagent_role: word(spawn.role),
        subagent_control_scope: word(spawn.control_scope),
        spawned_workspace_dir: spawn.workspace_dir.clone(),
        spawned_cwd: spawn.cwd.clone(),
        inherited_tool_allow: spawn.inherited_tool_allow.clone(),
        inherited_tool_deny: spawn.inherited_tool_deny.clone(),
        ..row
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
        input_tokens: run.input_tokens.map(numbers::to_i64),
        output_tokens: run.output_tokens.map(numbers::to_i64),
        ..row
    }
}

/// A row as far as this version can read it.
#[derive(Clone, Debug, PartialEq)]
pub struct Unpacked {
    /// The row; a field that could not be read is absent.
    pub session: Session,
    /// What could not be read, in one line; absent where all could.
    pub fault: Option<String>,
}

/// Reads a row that another service sent; what this version does not know of it is absent.
///
/// Several states of a run share one word of a row; what comes back is the state the word stands
/// for ([`pack`] keeps the state itself).
///
/// # Errors
/// When the key, the sessionId, a time or a count is missing or malformed.
pub fn from_proto(wire: proto::Session) -> Result<Session, WireError> {
    read(wire, None).map(|unpacked| unpacked.session)
}

/// Reads fields of a row, and notes those that a newer version may have written.
#[derive(Default)]
struct Lenient(Vec<String>);

impl Lenient {
    /// A word of a closed set.
    fn word<T: Word>(&mut self, given: Option<&str>, field: &'static str) -> Option<T> {
        let given = given?;
        let value = T::read(given);
        if value.is_none() {
            self.unknown(field, &format!("`{given}`"));
        }
        value
    }

    /// A number of an enum.
    fn number<T: Numbered>(&mut self, number: i32, field: &'static str) -> Option<T> {
        let value = T::of(number);
        if value.is_none() && number != 0 {
            self.unknown(field, &number.to_string());
        }
        value
    }

    /// What a parser made of a field.
    fn parsed<T, E>(&mut self, result: Result<Option<T>, E>, field: &'static str) -> Option<T> {
        result.unwrap_or_else(|_| {
            self.0.push(format!("{field} cannot be read"));
            None
        })
    }

    fn unknown(&mut self, field: &str, given: &str) {
        self.0
            .push(format!("{field} {given} is not known to this version"));
    }

    fn finish(self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.join("; "))
    }
}

/// Reads a row; `state` is that of its last run, where more is known than its word.
fn read(wire: proto::Session, state: Option<RunState>) -> Result<Unpacked, WireError> {
    let mut lenient = Lenient::default();
    let created_at = time::required(wire.created_at, "session.createdAt")?;
    // A row that is older than the field is still in its first generation.
    let session_started_at = time::optional(wire.session_started_at, "session.sessionStartedAt")?;
    let label = wire.label.as_deref().map(Label::parse).transpose();
    let spawned_by = super::optional_key(wire.spawned_by.as_deref(), "session.spawnedBy");
    let session = Session {
        key: super::key(&wire.key, "session.key")?,
        session_id: super::parsed(
            SessionId::parse(wire.session_id.as_str()),
            "session.sessionId",
        )?,
        row_version: numbers::from_i64(wire.row_version, "session.rowVersion")?,
        work_epoch: numbers::from_i64(wire.work_epoch, "session.workEpoch")?,
        state_version: numbers::from_i64(wire.state_version, "session.stateVersion")?,
        label: lenient.parsed(label, "label"),
        spawned_by: lenient.parsed(spawned_by, "spawnedBy"),
        sandboxed: wire.sandboxed,
        chat_type: lenient.number(wire.chat_type, "chatType"),
        last_run: last_run_from_proto(&wire, state, &mut lenient)?,
        tuning: tuning_from_proto(&wire, &mut lenient),
        spawn: spawn_from_proto(&wire, &mut lenient)?,
        origin: wire.origin.map_or_else(Origin::default, origin_from_proto),
        delivery_context: lenient.parsed(
            wire.delivery_context.map(route::from_proto).transpose(),
            "deliveryContext",
        ),
        category: wire.category,
        archived_at: time::optional(wire.archived_at, "session.archivedAt")?,
        pinned_at: time::optional(wire.pinned_at, "session.pinnedAt")?,
        marked_unread_at: time::optional(wire.marked_unread_at, "session.markedUnreadAt")?,
        last_read_at: time::optional(wire.last_read_at, "session.lastReadAt")?,
        session_started_at: session_started_at.unwrap_or(created_at),
        last_interaction_at: time::optional(wire.last_interaction_at, "session.lastInteractionAt")?,
        created_at,
        updated_at: time::required(wire.updated_at, "session.updatedAt")?,
    };
    Ok(Unpacked {
        session,
        fault: lenient.finish(),
    })
}

fn tuning_from_proto(wire: &proto::Session, lenient: &mut Lenient) -> Tuning {
    Tuning {
        model: wire.model_override.clone(),
        thinking_level: lenient.word(wire.thinking_level.as_deref(), "thinkingLevel"),
        verbose_level: lenient.word(wire.verbose_level.as_deref(), "verboseLevel"),
        trace_level: lenient.word(wire.trace_level.as_deref(), "traceLevel"),
        reasoning_level: lenient.word(wire.reasoning_level.as_deref(), "reasoningLevel"),
        response_usage: lenient.word(wire.response_usage.as_deref(), "responseUsage"),
        elevated_level: lenient.word(wire.elevated_level.as_deref(), "elevatedLevel"),
        fast_mode: lenient.word(wire.fast_mode.as_deref(), "fastMode"),
        exec_host: lenient.word(wire.exec_host.as_deref(), "execHost"),
        exec_security: lenient.word(wire.exec_security.as_deref(), "execSecurity"),
        exec_ask: lenient.word(wire.exec_ask.as_deref(), "execAsk"),
        exec_node: wire.exec_node.clone(),
        send_policy: send_policy_from_proto(wire.send_policy, lenient),
        group_activation: lenient.word(wire.group_activation.as_deref(), "groupActivation"),
    }
}

/// An override that this version does not know must not let through what it may have forbidden.
fn send_policy_from_proto(number: i32, lenient: &mut Lenient) -> Option<SendAction> {
    let known = lenient.number(number, "sendPolicy");
    known.or_else(|| (number != 0).then_some(SendAction::Deny))
}

fn spawn_from_proto(wire: &proto::Session, lenient: &mut Lenient) -> Result<Spawn, WireError> {
    let depth = wire
        .spawn_depth
        .map(|depth| numbers::from_i32(depth, "session.spawnDepth"));
    Ok(Spawn {
        depth: depth.transpose()?,
        mode: lenient.word(wire.spawn_mode.as_deref(), "spawnMode"),
        role: lenient.word(wire.subagent_role.as_deref(), "subagentRole"),
        control_scope: lenient.word(
            wire.subagent_control_scope.as_deref(),
            "subagentControlScope",
        ),
        workspace_dir: wire.spawned_workspace_dir.clone(),
        cwd: wire.spawned_cwd.clone(),
        inherited_tool_allow: wire.inherited_tool_allow.clone(),
        inherited_tool_deny: wire.inherited_tool_deny.clone(),
    })
}

/// The last run; a run whose state cannot be told is left out.
fn last_run_from_proto(
    wire: &proto::Session,
    state: Option<RunState>,
    lenient: &mut Lenient,
) -> Result<Option<LastRun>, WireError> {
    let Some(run_id) = &wire.last_run_id else {
        return Ok(None);
    };
    let word = wire.status.as_deref().unwrap_or_default();
    let Some(state) = state.or_else(|| state_of(word)) else {
        lenient.unknown("status", &format!("`{word}`"));
        return Ok(None);
    };
    let run_id = RunId::parse(run_id.as_str()).map(Some);
    let Some(run_id) = lenient.parsed(run_id, "lastRunId") else {
        return Ok(None);
    };
    Ok(Some(LastRun {
        run_id,
        state,
        started_at: time::optional(wire.started_at, "session.startedAt")?,
        ended_at: time::optional(wire.ended_at, "session.endedAt")?,
        model: wire.model.clone(),
        total_tokens: tokens(wire.total_tokens, "session.totalTokens")?,
        input_tokens: tokens(wire.input_tokens, "session.inputTokens")?,
        output_tokens: tokens(wire.output_tokens, "session.outputTokens")?,
    }))
}

fn tokens(count: Option<i64>, field: &'static str) -> Result<Option<u64>, WireError> {
    count
        .map(|count| numbers::from_i64(count, field))
        .transpose()
}

fn origin_to_proto(origin: &Origin) -> Option<proto::Origin> {
    (*origin != Origin::default()).then(|| proto::Origin {
        provider: origin.provider.clone(),
        account_id: origin.account_id.clone(),
        thread_id: origin.thread_id.clone(),
    })
}

fn origin_from_proto(wire: proto::Origin) -> Origin {
    Origin {
        provider: wire.provider,
        account_id: wire.account_id,
        thread_id: wire.thread_id,
    }
}

/// What the registry's packed column holds: the row, and what its public form folds together.
#[derive(Clone, PartialEq, Message)]
struct Packed {
    /// The row as an operator sees it; boxed, because a row is a large value to move.
    #[prost(message, optional, boxed, tag = "1")]
    row: Option<Box<proto::Session>>,
    /// The state of its last run, of which the row has a word only; 0 before the first.
    #[prost(enumeration = "proto::RunState", tag = "2")]
    last_run_state: i32,
}

/// The bytes of the registry's packed column: all of the row but the sequence of its newest state
/// event, which whoever reads the row fills in.
pub fn pack(session: &Session) -> Vec<u8> {
    let row = proto::Session {
        state_version: 0,
        ..to_proto(session, &Perspective::default())
    };
    let packed = Packed {
        row: Some(Box::new(row)),
        last_run_state: enums::optional_number(session.last_run.as_ref().map(|run| run.state)),
    };
    packed.encode_to_vec()
}

/// Reads the registry's packed column, also one that a newer version wrote: what this version does
/// not know is absent, and the fault says so.
///
/// # Errors
/// When the bytes hold no row, or its key, sessionId, times and counts cannot be read.
pub fn unpack(bytes: &[u8]) -> Result<Unpacked, WireError> {
    let packed: Packed = super::decoded(bytes, "session")?;
    let row = super::required(packed.row, "session")?;
    // The state's number refines the word of the row, which stands where the number says nothing.
    read(*row, RunState::of(packed.last_run_state))
}
