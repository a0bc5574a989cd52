//! The same over three services: one of them dies behind each of its commits in turn and comes back
//! at its address, while the other two stay up.

use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{Context as _, anyhow, bail};
use confab_tests::client::Client;
use confab_tests::deployment::{Deployment, Plan, Shape};
use confab_tests::exchange;
use confab_tests::home::Home;
use confab_tests::process::Server;
use serde_json::Value;

use crate::{COMMITS_MAX, finish_with, prepare, println, was_killed};

/// The services in the order in which they start, and how the later ones find the earlier ones.
const SERVICES: [(&str, &str); 3] = [
    ("confab-registry", "--registry"),
    ("confab-transcript", "--transcript"),
    ("confab-runner", "--runner"),
];

/// Nobody can be written to without the registry. So a send that meets a dead one may be refused,
/// which the agent is told at once; but then nothing of it has happened.
#[test]
fn a_registry_that_dies_alone_comes_back_and_a_send_is_whole_or_refused() -> anyhow::Result<()> {
    let ends = [exchange::expected(), exchange::expected_unsent()];
    every_end_is_whole("confab-registry", "registry.commit.after", 1, &ends)
}

#[test]
fn a_transcript_that_dies_alone_comes_back_and_the_end_is_the_same() -> anyhow::Result<()> {
    every_end_is_whole(
        "confab-transcript",
        "transcript.commit.after",
        1,
        &[exchange::expected()],
    )
}

#[test]
fn a_runner_that_dies_alone_comes_back_and_the_end_is_the_same() -> anyhow::Result<()> {
    every_end_is_whole(
        "confab-runner",
        "runner.commit.after",
        4,
        &[exchange::expected()],
    )
}

/// Lets `victim` die at `point` at every commit, or, where a test of one process does that already,
/// at every `step`th. Each time the end has to be one of `ends`.
fn every_end_is_whole(
    victim: &'static str,
    point: &str,
    step: usize,
    ends: &[Value],
) -> anyhow::Result<()> {
    let prepared = prepare()?;
    for (commit, kills) in (0..COMMITS_MAX).step_by(step).zip(0..) {
        let home = prepared.copy()?;
        let points = format!("{point}={commit}*off->return(kill)");
        let (died, end) = main_job(&home, victim, &points)
            .with_context(|| format!("{victim} killed at {point} number {commit}"))?;
        assert!(
            ends.contains(&end),
            "killed at {point} number {commit}: {end:#}"
        );
        if !died {
            println(&format!("{victim}: {point}"), kills);
            assert!(kills > 1, "{point} was passed {commit} times only");
            return Ok(());
        }
    }
    bail!("{point} has more than {COMMITS_MAX} commits")
}

/// Does the main job while `victim` dies and comes back. Returns whether it died, and the
/// end.
fn main_job(home: &Home, victim: &'static str, points: &str) -> anyhow::Result<(bool, Value)> {
    let ask = |addresses: &[(&'static str, String)]| {
        let client = Client::new(addresses.to_vec())?;
        exchange::ask(&client).and_then(|_| exchange::settle(&client))
    };
    let (died, deployment) = through_a_death(home, victim, points, ask)?;
    let end = finish_with(&deployment.client)?;
    deployment.stop()?;
    Ok((died, end))
}

/// Works with three services, of which `victim` dies and comes back. Returns whether it died, and
/// the deployment as it is then. The worker is handed the addresses; that it was left alone is no
/// fault: what counts is the end.
pub(crate) fn through_a_death(
    home: &Home,
    victim: &'static str,
    points: &str,
    work: impl FnOnce(&[(&'static str, String)]) -> anyhow::Result<()> + Send + 'static,
) -> anyhow::Result<(bool, Deployment)> {
    let healthy = Plan::new(Shape::ThreeServices, home);
    let dying = Plan::new(Shape::ThreeServices, home).dying_at(points);
    let mut servers: Vec<Server> = Vec::new();
    let mut addresses = Vec::new();
    let mut died = false;
    for (name, option) in SERVICES {
        let plan = if name == victim { &dying } else { &healthy };
        let mut server = plan.start_service(name, "127.0.0.1:0", &addresses)?;
        if name == victim && server.ready_line.is_none() {
            died = was_killed(server.wait()?)?;
            server = healthy.start_service(name, "127.0.0.1:0", &addresses)?;
        }
        addresses.push((option, server.grpc()?));
        servers.push(server);
    }
    let place = SERVICES.iter().position(|(name, _)| *name == victim);
    let place = place.context("the victim is a service")?;
    if !died {
        let mut server = servers.remove(place);
        let work_there = addresses.clone();
        let (status, working) = end_of(&mut server, move || work(&work_there))?;
        died = was_killed(status)?;
        let listen = server.grpc()?;
        let earlier = addresses.get(..place).unwrap_or_default();
        let listen = listen.trim_start_matches("http://");
        servers.insert(place, healthy.start_service(victim, listen, earlier)?);
        working.join().map_err(|_| anyhow!("the client panicked"))?;
    }
    Ok((died, Deployment::of(Shape::ThreeServices, servers)?))
}

/// Works until the victim ends: by its crash, or, when all is done without one, because it is asked
/// to. The worker may still be waiting for the victim's return.
fn end_of(
    victim: &mut Server,
    work: impl FnOnce() -> anyhow::Result<()> + Send + 'static,
) -> anyhow::Result<(ExitStatus, JoinHandle<()>)> {
    let stop = victim.stopper();
    let ended = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&ended);
    let working = thread::spawn(move || {
        drop(work());
        if !is_over.load(Ordering::SeqCst) {
            stop();
        }
    });
    let status = victim.wait()?;
    ended.store(true, Ordering::SeqCst);
    Ok((status, working))
}
