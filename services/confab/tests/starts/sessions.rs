//! The session commands against a running server.

use std::io::{BufRead as _, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::run::{program, within};
use crate::server::Server;

const KEY: &str = "agent:main:cron:daily";

fn serve(data: &Path) -> Server {
    let server = Server::start(data, None);
    done(&server, &["sessions", "create", KEY, "--label", "daily"]);
    server
}

/// What a command that succeeds tells programs.
fn done(server: &Server, arguments: &[&str]) -> Value {
    let (code, out, error) = server.run(&[arguments, &["--json"]].concat());
    assert_eq!(code, 0, "{arguments:?}: {error}");
    serde_json::from_str(&out).expect("one JSON value")
}

#[test]
fn a_list_for_programs_is_the_tools_result_byte_for_byte() {
    let data = tempfile::tempdir().expect("a directory");
    let server = serve(data.path());
    let options = ["sessions", "list", "--kind", "cron", "--titles", "--json"];
    let (_, listed, _) = server.run(&options);
    let arguments = r#"{"kinds":["cron"],"includeDerivedTitles":true}"#;
    let (_, answered, _) = server.run(&["tool", "sessions_list", arguments]);
    assert_eq!(listed, answered);
    assert!(listed.contains("derivedTitle"), "{listed}");
}

#[test]
fn a_patch_tells_what_changed_and_archives_in_the_same_step() {
    let data = tempfile::tempdir().expect("a directory");
    let server = serve(data.path());
    let patch = |text| server.run(&["sessions", "patch", KEY, text]);
    let (code, out, error) = patch(r#"{"label":"daily","category":"c","pinned":true}"#);
    assert_eq!(code, 0, "{error}");
    assert!(out.starts_with("changed: category, pinned\n"), "{out}");
    let (_, out, _) = patch(r#"{"category":"c"}"#);
    assert!(out.starts_with("nothing changed\n"), "{out}");
    let (code, _, error) = patch(r#"{"categry":"c","sendPolicy":"maybe"}"#);
    assert_eq!(code, 4);
    assert!(
        error.contains("category") && error.contains("sendPolicy"),
        "{error}"
    );

    let row = done(
        &server,
        &[
            "sessions",
            "patch",
            KEY,
            r#"{"archived":true,"pinned":null,"category":null}"#,
        ],
    );
    assert_eq!(
        (
            &row["archived"],
            &row["pinned"],
            &row["changed"],
            row.get("category")
        ),
        (&json!(true), &json!(false), &json!(true), None)
    );
    let row = done(&server, &["sessions", "restore", KEY]);
    assert_eq!(row["archived"], false);
}

#[test]
fn a_reset_makes_a_new_session_id_and_a_delete_leaves_nothing() {
    let data = tempfile::tempdir().expect("a directory");
    let server = serve(data.path());
    let before = done(&server, &["sessions", "get", KEY]);
    let after = done(&server, &["sessions", "reset", KEY]);
    assert_ne!(before["sessionId"], after["sessionId"]);
    let old = before["sessionId"].as_str().expect("a sessionId");
    let (code, ..) = server.run(&["sessions", "delete", KEY, "--expect", old]);
    assert_eq!(code, 4, "another generation was meant");
    let (code, ..) = server.run(&["sessions", "delete", KEY, "--archived-only"]);
    assert_eq!(code, 4, "it is open");
    let deleted = done(&server, &["sessions", "delete", KEY]);
    assert_eq!(deleted, json!({ "key": KEY, "deleted": true }));
    let (code, ..) = server.run(&["sessions", "get", KEY]);
    assert_eq!(code, 4);
}

#[test]
fn a_refused_call_is_explained_and_the_explanation_is_no_failure() {
    let data = tempfile::tempdir().expect("a directory");
    let server = serve(data.path());
    let explain = ["policy", "explain", "--session", "agent:nobody:main"];
    let told = done(&server, &explain);
    assert_eq!(
        (&told["allowed"], &told["exists"], &told["sessionKey"]),
        (&json!(false), &json!(false), &json!("agent:nobody:main"))
    );
    let agents = done(&server, &["agents", "list"]);
    assert_eq!(agents["agents"][0]["spawns"], json!(["main"]), "{agents}");
}

/// A command that follows changes, and the lines it writes.
fn follow(server: &Server, after: &[&str]) -> (Child, Lines<BufReader<ChildStdout>>) {
    let arguments = [
        "sessions",
        "watch",
        "--json",
        "--endpoint",
        &server.endpoint,
    ];
    let mut child = program(&[&arguments[..], after].concat())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    (child, lines)
}

#[test]
fn following_changes_goes_on_after_a_cursor_and_ends_well_with_the_server_or_on_ctrl_c() {
    let data = tempfile::tempdir().expect("a directory");
    let server = serve(data.path());
    let (mut first, mut lines) = follow(&server, &[]);
    let reader = thread::spawn(move || {
        let line = lines.next().expect("a change").expect("text");
        (line, lines)
    });
    // Only what is done once it follows is told: so there is something to tell until it does.
    let mut patches = 0;
    while !reader.is_finished() {
        patches += 1;
        assert!(patches < 1_000, "it tells nothing");
        let patch = json!({ "label": format!("label {patches}") }).to_string();
        done(&server, &["sessions", "patch", KEY, &patch]);
    }
    let (line, mut lines) = reader.join().expect("it was read");
    let change: Value = serde_json::from_str(&line).expect("one JSON value a line");
    assert_eq!(
        (&change["change"], &change["key"]),
        (&json!("changed"), &json!(KEY))
    );

    let cursor = change["cursor"].as_str().expect("a cursor");
    done(&server, &["sessions", "delete", KEY]);
    let (mut second, mut others) = follow(&server, &["--after", cursor]);
    let told = within(move || {
        let mut told = others.by_ref().map(|line| line.expect("text"));
        told.find(|line| line.contains("\"deleted\""))
    });
    assert!(told.is_some_and(|line| line.contains(KEY)));
    let interrupted = Command::new("kill")
        .args(["-INT", &second.id().to_string()])
        .status();
    assert!(interrupted.expect("kill is there").success());
    let ended = within(move || second.wait().expect("it ends"));
    assert_eq!(ended.code(), Some(0));

    assert_eq!(server.stop("TERM").0, Some(0));
    within(move || while lines.next().is_some() {});
    assert_eq!(first.wait().expect("it ends").code(), Some(0));
}
