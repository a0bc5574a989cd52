//! The command line as a client.

use std::path::PathBuf;
use std::process::Command;

use anyhow::bail;
use serde_json::Value;

use crate::binaries::{self, Variant};
use crate::json;
use crate::process;

/// Runs `confab … --json` against one deployment.
#[derive(Clone, Debug)]
pub struct Client {
    program: PathBuf,
    /// Options that say where the services are, each with its value.
    addresses: Vec<(&'static str, String)>,
    token: Option<String>,
}

/// How a command ended.
#[derive(Debug)]
pub struct Answer {
    /// The exit status; -1 when a signal ended it.
    pub status: i32,
    /// What it wrote as JSON, to standard output or else to standard error; null when neither is
    /// JSON.
    pub json: Value,
    /// All it wrote.
    pub text: String,
}

impl Client {
    /// A client of the services at these addresses.
    ///
    /// # Errors
    /// When the command line cannot be built.
    pub fn new(addresses: Vec<(&'static str, String)>) -> anyhow::Result<Self> {
        let program = binaries::find(Variant::Plain, "confab")?;
        Ok(Self {
            program,
            addresses,
            token: None,
        })
    }

    /// The same client with a token.
    #[must_use]
    pub fn with_token(&self, token: &str) -> Self {
        Self {
            token: Some(token.to_owned()),
            ..self.clone()
        }
    }

    /// Runs a command to its end.
    ///
    /// # Errors
    /// When it cannot be started or does not end.
    pub fn run(&self, arguments: &[&str]) -> anyhow::Result<Answer> {
        self.run_with_input(arguments, None)
    }

    /// Runs a command that has to succeed and returns its JSON.
    ///
    /// # Errors
    /// When its exit status is not 0.
    pub fn json(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let answer = self.run(arguments)?;
        if answer.status != 0 {
            bail!(
                "confab {} ended with {}: {}",
                arguments.join(" "),
                answer.status,
                answer.text
            );
        }
        Ok(answer.json)
    }

    /// Calls a tool as the agent of the session `caller`, or as the operator.
    ///
    /// # Errors
    /// When the command cannot be started or does not end.
    pub fn tool(
        &self,
        name: &str,
        arguments: &Value,
        caller: Option<&str>,
    ) -> anyhow::Result<Answer> {
        self.tool_with_text(name, &arguments.to_string(), caller)
    }

    /// Calls a tool with any text in the place of its arguments.
    ///
    /// # Errors
    /// When the command cannot be started or does not end.
    pub fn tool_with_text(
        &self,
        name: &str,
        arguments: &str,
        caller: Option<&str>,
    ) -> anyhow::Result<Answer> {
        let mut words = vec!["tool", name, "-"];
        if let Some(caller) = caller {
            words.extend(["--as", caller]);
        }
        self.run_with_input(&words, Some(arguments))
    }

    /// The messages of a session that its history shows, oldest first.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn history(&self, session: &str) -> anyhow::Result<Vec<Value>> {
        let arguments = serde_json::json!({ "sessionKey": session, "limit": 1000 });
        let answer = self.tool("sessions_history", &arguments, None)?;
        if answer.status != 0 {
            bail!("the history of {session}: {}", answer.text);
        }
        Ok(json::list(&answer.json, "/messages")?.to_vec())
    }

    /// Runs a command that has to succeed and returns what it shows to people.
    ///
    /// # Errors
    /// When its exit status is not 0.
    pub fn table(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = process::run(self.command(arguments), None)?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        if output.status.code() != Some(0) {
            bail!("confab {}: {stderr}", arguments.join(" "));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        without_settings(&mut command).args(arguments);
        for (option, address) in &self.addresses {
            command.args([option, address.as_str()]);
        }
        if let Some(token) = &self.token {
            command.env("CONFAB_TOKEN", token);
        }
        command
    }

    fn run_with_input(&self, arguments: &[&str], input: Option<&str>) -> anyhow::Result<Answer> {
        let mut command = self.command(arguments);
        command.arg("--json");
        let output = process::run(command, input)?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let json = serde_json::from_str(&stdout).or_else(|_| serde_json::from_str(&stderr));
        Ok(Answer {
            status: output.status.code().unwrap_or(-1),
            json: json.unwrap_or(Value::Null),
            text: format!("{stdout}{stderr}"),
        })
    }
}

/// Takes confab's own variables out of a command's environment, so that a test sees what it set.
pub fn without_settings(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CONFAB_") {
            command.env_remove(name);
        }
    }
    command
}
