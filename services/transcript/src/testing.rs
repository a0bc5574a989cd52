//! What the tests of this crate stand on: a transcript over a throw-away database, and a registry
//! that knows a few sessions.

pub(crate) mod files;

use std::collections::BTreeMap;
use std::sync::Arc;

use confab_config::{Live, Source};
use confab_model::clock::{ManualClock, Timestamp};
use confab_model::id::{SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::message::{Block, Compaction, Message, NewMessage, Role};
use confab_model::session::Session;
use confab_proto::transcript::v1 as proto;
use confab_rpc::caller::Caller;
use confab_rpc::error::{Reason, RpcError};
use confab_rpc::gate::{About, Answer, Authority, Gate, Question, Target};
use confab_rpc::wire;
use confab_store::StoreError;
use confab_store::ids::SequentialIds;
use confab_store::sqlite::{Database, TemporaryDatabase};

use crate::Messages;
use crate::commands::{AppendMessages, GetHistory, TailSessions};
use crate::history::HistoryPage;
use crate::store::sqlite::{MIGRATIONS, SqliteStore};
use crate::tails::SessionTail;

/// When every test begins.
pub(crate) const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// The session most tests are about.
pub(crate) const DESK: &str = "agent:writer:desk";

/// A registry that knows some sessions and lets everybody see them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known(BTreeMap<String, Session>);

impl Known {
    pub(crate) fn with(keys: &[&str]) -> Self {
        Self(
            keys.iter()
                .map(|key| ((*key).to_owned(), session(key)))
                .collect(),
        )
    }

    /// Gives the session with this key a new generation; the old one is found by its sessionId.
    fn reset(&mut self, key: &str) {
        let old = self.0.remove(key).unwrap();
        let new = Session {
            session_id: SessionId::parse(format!("next {}", old.session_id)).unwrap(),
            ..old.clone()
        };
        self.0.insert(key.to_owned(), new);
        self.0.insert(old.session_id.to_string(), old);
    }

    fn decide(&self, target: &Target) -> Result<Session, RpcError> {
        let given = target.session_key.clone().unwrap_or_default();
        let missing = || {
            RpcError::new(
                Reason::SessionNotFound,
                format!("No session found: {given}"),
            )
        };
        self.0.get(&given).cloned().ok_or_else(missing)
    }
}

impl Authority for Known {
    async fn authorize(&self, question: Question) -> Result<Answer, RpcError> {
        let targets = match question.about {
            About::One(target) => vec![target],
            About::Many(targets) => targets,
            About::Nothing | About::Scope => Vec::new(),
        };
        let decisions = targets.iter().map(|target| self.decide(target)).collect();
        Ok(Answer {
            decisions,
            scope: None,
        })
    }
}

/// A transcript without a server.
pub(crate) struct House {
    pub(crate) messages: Messages<SqliteStore>,
    pub(crate) clock: Arc<ManualClock>,
    known: Known,
    gate: Gate<Known>,
    database: TemporaryDatabase,
}

impl House {
    pub(crate) async fn with(keys: &[&str]) -> Self {
        Self::configured(keys, Source::inline("{}")).await
    }

    /// Under the settings of `source`.
    pub(crate) async fn configured(keys: &[&str], source: Source) -> Self {
        let database = Database::temporary(MIGRATIONS).await.unwrap();
        let clock = Arc::new(ManualClock::starting_at(START));
        let messages = Messages {
            store: SqliteStore::new(database.clone()),
            clock: Arc::<ManualClock>::clone(&clock),
            ids: Arc::new(SequentialIds::new()),
            settings: Live::start(source).unwrap().0,
            data_dir: database.directory().to_owned(),
        };
        let known = Known::with(keys);
        Self {
            messages,
            clock,
            gate: Gate::new(known.clone()),
            known,
            database,
        }
    }

    /// Resets the session with this key, as the registry does it.
    pub(crate) fn reset(&mut self, key: &str) {
        self.known.reset(key);
        self.gate = Gate::new(self.known.clone());
    }

    /// The database itself, for what the store has no method for.
    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// Writes over the stored form of a message, so that it cannot be read any more.
    pub(crate) async fn damage(&self, key: &str, seq: i64, packed: &'static [u8]) {
        let session_id = session_id(key);
        let damaged = self.database.write(move |connection| {
            Box::pin(async move {
                let rows = sqlx::query(
                    "UPDATE messages SET packed = $1 WHERE session_id = $2 AND seq = $3",
                )
                .bind(packed)
                .bind(session_id.as_str())
                .bind(seq)
                .execute(connection)
                .await?;
                Ok::<_, StoreError>(rows.rows_affected())
            })
        });
        assert_eq!(damaged.await.unwrap(), 1);
    }

    pub(crate) async fn append_as(
        &self,
        caller: Caller,
        request: proto::AppendMessagesRequest,
    ) -> Result<Vec<Message>, RpcError> {
        let request = AppendMessages::parse(request, caller.role())?;
        self.messages
            .append(self.gate.admit_as(caller, request).await?)
            .await
    }

    /// Appends to the session with this key.
    pub(crate) async fn append(
        &self,
        key: &str,
        messages: &[NewMessage],
    ) -> Result<Vec<Message>, RpcError> {
        self.append_as(operator(), request(key, messages)).await
    }

    pub(crate) async fn history(
        &self,
        request: proto::GetHistoryRequest,
    ) -> Result<HistoryPage, RpcError> {
        let request = GetHistory::parse(request)?;
        self.messages
            .history(self.gate.admit_as(operator(), request).await?)
            .await
    }

    pub(crate) async fn tails(
        &self,
        request: proto::TailSessionsRequest,
    ) -> Result<Vec<SessionTail>, RpcError> {
        let request = TailSessions::parse(&request)?;
        self.messages
            .tails(self.gate.admit_as(operator(), request).await?)
            .await
    }

    /// The sequences that the plain view of the desk shows.
    pub(crate) async fn seqs(&self) -> Vec<u64> {
        seqs(&self.history(of(DESK)).await.unwrap())
    }
}

pub(crate) fn of(key: &str) -> proto::GetHistoryRequest {
    proto::GetHistoryRequest {
        target: Some(Target::reference(key).into()),
        ..Default::default()
    }
}

pub(crate) fn request(key: &str, messages: &[NewMessage]) -> proto::AppendMessagesRequest {
    proto::AppendMessagesRequest {
        target: Some(Target::reference(key).into()),
        session_id: None,
        messages: messages.iter().map(wire::message::new_to_proto).collect(),
    }
}

pub(crate) fn operator() -> Caller {
    Caller::operator(TenantId::default())
}

pub(crate) fn session_id(key: &str) -> SessionId {
    SessionId::parse(format!("id of {key}")).unwrap()
}

fn session(key: &str) -> Session {
    Session::fresh(SessionKey::parse(key).unwrap(), session_id(key), START)
}

pub(crate) fn said(key: &str, role: Role, text: &str) -> NewMessage {
    NewMessage::text(key, role, text)
}

pub(crate) fn with_blocks(key: &str, role: Role, blocks: Vec<Block>) -> NewMessage {
    NewMessage {
        blocks,
        ..NewMessage::text(key, role, "")
    }
}

pub(crate) fn text(text: &str) -> Block {
    Block::Text(text.to_owned())
}

pub(crate) fn thinking(text: &str) -> Block {
    Block::Thinking(text.to_owned())
}

pub(crate) fn call(name: &str) -> Block {
    Block::ToolCall {
        id: format!("call of {name}"),
        name: name.to_owned(),
        arguments: serde_json::Map::new(),
    }
}

pub(crate) fn image() -> Block {
    Block::Image {
        mime_type: "image/png".to_owned(),
        reference: "blob:1".to_owned(),
        bytes: 9,
    }
}

pub(crate) fn result(key: &str, text: &str) -> NewMessage {
    NewMessage {
        tool_call_id: Some("call of read".to_owned()),
        tool_name: Some("read".to_owned()),
        ..said(key, Role::ToolResult, text)
    }
}

/// The marker of a compaction.
pub(crate) fn marker(key: &str, first_kept_seq: Option<u64>) -> NewMessage {
    let compaction = Compaction {
        summary: format!("summary of {key}"),
        first_kept_seq,
        tokens_before: None,
    };
    NewMessage {
        compaction: Some(compaction),
        ..with_blocks(key, Role::Assistant, Vec::new())
    }
}

/// The sequences of a page, as it shows them.
pub(crate) fn seqs(page: &HistoryPage) -> Vec<u64> {
    let messages = page.bounded.messages.iter();
    messages.map(|(message, _)| message.seq).collect()
}
