//! Where a deployment lives: a configuration file and a data directory, gone with the test.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::json::merge;

/// A directory with `confab.json5` and `data`.
#[derive(Debug)]
pub struct Home {
    directory: TempDir,
}

impl Home {
    /// A home with this configuration and no data.
    ///
    /// # Errors
    /// When the directory cannot be made.
    pub fn new(config: &Value) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        let home = Self { directory };
        home.configure(config)?;
        Ok(home)
    }

    /// A home with the same configuration and a copy of the data. Nothing may be running here.
    ///
    /// # Errors
    /// When a file cannot be copied.
    pub fn copy(&self) -> anyhow::Result<Self> {
        let directory = tempfile::tempdir()?;
        let copy = Self { directory };
        fs::copy(self.config(), copy.config())?;
        copy_directory(&self.data(), &copy.data())?;
        Ok(copy)
    }

    /// Replaces the configuration.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn configure(&self, config: &Value) -> anyhow::Result<()> {
        fs::write(self.config(), config.to_string()).context("the configuration is not written")
    }

    /// The directory itself.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The configuration file.
    pub fn config(&self) -> PathBuf {
        self.directory.path().join("confab.json5")
    }

    /// The data directory; a server makes it.
    pub fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// The log of one server.
    pub fn log(&self, name: &str) -> PathBuf {
        self.directory.path().join(format!("{name}.log"))
    }
}

fn copy_directory(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_directory(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// A configuration in which everybody sees everybody and what leaves is recorded and dropped.
pub fn config(agents: &[Value]) -> Value {
    json!({
        "agents": { "list": agents },
        "tools": { "sessions": { "visibility": "all" }, "agentToAgent": { "enabled": true } },
        "confab": { "deliveries": { "sinks": [{ "channel": "*", "type": "discard" }] } },
    })
}

/// The same with `change` merged into it.
pub fn config_with(agents: &[Value], change: Value) -> Value {
    let mut config = config(agents);
    merge(&mut config, change);
    config
}

/// An agent whose answers follow `rules`, else `echo: {message}`.
pub fn script(id: &str, rules: &Value) -> Value {
    json!({
        "id": id,
        "driver": { "type": "script", "rules": rules, "default": "echo: {message}" },
    })
}
