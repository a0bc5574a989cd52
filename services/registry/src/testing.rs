//! What the tests of this crate stand on: a registry over a throw-away database.

use std::sync::Arc;

use confab_config::{Live, Source};
use confab_model::channel::Route;
use confab_model::clock::{ManualClock, Timestamp};
use confab_model::id::{Ids, TenantId};
use confab_model::key::SessionKey;
use confab_model::session::Session;
use confab_proto::registry::v1 as proto;
use confab_proto::registry::v1::registry_service_server::RegistryService as _;
use confab_rpc::caller::Caller;
use confab_rpc::error::RpcError;
use confab_rpc::gate::{About, Action, Admitted, Gate, Governed, Question, Target};
use confab_store::ids::SequentialIds;
use confab_store::sqlite::{Database, TemporaryDatabase};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::{Request, Response, Status};

use crate::Sessions;
use crate::authorize::LocalAuthority;
use crate::commands::{CreateSession, ListSessions};
use crate::create::Created;
use crate::list::SessionPage;
use crate::service::{RegistryApi, Rows};
use crate::store::sqlite::{MIGRATIONS, SqliteStore};
use crate::store::{Lookup, RegistryStore as _};

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
    pub(crate) api: RegistryApi<SqliteStore>,
    gate: Gate<LocalAuthority<SqliteStore>>,
    database: Database,
    directory: TemporaryDatabase,
    config: String,
}

impl House {
    pub(crate) async fn with(config: &str) -> Self {
        let directory = Database::temporary(MIGRATIONS).await.unwrap();
        let clock = Arc::new(ManualClock::starting_at(START));
        let ids = Arc::new(SequentialIds::new());
        Self::over(directory.clone(), directory, clock, ids, config)
    }

    fn over(
        database: Database,
        directory: TemporaryDatabase,
        clock: Arc<ManualClock>,
        ids: Arc<dyn Ids>,
        config: &str,
    ) -> Self {
        let (settings, _) = Live::start(Source::inline(config)).unwrap();
        let sessions = Arc::new(Sessions {
            store: SqliteStore::new(database.clone()),
            settings: settings.clone(),
            clock: Arc::<ManualClock>::clone(&clock),
            ids,
        });
        let rows = Rows {
            transcript_database: None,
            settings,
        };
        Self {
            api: RegistryApi::new(Arc::clone(&sessions), rows, CancellationToken::new()),
            gate: Gate::new(LocalAuthority::new(Arc::clone(&sessions))),
            sessions,
            clock,
            database,
            directory,
            config: config.to_owned(),
        }
    }

    /// The same registry after a restart.
    pub(crate) async fn reopened(self) -> Self {
        let config = self.config.clone();
        self.reopened_with(&config).await
    }

    /// The same registry after a restart with another configuration.
    pub(crate) async fn reopened_with(self, config: &str) -> Self {
        self.database.close().await;
        let path = self.database.path().to_owned();
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let database = Database::open(&path, MIGRATIONS, &tracker, &stop)
            .await
            .unwrap();
        let ids = Arc::clone(&self.sessions.ids);
        let house = Self::over(database, self.directory, self.clock, ids, config);
        house.sessions.take_up().await;
        house
    }

    /// Patches a session through the adapter.
    pub(crate) async fn patch(
        &self,
        caller: Caller,
        request: proto::PatchSessionRequest,
    ) -> Result<proto::PatchSessionResponse, RpcError> {
        let answer = self.api.patch_session(asked(caller, request)).await;
        answered(answer)
    }

    /// Commits a lifecycle change through the adapter.
    pub(crate) async fn commit(
        &self,
        request: proto::CommitLifecycleRequest,
    ) -> Result<proto::CommitLifecycleResponse, RpcError> {
        let answer = self.api.commit_lifecycle(asked(service(), request)).await;
        answered(answer)
    }

    /// The row of a key.
    pub(crate) async fn row(&self, text: &str) -> Option<Session> {
        let lookup = Lookup {
            keys: vec![key(text)],
            ..Lookup::default()
        };
        let tenant = TenantId::default();
        let found = self.sessions.store.look_up(&tenant, &lookup);
        found.await.unwrap().by_key.remove(&key(text))
    }

    /// Tells of a run.
    pub(crate) async fn told(&self, record: proto::ActivityRecord) {
        let request = proto::RecordActivityRequest {
            records: vec![record],
            ..Default::default()
        };
        let answer = self.api.record_activity(asked(service(), request)).await;
        answered(answer).unwrap();
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

    /// What the gate makes of a call.
    pub(crate) async fn admitted<R: Governed>(
        &self,
        caller: Caller,
        request: R,
    ) -> Result<Admitted<R>, RpcError> {
        self.gate.admit_as(caller, request).await
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
            channel: None,
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
            .map(|row| row.session.key.clone())
            .collect();
        keys.sort();
        keys
    }
}

/// A request of a caller, as the layer hands it to a method.
pub(crate) fn asked<T>(caller: Caller, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.extensions_mut().insert(caller);
    request
}

/// What a method answered.
pub(crate) fn answered<T>(answer: Result<Response<T>, Status>) -> Result<T, RpcError> {
    answer
        .map(Response::into_inner)
        .map_err(|status| RpcError::from_status(&status))
}

/// A change of the row as it is.
pub(crate) fn change_of(
    session: &Session,
    change: proto::LifecycleChange,
    change_id: &str,
) -> proto::CommitLifecycleRequest {
    proto::CommitLifecycleRequest {
        session_key: session.key.to_string(),
        change: change.into(),
        expected_session_id: session.session_id.to_string(),
        expected_work_epoch: i64::try_from(session.work_epoch).unwrap(),
        change_id: change_id.to_owned(),
        ..Default::default()
    }
}

pub(crate) fn service() -> Caller {
    Caller::system("test", TenantId::default())
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
