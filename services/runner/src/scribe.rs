//! What a run leaves in its session's transcript, each message under a key derived from the run, so
//! that writing it again is harmless.

use std::time::Duration;

use confab_model::id::{SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::limits::{APPEND_BYTES_MAX, APPEND_MESSAGES_MAX};
use confab_model::message::{Block, NewMessage, Role, SkipWord};
use confab_model::run::{Run, Step};
use confab_proto::transcript::v1::AppendMessagesRequest;
use confab_rpc::caller::Caller;
use confab_rpc::clients::TranscriptClient;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::Target;
use confab_rpc::wire;
use prost::Message as _;

use crate::context::Context;
use crate::refusals;
use crate::store::{RunnerStore, StoredRun, ToolTrace};

/// The first pause before an append is tried again.
const PAUSE_MIN: Duration = Duration::from_millis(50);
/// The longest pause before an append is tried again.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// The user message that a run answers (C2); `None` where the step stores none (D74).
pub fn input(stored: &StoredRun) -> Option<NewMessage> {
    if !stored.store_input {
        return None;
    }
    let run = &stored.run;
    let key = format!("run:{}:input", run.id);
    Some(NewMessage {
        provenance: run.provenance.clone(),
        run_id: Some(run.id.clone()),
        ..NewMessage::text(key, Role::User, run.input.clone())
    })
}

/// What a run wrote (C3): its tool calls with their results, then its reply. An empty reply leaves
/// no message, and neither does an announce step's skip word (D74).
pub fn output(stored: &StoredRun) -> Vec<NewMessage> {
    let run = &stored.run;
    let mut messages = Vec::new();
    for (number, call) in stored.trace.iter().enumerate() {
        messages.extend(tool_messages(run, number, call));
    }
    messages.extend(reply(run));
    messages
}

fn tool_messages(run: &Run, number: usize, call: &ToolTrace) -> [NewMessage; 2] {
    let key = |part: &str| format!("run:{}:tool:{number}:{part}", run.id);
    let asked = NewMessage {
        blocks: vec![Block::ToolCall {
            id: call.call_id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        }],
        run_id: Some(run.id.clone()),
        stop_reason: Some("toolUse".to_owned()),
        ..NewMessage::text(key("call"), Role::Assistant, "")
    };
    let answered = NewMessage {
        run_id: Some(run.id.clone()),
        tool_call_id: Some(call.call_id.clone()),
        tool_name: Some(call.name.clone()),
        is_error: call.is_error,
        ..NewMessage::text(key("result"), Role::ToolResult, call.result.to_string())
    };
    [asked, answered]
}

fn reply(run: &Run) -> Option<NewMessage> {
    let text = run
        .reply
        .as_deref()
        .filter(|text| !text.trim().is_empty())?;
    if run.step == Step::Announce && SkipWord::of(text).is_some() {
        return None;
    }
    let key = format!("run:{}:reply", run.id);
    Some(NewMessage {
        run_id: Some(run.id.clone()),
        model: run.model.clone(),
        usage: run.usage,
        stop_reason: Some("stop".to_owned()),
        ..NewMessage::text(key, Role::Assistant, text)
    })
}

/// Appends messages to one generation of a session.
///
/// # Errors
/// When the transcript refuses them or cannot be reached.
pub async fn append(
    transcript: &TranscriptClient,
    tenant: &TenantId,
    session: &SessionKey,
    session_id: Option<&SessionId>,
    messages: &[NewMessage],
) -> Result<(), RpcError> {
    if messages.is_empty() {
        return Ok(());
    }
    let request = AppendMessagesRequest {
        target: Some(Target::key(session).into()),
        session_id: session_id.map(ToString::to_string),
        messages: messages.iter().map(wire::message::new_to_proto).collect(),
    };
    let system = Caller::system("runs", tenant.clone());
    match transcript
        .on_behalf_of(&system)
        .append_messages(request)
        .await
    {
        Ok(_) => Ok(()),
        Err(status) => Err(RpcError::from_status(&status)),
    }
}

/// Appends until it is done, in batches that fit into a call: what is owed to the transcript is
/// never given up, only delayed. What the transcript refuses for good is left out, so that it holds
/// up neither the other messages nor the session. Ends early, with what was met last, when the
/// process stops.
///
/// # Errors
/// When the process stops before the append succeeded.
pub async fn append_at_last<S: RunnerStore>(
    context: &Context<S>,
    stored: &StoredRun,
    messages: &[NewMessage],
) -> Result<(), RpcError> {
    for batch in batches(messages, APPEND_BYTES_MAX) {
        append_batch(context, stored, batch).await?;
    }
    Ok(())
}

/// Cuts messages into batches that one append takes: at most [`APPEND_MESSAGES_MAX`], of at most
/// `bytes_max` encoded bytes. A larger message is alone.
fn batches(mut messages: &[NewMessage], bytes_max: usize) -> Vec<&[NewMessage]> {
    let mut batches = Vec::new();
    while !messages.is_empty() {
        let mut bytes = 0_usize;
        let fitting = messages
            .iter()
            .take(APPEND_MESSAGES_MAX)
            .take_while(|message| {
                bytes = bytes.saturating_add(wire::message::new_to_proto(message).encoded_len());
                bytes <= bytes_max
            });
        let (batch, rest) = messages.split_at(fitting.count().max(1));
        batches.push(batch);
        messages = rest;
    }
    batches
}

async fn append_batch<S: RunnerStore>(
    context: &Context<S>,
    stored: &StoredRun,
    messages: &[NewMessage],
) -> Result<(), RpcError> {
    let run = &stored.run;
    let mut pause = PAUSE_MIN;
    loop {
        let appended = append(
            &context.transcript,
            &stored.tenant,
            &run.session_key,
            run.session_id.as_ref(),
            messages,
        );
        let Err(error) = appended.await else {
            return Ok(());
        };
        if refusals::is_final(error.reason) {
            return append_each(context, stored, messages, &error).await;
        }
        let said = context.logged(&error);
        tracing::warn!(run.id = %run.id, error = said, "the transcript did not take a reply; trying again");
        tokio::select! {
            () = tokio::time::sleep(pause) => {},
            () = context.stop.cancelled() => return Err(error),
        }
        pause = pause.saturating_mul(2).min(PAUSE_MAX);
    }
}

/// A batch was refused for good: its messages go one by one, and those at fault are left out.
async fn append_each<S: RunnerStore>(
    context: &Context<S>,
    stored: &StoredRun,
    messages: &[NewMessage],
    refusal: &RpcError,
) -> Result<(), RpcError> {
    if let [message] = messages {
        // An earlier attempt of the run wrote it; what was written first stands.
        if refusal.reason != Reason::KeyReused {
            let (key, error) = (&message.key, context.logged(refusal));
            tracing::error!(run.id = %stored.run.id, key, error, "a message was refused");
        }
        return Ok(());
    }
    for message in messages {
        let one = std::slice::from_ref(message);
        Box::pin(append_batch(context, stored, one)).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(batches: &[&[NewMessage]]) -> Vec<usize> {
        batches.iter().map(|batch| batch.len()).collect()
    }

    #[test]
    fn messages_are_cut_into_batches_that_fit_in_their_order() {
        let text = |key: &str| NewMessage::text(key, Role::User, "x".repeat(100));
        let messages = ["a", "b", "c", "d", "e"].map(text);
        let bytes = wire::message::new_to_proto(&messages[0]).encoded_len();
        assert_eq!(sizes(&batches(&messages, 5 * bytes)), [5]);
        assert_eq!(sizes(&batches(&messages, 5 * bytes - 1)), [4, 1]);
        assert_eq!(sizes(&batches(&messages, 2 * bytes)), [2, 2, 1]);
        assert_eq!(sizes(&batches(&messages, 1)), [1; 5]);
        assert_eq!(batches(&messages, 2 * bytes).concat(), messages);
        assert!(batches(&[], 1).is_empty());
    }

    #[test]
    fn a_batch_holds_no_more_messages_than_an_append_takes() {
        let many = vec![NewMessage::text("k", Role::User, "x"); APPEND_MESSAGES_MAX + 1];
        let cut = batches(&many, APPEND_BYTES_MAX);
        assert_eq!(sizes(&cut), [APPEND_MESSAGES_MAX, 1]);
    }
}
