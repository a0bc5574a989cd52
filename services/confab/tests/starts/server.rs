//! A running server of the test's own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::run::{WAIT, confab_with, program, within};

/// A running `confab up`; killed when the test is over.
pub(crate) struct Server {
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
    /// The ready line.
    pub(crate) line: String,
    /// Where gRPC is served: `http://ADDR`.
    pub(crate) endpoint: String,
    /// Where HTTP is served.
    pub(crate) http: String,
}

impl Server {
    /// Starts a server on free ports and waits until it says that it is ready.
    pub(crate) fn start(data: &Path, config: Option<&Path>) -> Self {
        Self::start_with(&[], data, config)
    }

    /// The same with variables of its own.
    pub(crate) fn start_with(
        variables: &[(&str, &str)],
        data: &Path,
        config: Option<&Path>,
    ) -> Self {
        let mut command = program(&["up", "--listen", "127.0.0.1:0"]);
        command
            .arg("--data")
            .arg(data)
            .env("RUST_LOG", "error")
            .envs(variables.iter().copied());
        if let Some(config) = config {
            command.arg("--config").arg(config);
        }
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
        let (line, stdout) = within(move || {
            let mut line = String::new();
            stdout.read_line(&mut line).expect("the server writes");
            (line, stdout)
        });
        let word = |prefix: &str| {
            let mut words = line.split_whitespace();
            words
                .find_map(|word| word.strip_prefix(prefix))
                .unwrap_or_default()
                .to_owned()
        };
        let (endpoint, http) = (format!("http://{}", word("http://")), word("http="));
        Self {
            child,
            stdout: Some(stdout),
            line,
            endpoint,
            http,
        }
    }

    /// The answer of the HTTP side: status line and body.
    pub(crate) fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.http).expect("the HTTP side listens");
        stream
            .set_read_timeout(Some(WAIT))
            .expect("a timeout can be set");
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: confab\r\nConnection: close\r\n\r\n"
        )
        .expect("the HTTP side reads");
        let mut answer = String::new();
        stream
            .read_to_string(&mut answer)
            .expect("the HTTP side answers");
        answer
    }

    /// Runs a command against this server.
    pub(crate) fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        confab_with(&[("CONFAB_ENDPOINT", &self.endpoint)], arguments)
    }

    /// Sends a signal and waits for the end: the exit status, and what was written after the ready
    /// line.
    pub(crate) fn stop(mut self, signal: &str) -> (Option<i32>, String) {
        let sent = Command::new("kill")
            .args([format!("-{signal}"), self.child.id().to_string()])
            .status()
            .expect("kill is there");
        assert!(sent.success());
        let mut stdout = self.stdout.take().expect("it was not read yet");
        let rest = within(move || {
            let mut rest = String::new();
            stdout
                .read_to_string(&mut rest)
                .expect("the server writes UTF-8");
            rest
        });
        // Its output is closed, so it is ending.
        (self.child.wait().expect("the server ends").code(), rest)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already where the test stopped it.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
