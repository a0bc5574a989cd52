//! The configuration in force, and how a changed file comes into force.
//!
//! Source: contract, Configuration.

#[cfg(test)]
mod tests;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::check::{LoadError, Loaded, Warning, judge, load};
use crate::settings::Settings;
use crate::source::{Document, Source, Stamp};

/// How often the file is looked at.
pub const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The parts of section `confab` that stay as they were until a restart.
const RESTART_BOUND: [&str; 3] = ["storage", "auth", "telemetry"];

/// A handle on the settings in force; clones share them.
#[derive(Clone, Debug)]
pub struct Live {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    source: Source,
    current: watch::Sender<Arc<Settings>>,
    /// Guards a reload from beginning to end, so that two do not overtake one another.
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The document in force.
    document: Value,
    /// The file when it was last read, whether it was accepted or refused.
    stamp: Option<Stamp>,
}

/// What a reload did.
#[derive(Debug, PartialEq, Eq)]
pub struct Reload {
    /// Whether other settings came into force.
    pub changed: bool,
    /// What of the file has no effect.
    pub warnings: Vec<Warning>,
    /// Changed parts that stay as they were until a restart, for example `confab.storage`.
    pub needs_restart: Vec<String>,
}

impl Live {
    /// Loads `source` and puts it in force; the warnings are the caller's to show.
    ///
    /// # Errors
    /// When it cannot be read, or with everything that is wrong with it.
    pub fn start(source: Source) -> Result<(Self, Vec<Warning>), LoadError> {
        // Taken before the file is read: a change in between counts as one.
        let stamp = source.stamp();
        let Loaded {
            settings,
            warnings,
            document,
        } = load(&source)?;
        let state = Mutex::new(State { document, stamp });
        let (current, _) = watch::channel(Arc::new(settings));
        Ok((
            Self {
                shared: Arc::new(Shared {
                    source,
                    current,
                    state,
                }),
            },
            warnings,
        ))
    }

    /// The settings in force.
    pub fn current(&self) -> Arc<Settings> {
        Arc::clone(&self.shared.current.borrow())
    }

    /// The settings in force and every later change of them.
    pub fn subscribe(&self) -> watch::Receiver<Arc<Settings>> {
        self.shared.current.subscribe()
    }

    /// Reads the file again and puts it in force.
    ///
    /// # Errors
    /// When it cannot be read or is wrong; the old settings stay in force.
    pub fn reload(&self) -> Result<Reload, LoadError> {
        let mut state = self
            .shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        state.stamp = self.shared.source.stamp();
        let read = self.shared.source.read()?;
        let directory = read.directory.clone();
        let written = judge(read)?;
        let (value, needs_restart) = hold_back(&state.document, written.document);
        // Judged a second time because the parts held back belong to what is in force.
        let held = judge(Document { value, directory })?;
        let changed = held.settings.fingerprint != self.current().fingerprint;
        state.document = held.document;
        if changed {
            self.shared.current.send_replace(Arc::new(held.settings));
        }
        Ok(Reload {
            changed,
            warnings: written.warnings,
            needs_restart,
        })
    }

    /// Reloads whenever the file changes or the process gets SIGHUP, until `stop`.
    ///
    /// # Errors
    /// When the signal cannot be listened to.
    pub fn watch(
        &self,
        tracker: &TaskTracker,
        stop: CancellationToken,
        poll_interval: Duration,
    ) -> io::Result<()> {
        let mut hang_ups = signal(SignalKind::hangup())?;
        let mut ticks = tokio::time::interval(poll_interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let live = self.clone();
        tracker.spawn(async move {
            loop {
                let asked = tokio::select! {
                    () = stop.cancelled() => return,
                    Some(()) = hang_ups.recv() => true,
                    _ = ticks.tick() => false,
                };
                let live = live.clone();
                let followed = tokio::task::spawn_blocking(move || live.follow(asked)).await;
                if let Err(error) = followed {
                    tracing::error!(%error, "reading the configuration broke off");
                }
            }
        });
        Ok(())
    }

    /// Reloads if asked to or if the file has changed, and logs what came of it.
    fn follow(&self, asked: bool) {
        if !asked && !self.file_changed() {
            return;
        }
        match self.reload() {
            Ok(reload) => self.report(&reload),
            Err(error) => {
                let error = error.report().replace('\n', " | ");
                tracing::error!(error, "configuration refused; the one in force stays");
            },
        }
    }

    fn file_changed(&self) -> bool {
        let state = self
            .shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        state.stamp != self.shared.source.stamp()
    }

    fn report(&self, reload: &Reload) {
        for warning in &reload.warnings {
            tracing::warn!("{warning}");
        }
        for part in &reload.needs_restart {
            tracing::warn!("{part} has changed; it takes effect at the next start");
        }
        if reload.changed {
            tracing::info!(
                config = self.current().fingerprint,
                "configuration reloaded"
            );
        }
    }
}

/// `new` with the restart-bound parts of `old`, and the paths of those that differ.
fn hold_back(old: &Value, mut new: Value) -> (Value, Vec<String>) {
    let mut differing = Vec::new();
    for part in RESTART_BOUND {
        let pointer = format!("/confab/{part}");
        let kept = old.pointer(&pointer).filter(|value| !value.is_null());
        if kept == new.pointer(&pointer).filter(|value| !value.is_null()) {
            continue;
        }
        differing.push(format!("confab.{part}"));
        put(&mut new, part, kept.cloned());
    }
    (new, differing)
}

/// Sets or removes one part of section `confab`.
fn put(document: &mut Value, part: &str, value: Option<Value>) {
    let Some(sections) = document.as_object_mut() else {
        return;
    };
    let section = sections.entry("confab").or_insert(Value::Null);
    if section.is_null() {
        *section = Value::Object(Map::new());
    }
    let Some(fields) = section.as_object_mut() else {
        return;
    };
    match value {
        Some(value) => fields.insert(part.to_owned(), value),
        None => fields.shift_remove(part),
    };
}
