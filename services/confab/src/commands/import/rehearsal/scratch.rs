//! A transcript of nobody, in a directory that is removed with it.

use std::future;
use std::sync::Arc;

use confab_config::{Live, Source as Settings};
use confab_model::id::{SessionId, TenantId};
use confab_model::key::SessionKey;
use confab_model::session::Session;
use confab_rpc::caller::Caller;
use confab_rpc::error::RpcError;
use confab_rpc::gate::{Answer, Authority, Gate, Question, Target};
use confab_store::clock::SystemClock;
use confab_store::ids::RandomIds;
use confab_store::sqlite::Database;
use confab_transcript::Messages;
use confab_transcript::commands::ImportTranscript;
use confab_transcript::import::Tally;
use confab_transcript::store::sqlite::{MIGRATIONS, SqliteStore};
use futures::StreamExt as _;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::codegen::Bytes;

use crate::commands::import::progress::Progress;
use crate::commands::import::report::{Counts, LineFault};
use crate::exit::{Exit, Failure};
use crate::openclaw::source::Source;

/// What is told where it cannot be made.
const CANNOT_OPEN: &str = "a dry run cannot lay anything aside in the temporary directory";

/// An open transcript that nobody but a dry run knows.
#[derive(Debug)]
pub(super) struct Scratch {
    messages: Messages<SqliteStore>,
    database: Database,
    directory: TempDir,
}

/// Admits to the one session that it is about: there is nobody else in a scratch.
struct Alone(Session);

impl Authority for Alone {
    fn authorize(&self, _: Question) -> impl Future<Output = Result<Answer, RpcError>> + Send {
        future::ready(Ok(Answer {
            decisions: vec![Ok(self.0.clone())],
            scope: None,
        }))
    }
}

impl Scratch {
    /// Opens an empty one.
    ///
    /// # Errors
    /// When the temporary directory cannot be used.
    pub(super) async fn open() -> Result<Self, Failure> {
        let broken = |error: &dyn std::error::Error| Failure::broken(CANNOT_OPEN, error);
        let directory = tempfile::tempdir().map_err(|error| broken(&error))?;
        let path = directory.path().join("transcript.db");
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let database = Database::open(&path, MIGRATIONS, &tracker, &stop).await;
        let database = database.map_err(|error| broken(&error))?;
        let (settings, _) = Live::start(Settings::inline("{}")).map_err(|error| broken(&error))?;
        let messages = Messages {
            store: SqliteStore::new(database.clone()),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            settings,
            data_dir: directory.path().to_owned(),
        };
        Ok(Self {
            messages,
            database,
            directory,
        })
    }

    /// Imports a transcript into the generation it is of, and tells what became of its lines.
    ///
    /// # Errors
    /// When an import would be refused, or nothing can be laid aside.
    pub(super) async fn import(
        &self,
        source: &Source,
        key: &str,
        progress: &Progress,
    ) -> Result<Counts, Failure> {
        let gate = Gate::new(Alone(self.session(source, key)?));
        let request = ImportTranscript {
            target: Target::reference(key),
            session_id: None,
            dry_run: false,
        };
        let call = gate
            .admit_as(Caller::operator(TenantId::default()), request)
            .await?;
        let pieces = match source.pieces() {
            Ok(pieces) => pieces,
            Err(reason) => return Ok(counts(&Tally::default(), Some(reason))),
        };
        let mut unread = None;
        // What was read before the source broke goes in, as it does in an import.
        let pieces = pieces.scan((), |(), piece| {
            future::ready(match piece {
                Ok(piece) => {
                    progress.piece(piece.len());
                    Some(Ok(Bytes::from(piece)))
                },
                Err(reason) => {
                    unread = Some(reason);
                    None
                },
            })
        });
        let tally = self.messages.import(call, pieces).await?;
        Ok(counts(&tally, unread))
    }

    fn session(&self, source: &Source, key: &str) -> Result<Session, Failure> {
        let refused = |error: String| Failure::new(Exit::Refused, error);
        let key = SessionKey::parse(key).map_err(|error| refused(error.to_string()))?;
        let id = SessionId::parse(source.session_id.as_str());
        let id = id.map_err(|error| refused(error.to_string()))?;
        Ok(Session::fresh(key, id, self.messages.clock.now()))
    }

    /// Closes and removes it.
    pub(super) async fn close(self) {
        let Self {
            database,
            directory,
            ..
        } = self;
        database.close().await;
        // A directory that stays is one more in a place that is emptied by others.
        drop(directory);
    }
}

fn counts(tally: &Tally, unread: Option<String>) -> Counts {
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let faults = tally.faults().into_iter().map(|fault| LineFault {
        line: number(fault.line),
        reason: fault.reason,
    });
    Counts {
        lines: number(tally.lines),
        imported: number(tally.imported),
        repeated: number(tally.repeated),
        skipped: number(tally.skipped),
        kept_aside: number(tally.kept_aside),
        faults: faults.collect(),
        unread,
    }
}
