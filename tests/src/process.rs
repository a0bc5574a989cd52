//! Child processes with bounded waits: servers that say when they are ready, and commands that end.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, bail};

/// Longest time a server may take to be ready or to end, in seconds. Generous: the machine may be
/// busy compiling.
const SERVER_SECONDS_MAX: u64 = 60;
/// Longest time a command may take, in seconds: more than any wait it is asked for.
const COMMAND_SECONDS_MAX: u64 = 180;
/// How often something is asked that is not true yet. A question to a server's HTTP listener takes
/// about a millisecond.
const QUESTIONS_MAX: u32 = 10_000;
/// Lines of a server's log that a failed test shows.
const LOG_LINES_SHOWN: usize = 40;

/// A server that said it is ready, or ended without doing so.
#[derive(Debug)]
pub struct Server {
    /// The binary's name.
    pub name: &'static str,
    /// Its first line on standard output; absent when it ended without one.
    pub ready_line: Option<String>,
    child: Child,
    /// One message for each further line; closed when the process has ended.
    lines: Receiver<String>,
    log: PathBuf,
}

impl Server {
    /// Starts `command` and waits until it is ready or has ended. Its log is appended to `log`.
    ///
    /// # Errors
    /// When it cannot be started, or is neither in time.
    pub fn start(name: &'static str, mut command: Command, log: PathBuf) -> anyhow::Result<Self> {
        let stderr = File::options().create(true).append(true).open(&log)?;
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .with_context(|| format!("{name} cannot be started"))?;
        let stdout = child.stdout.take().context("standard output is piped")?;
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut read = BufReader::new(stdout).lines();
            while let Some(Ok(line)) = read.next() {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut server = Self {
            name,
            ready_line: None,
            child,
            lines,
            log,
        };
        match server.next_line() {
            Ok(line) => server.ready_line = line,
            Err(error) => {
                server.kill()?;
                return Err(error.context(server.log_tail()));
            },
        }
        Ok(server)
    }

    /// The address of its gRPC listener, `http://HOST:PORT`.
    ///
    /// # Errors
    /// When it is not ready.
    pub fn grpc(&self) -> anyhow::Result<String> {
        let rest = self
            .ready()?
            .split_once(" ready on ")
            .context("not a ready line")?
            .1;
        let address = rest.split_whitespace().next().context("no address")?;
        Ok(address.to_owned())
    }

    /// The address of its HTTP listener, `HOST:PORT` or `off`.
    ///
    /// # Errors
    /// When it is not ready.
    pub fn http(&self) -> anyhow::Result<String> {
        let address = self
            .ready()?
            .split_once(" http=")
            .context("no HTTP address")?
            .1;
        Ok(address.trim_start_matches("http://").to_owned())
    }

    fn ready(&self) -> anyhow::Result<&str> {
        let line = self.ready_line.as_deref();
        line.with_context(|| format!("{} is not ready\n{}", self.name, self.log_tail()))
    }

    /// Asks it to stop, as a supervisor does, and waits for its end.
    ///
    /// # Errors
    /// When it does not end in time.
    pub fn terminate(&mut self) -> anyhow::Result<ExitStatus> {
        signal("TERM", self.child.id())?;
        self.wait()
    }

    /// Ends it without warning: `kill -9`.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn kill(&mut self) -> anyhow::Result<ExitStatus> {
        self.child.kill()?;
        Ok(self.child.wait()?)
    }

    /// Waits for its end; what it still says is dropped.
    ///
    /// # Errors
    /// When it does not end in time.
    pub fn wait(&mut self) -> anyhow::Result<ExitStatus> {
        while self.next_line()?.is_some() {}
        Ok(self.child.wait()?)
    }

    /// What asks it to stop, from any thread; nothing happens when it has ended.
    pub fn stopper(&self) -> impl Fn() + Send + use<> {
        let process = self.child.id();
        move || drop(signal("TERM", process))
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Tells it to read its configuration again.
    ///
    /// # Errors
    /// When it has ended.
    pub fn hang_up(&self) -> anyhow::Result<()> {
        signal("HUP", self.child.id())
    }

    /// All it logged.
    ///
    /// # Errors
    /// When its log cannot be read.
    pub fn logged(&self) -> anyhow::Result<String> {
        Ok(fs::read_to_string(&self.log)?)
    }

    /// The last lines it logged.
    pub fn log_tail(&self) -> String {
        log_tail(self.name, &self.log)
    }

    /// The next line it says; absent when it has ended.
    fn next_line(&self) -> anyhow::Result<Option<String>> {
        match self
            .lines
            .recv_timeout(Duration::from_secs(SERVER_SECONDS_MAX))
        {
            Ok(line) => Ok(Some(line)),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => {
                bail!(
                    "{} said nothing and did not end for {SERVER_SECONDS_MAX} s",
                    self.name
                )
            },
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A process that has ended already cannot be killed; both are fine here.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Runs a command to its end and hands it `input`.
///
/// # Errors
/// When it cannot be started or does not end in time; then it is killed.
pub fn run(mut command: Command, input: Option<&str>) -> anyhow::Result<Output> {
    let stdin = if input.is_some() {
        Stdio::piped()
    } else {
        Stdio::null()
    };
    command
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().context("the command cannot be started")?;
    let id = child.id();
    let stdin = child.stdin.take();
    let (sender, ended) = channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    if let (Some(mut stdin), Some(text)) = (stdin, input) {
        // A command that ends without reading has its reasons; its output tells them.
        drop(stdin.write_all(text.as_bytes()));
    }
    let Ok(output) = ended.recv_timeout(Duration::from_secs(COMMAND_SECONDS_MAX)) else {
        signal("KILL", id)?;
        bail!("{command:?} did not end for {COMMAND_SECONDS_MAX} s")
    };
    Ok(output?)
}

/// Asks until the answer is yes. Every question takes a process or a connection, so nothing sleeps
/// and nothing spins.
///
/// # Errors
/// When a question fails, or the answer has been no too often.
pub fn eventually(
    what: &str,
    mut question: impl FnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    for _ in 0..QUESTIONS_MAX {
        if question()? {
            return Ok(());
        }
    }
    bail!("still not true after {QUESTIONS_MAX} questions: {what}")
}

/// The last lines of a log file, under a heading.
pub fn log_tail(name: &str, log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let tail = lines.len().saturating_sub(LOG_LINES_SHOWN);
    let shown = lines.get(tail..).unwrap_or_default().join("\n");
    format!("--- the end of the log of {name} ---\n{shown}\n---")
}

/// Sends a signal by way of the shell, which has `kill` everywhere.
fn signal(name: &str, process: u32) -> anyhow::Result<()> {
    let status = Command::new("sh")
        .args(["-c", &format!("kill -{name} {process}")])
        .status()?;
    if !status.success() {
        bail!("process {process} could not be sent {name}");
    }
    Ok(())
}
