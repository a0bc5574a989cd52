//! The main job with a `kill -9` around every commit in turn: after a restart the end is the one of
//! a run that nobody disturbs. Nothing is lost, nothing is done twice.
//!
//! A test counts N up from 0: the process dies at its commit number N, is started again, and has to
//! reach the same end. The counting ends with the first N that is more than there are commits.
//!
//! Source: D36, D47, D48.

mod awareness;
mod import;
mod lifecycle;
mod services;

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use anyhow::{Context as _, bail, ensure};
use confab_tests::client::Client;
use confab_tests::deployment::{Deployment, Plan, Shape};
use confab_tests::exchange;
use confab_tests::home::{Home, config};
use confab_tests::json::list;
use confab_tests::process::Server;
use serde_json::Value;

/// More commits than the main job has in any one database.
const COMMITS_MAX: usize = 200;
/// The signal of `kill -9`.
const KILLED: i32 = 9;

#[test]
fn after_a_kill_behind_any_commit_of_the_runner_the_end_is_the_same() -> anyhow::Result<()> {
    the_end_is_the_same("runner.commit.after", 8)
}

#[test]
fn after_a_kill_before_any_commit_of_the_runner_the_end_is_the_same() -> anyhow::Result<()> {
    the_end_is_the_same("runner.commit.before", 8)
}

#[test]
fn after_a_kill_behind_any_commit_of_the_transcript_the_end_is_the_same() -> anyhow::Result<()> {
    the_end_is_the_same("transcript.commit.after", 4)
}

#[test]
fn after_a_kill_before_any_commit_of_the_transcript_the_end_is_the_same() -> anyhow::Result<()> {
    the_end_is_the_same("transcript.commit.before", 4)
}

#[test]
fn after_a_kill_behind_any_commit_of_the_registry_the_end_is_the_same() -> anyhow::Result<()> {
    the_end_is_the_same("registry.commit.after", 1)
}

#[test]
fn after_a_kill_before_any_commit_of_the_registry_the_end_is_the_same() -> anyhow::Result<()> {
    the_end_is_the_same("registry.commit.before", 1)
}

/// Kills at `point` at every commit, of which there have to be at least `commits_min`.
fn the_end_is_the_same(point: &str, commits_min: usize) -> anyhow::Result<()> {
    let prepared = prepare()?;
    for commit in 0..COMMITS_MAX {
        let home = prepared.copy()?;
        let died = kill_at(&home, point, commit, main_job)
            .and_then(|died| finish(&home).map(|end| (died, end)))
            .with_context(|| format!("killed at {point} number {commit}"));
        let (died, end) = died?;
        assert_eq!(
            end,
            exchange::expected(),
            "killed at {point} number {commit}: {end:#}"
        );
        if !died {
            println(point, commit);
            assert!(
                commit >= commits_min,
                "{point} was passed {commit} times only"
            );
            return Ok(());
        }
    }
    bail!("{point} has more than {COMMITS_MAX} commits")
}

/// Whoever starts again may die again, while it does what was left undone.
#[test]
fn after_a_second_kill_during_the_return_the_end_is_the_same() -> anyhow::Result<()> {
    let prepared = prepare()?;
    let point = "runner.commit.after";
    let mut second_kills = 0;
    for commit in (0..COMMITS_MAX).step_by(3) {
        let home = prepared.copy()?;
        if !kill_at(&home, point, commit, main_job)? {
            println(&format!("{point}, again"), second_kills);
            assert!(
                second_kills > 1,
                "the return was killed {second_kills} times only"
            );
            return Ok(());
        }
        let died = kill_at(&home, point, 2, |client| finish_with(client).map(drop))?;
        second_kills += usize::from(died);
        let end = finish(&home)?;
        assert_eq!(
            end,
            exchange::expected(),
            "killed at number {commit}, then at 2: {end:#}"
        );
    }
    bail!("{point} has more than {COMMITS_MAX} commits")
}

#[expect(clippy::print_stdout, reason = "the harness shows it on demand")]
fn println(point: &str, kills: usize) {
    println!("{point}: {kills} kills");
}

/// A home with the editor's session in it, at rest.
fn prepare() -> anyhow::Result<Home> {
    let home = Home::new(&config(&exchange::agents()))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    exchange::prepare(&deployment.client)?;
    deployment.stop()?;
    Ok(home)
}

/// Starts a process that dies at this commit, and works with it until it does, or stops it when all
/// is done. Returns whether it died.
fn kill_at(
    home: &Home,
    point: &str,
    commit: usize,
    work: impl Fn(&Client) -> anyhow::Result<()>,
) -> anyhow::Result<bool> {
    kill_server_at(home, point, commit, |server| {
        work(&Client::new(vec![("--endpoint", server.grpc()?)])?)
    })
}

/// The same for work that knows the process.
fn kill_server_at(
    home: &Home,
    point: &str,
    commit: usize,
    work: impl FnOnce(&Server) -> anyhow::Result<()>,
) -> anyhow::Result<bool> {
    let points = format!("{point}={commit}*off->return(kill)");
    let plan = Plan::new(Shape::OneProcess, home).dying_at(&points);
    let mut server = plan.launch("confab", plan.command("confab")?)?;
    if server.ready_line.is_none() {
        return was_killed(server.wait()?);
    }
    match work(&server) {
        Ok(()) => was_killed(server.terminate()?),
        // The client was left alone, which only the death of the process excuses.
        Err(error) => server
            .wait()
            .and_then(was_killed)
            .with_context(|| format!("{error:#}")),
    }
}

/// The person's words, their answer, and all that follows.
fn main_job(client: &Client) -> anyhow::Result<()> {
    let asked = exchange::ask(client)?;
    ensure!(
        asked.status == 0,
        "the person got no answer: {}",
        asked.text
    );
    exchange::settle(client)
}

fn was_killed(status: ExitStatus) -> anyhow::Result<bool> {
    match (status.signal(), status.code()) {
        (Some(KILLED), _) => Ok(true),
        (None, Some(0)) => Ok(false),
        _ => bail!("neither killed nor ended well: {status}"),
    }
}

/// Starts again, lets everything come to its end, and returns what there is to see.
fn finish(home: &Home) -> anyhow::Result<Value> {
    let deployment = Deployment::start(Shape::OneProcess, home)?;
    let end = finish_with(&deployment.client)?;
    deployment.stop()?;
    Ok(end)
}

/// Lets everything come to its end and returns what there is to see. The person repeats their
/// message only if it was not accepted.
fn finish_with(client: &Client) -> anyhow::Result<Value> {
    let runs = client.json(&["runs", "list"])?;
    if list(&runs, "/runs")?.is_empty() {
        let asked = exchange::ask(client)?;
        ensure!(asked.status == 0, "{}", asked.text);
    }
    exchange::settle(client)?;
    exchange::end_state(client)
}
