//! Sessions of another system come in by the command line: all of them, once, with their identifiers
//! and times, and go out again as the same lines.
//!
//! Source: contract (Command line), run:T1, run:T4, run:T14, run:T27, run:T28, D26, D47, B205.

mod directory;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};
use confab_tests::client::{Answer, Client};
use confab_tests::deployment::{Deployment, Shape};
use confab_tests::home::{Home, config, script};
use confab_tests::json::{at, list, number, text};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use self::directory::{
    CHILD, CHILD_ID, LOST_ID, MAIN, MAIN_ID, OLD_ID, ROOM, ROOM_ID, StateDirectory, entry, header,
    plain, row, said, secret,
};

fn start(shape: Shape) -> anyhow::Result<(Home, Deployment)> {
    let home = home()?;
    let deployment = Deployment::start(shape, &home)?;
    Ok((home, deployment))
}

fn home() -> anyhow::Result<Home> {
    Home::new(&config(&[script("writer", &json!([]))]))
}

fn import(client: &Client, directory: &Path, options: &[&str]) -> anyhow::Result<Answer> {
    let directory = directory.to_str().context("the path is no text")?;
    client.run(&[&["import", "openclaw", directory], options].concat())
}

/// The report of an import that has to succeed.
fn imported(client: &Client, directory: &Path, options: &[&str]) -> anyhow::Result<Value> {
    let answer = import(client, directory, options)?;
    ensure!(answer.status == 0, "{}", answer.text);
    Ok(answer.json)
}

/// A transcript as it was stored.
fn raw(client: &Client, reference: &str) -> anyhow::Result<Vec<Value>> {
    parsed(&client.table(&["sessions", "export", reference, "--raw"])?)
}

fn parsed(lines: &str) -> anyhow::Result<Vec<Value>> {
    let lines = lines.lines().map(serde_json::from_str);
    Ok(lines.collect::<Result<_, _>>()?)
}

/// The lines of each transcript file, by sessionId.
fn source(state: &StateDirectory) -> anyhow::Result<BTreeMap<String, Vec<Value>>> {
    let mut found = BTreeMap::new();
    for file in fs::read_dir(state.path().join("agents/writer/sessions"))? {
        let path = file?.path();
        let name = path
            .file_name()
            .context("no name")?
            .to_string_lossy()
            .into_owned();
        if let Some((id, _)) = name.split_once(".jsonl") {
            found.insert(id.to_owned(), parsed(&fs::read_to_string(&path)?)?);
        }
    }
    Ok(found)
}

/// The outcomes of the sessions, by key.
fn outcomes(report: &Value) -> anyhow::Result<BTreeMap<String, String>> {
    let sessions = list(report, "/sessions")?.iter();
    let pairs = sessions.map(|one| Ok((text(one, "/key")?, text(one, "/outcome")?)));
    pairs.collect()
}

fn without(report: &Value, name: &str) -> Value {
    let mut report = report.clone();
    if let Some(fields) = report.as_object_mut() {
        fields.remove(name);
    }
    report
}

fn stored(client: &Client) -> anyhow::Result<usize> {
    let listed = client.json(&["sessions", "list"])?;
    Ok(list(&listed, "/sessions")?.len())
}

fn everything_goes_in_once(shape: Shape) -> anyhow::Result<()> {
    let state = StateDirectory::whole()?;
    let (_home, deployment) = start(shape)?;
    let client = &deployment.client;

    let told = imported(client, state.path(), &["--dry-run"])?;
    assert_eq!(
        (at(&told, "/dryRun")?, stored(client)?),
        (&json!(true), 0),
        "{told:#}"
    );
    let first = imported(client, state.path(), &[])?;
    assert_eq!(
        without(&told, "dryRun"),
        without(&first, "dryRun"),
        "a dry run tells what an import does"
    );
    let lost = format!("agent:writer:imported:{LOST_ID}");
    let keys = [MAIN, ROOM, CHILD, lost.as_str()];
    let created = |outcome: &str| {
        let pairs = keys
            .iter()
            .map(|key| ((*key).to_owned(), outcome.to_owned()));
        pairs.collect::<BTreeMap<_, _>>()
    };
    assert_eq!(outcomes(&first)?, created("created"), "{first:#}");
    let counts = |report: &Value| {
        ["lines", "imported", "repeated", "skipped", "keptAside"]
            .map(|name| number(report, &format!("/totals/{name}")))
            .into_iter()
            .collect::<anyhow::Result<Vec<i64>>>()
    };
    // 26 lines: of the conversation 6 are messages (its compaction among them) and 4 are not; each
    // of the other four files has a header.
    let (lines, messages, aside) = (10 + 3 + 4 + 2 + 3, 6 + 2 + 3 + 1 + 2, 4 + 4);
    assert_eq!(counts(&first)?, [lines, messages, 0, 0, aside], "{first:#}");

    for options in [&["--dry-run"][..], &[], &["--replace"]] {
        let again = imported(client, state.path(), options)?;
        assert_eq!(outcomes(&again)?, created("unchanged"), "{options:?}");
        assert_eq!(
            counts(&again)?,
            [lines, 0, messages, 0, aside],
            "{options:?}: {again:#}"
        );
    }

    for (id, lines) in source(&state)? {
        assert_eq!(raw(client, &id)?, lines, "{id} comes back as it was");
    }
    rows_are_what_they_were(client, &lost)?;
    deployment.stop()
}

fn rows_are_what_they_were(client: &Client, lost: &str) -> anyhow::Result<()> {
    let get = |key: &str| client.json(&["sessions", "get", key]);
    let main = get(MAIN)?;
    assert_eq!(
        (text(&main, "/sessionId")?, text(&main, "/label")?),
        (MAIN_ID.into(), "desk".into())
    );
    assert_eq!(number(&main, "/updatedAt")?, 1_770_000_000_000);
    assert_eq!(
        text(&get(CHILD)?, "/spawnedBy")?,
        MAIN,
        "its spawner was there before it"
    );
    assert_eq!(text(&get(CHILD)?, "/sessionId")?, CHILD_ID);
    let room = get(ROOM)?;
    assert_eq!(text(&room, "/sessionId")?, ROOM_ID);
    assert_eq!(text(&room, "/deliveryContext/to")?, "channel:c1");
    let listed = client.tool("sessions_list", &json!({ "archived": true }), None)?;
    let keys: Vec<String> = list(&listed.json, "/sessions")?
        .iter()
        .map(|row| text(row, "/key"))
        .collect::<anyhow::Result<_>>()?;
    assert_eq!(keys, [lost], "what nobody claims is archived");
    let old = client.history(OLD_ID)?;
    assert_eq!(
        old.len(),
        2,
        "D26: the generation before the reset can be read: {old:?}"
    );
    Ok(())
}

#[test]
fn a_directory_goes_in_once_and_comes_back_line_by_line() -> anyhow::Result<()> {
    everything_goes_in_once(Shape::OneProcess)
}

#[test]
fn three_services_take_an_import_as_one_process_does() -> anyhow::Result<()> {
    everything_goes_in_once(Shape::ThreeServices)
}

#[test]
fn an_export_that_is_not_raw_tells_no_secret() -> anyhow::Result<()> {
    let state = StateDirectory::whole()?;
    let (_home, deployment) = start(Shape::OneProcess)?;
    let client = &deployment.client;
    imported(client, state.path(), &[])?;
    let body = secret();
    let (_, core) = body.split_at(12);
    let shown = client.table(&["sessions", "export", MAIN])?;
    ensure!(
        shown.contains("please") && shown.contains("done"),
        "the rest is there: {shown}"
    );
    ensure!(!shown.contains(&core[..16]), "the secret is told: {shown}");
    ensure!(
        !shown.contains("the token is"),
        "D60: thinking is told: {shown}"
    );
    parsed(&shown)?;
    let whole = client.table(&["sessions", "export", MAIN, "--raw"])?;
    assert_eq!(
        whole.matches(&body).count(),
        4,
        "a raw export is what was stored"
    );
    deployment.stop()
}

/// B147, run:T28: everything that can be read goes in, and everything else is told with its line.
#[test]
fn a_damaged_transcript_loses_its_damaged_lines_alone() -> anyhow::Result<()> {
    let state = StateDirectory::empty()?;
    state.index(&json!({ "main": row(MAIN_ID) }))?;
    let good = |id: &str, parent: Option<&str>| entry(id, parent, &said("user", id));
    let (one, two) = (good("m1", None), good("m2", Some("m1")));
    let three = good("m3", Some("m2"));
    let huge = format!(
        "{{\"type\":\"message\",\"x\":\"{}\"}}",
        "x".repeat(17 * 1024 * 1024)
    );
    let lines: [Vec<u8>; 9] = [
        header(MAIN_ID).to_string().into(),
        one.to_string().into(),
        b"garbage in the middle".to_vec(),
        Vec::new(),
        b"{\"type\":\"message\",\"id\":\"\xff\xfe\"}".to_vec(),
        two.to_string().into(),
        one.to_string().into(),
        huge.into(),
        three.to_string().into(),
    ];
    let mut bytes = lines.join(&b'\n');
    bytes.extend(b"\n{\"type\":\"message\",\"id\":\"m4\",\"mess");
    state.bytes(&format!("{MAIN_ID}.jsonl"), &bytes)?;

    let (_home, deployment) = start(Shape::OneProcess)?;
    let client = &deployment.client;
    let told = imported(client, state.path(), &["--dry-run"])?;
    let report = imported(client, state.path(), &[])?;
    assert_eq!(at(&told, "/files")?, at(&report, "/files")?);
    let faults: Vec<i64> = list(&report, "/files/0/faults")?
        .iter()
        .map(|fault| number(fault, "/line"))
        .collect::<anyhow::Result<_>>()?;
    assert_eq!(faults, [3, 5, 7, 8, 10], "{report:#}");
    assert_eq!(number(&report, "/totals/imported")?, 3, "{report:#}");
    assert_eq!(raw(client, MAIN)?, [header(MAIN_ID), one, two, three]);

    let table = client.table(&["import", "openclaw", &state.path().to_string_lossy()])?;
    for line in table.lines() {
        ensure!(line.width() <= 100, "{line}");
    }
    ensure!(
        table.contains(&format!("{MAIN_ID}.jsonl:3: ")),
        "file and line: {table}"
    );
    deployment.stop()
}

#[test]
fn what_cannot_go_in_is_told_and_the_rest_is_in() -> anyhow::Result<()> {
    let state = StateDirectory::whole()?;
    let ghost = state.path().join("agents/ghost/sessions");
    fs::create_dir_all(&ghost)?;
    fs::write(
        ghost.join("sessions.json"),
        json!({ "main": row("s9") }).to_string(),
    )?;
    let cut = state.path().join("agents/cut/sessions");
    fs::create_dir_all(&cut)?;
    fs::write(cut.join("sessions.json"), "{\"main\": {\"sess")?;
    let (_home, deployment) = start(Shape::OneProcess)?;
    let client = &deployment.client;
    for options in [&["--dry-run"][..], &[]] {
        let answer = import(client, state.path(), options)?;
        assert_eq!(answer.status, 4, "{}", answer.text);
        let refused = outcomes(&answer.json)?;
        assert_eq!(
            refused.get("agent:ghost:main").map(String::as_str),
            Some("refused")
        );
        assert_eq!(refused.get(MAIN).map(String::as_str), Some("created"));
        ensure!(
            answer.text.contains("agent not found: ghost"),
            "{}",
            answer.text
        );
        let fault = text(&answer.json, "/faults/0/file")?;
        assert_eq!(fault, "agents/cut/sessions/sessions.json", "B205");
    }
    assert_eq!(raw(client, MAIN)?.len(), 10);
    let nothing = tempfile::tempdir()?;
    assert_eq!(import(client, nothing.path(), &[])?.status, 2);
    deployment.stop()
}

#[test]
fn a_session_with_other_content_stays_unless_it_is_to_be_replaced() -> anyhow::Result<()> {
    let state = StateDirectory::whole()?;
    let (_home, deployment) = start(Shape::OneProcess)?;
    let client = &deployment.client;
    client.json(&["chat", MAIN, "mine"])?;
    let own_id = text(&client.json(&["sessions", "get", MAIN])?, "/sessionId")?;

    let mut told = Vec::new();
    for options in [&["--dry-run"][..], &[]] {
        let answer = import(client, state.path(), options)?;
        assert_eq!(answer.status, 4, "{}", answer.text);
        assert_eq!(
            outcomes(&answer.json)?.get(MAIN).map(String::as_str),
            Some("leftAlone")
        );
        told.push(without(&answer.json, "dryRun"));
    }
    assert_eq!(
        told.first(),
        told.last(),
        "a dry run tells what an import does"
    );
    assert_eq!(client.history(MAIN)?.len(), 2, "it is as it was");

    let told = imported(client, state.path(), &["--replace", "--dry-run"])?;
    assert_eq!(client.history(MAIN)?.len(), 2, "it is as it was");
    let report = imported(client, state.path(), &["--replace"])?;
    assert_eq!(without(&told, "dryRun"), without(&report, "dryRun"));
    assert_eq!(
        outcomes(&report)?.get(MAIN).map(String::as_str),
        Some("replaced")
    );
    assert_eq!(raw(client, MAIN)?.len(), 10);
    assert_eq!(
        client.history(&own_id)?.len(),
        2,
        "D26: what it held can be read"
    );
    deployment.stop()
}

#[test]
fn an_export_into_a_file_overwrites_nothing_unasked() -> anyhow::Result<()> {
    let state = StateDirectory::whole()?;
    let (home, deployment) = start(Shape::OneProcess)?;
    let client = &deployment.client;
    imported(client, state.path(), &[])?;
    let path = home.directory().join("main.jsonl");
    let file = path.to_str().context("the path is no text")?;
    let export = ["sessions", "export", MAIN, "--raw", "--output", file];
    let written = client.json(&export)?;
    assert_eq!(number(&written, "/lines")?, 10, "{written}");
    let whole = fs::read_to_string(&path)?;
    assert_eq!(parsed(&whole)?, raw(client, MAIN)?);
    fs::write(&path, "mine")?;
    assert_eq!(client.run(&export)?.status, 2, "it exists");
    assert_eq!(fs::read_to_string(&path)?, "mine");
    client.json(&[&export[..], &["--force"]].concat())?;
    assert_eq!(fs::read_to_string(&path)?, whole);
    deployment.stop()
}

/// run:T1: a newer release keeps rows, generations and transcripts in a database of each agent.
#[test]
fn a_database_goes_in_once_and_comes_back_line_by_line() -> anyhow::Result<()> {
    let state = StateDirectory::empty()?;
    let (present, old) = (plain(MAIN_ID, 5), plain(OLD_ID, 2));
    state.database(&[(OLD_ID, &old), (MAIN_ID, &present)])?;
    let (_home, deployment) = start(Shape::OneProcess)?;
    let client = &deployment.client;
    let told = imported(client, state.path(), &["--dry-run"])?;
    let first = imported(client, state.path(), &[])?;
    assert_eq!(
        without(&told, "dryRun"),
        without(&first, "dryRun"),
        "a dry run tells what an import does"
    );
    let counts = |report: &Value, name: &str| number(report, &format!("/totals/{name}"));
    assert_eq!(counts(&first, "imported")?, 5 + 2, "{first:#}");
    assert_eq!((raw(client, MAIN)?, raw(client, OLD_ID)?), (present, old));
    let row = client.json(&["sessions", "get", MAIN])?;
    assert_eq!(
        (text(&row, "/sessionId")?, text(&row, "/label")?),
        (MAIN_ID.into(), "desk".into())
    );
    let again = imported(client, state.path(), &[])?;
    assert_eq!(
        outcomes(&again)?.get(MAIN).map(String::as_str),
        Some("unchanged")
    );
    assert_eq!(
        (counts(&again, "imported")?, counts(&again, "repeated")?),
        (0, 7)
    );
    deployment.stop()
}
