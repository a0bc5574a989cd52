//! Where the configuration comes from: command line, environment, file, defaults.

#![expect(
    clippy::unwrap_used,
    reason = "a file that cannot be written is a failed test"
)]

use std::fs;
use std::path::PathBuf;

use confab_config::settings::Storage;
use confab_config::source::ReadError;
use confab_config::{LoadError, Settings, Source, load};
use tempfile::TempDir;

fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn written(directory: &TempDir, name: &str, json5: &str) -> PathBuf {
    let path = directory.path().join(name);
    fs::write(&path, json5).unwrap();
    path
}

fn hops(source: &Source) -> u32 {
    load(source).unwrap().settings.session.max_hops
}

fn storage_directory(settings: &Settings) -> Option<PathBuf> {
    match &settings.storage {
        Some(Storage::Sqlite { directory }) => Some(directory.clone()),
        Some(Storage::Postgres { .. }) | None => None,
    }
}

#[test]
fn the_command_line_goes_before_the_environment_and_no_file_means_defaults() {
    let directory = TempDir::new().unwrap();
    let first = written(
        &directory,
        "a.json5",
        "{session: {agentToAgent: {maxHops: 1}}}",
    );
    let second = written(
        &directory,
        "b.json5",
        "{session: {agentToAgent: {maxHops: 2}}}",
    );
    let named = variables(&[("CONFAB_CONFIG", second.to_str().unwrap())]);
    assert_eq!(hops(&Source::of(Some(first), named.clone())), 1);
    assert_eq!(hops(&Source::of(None, named)), 2);
    assert_eq!(
        hops(&Source::of(None, variables(&[("CONFAB_CONFIG", "")]))),
        20
    );
    assert_eq!(hops(&Source::of(None, [])), 20);
}

#[test]
fn the_environment_goes_before_the_file() {
    let directory = TempDir::new().unwrap();
    let file = written(
        &directory,
        "confab.json5",
        "{confab: {storage: {url: 'sqlite://a'}, runs: {maxAttempts: 2, leaseSeconds: 60}}}",
    );
    let environment = variables(&[
        ("CONFAB__STORAGE__URL", "sqlite://b"),
        ("CONFAB__RUNS__MAX_ATTEMPTS", "7"),
        ("CONFAB__TELEMETRY__OTLP_ENDPOINT", "http://collector:4317"),
        ("CONFAB_ENDPOINT", "http://elsewhere"),
    ]);
    let settings = load(&Source::of(Some(file), environment)).unwrap().settings;
    assert_eq!(
        storage_directory(&settings),
        Some(directory.path().join("b"))
    );
    assert_eq!(settings.runs.attempts_max, 7);
    assert_eq!(settings.runs.lease_seconds, 60);
    assert_eq!(
        settings.telemetry.otlp_endpoint.as_deref(),
        Some("http://collector:4317")
    );
}

#[test]
fn a_variable_that_names_no_setting_is_refused_with_its_path() {
    let environment = variables(&[
        ("CONFAB__STORAGE__ULR", "x"),
        ("CONFAB__RUNS__LEASE_SECONDS", "x"),
    ]);
    let error = load(&Source::of(None, environment))
        .unwrap_err()
        .to_string();
    assert_eq!(error.lines().count(), 2, "{error}");
    assert!(error.contains("confab.storage.ulr: unknown key"), "{error}");
    assert!(error.contains("did you mean `url`?"), "{error}");
    assert!(
        error.contains("confab.runs.leaseSeconds: wrong type, got \"x\""),
        "{error}"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_of_its_own() {
    let directory = TempDir::new().unwrap();
    let missing = Source::of(Some(directory.path().join("missing.json5")), []);
    let error = load(&missing).unwrap_err();
    assert!(
        matches!(error, LoadError::Read(ReadError::Unreadable { .. })),
        "{error:?}"
    );
    let torn = Source::of(Some(written(&directory, "torn.json5", "{session: {")), []);
    let error = load(&torn).unwrap_err();
    assert!(
        matches!(error, LoadError::Read(ReadError::Syntax { .. })),
        "{error:?}"
    );
    let report = error.report();
    assert!(
        report.contains("torn.json5") && report.contains("line"),
        "{report}"
    );
    let large = written(&directory, "large.json5", &" ".repeat(5 * 1024 * 1024));
    let error = load(&Source::of(Some(large), [])).unwrap_err();
    assert!(
        matches!(error, LoadError::Read(ReadError::TooLarge { .. })),
        "{error:?}"
    );
}

#[test]
fn a_file_nested_too_deep_is_refused_with_the_line_instead_of_ending_the_process() {
    let directory = TempDir::new().unwrap();
    let deep = format!("{{\n{}", "\"agents\":\n{".repeat(5_000));
    let error = load(&Source::of(
        Some(written(&directory, "deep.json5", &deep)),
        [],
    ))
    .unwrap_err();
    assert!(
        matches!(error, LoadError::Read(ReadError::Syntax { .. })),
        "{error:?}"
    );
    let report = error.report();
    assert!(
        report.contains("deep.json5")
            && report.contains("64")
            && report.contains("line 66 column 1"),
        "{report}"
    );
}

#[test]
fn a_source_does_not_show_what_its_variables_hold() {
    let environment = variables(&[("CONFAB__STORAGE__URL", "postgres://u:hunter2@h/d")]);
    let shown = format!("{:?}", Source::of(None, environment));
    assert!(
        shown.contains("CONFAB__STORAGE__URL") && !shown.contains("hunter2"),
        "{shown}"
    );
}
