//! A running confab, in either of its shapes.

use std::process::Command;
use std::thread;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::binaries::{self, Variant};
use crate::client::{Client, without_settings};
use crate::home::Home;
use crate::http;
use crate::process::{Server, eventually};

/// How the services are spread over processes. They are the same services either way, and every
/// test of the main flow runs on both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `confab up`.
    OneProcess,
    /// `confab-registry`, `confab-transcript` and `confab-runner`.
    ThreeServices,
}

/// What to start.
#[derive(Debug)]
pub struct Plan<'a> {
    /// How it is spread over processes.
    pub shape: Shape,
    /// Which binaries.
    pub variant: Variant,
    /// Where it lives.
    pub home: &'a Home,
    /// Environment variables of every process.
    pub environment: Vec<(&'a str, String)>,
}

impl<'a> Plan<'a> {
    /// `shape` at `home`, with plain binaries.
    pub fn new(shape: Shape, home: &'a Home) -> Self {
        Self {
            shape,
            variant: Variant::Plain,
            home,
            environment: Vec::new(),
        }
    }

    /// The same with binaries that can die at a point, and with the points at which they do.
    #[must_use]
    pub fn dying_at(mut self, points: &str) -> Self {
        self.variant = Variant::Failpoints;
        self.environment.push(("FAILPOINTS", points.to_owned()));
        self
    }

    /// The same with an environment variable.
    #[must_use]
    pub fn with_variable(mut self, name: &'a str, value: &str) -> Self {
        self.environment.push((name, value.to_owned()));
        self
    }

    /// The command that starts one process of it, on free ports.
    ///
    /// # Errors
    /// When the binary cannot be built.
    pub fn command(&self, binary: &str) -> anyhow::Result<Command> {
        let mut command = self.bare_command(binary)?;
        command.args(["--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"]);
        Ok(command)
    }

    /// The same without listeners, for tests that say where to listen.
    ///
    /// # Errors
    /// When the binary cannot be built.
    pub fn bare_command(&self, binary: &str) -> anyhow::Result<Command> {
        let mut command = Command::new(binaries::find(self.variant, binary)?);
        without_settings(&mut command).envs(self.environment.iter().cloned());
        if binary == "confab" {
            command.arg("up");
        }
        command.arg("--config").arg(self.home.config());
        command.arg("--data").arg(self.home.data());
        Ok(command)
    }

    /// Starts one process with this command and waits until it is ready or has ended.
    ///
    /// # Errors
    /// When it is neither in time.
    pub fn launch(&self, name: &'static str, command: Command) -> anyhow::Result<Server> {
        Server::start(name, command, self.home.log(name))
    }

    /// Starts everything.
    ///
    /// # Errors
    /// When a process is not ready in time.
    pub fn start(&self) -> anyhow::Result<Deployment> {
        let servers = match self.shape {
            Shape::OneProcess => vec![self.launch("confab", self.command("confab")?)?],
            Shape::ThreeServices => self.start_three()?,
        };
        Deployment::of(self.shape, servers)
    }

    fn start_three(&self) -> anyhow::Result<Vec<Server>> {
        let registry = self.start_service("confab-registry", "127.0.0.1:0", &[])?;
        let others = [("--registry", registry.grpc()?)];
        let transcript = self.start_service("confab-transcript", "127.0.0.1:0", &others)?;
        let others = [
            ("--registry", registry.grpc()?),
            ("--transcript", transcript.grpc()?),
        ];
        let runner = self.start_service("confab-runner", "127.0.0.1:0", &others)?;
        Ok(vec![registry, transcript, runner])
    }

    /// Starts one service at `listen`, which finds the others at their addresses.
    ///
    /// # Errors
    /// When it is neither ready nor ended in time.
    pub fn start_service(
        &self,
        name: &'static str,
        listen: &str,
        others: &[(&str, String)],
    ) -> anyhow::Result<Server> {
        let mut command = self.bare_command(name)?;
        command.args(["--listen", listen, "--http-listen", "127.0.0.1:0"]);
        for (option, address) in others {
            command.args([*option, address.as_str()]);
        }
        self.launch(name, command)
    }
}

/// A running confab. A test ends it with [`Deployment::stop`]; one that is dropped instead belongs
/// to a test that failed, and shows its logs.
#[derive(Debug)]
pub struct Deployment {
    /// Its processes.
    pub servers: Vec<Server>,
    /// A client of it.
    pub client: Client,
    failed: bool,
}

impl Deployment {
    /// A deployment of processes that run already, each of them ready.
    ///
    /// # Errors
    /// When one is not ready.
    pub fn of(shape: Shape, servers: Vec<Server>) -> anyhow::Result<Self> {
        let grpc = servers
            .iter()
            .map(Server::grpc)
            .collect::<anyhow::Result<Vec<_>>>()?;
        let options: &[&str] = match shape {
            Shape::OneProcess => &["--endpoint"],
            Shape::ThreeServices => &["--registry", "--transcript", "--runner"],
        };
        let addresses = options.iter().copied().zip(grpc).collect();
        Ok(Self {
            servers,
            client: Client::new(addresses)?,
            failed: true,
        })
    }

    /// Starts `shape` at `home`.
    ///
    /// # Errors
    /// When a process is not ready in time.
    pub fn start(shape: Shape, home: &Home) -> anyhow::Result<Self> {
        Plan::new(shape, home).start()
    }

    /// Asks every process to stop, the one that depends on the others first, and demands that each
    /// ends well.
    ///
    /// # Errors
    /// When one does not end, or not with 0.
    pub fn stop(mut self) -> anyhow::Result<()> {
        for server in self.servers.iter_mut().rev() {
            let status = server.terminate()?;
            ensure!(
                status.code() == Some(0),
                "{} ended with {status} on SIGTERM",
                server.name
            );
        }
        self.failed = false;
        Ok(())
    }

    /// Ends every process with `kill -9`.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn kill(mut self) -> anyhow::Result<()> {
        for server in &mut self.servers {
            server.kill()?;
        }
        self.failed = false;
        Ok(())
    }

    /// Replaces the configuration, by another one, and waits until it is in force everywhere.
    ///
    /// # Errors
    /// When a process does not take it.
    pub fn reload(&self, home: &Home, config: &Value) -> anyhow::Result<()> {
        let told = |server: &Server| Ok(http::get(&server.http()?, "/readyz")?.1);
        let before = self.servers.iter().map(told);
        let before = before.collect::<anyhow::Result<Vec<String>>>()?;
        home.configure(config)?;
        for (server, before) in self.servers.iter().zip(&before) {
            server.hang_up()?;
            eventually("the new settings are in force", || {
                Ok(told(server)? != *before)
            })?;
        }
        Ok(())
    }

    /// The address of the HTTP listener of its last process, `HOST:PORT`.
    ///
    /// # Errors
    /// When it has none.
    pub fn http(&self) -> anyhow::Result<String> {
        self.servers.last().context("no process")?.http()
    }
}

impl Drop for Deployment {
    #[expect(
        clippy::print_stderr,
        reason = "the harness shows it with the failed test"
    )]
    fn drop(&mut self) {
        if self.failed || thread::panicking() {
            for server in &self.servers {
                eprintln!("{}", server.log_tail());
            }
        }
    }
}
