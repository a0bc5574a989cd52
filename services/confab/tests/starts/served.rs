//! Commands against a running server: what they show, and how they end.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::run::confab_with;
use crate::server::Server;

/// An agent that echoes, one that fails, one that never answers.
const CONFIG: &str = r#"{
    agents: { list: [
        { id: "echo", driver: { type: "script", default: "echo: {message}" } },
        { id: "sick", driver: { type: "script", rules: [
            { error: { class: "rate_limited", message: "try later" } },
        ] } },
        { id: "deaf", driver: { type: "script", rules: [{ delayMs: 600000 }] } },
    ] },
    confab: { deliveries: { sinks: [{ channel: "*", type: "discard" }] } },
}"#;

fn serve(data: &Path) -> Server {
    Server::start(&data.join("data"), Some(&written(data, CONFIG)))
}

fn written(directory: &Path, text: &str) -> PathBuf {
    let config = directory.join("confab.json5");
    std::fs::write(&config, text).expect("the file is written");
    config
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("one JSON value")
}

#[test]
fn a_chat_shows_the_reply_to_people_and_the_run_to_programs() {
    let data = tempfile::tempdir().expect("a directory");
    let server = serve(data.path());
    let (code, out, error) = server.run(&["chat", "agent:echo:main", "hello"]);
    assert_eq!(
        (code, out.as_str(), error.as_str()),
        (0, "echo: hello\n", "")
    );

    let (code, out, _) = server.run(&["chat", "agent:echo:main", "again", "--json"]);
    let run = json(&out);
    assert_eq!(code, 0);
    assert_eq!(out.lines().count(), 1, "one record, one line");
    for (field, value) in [
        ("reply", "echo: again"),
        ("state", "succeeded"),
        ("input", "again"),
    ] {
        assert_eq!(run[field], value, "{run}");
    }

    let id = run["runId"].as_str().expect("a runId");
    let (code, out, _) = server.run(&["runs", "get", id, "--json"]);
    assert_eq!((code, &json(&out)["runId"]), (0, &run["runId"]));
    let (_, out, _) = server.run(&["runs", "list", "--session", "agent:echo:main", "--json"]);
    assert_eq!(
        json(&out)["runs"].as_array().map(Vec::len),
        Some(2),
        "{out}"
    );
    let flow = run["flowId"].as_str().expect("a flowId");
    let (code, out, _) = server.run(&["flows", "wait", flow, "--json"]);
    assert_eq!(
        (code, &json(&out)["runs"][0]["runId"]),
        (0, &run["runId"]),
        "{out}"
    );
}

#[test]
fn a_chat_with_a_route_is_delivered_there_and_nowhere_else() {
    let data = tempfile::tempdir().expect("a directory");
    let server = serve(data.path());
    let route = [
        "--channel",
        "slack",
        "--to",
        "channel:1",
        "--account",
        "a",
        "--thread",
        "t",
    ];
    let said = [&["chat", "agent:echo:main", "hi", "--json"], &route[..]].concat();
    let (code, out, error) = server.run(&said);
    assert_eq!(code, 0, "{error}");
    let flow = json(&out)["flowId"].as_str().expect("a flowId").to_owned();
    let (code, out, _) = server.run(&["flows", "wait", &flow, "--json"]);
    assert_eq!(code, 0, "{out}");
    let (_, out, _) = server.run(&["deliveries", "list", "--json"]);
    let deliveries = json(&out);
    assert_eq!(
        deliveries["deliveries"].as_array().map(Vec::len),
        Some(1),
        "{deliveries}"
    );
    let one = &deliveries["deliveries"][0];
    let fields = [
        ("channel", "slack"),
        ("to", "channel:1"),
        ("accountId", "a"),
        ("threadId", "t"),
    ];
    for (field, value) in fields
        .into_iter()
        .chain([("text", "echo: hi"), ("state", "delivered")])
    {
        assert_eq!(one[field], value, "{one}");
    }
}

#[test]
fn the_exit_status_tells_how_it_went() {
    let data = tempfile::tempdir().expect("a directory");
    let server = serve(data.path());
    let history = r#"{"sessionKey":"agent:sick:main"}"#;
    let cases: [(&[&str], i32, &str); 7] = [
        (&["chat", "agent:sick:main", "hi"], 4, "rate_limited"),
        (
            &["chat", "agent:deaf:main", "hi", "--wait", "0"],
            5,
            "confab runs wait",
        ),
        (&["chat", "agent:nobody:main", "hi"], 4, "nobody"),
        (&["chat", "agent:x", "hi"], 4, "agent:x"),
        (&["runs", "get", "no-such-run"], 4, "no-such-run"),
        (&["tool", "sessions_list", "{"], 2, "JSON"),
        (
            &[
                "tool",
                "sessions_history",
                history,
                "--as",
                "agent:echo:main",
            ],
            3,
            "",
        ),
    ];
    for (arguments, expected, told) in cases {
        let (code, out, error) = server.run(arguments);
        assert_eq!(code, expected, "{arguments:?}: {out}{error}");
        assert!(error.contains(told), "{arguments:?}: {error}");
    }
}

#[test]
fn a_failure_is_an_object_for_programs() {
    let data = tempfile::tempdir().expect("a directory");
    let server = serve(data.path());
    let (code, out, error) = server.run(&["sessions", "get", "agent:x", "--json"]);
    assert_eq!((code, out.as_str()), (4, ""));
    let failure = json(&error);
    assert_eq!(failure["error"]["exit"], 4, "{failure}");
    assert!(failure["error"]["reason"].is_string(), "{failure}");
}

#[test]
fn a_refused_tool_call_is_a_result_and_an_exit_status() {
    let data = tempfile::tempdir().expect("a directory");
    let server = serve(data.path());
    let (code, out, _) = server.run(&["tool", "sessions_list", r#"{"limitt":1}"#]);
    let result = json(&out);
    assert_eq!(
        (code, &result["status"]),
        (4, &Value::from("error")),
        "{result}"
    );
    assert!(
        result["error"]
            .as_str()
            .is_some_and(|told| told.contains("limit")),
        "{result}"
    );

    let (code, out, _) = server.run(&["tool", "sessions_list"]);
    assert_eq!((code, &json(&out)["count"]), (0, &Value::from(0)));
    let (code, out, _) = server.run(&["tools", "--json"]);
    assert_eq!(code, 0);
    assert!(
        json(&out)["tools"][0]["inputSchema"]["type"] == "object",
        "{out}"
    );
}

#[test]
fn with_signed_tokens_nobody_is_served_who_has_none_and_each_role_gets_its_own() {
    let data = tempfile::tempdir().expect("a directory");
    let auth = r#"confab: { auth: { mode: "jwt", keys: [
        { kid: "a", alg: "HS256", secretEnv: "CONFAB_TEST_SECRET" },
    ] },"#;
    let config = written(data.path(), &CONFIG.replace("confab: {", auth));
    let secret = [(
        "CONFAB_TEST_SECRET",
        "an example of thirty-two bytes or more",
    )];
    let server = Server::start_with(&secret, &data.path().join("data"), Some(&config));
    let mint = |role: &[&str]| {
        let config = ["--config", config.to_str().expect("UTF-8")];
        let (code, out, error) =
            confab_with(&secret, &[&["token", "mint"], role, &config].concat());
        assert_eq!(code, 0, "{error}");
        out.trim().to_owned()
    };
    let operator = mint(&["--role", "operator"]);
    let agent = mint(&["--role", "agent", "--session", "agent:echo:main"]);

    let (code, _, error) = server.run(&["sessions", "list"]);
    assert_eq!(code, 3, "{error}");
    assert!(error.contains("confab token mint"), "{error}");
    let (code, out, error) = server.run(&["chat", "agent:echo:main", "hi", "--token", &operator]);
    assert_eq!((code, out.as_str()), (0, "echo: hi\n"), "{error}");

    let create = ["sessions", "create", "agent:sick:main"];
    let list = ["tool", "sessions_list", "--as"];
    let cases: [(&[&str], i32); 3] = [
        (&create, 3),
        (&[&list[..], &["agent:echo:main"]].concat(), 0),
        (&[&list[..], &["agent:sick:main"]].concat(), 2),
    ];
    for (arguments, expected) in cases {
        let (code, out, error) = server.run(&[arguments, &["--token", &agent]].concat());
        assert_eq!(code, expected, "{arguments:?}: {out}{error}");
    }
}
