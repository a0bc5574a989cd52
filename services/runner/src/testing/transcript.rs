//! A transcript in memory, that can be out of order.

use std::sync::{Arc, Mutex};

use confab_model::message::{Block, NewMessage, Role};
use confab_proto::transcript::v1::transcript_service_server::TranscriptService;
use confab_proto::transcript::v1::{AppendMessagesRequest, AppendMessagesResponse};
use confab_rpc::error::{Reason, RpcError, Violations};
use confab_rpc::wire::message::new_messages_from_wire;
use tokio::sync::watch;
use tonic::{Request, Response, Status};

/// The transcript. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct FakeTranscript {
    state: Arc<Mutex<State>>,
    changes: Arc<watch::Sender<u64>>,
}

/// What happens to appends that hold a message of one role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// They are refused.
    Refused(Reason),
    /// They are not answered.
    Held,
}

#[derive(Debug, Default)]
struct State {
    fault: Option<(Role, Fault)>,
    /// Appends that met the fault.
    met: usize,
    /// By generation, in the order of appending.
    messages: Vec<(String, NewMessage)>,
}

impl FakeTranscript {
    fn change<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let changed = act(&mut self.state.lock().unwrap());
        self.changes.send_modify(|count| *count += 1);
        changed
    }

    /// Puts the transcript out of order for messages of one role.
    pub(crate) fn fail(&self, role: Role, fault: Fault) {
        self.change(|state| (state.fault, state.met) = (Some((role, fault)), 0));
    }

    /// Puts it in order.
    pub(crate) fn mend(&self) {
        self.change(|state| state.fault = None);
    }

    /// Until so many appends met the fault.
    pub(crate) async fn until_met(&self, count: usize) {
        self.until(|state| state.met >= count).await;
    }

    /// Until a message with this key is stored.
    pub(crate) async fn until_stored(&self, key: &str) {
        self.until(|state| state.messages.iter().any(|(_, one)| one.key == key))
            .await;
    }

    /// Until it holds at least so many messages.
    pub(crate) async fn until_holds(&self, count: usize) {
        self.until(|state| state.messages.len() >= count).await;
    }

    async fn until(&self, over: impl Fn(&State) -> bool) {
        let mut changes = self.changes.subscribe();
        while !over(&self.state.lock().unwrap()) {
            changes.changed().await.unwrap();
        }
    }

    /// What a session's generation holds.
    pub(crate) fn messages(&self, session: &str) -> Vec<NewMessage> {
        let session_id = format!("id of {session}");
        let state = self.state.lock().unwrap();
        let own = state
            .messages
            .iter()
            .filter(|(generation, _)| *generation == session_id);
        own.map(|(_, message)| message.clone()).collect()
    }

    /// Every message in the order of appending, each with its generation.
    pub(crate) fn all(&self) -> Vec<(String, NewMessage)> {
        self.state.lock().unwrap().messages.clone()
    }

    /// Its messages as `role: text`.
    pub(crate) fn lines(&self, session: &str) -> Vec<String> {
        self.messages(session).iter().map(line).collect()
    }

    fn fault(&self, messages: &[NewMessage]) -> Option<Fault> {
        self.change(|state| {
            let (role, fault) = state.fault?;
            let meets = messages.iter().any(|message| message.role == role);
            state.met += usize::from(meets);
            meets.then_some(fault)
        })
    }

    /// All or none.
    fn store(&self, session_id: &str, messages: Vec<NewMessage>) -> Result<(), RpcError> {
        self.change(|state| {
            let mut fresh = Vec::new();
            for message in messages {
                let stored = state
                    .messages
                    .iter()
                    .find(|(generation, one)| generation == session_id && one.key == message.key);
                match stored {
                    Some((_, one)) if *one == message => {},
                    Some(_) => return Err(RpcError::new(Reason::KeyReused, message.key)),
                    None => fresh.push((session_id.to_owned(), message)),
                }
            }
            state.messages.extend(fresh);
            Ok(())
        })
    }
}

/// A message in one line.
pub(crate) fn line(message: &NewMessage) -> String {
    let texts: Vec<_> = message
        .blocks
        .iter()
        .map(|block| match block {
            Block::Text(text) => text.clone(),
            Block::Thinking(_) | Block::ToolCall { .. } | Block::Image { .. } => {
                format!("{block:?}")
            },
        })
        .collect();
    format!("{:?}: {}", message.role, texts.join(" "))
}

#[tonic::async_trait]
impl TranscriptService for FakeTranscript {
    async fn append_messages(
        &self,
        request: Request<AppendMessagesRequest>,
    ) -> Result<Response<AppendMessagesResponse>, Status> {
        let request = request.into_inner();
        let mut violations = Violations::default();
        let messages = new_messages_from_wire(request.messages, &mut violations);
        violations.finish()?;
        match self.fault(&messages) {
            Some(Fault::Refused(reason)) => {
                return Err(RpcError::new(reason, "on purpose").into());
            },
            Some(Fault::Held) => self.until(|state| state.fault.is_none()).await,
            None => {},
        }
        self.store(&request.session_id.unwrap(), messages)?;
        Ok(Response::new(AppendMessagesResponse::default()))
    }
}
