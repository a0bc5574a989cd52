//! A change of a session with a `kill -9` around every commit in turn: after a restart the row is the
//! old one or the new one and never a mixture, nothing stands in the way, a repeated call meets one
//! answer, and no run began in a session that was reset, archived or deleted meanwhile.
//!
//! Source: D36, D47, D55, D56, B184, B205, B222.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, bail, ensure};
use confab_proto::registry::v1 as registry;
use confab_proto::types::v1::Session;
use confab_tests::client::Client;
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::grpc::{Caller, Grpc, REGISTRY, session};
use confab_tests::home::{Home, config, script};
use confab_tests::json::{at, list, merge, message_text, text};
use confab_tests::lifecycle::{Change, Kind};
use prost_types::FieldMask;
use serde_json::{Value, json};

use crate::services::through_a_death;
use crate::{COMMITS_MAX, kill_server_at, println};

const ROOM: &str = "agent:main:slack:channel:c1";
/// The name of the call that is repeated.
const NAME: &str = "the call";
/// What the patch sets.
const LABEL: &str = "new";

/// What is done to the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Patch,
    /// A change of its life, with work in its way where that would be.
    Life(Kind),
}

impl Deed {
    /// Does it under its name and returns the row; absent after a delete.
    fn perform(self, grpc: &Grpc) -> anyhow::Result<Option<Session>> {
        match self {
            Self::Patch => patch(grpc),
            Self::Life(Kind::Restore) => {
                Ok(Change::of(Kind::Restore, ROOM).named(NAME).make(grpc)?)
            },
            Self::Life(kind) => Ok(Change::of(kind, ROOM).forced().named(NAME).make(grpc)?),
        }
    }

    /// Whether it ends work.
    const fn ends_work(self) -> bool {
        !matches!(self, Self::Patch | Self::Life(Kind::Restore))
    }
}

fn patch(grpc: &Grpc) -> anyhow::Result<Option<Session>> {
    let asked = registry::PatchSessionRequest {
        target: Some(session(ROOM)),
        patch: Some(registry::SessionPatch {
            label: Some(LABEL.to_owned()),
            category: Some(LABEL.to_owned()),
            thinking_level: Some("high".to_owned()),
            ..Default::default()
        }),
        update_mask: Some(FieldMask {
            paths: ["label", "category", "thinking_level"]
                .map(str::to_owned)
                .to_vec(),
        }),
        idempotency_key: Some(NAME.to_owned()),
        ..Default::default()
    };
    let patched: registry::PatchSessionResponse =
        grpc.call(REGISTRY, "PatchSession", asked, &Caller::operator())?;
    Ok(patched.session)
}

/// A home with one session that was spoken to, at rest; archived where that is to be undone.
fn prepare(deed: Deed) -> anyhow::Result<(Home, String)> {
    let rules = json!([{ "match": "^slow", "delayMs": 120_000, "reply": "late" }]);
    let home = Home::new(&config(&[script("main", &rules)]))?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    deployment.client.json(&["chat", ROOM, "before"])?;
    if deed == Deed::Life(Kind::Restore) {
        deployment.client.json(&["sessions", "archive", ROOM])?;
    }
    let row = deployment.client.json(&["sessions", "get", ROOM])?;
    let generation = text(&row, "/sessionId")?;
    deployment.stop()?;
    Ok((home, generation))
}

/// What the caller was told before the death.
#[derive(Debug, Default)]
enum First {
    /// Nothing.
    #[default]
    Silence,
    /// The row; absent after a delete.
    Answer(Option<Box<Session>>),
}

/// Gives the session one run at work and one that waits, where the deed ends work; then does it.
fn work(deed: Deed, client: &Client, grpc: &Grpc) -> anyhow::Result<Option<Session>> {
    if deed.ends_work() {
        for message in ["slow one", "two"] {
            client.json(&["chat", ROOM, message, "--no-wait"])?;
        }
    }
    deed.perform(grpc)
}

/// What is compared of a row: absent where there is none.
fn row(client: &Client) -> anyhow::Result<Option<Value>> {
    let got = client.run(&["sessions", "get", ROOM])?;
    match got.status {
        0 => Ok(Some(got.json)),
        _ if got.text.contains("No session found") => Ok(None),
        _ => bail!("{}", got.text),
    }
}

/// Whether a row is the one before the deed, or the one after it; a mixture is a failure.
fn is_done(deed: Deed, row: Option<&Value>, generation: &str) -> anyhow::Result<bool> {
    let Some(row) = row else {
        ensure!(deed == Deed::Life(Kind::Delete), "the row is gone");
        return Ok(true);
    };
    let is_same = text(row, "/sessionId")? == generation;
    let is_archived = at(row, "/archived")? == true;
    ensure!(
        is_archived == row.get("archivedAt").is_some(),
        "half archived: {row:#}"
    );
    let labelled = row.get("label").is_some();
    for name in ["category", "thinkingLevel"] {
        ensure!(row.get(name).is_some() == labelled, "half patched: {row:#}");
    }
    let (same, archived, patched) = (is_same, is_archived, labelled);
    let restores = deed == Deed::Life(Kind::Restore);
    let old = (same, archived, patched) == (true, restores, false);
    let new = match deed {
        Deed::Patch => (same, archived, patched) == (true, false, true),
        Deed::Life(Kind::Reset) => (same, archived, patched) == (false, false, false),
        Deed::Life(Kind::Archive) => (same, archived, patched) == (true, true, false),
        Deed::Life(Kind::Restore) => (same, archived, patched) == (true, false, false),
        Deed::Life(Kind::Delete) => false,
    };
    ensure!(old != new, "neither the old row nor the new one: {row:#}");
    Ok(new)
}

/// Demands after a death that nothing is left half done.
fn finish(
    deed: Deed,
    deployment: &Deployment,
    generation: &str,
    first: First,
) -> anyhow::Result<()> {
    let client = &deployment.client;
    let found = row(client)?;
    let done = is_done(deed, found.as_ref(), generation)?;
    let answered = matches!(first, First::Answer(_));
    ensure!(
        done || !answered,
        "it was answered and is undone: {found:#?}"
    );
    let grpc = Grpc::to(deployment)?;
    let second = deed.perform(&grpc).context("repeated")?;
    if let First::Answer(first) = first {
        assert_eq!(
            second,
            first.map(|row| *row),
            "the repeated call met another answer"
        );
    }
    assert_eq!(deed.perform(&grpc).context("repeated again")?, second);
    let found = row(client)?;
    ensure!(
        is_done(deed, found.as_ref(), generation)?,
        "not done: {found:#?}"
    );
    if deed.ends_work() {
        assert_nothing_ran(client, generation)?;
    }
    assert_open(deed, client)
}

/// Every run belongs to the old generation, and of those that were in the way none went well.
fn assert_nothing_ran(client: &Client, generation: &str) -> anyhow::Result<()> {
    let runs = client.json(&["runs", "list"])?;
    for run in list(&runs, "/runs")? {
        ensure!(
            text(run, "/sessionId")? == generation,
            "a run of a later life: {run:#}"
        );
        let (input, state) = (text(run, "/input")?, text(run, "/state")?);
        match (input.as_str(), state.as_str()) {
            ("before", "succeeded") | (_, "cancelled" | "killed") => {},
            _ => bail!("a run was not ended: {run:#}"),
        }
    }
    Ok(())
}

/// Nothing stands in the way of the next message, but the archive where it should.
fn assert_open(deed: Deed, client: &Client) -> anyhow::Result<()> {
    let chat = client.run(&["chat", ROOM, "after"])?;
    if deed == Deed::Life(Kind::Archive) {
        ensure!(
            chat.text.contains("is archived. Restore it"),
            "{}",
            chat.text
        );
        return Ok(());
    }
    ensure!(chat.status == 0, "{}", chat.text);
    let said: Vec<String> = client.history(ROOM)?.iter().map(message_text).collect();
    let fresh = ["after", "echo: after"];
    let whole = ["before", "echo: before", "after", "echo: after"];
    if deed.ends_work() {
        assert_eq!(said, fresh, "the new life begins empty");
    } else {
        assert_eq!(said, whole);
    }
    Ok(())
}

/// Kills one process at every `step`th commit of `point`, of which there have to be so many.
fn whole_at(deed: Deed, point: &str, step: usize, commits_min: usize) -> anyhow::Result<()> {
    let (prepared, generation) = prepare(deed)?;
    for commit in (0..COMMITS_MAX).step_by(step) {
        let home = prepared.copy()?;
        let first = RefCell::new(First::Silence);
        let killed = kill_server_at(&home, point, commit, |server| {
            let client = Client::new(vec![("--endpoint", server.grpc()?)])?;
            let grpc = Grpc::at(vec![server.grpc()?])?;
            let answer = work(deed, &client, &grpc)?;
            first.replace(First::Answer(answer.map(Box::new)));
            Ok(())
        });
        let killed = killed.with_context(|| format!("{deed:?}: {point} number {commit}"))?;
        let deployment = Deployment::start(Shape::OneProcess, &home)?;
        finish(deed, &deployment, &generation, first.into_inner())
            .with_context(|| format!("{deed:?} killed at {point} number {commit}"))?;
        deployment.stop()?;
        if !killed {
            println(&format!("{deed:?}: {point}"), commit);
            assert!(
                commit >= commits_min,
                "{point} was passed {commit} times only"
            );
            return Ok(());
        }
    }
    bail!("{point} has more than {COMMITS_MAX} commits")
}

#[test]
fn a_patch_is_whole_whenever_the_registry_dies() -> anyhow::Result<()> {
    whole_at(Deed::Patch, "registry.commit.before", 1, 1)?;
    whole_at(Deed::Patch, "registry.commit.after", 1, 1)
}

#[test]
fn a_restore_is_whole_whoever_dies() -> anyhow::Result<()> {
    for point in ["registry.commit.before", "registry.commit.after"] {
        whole_at(Deed::Life(Kind::Restore), point, 1, 1)?;
    }
    for point in ["runner.commit.before", "runner.commit.after"] {
        whole_at(Deed::Life(Kind::Restore), point, 1, 3)?;
    }
    Ok(())
}

#[test]
fn a_reset_is_whole_whenever_the_registry_commits() -> anyhow::Result<()> {
    whole_at(Deed::Life(Kind::Reset), "registry.commit.before", 1, 1)?;
    whole_at(Deed::Life(Kind::Reset), "registry.commit.after", 1, 1)
}

#[test]
fn a_reset_is_whole_whenever_the_runner_commits() -> anyhow::Result<()> {
    whole_at(Deed::Life(Kind::Reset), "runner.commit.before", 2, 5)?;
    whole_at(Deed::Life(Kind::Reset), "runner.commit.after", 1, 5)
}

#[test]
fn an_archive_is_whole_whoever_dies() -> anyhow::Result<()> {
    whole_at(Deed::Life(Kind::Archive), "registry.commit.after", 1, 1)?;
    whole_at(Deed::Life(Kind::Archive), "runner.commit.before", 3, 5)?;
    whole_at(Deed::Life(Kind::Archive), "runner.commit.after", 1, 5)
}

#[test]
fn a_delete_is_whole_whoever_dies() -> anyhow::Result<()> {
    whole_at(Deed::Life(Kind::Delete), "registry.commit.after", 1, 1)?;
    whole_at(Deed::Life(Kind::Delete), "runner.commit.before", 3, 5)?;
    whole_at(Deed::Life(Kind::Delete), "runner.commit.after", 1, 5)
}

/// One of three services dies and comes back while the others wait for it.
fn whole_alone(deed: Deed, victim: &'static str, point: &str, step: usize) -> anyhow::Result<()> {
    let (prepared, generation) = prepare(deed)?;
    for (commit, kills) in (0..COMMITS_MAX).step_by(step).zip(0..) {
        let home = prepared.copy()?;
        let points = format!("{point}={commit}*off->return(kill)");
        let first = Arc::new(Mutex::new(First::Silence));
        let got = Arc::clone(&first);
        let (killed, deployment) = through_a_death(&home, victim, &points, move |addresses| {
            let client = Client::new(addresses.to_vec())?;
            let grpc = Grpc::at(
                addresses
                    .iter()
                    .map(|(_, address)| address.clone())
                    .collect(),
            )?;
            let answer = work(deed, &client, &grpc)?;
            if let Ok(mut got) = got.lock() {
                *got = First::Answer(answer.map(Box::new));
            }
            Ok(())
        })
        .with_context(|| format!("{deed:?}: {victim} at {point} number {commit}"))?;
        let first = first.lock().map(|mut first| std::mem::take(&mut *first));
        finish(deed, &deployment, &generation, first.unwrap_or_default())
            .with_context(|| format!("{deed:?}: {victim} killed at {point} number {commit}"))?;
        deployment.stop()?;
        if !killed {
            println(&format!("{deed:?}: {victim}: {point}"), kills);
            assert!(kills > 0, "{point} was passed {commit} times only");
            return Ok(());
        }
    }
    bail!("{point} has more than {COMMITS_MAX} commits")
}

#[test]
fn a_reset_is_whole_when_the_registry_alone_dies_and_comes_back() -> anyhow::Result<()> {
    whole_alone(
        Deed::Life(Kind::Reset),
        "confab-registry",
        "registry.commit.after",
        1,
    )
}

#[test]
fn a_reset_is_whole_when_the_runner_alone_dies_and_comes_back() -> anyhow::Result<()> {
    whole_alone(
        Deed::Life(Kind::Reset),
        "confab-runner",
        "runner.commit.after",
        3,
    )
}

#[test]
fn a_delete_is_whole_when_the_registry_alone_dies_and_comes_back() -> anyhow::Result<()> {
    whole_alone(
        Deed::Life(Kind::Delete),
        "confab-registry",
        "registry.commit.after",
        1,
    )
}

#[test]
fn an_archive_is_whole_when_the_runner_alone_dies_and_comes_back() -> anyhow::Result<()> {
    whole_alone(
        Deed::Life(Kind::Archive),
        "confab-runner",
        "runner.commit.after",
        3,
    )
}

fn kept(client: &Client) -> anyhow::Result<BTreeSet<String>> {
    let sessions = client.json(&["sessions", "list"])?;
    list(&sessions, "/sessions")?
        .iter()
        .map(|row| text(row, "/key"))
        .collect()
}

/// B182: a sweep that dies is done by the next one, and the one after that has nothing to do.
#[test]
fn a_sweep_that_dies_is_ended_by_the_next_one() -> anyhow::Result<()> {
    let mut settings = config(&[script("main", &json!([]))]);
    let home = Home::new(&settings)?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let keys = ["main", "a", "b", "c", "d", "e"].map(|name| format!("agent:main:{name}"));
    for key in &keys {
        deployment.client.json(&["chat", key, "hello"])?;
    }
    deployment
        .client
        .json(&["sessions", "patch", "agent:main:a", r#"{"pinned":true}"#])?;
    deployment.stop()?;
    merge(
        &mut settings,
        json!({ "session": { "maintenance": { "mode": "enforce", "maxEntries": 3 } } }),
    );
    home.configure(&settings)?;
    // The main session and the pinned one stay whatever their age, and take room (reg:X5, reg:X7).
    let expected: BTreeSet<String> = ["main", "a", "e"]
        .map(|name| format!("agent:main:{name}"))
        .into();
    for point in ["registry.commit.after", "runner.commit.after"] {
        for commit in 0..COMMITS_MAX {
            let home = home.copy()?;
            let killed = kill_server_at(&home, point, commit, |server| {
                let client = Client::new(vec![("--endpoint", server.grpc()?)])?;
                client.json(&["sessions", "sweep"]).map(drop)
            })?;
            let deployment = Deployment::start(Shape::OneProcess, &home)?;
            let client = &deployment.client;
            for key in kept(client)? {
                ensure!(
                    client.history(&key)?.len() == 2,
                    "{point} {commit}: half of {key}"
                );
            }
            client.json(&["sessions", "sweep"])?;
            assert_eq!(kept(client)?, expected, "killed at {point} number {commit}");
            let idle = client.json(&["sessions", "sweep"])?;
            assert_eq!(list(&idle, "/sessions")?.len(), 0, "{idle:#}");
            for key in &keys {
                client.json(&["chat", key, "again"])?;
            }
            deployment.stop()?;
            if !killed {
                println(&format!("sweep: {point}"), commit);
                assert!(commit > 1, "{point} was passed {commit} times only");
                break;
            }
        }
    }
    Ok(())
}
