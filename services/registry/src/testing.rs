//! What the tests of this crate stand on: a registry over a throw-away database.

use std::sync::Arc;

use confab_config::{Live, Source};
use confab_model::channel::Route;
use confab_model::clock::{ManualClock, Timestamp};
use confab_model::id::TenantId;
use confab_model::key::SessionKey;
use confab_model::session::Session;
use confab_proto::registry::v1 as proto;
use confab_rpc::caller::Caller;
use confab_rpc::error::RpcError;
use confab_rpc::gate::{About, Action, Gate, Question, Target};
use confab_store::ids::SequentialIds;
use confab_store::sqlite::{Database, TemporaryDatabase};

use crate::Sessions;
use crate::authorize::LocalAuthority;
use crate::commands::{CreateSession, ListSessions};
use crate::create::Created;
use crate::list::SessionPage;
use crate::store::sqlite::{MIGRATIONS, SqliteStore};

/// When every test begins.
pub(crate) const START: Timestamp = Timestamp::from_millis(1_700_000_000_000);

/// Two agents that see everything.
pub(crate) const OPEN_HOUSE: &str = r#"{
    agents: { list: [{ id: "writer", default: true }, { id: "editor" }] },
    tools: { sessions: { visibility: "all" }, agentToAgent: { enabled: true } },
}"#;

/// Two agents that see what they see by default.
pub(crate) const DEFAULTS: &str =
    r#"{ agents: { list: [{ id: "writer", default: true }, { id: "editor" }] } }"#;

/// A registry without a server.
pub(crate) struct House {
    pub(crate) sessions: Arc<Sessions<SqliteStore>>,
    pub(crate) clock: Arc<ManualClock>,
    gate: Gate<LocalAuthority<SqliteStore>>,
    _database: TemporaryDatabase,
}

impl House {
    pub(crate) async fn with(config: &str) -> Self {
        let database = Database::temporary(MIGRATIONS).await.unwrap();
        let clock = Arc::new(ManualClock::starting_at(START));
        let (settings, _) = Live::start(Source::inline(config)).unwrap();
        let sessions = Arc::new(Sessions {
            store: SqliteStore::new(database.clone()),
            settings,
            clock: Arc::<ManualClock>::clone(&clock),
            ids: Arc::new(SequentialIds::new()),
        });
        let gate = Gate::new(LocalAuthority::new(Arc::clone(&sessions)));
        Self {
            sessions,
            clock,
            gate,
            _database: database,
        }
    }

    pub(crate) async fn create(
        &self,
        request: proto::CreateSessionRequest,
    ) -> Result<Created, RpcError> {
        let request = CreateSession::parse(request)?;
        self.sessions
            .create(self.gate.admit_as(operator(), request).await?)
            .await
    }

    /// Makes a session with this key.
    pub(crate) async fn made(&self, text: &str) -> Session {
        self.create(named(text)).await.unwrap().session
    }

    /// Makes a session with this key and label.
    pub(crate) async fn labelled(&self, text: &str, label: &str) -> Session {
        let label = Some(label.to_owned());
        let request = proto::CreateSessionRequest {
            label,
            ..named(text)
        };
        self.create(request).await.unwrap().session
    }

    pub(crate) async fn decide(
        &self,
        caller: Caller,
        action: Action,
        target: Target,
    ) -> Result<Session, RpcError> {
        let question = Question {
            caller,
            action,
            about: About::One(target),
        };
        self.sessions
            .authorize(question)
            .await?
            .decisions
            .pop()
            .unwrap()
    }

    pub(crate) async fn list(
        &self,
        caller: Caller,
        request: proto::ListSessionsRequest,
    ) -> Result<SessionPage, RpcError> {
        let request = ListSessions::parse(request)?;
        self.sessions
            .list(self.gate.admit_as(caller, request).await?)
            .await
    }

    /// Every key an operator sees, to tell what a call has made.
    pub(crate) async fn keys(&self) -> Vec<String> {
        let page = self
            .list(operator(), proto::ListSessionsRequest::default())
            .await
            .unwrap();
        let mut keys: Vec<String> = page
            .sessions
            .iter()
            .map(|row| row.key.to_string())
            .collect();
        keys.sort();
        keys
    }
}

pub(crate) fn named(text: &str) -> proto::CreateSessionRequest {
    proto::CreateSessionRequest {
        session_key: text.to_owned(),
        ..Default::default()
    }
}

pub(crate) fn key(text: &str) -> SessionKey {
    SessionKey::parse(text).unwrap()
}

pub(crate) fn operator() -> Caller {
    Caller::operator(TenantId::default())
}

pub(crate) fn agent(session: &str) -> Caller {
    Caller::agent(TenantId::default(), key(session), None)
}

pub(crate) fn target(session_key: &str, label: &str, agent_id: &str) -> Target {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Target {
        session_key: given(session_key),
        label: given(label),
        agent_id: given(agent_id),
    }
}

pub(crate) fn route(to: &str) -> Route {
    Route {
        channel: "discord".to_owned(),
        to: to.to_owned(),
        account_id: None,
        thread_id: None,
    }
}
