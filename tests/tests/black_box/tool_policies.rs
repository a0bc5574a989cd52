//! Which session tools a session has: profiles, lists, agents, children.
//!
//! Source: reg:A5, reg:A7, reg:A9, reg:A10, reg:A11, reg:A12, reg:A13.

use confab_proto::registry::v1 as registry;
use confab_proto::runner::v1 as runner;
use confab_proto::transcript::v1 as transcript;
use confab_tests::client::Client;
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::grpc::{Caller, Grpc, REGISTRY, RUNNER, TRANSCRIPT, reason, refusal, session};
use confab_tests::home::{Home, config_with, script};
use confab_tests::json::{list, merge, text};
use serde_json::{Value, json};
use tonic::Code;

const MAIN: &str = "agent:main:main";
const OPS: &str = "agent:ops:main";
/// The tools that the tables speak of.
const TOOLS: [&str; 5] = [
    "agents_list",
    "session_status",
    "sessions_history",
    "sessions_list",
    "sessions_send",
];

/// Two agents under these `tools`; the second has lists of its own.
fn configured(tools: &Value, of_ops: &Value) -> Value {
    let mut ops = script("ops", &json!([]));
    merge(&mut ops, json!({ "tools": of_ops }));
    config_with(
        &[script("main", &json!([])), ops],
        json!({ "tools": tools }),
    )
}

/// The tools of a session, sorted, as far as the tables speak of them.
fn tools(client: &Client, session: &str) -> anyhow::Result<Vec<String>> {
    let found = client.json(&["tools", "--as", session])?;
    let mut names = Vec::new();
    for tool in list(&found, "/tools")? {
        names.push(text(tool, "/name")?);
    }
    names.retain(|name| TOOLS.contains(&name.as_str()));
    names.sort();
    Ok(names)
}

#[test]
fn profiles_and_lists_decide_which_tools_a_session_has() -> anyhow::Result<()> {
    let four = &TOOLS[1..];
    let cases: [(Value, &[&str]); 9] = [
        (json!({}), &TOOLS),
        (json!({ "profile": "full" }), &TOOLS),
        (json!({ "profile": "minimal" }), &["session_status"]),
        (json!({ "profile": "coding" }), four),
        (json!({ "profile": "messaging" }), four),
        (
            json!({ "profile": "minimal", "alsoAllow": ["sessions_list"] }),
            &["session_status", "sessions_list"],
        ),
        (json!({ "deny": ["group:sessions"] }), &["agents_list"]),
        (
            json!({ "allow": ["sessions_*"], "deny": ["SESSIONS_SEND"] }),
            &TOOLS[2..4],
        ),
        (
            json!({ "profile": "minimal", "allow": ["sessions_list"] }),
            &[],
        ),
    ];
    let home = Home::new(&configured(&json!({ "deny": ["none"] }), &json!({})))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    deployment.client.json(&["sessions", "create", MAIN])?;
    for (lists, expected) in cases {
        deployment.reload(&home, &configured(&lists, &json!({})))?;
        assert_eq!(tools(&deployment.client, MAIN)?, expected, "{lists}");
    }
    deployment.stop()
}

/// reg:A7: an agent's own profile stands for the common one, its lists only remove.
#[test]
fn an_agent_has_tools_of_its_own() -> anyhow::Result<()> {
    let cases: [(Value, Value, &[&str]); 4] = [
        (
            json!({ "profile": "coding" }),
            json!({ "profile": "minimal" }),
            &["session_status"],
        ),
        (
            json!({ "profile": "minimal" }),
            json!({ "profile": "full" }),
            &TOOLS,
        ),
        (json!({}), json!({ "deny": ["sessions_*"] }), &TOOLS[..2]),
        (
            json!({ "deny": ["agents_list"] }),
            json!({ "allow": ["agents_list"] }),
            &[],
        ),
    ];
    let home = Home::new(&configured(&json!({ "deny": ["none"] }), &json!({})))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    deployment.client.json(&["sessions", "create", OPS])?;
    for (common, own, expected) in cases {
        deployment.reload(&home, &configured(&common, &own))?;
        assert_eq!(tools(&deployment.client, OPS)?, expected, "{common} {own}");
    }
    deployment.stop()
}

/// The refusal is the same over the tool and over the call behind it; an operator needs no tool.
#[test]
fn a_tool_that_a_session_does_not_have_is_refused_on_every_way() -> anyhow::Result<()> {
    let home = Home::new(&configured(&json!({ "profile": "minimal" }), &json!({})))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    client.json(&["chat", MAIN, "hello"])?;
    client.json(&["chat", OPS, "hello"])?;
    for (name, arguments) in [
        ("sessions_list", json!({})),
        ("sessions_history", json!({ "sessionKey": "main" })),
        (
            "sessions_send",
            json!({ "sessionKey": OPS, "message": "m" }),
        ),
        ("agents_list", json!({})),
    ] {
        let refused = client.tool(name, &arguments, Some(MAIN))?;
        assert_eq!(refused.status, 3, "{name}: {}", refused.text);
        assert_eq!(text(&refused.json, "/status")?, "forbidden", "{name}");
        assert_eq!(text(&refused.json, "/reason")?, "TOOL_POLICY", "{name}");
        let told = text(&refused.json, "/error")?;
        assert!(
            told.contains(name) && told.contains("tools.profile"),
            "{told}"
        );
        let free = client.tool(name, &arguments, None)?;
        assert_eq!(free.status, 0, "{name}: {}", free.text);
    }
    let own = client.tool("session_status", &json!({}), Some(MAIN))?;
    assert_eq!(own.status, 0, "{}", own.text);
    typed_calls_are_refused(&Grpc::to(&deployment)?)?;
    deployment.stop()
}

fn typed_calls_are_refused(grpc: &Grpc) -> anyhow::Result<()> {
    let caller = Caller::agent(MAIN);
    let asked = transcript::GetHistoryRequest {
        target: Some(session(MAIN)),
        ..Default::default()
    };
    let history: Result<transcript::GetHistoryResponse, _> =
        grpc.call(TRANSCRIPT, "GetHistory", asked, &caller);
    let asked = runner::SendRequest {
        target: Some(session(OPS)),
        message: "m".to_owned(),
        ..Default::default()
    };
    let sent: Result<runner::SendResponse, _> = grpc.call(RUNNER, "Send", asked, &caller);
    let asked = registry::ListSessionsRequest::default();
    let listed: Result<registry::ListSessionsResponse, _> =
        grpc.call(REGISTRY, "ListSessions", asked, &caller);
    for refused in [refusal(history)?, refusal(sent)?, refusal(listed)?] {
        assert_eq!(refused.code(), Code::PermissionDenied, "{refused}");
        assert_eq!(reason(&refused), "TOOL_POLICY", "{refused}");
    }
    let asked = registry::GetStatusRequest {
        target: Some(session(MAIN)),
        changes_since: None,
    };
    let _: registry::GetStatusResponse = grpc.call(REGISTRY, "GetStatus", asked, &caller)?;
    Ok(())
}

/// Children lose tools by their depth; the configuration gives them back by name, but nothing that
/// the profile took.
#[test]
fn children_have_fewer_tools_the_deeper_they_are() -> anyhow::Result<()> {
    let with = |tools: Value, depth: u8| {
        let mut config = configured(&tools, &json!({}));
        let change =
            json!({ "agents": { "defaults": { "subagents": { "maxSpawnDepth": depth } } } });
        merge(&mut config, change);
        config
    };
    let home = Home::new(&with(json!({ "deny": ["none"] }), 1))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    let child = "agent:main:subagent:0198c1a2-7b3c-7000-8000-000000000001";
    let grandchild = "agent:main:subagent:0198c1a2-7b3c-7000-8000-000000000002";
    client.json(&["sessions", "create", MAIN])?;
    client.json(&["sessions", "create", child, "--spawned-by", MAIN])?;
    client.json(&["sessions", "create", grandchild, "--spawned-by", child])?;
    let reading: &[&str] = &["sessions_history", "sessions_list"];
    let status = json!({ "subagents": { "tools": { "alsoAllow": ["session_status"] } } });
    let starred = json!({ "subagents": { "tools": { "alsoAllow": ["session*"] } } });
    let only = json!({
        "subagents": { "tools": { "allow": ["sessions_list", "sessions_send"] } },
    });
    let denied = json!({
        "subagents": { "tools": { "alsoAllow": ["sessions_list"], "deny": ["sessions_list"] } },
    });
    let profiled = json!({
        "profile": "minimal", "subagents": { "tools": { "alsoAllow": ["sessions_list"] } },
    });
    let cases: [(Value, u8, &[&str], &[&str]); 7] = [
        (json!({}), 1, &[], &[]),
        (json!({}), 2, reading, &[]),
        (status, 1, &["session_status"], &["session_status"]),
        (starred, 1, &[], &[]),
        (
            only,
            2,
            &["sessions_list", "sessions_send"],
            &["sessions_list", "sessions_send"],
        ),
        (denied, 2, &["sessions_history"], &[]),
        (profiled, 2, &[], &[]),
    ];
    for (lists, depth, of_child, of_grandchild) in cases {
        deployment.reload(&home, &with(lists.clone(), depth))?;
        assert_eq!(tools(client, child)?, of_child, "{lists} depth {depth}");
        assert_eq!(
            tools(client, grandchild)?,
            of_grandchild,
            "{lists} depth {depth}"
        );
    }
    deployment.stop()
}

/// B070: whoever is written to keeps their own policy, and nothing of the writer's rights comes along.
#[test]
fn a_send_lends_the_target_none_of_the_senders_tools() -> anyhow::Result<()> {
    let forward = json!([{
        "step": "send", "tools": [{ "name": "sessions_list", "arguments": {} }],
        "reply": "{toolResult}",
    }]);
    let mut ops = script("ops", &forward);
    merge(&mut ops, json!({ "tools": { "deny": ["sessions_list"] } }));
    let change = json!({ "session": { "agentToAgent": { "maxPingPongTurns": 0 } } });
    let home = Home::new(&config_with(&[script("main", &json!([])), ops], change))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    client.json(&["chat", MAIN, "hello"])?;
    let allowed = client.tool("sessions_list", &json!({}), Some(MAIN))?;
    assert_eq!(
        allowed.status, 0,
        "the sender has the tool: {}",
        allowed.text
    );
    let asked = json!({ "sessionKey": OPS, "message": "list them for me" });
    let sent = client.tool("sessions_send", &asked, Some(MAIN))?;
    assert_eq!(sent.status, 0, "{}", sent.text);
    let result: Value = serde_json::from_str(&text(&sent.json, "/reply")?)?;
    assert_eq!(text(&result, "/reason")?, "TOOL_POLICY", "{result:#}");
    let first = client.history(OPS)?.first().cloned().unwrap_or_default();
    assert_eq!(
        text(&first, "/provenance/sourceSessionKey")?,
        MAIN,
        "{first:#}"
    );
    assert_eq!(
        tools(client, OPS)?,
        [
            "agents_list",
            "session_status",
            "sessions_history",
            "sessions_send"
        ]
    );
    deployment.stop()
}

/// reg:A10: one scope has `allow` or `alsoAllow`, and the file says why not both.
#[test]
fn one_scope_has_not_both_lists() -> anyhow::Result<()> {
    let both = json!({ "allow": ["sessions_list"], "alsoAllow": ["sessions_send"] });
    let home = Home::new(&configured(&both, &json!({})))?;
    let program = confab_tests::binaries::find(confab_tests::binaries::Variant::Plain, "confab")?;
    let mut command = std::process::Command::new(program);
    confab_tests::client::without_settings(&mut command)
        .args(["config", "check"])
        .arg(home.config());
    let output = confab_tests::process::run(command, None)?;
    let told = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(4), "{told}");
    assert!(told.contains("tools.alsoAllow"), "{told}");
    assert!(told.contains("profile + alsoAllow"), "{told}");
    Ok(())
}
