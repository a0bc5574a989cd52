//! The transcript as a whole: opened, served, closed.

use std::path::PathBuf;
use std::sync::Arc;

use confab_config::Live;
use confab_model::clock::Clock;
use confab_model::id::Ids;
use confab_proto::transcript::v1::transcript_service_server::TranscriptServiceServer;
use confab_rpc::gate::Authority;
use confab_rpc::serve::{Check, Services, database_check};
use confab_store::sqlite::{Database, OpenError};
use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Messages;
use crate::search::follow::follow;
use crate::service::TranscriptApi;
use crate::store::sqlite::{MIGRATIONS, SqliteStore};

/// The service's name: of its database, its lock and its log lines.
pub const NAME: &str = "transcript";

/// What the transcript needs to open.
#[derive(Clone, Debug)]
pub struct TranscriptOptions<A> {
    /// Where `transcript.db` lies; the caller holds the owner lock of the directory.
    pub data_dir: PathBuf,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// New message identifiers.
    pub ids: Arc<dyn Ids>,
    /// The settings in force.
    pub settings: Live,
    /// Keeps the tasks of the writer and of the search index.
    pub tracker: TaskTracker,
    /// Ends the writer, after everything that writes has ended.
    pub stop: CancellationToken,
    /// Who decides what may be read: the registry.
    pub authority: A,
}

/// An open transcript; clones share it.
#[derive(Clone, Debug)]
pub struct Transcript<A> {
    messages: Arc<Messages<SqliteStore>>,
    database: Database,
    /// Ends the task that follows the appends.
    stop_following: CancellationToken,
    authority: A,
}

impl<A: Authority + Clone> Transcript<A> {
    /// Opens the database and brings it to this version's schema.
    ///
    /// # Errors
    /// When the database cannot be opened.
    pub async fn open(options: TranscriptOptions<A>) -> Result<Self, OpenError> {
        let path = options.data_dir.join(NAME).with_extension("db");
        let database = Database::open(&path, MIGRATIONS, &options.tracker, &options.stop).await?;
        let messages = Messages {
            store: SqliteStore::new(database.clone()),
            clock: options.clock,
            ids: options.ids,
            settings: options.settings,
            data_dir: options.data_dir,
        };
        let messages = Arc::new(messages);
        let stop_following = options.stop.child_token();
        let following = follow(
            Arc::clone(&messages),
            database.commits(),
            stop_following.clone(),
        );
        options.tracker.spawn(following);
        Ok(Self {
            messages,
            database,
            stop_following,
            authority: options.authority,
        })
    }

    /// Adds the transcript's service to what a server serves.
    pub fn add_to(&self, services: &mut Services) {
        let api = TranscriptApi::new(Arc::clone(&self.messages), self.authority.clone());
        services.add(confab_rpc::server!(TranscriptServiceServer::new(api)));
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
        self.stop_following.cancel();
        self.database.close().await;
    }
}
