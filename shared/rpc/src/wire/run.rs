//! Runs.

use confab_model::id::{ChainId, FlowId, RunId, SessionId};
use confab_model::run::{Run, RunError};
use confab_proto::types::v1 as proto;
use prost::Message as _;

use super::enums::Numbered as _;
use super::{WireError, enums, message, numbers, time};

/// Whether a run is shown with its step's text for the agent. Its notices, which stand above that
/// text in what the agent is handed, are shown always.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// With it: for drivers.
    Shown,
    /// Without it.
    LeftOut,
}

/// The proto's form of a run. What became of its flow's outbound message is the flow's to tell.
pub fn to_proto(run: &Run, delivery: Option<proto::DeliverySummary>, prompt: Prompt) -> proto::Run {
    proto::Run {
        run_id: run.id.to_string(),
        session_key: run.session_key.to_string(),
        session_id: run.session_id.as_ref().map(ToString::to_string),
        agent_id: run.agent_id.to_string(),
        step: run.step.number(),
        turn: numbers::to_i32(run.turn),
        lane: run.lane.number(),
        state: run.state.number(),
        input: run.input.clone(),
        notices: run.notices.clone(),
        reply: run.reply.clone(),
        error: run.error.as_ref().map(error_to_proto),
        message_state: run.message_state().number(),
        delivery,
        flow_id: run.flow_id.to_string(),
        parent_run_id: run.parent_run_id.as_ref().map(ToString::to_string),
        chain_id: run.chain_id.to_string(),
        hop: numbers::to_i32(run.hop),
        attempts: numbers::to_i32(run.attempts),
        model: run.model.clone(),
        usage: run.usage.map(message::usage_to_proto),
        created_at: Some(time::to_proto(run.created_at)),
        started_at: run.started_at.map(time::to_proto),
        ended_at: run.ended_at.map(time::to_proto),
        runtime_ms: run.runtime_millis(),
        prompt: match prompt {
            Prompt::Shown => run.prompt.clone(),
            Prompt::LeftOut => String::new(),
        },
        provenance: run.provenance.as_ref().map(message::provenance_to_proto),
        ordinal: numbers::to_i64(run.ordinal),
    }
}

/// Reads a run. Its prompt is empty where it was left out.
///
/// # Errors
/// When a field is missing or malformed.
pub fn from_proto(wire: proto::Run) -> Result<Run, WireError> {
    let session_id = wire.session_id.map(SessionId::parse).transpose();
    Ok(Run {
        id: super::parsed(RunId::parse(wire.run_id), "run.runId")?,
        session_key: super::key(&wire.session_key, "run.sessionKey")?,
        session_id: super::parsed(session_id, "run.sessionId")?,
        agent_id: super::parsed(super::agent(&wire.agent_id), "run.agentId")?,
        step: enums::from_proto(wire.step, "run.step")?,
        turn: numbers::from_i32(wire.turn, "run.turn")?,
        lane: enums::from_proto(wire.lane, "run.lane")?,
        state: enums::from_proto(wire.state, "run.state")?,
        input: wire.input,
        prompt: wire.prompt,
        notices: wire.notices,
        provenance: wire
            .provenance
            .map(message::provenance_from_proto)
            .transpose()?,
        reply: wire.reply,
        error: wire.error.map(error_from_proto),
        flow_id: super::parsed(FlowId::parse(wire.flow_id), "run.flowId")?,
        parent_run_id: super::optional_run(wire.parent_run_id, "run.parentRunId")?,
        chain_id: super::parsed(ChainId::parse(wire.chain_id), "run.chainId")?,
        hop: numbers::from_i32(wire.hop, "run.hop")?,
        attempts: numbers::from_i32(wire.attempts, "run.attempts")?,
        ordinal: numbers::from_i64(wire.ordinal, "run.ordinal")?,
        model: wire.model,
        usage: wire.usage.map(message::usage_from_proto).transpose()?,
        created_at: time::required(wire.created_at, "run.createdAt")?,
        started_at: time::optional(wire.started_at, "run.startedAt")?,
        ended_at: time::optional(wire.ended_at, "run.endedAt")?,
    })
}

/// The bytes of the runner's packed column, the prompt included.
pub fn pack(run: &Run) -> Vec<u8> {
    to_proto(run, None, Prompt::Shown).encode_to_vec()
}

/// Reads the runner's packed column.
///
/// # Errors
/// When the bytes hold no run.
pub fn unpack(bytes: &[u8]) -> Result<Run, WireError> {
    from_proto(super::decoded(bytes, "run")?)
}

/// The proto's form of what went wrong.
pub fn error_to_proto(error: &RunError) -> proto::RunError {
    proto::RunError {
        class: error.class.clone(),
        message: error.message.clone(),
    }
}

/// Reads what went wrong.
pub fn error_from_proto(wire: proto::RunError) -> RunError {
    RunError {
        class: wire.class,
        message: wire.message,
    }
}
