//! Commands that need no server, and the demonstration, which brings its own.

#[path = "program/run.rs"]
mod run;

use std::io::Write as _;
use std::process::Stdio;

use run::{confab, confab_with, program, within};
use serde_json::Value;

/// A port that nobody listens on.
const NOWHERE: &str = "http://127.0.0.1:1";

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("one JSON value")
}

/// A file with this content, and the directory that holds it.
fn file(text: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("confab.json5");
    std::fs::write(&path, text).expect("the file is written");
    let path = path.to_str().expect("UTF-8").to_owned();
    (directory, path)
}

#[test]
fn what_cannot_be_understood_ends_with_two_and_says_why() {
    let cases: [&[&str]; 11] = [
        &["frobnicate"],
        &["chat", "main"],
        &["chat", "main", "hi", "--channel", "slack"],
        &["runs", "list", "--state", "sleeping"],
        &["sessions", "export"],
        &["sessions", "export", "main", "--force"],
        &["import", "openclaw"],
        &["import", "openclaw", "/nowhere/at/all"],
        &["sessions", "patch", "main", "[1]"],
        &["tool", "sessions_list", "{no json"],
        &["sessions", "list", "--endpoint", "localhost"],
    ];
    for arguments in cases {
        let (code, out, error) = confab(arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {error}");
        assert!(error.starts_with("error: "), "{arguments:?}: {error}");
        let with_json = [arguments, &["--json"]].concat();
        let (code, _, error) = confab(&with_json);
        assert_eq!(
            (code, &json(&error)["error"]["exit"]),
            (2, &Value::from(2)),
            "{arguments:?}"
        );
    }
}

#[test]
fn help_and_version_are_no_errors() {
    for arguments in [&["--help"][..], &["chat", "--help"], &["--version"]] {
        let (code, out, error) = confab(arguments);
        assert_eq!((code, error.as_str()), (0, ""), "{arguments:?}");
        assert!(out.contains("confab"), "{out}");
    }
}

#[test]
fn without_a_server_a_command_ends_with_one_and_names_the_address() {
    let (code, out, error) = confab(&["sessions", "list", "--endpoint", NOWHERE]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(
        error.contains(NOWHERE) && error.contains("confab up"),
        "{error}"
    );
}

/// The exit status of a command that reads `input`.
fn status_reading(input: &'static str, arguments: &[&str]) -> Option<i32> {
    let mut command = program(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    within(move || {
        let mut child = command.spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("standard input is a pipe");
        stdin
            .write_all(input.as_bytes())
            .expect("the program reads");
        drop(stdin);
        child.wait().expect("the program ends").code()
    })
}

#[test]
fn arguments_of_a_tool_can_come_from_standard_input() {
    let arguments = ["tool", "sessions_list", "-", "--endpoint", NOWHERE];
    assert_eq!(
        status_reading("{", &arguments),
        Some(2),
        "it was read, and is no JSON"
    );
    assert_eq!(
        status_reading("{}", &arguments),
        Some(1),
        "it was read, and was sent"
    );
}

#[test]
fn a_sound_configuration_is_told_with_what_is_ignored() {
    let (_directory, path) = file("{ gateway: { port: 1 }, session: { scope: 'global' } }");
    let (code, out, error) = confab(&["config", "check", &path]);
    assert_eq!((code, error.as_str()), (0, ""), "{out}");
    assert!(out.contains("warning") && out.contains("gateway"), "{out}");
    let (_, out, _) = confab(&["config", "check", &path, "--json"]);
    let report = json(&out);
    assert_eq!(
        (&report["ok"], &report["problems"]),
        (&Value::Bool(true), &Value::Array(vec![]))
    );
    assert_eq!(
        report["config"].as_str().map(str::len),
        Some(12),
        "{report}"
    );
}

#[test]
fn every_setting_in_force_can_be_read_back_with_its_defaults_marked() {
    let (_directory, path) = file("{ session: { scope: 'global' } }");
    let (code, out, _) = confab(&["config", "check", &path, "--effective"]);
    assert_eq!(code, 0, "{out}");
    let scope = out.lines().find(|line| line.starts_with("session.scope"));
    assert!(
        scope.is_some_and(|line| line.contains("global") && !line.contains("default")),
        "{out}"
    );
    let widest = out.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{widest:?} columns");

    let (_, out, _) = confab(&["config", "check", &path, "--effective", "--json"]);
    let report = json(&out);
    let settings = report["effective"].as_array().expect("settings");
    let named = |path: &str| settings.iter().find(|one| one["path"] == path);
    assert_eq!(named("session.scope").expect("it")["default"], false);
    let archive = "agents.defaults.subagents.archiveAfterMinutes";
    let archive = named(archive).expect("a default that has an effect");
    assert_eq!(
        (&archive["value"], &archive["default"]),
        (&Value::from(60), &Value::Bool(true))
    );
    let (_, out, _) = confab(&["config", "check", &path, "--json"]);
    assert!(json(&out).get("effective").is_none(), "{out}");
}

#[test]
fn every_problem_of_a_configuration_is_told_with_its_path() {
    let text = "{ session: { agentToAgent: { maxPingPongTurns: 21 } }, \
        tools: { sessions: { visibilty: 'all' } } }";
    let (_directory, path) = file(text);
    let (code, out, _) = confab(&["config", "check", &path]);
    assert_eq!(code, 4);
    for told in [
        "session.agentToAgent.maxPingPongTurns",
        "tools.sessions.visibilty",
        "`visibility`",
        "2 problems",
    ] {
        assert!(out.contains(told), "{told}: {out}");
    }
    let (code, out, _) = confab(&["config", "check", &path, "--json"]);
    let report = json(&out);
    assert_eq!(
        (code, report["problems"].as_array().map(Vec::len)),
        (4, Some(2)),
        "{report}"
    );
}

#[test]
fn a_file_that_is_no_json5_has_a_problem_and_one_that_is_not_there_is_a_failure() {
    let (directory, path) = file("{ agents: ");
    let (code, out, _) = confab(&["config", "check", &path]);
    assert_eq!(code, 4, "{out}");
    assert!(out.contains("JSON5"), "{out}");
    let absent = directory.path().join("absent.json5");
    let (code, out, error) = confab(&["config", "check", absent.to_str().expect("UTF-8")]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(error.contains("absent.json5"), "{error}");
}

#[test]
fn a_token_needs_a_key() {
    let (code, out, error) = confab(&["token", "mint", "--role", "operator"]);
    assert_eq!((code, out.as_str()), (4, ""));
    assert!(
        error.contains("confab.auth") && error.contains("CONFAB_CONFIG"),
        "{error}"
    );

    let (_directory, path) = file(
        "{ confab: { auth: { mode: 'jwt', keys: [{ kid: 'a', alg: 'HS256', secretEnv: 'MY_SECRET' }] } } }",
    );
    let mint = ["token", "mint", "--role", "operator", "--config", &path];
    let (code, out, error) = confab(&mint);
    assert_eq!((code, out.as_str()), (4, ""));
    assert!(error.contains("MY_SECRET"), "{error}");

    let secret = "an example of thirty-two bytes or more";
    let (code, out, error) = confab_with(&[("MY_SECRET", secret)], &mint);
    assert_eq!((code, error.as_str()), (0, ""));
    assert_eq!(out.trim().split('.').count(), 3, "{out}");
    assert!(!out.contains(secret));
}

#[test]
fn a_length_of_time_without_a_unit_is_refused() {
    let (code, _, error) = confab(&["token", "mint", "--role", "operator", "--ttl", "10"]);
    assert_eq!(code, 2);
    assert!(error.contains("1h"), "{error}");
}

#[test]
fn every_shell_gets_a_completion_script() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, out, error) = confab(&["completions", shell]);
        assert_eq!((code, error.as_str()), (0, ""), "{shell}");
        assert!(out.contains("deliveries"), "{shell}");
    }
}

#[test]
fn the_demonstration_tells_what_happened_without_colours() {
    let (code, out, error) = confab(&["demo"]);
    assert_eq!((code, error.as_str()), (0, ""), "{out}");
    let told = [
        "agent:writer:main",
        "agent:editor:slack:channel:reviews",
        "REPLY_SKIP",
        "stop reason reply_skip",
        "delivered  slack channel:C024REVIEWS account=acme thread=1718.0042",
        "confab chat agent:writer:main",
    ];
    for told in told {
        assert!(out.contains(told), "{told}: {out}");
    }
    assert!(!out.contains('\u{1b}'), "no colours where nobody watches");
    assert!(!out.contains("NO "), "{out}");
    let widest = out.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{widest:?} columns");
}

#[test]
fn the_demonstration_can_be_kept_and_started_from() {
    let directory = tempfile::tempdir().expect("a directory");
    let keep = directory.path().join("demo");
    let path = keep.to_str().expect("UTF-8");
    let (code, out, _) = confab(&["demo", "--keep", path, "--json"]);
    assert_eq!(code, 0, "{out}");
    let told = json(&out);
    let claims = told["claims"].as_array().expect("claims");
    assert!(
        !claims.is_empty() && claims.iter().all(|claim| claim["holds"] == true),
        "{told}"
    );
    assert_eq!(told["flows"][1]["stopReason"], "reply_skip");
    assert_eq!(told["flows"][1]["turns"], 2);
    assert_eq!(told["deliveries"].as_array().map(Vec::len), Some(1));

    let config = keep.join("confab.json5");
    let check = confab(&["config", "check", config.to_str().expect("UTF-8")]);
    assert_eq!(check.0, 0, "{}", check.1);
    assert!(keep.join("data/runner.db").exists());
    assert_eq!(
        confab(&["demo", "--keep", path]).0,
        2,
        "its data is not played in twice"
    );
}
