//! The configuration file: what is refused, and how a change is picked up.

use confab_tests::deployment::{Deployment, Plan, Shape};
use confab_tests::home::{Home, config_with, script};
use confab_tests::json::text;
use confab_tests::process::eventually;
use confab_tests::{http, process};
use serde_json::{Value, json};

/// A file with faults in four places, and what has to be told of each.
fn faulty() -> (Value, [&'static str; 5]) {
    let config = config_with(
        &[script("main", &json!([{ "setp": "human", "reply": "x" }]))],
        json!({
            "session": { "agentToAgent": { "maxPingPongTurns": 21 } },
            "tools": { "sessions": { "visibilty": "all" } },
            "confab": { "auth": { "mode": "shut" } },
        }),
    );
    let told = [
        "session.agentToAgent.maxPingPongTurns",
        "tools.sessions.visibilty",
        "visibility",
        "confab.auth.mode",
        "agents.list[0].driver.rules[0].setp",
    ];
    (config, told)
}

/// B211: every fault with its path, all of them at once.
#[test]
fn a_faulty_file_is_told_whole_by_the_check_and_by_the_server() -> anyhow::Result<()> {
    let (config, told) = faulty();
    let home = Home::new(&config)?;
    let plan = Plan::new(Shape::OneProcess, &home);
    let output = process::run(plan.command("confab")?, None)?;
    let log = String::from_utf8_lossy(&output.stderr);
    assert_ne!(output.status.code(), Some(0), "it started");
    for word in told {
        assert!(log.contains(word), "the server does not tell {word}: {log}");
    }
    let checked = check(&home)?;
    assert_eq!(checked.0, Some(4), "{}", checked.1);
    for word in told {
        assert!(
            checked.1.contains(word),
            "the check does not tell {word}: {}",
            checked.1
        );
    }
    Ok(())
}

/// The exit status of `config check`, and all it says.
fn check(home: &Home) -> anyhow::Result<(Option<i32>, String)> {
    let program = confab_tests::binaries::find(confab_tests::binaries::Variant::Plain, "confab")?;
    let mut command = std::process::Command::new(program);
    confab_tests::client::without_settings(&mut command)
        .args(["config", "check"])
        .arg(home.config());
    let output = process::run(command, None)?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    Ok((output.status.code(), format!("{stdout}{stderr}")))
}

/// B022: the reply loop has 0 to 20 turns.
#[test]
fn the_cap_of_the_reply_loop_has_a_range() -> anyhow::Result<()> {
    for (turns, status) in [
        (json!(0), 0),
        (json!(20), 0),
        (json!(21), 4),
        (json!(-1), 4),
        (json!("5x"), 4),
    ] {
        let change = json!({ "session": { "agentToAgent": { "maxPingPongTurns": turns } } });
        let home = Home::new(&config_with(&[script("main", &json!([]))], change))?;
        let (found, told) = check(&home)?;
        assert_eq!(found, Some(status), "{turns}: {told}");
        let named = told.contains("session.agentToAgent.maxPingPongTurns") && told.contains("20");
        assert_eq!(named, status == 4, "{turns}: {told}");
    }
    Ok(())
}

/// B211: what cannot be believed leaves the old settings in force; what can replaces them.
#[test]
fn a_changed_file_is_picked_up_and_a_faulty_one_is_refused() -> anyhow::Result<()> {
    let saying =
        |reply: &str| config_with(&[script("main", &json!([{ "reply": reply }]))], json!({}));
    let home = Home::new(&saying("old"))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let address = deployment.http()?;
    let reply = || -> anyhow::Result<String> {
        text(
            &deployment
                .client
                .json(&["chat", "agent:main:main", "hello"])?,
            "/reply",
        )
    };
    let (_, first) = http::get(&address, "/readyz")?;
    assert_eq!(reply()?, "old");

    let (server, logged) = (
        deployment.servers.first(),
        "session.agentToAgent.maxPingPongTurns",
    );
    let server = server.ok_or_else(|| anyhow::anyhow!("no process"))?;
    home.configure(&faulty().0)?;
    server.hang_up()?;
    eventually("the refused file is logged", || {
        assert_eq!(http::get(&address, "/readyz")?, (200, first.clone()));
        Ok(server.logged()?.contains(logged))
    })?;
    assert_eq!(reply()?, "old");

    home.configure(&saying("new"))?;
    server.hang_up()?;
    eventually("the new settings are in force", || {
        Ok(http::get(&address, "/readyz")?.1 != first)
    })?;
    assert_eq!(reply()?, "new");
    deployment.stop()
}

/// An existing file of a comparable system may hold sections that mean nothing here.
#[test]
fn a_section_that_confab_has_no_use_for_is_named_once_and_ignored() -> anyhow::Result<()> {
    let change = json!({ "channels": { "slack": { "enabled": true } }, "gateway": { "port": 1 } });
    let home = Home::new(&config_with(&[script("main", &json!([]))], change))?;
    let (status, told) = check(&home)?;
    assert_eq!(status, Some(0), "{told}");
    assert!(
        told.contains("channels") && told.contains("gateway"),
        "{told}"
    );
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    deployment.stop()
}

#[test]
fn the_environment_overrides_the_file() -> anyhow::Result<()> {
    let home = Home::new(&config_with(&[script("main", &json!([]))], json!({})))?;
    let plan = Plan::new(Shape::OneProcess, &home)
        .with_variable("CONFAB__STORAGE__URL", "mysql://nowhere");
    let output = process::run(plan.command("confab")?, None)?;
    let log = String::from_utf8_lossy(&output.stderr);
    assert_ne!(output.status.code(), Some(0), "{log}");
    assert!(
        log.contains("CONFAB__STORAGE__URL") || log.contains("storage.url"),
        "{log}"
    );
    Ok(())
}
