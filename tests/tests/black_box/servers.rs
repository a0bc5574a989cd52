//! The servers themselves: listeners, readiness, metrics, what they refuse to do.

use anyhow::Context as _;
use confab_tests::deployment::{Deployment, Plan, Shape};
use confab_tests::home::{Home, config, script};
use confab_tests::json::text;
use confab_tests::{http, process};
use serde_json::json;

fn home() -> anyhow::Result<Home> {
    Home::new(&config(&[script("main", &json!([]))]))
}

/// The fingerprint of the settings in force, from `/readyz`.
fn fingerprint(address: &str) -> anyhow::Result<String> {
    let (status, body) = http::get(address, "/readyz")?;
    assert_eq!(status, 200, "{body}");
    let (_, rest) = body
        .split_once("config: ")
        .context("/readyz names no config")?;
    let digits = rest
        .chars()
        .take_while(char::is_ascii_hexdigit)
        .collect::<String>();
    assert_eq!(digits.len(), 12, "{body}");
    Ok(digits)
}

#[test]
fn every_process_tells_its_health_its_settings_and_its_metrics() -> anyhow::Result<()> {
    for shape in [Shape::OneProcess, Shape::ThreeServices] {
        let home = home()?;
        let deployment = Deployment::start(shape, &home)?;
        deployment
            .client
            .json(&["chat", "agent:main:main", "hello"])?;
        let mut fingerprints = Vec::new();
        for server in &deployment.servers {
            let address = server.http()?;
            assert_eq!(http::get(&address, "/healthz")?.0, 200, "{}", server.name);
            let (status, metrics) = http::get(&address, "/metrics")?;
            assert_eq!(status, 200, "{}", server.name);
            assert!(metrics.contains("# TYPE"), "{}: {metrics}", server.name);
            assert!(
                metrics.contains("confab."),
                "{} counts no calls: {metrics}",
                server.name
            );
            assert_eq!(http::get(&address, "/nothing")?.0, 404, "{}", server.name);
            fingerprints.push(fingerprint(&address)?);
        }
        fingerprints.dedup();
        assert_eq!(
            fingerprints.len(),
            1,
            "the same file is the same settings everywhere"
        );
        deployment.stop()?;
    }
    Ok(())
}

#[test]
fn the_http_listener_can_be_off() -> anyhow::Result<()> {
    let home = home()?;
    let plan = Plan::new(Shape::OneProcess, &home);
    let mut command = plan.bare_command("confab")?;
    command.args(["--listen", "127.0.0.1:0", "--http-listen", "off"]);
    let mut server = plan.launch("confab", command)?;
    assert_eq!(server.http()?, "off");
    assert_eq!(server.terminate()?.code(), Some(0));
    Ok(())
}

#[test]
fn a_free_port_brings_a_free_http_port() -> anyhow::Result<()> {
    let home = home()?;
    let plan = Plan::new(Shape::OneProcess, &home);
    let mut command = plan.bare_command("confab")?;
    command.args(["--listen", "127.0.0.1:0"]);
    let mut server = plan.launch("confab", command)?;
    let line = server.ready_line.clone().unwrap_or_default();
    assert!(
        line.starts_with("confab ready on http://127.0.0.1:"),
        "{line}"
    );
    assert_eq!(http::get(&server.http()?, "/healthz")?.0, 200, "{line}");
    assert_eq!(server.terminate()?.code(), Some(0));
    Ok(())
}

/// An agent that never answers and ignores its cancellation does not hold the process.
#[test]
fn a_stop_waits_for_nobody_for_ever() -> anyhow::Result<()> {
    let hang = json!([{ "match": "hang", "hang": true }]);
    let home = Home::new(&config(&[script("main", &hang)]))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    let behind = client.run(&["chat", "agent:main:main", "hang", "--wait", "1"])?;
    assert_eq!(behind.status, 5, "{}", behind.text);
    let running = client.json(&["runs", "list", "--state", "running"])?;
    assert_eq!(text(&running, "/runs/0/input")?, "hang");
    deployment.stop()
}

/// Without tokens anybody who reaches the listener is the operator.
#[test]
fn an_open_server_refuses_to_listen_to_the_network() -> anyhow::Result<()> {
    let home = home()?;
    let plan = Plan::new(Shape::OneProcess, &home);
    for listeners in [
        ["--listen", "0.0.0.0:0", "--http-listen", "off"],
        ["--listen", "[::]:0", "--http-listen", "off"],
    ] {
        let mut command = plan.bare_command("confab")?;
        command.args(listeners);
        let output = process::run(command, None)?;
        let log = String::from_utf8_lossy(&output.stderr);
        assert_ne!(output.status.code(), Some(0), "{listeners:?}");
        assert!(
            output.stdout.is_empty(),
            "{listeners:?}: it said that it is ready"
        );
        assert!(
            log.contains("open") && log.contains("auth.mode"),
            "{listeners:?}: {log}"
        );
    }
    Ok(())
}

#[test]
fn a_listener_that_is_no_address_is_wrong_usage() -> anyhow::Result<()> {
    let home = home()?;
    let plan = Plan::new(Shape::OneProcess, &home);
    let mut command = plan.bare_command("confab")?;
    command.args(["--listen", "somewhere"]);
    let output = process::run(command, None)?;
    let log = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{log}");
    assert!(log.contains("somewhere"), "{log}");
    Ok(())
}

/// The demonstration does what it tells, or says so with its exit status.
#[test]
fn the_demonstration_ends_well_and_shows_the_whole_way() -> anyhow::Result<()> {
    let home = home()?;
    let program = confab_tests::binaries::find(confab_tests::binaries::Variant::Plain, "confab")?;
    let mut command = std::process::Command::new(program);
    confab_tests::client::without_settings(&mut command)
        .arg("demo")
        .current_dir(home.directory());
    let output = process::run(command, None)?;
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{told}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for word in ["sessions_send", "REPLY_SKIP", "reply_skip", "confab chat"] {
        assert!(told.contains(word), "{word} is not in {told}");
    }
    assert!(!told.contains('\u{1b}'), "colour outside a terminal");
    Ok(())
}
