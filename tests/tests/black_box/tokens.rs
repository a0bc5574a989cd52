//! Callers that have to prove who they are: `auth.mode: "jwt"`.

use std::process::Command;

use confab_tests::binaries::{self, Variant};
use confab_tests::client::{Client, without_settings};
use confab_tests::deployment::{Deployment, Plan, Shape};
use confab_tests::exchange::{self, EDITOR, WRITER};
use confab_tests::home::{Home, config_with};
use confab_tests::json::{list, text};
use confab_tests::process;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

/// The variable that holds the secret.
const SECRET: &str = "CONFAB_TESTS_SECRET";

fn home() -> anyhow::Result<Home> {
    let keys = json!([{ "kid": "k1", "alg": "HS256", "secretEnv": SECRET }]);
    let auth = json!({ "confab": { "auth": { "mode": "jwt", "keys": keys } } });
    Home::new(&config_with(&exchange::agents(), auth))
}

/// A secret of 48 bytes for this test alone.
fn secret(letter: char) -> String {
    letter.to_string().repeat(48)
}

fn start(shape: Shape, home: &Home) -> anyhow::Result<Deployment> {
    Plan::new(shape, home)
        .with_variable(SECRET, &secret('s'))
        .start()
}

/// What `confab token mint` prints.
fn mint(home: &Home, secret: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new(binaries::find(Variant::Plain, "confab")?);
    without_settings(&mut command)
        .env(SECRET, secret)
        .args(["token", "mint", "--config"])
        .arg(home.config())
        .args(arguments);
    let output = process::run(command, None)?;
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {told}");
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

#[test]
fn with_tokens_the_main_job_runs_in_one_process() -> anyhow::Result<()> {
    the_main_job_runs(Shape::OneProcess)
}

/// The services prove themselves to one another too, or nothing would work.
#[test]
fn with_tokens_the_main_job_runs_over_three_services() -> anyhow::Result<()> {
    the_main_job_runs(Shape::ThreeServices)
}

fn the_main_job_runs(shape: Shape) -> anyhow::Result<()> {
    let home = home()?;
    let deployment = start(shape, &home)?;
    let operator = mint(&home, &secret('s'), &["--role", "operator"])?;
    let client = deployment.client.with_token(&operator);
    exchange::prepare(&client)?;
    let asked = exchange::ask(&client)?;
    assert_eq!(asked.status, 0, "{}", asked.text);
    exchange::settle(&client)?;
    let found = exchange::end_state(&client)?;
    assert_eq!(found, exchange::expected(), "found: {found:#}");
    deployment.stop()
}

#[test]
fn without_a_good_token_nobody_gets_in() -> anyhow::Result<()> {
    let home = home()?;
    let deployment = start(Shape::OneProcess, &home)?;
    let good = mint(&home, &secret('s'), &["--role", "operator"])?;
    let (body, signature) = good.rsplit_once('.').unwrap_or_default();
    let flipped: String = signature.chars().rev().collect();
    let bad = [
        ("a word", "garbage".to_owned()),
        (
            "another secret",
            mint(&home, &secret('x'), &["--role", "operator"])?,
        ),
        ("no signature", format!("{body}.")),
        ("a changed signature", format!("{body}.{flipped}")),
    ];
    refused(&deployment.client, "no token")?;
    for (what, token) in bad {
        refused(&deployment.client.with_token(&token), what)?;
    }
    let sessions = deployment
        .client
        .with_token(&good)
        .json(&["sessions", "list"])?;
    assert_eq!(list(&sessions, "/sessions")?.len(), 0, "nothing was stored");
    deployment.stop()
}

fn refused(client: &Client, what: &str) -> anyhow::Result<()> {
    for arguments in [
        &["sessions", "list"][..],
        &["chat", WRITER, "x"][..],
        &["runs", "list"][..],
    ] {
        let answer = client.run(arguments)?;
        assert_eq!(answer.status, 3, "{what}: {arguments:?}: {}", answer.text);
    }
    let answer = client.tool("sessions_list", &json!({}), None)?;
    assert_eq!(answer.status, 3, "{what}: {}", answer.text);
    Ok(())
}

/// A token with any claims, signed with the servers' own secret.
fn signed(claims: &Value) -> anyhow::Result<String> {
    let header = Header {
        kid: Some("k1".to_owned()),
        ..Header::new(Algorithm::HS256)
    };
    let key = EncodingKey::from_secret(secret('s').as_bytes())?;
    Ok(jsonwebtoken::encode(&header, claims, &key)?)
}

#[test]
fn a_well_signed_token_with_bad_claims_is_refused_with_the_reason() -> anyhow::Result<()> {
    let home = home()?;
    let deployment = start(Shape::OneProcess, &home)?;
    let (past, future) = (1_600_000_000_u64, 9_000_000_000_u64);
    let cases = [
        (json!({ "role": "operator", "exp": past }), "expired"),
        (json!({ "role": "operator" }), "exp"),
        (json!({ "exp": future }), "role"),
        (json!({ "role": "emperor", "exp": future }), "emperor"),
        (json!({ "role": "agent", "exp": future }), "session"),
        (
            json!({ "role": "agent", "session": "agent:", "exp": future }),
            "session",
        ),
        (
            json!({ "role": "operator", "exp": future, "nbf": future }),
            "not valid yet",
        ),
    ];
    for (claims, word) in cases {
        let client = deployment.client.with_token(&signed(&claims)?);
        let answer = client.run(&["sessions", "list"])?;
        assert_eq!(answer.status, 3, "{claims}: {}", answer.text);
        assert!(
            answer.text.contains(word),
            "{claims}: {word:?} is not in {}",
            answer.text
        );
    }
    let good = signed(&json!({ "role": "operator", "exp": future }))?;
    assert_eq!(
        deployment
            .client
            .with_token(&good)
            .run(&["sessions", "list"])?
            .status,
        0
    );
    deployment.stop()
}

/// A token of an agent is a token of one session.
#[test]
fn an_agents_token_speaks_for_its_session_alone() -> anyhow::Result<()> {
    let home = home()?;
    let deployment = start(Shape::OneProcess, &home)?;
    let operator = mint(&home, &secret('s'), &["--role", "operator"])?;
    let operator = deployment.client.with_token(&operator);
    exchange::prepare(&operator)?;
    exchange::ask(&operator)?;
    exchange::settle(&operator)?;

    let token = mint(
        &home,
        &secret('s'),
        &["--role", "agent", "--session", WRITER],
    )?;
    let agent = deployment.client.with_token(&token);
    let own = agent.tool("sessions_list", &json!({}), None)?;
    assert_eq!(own.status, 0, "{}", own.text);
    let mut keys = Vec::new();
    for row in list(&own.json, "/sessions")? {
        keys.push(text(row, "/key")?);
    }
    keys.sort();
    assert_eq!(keys, [EDITOR, "main"], "its own session is shown as main");

    // What the token says cannot be said otherwise beside it.
    let disguised = agent.tool("sessions_list", &json!({}), Some(EDITOR))?;
    assert_eq!(disguised.status, 2, "{}", disguised.text);

    // People's commands are not an agent's.
    for arguments in [
        &["chat", WRITER, "x"][..],
        &["sessions", "create", "agent:writer:slack:channel:x"][..],
    ] {
        let answer = agent.run(arguments)?;
        assert_eq!(answer.status, 3, "{arguments:?}: {}", answer.text);
    }
    deployment.stop()
}

#[test]
fn a_token_of_another_tenant_sees_nothing() -> anyhow::Result<()> {
    let home = home()?;
    let deployment = start(Shape::OneProcess, &home)?;
    let operator = mint(&home, &secret('s'), &["--role", "operator"])?;
    let operator = deployment.client.with_token(&operator);
    let run = operator.json(&["chat", WRITER, "hello"])?;
    let stranger = mint(
        &home,
        &secret('s'),
        &["--role", "operator", "--tenant", "other"],
    )?;
    let stranger = deployment.client.with_token(&stranger);
    assert_eq!(
        list(&stranger.json(&["sessions", "list"])?, "/sessions")?.len(),
        0
    );
    assert_eq!(list(&stranger.json(&["runs", "list"])?, "/runs")?.len(), 0);
    let got = stranger.run(&["runs", "get", &text(&run, "/runId")?])?;
    assert_eq!(got.status, 4, "{}", got.text);
    assert!(got.text.contains("No run found"), "{}", got.text);
    deployment.stop()
}
