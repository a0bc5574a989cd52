//! Who watches a session hears that somebody else wrote to it: once, with its next run, whatever
//! restarts meanwhile.
//!
//! Source: D57, reg:W7, reg:W13, reg:W14, reg:W15, reg:W18, reg:W19, reg:W22, reg:W23, reg:W27.

use std::collections::BTreeSet;

use anyhow::Context as _;
use confab_proto::registry::v1 as registry;
use confab_proto::registry::v1::watch_sessions_response::Change;
use confab_tests::client::Client;
use confab_tests::deployment::{Deployment, Plan, Shape};
use confab_tests::grpc::{Caller, Grpc, REGISTRY, reason, refusal};
use confab_tests::home::{Home, config_with, script};
use confab_tests::json::{at, list, message_text, number, text};
use confab_tests::process::eventually;
use serde_json::{Value, json};

const MAIN: &str = "agent:writer:main";
const WATCHER: &str = "agent:writer:slack:channel:desk";
const SECOND: &str = "agent:writer:slack:channel:second";
const TARGET: &str = "agent:editor:slack:channel:reviews";

fn home() -> anyhow::Result<Home> {
    let told = json!([
        { "match": "^what", "reply": "[{step}] {notices}" },
        { "step": "notice", "reply": "[{step}] {notices}" },
    ]);
    let agents = [script("writer", &told), script("editor", &json!([]))];
    let change = json!({ "session": { "agentToAgent": { "maxPingPongTurns": 0 } } });
    Home::new(&config_with(&agents, change))
}

/// A deployment with a target that `watchers` watch.
fn start(shape: Shape, watchers: &[&str]) -> anyhow::Result<(Home, Deployment)> {
    let home = home()?;
    let deployment = Deployment::start(shape, &home)?;
    let client = &deployment.client;
    client.json(&["sessions", "create", TARGET])?;
    for watcher in watchers {
        client.json(&["sessions", "create", watcher])?;
        watch(client, watcher)?;
    }
    Ok((home, deployment))
}

/// Lets `watcher` watch the target.
fn watch(client: &Client, watcher: &str) -> anyhow::Result<()> {
    let asked = json!({ "sessionKey": TARGET, "message": "m", "watch": true, "announce": "none" });
    let sent = client.tool("sessions_send", &asked, Some(watcher))?;
    assert_eq!(sent.status, 0, "{}", sent.text);
    assert_eq!(at(&sent.json, "/watched")?, true, "{}", sent.text);
    Ok(())
}

fn version(client: &Client, key: &str) -> anyhow::Result<i64> {
    let status = client.tool("session_status", &json!({ "sessionKey": key }), None)?;
    number(&status.json, "/stateVersion")
}

/// A person writes to the target so often; returns what happened to it, once all of it is recorded.
fn people_write(client: &Client, times: usize) -> anyhow::Result<Vec<i64>> {
    let before = version(client, TARGET)?;
    for number in 0..times {
        client.json(&["chat", TARGET, &format!("person {number}")])?;
    }
    let mut sequences = Vec::new();
    eventually("what people did is recorded", || {
        let asked = json!({ "sessionKey": TARGET, "changesSince": before });
        let status = client.tool("session_status", &asked, None)?;
        let events = list(&status.json, "/stateChanges/events")?.iter();
        sequences = events
            .map(|event| number(event, "/sequence"))
            .collect::<anyhow::Result<_>>()?;
        Ok(sequences.len() >= times)
    })?;
    assert_eq!(sequences.len(), times, "one event for each message");
    Ok(sequences)
}

/// The notice of the target, in its exact words (reg:W19).
fn notice(since: i64) -> String {
    notice_of(TARGET, since)
}

fn notice_of(target: &str, since: i64) -> String {
    format!(
        "Session \"{target}\" changed (other actor). Reconcile before acting: session_status \
         sessionKey \"{target}\" changesSince {since}."
    )
}

/// Lets a watcher run and returns the notices that its run has.
fn next_notices(client: &Client, watcher: &str) -> anyhow::Result<Vec<String>> {
    let run = client.json(&["chat", watcher, "what is new?"])?;
    let run = client.json(&["runs", "get", &text(&run, "/runId")?])?;
    let notices = run.get("notices").and_then(Value::as_array).cloned();
    let notices = notices.unwrap_or_default().into_iter().map(|notice| {
        notice
            .as_str()
            .map(str::to_owned)
            .context("a notice is a text")
    });
    let notices = notices.collect::<anyhow::Result<Vec<String>>>()?;
    let shown = notices.join("\n");
    assert_eq!(
        text(&run, "/reply")?.trim_end(),
        format!("[human] {shown}").trim_end()
    );
    Ok(notices)
}

/// Lets a watcher run until a run has notices; notices may follow what happened by a moment.
fn awaited_notices(client: &Client, watcher: &str) -> anyhow::Result<Vec<String>> {
    let mut notices = Vec::new();
    eventually("the watcher's run has a notice", || {
        notices = next_notices(client, watcher)?;
        Ok(!notices.is_empty())
    })?;
    Ok(notices)
}

/// One line however many events; what happened after the one that the line is about is told by one
/// fresh line.
#[test]
fn a_watchers_next_run_is_told_once_what_people_did() -> anyhow::Result<()> {
    let (_home, deployment) = start(Shape::OneProcess, &[WATCHER, SECOND])?;
    let client = &deployment.client;
    let base = version(client, TARGET)?;
    let events = people_write(client, 6)?;
    let first = *events.first().context("an event")?;
    assert_eq!(awaited_notices(client, WATCHER)?, [notice(base)]);
    assert_eq!(awaited_notices(client, WATCHER)?, [notice(first)]);
    // The second watcher is told by the same stream; after that nothing more can come.
    assert_eq!(awaited_notices(client, SECOND)?, [notice(base)]);
    assert_eq!(awaited_notices(client, SECOND)?, [notice(first)]);
    assert_eq!(next_notices(client, WATCHER)?, Vec::<String>::new());
    assert_eq!(next_notices(client, SECOND)?, Vec::<String>::new());

    let history = client.history(WATCHER)?;
    let said: Vec<String> = history.iter().map(message_text).collect();
    assert!(
        !said.iter().any(|text| text.starts_with("Session \"")),
        "D57: a notice is no message: {said:?}"
    );
    deployment.stop()
}

/// reg:W27, reg:W28, B194: the changes since any version are exact at their edges.
#[test]
fn changes_since_a_version_are_exact() -> anyhow::Result<()> {
    let (_home, deployment) = start(Shape::OneProcess, &[WATCHER])?;
    let client = &deployment.client;
    let base = version(client, TARGET)?;
    let events = people_write(client, 4)?;
    let since = |version: i64, caller| -> anyhow::Result<Value> {
        let asked = json!({ "sessionKey": TARGET, "changesSince": version });
        let status = client.tool("session_status", &asked, caller)?;
        assert_eq!(status.status, 0, "{}", status.text);
        Ok(at(&status.json, "/stateChanges")?.clone())
    };
    for (place, version) in std::iter::once(&base).chain(&events).enumerate() {
        for caller in [None, Some(WATCHER)] {
            let changes = since(*version, caller)?;
            let told = list(&changes, "/events")?
                .iter()
                .map(|event| number(event, "/sequence"));
            let told = told.collect::<anyhow::Result<Vec<i64>>>()?;
            assert_eq!(told, events[place..], "since {version}");
            assert_eq!(at(&changes, "/historyGap")?, false);
            assert_eq!(at(&changes, "/truncated")?, false);
        }
    }
    let event = at(&since(base, None)?, "/events/0")?.clone();
    assert_eq!(text(&event, "/kind")?, "human_direct_message", "{event:#}");
    assert_eq!(text(&event, "/actorType")?, "human", "{event:#}");
    assert!(
        text(&event, "/summary")?.starts_with("human message via"),
        "{event:#}"
    );
    assert!(
        !event.to_string().contains("person 0"),
        "never message text: {event:#}"
    );
    let beyond = since(events.last().copied().unwrap_or_default() + 1_000, None)?;
    assert_eq!(list(&beyond, "/events")?.len(), 0);
    assert_eq!(
        at(&beyond, "/historyGap")?,
        false,
        "nothing above the head is a gap"
    );
    let negative = client.tool(
        "session_status",
        &json!({ "sessionKey": TARGET, "changesSince": -1 }),
        None,
    )?;
    assert_eq!(negative.status, 4, "{}", negative.text);
    deployment.stop()
}

/// D57: an agent's main session is woken when it is idle, by a run of its own kind.
#[test]
fn an_idle_main_session_is_woken() -> anyhow::Result<()> {
    let (_home, deployment) = start(Shape::OneProcess, &[MAIN])?;
    let client = &deployment.client;
    let base = version(client, TARGET)?;
    people_write(client, 1)?;
    let woken = notice_run(client, MAIN)?;
    assert_eq!(at(&woken, "/notices")?, &json!([notice(base)]), "{woken:#}");
    assert_eq!(
        text(&woken, "/reply")?,
        format!("[notice] {}", notice(base))
    );
    assert_eq!(text(&woken, "/delivery/status")?, "none", "{woken:#}");
    let history = client.history(MAIN)?;
    let roles: BTreeSet<String> = history
        .iter()
        .map(|message| text(message, "/role"))
        .collect::<anyhow::Result<_>>()?;
    assert_eq!(
        roles,
        BTreeSet::from(["assistant".to_owned()]),
        "D74: no user message: {history:#?}"
    );
    assert_eq!(next_notices(client, MAIN)?, Vec::<String>::new());
    deployment.stop()
}

/// Waits until a session was woken and that run has ended.
fn notice_run(client: &Client, session: &str) -> anyhow::Result<Value> {
    let mut id = None;
    eventually("the session is woken", || {
        let runs = client.json(&["runs", "list", "--session", session])?;
        let mut runs = list(&runs, "/runs")?.iter();
        let woken = runs.find(|run| run.get("step") == Some(&json!("notice")));
        id = woken.map(|run| text(run, "/runId")).transpose()?;
        Ok(id.is_some())
    })?;
    client.json(&["runs", "wait", &id.context("a run")?])
}

/// reg:W14: whoever spawned a session watches it without asking, from the moment it was spawned.
#[test]
fn a_spawned_session_is_watched_by_its_parent() -> anyhow::Result<()> {
    let home = home()?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let client = &deployment.client;
    let child = "agent:editor:work-1";
    client.json(&["sessions", "create", MAIN])?;
    client.json(&["sessions", "create", child, "--spawned-by", MAIN])?;
    let base = version(client, child)?;
    client.json(&["chat", child, "a person looks in"])?;
    let woken = notice_run(client, MAIN)?;
    assert_eq!(
        at(&woken, "/notices")?,
        &json!([notice_of(child, base)]),
        "{woken:#}"
    );
    deployment.stop()
}

/// reg:W15: nobody watches themselves, and an operator is no session that could be told.
#[test]
fn who_cannot_watch_is_told_so() -> anyhow::Result<()> {
    let (_home, deployment) = start(Shape::OneProcess, &[])?;
    let client = &deployment.client;
    let asked = json!({ "sessionKey": TARGET, "message": "m", "watch": true, "timeoutSeconds": 0 });
    for caller in [None, Some(TARGET)] {
        let sent = client.tool("sessions_send", &asked, caller)?;
        assert_eq!(sent.status, 0, "{}", sent.text);
        assert_eq!(
            at(&sent.json, "/watched")?,
            false,
            "{caller:?}: {}",
            sent.text
        );
    }
    let plain = json!({ "sessionKey": TARGET, "message": "m", "timeoutSeconds": 0 });
    let sent = client.tool("sessions_send", &plain, None)?;
    assert!(sent.json.get("watched").is_none(), "{}", sent.text);
    deployment.stop()
}

/// reg:W23: what was owed before the end of the process is owed after it, once.
#[test]
fn a_notice_outlives_a_restart_of_everything() -> anyhow::Result<()> {
    for end in [Deployment::kill, Deployment::stop] {
        let (home, deployment) = start(Shape::OneProcess, &[WATCHER])?;
        let base = version(&deployment.client, TARGET)?;
        people_write(&deployment.client, 3)?;
        end(deployment)?;
        let deployment = Deployment::start(Shape::OneProcess, &home)?;
        let client = &deployment.client;
        let head = version(client, TARGET)?;
        assert_eq!(awaited_notices(client, WATCHER)?, [notice(base)]);
        // The restart made the notice one about everything, unless the runner had it already.
        for late in next_notices(client, WATCHER)? {
            assert!((base + 1..head).any(|seen| notice(seen) == late), "{late}");
        }
        let events = people_write(client, 1)?;
        assert_eq!(awaited_notices(client, WATCHER)?, [notice(head)]);
        assert!(events.first().is_some_and(|event| *event > head));
        deployment.stop()?;
    }
    Ok(())
}

/// The registry alone goes and comes back at its address: who watched still watches.
#[test]
fn a_notice_outlives_a_restart_of_the_registry_alone() -> anyhow::Result<()> {
    let (home, mut deployment) = start(Shape::ThreeServices, &[WATCHER])?;
    let base = version(&deployment.client, TARGET)?;
    let mut registry = deployment.servers.remove(0);
    let address = registry.grpc()?;
    registry.kill()?;
    let plan = Plan::new(Shape::ThreeServices, &home);
    let listen = address.trim_start_matches("http://");
    let registry = plan.start_service("confab-registry", listen, &[])?;
    deployment.servers.insert(0, registry);
    people_write(&deployment.client, 1)?;
    assert_eq!(
        awaited_notices(&deployment.client, WATCHER)?,
        [notice(base)]
    );
    assert_eq!(
        next_notices(&deployment.client, WATCHER)?,
        Vec::<String>::new()
    );
    deployment.stop()
}

/// reg:C8, reg:W16: a reset of the watcher ends its watching; others go on.
#[test]
fn a_reset_of_the_watcher_ends_its_watching() -> anyhow::Result<()> {
    let (_home, deployment) = start(Shape::OneProcess, &[WATCHER, SECOND])?;
    let client = &deployment.client;
    let base = version(client, TARGET)?;
    client.json(&["sessions", "reset", WATCHER])?;
    people_write(client, 1)?;
    assert_eq!(awaited_notices(client, SECOND)?, [notice(base)]);
    assert_eq!(next_notices(client, WATCHER)?, Vec::<String>::new());
    watch(client, WATCHER)?;
    let now = version(client, TARGET)?;
    people_write(client, 1)?;
    assert_eq!(awaited_notices(client, WATCHER)?, [notice(now)]);
    // A reset of the target ends nothing.
    client.json(&["sessions", "reset", TARGET])?;
    let now = version(client, TARGET)?;
    people_write(client, 1)?;
    assert_eq!(awaited_notices(client, WATCHER)?, [notice(now)]);
    deployment.stop()
}

/// A follower of changes.
struct Follower {
    stream: tonic::Streaming<registry::WatchSessionsResponse>,
    cursor: Option<String>,
}

impl Follower {
    fn open(grpc: &Grpc, cursor: Option<String>) -> Result<Self, tonic::Status> {
        let asked = registry::WatchSessionsRequest {
            cursor: cursor.clone(),
        };
        let operator = Caller::operator();
        let stream = grpc
            .services
            .stream(REGISTRY, "WatchSessions", asked, &operator);
        Ok(Self {
            stream: grpc.block_on(stream)?,
            cursor,
        })
    }

    /// What happens next, in a word and the key.
    fn next(&mut self, grpc: &Grpc) -> anyhow::Result<String> {
        let told = grpc
            .block_on(self.stream.message())?
            .context("the stream ended")?;
        self.cursor = Some(told.cursor);
        Ok(match told.change.context("a change")? {
            Change::Session(row) => format!("{} {}", row.key, row.label()),
            Change::DeletedKey(key) => format!("{key} is gone"),
            Change::Gap(_) => "gap".to_owned(),
        })
    }

    /// Reads on until this happens.
    fn until(&mut self, grpc: &Grpc, wanted: &str) -> anyhow::Result<()> {
        while self.next(grpc)? != wanted {}
        Ok(())
    }
}

/// B219: a follower goes on where it stopped, and nobody else can use its place.
#[test]
fn changes_are_followed_and_resumed_at_their_cursor() -> anyhow::Result<()> {
    let (home, deployment) = start(Shape::OneProcess, &[])?;
    let client = &deployment.client;
    let grpc = Grpc::to(&deployment)?;
    let mut follower = Follower::open(&grpc, None)?;
    client.json(&["sessions", "create", "agent:writer:a", "--label", "one"])?;
    follower.until(&grpc, "agent:writer:a one")?;
    let cursor = follower.cursor.clone();
    drop(follower);

    client.json(&["sessions", "create", "agent:writer:b"])?;
    client.json(&["sessions", "patch", "agent:writer:a", r#"{"label":"two"}"#])?;
    client.json(&[
        "sessions",
        "patch",
        "agent:writer:a",
        r#"{"label":"three"}"#,
    ])?;
    client.json(&["sessions", "delete", "agent:writer:b"])?;
    deployment.kill()?;
    let deployment = Deployment::start(Shape::OneProcess, &home)?;
    let grpc = Grpc::to(&deployment)?;
    let mut resumed = Follower::open(&grpc, cursor.clone())?;
    let told = [resumed.next(&grpc)?, resumed.next(&grpc)?];
    assert_eq!(told, ["agent:writer:a three", "agent:writer:b is gone"]);

    let asked = registry::WatchSessionsRequest { cursor };
    let stranger = Caller::operator().of_tenant("other");
    let stream = grpc.services.stream::<_, registry::WatchSessionsResponse>(
        REGISTRY,
        "WatchSessions",
        asked,
        &stranger,
    );
    let refused = refusal(grpc.block_on(stream))?;
    assert_eq!(reason(&refused), "INVALID_ARGUMENT", "{refused}");
    let broken = refusal(Follower::open(&grpc, Some("no cursor".to_owned())))?;
    assert_eq!(reason(&broken), "INVALID_ARGUMENT", "{broken}");
    // Followers must be gone before the server stops, or it waits for them.
    drop(resumed);
    deployment.stop()
}
