//! The life of a server's process, the same for every binary.
//!
//! A binary prepares its [`Ground`] (options, configuration, telemetry, signals), opens its services
//! on it, serves them until it is told to stop, closes them, and finishes. It holds the owner lock of
//! its data all the while.
//!
//! Source: contract (Binaries, Configuration).

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use confab_config::live::POLL_INTERVAL;
use confab_config::settings::{Auth, Storage};
use confab_config::{Live, LoadError, Settings, Source};
use confab_model::clock::Clock;
use confab_telemetry::{Telemetry, TelemetryOptions};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clients::{Call, Credentials, Transport};
use crate::identity::{Authenticator, KeyError, Minter};
use crate::layer::Stack;
use crate::serve::{
    Check, HttpListen, HttpSide, Listen, ServeError, Server, Services, stop_on_signals,
};

/// Where the databases live when nothing says otherwise.
const DATA_DIR: &str = "./confab-data";
/// What is logged when nothing says otherwise.
const LOG_FILTER: &str = "info";
/// The environment's say on what is logged.
const LOG_VARIABLE: &str = "RUST_LOG";
/// How long the tasks of a process that has stopped may take to end.
const LAST_TASKS: Duration = Duration::from_secs(5);

/// The options that every server takes.
#[derive(Args, Clone, Debug, Default)]
pub struct ServerArgs {
    /// The configuration file [default: what `CONFAB_CONFIG` names; without one, all defaults].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where the databases live [default: storage.url of the file, else ./confab-data].
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Where gRPC listens; port 0 picks a free one.
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// Where health, readiness and metrics listen, or `off` [default: the gRPC port + 100].
    #[arg(long, value_name = "ADDR")]
    pub http_listen: Option<HttpListen>,
}

/// Why a server could not start, or ended badly.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The configuration cannot be used.
    #[error("the configuration cannot be used")]
    Config(#[from] LoadError),
    /// The file asks for a database that this version does not have.
    #[error(
        "confab.storage.url names a PostgreSQL server, which this version cannot use: give \
         sqlite://DIRECTORY, or --data DIRECTORY"
    )]
    Storage,
    /// Logs, traces or metrics cannot be set up.
    #[error("telemetry cannot be set up")]
    Telemetry(#[from] confab_telemetry::Error),
    /// A key of `confab.auth.keys` cannot be used.
    #[error("confab.auth.keys cannot be used")]
    Key(#[from] KeyError),
    /// The system lets nobody listen to its signals.
    #[error("signals cannot be listened to")]
    Signals(#[source] io::Error),
    /// The server could not start, or ended by itself.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// What the services of one process stand on.
#[derive(Debug)]
pub struct Ground {
    /// What the binary is called, for example `confab-registry`.
    pub name: &'static str,
    /// The settings in force.
    pub settings: Live,
    /// Where the databases live.
    pub data_dir: PathBuf,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Signs the tokens of this process; absent in open mode.
    pub minter: Option<Minter>,
    /// The tasks that the end of the process waits for.
    pub tracker: TaskTracker,
    /// Told to stop: cancelled by the first SIGTERM or SIGINT.
    pub stop: CancellationToken,
    listen: Listen,
    telemetry: Telemetry,
}

impl Ground {
    /// Reads the options and the configuration, and begins to log and to listen to signals. Must run
    /// inside the runtime.
    ///
    /// # Errors
    /// When any of it cannot be used.
    pub fn prepare(
        name: &'static str,
        port_default: u16,
        args: ServerArgs,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, LaunchError> {
        let (settings, warnings) = Live::start(Source::of_process(args.config))?;
        let current = settings.current();
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, port_default));
        let listen = Listen::new(args.listen.unwrap_or(local), args.http_listen);
        // Told before anything is opened: a database must not be made by a server that is refused.
        listen
            .check(matches!(current.auth, Auth::Open))
            .map_err(ServeError::from)?;
        let telemetry = begin_telemetry(name, &current)?;
        for warning in &warnings {
            tracing::warn!("{warning}");
        }
        let data_dir = data_dir(args.data, &current)?;
        let minter = Minter::configured(&current.auth, Arc::clone(&clock))?;
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        stop_on_signals(&tracker, stop.clone()).map_err(LaunchError::Signals)?;
        settings
            .watch(&tracker, stop.clone(), POLL_INTERVAL)
            .map_err(LaunchError::Signals)?;
        Ok(Self {
            name,
            settings,
            data_dir,
            clock,
            minter,
            tracker,
            stop,
            listen,
            telemetry,
        })
    }

    /// Tells who calls, as the configuration says; a server with runs adds them to it.
    ///
    /// # Errors
    /// When a key cannot be found or used.
    pub fn authenticator(&self) -> Result<Authenticator, LaunchError> {
        let settings = self.settings.clone();
        let rules = Arc::new(move || settings.current().key_rules());
        let auth = &self.settings.current().auth;
        Ok(Authenticator::configured(
            auth,
            rules,
            Arc::clone(&self.clock),
        )?)
    }

    /// The layers around every call of this process.
    pub fn stack(&self, authenticator: Authenticator) -> Stack {
        Stack::new(Arc::new(authenticator), &self.telemetry.metrics())
    }

    /// Calls by way of `transport` as the service called `service`.
    pub fn call_as(&self, service: &str, transport: Transport) -> Call {
        Call::new(
            transport,
            Credentials::service(service, self.minter.clone()),
        )
    }

    /// Serves until the process is told to stop, and lets what is in flight finish. `tell` is handed
    /// the line that says where the server is, once it is ready.
    ///
    /// # Errors
    /// When an address is not to be had, or the transport ends by itself.
    pub async fn serve(
        &self,
        stack: Stack,
        services: Services,
        checks: Vec<Arc<dyn Check>>,
        tell: impl FnOnce(&str),
    ) -> Result<(), LaunchError> {
        let http = HttpSide::new(&self.settings, self.telemetry.metrics(), checks);
        let server = Server {
            name: self.name,
            stack,
            services,
            listen: self.listen,
            http,
        };
        let listening = server.bind().await?;
        let line = listening.ready_line();
        tracing::info!(data = %self.data_dir.display(), "{line}");
        tell(&line);
        Ok(listening.serve(self.stop.clone()).await?)
    }

    /// Ends the tasks and sends out what telemetry still holds. Whatever was opened on this ground is
    /// closed before.
    pub async fn finish(self) {
        self.stop.cancel();
        self.tracker.close();
        if timeout(LAST_TASKS, self.tracker.wait()).await.is_err() {
            tracing::warn!(tasks = self.tracker.len(), "tasks were cut off");
        }
        self.telemetry.shutdown().await;
    }
}

fn begin_telemetry(name: &str, settings: &Settings) -> Result<Telemetry, LaunchError> {
    let filter = confab_config::source::variable(LOG_VARIABLE);
    Ok(confab_telemetry::init(TelemetryOptions {
        service_name: name.to_owned(),
        otlp_endpoint: settings.telemetry.otlp_endpoint.clone(),
        log_filter: filter.unwrap_or_else(|| LOG_FILTER.to_owned()),
    })?)
}

/// The command line wins over the file (contract, Binaries).
fn data_dir(given: Option<PathBuf>, settings: &Settings) -> Result<PathBuf, LaunchError> {
    match (given, &settings.storage) {
        (Some(given), _) => Ok(given),
        (None, Some(Storage::Sqlite { directory })) => Ok(directory.clone()),
        (None, Some(Storage::Postgres { .. })) => Err(LaunchError::Storage),
        (None, None) => Ok(Path::new(DATA_DIR).to_path_buf()),
    }
}

#[cfg(test)]
mod tests {
    use confab_model::clock::ManualClock;

    use super::*;
    use crate::serve::fixture::START;

    #[tokio::test]
    async fn an_address_that_open_mode_forbids_is_refused_before_anything_is_opened() {
        let everywhere: SocketAddr = "0.0.0.0:0".parse().unwrap();
        let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
        for (listen, http) in [(everywhere, local), (local, everywhere)] {
            let args = ServerArgs {
                listen: Some(listen),
                http_listen: Some(HttpListen::At(http)),
                ..ServerArgs::default()
            };
            let clock = Arc::new(ManualClock::starting_at(START));
            let refused = Ground::prepare("confab-test", 0, args, clock).unwrap_err();
            assert!(
                matches!(refused, LaunchError::Serve(ServeError::Listener(_))),
                "{refused}"
            );
        }
    }

    fn chosen(given: Option<&str>, config: &str) -> Result<PathBuf, LaunchError> {
        let (settings, _) = Live::start(Source::inline(config))?;
        data_dir(given.map(PathBuf::from), &settings.current())
    }

    #[test]
    fn the_command_line_wins_over_the_file_and_the_file_over_the_default() {
        let sqlite = r#"{ confab: { storage: { url: "sqlite:///var/lib/confab" } } }"#;
        assert_eq!(chosen(Some("/here"), sqlite).unwrap(), Path::new("/here"));
        assert_eq!(chosen(None, sqlite).unwrap(), Path::new("/var/lib/confab"));
        assert_eq!(chosen(None, "{}").unwrap(), Path::new("./confab-data"));
    }

    #[test]
    fn a_server_that_cannot_be_used_is_refused_with_what_to_do() {
        let postgres = r#"{ confab: { storage: { url: "postgres://me@db/confab" } } }"#;
        let refused = chosen(None, postgres).unwrap_err();
        assert!(
            refused.to_string().contains("--data DIRECTORY"),
            "{refused}"
        );
        assert_eq!(chosen(Some("/here"), postgres).unwrap(), Path::new("/here"));
    }
}
