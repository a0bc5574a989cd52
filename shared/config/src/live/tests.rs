//! A changed file comes into force, a wrong one does not.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use super::*;
use crate::settings::{Auth, Storage};

/// A configuration file that a test changes.
struct File {
    directory: TempDir,
}

impl File {
    fn with(json5: &str) -> Self {
        let file = Self {
            directory: TempDir::new().unwrap(),
        };
        file.write(json5);
        file
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("confab.json5")
    }

    fn write(&self, json5: &str) {
        fs::write(self.path(), json5).unwrap();
    }

    fn live(&self) -> Live {
        Live::start(Source::of(Some(self.path()), [])).unwrap().0
    }
}

fn hops(live: &Live) -> u32 {
    live.current().session.max_hops
}

#[test]
fn a_changed_file_comes_into_force() {
    let file = File::with("{session: {agentToAgent: {maxHops: 3}}}");
    let live = file.live();
    let before = live.current();
    file.write("{session: {agentToAgent: {maxHops: 4}, dmScope: 'main'}}");
    let reload = live.reload().unwrap();
    assert!(reload.changed);
    assert_eq!(reload.warnings.len(), 1);
    assert!(reload.needs_restart.is_empty());
    assert_eq!(hops(&live), 4);
    assert_ne!(live.current().fingerprint, before.fingerprint);
}

#[test]
fn run_r18_a_reload_hides_what_the_changed_file_says() {
    let file = File::with("{logging: {redactPatterns: ['tulips']}}");
    let live = file.live();
    let before = live.current();
    file.write("{logging: {redactPatterns: ['roses']}}");
    assert!(live.reload().unwrap().changed);
    let shown = |settings: &Settings| settings.redactor.redact("tulips, roses").into_owned();
    assert_eq!(shown(&before), "***, roses");
    assert_eq!(shown(&live.current()), "tulips, ***");
    assert_ne!(
        live.current().redactor.fingerprint(),
        before.redactor.fingerprint()
    );
}

#[test]
fn another_format_of_the_same_changes_nothing() {
    let file = File::with("{session: {agentToAgent: {maxHops: 3}}}");
    let live = file.live();
    let before = live.current();
    file.write("// the same\n{ 'session': { 'agentToAgent': { 'maxHops': 3 } } }");
    assert!(!live.reload().unwrap().changed);
    assert!(Arc::ptr_eq(&live.current(), &before));
}

#[test]
fn b211_a_refused_reload_says_where_what_and_what_is_allowed() {
    let file = File::with("{session: {agentToAgent: {maxHops: 3}}}");
    let live = file.live();
    file.write("{session: {agentToAgent: {maxHops: 400}}, tools: {agentToAgent: {allow: [{}]}}}");
    let report = live.reload().unwrap_err().report();
    let expected = "session.agentToAgent.maxHops: out of range, got 400; allowed: a whole number \
                    from 1 to 100\n\
                    tools.agentToAgent.allow[0]: wrong type, got an object; allowed: an agent id \
                    string, or a pattern of letters, digits, `_`, `-` and `*`";
    assert_eq!(report, expected);
    assert_eq!(hops(&live), 3);
}

#[test]
fn a_wrong_file_leaves_the_old_one_in_force() {
    let file = File::with("{session: {agentToAgent: {maxHops: 3}}}");
    let live = file.live();
    for wrong in [
        "{session: {agentToAgent: {maxHops: 400}}}",
        "{session: ",
        "[]",
    ] {
        file.write(wrong);
        live.reload().unwrap_err();
        assert_eq!(hops(&live), 3, "{wrong}");
    }
    fs::remove_file(file.path()).unwrap();
    live.reload().unwrap_err();
    assert_eq!(hops(&live), 3);
    file.write("{session: {agentToAgent: {maxHops: 5}}}");
    assert!(live.reload().unwrap().changed);
    assert_eq!(hops(&live), 5);
}

#[test]
fn storage_auth_and_telemetry_wait_for_a_restart() {
    let file = File::with("{confab: {storage: {url: 'sqlite:///old'}}}");
    let live = file.live();
    let before = live.current().fingerprint.clone();
    file.write(
        "{confab: {storage: {url: 'sqlite:///new'}, telemetry: {otlpEndpoint: 'http://c:4317'},
          auth: {mode: 'jwt', keys: [{kid: 'k', alg: 'HS256', secretEnv: 'S'}]}}}",
    );
    let reload = live.reload().unwrap();
    assert_eq!(
        reload.needs_restart,
        ["confab.storage", "confab.auth", "confab.telemetry"]
    );
    assert!(!reload.changed);
    let current = live.current();
    assert_eq!(current.auth, Auth::Open);
    assert_eq!(current.telemetry.otlp_endpoint, None);
    match &current.storage {
        Some(Storage::Sqlite { directory }) => assert_eq!(*directory, PathBuf::from("/old")),
        other => panic!("{other:?}"),
    }
    assert_eq!(current.fingerprint, before);
}

#[test]
fn other_changes_come_into_force_beside_those_that_wait() {
    let file = File::with("{}");
    let live = file.live();
    file.write("{confab: {storage: {url: 'sqlite:///new'}, runs: {maxAttempts: 9}}}");
    let reload = live.reload().unwrap();
    assert_eq!(reload.needs_restart, ["confab.storage"]);
    assert!(reload.changed);
    assert!(live.current().storage.is_none());
    assert_eq!(live.current().runs.attempts_max, 9);
}

#[test]
fn a_file_is_read_again_only_when_it_changes_or_somebody_asks() {
    let file = File::with("{}");
    let live = file.live();
    assert!(!live.file_changed());
    file.write("{session: {agentToAgent: {maxHops: 400}}}");
    assert!(live.file_changed());
    live.follow(false);
    assert!(!live.file_changed(), "a refused file is refused once");
    file.write("{session: {agentToAgent: {maxHops: 4}}}");
    live.follow(false);
    assert_eq!(hops(&live), 4);
}

#[tokio::test]
async fn a_change_of_the_file_is_noticed() {
    let file = File::with("{}");
    let live = file.live();
    let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
    let mut changes = live.subscribe();
    live.watch(&tracker, stop.clone(), Duration::from_millis(5))
        .unwrap();
    file.write("{session: {agentToAgent: {maxHops: 4}}}");
    changes
        .wait_for(|settings| settings.session.max_hops == 4)
        .await
        .unwrap();
    stop.cancel();
    tracker.close();
    tracker.wait().await;
}

#[tokio::test]
async fn a_hang_up_signal_reloads() {
    let file = File::with("{}");
    let live = file.live();
    let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
    let mut changes = live.subscribe();
    live.watch(&tracker, stop.clone(), Duration::from_hours(1))
        .unwrap();
    file.write("{session: {agentToAgent: {maxHops: 4}}}");
    let kill = format!("kill -HUP {}", std::process::id());
    assert!(
        Command::new("sh")
            .args(["-c", &kill])
            .status()
            .unwrap()
            .success()
    );
    changes
        .wait_for(|settings| settings.session.max_hops == 4)
        .await
        .unwrap();
    stop.cancel();
    tracker.close();
    tracker.wait().await;
}
