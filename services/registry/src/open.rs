//! The registry as a whole: opened, served, closed.

use std::path::PathBuf;
use std::sync::Arc;

use confab_config::Live;
use confab_model::clock::Clock;
use confab_model::id::Ids;
use confab_proto::policy::v1::policy_service_server::PolicyServiceServer;
use confab_proto::registry::v1::registry_service_server::RegistryServiceServer;
use confab_rpc::serve::{Check, Services, database_check};
use confab_store::sqlite::{Database, OpenError};
use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Sessions;
use crate::service::{PolicyApi, RegistryApi, Rows};
use crate::store::sqlite::{MIGRATIONS, SqliteStore};

/// The service's name: of its database, its lock and its log lines.
pub const NAME: &str = "registry";

/// What the registry needs to open.
#[derive(Clone, Debug)]
pub struct RegistryOptions {
    /// Where `registry.db` lies; the caller holds the owner lock of the directory.
    pub data_dir: PathBuf,
    /// The settings in force.
    pub settings: Live,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New sessionIds.
    pub ids: Arc<dyn Ids>,
    /// Keeps the writer's task.
    pub tracker: TaskTracker,
    /// Ends the writer, after everything that writes has ended.
    pub stop: CancellationToken,
    /// The database file of the transcript, shown in rows; absent where it is not known (D58).
    pub transcript_database: Option<PathBuf>,
}

/// An open registry; clones share it.
#[derive(Clone, Debug)]
pub struct Registry {
    sessions: Arc<Sessions<SqliteStore>>,
    database: Database,
    rows: Rows,
    streams: CancellationToken,
}

impl Registry {
    /// Opens the database and brings it to this version's schema.
    ///
    /// # Errors
    /// When the database cannot be opened.
    pub async fn open(options: RegistryOptions) -> Result<Self, OpenError> {
        let path = options.data_dir.join(NAME).with_extension("db");
        let database = Database::open(&path, MIGRATIONS, &options.tracker, &options.stop).await?;
        let sessions = Sessions {
            store: SqliteStore::new(database.clone()),
            settings: options.settings,
            clock: options.clock,
            ids: options.ids,
        };
        let rows = Rows {
            transcript_database: options.transcript_database,
            settings: sessions.settings.clone(),
        };
        sessions.take_up().await;
        Ok(Self {
            sessions: Arc::new(sessions),
            database,
            rows,
            streams: CancellationToken::new(),
        })
    }

    /// Lets answers without an end, such as changes of sessions, end with `stop`: a server that stops
    /// cancels it before it waits for what is in flight.
    #[must_use]
    pub fn streams_end_with(mut self, stop: CancellationToken) -> Self {
        self.streams = stop;
        self
    }

    /// Adds the registry's services to what a server serves.
    pub fn add_to(&self, services: &mut Services) {
        let api = RegistryApi::new(
            Arc::clone(&self.sessions),
            self.rows.clone(),
            self.streams.clone(),
        );
        services.add(confab_rpc::server!(RegistryServiceServer::new(api)));
        let policy = PolicyApi::new(Arc::clone(&self.sessions));
        services.add(confab_rpc::server!(PolicyServiceServer::new(policy)));
    }

    /// The use cases, for what runs in the same process.
    pub fn sessions(&self) -> &Arc<Sessions<SqliteStore>> {
        &self.sessions
    }

    /// What must work before the service is ready.
    pub fn checks(&self) -> Vec<Arc<dyn Check>> {
        let database = self.database.clone();
        let ask = move || {
            let database = database.clone();
            async move { database.answers().await }.boxed()
        };
        vec![database_check(NAME, ask)]
    }

    /// Finishes what waits to be written, and closes the database.
    pub async fn close(&self) {
        self.database.close().await;
    }
}
