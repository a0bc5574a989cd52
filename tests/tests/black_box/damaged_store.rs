//! A store that was killed or damaged: what was acknowledged is there, and a file that is not what it
//! was is told, and never taken for an empty one.
//!
//! Source: D47.

use std::fs;

use anyhow::ensure;
use confab_proto::registry::v1 as registry;
use confab_tests::deployment::{Deployment, Plan, Shape};
use confab_tests::grpc::{Caller, Grpc, REGISTRY, session};
use confab_tests::home::{Home, config, script};
use confab_tests::json::text;
use futures::StreamExt as _;
use serde_json::json;

/// Rounds of work, each ended by a kill.
const ROUNDS: usize = 12;
/// Calls that are under way at the same time.
const AT_ONCE: usize = 16;

fn home() -> anyhow::Result<Home> {
    Home::new(&config(&[script("main", &json!([]))]))
}

fn key(round: usize, number: usize) -> String {
    format!("agent:main:round-{round}-{number}")
}

/// B205: whenever the process is killed under load, the next one reads everything that was
/// acknowledged.
#[test]
fn what_was_acknowledged_survives_a_kill_under_load() -> anyhow::Result<()> {
    let home = home()?;
    let mut acknowledged: Vec<(String, String)> = Vec::new();
    for round in 0..ROUNDS {
        let deployment = Deployment::start(Shape::OneProcess, &home)?;
        let grpc = Grpc::to(&deployment)?;
        for (key, session_id) in &acknowledged {
            assert_eq!(session_id_of(&grpc, key)?, *session_id, "{key}");
        }
        let services = &grpc.services;
        let work = futures::stream::iter(0..1_000).map(|number| async move {
            let asked = registry::CreateSessionRequest {
                session_key: key(round, number),
                label: Some(format!("label {round} {number}")),
                ..Default::default()
            };
            let operator = Caller::operator();
            services
                .call::<_, registry::CreateSessionResponse>(
                    REGISTRY,
                    "CreateSession",
                    asked,
                    &operator,
                )
                .await
        });
        // The kill comes while others are under way.
        let first = work.buffer_unordered(AT_ONCE).take(10 + 3 * round);
        let answers: Vec<_> = grpc.block_on(first.collect());
        deployment.kill()?;
        for answer in answers {
            let row = answer?.session.unwrap_or_default();
            acknowledged.push((row.key, row.session_id));
        }
    }
    ensure!(acknowledged.len() > 200, "{} sessions", acknowledged.len());
    Ok(())
}

fn session_id_of(grpc: &Grpc, key: &str) -> anyhow::Result<String> {
    let asked = registry::GetSessionRequest {
        target: Some(session(key)),
    };
    let got: registry::GetSessionResponse =
        grpc.call(REGISTRY, "GetSession", asked, &Caller::operator())?;
    Ok(got.session.unwrap_or_default().session_id)
}

/// B205: a database that is none any more ends the start with its name; nothing is written to it,
/// and with the file back everything is back.
#[test]
fn a_database_full_of_rubbish_is_told_and_not_replaced() -> anyhow::Result<()> {
    damage_is_told(b"this was a database once, and is none any more")
}

/// B205: nor is an empty file taken for a session store without sessions.
#[test]
fn a_database_that_was_emptied_is_told_and_not_replaced() -> anyhow::Result<()> {
    damage_is_told(b"")
}

fn damage_is_told(damage: &[u8]) -> anyhow::Result<()> {
    let home = home()?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let words = ["chat", "agent:main:main", "hello"];
    deployment.client.json(&words)?;
    let get = ["sessions", "get", "agent:main:main"];
    let row = deployment.client.json(&get)?;
    deployment.stop()?;
    let database = home.data().join("registry.db");
    let whole = fs::read(&database)?;
    fs::write(&database, damage)?;
    let plan = Plan::new(Shape::OneProcess, &home);
    let mut server = plan.launch("confab", plan.command("confab")?)?;
    ensure!(server.ready_line.is_none(), "it said that it is ready");
    assert_ne!(server.wait()?.code(), Some(0));
    let log = server.log_tail();
    assert!(log.contains("registry.db"), "{log}");
    assert_eq!(fs::read(&database)?, damage, "the damaged file was changed");

    fs::write(&database, whole)?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let again = deployment.client.json(&get)?;
    assert_eq!(text(&again, "/sessionId")?, text(&row, "/sessionId")?);
    assert_eq!(deployment.client.history("agent:main:main")?.len(), 2);
    deployment.stop()
}
